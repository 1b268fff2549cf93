"""The queue of reviews: claims with a fencing generation, results, endings, effects.

Whoever claims a task raises its generation; every later write of that worker names it, so one
that lost its claim changes nothing. A task is never deleted.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from agentmem.store.scopes import subtree_clause

if TYPE_CHECKING:
    import apsw

__all__ = [
    "TaskRow",
    "add_effect",
    "block",
    "claim",
    "close_suspicions",
    "counts",
    "effect_of",
    "end",
    "fail",
    "has_open_suspicion",
    "insert",
    "leased",
    "load",
    "next_due_ms",
    "open_suspicion",
    "reclaim",
    "restart",
    "select",
    "store_result",
]


class TaskRow(NamedTuple):
    """A row of the table; ``result`` is a reviewer's stored answer that is not applied yet."""

    id: int
    kind: str
    archive_id: int | None
    skill_id: int | None
    version: int | None
    state: str
    generation: int
    worker: str | None
    attempts: int
    tries: int
    deaths: int
    run_after_ms: int
    created_ms: int
    ended_ms: int | None
    result: str | None
    reviewer: str | None
    error: str | None
    outcome: str | None
    reasons: str | None


_COLUMNS: Final = ", ".join(f"skill_tasks.{name}" for name in TaskRow._fields)
_ARCHIVE_SCOPE: Final = (
    "(SELECT scope_id FROM skill_archives JOIN skill_buffers ON skill_buffers.id = buffer_id "
    "JOIN sessions ON sessions.id = session_id WHERE skill_archives.id = skill_tasks.archive_id)"
)
_ANY_SCOPE: Final = (
    f"coalesce({_ARCHIVE_SCOPE}, (SELECT scope_id FROM skills "
    "WHERE skills.id = skill_tasks.skill_id))"
)
_IS_MINE: Final = "id = ? AND generation = ? AND state = 'leased'"


def insert(connection: apsw.Connection, archive_id: int, created_ms: int) -> int:
    """Register the review of an archive, which must be there, and return its number."""
    connection.execute(
        "INSERT INTO skill_tasks (kind, archive_id, state, run_after_ms, created_ms) "
        "VALUES ('archive', ?, 'waiting', ?, ?)",
        (archive_id, created_ms, created_ms),
    )
    return int(connection.last_insert_rowid())


def load(connection: apsw.Connection, number: int) -> TaskRow | None:
    """Return a task by its number."""
    row = connection.execute(
        f"SELECT {_COLUMNS} FROM skill_tasks WHERE id = ?", (number,)
    ).fetchone()
    return None if row is None else TaskRow._make(row)


def select(
    connection: apsw.Connection, scope: str, *, states: Sequence[str], limit: int
) -> list[tuple[TaskRow, str, str, str]]:
    """Return the newest tasks of a subtree with their scope, session and owner."""
    clause, bindings = subtree_clause(scope, _ANY_SCOPE)
    cursor = connection.execute(
        f"SELECT {_COLUMNS}, scopes.path, coalesce(sessions.name, ''), "
        "coalesce(skill_buffers.owner, skills.owner) FROM skill_tasks "
        "LEFT JOIN skill_archives ON skill_archives.id = archive_id "
        "LEFT JOIN skill_buffers ON skill_buffers.id = buffer_id "
        "LEFT JOIN sessions ON sessions.id = session_id "
        "LEFT JOIN skills ON skills.id = skill_id "
        "JOIN scopes ON scopes.id = coalesce(sessions.scope_id, skills.scope_id) "
        f"WHERE skill_tasks.state IN (SELECT value FROM json_each(?)) AND {clause} "
        "ORDER BY skill_tasks.id DESC LIMIT ?",
        (json.dumps(list(states)), *bindings, limit),
    )
    return [(TaskRow._make(row[:-3]), *row[-3:]) for row in cursor]


