"""Sessions of captured logs, and their records in the order of the log."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from agentmem.store.scopes import subtree_clause

if TYPE_CHECKING:
    import apsw

__all__ = [
    "RecordRow",
    "SessionRow",
    "by_digests",
    "find",
    "insert_records",
    "names",
    "newest_record",
    "obtain",
    "run_from",
    "starts",
    "update",
]


class SessionRow(NamedTuple):
    """A session: ``revision`` rises with each change, ``rewrites`` if a settled call changed."""

    id: int
    scope: str
    name: str
    revision: int
    rewrites: int
    calls: int
    top_calls: int
    batches: int


class RecordRow(NamedTuple):
    """A stored record: which of its session's turns are its parts."""

    id: int
    digest: int
    first_turn: int
    turns: int


_SESSION = (
    "SELECT sessions.id, scopes.path, name, revision, rewrites, calls, top_calls, batches "
    "FROM sessions JOIN scopes ON scopes.id = sessions.scope_id "
)
_RECORD = "SELECT id, digest, first_turn, turns FROM records "


def find(connection: apsw.Connection, scope: str, name: str | None) -> list[SessionRow]:
    """Return the sessions of this name, or all, in a scope and below; the scope's own first."""
    clause, bindings = subtree_clause(scope, "sessions.scope_id")
    named = "" if name is None else " AND sessions.name = ?"
    values = (*bindings, name) if name is not None else bindings
    cursor = connection.execute(
        f"{_SESSION}WHERE {clause}{named} ORDER BY scopes.path, sessions.id", values
    )
    return [SessionRow._make(row) for row in cursor]


def names(connection: apsw.Connection, scope: str, limit: int) -> list[str]:
    """Return the names of the latest sessions of a scope and below that hold tool calls."""
    clause, bindings = subtree_clause(scope, "sessions.scope_id")
    return [
        row[0]
        for row in connection.execute(
            f"SELECT name FROM sessions WHERE {clause} AND calls > 0 ORDER BY id DESC LIMIT ?",
            (*bindings, limit),
        )
    ]


def obtain(connection: apsw.Connection, scope_id: int, name: str) -> SessionRow:
    """Return a session of one scope; it is made if it is not there yet."""
    statement = f"{_SESSION}WHERE sessions.scope_id = ? AND sessions.name = ?"
    row = connection.execute(statement, (scope_id, name)).fetchone()
    if row is None:
        connection.execute("INSERT INTO sessions (scope_id, name) VALUES (?,?)", (scope_id, name))
        (row,) = connection.execute(statement, (scope_id, name)).fetchall()
    return SessionRow._make(row)


def update(connection: apsw.Connection, row: SessionRow) -> None:
    """Write the counters of a session."""
    connection.execute(
        "UPDATE sessions SET revision = ?, rewrites = ?, calls = ?, top_calls = ?, batches = ? "
        "WHERE id = ?",
        (row.revision, row.rewrites, row.calls, row.top_calls, row.batches, row.id),
    )


def starts(connection: apsw.Connection, session_id: int, digest: int, limit: int) -> list[int]:
    """Return the ids of the first and the latest records of a digest, at most ``limit`` + 1."""
    latest: list[Any] = connection.execute(
        "SELECT id FROM records WHERE session_id = ?1 AND digest = ?2 ORDER BY id DESC LIMIT ?3",
        (session_id, digest, limit),
    ).fetchall()
    first: list[Any] = connection.execute(
        "SELECT id FROM records WHERE session_id = ? AND digest = ? ORDER BY id LIMIT 1",
        (session_id, digest),
    ).fetchall()
    return sorted({row[0] for row in (*latest, *first)}, reverse=True)


def newest_record(connection: apsw.Connection, session_id: int) -> int:
    """Return the id of a session's last record, 0 if it has none."""
    rows: list[Any] = connection.execute(
        "SELECT coalesce(max(id), 0) FROM records WHERE session_id = ?", (session_id,)
    ).fetchall()
    return int(rows[0][0])


def run_from(
    connection: apsw.Connection, session_id: int, first: int, limit: int
) -> list[RecordRow]:
    """Return up to ``limit`` records of a session in order, from an id on."""
    cursor = connection.execute(
        f"{_RECORD}WHERE session_id = ? AND id >= ? ORDER BY id LIMIT ?", (session_id, first, limit)
    )
    return [RecordRow._make(row) for row in cursor]


def by_digests(
    connection: apsw.Connection, session_id: int, digests: Iterable[int], newest_id: int | None
) -> dict[int, list[RecordRow]]:
    """Return the records of these digests, up to an id, in the order of the log."""
    found: dict[int, list[RecordRow]] = {}
    cursor = connection.execute(
        "SELECT records.id, digest, first_turn, turns FROM json_each(?) AS wanted "
        "CROSS JOIN records ON records.session_id = ? AND records.digest = wanted.value "
        "WHERE records.id <= ? ORDER BY records.id",
        (json.dumps(sorted(set(digests))), session_id, newest_id),
    )
    for row in map(RecordRow._make, cursor):
        found.setdefault(row.digest, []).append(row)
    return found


def insert_records(
    connection: apsw.Connection, rows: Sequence[tuple[int, int, int, int, int, int | None]]
) -> None:
    """Insert ``(id, session_id, digest, first_turn, turns, payload_id)``."""
    connection.executemany("INSERT INTO records VALUES (?,?,?,?,?,?)", rows)
