"""What an extractor reads and gives, and what the steps of a consolidation leave behind."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from agentmem.models.memory import Trust

__all__ = ["Candidate", "Job", "Judgement", "Message", "Report"]


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
