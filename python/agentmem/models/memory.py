"""What comes back from a memory: plain, frozen values that hold no handle to it.

Times are timezone-aware UTC. Ids are strings such as ``"L1:7"``: the tier and a number that is
never used again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, make_dataclass
from dataclasses import fields as dataclass_fields
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from typing import Any, Literal, TypeVar

from agentmem.errors import InvalidInputError

__all__ = [
    "TIERS",
    "TRUSTS",
    "Fact",
    "Tier",
    "Trust",
    "Turn",
    "format_id",
    "from_ms",
    "make_fact",
    "maker",
    "parse_id",
    "to_ms",
]

T = TypeVar("T")
Tier = Literal["L0", "L1", "L2", "L3"]
TIERS: tuple[Tier, ...] = ("L0", "L1", "L2", "L3")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Trust(IntEnum):
    """Where a row came from; a derived row has the lowest trust of what it rests on."""

    TOOL = 1
    IMPORTED = 2
    ASSISTANT = 3
    USER = 4


# By number: found by index, which costs less than the enum's call. Number 0 is never stored.
TRUSTS: tuple[Trust, ...] = (Trust.TOOL, *Trust)


def format_id(tier: int, number: int) -> str:
    """Return the id of row ``number`` of a tier, ``format_id(1, 7) == "L1:7"``."""
    return f"L{tier}:{number}"


def parse_id(value: str, *, argument: str = "id") -> tuple[int, int]:
    """Return ``(tier, number)`` of an id such as ``"L1:7"``.

    Raises:
        InvalidInputError: The value is not an id.
    """
    if isinstance(value, str):
        head, colon, tail = value.partition(":")
        if colon and head in TIERS and tail.isascii() and tail.isdigit() and len(tail) < 17:  # noqa: PLR2004
            return int(head[1]), int(tail)
    raise InvalidInputError(
        f"{argument}: an id such as 'L1:7' (tier L0 to L3, a colon, a number) is needed, "
        f"{value!r} was given"
    )


def from_ms(value_ms: int) -> datetime:
    """Return the UTC datetime of a Unix time in milliseconds."""
    return EPOCH + timedelta(milliseconds=value_ms)


def to_ms(value: datetime, *, argument: str) -> int:
    """Return Unix milliseconds of a timezone-aware datetime.

    Raises:
        InvalidInputError: The value is no datetime, a naive one, or one that UTC's years 1 to 9999
            do not hold.
    """
    if not isinstance(value, datetime):
        raise InvalidInputError(
            f"{argument}: a timezone-aware datetime is needed, {value!r} was given"
        )
    if value.tzinfo is None or value.utcoffset() is None:
        raise InvalidInputError(
            f"{argument}: {value.isoformat()} has no time zone; "
            "pass an aware datetime such as datetime.now(UTC)"
        )
    try:
        value.astimezone(UTC)
    except OverflowError:
        raise InvalidInputError(
            f"{argument}: {value.isoformat()} lies outside the years 1 to 9999 of UTC"
        ) from None
    delta = value - EPOCH
    return (delta.days * 86_400 + delta.seconds) * 1000 + delta.microseconds // 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One L0 row: a message, a tool call or result, or a text that a host asserted."""

    id: str
    scope: str
    session: str | None
    position: int
    origin: Literal["captured", "asserted", "imported"]
    kind: str
    speaker: str | None
    text: str
    trust: Trust
    created: datetime
    event_time: datetime | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    """One L1 row.

    ``status`` says what a write did: ``"new"``, ``"duplicate"`` (the same text was there already)
    or ``"superseded"`` (it replaced the facts in ``supersedes``); it is ``None`` on a read.
    A fact that was itself replaced names its successor in ``superseded_by``. One that nothing
    replaced is current (``is_current``), whenever it holds: what holds now is current, has begun
    (``valid_from``) and has not expired (``valid_to``).
    """

    id: str
    text: str
    kind: str
    scope: str
    key: str | None
    session: str | None
    tags: tuple[str, ...]
    metadata: Mapping[str, Any]
    subject: str | None
    attribute: str | None
    value: Any
    priority: int
    trust: Trust
    created: datetime
    valid_from: datetime | None
    valid_to: datetime | None
    sources: tuple[str, ...]
    superseded_by: str | None
    is_current: bool
    status: Literal["new", "duplicate", "superseded"] | None = None
    supersedes: tuple[str, ...] = ()
    redacted: tuple[str, ...] = ()
    event_time: datetime | None = None
    confidence: float | None = None
    extractor: str | None = None


def maker(frozen: type[T]) -> Callable[..., T]:
    """Return a constructor of a frozen dataclass, by position, that costs a fifth of its own.

    The guard of a frozen class makes its ``__init__`` set each field by a call. Here an open twin
    with the same slots is filled, and then becomes the frozen class. Fields without a default in
    the frozen class have none here either.
    """
    fields = [
        (one.name, Any) if one.default is MISSING else (one.name, Any, field(default=one.default))
        for one in dataclass_fields(frozen)  # type: ignore[arg-type]
    ]
    twin = make_dataclass(f"Open{frozen.__name__}", fields, slots=True)

    def make(*values: Any) -> T:
        made = twin(*values)
        made.__class__ = frozen
        return made  # type: ignore[no-any-return]

    return make


make_fact: Callable[..., Fact] = maker(Fact)
