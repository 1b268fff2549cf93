"""L0 rows: what was said, called and asserted, verbatim."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from agentmem.models import Trust, Turn, format_id, from_ms
from agentmem.store.bulk import insert_rows
from agentmem.store.payloads import (
    decode_text,
    delete_unused,
    encode_text,
    is_inline,
    obtain,
    pack,
    unpack,
)

if TYPE_CHECKING:
    import apsw

__all__ = [
    "TurnRow",
    "before",
    "count",
    "delete",
    "existing",
    "has_more",
    "insert_any",
    "insert_captured",
    "insert_many",
    "load",
    "of_session",
    "origins",
    "record_bytes",
    "to_turn",
    "trusts",
]


_TOUCH_SESSIONS: Final = (
    "UPDATE sessions SET revision = revision + 1, rewrites = rewrites + 1 WHERE id IN "
    "(SELECT session_id FROM records WHERE id IN (SELECT value FROM json_each(?)))"
)
_BLANK_CALLS: Final = (
    "UPDATE tool_calls SET name = '?', is_object = 0 "
    "WHERE turn_id IN (SELECT value FROM json_each(?))"
)


class TurnRow(NamedTuple):
    """A row of the table, its scope as a path."""

    id: int
    scope: str
    session: str | None
    position: int
    origin: str
    kind: str
    speaker: str | None
    trust: int
    created_ms: int
    event_ms: int | None
    text: str
    offset_min: int | None = None


def insert_many(connection: apsw.Connection, rows: Iterable[Sequence[Any]]) -> None:
    """Insert rows ``(id, scope_id, session, position, origin, kind, speaker, trust, …)``."""
    insert_rows(
        connection,
        "INSERT INTO turns (id, scope_id, session, position, origin, kind, speaker, trust, "
        "created_ms, event_ms, text)",
        rows,
    )


def insert_captured(connection: apsw.Connection, rows: Iterable[Sequence[Any]]) -> None:
    """Insert rows ``(…, text, client_id, record_id, text_id, offset_min)``.

    The head is as in ``insert_many``; the text is ``""`` where ``text_id`` names the payload that
    holds it; ``offset_min`` is the zone of the event's time, in minutes east of UTC.
    """
    insert_rows(
        connection,
        "INSERT INTO turns (id, scope_id, session, position, origin, kind, speaker, trust, "
        "created_ms, event_ms, text, client_id, record_id, text_id, offset_min)",
        rows,
    )


def insert_any(connection: apsw.Connection, row: Sequence[Any]) -> None:
    """Insert a row of ``insert_many`` whose text may be long, or hold lone surrogates."""
    text = row[-1]
    if is_inline(text):
        insert_captured(connection, [(*row, None, None, None, None)])
    else:
        text_id = obtain(connection, pack(encode_text(text)))
        insert_captured(connection, [(*row[:-1], "", None, None, text_id, None)])


def load(connection: apsw.Connection, ids: Sequence[int]) -> list[TurnRow]:
    """Return the rows of these ids that exist, in the order of their ids."""
    cursor = connection.execute(
        "SELECT turns.id, scopes.path, session, position, origin, kind, speaker, trust, "
        "created_ms, event_ms, text, offset_min, is_compressed, size, content "
        "FROM turns JOIN scopes ON scopes.id = turns.scope_id "
        "LEFT JOIN payloads ON payloads.id = turns.text_id "
        "WHERE turns.id IN (SELECT value FROM json_each(?)) ORDER BY turns.id",
        (json.dumps(list(ids)),),
    )
    found = []
    for *row, is_compressed, size, content in cursor:
        if content is not None:
            row[-2] = decode_text(unpack(is_compressed, size, content))
        found.append(TurnRow._make(row))
    return found


def origins(connection: apsw.Connection, ids: Iterable[int]) -> dict[int, tuple[int, int | None]]:
    """Return the trust of turns and their own time in milliseconds, of those that exist."""
    return {
        number: (trust, event_ms)
        for number, trust, event_ms in connection.execute(
            "SELECT id, trust, event_ms FROM turns WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(sorted(set(ids))),),
        )
    }


def of_session(
    connection: apsw.Connection, scope_id: int, session: str, *, after: int, limit: int
) -> list[TurnRow]:
    """Return the captured turns of a session in one scope behind a turn, in order."""
    ids = [
        row[0]
        for row in connection.execute(
            "SELECT id FROM turns WHERE scope_id = ? AND session = ? AND position > ? "
            "AND origin = 'captured' ORDER BY position LIMIT ?",
            (scope_id, session, after, limit),
        )
    ]
    return load(connection, ids)


def has_more(connection: apsw.Connection, scope_id: int, session: str, *, after: int) -> bool:
    """Whether a session has captured turns behind a turn."""
    row = connection.execute(
        "SELECT 1 FROM turns WHERE scope_id = ? AND session = ? AND position > ? "
        "AND origin = 'captured' LIMIT 1",
        (scope_id, session, after),
    ).fetchone()
    return row is not None


def before(
    connection: apsw.Connection, scope_id: int, session: str, *, until: int, limit: int
) -> list[TurnRow]:
    """Return the last captured turns of a session up to and including a turn, in order."""
    ids = [
        row[0]
        for row in connection.execute(
            "SELECT id FROM turns WHERE scope_id = ? AND session = ? AND position <= ? "
            "AND origin = 'captured' ORDER BY position DESC LIMIT ?",
            (scope_id, session, until, limit),
        )
    ]
    return load(connection, ids)


def record_bytes(connection: apsw.Connection, number: int) -> bytes | None:
    """Return the host's record that a turn is a part of; None if there is none."""
    row = connection.execute(
        "SELECT is_compressed, size, content FROM turns "
        "JOIN records ON records.id = turns.record_id "
        "JOIN payloads ON payloads.id = records.payload_id WHERE turns.id = ?",
        (number,),
    ).fetchone()
    return None if row is None else unpack(*row)


