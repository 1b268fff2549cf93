"""How well skills fit a query, by their words: BM25 over a small set, computed exactly."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Final

from agentmem._native import analyze, analyze_query

__all__ = ["Relevance"]

_K1: Final = 1.2
_B: Final = 0.75
_BODY_CHARS: Final = 2_000


class Relevance:
    """The term statistics of some skills.

    Source: Robertson, Zaragoza: The Probabilistic Relevance Framework: BM25 and Beyond, 2009.

    Args:
        texts: ``(name, description, body)`` of each skill; name and description count double.
    """

    def __init__(self, texts: Sequence[tuple[str, str, str]]) -> None:
        documents = [
            Counter(
                analyze(f"{name.replace('-', ' ')} {description}") * 2 + analyze(body[:_BODY_CHARS])
            )
            for name, description, body in texts
        ]
        lengths = [counts.total() for counts in documents]
        mean = sum(lengths) / len(lengths) if lengths else 1.0
        self._norms = [_K1 * (1 - _B + _B * length / max(mean, 1.0)) for length in lengths]
        self._postings: dict[str, list[tuple[int, int]]] = {}
        for place, counts in enumerate(documents):
            for term, count in counts.items():
                self._postings.setdefault(term, []).append((place, count))
        self._size = len(documents)

    def of(self, query: str) -> list[float]:
        """Return the relevance of each skill to a query: 1 is the best there could be."""
        terms = analyze_query(query)
        scores = [0.0] * self._size
        best = 0.0
        for term in terms:
            postings = self._postings.get(term, ())
            idf = math.log(1 + (self._size - len(postings) + 0.5) / (len(postings) + 0.5))
            best += idf * (_K1 + 1)
            for place, count in postings:
                scores[place] += idf * count * (_K1 + 1) / (count + self._norms[place])
        return [score / best if best else 0.0 for score in scores]
