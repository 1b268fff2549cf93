"""The pure functions of the native core, as Python sees them."""

from __future__ import annotations

from fractions import Fraction

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
