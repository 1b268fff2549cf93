"""Judges whether a procedure that comes again in other words is known again.

``python -m benches.quality.recurrences [FILE] [--verbose]``. Each line has the runs that a skill is
learned from and one more run: of the same procedure (``same``), or of another that looks alike.
Known again is an update of the skill or a duplicate of it; anything else would end in a second skill.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from benches.quality.skills import LABELS, SIGNAL, World, view_of


def judge(path: Path, *, verbose: bool) -> dict[str, Any]:
    """Return how many of the runs of each kind were taken for the skill's procedure."""
    same = known = updated = others = merged = unlearned = 0
    for line in (json.loads(x) for x in path.read_text(encoding="utf-8").strip().split("\n")):
        world = World()

        def review(run: dict[str, Any], world: World = world, owner: str = line["owner"]) -> Any:
            archive = view_of(
                run["messages"], id=run["id"], owner=owner, succeeded=SIGNAL[run["signal"]]
            )
            return world.review(archive)[0]

        for run in line["runs"]:
            review(run)
        learned = [skill.name for skill in world.skills.get(line["owner"], [])]
        unlearned += len(learned) != 1
        decision = review(line["recurrence"])
        again = decision.outcome == "update" or "duplicate" in decision.reasons
        if line["same"]:
            same, known = same + 1, known + again
            updated += decision.outcome == "update"
        else:
            others, merged = others + 1, merged + again
        if verbose:
            print(
                f"{'ok ' if again == line['same'] else 'BAD'} {line['procedure']:32} "
                f"{decision.outcome} {decision.reasons} learned {learned} ({line['how']})"
            )
    return {
        "known again": f"{known}/{same}",
        "of them updates": updated,
        "others taken for it": f"{merged}/{others}",
        "not learned from two runs": unlearned,
    }


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benches.quality.recurrences")
    parser.add_argument("file", nargs="?", type=Path, default=LABELS / "recurrences-second.jsonl")
    parser.add_argument("--verbose", action="store_true")
    chosen = parser.parse_args(arguments)
    print(json.dumps(judge(chosen.file, verbose=chosen.verbose), indent=2))


if __name__ == "__main__":
    main()
