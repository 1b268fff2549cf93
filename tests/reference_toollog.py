"""What a diagram must keep of a log, derived in plain Python and without the native core.

Slow and obvious: a tree is built by recursion-free insertion, then walked depth first.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

MAX_DEPTH = 8


@dataclass(frozen=True)
class Bone:
    """The part of a step that the rules of numbering alone decide."""

    tool: str
    outcome: str
    ref: str
    parallel_group: str | None
    call_index: int


def bones(calls):
    """Return name, outcome, ref, batch and call of each step, depth first."""
    run_of, depth = {}, {}
    latest = {}
    for index, call in enumerate(calls):
        above = latest.get(call.parent_id) if call.parent_id is not None else None
        if above is None:
            run_of[index], depth[index] = None, 0
        elif depth[above] == MAX_DEPTH:
            run_of[index], depth[index] = run_of[above], MAX_DEPTH
        else:
            run_of[index], depth[index] = above, depth[above] + 1
        if call.id is not None:
            latest[call.id] = index
    runs = defaultdict(list)
    for index in range(len(calls)):
        runs[run_of[index]].append(index)

    refs, groups = {}, {}
    for index in range(len(calls)):  # a parent always comes before its run
        run = run_of[index]
        number = runs[run].index(index) + 1
        refs[index] = f"c{number}" if run is None else f"{refs[run]}_{number}"
    for members in runs.values():
        batches = []
        for index in members:
            batch = calls[index].batch
            if batches and batch is not None and calls[batches[-1][-1]].batch == batch:
                batches[-1].append(index)
            else:
                batches.append([index])
        for together in batches:
            for index in together:
                groups[index] = refs[together[0]] if len(together) > 1 else None

    order = []
    waiting = list(reversed(runs[None]))
    while waiting:
        index = waiting.pop()
        order.append(index)
        waiting.extend(reversed(runs.get(index, ())))
    return [Bone(calls[i].name, _outcome(calls[i]), refs[i], groups[i], i) for i in order]


def _outcome(call):
    if call.is_error:
        return "error"
    return "pending" if call.result is None else "ok"
