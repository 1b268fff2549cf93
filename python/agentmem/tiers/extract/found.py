"""What the rules of a language give, before it becomes a candidate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from agentmem.tiers.extract.dates import Dated

__all__ = ["PRIORITY", "Found", "Reading"]

# Lasting rules rank highest: they are owed at every turn, whatever is asked.
PRIORITY: Final = {"instruction": 90, "decision": 65, "persona": 60, "fact": 50, "event": 45}


@dataclass(slots=True)
class Found:
    """One fact of a sentence; offsets are into the message."""

    kind: str
    start: int
    end: int
    text: str
    subject: str
    attribute: str | None = None
    value: str | None = None
    ends: bool = False
    when: Dated | None = None
    confidence: float = 0.8


@dataclass(slots=True)
class Reading:
    """What the sentences read so far tell the next: whom a pronoun means, whether a team speaks."""

    text: str
    is_team: bool = False
    person: str | None = None
    is_named: bool = False
    topic: str | None = None
    is_play: bool = False
