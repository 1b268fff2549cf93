"""Remove rows everywhere: the only verb that deletes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agentmem.models import Forgotten, format_id
from agentmem.protocols import GivenEmbeddings
from agentmem.store import (
    embeddings,
    facts,
    jobs,
    personas,
    receipts,
    scenes,
    scopes,
    selection,
    skill_withdrawal,
    turns,
)
from agentmem.store.index_rows import fact_index_rows
from agentmem.store.links import delete_links, dependants, source_numbers
from agentmem.store.skills import SKILL_TIER
from agentmem.tiers.forget_choice import Selector, make_selector, select_facts
from agentmem.tiers.steps import abstract_scope

if TYPE_CHECKING:
    import apsw

    from agentmem.opened import Opened
    from agentmem.store.database import Transaction

__all__ = ["forget", "forget_rows", "remove_rows", "select_facts"]

TABLES: Mapping[int, Any] = {0: turns, 1: facts, 2: scenes, 3: personas}
Row = tuple[int, int]
_RETENTION = "retention"
"""A skill outlives what is only old."""


@dataclass(slots=True)
class _Going:
    """What goes, and the scenes that are made again from what is left of them."""

    rows: set[Row] = field(default_factory=set)
    scenes: set[int] = field(default_factory=set)


def _closure(connection: apsw.Connection, wanted: Iterable[Row]) -> _Going:
    """Return all that goes with these rows.

    With a fact go the versions it replaced and the L0 rows that were asserted for it alone; with
    any row go the facts and scenes above it that would rest on nothing, and every persona version
    that rests on one of them or on a scene that is made again: it quotes what it rests on.
    """
    gone: set[Row] = set()
    touched: set[int] = set()
    fresh = set(wanted)
    while fresh:
        gone |= fresh
        reached: set[Row] = set()
        for tier, number in fresh:
            if tier == 1:
                reached.update((1, older) for older in facts.older_versions(connection, number))
        fact_ids = sorted(number for tier, number in gone if tier == 1)
        turn_ids = sorted(
            {source for _, tier, source in source_numbers(connection, 1, fact_ids) if tier == 0}
        )
        asserted = {row.id for row in turns.load(connection, turn_ids) if row.origin == "asserted"}
        users: dict[int, set[Row]] = {}
        for source, tier, number in dependants(connection, 0, sorted(asserted)):
            users.setdefault(source, set()).add((tier, number))
        reached.update((0, turn) for turn in asserted if users.get(turn, set()) <= gone)
        above: set[Row] = set()
        for tier in (0, 1, 2):
            ids = sorted(number for at, number in gone if at == tier)
            above.update((at, number) for _, at, number in dependants(connection, tier, ids))
        for tier in (1, 2):
            ids = sorted(number for at, number in above if at == tier)
            rests_on: dict[int, set[Row]] = {}
            for number, source_tier, source in source_numbers(connection, tier, ids):
                rests_on.setdefault(number, set()).add((source_tier, source))
            reached.update((tier, number) for number, held in rests_on.items() if held <= gone)
        touched |= {number for tier, number in above if tier == 2}  # noqa: PLR2004
        reached.update(one for one in above if one[0] == 3)  # noqa: PLR2004
        reached.update(
            (tier, number)
            for _, tier, number in dependants(connection, 2, sorted(touched))
            if tier == 3  # noqa: PLR2004
        )
        fresh = reached - gone
    return _Going(gone, {number for number in touched if (2, number) not in gone})


def _delete(transaction: Transaction, going: _Going, *, now_ms: int, given: bool) -> None:
    from agentmem.tiers.cluster import rederive_scenes

    connection = transaction.connection
    connection.execute("PRAGMA secure_delete = ON")
    gone = going.rows
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
    if going.scenes:
        numbers = sorted(going.scenes)
        rederive_scenes(transaction, numbers, now_ms=now_ms)
        if given:
            # Nobody would ever make them.
            embeddings.delete(connection, [embeddings.key_of(2, number) for number in numbers])


def remove_rows(transaction: Transaction, wanted: Iterable[Row]) -> None:
    """Remove rows, ``(tier, number)``, and all that goes with them, in a running transaction."""
    going = _closure(transaction.connection, wanted)
    _delete(transaction, going, now_ms=transaction.made_ms, given=False)


def forget(
    opened: Opened,
    scope: str,
    *,
    ids: str | Sequence[str] | None = None,
    where: Mapping[str, Any] | None = None,
    below: str | None = None,
    session: str | None = None,
    source: str | Sequence[str] | None = None,
    query: str | None = None,
    dry_run: bool = False,
) -> Forgotten:
    """Remove what one selector names, or say what would go; see ``Memory.forget``.

    Raises:
        InvalidInputError: None or several selectors are given, or the one given is wrong.
        NotFoundError: An id does not exist in this scope; then nothing is removed.
    """
    selector = make_selector(
        scope, ids=ids, where=where, scope=below, session=session, source=source, query=query
    )
    return forget_rows(opened, scope, selector, dry_run=dry_run)


def forget_rows(opened: Opened, scope: str, selector: Selector, *, dry_run: bool) -> Forgotten:
    """Remove what a selector names with all that goes with it, in one transaction, with a receipt.

    The personas of the scopes that lost rows are written again at once.
    """
    if dry_run:
        with opened.database.read() as connection:
            going = _closure(connection, selector.rows(connection, scope))
            counts = _counts(connection, going, selector)
            if selector.scope is not None:
                sessions = selection.count_sessions(connection, selector.scope)
                counts |= {"sessions": sessions} if sessions else {}
        return _outcome(going, counts, dry_run=True, receipt=None)
    now_ms = opened.now_ms()
    given = isinstance(opened.embedder, GivenEmbeddings)

    def operation(
        transaction: Transaction,
    ) -> tuple[_Going, dict[str, int], int | None, dict[int, str]]:
        connection = transaction.connection
        going = _closure(connection, selector.rows(connection, scope))
        counts = _counts(connection, going, selector)
        paths = selection.scopes_of(connection, sorted(going.rows))
        if going.rows:
            if selector.op != _RETENTION:
                _withdraw_skills(transaction, going, now_ms=now_ms)
            _delete(transaction, going, now_ms=now_ms, given=given)
        if selector.scope is not None:
            gone = selection.drop_scope(connection, selector.scope)
            if gone:
                counts["sessions"] = gone
        if not counts:
            return going, counts, None, {}
        left = {
            number: path
            for number, path in paths.items()
            if selector.scope is None or not scopes.contains(selector.scope, path)
        }
        selection.clear_job_errors(connection, sorted(left))
        for number in sorted(left):
            jobs.request(connection, number, "abstract", now_ms=now_ms)
        receipt = receipts.insert(
            connection, scopes.obtain(connection, scope), selector.op, counts, now_ms=now_ms
        )
        return going, counts, receipt, left

    going, counts, receipt, left = opened.database.write(operation)
    for number, path in left.items():
        _abstract(opened, number, path)
    return _outcome(going, counts, dry_run=False, receipt=receipt)


def _withdraw_skills(transaction: Transaction, going: _Going, *, now_ms: int) -> None:
    changed = skill_withdrawal.withdraw(transaction.connection, _turns(going), now_ms=now_ms)
    transaction.change_many("skill", SKILL_TIER, dict.fromkeys(changed))


def _turns(going: _Going) -> list[int]:
    return sorted(number for tier, number in going.rows if tier == 0)


def _abstract(opened: Opened, scope_id: int, path: str) -> None:
    """Write a scope's persona again; a failure stays as a job, as in ``consolidate``."""
    try:
        abstract_scope(opened, path)
    except Exception as error:  # noqa: BLE001 - what was to be forgotten is forgotten
        shown = f"{type(error).__name__} after something was forgotten"
        opened.database.write(
            lambda transaction: jobs.failed(
                transaction.connection, scope_id, "abstract", error=shown, now_ms=opened.now_ms()
            )
        )


def _counts(connection: apsw.Connection, going: _Going, selector: Selector) -> dict[str, int]:
    counts: dict[str, int] = {}
    for tier, _ in sorted(going.rows):
        counts[f"L{tier}"] = counts.get(f"L{tier}", 0) + 1
    counts |= selection.rows_gone(connection, sorted(going.rows))
    if going.scenes:
        counts["scenes_made_again"] = len(going.scenes)
    if selector.op != _RETENTION and (ids := _turns(going)):
        resting = skill_withdrawal.resting_on(connection, ids)
        counts |= {"skills_withdrawn": len(resting)} if resting else {}
    return counts


def _outcome(
    going: _Going, counts: Mapping[str, int], *, dry_run: bool, receipt: int | None
) -> Forgotten:
    ordered = sorted(going.rows, key=lambda one: (-one[0], one[1]))
    return Forgotten(tuple(format_id(*one) for one in ordered), dry_run, counts, receipt)
