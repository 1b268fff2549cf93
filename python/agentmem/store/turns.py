"""L0 rows: what was said, called and asserted, verbatim."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from agentmem.models import Trust, Turn, format_id, from_ms

if TYPE_CHECKING:
    import apsw

__all__ = ["TurnRow", "count", "delete", "existing", "insert_many", "load", "to_turn", "trusts"]


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


def insert_many(connection: apsw.Connection, rows: Iterable[Sequence[Any]]) -> None:
    """Insert rows ``(id, scope_id, session, position, origin, kind, speaker, trust, …)``."""
    connection.executemany(
        "INSERT INTO turns (id, scope_id, session, position, origin, kind, speaker, trust, "
        "created_ms, event_ms, text) VALUES (?,?,?,?,?,?,?,?,?,?,?)",
        rows,
    )


def load(connection: apsw.Connection, ids: Sequence[int]) -> list[TurnRow]:
    """Return the rows of these ids that exist, in the order of their ids."""
    cursor = connection.execute(
        "SELECT turns.id, scopes.path, session, position, origin, kind, speaker, trust, "
        "created_ms, event_ms, text FROM turns JOIN scopes ON scopes.id = turns.scope_id "
        "WHERE turns.id IN (SELECT value FROM json_each(?)) ORDER BY turns.id",
        (json.dumps(list(ids)),),
    )
    return [TurnRow._make(row) for row in cursor]


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
    """Delete rows."""
    connection.execute(
        "DELETE FROM turns WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(list(ids)),)
    )


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
