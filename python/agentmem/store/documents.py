"""Documents: facts of two kinds whose key, metadata and times are those of a host's JSON object.

A document is a row of ``facts``: ``metadata`` is the object, ``subject`` repeats ``key`` for the
index, ``created_ms`` is the time of the last write, ``valid_from_ms`` that of the first one,
``valid_to_ms`` the end of its life and ``value`` the length of that life, ``{"ttl_ms": N}``. A write
replaces the row: no version stays.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from agentmem.models import Trust
from agentmem.store.bulk import insert_rows
from agentmem.store.links import dependants, source_numbers
from agentmem.store.scopes import subtree_clause

if TYPE_CHECKING:
    import apsw

__all__ = [
    "KINDS",
    "PRIORITY",
    "SEARCHED",
    "TRUST",
    "UNSEARCHED",
    "DocumentRow",
    "expired",
    "extend",
    "get",
    "holders",
    "insert_many",
    "lone_turns",
    "newest",
    "scopes_below",
]

SEARCHED = "document"
UNSEARCHED = "value"
KINDS = (SEARCHED, UNSEARCHED)
PRIORITY = 50
TRUST = int(Trust.USER)
COMPARED = {"$eq": "=", "$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}
# A key with dots may be a path, and the others would end a quoted name.
NOT_IN_PATH = re.compile('[."\\\\\x00-\x1f\ud800-\udfff]')
# Numbers that integers and floats both hold exactly.
EXACT = 1 << 53
# Of rows that a host may see; the parameter is the present.
_ALIVE = (
    "facts.superseded_ms IS NULL AND facts.kind IN ('document', 'value') "
    "AND (facts.valid_to_ms IS NULL OR facts.valid_to_ms > ?)"
)
_COLUMNS = (
    "facts.id, scopes.path, facts.key, facts.metadata, facts.valid_from_ms, facts.created_ms, "
    "facts.valid_to_ms, facts.value, facts.kind"
)


class DocumentRow(NamedTuple):
    """A document as the table has it, its scope as a path."""

    id: int
    scope: str
    key: str
    metadata: str
    first_ms: int | None
    written_ms: int
    expires_ms: int | None
    life: str | None
    kind: str

    @property
    def ttl_ms(self) -> int | None:
        """The length of its life, if it ends."""
        return None if self.life is None else json.loads(self.life).get("ttl_ms")


def get(connection: apsw.Connection, path: str, key: str, *, now_ms: int) -> DocumentRow | None:
    """Return the document of a key in exactly this scope, if it is alive."""
    row = connection.execute(
        f"SELECT {_COLUMNS} FROM scopes CROSS JOIN facts ON facts.scope_id = scopes.id "
        f"WHERE scopes.path = ? AND facts.key = ? AND {_ALIVE}",
        (path, key, now_ms),
    ).fetchone()
    return None if row is None else DocumentRow._make(row)


def _narrowed(where: Mapping[str, Any] | None) -> tuple[str, list[Any]]:
    """Return an SQL condition, and its bindings, that every row fulfils for which ``where`` holds.

    Only what SQLite decides alike, or more generously, is in it; the caller tests the rest.
    """
    clauses: list[str] = []
    bindings: list[Any] = []
    for key, condition in (where or {}).items():
        if key.startswith("$") or NOT_IN_PATH.search(key):
            continue
        for name, operand in (
            condition.items() if isinstance(condition, Mapping) else (("$eq", condition),)
        ):
            is_text = isinstance(operand, str) and "\0" not in operand
            is_number = isinstance(operand, int | float) and abs(operand) < EXACT
            if name in COMPARED and (is_text or is_number):
                path = f'$."{key}"'
                clauses.append(
                    f" AND (json_extract(facts.metadata, ?) {COMPARED[name]} ? "
                    "OR json_type(facts.metadata, ?) = 'array')"
                )
                bindings += [path, int(operand) if isinstance(operand, bool) else operand, path]
    return "".join(clauses), bindings


def newest(
    connection: apsw.Connection,
    path: str,
    *,
    now_ms: int,
    kinds: Sequence[str] = KINDS,
    where: Mapping[str, Any] | None = None,
) -> Iterator[DocumentRow]:
    """Yield documents of a scope and those below it, the last written first.

    ``where`` was checked; it leaves out some of the rows for which it does not hold.
    """
    narrowed, operands = _narrowed(where)
    clause, bindings = subtree_clause(path, "facts.scope_id")
    # Ids grow with each write. The keys' index gives them without a look at the rows, and the limit
    # keeps SQLite from dissolving the inner query, whose order is that of the outer loop.
    cursor = connection.execute(
        f"SELECT {_COLUMNS} FROM (SELECT id FROM facts WHERE key IS NOT NULL "
        f"AND superseded_ms IS NULL AND {clause} ORDER BY id DESC LIMIT -1) AS wanted "
        "CROSS JOIN facts ON facts.id = wanted.id "
        f"CROSS JOIN scopes ON scopes.id = facts.scope_id WHERE {_ALIVE} "
        f"AND facts.kind IN (SELECT value FROM json_each(?)){narrowed}",
        (*bindings, now_ms, json.dumps(list(kinds)), *operands),
    )
    return map(DocumentRow._make, cursor)


def scopes_below(connection: apsw.Connection, path: str, *, now_ms: int) -> list[str]:
    """Return the paths, of a scope and those below it, that hold a document; in order."""
    clause, bindings = subtree_clause(path, "scopes.id")
    cursor = connection.execute(
        f"SELECT path FROM scopes WHERE {clause} AND EXISTS (SELECT 1 FROM facts "
        f"WHERE facts.scope_id = scopes.id AND facts.key IS NOT NULL AND {_ALIVE}) ORDER BY path",
        (*bindings, now_ms),
    )
    return [row[0] for row in cursor]


def holders(
    connection: apsw.Connection, scope_id: int, keys: Sequence[str]
) -> list[tuple[str, int, str, int | None, int | None]]:
    """Return ``(key, id, kind, first_ms, expires_ms)`` of the current facts that have these keys."""
    return list(
        connection.execute(
            "SELECT facts.key, facts.id, facts.kind, facts.valid_from_ms, facts.valid_to_ms "
            "FROM json_each(?) AS wanted CROSS JOIN facts ON facts.scope_id = ? "
            "AND facts.key = wanted.value AND facts.superseded_ms IS NULL",
            (json.dumps(list(keys), ensure_ascii=False), scope_id),
        )
    )


# The row's own number as its digest: no text that is remembered is its duplicate.
_INSERT = (
    "INSERT INTO facts (id, scope_id, digest, kind, key, subject, value, priority, trust, "
    "created_ms, valid_from_ms, valid_to_ms, metadata, text)"
)
_VALUES = (
    "{0}, {1}, {0}, {2}, {3}, {3}, {4}, "
    f"{PRIORITY}, {TRUST}, "
    "{5}, {6}, {7}, {8}, {9}"
)
_INSERT_TURNS = (
    "INSERT INTO turns (id, scope_id, position, origin, kind, trust, created_ms, event_ms, text) "
    "SELECT id + ?1, scope_id, id + ?1, 'asserted', kind, trust, created_ms, valid_from_ms, text "
    "FROM facts WHERE id BETWEEN ?2 AND ?3 ORDER BY id"
)
_INSERT_SOURCES = (
    "INSERT INTO sources (tier, row_id, source_tier, source_id) "
    "SELECT 1, id, 0, id + ?1 FROM facts WHERE id BETWEEN ?2 AND ?3 ORDER BY id"
)


def insert_many(connection: apsw.Connection, rows: Sequence[Sequence[Any]], *, turn: int) -> None:
    """Insert documents, and for each an L0 turn with its text that it rests on.

    Args:
        connection: The one that writes.
        rows: ``(id, scope_id, kind, key, life, written_ms, first_ms, expires_ms, metadata, text)``;
            each id is the one before it plus 1.
        turn: The id of the first one's turn; the others' follow it.
    """
    insert_rows(connection, _INSERT, rows, values=_VALUES)
    first, last = rows[0][0], rows[-1][0]
    connection.execute(_INSERT_TURNS, (turn - first, first, last))
    connection.execute(_INSERT_SOURCES, (turn - first, first, last))


def expired(connection: apsw.Connection, path: str, *, now_ms: int, limit: int) -> list[int]:
    """Return the ids of documents of a subtree whose life has ended, at most ``limit``."""
    clause, bindings = subtree_clause(path, "facts.scope_id")
    cursor = connection.execute(
        "SELECT id FROM facts WHERE superseded_ms IS NULL AND kind IN ('document', 'value') "
        f"AND valid_to_ms <= ? AND {clause} LIMIT ?",
        (now_ms, *bindings, limit),
    )
    return [row[0] for row in cursor]


def extend(connection: apsw.Connection, lives: Sequence[tuple[int, int]]) -> list[int]:
    """Set the ends of lives, ``(id, expires_ms)``, and return the ids of the rows that are there."""
    done: list[int] = []
    for number, expires_ms in lives:
        connection.execute(
            "UPDATE facts SET valid_to_ms = ? WHERE id = ? AND superseded_ms IS NULL",
            (expires_ms, number),
        )
        if connection.changes():
            done.append(number)
    return done


def lone_turns(connection: apsw.Connection, ids: Sequence[int]) -> list[int] | None:
    """Return the asserted turns that these facts rest on, if nothing else hangs on either.

    None where a fact has older versions or other sources, or where another row rests on it or on
    one of its turns: then more must be looked at before it can go.
    """
    links = source_numbers(connection, 1, ids)
    gone = set(ids)
    turns = sorted({source for _, tier, source in links if tier == 0})
    wanted = json.dumps(turns)
    is_plain = (
        all(tier == 0 for _, tier, _ in links)
        and not dependants(connection, 1, ids)
        and all(
            tier == 1 and number in gone for _, tier, number in dependants(connection, 0, turns)
        )
        and connection.execute(
            "SELECT 1 FROM turns WHERE id IN (SELECT value FROM json_each(?)) AND "
            "(origin <> 'asserted' OR record_id IS NOT NULL OR text_id IS NOT NULL) LIMIT 1",
            (wanted,),
        ).fetchone()
        is None
        and connection.execute(
            "SELECT 1 FROM json_each(?) AS wanted CROSS JOIN facts "
            "ON facts.superseded_by = wanted.value LIMIT 1",
            (json.dumps(list(ids)),),
        ).fetchone()
        is None
    )
    return turns if is_plain else None
