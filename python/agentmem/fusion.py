"""Reciprocal Rank Fusion, usable by itself."""

from __future__ import annotations

from collections.abc import Sequence

from agentmem import _native

__all__ = ["fuse"]


def fuse(
    rankings: Sequence[Sequence[int]],
    *,
    weights: Sequence[float] | None = None,
    k: float = 60,
) -> list[tuple[int, float]]:
    """Return the union of ranked id lists, best first, with the fused score of each id.

    ``score(id) = Σ weight / (k + rank)`` over the lists that hold the id; ranks count from 1, an id
    counts once a list, at its first place.

    Source: Cormack, Clarke, Büttcher: Reciprocal Rank Fusion outperforms Condorcet and individual
    Rank Learning Methods, SIGIR 2009, whose k is 60.

    Args:
        rankings: Any number of id lists, best first.
        weights: One a list, finite and not negative; all 1 if None.
        k: Greater than 0; a small one lets the first places weigh more.

    Returns:
        ``(id, score)``, equal scores ordered by smaller id.

    Raises:
        InvalidInputError: k, a weight or an id is out of range, or the weights' number is wrong.

    Example:
        >>> [id for id, score in fuse([[1, 2], [2, 3]])]
        [2, 1, 3]
    """
    return _native.fuse(rankings, weights=weights, k=k)