def claim(
    connection: apsw.Connection, scope: str, worker: str, now_ms: int, *, horizon_ms: int
) -> TaskRow | None:
    """Take the next task that is due for a worker; None if there is none.

    Args:
        connection: The connection that writes.
        scope: Only tasks of this scope and below.
        worker: The name of the worker's lock.
        now_ms: The present.
        horizon_ms: A task that would wait longer than this was put off by a clock that was wrong
            then or is now; it is due.
    """
    clause, bindings = subtree_clause(scope, _ARCHIVE_SCOPE)
    row = connection.execute(
        "UPDATE skill_tasks SET state = 'leased', generation = generation + 1, worker = ? "
        "WHERE id = (SELECT id FROM skill_tasks WHERE kind = 'archive' "
        "AND state IN ('waiting', 'blocked') AND (run_after_ms <= ? OR run_after_ms > ?) "
        f"AND {clause} ORDER BY run_after_ms, id LIMIT 1) RETURNING {_COLUMNS}",
        (worker, now_ms, now_ms + horizon_ms, *bindings),
    ).fetchone()
    return None if row is None else TaskRow._make(row)


def next_due_ms(connection: apsw.Connection, scope: str) -> int | None:
    """Return when the next waiting task is due; None if none waits."""
    clause, bindings = subtree_clause(scope, _ARCHIVE_SCOPE)
    rows: list[Any] = connection.execute(
        "SELECT min(run_after_ms) FROM skill_tasks WHERE kind = 'archive' "
        f"AND state IN ('waiting', 'blocked') AND {clause}",
        bindings,
    ).fetchall()
    return None if rows[0][0] is None else int(rows[0][0])


def leased(connection: apsw.Connection) -> list[tuple[int, int, str]]:
    """Return ``(id, generation, worker)`` of every task that a worker holds."""
    return list(
        connection.execute(
            "SELECT id, generation, worker FROM skill_tasks WHERE state = 'leased' ORDER BY id"
        )
    )


def reclaim(
    connection: apsw.Connection,
    number: int,
    generation: int,
    now_ms: int,
    *,
    deaths: int,
    max_deaths: int,
    error: str,
) -> bool:
    """Take a task from a worker that is gone; a task that kills its workers ends dead.

    Returns:
        Whether the task was still that worker's.
    """
    connection.execute(
        "UPDATE skill_tasks SET state = iif(deaths + ?1 >= ?2, 'dead', 'waiting'), "
        "ended_ms = iif(deaths + ?1 >= ?2, ?3, NULL), deaths = deaths + ?1, worker = NULL, "
        "generation = generation + 1, run_after_ms = ?3, error = ?4 "
        "WHERE id = ?5 AND generation = ?6 AND state = 'leased'",
        (deaths, max_deaths, now_ms, error, number, generation),
    )
    return connection.changes() == 1


def store_result(
    connection: apsw.Connection, number: int, generation: int, result: str | None, reviewer: str
) -> bool:
    """Keep a reviewer's answer before it is applied; False if the claim was lost."""
    connection.execute(
        f"UPDATE skill_tasks SET result = ?, reviewer = ? WHERE {_IS_MINE}",
        (result, reviewer, number, generation),
    )
    return connection.changes() == 1


def fail(
    connection: apsw.Connection,
    number: int,
    generation: int,
    *,
    run_after_ms: int,
    error: str,
    burns: bool,
    is_dead: bool,
    ended_ms: int,
) -> bool:
    """Put a task back with its error, or park it; its stored answer, if any, is dropped."""
    connection.execute(
        "UPDATE skill_tasks SET state = iif(?1, 'dead', 'waiting'), ended_ms = iif(?1, ?2, NULL), "
        "worker = NULL, tries = tries + 1, attempts = attempts + ?3, run_after_ms = ?4, "
        "error = ?5, result = NULL WHERE id = ?6 AND generation = ?7 AND state = 'leased'",
        (is_dead, ended_ms, burns, run_after_ms, error, number, generation),
    )
    return connection.changes() == 1


