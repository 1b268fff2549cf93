"""L3 rows: versions of a scope's persona, each entry with the rows that it rests on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from agentmem.models import Trust, format_id, from_ms, parse_id
from agentmem.store import cursors

if TYPE_CHECKING:
    import apsw

    from agentmem.models import Persona, PersonaEntry

__all__ = [
    "PersonaRow",
    "count",
    "delete",
    "insert",
    "load",
    "newest",
    "of_version",
    "to_persona",
    "versions",
]

_COLUMNS = (
    "personas.id, scopes.path, personas.version, personas.trust, personas.created_ms, "
    "personas.superseded_ms, personas.entries, personas.text"
)

# The cursor that holds the highest version number of a scope whose versions were deleted.
_DELETED = "abstract.version"


class PersonaRow(NamedTuple):
    """A row of the table, its scope as a path; ``entries`` is JSON: ``[[field, text, [id…]]…]``."""

    id: int
    scope: str
    version: int
    trust: int
    created_ms: int
    superseded_ms: int | None
    entries: str
    text: str


def insert(
    connection: apsw.Connection,
    scope_id: int,
    entries: Sequence[PersonaEntry],
    *,
    text: str,
    trust: int,
    now_ms: int,
) -> int:
    """Insert the next version for a scope with its source links, and return its number.

    Args:
        connection: The write connection, inside a transaction.
        scope_id: The scope.
        entries: What it says, each with the L1 and L2 ids that it rests on.
        text: The whole as text, for search and for people.
        trust: The lowest trust of the sources.
        now_ms: The time of the write.
    """
    connection.execute(
        "UPDATE personas SET superseded_ms = ? WHERE scope_id = ? AND superseded_ms IS NULL",
        (now_ms, scope_id),
    )
    version = _highest(connection, scope_id) + 1
    connection.execute(
        "INSERT INTO personas (scope_id, version, trust, created_ms, entries, text) "
        "VALUES (?,?,?,?,?,?)",
        (scope_id, version, trust, now_ms, dump_entries(entries), text),
    )
    number = connection.last_insert_rowid()
    connection.executemany(
        "INSERT OR IGNORE INTO sources (tier, row_id, source_tier, source_id) VALUES (3,?,?,?)",
        [(number, *parse_id(one)) for entry in entries for one in entry.sources],
    )
    return number


def _highest(connection: apsw.Connection, scope_id: int) -> int:
    """Return the highest version that a scope ever had, deleted ones included."""
    held = connection.execute(
        "SELECT version FROM personas WHERE scope_id = ? ORDER BY version DESC LIMIT 1", (scope_id,)
    ).fetchone()
    known = 0 if held is None else int(held[0])
    return max(known, cursors.position(connection, scope_id, _DELETED))


def dump_entries(entries: Sequence[PersonaEntry]) -> str:
    """Return entries as a row keeps them; equal entries give equal text."""
    return json.dumps(
        [[entry.field, entry.text, list(entry.sources)] for entry in entries],
        ensure_ascii=False,
        separators=(",", ":"),
    )


def _select(
    connection: apsw.Connection, condition: str, bindings: Sequence[Any]
) -> Iterator[PersonaRow]:
    cursor = connection.execute(
        f"SELECT {_COLUMNS} FROM personas JOIN scopes ON scopes.id = personas.scope_id "
        f"WHERE {condition} ORDER BY personas.id",
        bindings,
    )
    return map(PersonaRow._make, cursor)


def load(connection: apsw.Connection, ids: Sequence[int]) -> list[PersonaRow]:
    """Return the rows of these ids that exist, in the order of their ids."""
    wanted = (json.dumps(list(ids)),)
    return list(_select(connection, "personas.id IN (SELECT value FROM json_each(?))", wanted))


def newest(connection: apsw.Connection, scope: str) -> PersonaRow | None:
    """Return the current version for one scope alone."""
    condition = "scopes.path = ? AND personas.superseded_ms IS NULL"
    return next(_select(connection, condition, (scope,)), None)


def of_version(connection: apsw.Connection, scope: str, version: int) -> PersonaRow | None:
    """Return one version for one scope alone."""
    condition = "scopes.path = ? AND personas.version = ?"
    return next(_select(connection, condition, (scope, version)), None)


def versions(connection: apsw.Connection, scope: str) -> list[PersonaRow]:
    """Return every version for one scope alone, oldest first."""
    return list(_select(connection, "scopes.path = ?", (scope,)))


def delete(connection: apsw.Connection, ids: Sequence[int]) -> None:
    """Delete versions; the latest one left of each scope becomes the current one.

    No version number is ever used again, as long as the scope itself is there; links, tags and
    vectors are the caller's to delete.
    """
    wanted = json.dumps(list(ids))
    scopes = [
        row[0]
        for row in connection.execute(
            "SELECT DISTINCT scope_id FROM personas WHERE id IN (SELECT value FROM json_each(?))",
            (wanted,),
        )
    ]
    for scope_id in scopes:
        known = cursors.position(connection, scope_id, _DELETED)
        highest = _highest(connection, scope_id)
        cursors.advance(connection, scope_id, _DELETED, expected=known, to=highest)
    connection.execute(
        "DELETE FROM personas WHERE id IN (SELECT value FROM json_each(?))", (wanted,)
    )
    for scope_id in scopes:
        connection.execute(
            "UPDATE personas SET superseded_ms = NULL WHERE id = "
            "(SELECT max(id) FROM personas WHERE scope_id = ?)",
            (scope_id,),
        )


def count(connection: apsw.Connection) -> int:
    """Return the number of versions of all scopes."""
    return int(next(connection.execute("SELECT count(*) FROM personas"))[0])


def to_persona(row: PersonaRow) -> Persona:
    """Return the public value of a row."""
    from agentmem.models import Persona, PersonaEntry

    entries = tuple(
        PersonaEntry(field, text, tuple(sources))
        for field, text, sources in json.loads(row.entries)
    )
    return Persona.of(
        entries,
        id=format_id(3, row.id),
        scope=row.scope,
        version=row.version,
        trust=Trust(row.trust),
        created=from_ms(row.created_ms),
        is_current=row.superseded_ms is None,
    )
