"""L2 rows: scenes, what an activity was, with their members."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from agentmem.models import Trust, format_id, from_ms
from agentmem.store.links import insert_sources, tags_of
from agentmem.store.scopes import subtree_clause

if TYPE_CHECKING:
    import apsw

    from agentmem.models import Scene

__all__ = [
    "SceneRow",
    "SceneUpdate",
    "assign",
    "count",
    "current",
    "delete",
    "insert",
    "load",
    "members",
    "merge",
    "page",
    "scene_of",
    "scenes_of",
    "to_scene",
    "unassigned",
    "update",
    "version_chain",
    "words",
]

_COLUMNS = (
    "scenes.id, scopes.path, scenes.kind, scenes.session, scenes.priority, scenes.trust, "
    "scenes.created_ms, scenes.updated_ms, scenes.first_ms, scenes.last_ms, scenes.weight, "
    "scenes.superseded_ms, scenes.merged_into, scenes.state, scenes.metadata, scenes.label, "
    "scenes.text"
)


class SceneRow(NamedTuple):
    """A row of the table, its scope as a path.

    ``session`` is where it began, ``first_ms`` and ``last_ms`` bound its members' times, ``weight``
    is how much went on in it, decayed to ``last_ms``; ``text`` is the summary that is searched,
    ``state`` the clusterer's own JSON.
    """

    id: int
    scope: str
    kind: str
    session: str | None
    priority: int
    trust: int
    created_ms: int
    updated_ms: int
    first_ms: int
    last_ms: int
    weight: float
    superseded_ms: int | None
    merged_into: int | None
    state: str
    metadata: str
    label: str
    text: str


def insert(
    connection: apsw.Connection,
    scope_id: int,
    *,
    label: str,
    text: str,
    session: str | None,
    trust: int,
    now_ms: int,
    first_ms: int,
    last_ms: int,
    weight: float = 1.0,
    priority: int = 50,
    state: str = "{}",
    metadata: str = "{}",
    kind: str = "scene",
) -> int:
    """Insert a scene without members and return its number."""
    connection.execute(
        "INSERT INTO scenes (scope_id, kind, session, priority, trust, created_ms, updated_ms, "
        "first_ms, last_ms, weight, state, metadata, label, text) "
        "VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
        (scope_id, kind, session, priority, trust, now_ms, now_ms, first_ms, last_ms, weight,
         state, metadata, label, text),
    )  # fmt: skip
    return connection.last_insert_rowid()


class SceneUpdate(NamedTuple):
    """What a scene says now; its id and its beginning stay."""

    label: str
    text: str
    trust: int
    updated_ms: int
    first_ms: int
    last_ms: int
    weight: float
    state: str
    metadata: str
    id: int


def update(connection: apsw.Connection, rows: Iterable[SceneUpdate]) -> None:
    """Write what scenes say now."""
    connection.executemany(
        "UPDATE scenes SET label = ?, text = ?, trust = ?, updated_ms = ?, first_ms = ?, "
        "last_ms = ?, weight = ?, state = ?, metadata = ? WHERE id = ?",
        rows,
    )


def assign(connection: apsw.Connection, placed: Mapping[tuple[int, int], int]) -> set[int]:
    """Put rows ``(tier, row_id)`` into scenes, each out of the one it was in; links follow.

    Args:
        connection: The write connection, inside the transaction.
        placed: The scene of each row.

    Returns:
        The scenes that lost a row: their index rows changed too.
    """
    before = {
        (tier, row_id): scene
        for tier, row_id, scene in connection.execute(
            "SELECT held.tier, held.row_id, held.scene_id FROM json_each(?) AS wanted "
            "CROSS JOIN scene_members AS held ON held.tier = wanted.value ->> 0 "
            "AND held.row_id = wanted.value ->> 1",
            (json.dumps(list(placed)),),
        )
    }
    moved = [one for one in placed.items() if before.get(one[0]) != one[1]]
    connection.executemany(
        "DELETE FROM sources WHERE tier = 2 AND row_id = ? AND source_tier = ? AND source_id = ?",
        [(before[row], *row) for row, _ in moved if row in before],
    )
    connection.executemany(
        "INSERT OR REPLACE INTO scene_members VALUES (?,?,?)",
        [(*row, number) for row, number in moved],
    )
    insert_sources(connection, [(2, number, *row) for row, number in moved])
    return {before[row] for row, _ in moved if row in before}


def merge(connection: apsw.Connection, number: int, *, into: int, now_ms: int) -> None:
    """Move every member of a scene into another; the emptied one stays as a pointer to it."""
    assign(connection, dict.fromkeys(members(connection, number), into))
    connection.execute(
        "UPDATE scenes SET superseded_ms = ?, merged_into = ? WHERE id = ?", (now_ms, into, number)
    )


def scene_of(connection: apsw.Connection, tier: int, row_id: int) -> int | None:
    """Return the scene that a row is a member of."""
    row = connection.execute(
        "SELECT scene_id FROM scene_members WHERE tier = ? AND row_id = ?", (tier, row_id)
    ).fetchone()
    return None if row is None else int(row[0])


def scenes_of(connection: apsw.Connection, tier: int, row_ids: Iterable[int]) -> dict[int, int]:
    """Return the scene of each of these rows of a tier that is a member of one."""
    return dict(
        connection.execute(
            "SELECT row_id, scene_id FROM json_each(?) AS wanted CROSS JOIN scene_members "
            "ON tier = ? AND row_id = wanted.value",
            (json.dumps(list(row_ids)), tier),
        )
    )


def members(connection: apsw.Connection, number: int) -> list[tuple[int, int]]:
    """Return the ``(tier, row_id)`` of a scene's members, in order."""
    return list(
        connection.execute(
            "SELECT tier, row_id FROM scene_members WHERE scene_id = ? ORDER BY tier, row_id",
            (number,),
        )
    )


