"""L0 rows as an extractor reads them, piece by piece."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from agentmem.models import Message, Trust, format_id, from_ms
from agentmem.store import turns

if TYPE_CHECKING:
    import apsw

__all__ = ["Piece", "read_piece", "to_message"]

PIECE_TURNS: Final = 200
PIECE_CHARS: Final = 2_000_000
LOAD_AT_ONCE: Final = 50
CONTEXT_TURNS: Final = 6
MAX_CHARS: Final = 100_000
"""What is read of one message: no person says more at once, and a pasted file is no statement."""

_ROLES: Final[dict[str, Literal["user", "assistant", "system", "tool"]]] = {
    "user": "user",
    "assistant": "assistant",
    "system": "system",
    "tool_result": "tool",
}


class Piece(NamedTuple):
    """What one call of an extractor is about; ``end`` is the last turn read, words or not."""

    messages: list[Message]
    context: list[Message]
    end: int
    is_last: bool


def to_message(row: turns.TurnRow) -> Message | None:
    """Return a turn as a message, None for what nobody says: calls and bookkeeping."""
    role = _ROLES.get(row.kind)
    if role is None or not row.text or row.text.isspace():
        return None
    return Message(
        id=format_id(0, row.id),
        text=row.text[:MAX_CHARS],
        role=role,
        time=_time(row),
        speaker=row.speaker,
        session=row.session,
        position=row.position,
        trust=Trust(row.trust),
    )


def _time(row: turns.TurnRow) -> datetime:
    """Return when a turn was said, in the speaker's zone where the host gave one."""
    time = from_ms(row.created_ms if row.event_ms is None else row.event_ms)
    if row.event_ms is None or row.offset_min is None:
        return time
    try:
        return time.astimezone(timezone(timedelta(minutes=row.offset_min)))
    except (OverflowError, ValueError):
        return time


def read_piece(
    connection: apsw.Connection, scope_id: int, session: str, *, after: int
) -> Piece | None:
    """Return what comes behind a turn, bounded in turns and characters; None if nothing does."""
    read: list[turns.TurnRow] = []
    size = 0
    is_last = False
    while len(read) < PIECE_TURNS and size < PIECE_CHARS:
        limit = min(LOAD_AT_ONCE, PIECE_TURNS - len(read))
        start = read[-1].id if read else after
        rows = turns.of_session(connection, scope_id, session, after=start, limit=limit)
        read += rows
        size += sum(len(row.text) for row in rows)
        if len(rows) < limit:
            is_last = True
            break
    if not read:
        return None
    before = turns.before(connection, scope_id, session, until=after, limit=CONTEXT_TURNS)
    return Piece(
        [message for row in read if (message := to_message(row)) is not None],
        [message for row in before if (message := to_message(row)) is not None],
        read[-1].id,
        is_last,
    )
