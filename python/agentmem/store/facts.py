"""L1 rows: facts with their versions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from agentmem.models import Fact, Trust, format_id, from_ms
from agentmem.store.bulk import insert_rows
from agentmem.store.links import sources_of, tags_of
from agentmem.store.scopes import subtree_clause

if TYPE_CHECKING:
    import apsw

__all__ = [
    "FactRow",
    "Replaced",
    "by_digests",
    "by_key",
    "by_slots",
    "count",
    "delete",
    "end_before",
    "has_begun",
    "insert_many",
    "keys_present",
    "load",
    "next_id",
    "note_extracted",
    "of_scope",
    "older_versions",
    "page",
    "rules",
    "supersede",
    "to_fact",
    "version_chain",
]

COLUMNS = (
    "facts.id, scopes.path, facts.kind, facts.key, facts.session, facts.subject, facts.attribute, "
    "facts.value, facts.priority, facts.trust, facts.created_ms, facts.valid_from_ms, "
    "facts.valid_to_ms, facts.superseded_ms, facts.superseded_by, facts.metadata, facts.text, "
    "facts.event_ms, facts.confidence, facts.extractor"
)


class FactRow(NamedTuple):
    """A row of the table, its scope as a path."""

    id: int
    scope: str
    kind: str
    key: str | None
    session: str | None
    subject: str | None
    attribute: str | None
    value: str | None
    priority: int
    trust: int
    created_ms: int
    valid_from_ms: int | None
    valid_to_ms: int | None
    superseded_ms: int | None
    superseded_by: int | None
    metadata: str
    text: str
    event_ms: int | None = None
    confidence: float | None = None
    extractor: str | None = None


def next_id(connection: apsw.Connection, table: str) -> int:
    """Return the id that the next row of an AUTOINCREMENT table would get."""
    row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).fetchone()
    return 1 if row is None else int(row[0]) + 1


def insert_many(connection: apsw.Connection, rows: Iterable[Sequence[Any]]) -> None:
    """Insert rows ``(id, scope_id, digest, kind, key, session, subject, attribute, value, …)``."""
    insert_rows(
        connection,
        "INSERT INTO facts (id, scope_id, digest, kind, key, session, subject, attribute, value, "
        "priority, trust, created_ms, valid_from_ms, valid_to_ms, metadata, text)",
        rows,
    )


def note_extracted(
    connection: apsw.Connection, rows: Iterable[tuple[int | None, float, str, int]]
) -> None:
    """Say of facts how they were found: rows ``(event_ms, confidence, extractor, id)``."""
    connection.executemany(
        "UPDATE facts SET event_ms = ?, confidence = ?, extractor = ? WHERE id = ?", rows
    )


def by_slots(
    connection: apsw.Connection, scope_id: int, slots: Iterable[tuple[str, str]]
) -> list[FactRow]:
    """Return the current facts of a scope that fill one of these slots ``(subject, attribute)``."""
    ids = [
        row[0]
        for row in connection.execute(
            "SELECT facts.id FROM json_each(?) AS wanted CROSS JOIN facts ON facts.scope_id = ? "
            "AND facts.subject = wanted.value ->> 0 AND facts.attribute = wanted.value ->> 1 "
            "AND facts.superseded_ms IS NULL",
            (json.dumps(sorted(slots)), scope_id),
        )
    ]
    return load(connection, ids) if ids else []


def of_scope(
    connection: apsw.Connection, scope_id: int, *, after: int = 0, limit: int = 1_000_000
) -> list[FactRow]:
    """Return current facts of one scope alone, with ids above ``after``, ascending.

    A host's documents are not among them: they are data, and say nothing of what went on.
    """
    return list(
        _select(
            connection,
            "facts.scope_id = ? AND facts.id > ? AND facts.superseded_ms IS NULL "
            "AND facts.kind <> 'document'",
            (scope_id, after, limit),
            "facts.id LIMIT ?",
        )
    )


def _select(
    connection: apsw.Connection, condition: str, bindings: Sequence[Any], order: str = "facts.id"
) -> Iterator[FactRow]:
    cursor = connection.execute(
        f"SELECT {COLUMNS} FROM facts JOIN scopes ON scopes.id = facts.scope_id "
        f"WHERE {condition} ORDER BY {order}",
        bindings,
    )
    return map(FactRow._make, cursor)


def load(connection: apsw.Connection, ids: Sequence[int]) -> list[FactRow]:
    """Return the rows of these ids that exist, in the order of their ids."""
    return list(
        _select(
            connection, "facts.id IN (SELECT value FROM json_each(?))", (json.dumps(list(ids)),)
        )
    )


def by_key(connection: apsw.Connection, scope_id: int, key: str) -> FactRow | None:
    """Return the current fact of a key in a scope."""
    condition = "facts.scope_id = ? AND facts.key = ? AND facts.superseded_ms IS NULL"
    return next(_select(connection, condition, (scope_id, key)), None)


def by_digests(connection: apsw.Connection, digests: Iterable[int]) -> dict[int, list[FactRow]]:
    """Return current facts by the digest of scope and folded text; texts may still differ."""
    found: dict[int, list[FactRow]] = {}
    hits: list[tuple[int, int]] = list(
        connection.execute(
            "SELECT facts.digest, facts.id FROM json_each(?) AS wanted "
            "CROSS JOIN facts ON facts.digest = wanted.value AND facts.superseded_ms IS NULL",
            (json.dumps(list(digests)),),
        )
    )
    if not hits:
        return found
    rows = {row.id: row for row in load(connection, [number for _, number in hits])}
    for digest, number in hits:
        found.setdefault(digest, []).append(rows[number])
    return found


def keys_present(connection: apsw.Connection, scope_id: int, keys: Sequence[str]) -> set[str]:
    """Return which of these keys have a current fact in a scope."""
    if not keys:
        return set()
    cursor = connection.execute(
        "SELECT facts.key FROM json_each(?) AS wanted CROSS JOIN facts ON facts.scope_id = ? "
        "AND facts.key = wanted.value AND facts.superseded_ms IS NULL",
        (json.dumps(keys, ensure_ascii=False), scope_id),
    )
    return {row[0] for row in cursor}


# What a fact replaced, directly or by a replaced one.
OLDER = (
    "WITH RECURSIVE older(id) AS (SELECT id FROM facts WHERE superseded_by = ?1 "
    "UNION SELECT facts.id FROM facts JOIN older ON facts.superseded_by = older.id)"
)


class Replaced(NamedTuple):
    """A fact that another takes the place of: when that was said, and until when it held."""

    id: int
    by: int
    at_ms: int
    valid_to_ms: int


def supersede(connection: apsw.Connection, rows: Sequence[Replaced]) -> list[int]:
    """Mark facts as replaced; their validity ends where it was not ended before.

    An event is known from when it is told, so it ends when another is told instead. A fact that had
    not begun never will: what held up to it holds up to the new one.

    Returns:
        The ids of those older facts, whose end has moved.
    """
    connection.executemany(
        "UPDATE facts SET superseded_ms = ?3, superseded_by = ?2, valid_to_ms = "
        "min(coalesce(valid_to_ms, ?4), ?4, CASE kind WHEN 'event' THEN ?3 ELSE ?4 END) "
        "WHERE id = ?1",
        rows,
    )
    moved: list[int] = []
    for row in rows:
        begun = connection.execute(
            "SELECT 1 FROM facts WHERE id = ? AND coalesce(valid_from_ms, created_ms) <= ?",
            (row.id, row.valid_to_ms),
        ).fetchone()
        if begun is None:
            older = connection.execute(
                f"{OLDER} UPDATE facts SET valid_to_ms = ?2 "
                "WHERE id IN (SELECT id FROM older) AND valid_to_ms > ?2 RETURNING id",
                (row.id, row.valid_to_ms),
            )
            moved += [number for (number,) in older]
    return moved


def end_before(connection: apsw.Connection, number: int, *, later: int, at_ms: int) -> list[int]:
    """End what held up to ``later`` where a fact that comes between the two begins; return its ids."""
    rows = connection.execute(
        "UPDATE facts SET valid_to_ms = ?3 WHERE superseded_by = ?2 AND id <> ?1 "
        "AND valid_to_ms > ?3 AND coalesce(valid_from_ms, created_ms) <= ?3 RETURNING id",
        (number, later, at_ms),
    )
    return [row[0] for row in rows]


def older_versions(connection: apsw.Connection, number: int) -> list[int]:
    """Return the ids of everything that this fact replaced, directly or by a replaced one."""
    rows = connection.execute(
        f"{OLDER} SELECT id FROM older ORDER BY id",
        (number,),
    )
    return [row[0] for row in rows]


def version_chain(connection: apsw.Connection, number: int) -> list[int]:
    """Return every version of the fact that ``number`` is a version of, oldest first."""
    newest = connection.execute(
        "WITH RECURSIVE newer(id, next) AS (SELECT id, superseded_by FROM facts WHERE id = ?1 "
        "UNION SELECT facts.id, facts.superseded_by FROM facts "
        "JOIN newer ON facts.id = newer.next) "
        "SELECT id FROM newer WHERE next IS NULL",
        (number,),
    ).fetchone()
    top = number if newest is None else int(newest[0])
    return sorted({*older_versions(connection, top), top})


def page(
    connection: apsw.Connection, *, scope: str, after: int, limit: int, current: bool = True
) -> list[FactRow]:
    """Return up to ``limit`` facts of a subtree with ids above ``after``, ascending."""
    clause, bindings = subtree_clause(scope, "facts.scope_id")
    alive = " AND facts.superseded_ms IS NULL" if current else ""
    return list(
        _select(
            connection,
            f"facts.id > ? AND {clause}{alive}",
            (after, *bindings, limit),
            "facts.id LIMIT ?",
        )
    )


def rules(
    connection: apsw.Connection, scope: str, *, trust: int, now_ms: int, limit: int
) -> list[FactRow]:
    """Return the lasting rules of a subtree that hold now, the most important first.

    Args:
        connection: Any connection.
        scope: The root of the subtree.
        trust: Only rules of sources trusted so much.
        now_ms: The present.
        limit: At most so many.
    """
    clause, bindings = subtree_clause(scope, "facts.scope_id")
    return list(
        _select(
            connection,
            "facts.kind = 'instruction' AND facts.trust >= ? "
            "AND (facts.superseded_ms IS NULL OR facts.valid_to_ms > facts.superseded_ms) "
            "AND coalesce(facts.valid_from_ms, 0) <= max(?, facts.created_ms) "
            f"AND coalesce(facts.valid_to_ms, ?) > ? AND {clause}",
            (trust, now_ms, now_ms + 1, now_ms, *bindings, limit),
            "facts.priority DESC, facts.id LIMIT ?",
        )
    )


def has_begun(row: FactRow, now_ms: int) -> bool:
    """Whether a fact holds by now, as recall sees it: an event is known from when it is told.

    A clock that ran ahead at the time of writing hides nothing.
    """
    start = row.valid_from_ms
    return row.kind == "event" or start is None or start <= max(now_ms, row.created_ms)


def delete(connection: apsw.Connection, ids: Sequence[int]) -> None:
    """Delete rows; successors' links to them become NULL, a replaced fact stays replaced."""
    connection.execute(
        "DELETE FROM facts WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(list(ids)),)
    )


