"""``python -m benches.quality.dates [--held | --all] [--notes]``: whether the day that a sentence names is right.

Sentences are read from ``labels/dates.jsonl`` (``labels/README.md``). A hash of the id halves them: the forms
may be developed on the first half; the second, ``--held``, is scored only, and its items are never shown.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from agentmem.models import Message
from agentmem.tiers.extract.extractor import heard

__all__ = ["day_of", "is_held", "is_right", "main", "read", "score"]

LABELS = Path(__file__).parent / "labels" / "dates.jsonl"


def read(path: Path = LABELS) -> Iterator[dict[str, Any]]:
    """Yield the labelled sentences."""
    for row in path.read_text(encoding="utf-8").splitlines():
        yield json.loads(row)


def is_held(label: dict[str, Any]) -> bool:
    """Return whether a sentence is of the half that is scored only."""
    return sha256(label["id"].encode()).digest()[-1] % 2 == 1


def day_of(label: dict[str, Any]) -> date | None:
    """Return the day that the extractor gives what stands around the quoted words; None without one."""
    said = datetime.fromisoformat(label["time"])
    message = Message(id=label["id"], text=label["text"], role="user", speaker="user",
                      session="dates", time=said)  # fmt: skip
    place = label["text"].index(label["quote"])
    for one in heard(message):
        if one.start <= place < one.end:
            dated = one.day()
            return dated.when.date() if dated is not None else None
    return None


def is_right(label: dict[str, Any], day: date | None) -> bool:
    """Return whether a day lies in what the label allows."""
    if day is None:
        return False
    given = day.isoformat()
    return (
        label["when"] <= given <= (label.get("when_end") or label["when"])
        or given in label["alt_when"]
    )


def score(labels: Iterable[dict[str, Any]]) -> dict[str, Counter[str]]:
    """Return the counts ``right`` and ``wrong`` of each language."""
    counts: dict[str, Counter[str]] = {}
    for label in labels:
        right = is_right(label, day_of(label))
        counts.setdefault(label["language"], Counter())["right" if right else "wrong"] += 1
    return counts


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one row a language and, with ``--notes``, the wrong days of the half to develop on."""
    parser = argparse.ArgumentParser(prog="benches.quality.dates")
    parser.add_argument("--held", action="store_true", help="the half that is scored only")
    parser.add_argument("--all", action="store_true", help="both halves")
    parser.add_argument("--notes", action="store_true", help="list the wrong ones that may be seen")
    options = parser.parse_args(arguments)
    labels = [one for one in read() if options.all or is_held(one) == options.held]
    for language, counts in sorted(score(labels).items()):
        print(f"{language}: {counts['right']} of {counts.total()} days right")
    for label in labels if options.notes else ():
        if not is_held(label) and not is_right(label, day := day_of(label)):
            print(
                f"    {label['id']} {label['time'][:10]} {day} of {label['when']} «{label['text']}»"
            )


if __name__ == "__main__":
    main()
