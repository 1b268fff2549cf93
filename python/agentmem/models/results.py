"""What the verbs of a memory return beside rows: what they did, found whole, removed or counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from agentmem.models.memory import Tier, Turn

if TYPE_CHECKING:
    from agentmem.models.extraction import Job

__all__ = [
    "Forgotten",
    "Imported",
    "Purged",
    "Retention",
    "Stats",
    "Trace",
    "TraceStep",
    "Verification",
]


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One row on the way down: what it says and the rows it rests on.

    ``spans`` has the half-open range of characters in a source's text that says it, by the id of
    the source, where it is known.
    """

    id: str
    tier: Tier
    text: str
    sources: tuple[str, ...]
    spans: Mapping[str, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Trace:
    """The way from a row down to L0.

    ``path`` holds every row that was passed, from the top, each once; ``evidence`` the L0 turns
    at the bottom.
    """

    id: str
    path: tuple[TraceStep, ...]
    evidence: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What a call of ``forget`` removed, or would remove (``dry_run``): its receipt.

    Attributes:
        ids: Every row that goes, from the top tier down.
        dry_run: Whether nothing was done.
        counts: Rows by tier, ``records`` of hosts and ``vectors`` that went with them, ``sessions``
            of a scope that goes as a whole, and ``scenes_made_again``; what is 0 is absent.
        receipt: Its number in the store; it holds the counts and no words. None of a preview, or
            where there was nothing.
    """

    ids: tuple[str, ...]
    dry_run: bool
    counts: Mapping[str, int] = field(default_factory=dict)
    receipt: int | None = None

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did: rows written, and rows that were there already."""

    new: int
    existing: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """Counts and sizes of a memory, for people and for health checks.

    ``facts`` counts the current ones, whenever they hold, ``superseded`` those that were replaced.
    ``skill_tasks`` has the number of reviews in each state that any is in: ``waiting``,
    ``leased``, ``blocked``, ``done``, ``dead``.
    """

    path: str
    schema_version: int
    durability: str
    embedder_id: str | None
    ndim: int | None
    turns: int
    facts: int
    superseded: int
    scopes: int
    pending_embeddings: int
    last_seq: int
    applied_seq: int
    watermark: int
    tail: int
    segments: int
    store_bytes: int
    index_bytes: int
    guard_trips: int
    redacted: Mapping[str, int] = field(default_factory=dict)
    last_fold_error: str | None = None
    scenes: int = 0
    personas: int = 0
    jobs: tuple[Job, ...] = ()
    consolidation: str = "manual"
    skills: int = 0
    skill_tasks: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Verification:
    """The outcome of ``verify``: no problems means that store and index are whole and agree."""

    problems: tuple[str, ...]
    rows: int
    vectors: int

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


@dataclass(frozen=True, slots=True)
class Purged:
    """What a purge did: sizes of the folder in bytes, and the receipts that it made good."""

    bytes_before: int
    bytes_after: int
    receipts: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Retention:
    """How long the rows of a tier stay in a scope and below, and how many bytes they may have."""

    scope: str
    tier: Tier
    max_age: timedelta | None
    max_bytes: int | None
