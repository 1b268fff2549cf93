"""The pure functions of the native core, as Python sees them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from agentmem import _native
from agentmem.errors import InvalidInputError

TOKEN = "ghp_" + "a1B2c3D4e" * 4


def test_fuse_is_the_sum_of_reciprocal_ranks() -> None:
    fused = _native.fuse([[1, 2], [2, 3]])
    assert fused == [(2, 1 / 62 + 1 / 61), (1, 1 / 61), (3, 1 / 62)]
    assert fused[0][1] == pytest.approx(float(Fraction(1, 62) + Fraction(1, 61)), abs=1e-15)
    assert _native.fuse([(9,)], weights=[2.0], k=1) == [(9, 1.0)]
    assert _native.fuse([]) == []


@pytest.mark.parametrize("k", [0, -1, float("nan"), float("inf"), "60", True])
def test_fuse_refuses_k(k: object) -> None:
    with pytest.raises(InvalidInputError, match="k is"):
        _native.fuse([[1]], k=k)  # type: ignore[arg-type]


@pytest.mark.parametrize("weights", [[], [1.0, 1.0], [-1.0], [float("nan")]])
def test_fuse_refuses_weights(weights: list[float]) -> None:
    with pytest.raises(InvalidInputError, match="weights"):
        _native.fuse([[1]], weights=weights)


@pytest.mark.parametrize("item", [-1, 2**64, "a", None])
def test_fuse_refuses_ids(item: object) -> None:
    with pytest.raises(InvalidInputError, match=r"rankings\[0\]\[1\]"):
        _native.fuse([[1, item]])  # type: ignore[list-item]


def test_analysis() -> None:
    assert _native.analyze("Đà Nẵng uses auth.ts") == [
        "da",
        "đà",
        "nang",
        "nẵng",
        "use",
        "auth.ts",
        "auth",
        "ts",
    ]
    assert _native.analyze_query("what is the plan?") == ["plan"]
    assert _native.analyze("\ud800 \0 ok") == ["ok"]
    assert _native.fold_text(" Two\n WORDS ") == "two words"


def test_digests_meet_where_folded_texts_do() -> None:
    first, second, third = _native.digests(["Two words", "two  WORDS ", "other"])
    assert first == second != third
    assert len(first) == 16


def test_plain_json_leaves_what_needs_a_closer_look() -> None:
    plain = [b"{}", '{"a":"Đà [🙂]"}'.encode(), b"[" * 32 + b"]" * 32, b'{"a":"NULL"}']
    assert _native.plain_json(plain) == [text.decode() for text in plain]
    long = b'"' + b"x" * 16_382 + b'"'
    assert _native.plain_json([long]) == [long.decode()]
    doubtful = [b"", b'{"a":null}', b'{"null":1}', b"[" * 65, b"{[" * 33, long + b" ", b'"\xff"']
    assert _native.plain_json(doubtful) == [None] * len(doubtful)
    assert _native.plain_json([]) == []
    with pytest.raises(TypeError):
        _native.plain_json(["{}"])  # type: ignore[list-item]


def test_unit_rows_are_scaled_or_left_out() -> None:
    rng = np.random.default_rng(5)
    one, several = rng.normal(size=(1, 37)), rng.normal(size=(3, 37)) * 1e20
    unit = (one / np.linalg.norm(one)).astype(np.float32)
    arrays = [one.astype(np.float32), several.astype(np.float32), unit]
    # A view of another order, zeros between rows, and no rows at all.
    arrays += [arrays[1][::-1], np.concatenate([unit, unit * 0, unit * 1e-13, unit]), unit[:0]]
    found = [
        np.frombuffer(raw, np.float32).reshape(-1, 37)
        for raw in _native.unit_rows([array.astype(np.float32, copy=False) for array in arrays])
    ]
    assert [len(rows) for rows in found] == [1, 3, 1, 3, 2, 0]
    for array, rows in zip(arrays[:4], found, strict=False):
        wanted = array.astype(float)
        wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
        np.testing.assert_allclose(rows, wanted, atol=1e-6)
    assert found[2].tobytes() == unit.tobytes()
    assert found[4].tobytes() == unit.tobytes() * 2


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_unit_rows_refuse_what_is_not_finite(wrong: float) -> None:
    for at in (0, 15, 16, 36):
        row = np.ones((2, 37), np.float32)
        row[1, at] = wrong
        with pytest.raises(InvalidInputError, match=f"value {at} of a vector"):
            _native.unit_rows([row])


def test_redaction_counts_in_characters_and_keeps_the_rest() -> None:
    text = f"🙂\ud800 Đà {TOKEN} é"
    output, spans = _native.redact(text)
    assert output == "🙂\ud800 Đà [redacted:github-token] é"
    (start, end, kind) = spans[0]
    assert (text[start:end], kind) == (TOKEN, "github-token")
    assert _native.redact(output) == (output, [])


def test_redaction_of_many_returns_what_changed() -> None:
    clean = "nothing here " * 5_000
    changed = _native.redact_many([clean, f"key {TOKEN}", "", f"{TOKEN}"])
    assert [(index, text) for index, text, _ in changed] == [
        (1, "key [redacted:github-token]"),
        (3, "[redacted:github-token]"),
    ]
