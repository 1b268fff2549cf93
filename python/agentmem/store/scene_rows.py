"""Rows as the clusterer reads them, and what it needs to know of a scene's members."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from agentmem.models import Trust
from agentmem.store import facts, turns
from agentmem.store.scenes import scene_of

if TYPE_CHECKING:
    import apsw

    from agentmem.store.facts import FactRow
    from agentmem.store.turns import TurnRow

__all__ = [
    "absent",
    "change_mark",
    "last_fact",
    "last_turn",
    "member_counts",
    "member_trusts",
    "quoted_turns",
    "recent_sessions",
    "release_superseded",
    "scenes_changed",
    "scenes_of_facts",
    "sizes",
    "split_members",
    "turns_after",
]

CLUSTERED_KINDS = ("user", "assistant", "tool_call", "tool_result")
_CLUSTERED = "origin <> 'asserted' AND kind IN ('user', 'assistant', 'tool_call', 'tool_result')"


def turns_after(
    connection: apsw.Connection, scope_id: int, *, after: int, limit: int
) -> list[TurnRow]:
    """Return turns of one scope alone that scenes are made of, with ids above ``after``."""
    ids = [
        row[0]
        for row in connection.execute(
            f"SELECT id FROM turns WHERE scope_id = ? AND id > ? AND {_CLUSTERED} "
            "ORDER BY id LIMIT ?",
            (scope_id, after, limit),
        )
    ]
    return turns.load(connection, ids)


def last_turn(
    connection: apsw.Connection, scope_id: int, session: str, *, until: int
) -> tuple[int, TurnRow] | None:
    """Return the last clustered turn of a session up to a turn, and its scene."""
    row = connection.execute(
        f"SELECT id FROM turns WHERE scope_id = ? AND session = ? AND id <= ? AND {_CLUSTERED} "
        "ORDER BY position DESC, id DESC LIMIT 1",
        (scope_id, session, until),
    ).fetchone()
    if row is None:
        return None
    scene = scene_of(connection, 0, row[0])
    return None if scene is None else (scene, turns.load(connection, [row[0]])[0])


def last_fact(
    connection: apsw.Connection, scope_id: int, session: str, *, until: int
) -> tuple[int, FactRow] | None:
    """Return the last clustered fact of a session up to a fact, and its scene."""
    row = connection.execute(
        "SELECT scene_id, facts.id FROM facts JOIN scene_members "
        "ON tier = 1 AND scene_members.row_id = facts.id "
        "WHERE scope_id = ? AND session = ? AND facts.id <= ? ORDER BY facts.id DESC LIMIT 1",
        (scope_id, session, until),
    ).fetchone()
    return None if row is None else (int(row[0]), facts.load(connection, [row[1]])[0])


def member_counts(connection: apsw.Connection, scope_id: int) -> dict[int, int]:
    """Return how many members each scene of a scope has that was not merged away.

    A member whose row is gone counts no more.
    """
    return dict(
        connection.execute(
            "SELECT scenes.id, (SELECT count(*) FROM scene_members WHERE scene_id = scenes.id AND ("
            "(tier = 0 AND EXISTS (SELECT 1 FROM turns WHERE turns.id = row_id)) OR "
            "(tier = 1 AND EXISTS (SELECT 1 FROM facts WHERE facts.id = row_id)))) "
            "FROM scenes WHERE scope_id = ? AND superseded_ms IS NULL",
            (scope_id,),
        )
    )


def member_trusts(connection: apsw.Connection, numbers: Sequence[int]) -> dict[int, int]:
    """Return the lowest trust of what each scene's words are taken from.

    Its label and summary quote users, agents and facts; data of tools are members whose words it
    never repeats. A scene of nothing else has the trust of a tool.
    """
    found = dict.fromkeys(numbers, int(Trust.TOOL))
    found |= connection.execute(
        "SELECT scene_id, min(CASE held.tier WHEN 0 THEN turns.trust ELSE facts.trust END) "
        "FROM json_each(?) AS wanted CROSS JOIN scene_members AS held ON scene_id = wanted.value "
        "LEFT JOIN turns ON held.tier = 0 AND turns.id = held.row_id "
        "LEFT JOIN facts ON held.tier = 1 AND facts.id = held.row_id "
        "WHERE turns.kind IS NOT 'tool_result' AND coalesce(turns.id, facts.id) IS NOT NULL "
        "GROUP BY scene_id",
        (json.dumps(list(numbers)),),
    )
    return found


def release_superseded(connection: apsw.Connection, numbers: Sequence[int]) -> None:
    """Take out of scenes what is no longer there: superseded facts, and rows that are gone."""
    gone = list(
        connection.execute(
            "SELECT scene_id, tier, row_id FROM json_each(?) AS wanted "
            "CROSS JOIN scene_members ON scene_id = wanted.value WHERE "
            "(tier = 1 AND NOT EXISTS (SELECT 1 FROM facts WHERE facts.id = row_id "
            "AND superseded_ms IS NULL)) OR "
            "(tier = 0 AND NOT EXISTS (SELECT 1 FROM turns WHERE turns.id = row_id))",
            (json.dumps(list(numbers)),),
        )
    )
    connection.executemany(
        "DELETE FROM scene_members WHERE scene_id = ? AND tier = ? AND row_id = ?", gone
    )
    connection.executemany(
        "DELETE FROM sources WHERE tier = 2 AND row_id = ? AND source_tier = ? AND source_id = ?",
        gone,
    )


def sizes(connection: apsw.Connection, numbers: Sequence[int]) -> dict[int, int]:
    """Return how many members each of these scenes has that has any."""
    return dict(
        connection.execute(
            "SELECT scene_id, count(*) FROM json_each(?) AS wanted "
            "CROSS JOIN scene_members ON scene_id = wanted.value GROUP BY scene_id",
            (json.dumps(list(numbers)),),
        )
    )


def absent(connection: apsw.Connection, rows: Iterable[tuple[int, int]]) -> bool:
    """Whether any of these rows ``(tier, row_id)`` does not exist."""
    wanted: dict[int, set[int]] = {0: set(), 1: set()}
    for tier, row_id in rows:
        wanted[tier].add(row_id)
    for table, ids in (("turns", wanted[0]), ("facts", wanted[1])):
        found = connection.execute(
            f"SELECT count(*) FROM {table} WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(sorted(ids)),),
        ).fetchone()
        if found is None or found[0] != len(ids):
            return True
    return False


def split_members(
    connection: apsw.Connection, number: int, cut: Sequence[int]
) -> list[tuple[int, int]]:
    """Return the members of a scene behind a turn and a fact; a fact goes where its turn goes."""
    return list(
        connection.execute(
            "SELECT tier, row_id FROM scene_members AS member WHERE scene_id = ?1 AND ("
            "(tier = 0 AND row_id > ?2) OR (tier = 1 AND coalesce("
            "(SELECT min(source_id) > ?2 FROM sources JOIN scene_members AS turn "
            "ON turn.tier = 0 AND turn.row_id = source_id AND turn.scene_id = ?1 "
            "WHERE sources.tier = 1 AND sources.row_id = member.row_id AND source_tier = 0), "
            "row_id > ?3))) ORDER BY tier, row_id",
            (number, cut[0], cut[1]),
        )
    )


def recent_sessions(connection: apsw.Connection, scope_id: int, limit: int) -> list[str]:
    """Return the sessions of one scope alone that a user spoke in last, the latest first."""
    cursor = connection.execute(
        "SELECT session FROM (SELECT session, max(coalesce(event_ms, created_ms)) AS at, max(id) AS id "
        "FROM turns WHERE scope_id = ?1 AND session IS NOT NULL AND origin <> 'asserted' "
        "AND kind = 'user' GROUP BY session UNION ALL "
        "SELECT session, max(min(coalesce(valid_from_ms, created_ms), created_ms)) AS at, "
        "max(id) AS id FROM facts WHERE scope_id = ?1 AND session IS NOT NULL "
        "AND extractor IS NULL GROUP BY session) "
        "GROUP BY session ORDER BY max(at) DESC, max(id) DESC LIMIT ?2",
        (scope_id, limit),
    )
    return [row[0] for row in cursor]


def scenes_of_facts(connection: apsw.Connection, scope_id: int) -> dict[int, int]:
    """Return the scene of each current fact of a scope that is in one."""
    return dict(
        connection.execute(
            "SELECT facts.id, scene_id FROM facts JOIN scene_members "
            "ON tier = 1 AND scene_members.row_id = facts.id "
            "WHERE scope_id = ? AND superseded_ms IS NULL",
            (scope_id,),
        )
    )


def change_mark(connection: apsw.Connection) -> int:
    """Return the number of the last change: it rises with any row of any tier."""
    row = connection.execute("SELECT coalesce(max(seq), 0) FROM changes").fetchone()
    return 0 if row is None else int(row[0])


def scenes_changed(connection: apsw.Connection, after: int) -> bool:
    """Whether since a change, by its number, scenes were written or rows of any tier removed."""
    row = connection.execute(
        "SELECT 1 FROM changes WHERE seq > ? AND (tier = 2 OR op = 'remove') LIMIT 1", (after,)
    ).fetchone()
    return row is not None


def quoted_turns(connection: apsw.Connection, numbers: Sequence[int]) -> dict[int, str]:
    """Return the text of the first turn that each of these facts rests on."""
    first: dict[int, int] = {}
    for fact, turn in connection.execute(
        "SELECT row_id, source_id FROM json_each(?) AS wanted CROSS JOIN sources "
        "ON sources.tier = 1 AND row_id = wanted.value WHERE source_tier = 0 ORDER BY 1, 2",
        (json.dumps(list(numbers)),),
    ):
        first.setdefault(fact, turn)
    texts = {row.id: row.text for row in turns.load(connection, sorted(set(first.values())))}
    return {fact: texts[turn] for fact, turn in first.items() if turn in texts}
