"""Buffers of the skill path: which L0 turns an owner's session has fed, and what they weigh.

A row is waiting until an archive takes it, or dropped from the start; it never goes away by
itself, so a log that is given again adds nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from agentmem.store.payloads import decode_text
from agentmem.store.scopes import subtree_clause

if TYPE_CHECKING:
    import apsw

__all__ = [
    "BufferRow",
    "Entry",
    "Link",
    "add",
    "known",
    "links",
    "load",
    "mark_compressed",
    "note_success",
    "obtain",
    "overfull",
    "same_calls",
    "select",
    "take",
    "waiting",
]

_COLUMNS: Final = (
    "skill_buffers.id, skill_buffers.session_id, scopes.path, sessions.name, owner, messages, "
    "skill_buffers.calls, size, is_compressed, succeeded"
)
_FROM: Final = (
    "FROM skill_buffers JOIN sessions ON sessions.id = skill_buffers.session_id "
    "JOIN scopes ON scopes.id = sessions.scope_id "
)


class BufferRow(NamedTuple):
    """A buffer: its counts are those of the waiting rows alone."""

    id: int
    session_id: int
    scope: str
    session: str
    owner: str
    messages: int
    calls: int
    size: int
    is_compressed: int
    succeeded: int | None


class Entry(NamedTuple):
    """A row of a buffer: one turn, with its UTF-8 bytes and how many calls it initiates."""

    turn_id: int
    size: int
    calls: int
    is_dropped: bool = False
    is_compressed: bool = False


class Link(NamedTuple):
    """What ties a turn to a tool call: it made the call, or it is the call's result."""

    turn_id: int | None
    result_id: int | None
    name: str
    call_id: str | None
    parent_id: str | None
    is_object: bool
    batch: int
    outcome: str


def obtain(connection: apsw.Connection, session_id: int, owner: str) -> BufferRow:
    """Return the buffer of an owner's session; it is made if it is not there yet."""
    connection.execute(
        "INSERT OR IGNORE INTO skill_buffers (session_id, owner) VALUES (?,?)", (session_id, owner)
    )
    statement = f"SELECT {_COLUMNS} {_FROM} WHERE skill_buffers.session_id = ? AND owner = ?"
    (row,) = connection.execute(statement, (session_id, owner)).fetchall()
    return BufferRow._make(row)


def load(connection: apsw.Connection, number: int) -> BufferRow | None:
    """Return a buffer by its number."""
    row = connection.execute(
        f"SELECT {_COLUMNS} {_FROM} WHERE skill_buffers.id = ?", (number,)
    ).fetchone()
    return None if row is None else BufferRow._make(row)


def select(connection: apsw.Connection, scope: str, session: str, owner: str) -> BufferRow | None:
    """Return the buffer of an owner's session in exactly this scope."""
    row = connection.execute(
        f"SELECT {_COLUMNS} {_FROM} WHERE scopes.path = ? AND sessions.name = ? AND owner = ?",
        (scope, session, owner),
    ).fetchone()
    return None if row is None else BufferRow._make(row)


def overfull(
    connection: apsw.Connection, scope: str, *, calls: int, size: int
) -> list[tuple[str, BufferRow]]:
    """Return ``(scope, buffer)`` of the buffers that should have been archived already."""
    clause, bindings = subtree_clause(scope, "sessions.scope_id")
    cursor = connection.execute(
        f"SELECT {_COLUMNS} {_FROM} WHERE messages > 0 "
        f"AND (skill_buffers.calls >= ? OR size >= ? OR is_compressed) AND {clause} "
        "ORDER BY skill_buffers.id",
        (calls, size, *bindings),
    )
    return [(row[2], BufferRow._make(row)) for row in cursor]


def known(connection: apsw.Connection, buffer_id: int, turn_ids: Sequence[int]) -> dict[int, bool]:
    """Return, by turn, whether it was dropped, for those turns that the buffer has seen."""
    cursor = connection.execute(
        "SELECT turn_id, is_dropped FROM json_each(?) AS wanted CROSS JOIN skill_buffered "
        "ON buffer_id = ? AND turn_id = wanted.value",
        (json.dumps(list(turn_ids)), buffer_id),
    )
    return {turn: bool(is_dropped) for turn, is_dropped in cursor}


def add(connection: apsw.Connection, buffer_id: int, entries: Sequence[Entry]) -> None:
    """Insert rows, and count those that are not dropped."""
    connection.executemany(
        "INSERT INTO skill_buffered (buffer_id, turn_id, size, calls, is_dropped, is_compressed) "
        "VALUES (?,?,?,?,?,?)",
        [
            (buffer_id, one.turn_id, one.size, one.calls, one.is_dropped, one.is_compressed)
            for one in entries
        ],
    )
    kept = [one for one in entries if not one.is_dropped]
    connection.execute(
        "UPDATE skill_buffers SET messages = messages + ?, calls = calls + ?, size = size + ? "
        "WHERE id = ?",
        (len(kept), sum(one.calls for one in kept), sum(one.size for one in kept), buffer_id),
    )


