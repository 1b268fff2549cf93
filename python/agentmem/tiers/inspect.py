"""Look at what is there: rows, versions, counts, and whether all of it agrees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agentmem.errors import IndexCorruptError, InvalidInputError
from agentmem.models import Fact, Stats, Turn, Verification, format_id, parse_id
from agentmem.store import embeddings, facts, redactions, turns
from agentmem.store.conditions import check_where, matches
from agentmem.store.scopes import contains
from agentmem.tiers.trace import require

if TYPE_CHECKING:
    from agentmem.opened import Opened
    from agentmem.store.database import Database

__all__ = ["get", "history", "list_facts", "stats", "verify"]

MAX_LIMIT = 100_000
PAGE = 1_000
NUMBER_BITS = (1 << 56) - 1
SHOWN = 5


def get(database: Database, scope: str, row_id: str) -> Fact | Turn:
    """Return one row of any tier that this scope may see."""
    tier, number = parse_id(row_id)
    with database.read() as connection:
        row = require(connection, scope, tier, number)
        return turns.to_turn(row) if tier == 0 else facts.to_fact(connection, [row])[0]


def history(database: Database, scope: str, row_id: str) -> list[Fact]:
    """Return every version of a fact, oldest first."""
    tier, number = parse_id(row_id)
    if tier != 1:
        raise InvalidInputError(f"id: only facts have versions, {row_id!r} was given")
    with database.read() as connection:
        require(connection, scope, tier, number)
        chain = facts.version_chain(connection, number)
        rows = facts.load(connection, chain)
        return facts.to_fact(connection, [row for row in rows if contains(scope, row.scope)])


def list_facts(
    database: Database,
    scope: str,
    *,
    where: Mapping[str, Any] | None,
    limit: int,
    after: str | None,
) -> list[Fact]:
    """Return current facts in the order of their ids."""
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_LIMIT:
        raise InvalidInputError(f"limit: 1 to {MAX_LIMIT} is allowed, {limit!r} was given")
    check_where(where)
    last = 0
    if after is not None:
        tier, last = parse_id(after, argument="after")
        if tier != 1:
            raise InvalidInputError(f"after: a fact's id is needed, {after!r} was given")
    found: list[Fact] = []
    with database.read() as connection:
        while len(found) < limit:
            rows = facts.page(
                connection, scope=scope, after=last, limit=PAGE if where else limit - len(found)
            )
            if not rows:
                break
            last = rows[-1].id
            values = facts.to_fact(connection, rows)
            found += [value for value in values if matches(where, value)] if where else values
    return found[:limit]


def stats(opened: Opened) -> Stats:
    """Return counts and sizes."""
    index = opened.index
    with opened.database.read() as connection:
        current, superseded = facts.count(connection)
        turn_count = turns.count(connection)
        scope_count = next(connection.execute("SELECT count(*) FROM scopes"))[0]
        schema = next(connection.execute("PRAGMA user_version"))[0]
        pending = embeddings.pending_count(connection)
        redacted = redactions.counts(connection)
        row = connection.execute(
            "SELECT seq FROM sqlite_sequence WHERE name = 'changes'"
        ).fetchone()
    native = index.native.stats()
    return Stats(
        path=str(opened.path),
        schema_version=schema,
        durability=opened.durability,
        embedder_id=opened.embedder.id,
        ndim=opened.embedder.ndim,
        turns=turn_count,
        facts=current,
        superseded=superseded,
        scopes=scope_count,
        pending_embeddings=pending,
        last_seq=0 if row is None else row[0],
        applied_seq=index.native.applied,
        watermark=index.native.watermark,
        tail=index.native.tail_len,
        segments=native["segments"],
        store_bytes=sum(
            entry.stat().st_size for entry in opened.path.glob("store.amem*") if entry.is_file()
        ),
        index_bytes=native["bytes"],
        guard_trips=opened.database.guard_trips,
        redacted=redacted,
        last_fold_error=None if index.last_fold_error is None else repr(index.last_fold_error),
    )


def verify(opened: Opened) -> Verification:
    """Check the store, the index and that they agree; nothing is changed."""
    problems = list(opened.database.integrity())
    opened.index.catch_up()
    with opened.database.read() as connection:
        stored = {
            embeddings.key_of(1, row[0]) for row in connection.execute("SELECT id FROM facts")
        }
        vectors = next(connection.execute("SELECT count(*) FROM embeddings"))[0]
        (lost,) = next(
            connection.execute(
                "SELECT count(*) FROM facts WHERE NOT EXISTS (SELECT 1 FROM sources "
                "WHERE tier = 1 AND row_id = facts.id)"
            )
        )
        (ghosts,) = next(
            connection.execute(
                "SELECT count(*) FROM embeddings WHERE (id >> 59) = 1 "
                "AND ((id >> 3) & ((1 << 56) - 1)) NOT IN (SELECT id FROM facts)"
            )
        )
    if lost:
        problems.append(f"{lost} facts rest on no source")
    if ghosts:
        problems.append(f"{ghosts} embeddings belong to no row")
    try:
        opened.index.check_files()
    except IndexCorruptError as error:
        problems.append(str(error))
    indexed = set(opened.index.native.keys().tolist())
    for name, keys in (("missing from", stored - indexed), ("only in", indexed - stored)):
        if keys:
            shown = ", ".join(
                format_id(key >> 56, key & ((1 << 56) - 1)) for key in sorted(keys)[:5]
            )
            problems.append(f"{len(keys)} rows are {name} the index: {shown}")
    return Verification(tuple(problems), len(stored), vectors)
