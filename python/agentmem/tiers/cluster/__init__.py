"""Cluster facts and turns into scenes (L2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentmem.store import cursors, embeddings, facts, jobs, scenes
from agentmem.store.index_rows import scene_index_rows
from agentmem.tiers.steps import Stepped, existing_scope

if TYPE_CHECKING:
    import apsw

    from agentmem.opened import Opened
    from agentmem.store.database import Transaction

__all__ = ["cluster_scope"]

PIECE = 500
STEP = "cluster.facts"


def cluster_scope(opened: Opened, scope: str) -> Stepped:
    """Put a scope's new facts into one scene a session; see ``tiers.steps`` for the contract."""
    read = written = 0
    while True:
        with opened.database.read() as connection:
            scope_id = existing_scope(connection, scope)
            if scope_id is None:
                return Stepped(read=read, written=written)
            start = cursors.position(connection, scope_id, STEP)
            rows = facts.of_scope(connection, scope_id, after=start, limit=PIECE)
        now_ms = opened.now_ms()

        def operation(
            transaction: Transaction,
            rows: Sequence[facts.FactRow] = rows,
            scope_id: int = scope_id,
            start: int = start,
            now_ms: int = now_ms,
        ) -> int:
            connection = transaction.connection
            end = rows[-1].id if rows else start
            cursors.advance(connection, scope_id, STEP, expected=start, to=end)
            touched = _write(connection, scope_id, rows, now_ms)
            keys = [embeddings.key_of(2, number) for number in touched]
            embeddings.add_pending(connection, keys)
            index_rows = scene_index_rows(connection, touched)
            transaction.change_many("upsert", 2, dict(zip(touched, index_rows, strict=True)))
            if len(rows) < PIECE:
                jobs.done(connection, scope_id, "cluster")
                jobs.request(connection, scope_id, "abstract", now_ms=now_ms)
            return len(touched)

        written += opened.database.write(operation)
        read += len(rows)
        if len(rows) < PIECE:
            return Stepped(read=read, written=written)


def _write(
    connection: apsw.Connection, scope_id: int, rows: Sequence[facts.FactRow], now_ms: int
) -> list[int]:
    by_session: dict[str | None, list[facts.FactRow]] = {}
    for row in rows:
        by_session.setdefault(row.session, []).append(row)
    known = {row.session: row for row in scenes.current(connection, scope_id)}
    touched = []
    for session, held in by_session.items():
        times = [row.event_ms or row.valid_from_ms or row.created_ms for row in held]
        trust = min(row.trust for row in held)
        old = known.get(session)
        text = "\n".join(row.text for row in held[:5])
        if old is None:
            number = scenes.insert(
                connection, scope_id, label=session or "facts", text=text, session=session,
                trust=trust, now_ms=now_ms, first_ms=min(times), last_ms=max(times),
                weight=float(len(held)),
            )  # fmt: skip
        else:
            number = old.id
            scenes.update(
                connection, number, label=old.label, text=old.text, trust=min(trust, old.trust),
                now_ms=now_ms, first_ms=min(*times, old.first_ms),
                last_ms=max(*times, old.last_ms), weight=old.weight + len(held), state=old.state,
            )  # fmt: skip
        scenes.assign(connection, number, [(1, row.id) for row in held])
        touched.append(number)
    return sorted(touched)
