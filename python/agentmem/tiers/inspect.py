"""Look at what is there: rows, versions, counts, and whether all of it agrees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agentmem.errors import IndexCorruptError, InvalidInputError
from agentmem.models import (
    Fact,
    Persona,
    Scene,
    Stats,
    Turn,
    Verification,
    format_id,
    parse_id,
)
from agentmem.store import (
    embeddings,
    facts,
    jobs,
    personas,
    redactions,
    scenes,
    skill_archives,
    skill_tasks,
    skills,
    turns,
)
from agentmem.store.conditions import check_where, matches
from agentmem.store.index_rows import all_keys
from agentmem.store.scopes import contains
from agentmem.tiers.trace import require

if TYPE_CHECKING:
    import apsw

    from agentmem.opened import Opened
    from agentmem.store.database import Database

Row = Turn | Fact | Scene | Persona

__all__ = ["Row", "get", "history", "list_facts", "stats", "to_value", "verify"]

MAX_LIMIT = 100_000
PAGE = 1_000
NUMBER_BITS = (1 << 56) - 1
SHOWN = 5


def to_value(connection: apsw.Connection, tier: int, row: Any) -> Row:
    """Return the public value of a row of any tier."""
    if tier == 0:
        return turns.to_turn(row)
    if tier == 1:
        return facts.to_fact(connection, [row])[0]
    if tier == 2:  # noqa: PLR2004
        return scenes.to_scene(connection, [row])[0]
    return personas.to_persona(row)


def get(database: Database, scope: str, row_id: str) -> Row:
    """Return one row of any tier that this scope may see."""
    tier, number = parse_id(row_id)
    with database.read() as connection:
        return to_value(connection, tier, require(connection, scope, tier, number))


def history(database: Database, scope: str, row_id: str) -> list[Row]:
    """Return every version of a row, oldest first: a scene's are those that were merged into it."""
    tier, number = parse_id(row_id)
    with database.read() as connection:
        row = require(connection, scope, tier, number)
        rows: Sequence[Any] = [row]
        if tier == 1:
            rows = facts.load(connection, facts.version_chain(connection, number))
        elif tier == 2:  # noqa: PLR2004
            rows = scenes.load(connection, scenes.version_chain(connection, number))
        elif tier == 3:  # noqa: PLR2004
            rows = personas.versions(connection, row.scope)
        return [to_value(connection, tier, one) for one in rows if contains(scope, one.scope)]


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
        scene_count, persona_count = scenes.count(connection), personas.count(connection)
        skill_count = skills.count(connection)
        tasks = skill_tasks.counts(connection)
        waiting = tuple(jobs.to_job(row) for row in jobs.load(connection, ""))
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
        scenes=scene_count,
        personas=persona_count,
        jobs=waiting,
        skills=skill_count,
        skill_tasks=tasks,
        consolidation="manual" if opened.worker is None else opened.worker.state,
        last_fold_error=None if index.last_fold_error is None else repr(index.last_fold_error),
    )


def _skill_problems(connection: apsw.Connection) -> list[str]:
    """Return what is wrong with skills: what is not as it was written, and reviews that are stuck.

    A dead review is no damage: ``stats`` counts it.
    """
    problems = [
        f"version {number} of the skill {name!r} is not what was written; it is never handed out"
        for name, number in skills.tampered(connection)
    ]
    problems += [
        f"archive:{number} is damaged: its payload is not what was archived"
        for number in skill_archives.damaged(connection)
    ]
    lost = skill_archives.without_task(connection)
    if lost:
        problems.append(f"{lost} archives have no review")
    blocked = skill_tasks.counts(connection).get("blocked")
    if blocked:
        problems.append(f"{blocked} reviews are blocked; 'agentmem skills queue' says why")
    return problems


def verify(opened: Opened) -> Verification:
    """Check the store, the index and that they agree; nothing is changed.

    Others may write meanwhile: what is held against another is of one snapshot.
    """
    problems = list(opened.database.integrity())
    with opened.database.read() as connection:
        rows = len(all_keys(connection))
        vectors = next(connection.execute("SELECT count(*) FROM embeddings"))[0]
        (lost,) = next(
            connection.execute(
                "SELECT count(*) FROM facts WHERE NOT EXISTS (SELECT 1 FROM sources "
                "WHERE tier = 1 AND row_id = facts.id)"
            )
        )
        ghosts = 0
        for tier, table in enumerate(("turns", "facts", "scenes", "personas")):
            (lost_rows,) = next(
                connection.execute(
                    "SELECT count(*) FROM embeddings WHERE (id >> 59) = ? "
                    f"AND ((id >> 3) & ((1 << 56) - 1)) NOT IN (SELECT id FROM {table})",
                    (tier,),
                )
            )
            ghosts += lost_rows
        problems += _skill_problems(connection)
    if lost:
        problems.append(f"{lost} facts rest on no source")
    if ghosts:
        problems.append(f"{ghosts} embeddings belong to no row")
    try:
        opened.index.check_files()
    except IndexCorruptError as error:
        problems.append(str(error))
    missing, surplus = opened.index.differences()
    for name, keys in (("missing from", missing), ("only in", surplus)):
        if keys:
            shown = ", ".join(
                format_id(key >> 56, key & ((1 << 56) - 1)) for key in sorted(keys)[:5]
            )
            problems.append(f"{len(keys)} rows are {name} the index: {shown}")
    return Verification(tuple(problems), rows, vectors)