def block(
    connection: apsw.Connection, number: int, generation: int, *, run_after_ms: int, error: str
) -> bool:
    """Hold a task whose archive can't be read; it is looked at again later, for ever."""
    connection.execute(
        "UPDATE skill_tasks SET state = 'blocked', worker = NULL, tries = tries + 1, "
        f"run_after_ms = ?, error = ? WHERE {_IS_MINE}",
        (run_after_ms, error, number, generation),
    )
    return connection.changes() == 1


def end(
    connection: apsw.Connection,
    number: int,
    generation: int,
    *,
    outcome: str,
    reasons: Sequence[str],
    ended_ms: int,
) -> bool:
    """End a task that this worker holds; False if the claim was lost, and nothing may follow."""
    connection.execute(
        "UPDATE skill_tasks SET state = 'done', worker = NULL, result = NULL, error = NULL, "
        f"outcome = ?, reasons = ?, ended_ms = ? WHERE {_IS_MINE}",
        (outcome, json.dumps(list(reasons)), ended_ms, number, generation),
    )
    return connection.changes() == 1


def restart(connection: apsw.Connection, number: int, now_ms: int) -> bool:
    """Put a dead or blocked task back into the queue with a clean count; False if it is neither."""
    connection.execute(
        "UPDATE skill_tasks SET state = 'waiting', attempts = 0, tries = 0, deaths = 0, "
        "ended_ms = NULL, result = NULL, run_after_ms = ?, created_ms = ? "
        "WHERE id = ? AND kind = 'archive' AND state IN ('dead', 'blocked')",
        (now_ms, now_ms, number),
    )
    return connection.changes() == 1


def add_effect(
    connection: apsw.Connection, number: int, candidate: bytes, skill_id: int, version: int
) -> None:
    """Record what a task made, in the transaction that made it; a second time is an error."""
    connection.execute(
        "INSERT INTO skill_effects (task_id, candidate, skill_id, version) VALUES (?,?,?,?)",
        (number, candidate, skill_id, version),
    )


def effect_of(connection: apsw.Connection, number: int) -> tuple[int, int] | None:
    """Return ``(skill, version)`` that a task made."""
    row: Any = connection.execute(
        "SELECT skill_id, version FROM skill_effects WHERE task_id = ?", (number,)
    ).fetchone()
    return None if row is None else (row[0], row[1])


def open_suspicion(
    connection: apsw.Connection, skill_id: int, version: int, error: str, now_ms: int
) -> int:
    """Open the task for a person to look at a version that fails."""
    connection.execute(
        "INSERT INTO skill_tasks (kind, skill_id, version, state, run_after_ms, created_ms, error) "
        "VALUES ('suspect', ?, ?, 'waiting', ?, ?, ?)",
        (skill_id, version, now_ms, now_ms, error),
    )
    return int(connection.last_insert_rowid())


def has_open_suspicion(connection: apsw.Connection, skill_id: int, version: int) -> bool:
    """Whether a version's suspicion is still to be looked at."""
    row = connection.execute(
        "SELECT 1 FROM skill_tasks WHERE kind = 'suspect' AND skill_id = ? AND version = ? "
        "AND state = 'waiting'",
        (skill_id, version),
    ).fetchone()
    return row is not None


def close_suspicions(connection: apsw.Connection, skill_id: int, outcome: str, now_ms: int) -> None:
    """End what was opened about a skill: somebody acted on it."""
    connection.execute(
        "UPDATE skill_tasks SET state = 'done', outcome = ?, ended_ms = ? "
        "WHERE kind = 'suspect' AND skill_id = ? AND state = 'waiting'",
        (outcome, now_ms, skill_id),
    )


def counts(connection: apsw.Connection) -> dict[str, int]:
    """Return the number of tasks in each state."""
    return dict(
        connection.execute("SELECT state, count(*) FROM skill_tasks GROUP BY state ORDER BY state")
    )