def mark_compressed(connection: apsw.Connection, buffer_id: int, turn_ids: Sequence[int]) -> None:
    """Note that these waiting rows came in one large add, whose long tool texts are shortened."""
    connection.execute(
        "UPDATE skill_buffered SET is_compressed = 1 WHERE buffer_id = ? "
        "AND turn_id IN (SELECT value FROM json_each(?)) AND archive_id IS NULL",
        (buffer_id, json.dumps(list(turn_ids))),
    )
    connection.execute("UPDATE skill_buffers SET is_compressed = 1 WHERE id = ?", (buffer_id,))


def note_success(connection: apsw.Connection, buffer_id: int, succeeded: bool) -> None:
    """Keep the host's word on whether the work succeeded, for the next archive."""
    connection.execute(
        "UPDATE skill_buffers SET succeeded = ? WHERE id = ?", (int(succeeded), buffer_id)
    )


def waiting(connection: apsw.Connection, buffer_id: int) -> list[Entry]:
    """Return the rows that no archive took yet, in the order of the conversation."""
    cursor = connection.execute(
        "SELECT turn_id, size, calls, is_dropped, is_compressed FROM skill_buffered "
        "WHERE buffer_id = ? AND archive_id IS NULL AND is_dropped = 0 ORDER BY turn_id",
        (buffer_id,),
    )
    return [
        Entry(turn, size, calls, bool(is_dropped), bool(is_compressed))
        for turn, size, calls, is_dropped, is_compressed in cursor
    ]


def take(
    connection: apsw.Connection, buffer_id: int, archive_id: int, turn_ids: Sequence[int]
) -> bool:
    """Give waiting rows to an archive, and say whether all of them were still waiting.

    Call it inside a transaction that is rolled back if they were not.
    """
    connection.execute(
        "UPDATE skill_buffered SET archive_id = ? WHERE buffer_id = ? AND archive_id IS NULL "
        "AND is_dropped = 0 AND turn_id IN (SELECT value FROM json_each(?))",
        (archive_id, buffer_id, json.dumps(list(turn_ids))),
    )
    if connection.changes() != len(turn_ids):
        return False
    connection.execute(
        "UPDATE skill_buffers SET is_compressed = 0, succeeded = NULL, "
        "(messages, calls, size) = (SELECT count(*), coalesce(sum(calls), 0), "
        "coalesce(sum(size), 0) FROM skill_buffered WHERE buffer_id = ?1 "
        "AND archive_id IS NULL AND is_dropped = 0) WHERE id = ?1",
        (buffer_id,),
    )
    return True


def _text(value: str | bytes | None) -> str | None:
    return decode_text(value) if isinstance(value, bytes) else value


def links(connection: apsw.Connection, turn_ids: Sequence[int]) -> list[Link]:
    """Return the tool calls that these turns made or answered."""
    wanted = json.dumps(list(turn_ids))
    columns = "turn_id, result_id, name, call_id, parent_id, is_object, batch, outcome"
    rows: list[Any] = []
    for column in ("turn_id", "result_id"):
        rows += connection.execute(
            f"SELECT {columns} FROM json_each(?) AS wanted CROSS JOIN tool_calls "
            f"ON tool_calls.{column} = wanted.value",
            (wanted,),
        )
    return [
        Link(
            made,
            came,
            _text(name) or "",
            _text(call_id),
            _text(parent),
            bool(is_object),
            batch,
            outcome,
        )
        for made, came, name, call_id, parent, is_object, batch, outcome in dict.fromkeys(rows)
    ]


def same_calls(
    connection: apsw.Connection,
    buffer_id: int,
    session_id: int,
    turn_ids: Iterable[int],
    *,
    start: int,
) -> set[int]:
    """Return those of these call turns that repeat an earlier call.

    A replay has the host's id, the name and the arguments of a call that the buffer has seen. In
    one log a host may use an id again once its call is answered, so among the turns from ``start``
    on only a call that repeats one without a result yet is a replay.

    Args:
        connection: The writing one.
        buffer_id: The buffer.
        session_id: Its session.
        turn_ids: The turns to look at.
        start: The first turn of the log that is being fed.
    """
    cursor = connection.execute(
        "SELECT DISTINCT fresh.turn_id FROM json_each(?) AS wanted "
        "CROSS JOIN tool_calls AS fresh ON fresh.turn_id = wanted.value "
        "CROSS JOIN tool_calls AS old ON old.session_id = ? AND old.call_id = fresh.call_id "
        "AND old.turn_id < fresh.turn_id AND old.name = fresh.name "
        "CROSS JOIN turns AS this ON this.id = fresh.turn_id "
        "CROSS JOIN turns AS that ON that.id = old.turn_id "
        "WHERE fresh.session_id = old.session_id AND this.text = that.text "
        "AND this.text_id IS that.text_id AND CASE WHEN old.turn_id >= ? "
        "THEN old.result_id IS NULL OR old.result_id > fresh.turn_id "
        "ELSE EXISTS (SELECT 1 FROM skill_buffered WHERE buffer_id = ? "
        "AND skill_buffered.turn_id = old.turn_id) END",
        (json.dumps(list(turn_ids)), session_id, start, buffer_id),
    )
    return {row[0] for row in cursor}
