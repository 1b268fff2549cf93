"""``python -m benches.quality.persona [LABELS]``: precision of each field, and whether focus follows.

Each labelled history is captured session by session and consolidated after each, as a host would,
with the default extractor. See ``labels/README-scenes-persona.md`` for the measures.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benches.corpus import data_folder
from benches.quality.histories import LABELS, History, capture_all, histories, matches

import agentmem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agentmem.models import Persona

__all__ = ["FIELDS", "Judged", "judge", "main"]

FIELDS = ("project_context", "work_style", "recent_focus", "avoid_patterns")
WITHIN = 2
"""Sessions after a change within which the focus must follow."""
_SENTENCES = re.compile(r"; |(?<=[.!?。])\s*(?=\S)")


@dataclass
class Count:
    """Right and wrong statements of a field, expected entries and those met."""

    right: int = 0
    said: int = 0
    met: int = 0
    expected: int = 0
    cited: int = 0
    empty: int = 0


@dataclass
class Judged:
    """What the persona of a history is worth."""

    fields: dict[str, Count] = field(default_factory=lambda: {name: Count() for name in FIELDS})
    follows: bool | None = None
    wrong: list[tuple[str, str]] = field(default_factory=list)
    missed: list[tuple[str, list[str]]] = field(default_factory=list)
    focus: list[list[str]] = field(default_factory=list)


def said_in(persona: Persona, name: str) -> list[str]:
    """Return the statements of a field: the items of a list, the sentences of a text."""
    value = getattr(persona, name)
    if isinstance(value, str):
        return [one.strip() for one in _SENTENCES.split(value) if one.strip()]
    return list(value)


def judge(history: History, memory: agentmem.Memory) -> Judged:
    """Capture a history into an empty memory, consolidate after each session, and judge."""
    judged = Judged()
    ids: dict[str, tuple[str, ...]] = {}
    sessions: list[str] = []
    for session, group in groupby(history.items, key=lambda one: one.session):
        items = list(group)
        ids |= dict(zip((one.id for one in items), capture_all(memory, items), strict=True))
        memory.consolidate()
        sessions.append(session)
        judged.focus.append(list(memory.persona().recent_focus))
    persona = memory.persona()
    for name, wanted in history.labels["fields"].items():
        _judge_field(judged, memory, persona, name, wanted, ids)
    change = history.labels.get("focus_change")
    if change is not None:
        at = sessions.index(change["after_session"])
        within = judged.focus[at + 1 : at + 1 + WITHIN]
        turned = any(matches(item, change["new"]) for items in within for item in items)
        stuck = any(
            matches(item, change["old"]) and not matches(item, change["new"])
            for item in persona.recent_focus
        )
        judged.follows = turned and not stuck
    return judged


def _judge_field(
    judged: Judged, memory: agentmem.Memory, persona: Persona, name: str, wanted: dict[str, Any],
    ids: dict[str, tuple[str, ...]],
) -> None:  # fmt: skip
    count = judged.fields[name]
    statements = said_in(persona, name)
    count.empty += not statements
    for statement in statements:
        count.said += 1
        if any(matches(statement, one["any"]) for one in wanted["expect"]) and not (
            matches(statement, wanted["forbid"])
        ):
            count.right += 1
        else:
            judged.wrong.append((name, statement))
    for one in wanted["expect"]:
        count.expected += 1
        hits = [e for e in persona.entries if e.field == name and matches(e.text, one["any"])]
        count.met += bool(hits)
        if not hits:
            judged.missed.append((name, one["any"]))
        evidence = {turn for label in one["evidence"] for turn in ids.get(label, ())}
        cited = {turn.id for e in hits for row in e.sources for turn in memory.trace(row).evidence}
        count.cited += bool(evidence & cited)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table, and with ``--verbose`` what was wrong and missed."""
    parser = argparse.ArgumentParser(prog="python -m benches.quality.persona", description=__doc__)
    parser.add_argument("labels", nargs="?", type=Path, default=LABELS / "persona.jsonl")
    parser.add_argument("--verbose", action="store_true")
    given = parser.parse_args(arguments)
    totals = {name: Count() for name in FIELDS}
    followed: list[bool] = []
    for history in histories(given.labels, data_folder()):
        with tempfile.TemporaryDirectory() as folder, agentmem.Memory(folder) as memory:
            judged = judge(history, memory)
        for name, count in judged.fields.items():
            for part, value in vars(count).items():
                setattr(totals[name], part, getattr(totals[name], part) + value)
        if judged.follows is not None:
            followed.append(judged.follows)
        if given.verbose:
            print(f"{history.id}: focus follows: {judged.follows}; {judged.focus}")
            for name, statement in judged.wrong:
                print(f"  wrong  {name}: {statement}")
            for name, keywords in judged.missed:
                print(f"  missed {name}: {keywords}")
    print("field             precision        recall           evidence  empty")
    for name, count in totals.items():
        precision = count.right / count.said if count.said else float("nan")
        recall = count.met / count.expected if count.expected else float("nan")
        print(
            f"{name:17} {precision:5.2f} ({count.right}/{count.said})  {recall:5.2f} "
            f"({count.met}/{count.expected})  {count.cited}/{count.met}  {count.empty}"
        )
    print(f"focus follows a change within {WITHIN} sessions: {sum(followed)}/{len(followed)}")


if __name__ == "__main__":
    main()
