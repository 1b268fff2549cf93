"""Finds what several runs have in common, in one conversation or across several.

A run is a list of calls. Two runs share a procedure where their calls pair up well enough; the
paired calls become steps, what varies in them parameters, calls that failed and were replaced
pitfalls. One loop over one tool is none, nor is reading without anything done.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from agentmem.skills.assemble import (
    build_steps,
    fold,
    free_orders,
    origins,
    pitfalls_of,
    shared_words,
)
from agentmem.skills.calls import ALIKE, Call, is_effect, is_generic, is_noise, similarity
from agentmem.skills.procedure import Pairing, Pitfall, Procedure, pair, weight

__all__ = [
    "MAX_PITFALLS",
    "MIN_STEPS",
    "MIN_WEIGHT",
    "Run",
    "common",
    "distinct",
    "is_work",
    "mine",
    "passes",
    "useful",
]

MIN_STEPS: Final = 3
"""A procedure of fewer steps saves nobody work."""

MAX_PITFALLS: Final = 12
MIN_WEIGHT: Final = 1.8
"""Least weight of what two runs share; what any session does is no procedure."""

_CLOSELY: Final = 0.65
_MIN_SHARE: Final = 0.6
_MIN_SHARE_LONGER: Final = 0.5
_MIN_IN_ORDER: Final = 0.75
_MAX_CALLS: Final = 160
_MAX_PASSES: Final = 8


@dataclass(frozen=True, slots=True)
class Run:
    """One time that something was done.

    Attributes:
        calls: All calls, in order, failed ones included.
        request: What was asked for, in the user's words.
        results: Result of each call, to tell what was found during the work; may be empty.
    """

    calls: tuple[Call, ...]
    request: str = ""
    results: tuple[str, ...] = ()


def useful(calls: Sequence[Call]) -> list[Call]:
    """Return the calls that may be steps: no thinking, and no call that failed for good.

    A failed call that is made again word by word later, and works then, is a step: it shows what
    is wrong before the work, and that it is right after it.
    """
    kept = [c for c in calls if not is_noise(c)]
    return [
        c
        for i, c in enumerate(kept)
        if not c.failed
        or any(
            not later.failed and later.tool == c.tool and later.leaves == c.leaves
            for later in kept[i + 1 :]
        )
    ][:_MAX_CALLS]


def _scores(one: Sequence[Call], other: Sequence[Call]) -> list[list[float]]:
    return [[similarity(a, b) for b in other] for a in one]


def is_work(calls: Sequence[Call]) -> bool:
    """Whether the calls are more than a look-up, a loop over one tool or a walk through texts."""
    kinds: list[Call] = []
    for call in calls:
        if all(similarity(call, k) < ALIKE for k in kinds):
            kinds.append(call)
    return len(kinds) >= MIN_STEPS and any(is_effect(c) for c in calls)


def common(one: Sequence[Call], other: Sequence[Call]) -> Pairing | None:
    """Return how two runs pair up if they are the same procedure, else None."""
    if not one or not other:
        return None
    tools = {c.tool for c in one}, {c.tool for c in other}
    bounds = sorted(
        weight([c for c in calls if c.tool in names]) / weight(calls)
        for calls, names in ((one, tools[1]), (other, tools[0]))
    )
    if bounds[1] < _MIN_SHARE or bounds[0] < _MIN_SHARE_LONGER:
        return None
    found = pair(_scores(one, other), ALIKE)
    mine = [one[i] for i, _ in found.pairs]
    its = [other[j] for _, j in found.pairs]
    if not is_work(mine) or not is_work(its):
        return None
    if weight(mine) < MIN_WEIGHT:
        return None
    again = {i for i, c in enumerate(one) if any(similarity(c, m) >= ALIKE for m in mine)}
    rest_one = [c for i, c in enumerate(one) if i not in again]
    rest_other = [
        c
        for j, c in enumerate(other)
        if j not in found.repeats and all(j != b for _, b in found.pairs)
    ]
    got = weight(mine)
    shares = sorted((got / (got + weight(rest_one)), got / (got + weight(rest_other))))
    if shares[1] < _MIN_SHARE or shares[0] < _MIN_SHARE_LONGER:
        return None
    effects = [c for c in one if is_effect(c)], [c for c in other if is_effect(c)]
    shared = sum(1 for c in mine if is_effect(c))
    if shared < 0.5 * min(len(e) for e in effects):
        return None
    return found


def passes(calls: Sequence[Call]) -> list[list[Call]]:
    """Split one run into the passes of a procedure that it goes through several times.

    Returns:
        Two to eight passes whose calls pair up, or an empty list.
    """
    kept = useful(calls)
    if len(kept) < 2 * MIN_STEPS:
        return []
    scores = _scores(kept, kept)
    classes: list[list[int]] = []
    for i in range(len(kept)):
        best = max(classes, key=lambda g: (scores[g[0]][i], -g[0]), default=None)
        if best is not None and scores[best[0]][i] >= ALIKE:
            best.append(i)
        else:
            classes.append([i])
    best_split: tuple[float, list[list[Call]]] = (0.0, [])
    for group in classes:
        for count in range(2, min(_MAX_PASSES, len(group)) + 1):
            if len(group) % count:
                continue
            starts = group[:: len(group) // count]
            split = [kept[a:b] for a, b in zip(starts, [*starts[1:], len(kept)], strict=True)]
            score = _split_score(split, starts[0], len(kept))
            if score > best_split[0]:
                best_split = (score, split)
    return best_split[1]


def _split_score(split: Sequence[Sequence[Call]], start: int, total: int) -> float:
    """Return how much of the run the passes explain, 0 if they are no passes of one procedure."""
    first = split[0]
    if len(first) < MIN_STEPS or start > 0.25 * total:
        return 0.0
    shared = set(range(len(first)))
    for other in split[1:]:
        found = common(first, other)
        if found is None or _in_order([j for _, j in found.pairs]) < _MIN_IN_ORDER:
            return 0.0
        shared &= {i for i, _ in found.pairs}
    steps = [first[i] for i in sorted(shared)]
    if len(steps) < MIN_STEPS + 1 or not is_work(steps):
        return 0.0
    specific = sum(1 for c in steps if not is_generic(c) or _alike_words(c, split))
    if specific < MIN_STEPS:
        return 0.0
    covered = len(steps) * len(split) / total
    return covered if covered >= _MIN_SHARE else 0.0


def _in_order(places: Sequence[int]) -> float:
    """Return the share of the places in their longest rising row."""
    tails: list[int] = []
    for place in places:
        at = bisect_left(tails, place)
        tails[at : at + 1] = [place]
    return len(tails) / len(places)


def _alike_words(call: Call, split: Sequence[Sequence[Call]]) -> bool:
    return all(any(similarity(call, c) >= _CLOSELY for c in part) for part in split[1:])


def mine(
    runs: Sequence[Run], *, are_twins: bool = False
) -> tuple[Procedure, list[list[int]]] | None:
    """Return the procedure of the runs, and for each run the places of the calls that it covers.

    Args:
        runs: Of one procedure, oldest first. One run alone gives a procedure whose parameters are
            guessed: see :mod:`agentmem.skills.single`.
        are_twins: The runs are the same calls, one by one.

    Returns:
        None if the runs have too little in common.
    """
    rows = [useful(r.calls) for r in runs]
    base = rows[0]
    columns: list[list[Call | None]] = [[c] for c in base]
    orders: list[dict[int, int]] = []
    for other in rows[1:]:
        found = _twins(base) if are_twins else common(base, other)
        if found is None:
            return None
        places = dict(found.pairs)
        orders.append(places)
        for i, column in enumerate(columns):
            column.append(other[places[i]] if i in places else None)
    least = max(2, -(-6 * len(runs) // 10)) if len(runs) > 1 else 1
    kept = [i for i, column in enumerate(columns) if sum(c is not None for c in column) >= least]
    shared = [columns[i] for i in kept]
    all_steps, pool = build_steps(shared, len(runs))
    steps, kept, into = fold(all_steps, kept)
    if len(steps) < MIN_STEPS:
        return None
    found_falls: list[Pitfall] = []
    for number, run in enumerate(runs):
        at = {
            call.place: into[k]
            for k, column in enumerate(shared)
            if (call := column[number]) is not None
        }
        found_falls += pitfalls_of(run.calls, pool.of_run(number), steps, at, run.request)
    falls = distinct(found_falls)
    procedure = Procedure(
        steps=steps,
        parameters=origins(
            steps,
            pool,
            [r.request for r in runs],
            [r.results for r in runs],
            [columns[i] for i in kept],
        ),
        pitfalls=falls[:MAX_PITFALLS],
        swaps=tuple(free_orders(kept, orders)),
        words=shared_words(
            [r.request for r in runs], [v for vs in pool.values.values() for v in vs if v]
        ),
        runs=len(runs),
    )
    covered = [
        sorted(c.place for column in shared if (c := column[n]) is not None)
        for n in range(len(runs))
    ]
    return procedure, covered


def _twins(calls: Sequence[Call]) -> Pairing | None:
    if len(calls) < MIN_STEPS or not is_work(calls):
        return None
    return Pairing(tuple((i, i) for i in range(len(calls))))


def distinct(falls: Sequence[Pitfall]) -> tuple[Pitfall, ...]:
    """Return the pitfalls by step, each once."""
    kept: list[Pitfall] = []
    for fall in falls:
        if fall not in kept:
            kept.append(fall)
    return tuple(sorted(kept, key=lambda f: f.step))
