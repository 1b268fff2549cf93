"""``python -m benches.quality.scenes [LABELS]``: do scenes follow activities, and are they named?

Each labelled history is captured message by message into a memory, clustered once, and its scenes
are held against the labels. See ``labels/README-scenes-persona.md`` for the measures.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from math import comb
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benches.corpus import data_folder
from benches.quality.histories import LABELS, History, capture_all, histories, matches

import agentmem

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

__all__ = ["Judged", "adjusted_rand", "judge", "main"]


@dataclass
class Judged:
    """What the scenes of a history are worth."""

    index: float
    baseline: float
    named: int = 0
    scenes: int = 0
    found: int = 0
    activities: int = 0
    seconds: float = 0.0
    labels: list[tuple[bool, str, str]] = field(default_factory=list)


def adjusted_rand(left: Sequence[Hashable], right: Sequence[Hashable]) -> float:
    """Return how much two partitions of the same items agree: 1 fully, 0 as by chance.

    Source: Hubert, Arabie: Comparing Partitions, Journal of Classification 1985.
    """
    pairs = sum(comb(count, 2) for count in Counter(zip(left, right, strict=True)).values())
    of_left = sum(comb(count, 2) for count in Counter(left).values())
    of_right = sum(comb(count, 2) for count in Counter(right).values())
    total = comb(len(left), 2)
    expected = of_left * of_right / total if total else 0.0
    most = (of_left + of_right) / 2
    return 1.0 if most == expected else (pairs - expected) / (most - expected)


def judge(history: History, memory: agentmem.Memory) -> Judged:
    """Capture a history into an empty memory, consolidate, and judge its scenes."""
    ids = capture_all(memory, history.items)
    start = time.process_time()
    memory.consolidate()
    seconds = time.process_time() - start
    scene_of = {one: scene for scene in memory.scenes(limit=1000) for one in scene.members}
    placed: list[Any] = []
    for number, turns in enumerate(ids):
        scene = next((scene_of[one] for one in turns if one in scene_of), None)
        placed.append(f"alone {number}" if scene is None else scene.id)
    labelled = [at for at, item in enumerate(history.items) if item.activity is not None]
    wanted = [history.items[at].activity for at in labelled]
    judged = Judged(
        adjusted_rand(wanted, [placed[at] for at in labelled]),
        adjusted_rand(wanted, [history.items[at].session for at in labelled]),
        activities=len(history.labels["activities"]),
        seconds=seconds,
    )
    hit: set[str] = set()
    for scene in sorted(
        {one.id: one for one in scene_of.values()}.values(), key=lambda one: one.id
    ):
        votes = Counter(history.items[at].activity for at in labelled if placed[at] == scene.id)
        if not votes:
            continue
        most = max(votes.values())
        activity = min(str(one) for one, count in votes.items() if count == most)
        is_right = matches(scene.label, history.labels["activities"][activity]["must"])
        judged.scenes += 1
        judged.named += is_right
        judged.labels.append((is_right, activity, scene.label))
        if is_right:
            hit.add(activity)
    judged.found = len(hit)
    return judged


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line a history and the means, with ``--verbose`` each label too."""
    parser = argparse.ArgumentParser(prog="python -m benches.quality.scenes", description=__doc__)
    parser.add_argument("labels", nargs="?", type=Path, default=LABELS / "scenes.jsonl")
    parser.add_argument("--verbose", action="store_true")
    given = parser.parse_args(arguments)
    found: list[Judged] = []
    print("history              ARI  by session  scenes  named  activities named  messages  CPU s")
    for history in histories(given.labels, data_folder()):
        with tempfile.TemporaryDirectory() as folder, agentmem.Memory(folder) as memory:
            judged = judge(history, memory)
        found.append(judged)
        print(
            f"{history.id:18} {judged.index:5.2f} {judged.baseline:11.2f} {judged.scenes:7} "
            f"{judged.named:6} {judged.found:8}/{judged.activities:<8} {len(history.items):9} "
            f"{judged.seconds:6.2f}"
        )
        if given.verbose:
            for is_right, activity, label in judged.labels:
                print(f"    {'right' if is_right else 'WRONG'} {activity}: {label}")
    count = len(found)
    index, base = (
        sum(one.index for one in found) / count,
        sum(one.baseline for one in found) / count,
    )
    named, scenes = sum(one.named for one in found), sum(one.scenes for one in found)
    print(
        f"mean ARI {index:.3f}, one scene a session {base:.3f}; labels right {named}/{scenes} "
        f"({named / max(scenes, 1):.2f}); activities named {sum(one.found for one in found)}"
        f"/{sum(one.activities for one in found)}"
    )


if __name__ == "__main__":
    main()
