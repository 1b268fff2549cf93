"""What recall's k costs: how far the first row of one signal may fall if the other lacks it."""

from fractions import Fraction

import pytest

import agentmem
from agentmem.tiers.recall import RRF_K, depth_of

DEPTH = depth_of(5)


def arrangement(k):
    """Return ``{rank in the other signal: rank in the row's own}`` of all rows that can beat it.

    The row is first in its own signal and absent from the other. Each rank of the other signal
    takes the worst free rank that still beats the row, the tightest first: no set is larger.
    """
    row = Fraction(1) / (k + 1)
    worst = {}
    for other in range(1, DEPTH + 1):
        fits = [
            own
            for own in range(2, DEPTH + 1)
            if 1 / Fraction(k + own) + 1 / Fraction(k + other) > row
        ]
        if fits:
            worst[other] = fits[-1]
    taken = {}
    for other in sorted(worst, key=worst.get):
        free = [own for own in range(worst[other], 1, -1) if own not in taken.values()]
        if free:
            taken[other] = free[0]
    return taken


@pytest.mark.parametrize(("k", "ahead"), [(1, 3), (3, 7), (int(RRF_K), 41), (60, 49)])
def test_rows_that_can_pass_the_first_of_one_signal(k, ahead):
    places = arrangement(k)
    assert len(places) == ahead
    own, other = [0], []
    for rank in range(1, DEPTH + 1):
        other.append(rank if rank in places else 1000 + rank)
    by_own = {rank: row for row, rank in places.items()}
    own += [by_own.get(rank, 2000 + rank) for rank in range(2, DEPTH + 1)]
    fused = [row for row, _ in agentmem.fuse([own, other], k=k)]
    assert fused.index(0) == ahead
