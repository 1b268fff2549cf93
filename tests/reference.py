"""Slow, plain oracles of what the native core computes: BM25, exact nearest vectors, RRF.

Each follows its paper word for word, with floats of double precision or fractions and no index
structure, and imports nothing of the library.

Sources: Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009 (with
the idf that stays positive, ln(1 + (N - df + 0.5) / (df + 0.5)), as Lucene and tantivy have it);
Cormack, Clarke and Büttcher, Reciprocal Rank Fusion, SIGIR 2009.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

__all__ = ["Bm25", "Exact", "check_hits", "exact_cosines", "fuse", "rank"]

K1, B = 1.2, 0.75


class Bm25:
    """BM25 over documents that are given as their terms.

    Args:
        documents: The terms of each document, in order, with repeats.
    """

    def __init__(self, documents: Iterable[Sequence[str]]) -> None:
        self.lengths: list[int] = []
        self.postings: dict[str, dict[int, int]] = {}
        for row, terms in enumerate(documents):
            self.lengths.append(len(terms))
            for term, count in Counter(terms).items():
                self.postings.setdefault(term, {})[row] = count
        self.mean_length = sum(self.lengths) / max(1, len(self.lengths))

    def scores(self, query: Sequence[str]) -> dict[int, float]:
        """Return the score of each document that shares a term with the query.

        A term that the query repeats counts once.
        """
        total = len(self.lengths)
        scores: dict[int, float] = {}
        for term in dict.fromkeys(query):
            postings = self.postings.get(term, {})
            idf = math.log(1 + (total - len(postings) + 0.5) / (len(postings) + 0.5))
            for row, count in postings.items():
                norm = K1 * (1 - B + B * self.lengths[row] / self.mean_length)
                scores[row] = scores.get(row, 0.0) + idf * count * (K1 + 1) / (count + norm)
        return scores


def exact_cosines(
    vectors: npt.NDArray[np.float32], query: npt.NDArray[np.float32], *, block: int = 8192
) -> npt.NDArray[np.float64]:
    """Return the cosine of each row with the query, in double precision, shape (n,)."""
    wanted = query.astype(np.float64)
    wanted /= np.linalg.norm(wanted)
    cosines = np.empty(len(vectors))
    for start in range(0, len(vectors), block):
        rows = vectors[start : start + block].astype(np.float64)
        cosines[start : start + block] = rows @ wanted / np.linalg.norm(rows, axis=1)
    return cosines


def rank(scores: Mapping[int, float] | npt.NDArray[np.float64], depth: int) -> list[int]:
    """Return the ids of the ``depth`` best scores, best first, equal ones by smaller id."""
    if isinstance(scores, np.ndarray):
        return [int(row) for row in np.lexsort((np.arange(len(scores)), -scores))[:depth]]
    return sorted(scores, key=lambda row: (-scores[row], row))[:depth]


def fuse(
    rankings: Sequence[Sequence[int]], *, weights: Sequence[int | float] | None = None, k: int = 60
) -> list[tuple[int, Fraction]]:
    """Return ids with their exact RRF score, best first, equal ones by smaller id.

    The score of an id is the sum of weight / (k + rank) over the rankings that hold it, ranks
    counted from 1; an id that a ranking repeats counts at its first place.
    """
    scores: dict[int, Fraction] = {}
    for weight, ranking in zip(weights or [1] * len(rankings), rankings, strict=True):
        for place, row in enumerate(dict.fromkeys(ranking), start=1):
            scores[row] = scores.get(row, Fraction(0)) + Fraction(weight) / (k + place)
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))


class Exact:
    """Hybrid recall over a whole corpus by the definitions above.

    Args:
        documents: The terms of each document.
        vectors: float32, shape (n, ndim).
    """

    def __init__(
        self, documents: Iterable[Sequence[str]], vectors: npt.NDArray[np.float32]
    ) -> None:
        self.bm25 = Bm25(documents)
        self.vectors = vectors

    def signals(
        self, query: Sequence[str], vector: npt.NDArray[np.float32]
    ) -> tuple[dict[int, float], npt.NDArray[np.float64]]:
        """Return the BM25 scores and the cosines of all rows."""
        return self.bm25.scores(query), exact_cosines(self.vectors, vector)

    def search(
        self, query: Sequence[str], vector: npt.NDArray[np.float32], *, k: int, depth: int
    ) -> list[int]:
        """Return the k best rows by RRF over the ``depth`` best of each signal."""
        scores, cosines = self.signals(query, vector)
        return [row for row, _ in fuse([rank(scores, depth), rank(cosines, depth)])[:k]]


def check_hits(
    hits: Sequence[tuple[int, int | None, int | None]],
    signals: tuple[dict[int, float], npt.NDArray[np.float64]],
    *,
    k: int,
    depth: int,
    rrf_k: int = 60,
    weights: tuple[float, float] = (1.0, 1.0),
    tolerance: float = 2e-5,
) -> None:
    """Raise AssertionError unless the hits are the exact answer of an engine in float32.

    Two rows whose exact scores in a signal are nearer than the tolerance may change places there;
    nothing else may differ. So each claimed rank must hold a score that the exact list has at that
    rank, the order must be RRF's over the claimed ranks, and the rows must be the exact ones but
    for those that such a change moves over the last place.

    Args:
        hits: (row, rank by BM25 or None, rank by vectors or None), best first.
        signals: What ``Exact.signals`` gives for the query.
        k: Hits asked for.
        depth: Candidates that each signal gave.
        rrf_k: The engine's constant of the fusion.
        weights: Of BM25 and of the vectors, as the engine weighed them for this query.
        tolerance: Relative for BM25, absolute for cosines.
    """
    lexical, cosines = signals
    best = (rank(lexical, depth + 1), rank(cosines, depth + 1))
    scores: tuple[Mapping[int, float] | npt.NDArray[np.float64], ...] = (lexical, cosines)
    for row, *ranks in hits:
        for place, order, score, name in zip(ranks, best, scores, ("bm25", "vectors"), strict=True):
            if place is None:
                if row in order[:depth]:
                    cut = score[order[-1]] if len(order) > depth else -math.inf
                    near = abs(score[row] - cut) <= tolerance * max(1.0, abs(cut))
                    assert near, f"row {row} is in the first {depth} by {name}, its hit says not"
                continue
            assert 1 <= place <= min(depth, len(order)), f"row {row}: rank {place} by {name}"
            assert name != "bm25" or row in lexical, f"row {row} shares no term, its hit has a rank"
            there = score[order[place - 1]]
            own = score[row]
            assert abs(own - there) <= tolerance * max(1.0, abs(there)), (
                f"row {row} claims rank {place} by {name} with {own}, the exact list has {there}"
            )
    exact_weights = [Fraction(weight) for weight in weights]
    claimed = [
        sum(
            (
                weight / (rrf_k + place)
                for weight, place in zip(exact_weights, ranks, strict=True)
                if place is not None
            ),
            Fraction(0),
        )
        for _, *ranks in hits
    ]
    rows = [row for row, *_ in hits]
    expected = sorted(range(len(hits)), key=lambda i: (-claimed[i], rows[i]))
    assert expected == list(range(len(hits))), "the hits are not in the order of their ranks"
    fused = fuse([order[:depth] for order in best], weights=weights, k=rrf_k)
    wanted = [row for row, _ in fused[:k]]
    assert len(rows) == len(wanted), f"{len(rows)} hits, {len(wanted)} are right"
    exact = dict(fused)
    places = [{row: place for place, row in enumerate(order, start=1)} for order in best]

    def slack(row: int) -> Fraction:
        # One place up or down in each signal is the most that a near tie moves a row by.
        at = [rrf_k + order.get(row, depth) for order in places]
        return sum(
            (
                weight * (Fraction(1, place) - Fraction(1, place + 1))
                for weight, place in zip(exact_weights, at, strict=True)
            ),
            Fraction(0),
        )

    for row in set(rows) ^ set(wanted):
        gap = abs(exact.get(row, Fraction(0)) - exact[wanted[-1]])
        assert gap <= slack(row) + slack(wanted[-1]), f"row {row} is not a right answer"
