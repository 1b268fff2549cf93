"""Policies of retention, and which rows of a tier they may take, oldest first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from agentmem.store.scopes import subtree_clause

if TYPE_CHECKING:
    import apsw

__all__ = [
    "AgedRow",
    "Policy",
    "add_removed",
    "aged",
    "free_share",
    "live_bytes",
    "policies",
    "prune_changes",
    "pruned_through",
    "set_policy",
]

PRUNED: Final = "changes_pruned_through"
REMOVED: Final = "removed_since_rebuild"

_VECTORS: Final = (
    "(SELECT coalesce(sum(length(vector)), 0) FROM embeddings WHERE id "
    "BETWEEN ({tier} << 56 | {table}.id) * 8 AND ({tier} << 56 | {table}.id) * 8 + 7)"
)
# A record's bytes are shared out among its turns.
_SIZE: Final = {
    0: "length(CAST(turns.text AS BLOB)) "
       "+ coalesce((SELECT length(content) FROM payloads WHERE id = turns.text_id), 0) "
       "+ coalesce((SELECT length(content) / records.turns FROM records JOIN payloads "
       "ON payloads.id = records.payload_id WHERE records.id = turns.record_id), 0)",
    1: "length(CAST(facts.text AS BLOB)) + length(CAST(facts.metadata AS BLOB)) "
       "+ coalesce(length(CAST(facts.value AS BLOB)), 0)",
    2: "length(CAST(scenes.text AS BLOB)) + length(CAST(scenes.label AS BLOB)) "
       "+ length(CAST(scenes.state AS BLOB))",
    3: "length(CAST(personas.text AS BLOB)) + length(CAST(personas.entries AS BLOB))",
}  # fmt: skip
_TABLE: Final = {0: "turns", 1: "facts", 2: "scenes", 3: "personas"}
# Since when a row is of no use, or was last of use; a fact that was replaced goes before others.
_SINCE: Final = {
    0: "turns.created_ms",
    1: "coalesce(facts.superseded_ms, min(facts.valid_to_ms, {now}), facts.created_ms)",
    2: "max(scenes.last_ms, scenes.updated_ms)",
    3: "coalesce(personas.superseded_ms, personas.created_ms)",
}
# A turn stays while a fact rests on it, of any version, until it was read, and while a buffer of
# skills waits with it; a current persona version always.
_MAY_GO: Final = {
    0: "turns.origin <> 'asserted' AND NOT EXISTS (SELECT 1 FROM sources WHERE source_tier = 0 "
       "AND source_id = turns.id AND tier = 1) AND (turns.session IS NULL OR turns.origin "
       "<> 'captured' OR turns.position <= coalesce((SELECT position FROM cursors WHERE "
       "cursors.scope_id = turns.scope_id AND step = 'extract' "
       "AND cursors.session = turns.session), 0)) AND NOT EXISTS (SELECT 1 FROM skill_buffered "
       "WHERE turn_id = turns.id AND archive_id IS NULL AND is_dropped = 0)",
    1: "facts.kind NOT IN ('document', 'value')",
    2: "1",
    3: "personas.superseded_ms IS NOT NULL",
}  # fmt: skip
_FIRST: Final = {
    0: "NULL",
    1: "facts.superseded_ms IS NULL",
    2: "scenes.superseded_ms IS NULL",
    3: "NULL",
}


class Policy(NamedTuple):
    """How long the rows of a tier stay in a subtree, and how many bytes they may have."""

    scope: str
    tier: int
    max_age_ms: int | None
    max_bytes: int | None


class AgedRow(NamedTuple):
    """A row with its size and since when it ages."""

    id: int
    since_ms: int
    size: int
    may_go: bool


def set_policy(
    connection: apsw.Connection,
    scope_id: int,
    tier: int,
    *,
    max_age_ms: int | None,
    max_bytes: int | None,
) -> None:
    """Set the policy of a scope for a tier; with neither bound there is none."""
    if max_age_ms is None and max_bytes is None:
        connection.execute(
            "DELETE FROM retention WHERE scope_id = ? AND tier = ?", (scope_id, tier)
        )
        return
    connection.execute(
        "INSERT OR REPLACE INTO retention VALUES (?,?,?,?)",
        (scope_id, tier, max_age_ms, max_bytes),
    )


def policies(connection: apsw.Connection, scope: str) -> list[Policy]:
    """Return the policies of a subtree, upper tiers first: what they free lets lower rows go."""
    clause, bindings = subtree_clause(scope, "retention.scope_id")
    return [
        Policy._make(row)
        for row in connection.execute(
            "SELECT scopes.path, tier, max_age_ms, max_bytes FROM retention "
            f"JOIN scopes ON scopes.id = retention.scope_id WHERE {clause} "
            "ORDER BY tier DESC, scopes.path",
            bindings,
        )
    ]


def aged(connection: apsw.Connection, scope: str, tier: int, *, now_ms: int) -> Iterator[AgedRow]:
    """Yield the rows of a tier in a subtree, those that go first first."""
    table = _TABLE[tier]
    clause, bindings = subtree_clause(scope, f"{table}.scope_id")
    since = _SINCE[tier].format(now=int(now_ms))
    vectors = _VECTORS.format(tier=tier, table=table)
    cursor = connection.execute(
        f"SELECT {table}.id, {since} AS since, {_SIZE[tier]} + {vectors}, {_MAY_GO[tier]} "
        f"FROM {table} WHERE {clause} ORDER BY {_FIRST[tier]}, since, {table}.id",
        bindings,
    )
    for number, since_ms, size, may_go in cursor:
        yield AgedRow(number, since_ms, size, bool(may_go))


def live_bytes(connection: apsw.Connection) -> int:
    """Return the bytes of every row of every tier: its texts, records and vectors."""
    total = 0
    for tier in _TABLE:
        total += sum(row.size for row in aged(connection, "", tier, now_ms=0))
    return total


def free_share(connection: apsw.Connection) -> float:
    """Return which share of the file's pages is free."""
    pages, free = (int(str(connection.pragma(name))) for name in ("page_count", "freelist_count"))
    return free / pages if pages else 0.0


def pruned_through(connection: apsw.Connection) -> int:
    """Return the last ``seq`` whose change may be missing from the log."""
    row: Any = connection.execute("SELECT value FROM meta WHERE key = ?", (PRUNED,)).fetchone()
    return 0 if row is None else int(row[0])


def prune_changes(connection: apsw.Connection, through: int) -> int:
    """Delete changes up to a ``seq`` that the published index has, and return how many."""
    if through <= pruned_through(connection):
        return 0
    connection.execute("DELETE FROM changes WHERE seq <= ?", (through,))
    count = connection.changes()
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?,?)", (PRUNED, str(through)))
    return count


def add_removed(connection: apsw.Connection, count: int) -> int:
    """Add to the number of rows that were removed since the index was made, and return it."""
    row: Any = connection.execute("SELECT value FROM meta WHERE key = ?", (REMOVED,)).fetchone()
    total = max(0, count + (0 if row is None else int(row[0])))
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?,?)", (REMOVED, str(total)))
    return total
