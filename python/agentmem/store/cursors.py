"""Cursors: how far each step of the pipeline has read."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import apsw

__all__ = ["StaleCursorError", "advance", "count_run", "position"]


class StaleCursorError(Exception):
    """Another run moved the cursor meanwhile; what this one made of the rows must not be kept."""


def position(connection: apsw.Connection, scope_id: int, step: str, session: str = "") -> int:
    """Return the number of the last row that a step has read, 0 before the first."""
    row = connection.execute(
        "SELECT position FROM cursors WHERE scope_id = ? AND step = ? AND session = ?",
        (scope_id, step, session),
    ).fetchone()
    return 0 if row is None else int(row[0])


def advance(
    connection: apsw.Connection,
    scope_id: int,
    step: str,
    session: str = "",
    *,
    expected: int,
    to: int,
) -> None:
    """Move a cursor, in the transaction of the rows that were made of what was read.

    Args:
        connection: The write connection, inside the transaction.
        scope_id: The scope.
        step: The step; one that reads several tables has a cursor for each, ``"cluster.turns"``.
        session: The session, ``""`` for a step over the whole scope.
        expected: Where the cursor stood when the rows were read.
        to: The last row that was read.

    Raises:
        StaleCursorError: The cursor stands elsewhere: let the transaction roll back, read again.
    """
    if position(connection, scope_id, step, session) != expected:
        raise StaleCursorError(f"{step} of scope {scope_id}, session {session!r}")
    connection.execute(
        "INSERT OR REPLACE INTO cursors VALUES (?,?,?,?)", (scope_id, step, session, to)
    )


def count_run(connection: apsw.Connection, scope_id: int, step: str, session: str = "") -> None:
    """Count a finished run of a step; ``position(…, step + ".runs", …)`` tells how many."""
    connection.execute(
        "INSERT INTO cursors VALUES (?,?,?,1) "
        "ON CONFLICT (scope_id, step, session) DO UPDATE SET position = position + 1",
        (scope_id, f"{step}.runs", session),
    )