def count(connection: apsw.Connection) -> tuple[int, int]:
    """Return how many facts are current and how many were superseded."""
    total, superseded = next(connection.execute("SELECT count(*), count(superseded_ms) FROM facts"))
    return total - superseded, superseded


def to_fact(connection: apsw.Connection, rows: Sequence[FactRow]) -> list[Fact]:
    """Return the public values of rows, with their tags and sources."""
    ids = [row.id for row in rows]
    tags = tags_of(connection, 1, ids)
    sources = sources_of(connection, 1, ids)
    return [
        Fact(
            id=format_id(1, row.id),
            text=row.text,
            kind=row.kind,
            scope=row.scope,
            key=row.key,
            session=row.session,
            tags=tags.get(row.id, ()),
            metadata=json.loads(row.metadata),
            subject=row.subject,
            attribute=row.attribute,
            value=None if row.value is None else json.loads(row.value),
            priority=row.priority,
            trust=Trust(row.trust),
            created=from_ms(row.created_ms),
            valid_from=None if row.valid_from_ms is None else from_ms(row.valid_from_ms),
            valid_to=None if row.valid_to_ms is None else from_ms(row.valid_to_ms),
            sources=sources.get(row.id, ()),
            superseded_by=None if row.superseded_by is None else format_id(1, row.superseded_by),
            is_current=row.superseded_ms is None,
            event_time=None if row.event_ms is None else from_ms(row.event_ms),
            confidence=row.confidence,
            extractor=row.extractor,
        )
        for row in rows
    ]
