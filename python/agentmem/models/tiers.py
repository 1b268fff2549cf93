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
    "Candidate",
    "Job",
    "Judgement",
    "Message",
    "Persona",
    "PersonaEntry",
    "Report",
    "Scene",
]

FACT_KINDS = ("persona", "instruction", "decision", "event", "fact")
PERSONA_FIELDS = ("project_context", "work_style", "recent_focus", "avoid_patterns")
PersonaField = Literal["project_context", "work_style", "recent_focus", "avoid_patterns"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One L0 row as an extractor reads it.

    Attributes:
        id: The L0 id.
        text: The words, verbatim.
        role: Who speaks: a tool's text is data, never anybody's wish.
        speaker: The name that the host gave, if any.
        session: The session it belongs to.
        position: Its place in the session.
        time: When it was said, with the zone of the speaker where the host gave one.
        trust: Where it came from.
    """

    id: str
    text: str
    role: Literal["user", "assistant", "system", "tool"]
    time: datetime
    speaker: str | None = None
    session: str | None = None
    position: int = 0
    trust: Trust = Trust.USER


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A fact that a text states, before it is held against what is known.

    Attributes:
        text: One atomic statement, understood without the conversation.
        kind: ``persona``, ``instruction``, ``decision``, ``event`` or ``fact``.
        source: The L0 id of the message that states it.
        span: ``[start, end)`` in that message's text, in characters.
        subject: Whom or what it is about: ``"user"``, ``"team"``, a name.
        attribute: With ``subject`` the slot that a later value replaces; None where none is plain.
        value: The value of the slot.
        ends: Whether it only says that the slot's value, or ``value`` in it, no longer holds.
        event_time: When it happened or will, made absolute.
        valid_from: From when it holds; None for the time of the message.
        valid_to: Until when it holds; None for no end.
        confidence: 0 to 1, how plainly the text says it.
        priority: 0 to 100; lasting rules rank highest.
    """

    text: str
    kind: str
    source: str
    span: tuple[int, int]
    subject: str | None = None
    attribute: str | None = None
    value: Any = None
    ends: bool = False
    event_time: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    confidence: float = 0.8
    priority: int = 50


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a candidate is to the facts that are known.

    Attributes:
        action: ``"new"``; ``"duplicate"`` of the fact named: a further source for it;
            ``"supersede"``: it replaces the facts named; ``"past"``: it was replaced by the fact
            named before it was read, and goes into the history only.
        facts: The L1 ids that it is about.
    """

    action: Literal["new", "duplicate", "supersede", "past"]
    facts: tuple[str, ...] = ()


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A step of the pipeline that has work to do.

    ``session`` is None for a step over the whole scope; ``error`` is what went wrong the last time,
    and ``due`` when it is tried again.
    """

    scope: str
    step: Literal["extract", "cluster", "abstract"]
    session: str | None
    turns: int
    attempts: int
    error: str | None
    created: datetime
    due: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a run of ``consolidate`` did, and what failed; the failed jobs stay and are retried."""

    messages: int = 0
    facts: int = 0
    duplicates: int = 0
    superseded: int = 0
    scenes: int = 0
    personas: int = 0
    embedded: int = 0
    failed: tuple[Job, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing failed."""
        return not self.failed
