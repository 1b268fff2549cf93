"""The native index through its Python boundary."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
import pprint
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
import pytest

from agentmem import _native
from agentmem.errors import (
    DimensionError,
    IndexBusyError,
    IndexCorruptError,
    InvalidInputError,
)
from agentmem.models import Trust, from_ms

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NDIM = 8
NOW = 1_700_000_000_000


def unit(seed: int, count: int = 1) -> np.ndarray:
    values = np.random.default_rng(seed).standard_normal((count, NDIM)).astype(np.float32)
    return values / np.linalg.norm(values, axis=1, keepdims=True)


def row(number: int, text: str, **changes: Any) -> tuple[Any, ...]:
    fields = {
        "key": 1 << 56 | number,
        "tier": 1,
        "kind": "fact",
        "scope": "",
        "session": None,
        "position": 0,
        "text": text,
        "created_ms": NOW - 1000,
        "event_ms": None,
        "valid_from_ms": None,
        "valid_to_ms": None,
        "is_current": True,
        "priority": 50,
        "trust": 3,
        "subject": None,
        "tags": (),
        "metadata": "{}",
        "sources": (),
        "vectors": unit(number).tobytes(),
    }
    fields.update(changes)
    return tuple(fields.values())


def name(number: int) -> str:
    """Return a word of its own for a number: the analyzer splits letters from digits."""
    return "zq" + "".join("bcdfghjkmx"[int(digit)] for digit in str(number))


def key(number: int) -> int:
    return 1 << 56 | number


@pytest.fixture
def open_index(tmp_path: Path) -> Callable[..., _native.StoreIndex]:
    def opened(**changes: Any) -> _native.StoreIndex:
        arguments: dict[str, Any] = {"epoch": "e", "space": "s", "ndim": NDIM, **changes}
        return _native.StoreIndex.open(tmp_path / "index", **arguments)

    return opened


asked = _native.Asked


def found(index: _native.StoreIndex, text: str, **filters: Any) -> set[int]:
    hits = index.search(text, None, asked(1000, 1000, **filters), NOW)
    return {hit.key & (1 << 56) - 1 for hit in hits}


def test_a_hit_shows_everything_that_was_applied(open_index: Any) -> None:
    index = open_index()
    given = row(
        7,
        "Déjà vu in Đà Nẵng 部署方案 🎉",
        scope="acme/alice",
        session="s1",
        position=3,
        event_ms=5,
        valid_from_ms=4,
        valid_to_ms=NOW + 1,
        subject="Alice",
        tags=("a,b", "c"),
        metadata='{"a": 1}',
        sources=("L0:1",),
    )
    index.apply([given], [], 12)
    for _ in range(2):
        (hit,) = index.search("部署方案", unit(7)[0], asked(5, 50), NOW)
        assert (hit.key, hit.id, hit.tier) == (key(7), "L1:7", "L1")
        assert hit.score == pytest.approx(2 / 61)
        assert (hit.bm25_rank, hit.ann_rank) == (1, 1)
        assert hit.bm25_score > 0
        assert hit.cosine == pytest.approx(1.0)
        assert (hit.kind, hit.scope, hit.session, hit.position) == ("fact", "acme/alice", "s1", 3)
        assert (hit.text, hit.subject, hit.tags) == (given[6], "Alice", ("a,b", "c"))
        assert (hit.metadata, hit.sources) == ({"a": 1}, ("L0:1",))
        times = (hit.created, hit.event_time, hit.valid_from, hit.valid_to)
        assert times == tuple(from_ms(value) for value in (NOW - 1000, 5, 4, NOW + 1))
        assert (hit.is_current, hit.priority, hit.trust) == (True, 50, Trust.ASSISTANT)
        assert (hit.relevance, hit.explanation) == (None, None)
        assert (index.applied, index.live_len) == (12, 1)
        index.fold()
        assert (index.watermark, index.tail_len) == (12, 0)


def explained(parts: Any, bm25_score: float | None, cosine: float | None) -> dict[str, Any]:
    return {"rrf_k": parts[0], "names": len(parts[1]), "scores": (bm25_score, cosine)}


def test_a_hit_is_a_value(open_index: Any) -> None:
    index = open_index()
    index.apply([row(7, "déjà vu 🎉", tags=("a",), metadata='{"a": [1]}'), row(8, "vu")], [], 2)
    asking = asked(2, 50, explain=explained)
    first, second = index.search("vu", unit(7)[0], asking, NOW)
    (again, _) = index.search("vu", unit(7)[0], asking, NOW)
    assert first == again
    assert first != second
    assert first != "L1:7"
    assert first.explanation == {"rrf_k": 60.0, "names": len(_native.SCORE_PARTS),
                                 "scores": (first.bm25_score, first.cosine)}  # fmt: skip
    # What a reader changes is its own.
    first.metadata["a"].append(2)
    first.explanation["scores"] = None
    assert first.metadata == {"a": [1]} == again.metadata
    assert first.explanation == again.explanation
    for copied in (pickle.loads(pickle.dumps(first)), copy.copy(first), copy.deepcopy(first)):
        assert copied == first
        assert copied.explanation == first.explanation
    assert repr(first).startswith(
        "Hit(id='L1:7', tier='L1', kind='fact', text='déjà vu 🎉', score="
    )
    assert all(f"{name}=" in repr(first) for name in first.__match_args__)
    as_dict = first.asdict()
    assert list(as_dict) == list(first.__match_args__)
    assert as_dict["tags"] == ("a",)
    # A class that claims to be a dataclass and has no dict makes orjson read what is not there.
    assert not dataclasses.is_dataclass(first)
    with pytest.raises(TypeError):
        orjson.dumps(first)
    assert pprint.pformat([first]).startswith("[Hit(")
    match first:
        case _native.Hit(id="L1:7", tags=("a",), text=text):
            assert text == first.text
        case _:
            pytest.fail("a class pattern should fit")
    for name in first.__match_args__:
        with pytest.raises(AttributeError):
            setattr(first, name, None)
    with pytest.raises(TypeError, match="unhashable"):
        hash(first)
    with pytest.raises(TypeError):
        type(first)()


@pytest.mark.parametrize("wrong", [b"", b"\xff" * 9])
def test_what_is_no_hit_is_not_restored(open_index: Any, wrong: bytes) -> None:
    index = open_index()
    index.apply([row(7, "seven")], [], 1)
    (hit,) = index.search("seven", None, asked(1, 50), NOW)
    restore, (state,) = hit.__reduce__()
    assert restore(state) == hit
    with pytest.raises(InvalidInputError, match="state of a Hit"):
        restore((wrong, *state[1:]))
    with pytest.raises(InvalidInputError, match="state of a Hit"):
        restore((*state[:3], state[3][1:], *state[4:]))


def test_what_was_folded_is_there_after_opening(open_index: Any) -> None:
    index = open_index()
    index.apply([row(n, f"fact {name(n)}") for n in range(50)], [], 50)
    assert index.fold()
    assert not index.fold()
    index.apply([row(3, "changed three")], [key(4)], 52)
    assert index.fold()
    again = open_index()
    assert again.watermark == 52
    assert again.keys().tolist() == [key(n) for n in range(50) if n != 4]
    assert found(again, name(3)) == set()
    assert found(again, "changed") == {3}
    assert again.verify()["live"] == 49


def test_a_generation_for_something_else_is_refused(open_index: Any) -> None:
    index = open_index()
    index.apply([row(1, "one")], [], 1)
    index.fold()
    for other in ({"epoch": "x"}, {"space": "x"}, {"ndim": NDIM + 1}):
        with pytest.raises(IndexCorruptError, match="was made for"):
            open_index(**other)


def test_scopes_see_themselves_and_below(open_index: Any) -> None:
    index = open_index()
    scopes = ["", "acme", "acme/alice", "acme-corp", "acme0", "ac", "a%", "a_me", "acme/alice2"]
    index.apply([row(n, "word", scope=scope) for n, scope in enumerate(scopes)], [], 1)
    for _ in range(2):
        assert found(index, "word") == set(range(len(scopes)))
        assert found(index, "word", scopes=[""]) == set(range(len(scopes)))
        assert found(index, "word", scopes=["acme"]) == {1, 2, 8}
        assert found(index, "word", scopes=["acme/alice"]) == {2}
        assert found(index, "word", scopes=["a%", "ac"]) == {5, 6}
        assert found(index, "word", scopes=["acm"]) == set()
        index.fold()


WHERE = [
    ({"n": 1}, {0, 1, 5}),
    ({"n": True}, {3}),
    ({"n": {"$gt": 1}}, {2, 5}),
    ({"n": {"$gte": 1, "$lt": 2}}, {0, 1, 5}),
    ({"n": {"$ne": 1}}, {2, 3, 4, 6, 7}),
    ({"n": {"$in": ["x", 2.5]}}, {2, 4}),
    ({"n": {"$nin": ["x", 2.5]}}, {0, 1, 3, 5, 6, 7}),
    ({"n": {"$exists": True}}, {0, 1, 2, 3, 4, 5, 6}),
    ({"n": {"$exists": False}}, {7}),
    ({"n": None}, {6}),
    ({"n": {"$gt": "w"}}, {4}),
    ({"o.p": "deep"}, {7}),
    ({"long": {"$gt": "z" * 299}}, {7}),
    ({"long": "z" * 300}, {7}),
    ({"long": "z" * 301}, set()),
    ({"$kind": "fact"}, set(range(8))),
    ({"$priority": {"$gte": 53}}, {3, 4, 5, 6, 7}),
    ({"$priority": 52, "n": {"$exists": True}}, {2}),
    ({"$subject": {"$gt": "s5"}}, {6, 7}),
    ({"$tag": "t1"}, {1}),
]


def test_where_compares_by_type(open_index: Any) -> None:
    index = open_index()
    metadata: list[dict[str, Any]] = [
        {"n": 1},
        {"n": 1.0},
        {"n": 2.5},
        {"n": True},
        {"n": "x"},
        {"n": [1, 7, {"ignored": 1}]},
        {"n": None},
        {"o": {"p": "deep"}, "long": "z" * 300},
    ]
    rows = [
        row(n, "word", metadata=json.dumps(m), priority=50 + n, subject=f"s{n}", tags=(f"t{n}",))
        for n, m in enumerate(metadata)
    ]
    index.apply(rows, [], 1)
    for _ in range(2):
        for where, expected in WHERE:
            assert found(index, "word", where=json.dumps(where)) == expected, where
        index.fold()


@pytest.mark.parametrize(
    "where",
    [
        "[]",
        "{",
        '{"a": {"$near": 1}}',
        '{"a": {}}',
        '{"a": [1]}',
        '{"$what": 1}',
        '{"a": {"$gt": true}}',
        '{"a": {"$in": 1}}',
        '{"a": {"$exists": 1}}',
    ],
)
def test_a_wrong_where_is_refused(where: str) -> None:
    with pytest.raises(InvalidInputError, match="where"):
        asked(1, 1, where=where)


def test_time_decides_what_is_seen(open_index: Any) -> None:
    index = open_index()
    rows = [
        row(0, "word"),
        row(1, "word", is_current=False, valid_from_ms=10, valid_to_ms=20),
        row(2, "word", valid_from_ms=20, valid_to_ms=NOW),
        row(3, "word", valid_to_ms=NOW + 5, event_ms=100),
        row(4, "word", tier=2),
        row(5, "plan", valid_from_ms=NOW + 5),
        row(6, "plan", kind="event", valid_from_ms=NOW + 5),
        row(7, "plan", valid_from_ms=NOW + 5, created_ms=NOW + 9),
        row(8, "plan", valid_to_ms=NOW + 5),
    ]
    index.apply(rows, [], 1)
    for _ in range(2):
        assert found(index, "word") == {0, 3}
        assert found(index, "word", as_of_ms=15) == {1}
        assert found(index, "word", as_of_ms=20) == {2}
        # What begins later waits; an event is known, and a clock that ran ahead hides nothing.
        assert found(index, "plan") == {6, 7, 8}
        assert found(index, "plan", as_of_ms=NOW) == {6, 8}
        assert found(index, "plan", as_of_ms=NOW + 5) == {5, 6, 7}
        assert found(index, "word", tiers=0b110) == {0, 3, 4}
        assert found(index, "word", since_ms=100, until_ms=101) == {3}
        assert found(index, "word", since_ms=101) == {0}
        index.fold()


@pytest.mark.parametrize(
    "text",
    ["", "\0", "\ud800 lone", "(" * 20_000, "ns:x OR y", "🎉", "שלום", "x" * (1 << 19)],
)
def test_any_text_is_a_query_and_a_row(open_index: Any, text: str) -> None:
    index = open_index()
    index.apply([row(1, text), row(2, "plain words")], [], 1)
    for _ in range(2):
        hits = index.search(text, unit(1)[0], asked(2, 50), NOW)
        assert hits[0].key == key(1)
        index.fold()


def test_wrong_arguments_are_typed_errors(open_index: Any) -> None:
    index = open_index()
    vector = unit(1)[0]
    with pytest.raises(InvalidInputError, match="k is 0"):
        index.search("x", vector, asked(0, 5), NOW)
    with pytest.raises(InvalidInputError, match="k is -1"):
        index.search("x", vector, asked(-1, 5), NOW)
    with pytest.raises(DimensionError):
        index.search("x", vector[:3], asked(1, 5), NOW)
    for bad in (np.nan, np.inf):
        wrong = vector.copy()
        wrong[2] = bad
        with pytest.raises(InvalidInputError, match="finite"):
            index.search("x", wrong, asked(1, 5), NOW)
        with pytest.raises(InvalidInputError, match="row 72057594037927937"):
            index.apply([row(1, "x", vectors=wrong.tobytes())], [], 1)
    with pytest.raises(InvalidInputError, match="zeros"):
        index.search("x", vector * 0, asked(1, 5), NOW)
    with pytest.raises(InvalidInputError, match="at most 1048576"):
        index.search("x" * (1 << 20) + "x", vector, asked(1, 5), NOW)
    with pytest.raises(InvalidInputError, match="weights"):
        index.search("x", vector, asked(1, 5, weights=(-1.0, 1.0)), NOW)
    with pytest.raises(InvalidInputError, match="rrf_k"):
        index.search("x", vector, asked(1, 5, rrf_k=0), NOW)
    with pytest.raises(InvalidInputError, match="19 fields"):
        index.apply([(1, 2)], [], 1)
    with pytest.raises(InvalidInputError, match="metadata"):
        index.apply([row(1, "x", metadata="[1]")], [], 1)
    with pytest.raises(DimensionError):
        index.apply([row(1, "x", vectors=b"\0" * 12)], [], 1)
    with pytest.raises(InvalidInputError, match="ann"):
        open_index(ann="lsh")
    assert index.live_len == 0
    assert index.applied == 0


def test_a_second_index_reloads_and_keeps_its_newer_rows(open_index: Any) -> None:
    ours, theirs = open_index(), open_index()
    batch = [row(n, name(n)) for n in range(20)]
    for index in (ours, theirs):
        index.apply(batch, [], 20)
    theirs.apply([row(20, "newer twenty"), row(1, "newer one")], [key(2)], 23)
    assert ours.fold()
    assert theirs.reload()
    assert not theirs.reload()
    assert (theirs.watermark, theirs.applied, theirs.tail_len) == (20, 23, 2)
    assert theirs.keys().tolist() == [key(n) for n in range(21) if n != 2]
    assert found(theirs, "newer") == {1, 20}
    assert found(theirs, " ".join(map(name, (1, 2, 3)))) == {3}
    assert theirs.fold()
    assert ours.reload()
    assert ours.keys().tolist() == theirs.keys().tolist()


def test_only_one_process_publishes(open_index: Any, tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    index = open_index()
    index.apply([row(1, "one")], [], 1)
    with (tmp_path / "index" / "LOCK").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(IndexBusyError, match="another process"):
            index.fold()
    assert index.fold()


def test_files_are_private(open_index: Any, tmp_path: Path) -> None:
    index = open_index()
    index.apply([row(1, "one")], [], 1)
    index.fold()
    index.apply([], [key(1)], 2)
    index.fold()
    index.apply([row(2, "two")], [], 3)
    index.fold()
    for path in [tmp_path / "index", *(tmp_path / "index").rglob("*")]:
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path


def test_searches_go_on_while_rows_come_and_folds_run(open_index: Any) -> None:
    index = open_index()
    index.apply([row(n, f"common {name(n)}") for n in range(300)], [], 300)
    problems: list[str] = []
    done = threading.Event()

    def search() -> None:
        while not done.is_set():
            hits = index.search(name(7), unit(7)[0], asked(3, 50), NOW)
            if hits[0].key != key(7):
                problems.append(str(hits))

    threads = [threading.Thread(target=search) for _ in range(2)]
    for thread in threads:
        thread.start()
    for n in range(300, 360):
        index.apply([row(n, f"common {name(n)}"), row(n - 250, f"common {name(n - 250)}")], [], n)
        if n % 6 == 0:
            index.fold()
    done.set()
    for thread in threads:
        thread.join()
    assert not problems
    assert index.keys().tolist() == [key(n) for n in range(360)]


def test_hybrid_index_by_itself(tmp_path: Path) -> None:
    index = _native.HybridIndex(NDIM)
    index.add([1, 2], ["alpha beta", "gamma"], unit(1, 2), groups=[5, 5], positions=[0, 1])
    index.add(np.array([3], np.uint64), ["alpha"], unit(9, 1))
    result = index.search("alpha", unit(9)[0], 3)
    assert result.ids.tolist()[0] == 3
    assert result.ids.dtype == np.uint64
    assert result.scores.dtype == np.float32
    assert result.bm25_ranks.tolist()[0] == 1
    assert dict(result).keys() == {1, 2, 3}
    assert index.search("alpha", None, 3, filter=[1]).ids.tolist() == [1]
    assert len(index.search("", None, 3)) == 0
    assert index.fold()
    index.add([4], ["delta"], unit(4))
    assert index.remove([2, 77]) == 1
    index.save(tmp_path / "saved")
    index.save(tmp_path / "saved")
    again = _native.HybridIndex.open(tmp_path / "saved")
    assert again.keys().tolist() == [1, 3, 4]
    assert len(again) == len(index) == 3
    for text in ("alpha", "delta", "gamma"):
        both = [i.search(text, unit(3)[0], 5) for i in (index, again)]
        assert both[0].ids.tolist() == both[1].ids.tolist()
        assert both[0].scores.tolist() == both[1].scores.tolist()
    with pytest.raises(IndexCorruptError):
        _native.HybridIndex.open(tmp_path / "nothing")
    with pytest.raises(InvalidInputError, match="2 ids and 1 texts"):
        index.add([1, 2], ["one"], unit(1, 2))


def test_settling_joins_what_reaches_an_eighth_of_the_next(open_index: Any) -> None:
    index = open_index()

    def add(first: int, count: int, *, settle: bool) -> int:
        rows = [row(number, f"{name(number)} common") for number in range(first, first + count)]
        index.apply(rows, [], first + count)
        index.fold(settle=settle)
        return index.stats()["segments"]

    assert [add(start, 10, settle=False) for start in (0, 10, 20)] == [1, 2, 3]
    assert add(30, 10, settle=True) == 1
    # 40 rows are less than an eighth of 400.
    assert add(40, 400, settle=True) == 2
    assert add(440, 20, settle=True) == 1
    assert found(index, "common") == set(range(460))