def existing(connection: apsw.Connection, ids: Sequence[int]) -> dict[int, str]:
    """Return the scope of each of these rows that exists."""
    return dict(
        connection.execute(
            "SELECT turns.id, scopes.path FROM turns JOIN scopes ON scopes.id = turns.scope_id "
            "WHERE turns.id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(ids)),),
        )
    )


def trusts(connection: apsw.Connection, ids: Sequence[int]) -> dict[int, int]:
    """Return the trust of each of these rows that exists."""
    return dict(
        connection.execute(
            "SELECT id, trust FROM turns WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(ids)),),
        )
    )


def delete(connection: apsw.Connection, ids: Sequence[int]) -> None:
    """Delete rows, with the records and payloads that hold their texts.

    A deleted tool call keeps its number, so that the refs of the others stay true; a deleted
    record keeps its digest, so that a replay of the log does not bring it back.
    """
    # Most processes never forget: what this loads takes milliseconds.
    from agentmem.store.skill_forgetting import forget_turns

    forget_turns(connection, ids)
    wanted = json.dumps(list(ids))
    rows: list[Any] = connection.execute(
        "SELECT text_id, record_id, payload_id FROM turns "
        "LEFT JOIN records ON records.id = turns.record_id "
        "WHERE turns.id IN (SELECT value FROM json_each(?))",
        (wanted,),
    ).fetchall()
    records = json.dumps(sorted({record for _, record, _ in rows if record is not None}))
    for statement, value in (
        (_TOUCH_SESSIONS, records),
        (_BLANK_CALLS, wanted),
        (
            "UPDATE records SET payload_id = NULL WHERE id IN (SELECT value FROM json_each(?))",
            records,
        ),
        ("DELETE FROM turns WHERE id IN (SELECT value FROM json_each(?))", wanted),
    ):
        connection.execute(statement, (value,))
    held = {number for text, _, payload in rows for number in (text, payload) if number is not None}
    if held:
        delete_unused(connection, held)


def count(connection: apsw.Connection) -> int:
    """Return the number of rows."""
    return int(next(connection.execute("SELECT count(*) FROM turns"))[0])


def to_turn(row: TurnRow) -> Turn:
    """Return the public value of a row."""
    return Turn(
        id=format_id(0, row.id),
        scope=row.scope,
        session=row.session,
        position=row.position,
        origin=row.origin,  # type: ignore[arg-type]  # the table's CHECK holds it
        kind=row.kind,
        speaker=row.speaker,
        text=row.text,
        trust=Trust(row.trust),
        created=from_ms(row.created_ms),
        event_time=None if row.event_ms is None else from_ms(row.event_ms),
    )
