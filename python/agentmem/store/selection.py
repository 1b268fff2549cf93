"""Which rows something is about: a session, a scope, a source; and what goes with a whole scope."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress

import apsw

from agentmem.store.payloads import delete_unused, unpack
from agentmem.store.scopes import subtree_clause

__all__ = [
    "clear_job_errors",
    "count_sessions",
    "drop_scope",
    "of_scope",
    "of_session",
    "of_trust",
    "raw_records",
    "rows_gone",
    "scopes_of",
    "turn_ids",
]

Row = tuple[int, int]
_TABLES = ((0, "turns"), (1, "facts"), (2, "scenes"), (3, "personas"))


def of_session(connection: apsw.Connection, scope: str, session: str) -> list[Row]:
    """Return the turns and facts ``(tier, id)`` of a session in a subtree, every version."""
    clause, bindings = subtree_clause(scope)
    return [
        (tier, row[0])
        for tier, table in _TABLES[:2]
        for row in connection.execute(
            f"SELECT id FROM {table} WHERE session = ? AND {clause}", (session, *bindings)
        )
    ]


def of_scope(connection: apsw.Connection, scope: str) -> list[Row]:
    """Return every row of a subtree, of every tier and version."""
    clause, bindings = subtree_clause(scope)
    return [
        (tier, row[0])
        for tier, table in _TABLES
        for row in connection.execute(f"SELECT id FROM {table} WHERE {clause}", bindings)
    ]


def of_trust(connection: apsw.Connection, scope: str, trust: int) -> list[Row]:
    """Return the turns and facts of a subtree that came from sources of one trust."""
    clause, bindings = subtree_clause(scope)
    return [
        (tier, row[0])
        for tier, table in _TABLES[:2]
        for row in connection.execute(
            f"SELECT id FROM {table} WHERE trust = ? AND {clause}", (trust, *bindings)
        )
    ]


def turn_ids(connection: apsw.Connection, scope: str) -> list[int]:
    """Return the ids of every turn of a subtree, ascending."""
    clause, bindings = subtree_clause(scope)
    return [
        row[0]
        for row in connection.execute(f"SELECT id FROM turns WHERE {clause} ORDER BY id", bindings)
    ]


def raw_records(connection: apsw.Connection, scope: str) -> Iterator[tuple[list[int], bytes]]:
    """Yield ``(turns, bytes)`` of every host's record that a subtree keeps."""
    clause, bindings = subtree_clause(scope, "turns.scope_id")
    for held, is_compressed, size, content in connection.execute(
        "SELECT json_group_array(turns.id), is_compressed, size, content FROM turns "
        "JOIN records ON records.id = turns.record_id JOIN payloads "
        f"ON payloads.id = records.payload_id WHERE {clause} GROUP BY records.id",
        bindings,
    ):
        yield json.loads(held), unpack(is_compressed, size, content)


def scopes_of(connection: apsw.Connection, rows: Sequence[Row]) -> dict[int, str]:
    """Return the scopes, by their numbers, that these rows are in."""
    found: dict[int, str] = {}
    for tier, table in _TABLES:
        ids = [number for at, number in rows if at == tier]
        if ids:
            found.update(
                connection.execute(
                    "SELECT DISTINCT scopes.id, scopes.path FROM json_each(?) AS wanted "
                    f"CROSS JOIN {table} ON {table}.id = wanted.value "
                    f"JOIN scopes ON scopes.id = {table}.scope_id",
                    (json.dumps(ids),),
                )
            )
    return found


def rows_gone(connection: apsw.Connection, rows: Sequence[Row]) -> dict[str, int]:
    """Return how many records and vectors go with rows that are to be deleted."""
    turn_numbers = json.dumps([number for tier, number in rows if tier == 0])
    keys = json.dumps([tier << 56 | number for tier, number in rows])
    found: dict[str, int] = {}
    records = (
        "SELECT count(DISTINCT records.id) FROM json_each(?) AS wanted "
        "CROSS JOIN turns ON turns.id = wanted.value JOIN records "
        "ON records.id = turns.record_id AND records.payload_id IS NOT NULL"
    )
    vectors = (
        "SELECT count(*) FROM json_each(?) AS wanted CROSS JOIN embeddings "
        "ON embeddings.id BETWEEN wanted.value * 8 AND wanted.value * 8 + 7"
    )
    for name, statement, value in (
        ("records", records, turn_numbers),
        ("vectors", vectors, keys),
    ):
        count = int(next(connection.execute(statement, (value,)))[0])
        if count:
            found[name] = count
    return found


def clear_job_errors(connection: apsw.Connection, scope_ids: Sequence[int]) -> None:
    """Leave of the errors of jobs only that there was one: a message may quote what was read."""
    connection.execute(
        "UPDATE jobs SET error = 'an error whose text was forgotten' WHERE error IS NOT NULL "
        "AND scope_id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(scope_ids)),),
    )


def count_sessions(connection: apsw.Connection, scope: str) -> int:
    """Return how many sessions a subtree has."""
    clause, bindings = subtree_clause(scope)
    counted = connection.execute(f"SELECT count(*) FROM sessions WHERE {clause}", bindings)
    return int(next(counted)[0])


def drop_scope(connection: apsw.Connection, scope: str) -> int:
    """Delete what a subtree has beside its rows, names included; return how many sessions went.

    To be called when its rows are deleted. The scope's own name stays where something else of it
    does, a receipt for instance.
    """
    clause, bindings = subtree_clause(scope)
    sessions = [
        row[0] for row in connection.execute(f"SELECT id FROM sessions WHERE {clause}", bindings)
    ]
    wanted = json.dumps(sessions)
    payloads = {
        row[0]
        for row in connection.execute(
            "SELECT payload_id FROM records WHERE payload_id IS NOT NULL "
            "AND session_id IN (SELECT value FROM json_each(?))",
            (wanted,),
        )
    }
    for table in ("tool_calls", "records"):
        connection.execute(
            f"DELETE FROM {table} WHERE session_id IN (SELECT value FROM json_each(?))", (wanted,)
        )
    if payloads:
        delete_unused(connection, payloads)
    for table in ("cursors", "jobs", "retention", "receipts"):
        connection.execute(f"DELETE FROM {table} WHERE {clause}", bindings)
    for number in sessions:
        # A session that a skill's archive is of keeps its name.
        with suppress(apsw.ConstraintError):
            connection.execute("DELETE FROM sessions WHERE id = ?", (number,))
    names, values = subtree_clause(scope, "id")
    for (number,) in connection.execute(f"SELECT id FROM scopes WHERE {names}", values).fetchall():
        # A scope that something else refers to keeps its name.
        with suppress(apsw.ConstraintError):
            connection.execute("DELETE FROM scopes WHERE id = ?", (number,))
    return len(sessions)
