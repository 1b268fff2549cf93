"""Sentences of labelled messages, with what the labels say of each: what the trainers learn from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from zlib import crc32

from benches.quality.extraction import Line, Score

from agentmem.tiers.extract.extractor import Heard, heard

__all__ = ["FOLDS", "Example", "examples", "fold_of", "summary"]

FOLDS: Final = 5
_PEOPLE: Final = {"user1", "user2", "user3", "u1", "u2", "u3"}


@dataclass
class Example:
    """A sentence with what is said of it.

    Attributes:
        line: The message.
        heard: The sentence.
        worth: Whether it is worth remembering; None where nobody judges.
        kinds: The share of each kind, of whatever is said of it; adds up to 1, or is empty.
    """

    line: Line
    heard: Heard
    worth: bool | None
    kinds: dict[str, float]

    @property
    def text(self) -> str:
        """The sentence."""
        return self.heard.text[self.heard.start : self.heard.end]


def examples(labelled: Sequence[Line]) -> list[Example]:
    """Return the sentences of people's messages with what the labels say of each.

    A sentence is worth it if a labelled fact that is not optional lies in it; one in which optional
    facts alone lie is judged by nobody.
    """
    found = []
    for line in labelled:
        if line.label["role"] != "user":
            continue
        for one in heard(line.message):
            inside = [fact for fact in line.label["facts"] if _lies(fact["span"], one)]
            needed = [fact for fact in inside if not fact.get("optional")]
            kinds: Counter[str] = Counter()
            for fact in needed or inside:
                kinds[fact["kind"]] += 2
                kinds.update(fact.get("alt_kinds") or ())
            whole = sum(kinds.values())
            worth = True if needed else None if inside else False
            shares = {kind: count / whole for kind, count in kinds.items()}
            found.append(Example(line, one, worth, shares))
    return found


def _lies(span: Sequence[int], one: Heard) -> bool:
    shared = min(span[1], one.end) - max(span[0], one.start)
    return shared > 0 and 2 * shared >= min(span[1] - span[0], one.end - one.start)


def fold_of(line: Line) -> int:
    """Return which fold a message is in: by its session, of the phone records by person and month."""
    session = line.label["session"]
    if session.split("/")[0] in _PEOPLE:
        session += line.label["time"][:7]
    return crc32(session.encode()) % FOLDS


def summary(result: Score) -> str:
    """Return the counts of a language in a line."""
    counts = result.counts
    return (
        f"precision {result.share('found', 'false'):.3f}  recall {result.share('found', 'missed'):.3f}"
        f"  speak {counts['speaks']}/{counts['speaks'] + counts['silent']}"
        f"  dates {counts['dates right']}/{counts['dates right'] + counts['dates wrong']}"
        f"  replaced {counts['replaced']}/{counts['replaced'] + counts['not replaced']}"
    )
