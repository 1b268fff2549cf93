"""What the tiers above L0 hand each other: messages to read, facts to judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Self

from agentmem.models.memory import Trust

__all__ = [
    "FACT_KINDS",
    "PERSONA_FIELDS",
    "Persona",
    "PersonaEntry",
    "Scene",
]

FACT_KINDS = ("persona", "instruction", "decision", "event", "fact")
PERSONA_FIELDS = ("project_context", "work_style", "recent_focus", "avoid_patterns")
PersonaField = Literal["project_context", "work_style", "recent_focus", "avoid_patterns"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One L2 row: an activity, over one session or several.

    ``text`` is the summary; ``members`` are the facts and turns that belong to it, each in one
    scene only. ``weight`` is how much went on in it, decayed with time up to ``last``.
    """

    id: str
    scope: str
    label: str
    text: str
    members: tuple[str, ...]
    sessions: tuple[str, ...]
    tags: tuple[str, ...]
    metadata: Mapping[str, Any]
    weight: float
    priority: int
    trust: Trust
    created: datetime
    updated: datetime
    first: datetime
    last: datetime
    merged_into: str | None
    is_current: bool


@dataclass(frozen=True, slots=True)
class PersonaEntry:
    """One statement of a persona, with the ids of the facts (and scenes) that it rests on."""

    field: PersonaField
    text: str
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Persona:
    """One version of what is known of a scope's user and work (L3); version 0 says nothing.

    ``entries`` say which facts each statement rests on, ``evidence`` names all of these.
    """

    project_context: str = ""
    work_style: str = ""
    recent_focus: list[str] = field(default_factory=list)
    avoid_patterns: list[str] = field(default_factory=list)
    version: int = 0
    evidence: tuple[str, ...] = ()
    entries: tuple[PersonaEntry, ...] = ()
    id: str = ""
    scope: str = ""
    trust: Trust = Trust.USER
    created: datetime | None = None
    is_current: bool = True

    @classmethod
    def of(cls, entries: Sequence[PersonaEntry], **more: Any) -> Self:
        """Return the persona that these entries make: texts of one field joined, or listed."""
        said: dict[str, list[str]] = {name: [] for name in PERSONA_FIELDS}
        for entry in entries:
            said[entry.field].append(entry.text)
        return cls(
            project_context="; ".join(said["project_context"]),
            work_style="; ".join(said["work_style"]),
            recent_focus=said["recent_focus"],
            avoid_patterns=said["avoid_patterns"],
            entries=tuple(entries),
            evidence=tuple(dict.fromkeys(one for entry in entries for one in entry.sources)),
            **more,
        )

    def to_system_context(self) -> str:
        """Return exactly four lines for a system prompt, without a newline at the end."""
        lines = (
            f"Project: {self.project_context}",
            f"Style: {self.work_style}",
            f"Recent: {', '.join(self.recent_focus)}",
            f"Avoid: {'; '.join(self.avoid_patterns)}",
        )
        return "\n".join(" ".join(line.splitlines()) for line in lines)
