"""Remove rows everywhere: the only verb that deletes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agentmem.errors import InvalidInputError
from agentmem.models import Forgotten, format_id, parse_id
from agentmem.store import embeddings, facts, personas, scenes, turns
from agentmem.store.conditions import check_where, matches
from agentmem.store.index_rows import fact_index_rows
from agentmem.store.links import delete_links, dependants, source_numbers
from agentmem.tiers.trace import require

if TYPE_CHECKING:
    import apsw

    from agentmem.store.database import Database, Transaction

__all__ = ["forget", "remove_rows", "select_facts"]

PAGE = 1_000
TABLES: Mapping[int, Any] = {0: turns, 1: facts, 2: scenes, 3: personas}


def select_facts(connection: apsw.Connection, scope: str, where: Mapping[str, Any]) -> list[int]:
    """Return the ids of the current facts of a subtree that fulfil a condition."""
    found: list[int] = []
    after = 0
    while True:
        rows = facts.page(connection, scope=scope, after=after, limit=PAGE)
        if not rows:
            return found
        after = rows[-1].id
        values = facts.to_fact(connection, rows)
        found += [row.id for row, value in zip(rows, values, strict=True) if matches(where, value)]


def _closure(
    connection: apsw.Connection, wanted: Iterable[tuple[int, int]]
) -> set[tuple[int, int]]:
    """Return all that goes with these rows.

    With a fact go the versions it replaced and the L0 rows that were asserted for it alone; with
    any row go the rows above it that would rest on nothing.
    """
    gone: set[tuple[int, int]] = set()
    fresh = set(wanted)
    while fresh:
        gone |= fresh
        reached: set[tuple[int, int]] = set()
        for tier, number in fresh:
            if tier == 1:
                reached.update((1, older) for older in facts.older_versions(connection, number))
        fact_ids = sorted(number for tier, number in gone if tier == 1)
        turn_ids = sorted(
            {source for _, tier, source in source_numbers(connection, 1, fact_ids) if tier == 0}
        )
        asserted = {row.id for row in turns.load(connection, turn_ids) if row.origin == "asserted"}
        users: dict[int, set[tuple[int, int]]] = {}
        for source, tier, number in dependants(connection, 0, sorted(asserted)):
            users.setdefault(source, set()).add((tier, number))
        reached.update((0, turn) for turn in asserted if users.get(turn, set()) <= gone)
        for tier in (0, 1, 2):
            ids = sorted(number for at, number in gone if at == tier)
            for _, above_tier, above in dependants(connection, tier, ids):
                rests_on = {
                    (source_tier, source)
                    for _, source_tier, source in source_numbers(connection, above_tier, [above])
                }
                # A persona version quotes what it rests on, so it goes with any of it.
                if above_tier == 3 or rests_on <= gone:  # noqa: PLR2004
                    reached.add((above_tier, above))
        fresh = reached - gone
    return gone


def _delete(transaction: Transaction, gone: Iterable[tuple[int, int]]) -> None:
    connection = transaction.connection
    connection.execute("PRAGMA secure_delete = ON")
    gone = set(gone)
    by_tier: dict[int, list[int]] = {tier: [] for tier in TABLES}
    for tier, number in sorted(gone):
        by_tier[tier].append(number)
    surviving = {
        above
        for tier, ids in by_tier.items()
        for _, above_tier, above in dependants(connection, tier, ids)
        if above_tier == 1 and (1, above) not in gone
    }
    for tier in sorted(TABLES, reverse=True):
        ids = by_tier[tier]
        if not ids:
            continue
        embeddings.delete(connection, [embeddings.key_of(tier, number) for number in ids])
        delete_links(connection, tier, ids)
        TABLES[tier].delete(connection, ids)
        transaction.change_many("remove", tier, dict.fromkeys(ids))
    if surviving:
        # They rest on what is left; the index shows their sources.
        rows = fact_index_rows(connection, sorted(surviving))
        transaction.change_many("upsert", 1, dict(zip(sorted(surviving), rows, strict=True)))


def remove_rows(transaction: Transaction, wanted: Iterable[tuple[int, int]]) -> None:
    """Remove rows, ``(tier, number)``, and all that goes with them, in a running transaction."""
    _delete(transaction, _closure(transaction.connection, wanted))


def forget(
    database: Database,
    scope: str,
    ids: str | Sequence[str] | None,
    where: Mapping[str, Any] | None,
    *,
    dry_run: bool,
) -> Forgotten:
    """Remove rows by id or by condition, or say what would go.

    Raises:
        InvalidInputError: Neither or both of ``ids`` and ``where``, or an empty condition.
        NotFoundError: An id does not exist in this scope; then nothing is removed.
    """
    if (ids is None) == (where is None):
        raise InvalidInputError("forget: pass either ids or where")
    if where is not None and check_where(where) is None:
        raise InvalidInputError("where: an empty condition would forget everything; name one")
    wanted = (
        None
        if ids is None
        else [parse_id(one, argument="ids") for one in ((ids,) if isinstance(ids, str) else ids)]
    )

    def chosen(connection: apsw.Connection) -> set[tuple[int, int]]:
        if wanted is None:
            found = [(1, number) for number in select_facts(connection, scope, where or {})]
        else:
            for tier, number in wanted:
                require(connection, scope, tier, number)
            found = wanted
        return _closure(connection, found)

    if dry_run:
        with database.read() as connection:
            gone = chosen(connection)
    else:

        def operation(transaction: Transaction) -> set[tuple[int, int]]:
            removed = chosen(transaction.connection)
            if removed:
                _delete(transaction, removed)
            return removed

        gone = database.write(operation)
    counts: dict[str, int] = {}
    for tier, _ in gone:
        counts[f"L{tier}"] = counts.get(f"L{tier}", 0) + 1
    ordered = sorted(gone, key=lambda one: (-one[0], one[1]))
    return Forgotten(tuple(format_id(*one) for one in ordered), dry_run, counts)
