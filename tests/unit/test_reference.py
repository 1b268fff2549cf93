"""The oracles themselves, against values worked out by hand and answers that are wrong."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from tests.reference import Bm25, Exact, check_hits, exact_cosines, fuse, rank


def test_rrf_by_hand() -> None:
    assert fuse([[1, 2], [2, 3]]) == [
        (2, Fraction(1, 62) + Fraction(1, 61)),
        (1, Fraction(1, 61)),
        (3, Fraction(1, 62)),
    ]
    assert fuse([[5], [4]]) == [(4, Fraction(1, 61)), (5, Fraction(1, 61))]
    assert fuse([[1, 1, 2]], weights=[2], k=0) == [(1, Fraction(2)), (2, Fraction(2, 2))]
    assert fuse([]) == []


def test_bm25_by_hand() -> None:
    scores = Bm25([["a", "b"], ["a", "a", "a", "c"]]).scores(["a", "c", "a", "nowhere"])
    mean = 3.0
    common = math.log(1 + 0.5 / 2.5)
    rare = math.log(1 + 1.5 / 1.5)
    short = 1.2 * (0.25 + 0.75 * 2 / mean)
    long = 1.2 * (0.25 + 0.75 * 4 / mean)
    assert scores[0] == pytest.approx(common * 2.2 / (1 + short))
    assert scores[1] == pytest.approx(common * 3 * 2.2 / (3 + long) + rare * 2.2 / (1 + long))


def test_bm25_of_nothing() -> None:
    assert Bm25([]).scores(["a"]) == {}
    assert Bm25([[], ["a"]]).scores([]) == {}


def test_cosines_do_not_depend_on_length_or_block() -> None:
    rows = np.array([[2, 0], [0, 3], [1, 1]], dtype=np.float32)
    query = np.array([5, 0], dtype=np.float32)
    expected = [1, 0, math.sqrt(0.5)]
    assert exact_cosines(rows, query) == pytest.approx(expected)
    assert exact_cosines(rows, query, block=1) == pytest.approx(expected)
    assert rank(exact_cosines(rows, query), 2) == [0, 2]
    assert rank({9: 1.0, 3: 1.0, 4: 2.0}, 3) == [4, 3, 9]


@pytest.fixture(scope="module")
def signals() -> tuple[dict[int, float], np.ndarray]:
    rng = np.random.default_rng(3)
    documents = [[f"w{word}" for word in rng.integers(0, 30, size=8)] for _ in range(60)]
    vectors = rng.standard_normal((60, 12)).astype(np.float32)
    return Exact(documents, vectors).signals(["w1", "w2", "w3"], vectors[5])


def right_hits(
    signals: tuple[dict[int, float], np.ndarray], *, k: int, depth: int
) -> list[tuple[int, int | None, int | None]]:
    orders = [rank(signal, depth) for signal in signals]
    places = [{row: place for place, row in enumerate(order, start=1)} for order in orders]
    return [(row, places[0].get(row), places[1].get(row)) for row, _ in fuse(orders)[:k]]


def test_check_hits_accepts_the_exact_answer(
    signals: tuple[dict[int, float], np.ndarray],
) -> None:
    check_hits(right_hits(signals, k=10, depth=20), signals, k=10, depth=20)


@pytest.mark.parametrize(
    "mutant",
    ["no words", "no vectors", "swapped", "one missing", "one wrong", "rank off", "only words"],
)
def test_check_hits_refuses_a_wrong_answer(
    signals: tuple[dict[int, float], np.ndarray], mutant: str
) -> None:
    k, depth = 10, 20
    hits = right_hits(signals, k=k, depth=depth)
    lexical, cosines = signals
    match mutant:
        case "no words":
            hits = [(row, None, near) for row, _, near in hits]
        case "no vectors":
            hits = [(row, words, None) for row, words, _ in hits]
        case "swapped":
            hits[0], hits[-1] = hits[-1], hits[0]
        case "one missing":
            hits = hits[:-1]
        case "one wrong":
            hits[0] = (rank(-cosines, 1)[0], 1, 1)
        case "rank off":
            row, words, near = hits[0]
            hits[0] = (row, words and words + 3, near)
        case "only words":
            order = rank(lexical, k)
            hits = [(row, place, None) for place, row in enumerate(order, start=1)]
    with pytest.raises(AssertionError):
        check_hits(hits, signals, k=k, depth=depth)