def unassigned(connection: apsw.Connection, scope_id: int, limit: int) -> list[int]:
    """Return current facts of a scope that are in no scene yet, ascending."""
    cursor = connection.execute(
        "SELECT id FROM facts WHERE scope_id = ? AND superseded_ms IS NULL "
        "AND kind <> 'document' AND NOT EXISTS "
        "(SELECT 1 FROM scene_members WHERE tier = 1 AND scene_members.row_id = facts.id) "
        "ORDER BY id LIMIT ?",
        (scope_id, limit),
    )
    return [row[0] for row in cursor]


def _select(
    connection: apsw.Connection, condition: str, bindings: Sequence[Any], order: str = "scenes.id"
) -> Iterator[SceneRow]:
    cursor = connection.execute(
        f"SELECT {_COLUMNS} FROM scenes JOIN scopes ON scopes.id = scenes.scope_id "
        f"WHERE {condition} ORDER BY {order}",
        bindings,
    )
    return map(SceneRow._make, cursor)


def load(connection: apsw.Connection, ids: Sequence[int]) -> list[SceneRow]:
    """Return the rows of these ids that exist, in the order of their ids."""
    wanted = (json.dumps(list(ids)),)
    return list(_select(connection, "scenes.id IN (SELECT value FROM json_each(?))", wanted))


def words(connection: apsw.Connection, ids: Sequence[int]) -> dict[int, tuple[str, str]]:
    """Return label and summary of scenes."""
    return {
        number: (label, text)
        for number, label, text in connection.execute(
            "SELECT id, label, text FROM scenes WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(ids)),),
        )
    }


def current(connection: apsw.Connection, scope_id: int) -> list[SceneRow]:
    """Return the scenes of one scope alone that were not merged away, the latest first."""
    return list(
        _select(
            connection,
            "scenes.scope_id = ? AND scenes.superseded_ms IS NULL",
            (scope_id,),
            "scenes.last_ms DESC, scenes.id DESC",
        )
    )


def page(connection: apsw.Connection, scope: str, limit: int) -> list[SceneRow]:
    """Return up to ``limit`` scenes of a subtree that were not merged away, the latest first."""
    clause, bindings = subtree_clause(scope, "scenes.scope_id")
    return list(
        _select(
            connection,
            f"{clause} AND scenes.superseded_ms IS NULL",
            (*bindings, limit),
            "scenes.last_ms DESC, scenes.id DESC LIMIT ?",
        )
    )


def version_chain(connection: apsw.Connection, number: int) -> list[int]:
    """Return a scene and every scene that was merged into it, directly or by a merged one."""
    rows = connection.execute(
        "WITH RECURSIVE older(id) AS (SELECT ?1 UNION "
        "SELECT scenes.id FROM scenes JOIN older ON scenes.merged_into = older.id) "
        "SELECT id FROM older ORDER BY id",
        (number,),
    )
    return [row[0] for row in rows]


def delete(connection: apsw.Connection, ids: Sequence[int]) -> None:
    """Delete scenes with their memberships; links, tags and vectors are the caller's to delete."""
    connection.execute(
        "DELETE FROM scenes WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(list(ids)),)
    )


def count(connection: apsw.Connection) -> int:
    """Return how many scenes were not merged away."""
    return int(next(connection.execute(
        "SELECT count(*) FROM scenes WHERE superseded_ms IS NULL"
    ))[0])  # fmt: skip


def to_scene(connection: apsw.Connection, rows: Sequence[SceneRow]) -> list[Scene]:
    """Return the public values of rows, with their members and the sessions of these."""
    from agentmem.models import Scene

    tags = tags_of(connection, 2, [row.id for row in rows])
    found = []
    for row in rows:
        held = members(connection, row.id)
        sessions = [
            one[0]
            for one in connection.execute(
                "SELECT DISTINCT coalesce(turns.session, facts.session) AS name "
                "FROM scene_members LEFT JOIN turns ON tier = 0 AND turns.id = row_id "
                "LEFT JOIN facts ON tier = 1 AND facts.id = row_id "
                "WHERE scene_id = ? AND name IS NOT NULL ORDER BY name",
                (row.id,),
            )
        ]
        found.append(
            Scene(
                id=format_id(2, row.id),
                scope=row.scope,
                label=row.label,
                text=row.text,
                members=tuple(format_id(*one) for one in held),
                sessions=tuple(sessions),
                tags=tags.get(row.id, ()),
                metadata=json.loads(row.metadata),
                weight=row.weight,
                priority=row.priority,
                trust=Trust(row.trust),
                created=from_ms(row.created_ms),
                updated=from_ms(row.updated_ms),
                first=from_ms(row.first_ms),
                last=from_ms(row.last_ms),
                merged_into=None if row.merged_into is None else format_id(2, row.merged_into),
                is_current=row.superseded_ms is None,
            )
        )
    return found
