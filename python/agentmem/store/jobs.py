"""Jobs: steps of the pipeline that have work to do, and what went wrong with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from agentmem.models import from_ms
from agentmem.store.scopes import subtree_clause

if TYPE_CHECKING:
    import apsw

    from agentmem.models import Job

__all__ = ["MAX_BACKOFF_MS", "JobRow", "done", "failed", "is_due", "load", "request", "to_job"]

FIRST_BACKOFF_MS: Final = 5_000
MAX_BACKOFF_MS: Final = 15 * 60_000
_MAX_ERROR_CHARS: Final = 500


class JobRow(NamedTuple):
    """A row of the table, its scope as a path; ``turns`` came since the step was last done."""

    id: int
    scope_id: int
    scope: str
    step: str
    session: str
    created_ms: int
    updated_ms: int
    turns: int
    attempts: int
    due_ms: int
    error: str | None


def request(
    connection: apsw.Connection,
    scope_id: int,
    step: str,
    session: str = "",
    *,
    now_ms: int,
    turns: int = 0,
) -> None:
    """Note that a step has work, in the transaction of the rows that are the work."""
    connection.execute(
        "INSERT INTO jobs (scope_id, step, session, created_ms, updated_ms, turns) "
        "VALUES (?1,?2,?3,?4,?4,?5) ON CONFLICT (scope_id, step, session) DO UPDATE SET "
        "updated_ms = excluded.updated_ms, turns = turns + excluded.turns",
        (scope_id, step, session, now_ms, turns),
    )


def load(
    connection: apsw.Connection, scope: str, *, step: str | None = None, session: str | None = None
) -> list[JobRow]:
    """Return the jobs of a subtree, oldest first."""
    clause, bindings = subtree_clause(scope, "jobs.scope_id")
    values: list[Any] = list(bindings)
    for column, value in (("step", step), ("session", session)):
        if value is not None:
            clause += f" AND jobs.{column} = ?"
            values.append(value)
    cursor = connection.execute(
        "SELECT jobs.id, scope_id, scopes.path, step, session, created_ms, updated_ms, turns, "
        "attempts, due_ms, error FROM jobs JOIN scopes ON scopes.id = jobs.scope_id "
        f"WHERE {clause} ORDER BY jobs.id",
        values,
    )
    return [JobRow._make(row) for row in cursor]


def done(connection: apsw.Connection, scope_id: int, step: str, session: str = "") -> None:
    """Remove a job, in the transaction that finished its work."""
    connection.execute(
        "DELETE FROM jobs WHERE scope_id = ? AND step = ? AND session = ?",
        (scope_id, step, session),
    )


def failed(
    connection: apsw.Connection,
    scope_id: int,
    step: str,
    session: str = "",
    *,
    error: str,
    now_ms: int,
) -> int:
    """Note a failure; the job stays, and is due again after 5 s, 10 s, … at most 15 minutes.

    Returns:
        The number of the job.
    """
    row = connection.execute(
        "SELECT attempts FROM jobs WHERE scope_id = ? AND step = ? AND session = ?",
        (scope_id, step, session),
    ).fetchone()
    attempts = 1 if row is None else int(row[0]) + 1
    wait_ms = min(FIRST_BACKOFF_MS << min(attempts - 1, 16), MAX_BACKOFF_MS)
    connection.execute(
        "INSERT INTO jobs (scope_id, step, session, created_ms, updated_ms, attempts, due_ms, error)"
        " VALUES (?1,?2,?3,?4,?4,?5,?6,?7) ON CONFLICT (scope_id, step, session) DO UPDATE SET "
        "attempts = excluded.attempts, due_ms = excluded.due_ms, error = excluded.error",
        (scope_id, step, session, now_ms, attempts, now_ms + wait_ms, _one_line(error)),
    )
    rows: list[Any] = connection.execute(
        "SELECT id FROM jobs WHERE scope_id = ? AND step = ? AND session = ?",
        (scope_id, step, session),
    ).fetchall()
    return int(rows[0][0])


def _one_line(error: str) -> str:
    """Return a message that any SQLite can hold and any terminal show, cut to its bound."""
    return " ".join(error.encode("utf-8", "replace").decode().split())[:_MAX_ERROR_CHARS]


def is_due(row: JobRow, now_ms: int) -> bool:
    """Whether a failed job may be tried again; a clock that was set back delays it no further."""
    return row.due_ms <= now_ms or row.due_ms > now_ms + MAX_BACKOFF_MS


def to_job(row: JobRow) -> Job:
    """Return the public value of a row."""
    from agentmem.models import Job

    return Job(
        scope=row.scope,
        step=row.step,  # type: ignore[arg-type]  # the table's CHECK holds it
        session=row.session or None,
        turns=row.turns,
        attempts=row.attempts,
        error=row.error,
        created=from_ms(row.created_ms),
        due=from_ms(row.due_ms) if row.error is not None else None,
    )
