"""Let old rows go: by age or size, tier by tier, never what a fact rests on."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from agentmem.errors import InvalidInputError, StoreBusyError
from agentmem.models import TIERS, Forgotten, Retention
from agentmem.store import retention, scopes
from agentmem.tiers.forget import forget_rows
from agentmem.tiers.forget_choice import Selector

if TYPE_CHECKING:
    import apsw

    from agentmem.opened import Opened
    from agentmem.store.database import Transaction

__all__ = ["apply_retention", "compact_folder", "policies", "set_retention"]

LARGEST: Final = 1 << 62
FREE_SHARE: Final = 0.05
"""From so many free pages on the file is rewritten."""
DEAD_SHARE: Final = 0.1
SPARE_SHARE: Final = 0.1
"""From so many bytes of the index on that only the generation before needs."""
Row = tuple[int, int]


def set_retention(
    opened: Opened, scope: str, tier: str, *, max_age: timedelta | None, max_bytes: int | None
) -> None:
    """Set how long and how many rows of a tier stay; see ``Memory.set_retention``."""
    if tier not in TIERS:
        raise InvalidInputError(f"tier: {tier!r} is none of {', '.join(TIERS)}")
    if max_age is not None and (not isinstance(max_age, timedelta) or max_age < timedelta(0)):
        raise InvalidInputError(f"max_age: a timedelta of 0 or more is needed, not {max_age!r}")
    is_number = isinstance(max_bytes, int) and not isinstance(max_bytes, bool)
    if max_bytes is not None and (not is_number or not 0 <= max_bytes <= LARGEST):
        raise InvalidInputError(f"max_bytes: 0 or more bytes are needed, not {max_bytes!r}")
    age_ms = None if max_age is None else max_age // timedelta(milliseconds=1)

    def operation(transaction: Transaction) -> None:
        connection = transaction.connection
        retention.set_policy(
            connection, scopes.obtain(connection, scope), TIERS.index(tier),
            max_age_ms=age_ms, max_bytes=max_bytes,
        )  # fmt: skip

    opened.database.write(operation)


def policies(opened: Opened, scope: str) -> tuple[Retention, ...]:
    """Return the policies of a scope and below."""
    with opened.database.read() as connection:
        rows = retention.policies(connection, scope)
    return tuple(
        Retention(
            row.scope,
            TIERS[row.tier],
            None if row.max_age_ms is None else timedelta(milliseconds=row.max_age_ms),
            row.max_bytes,
        )
        for row in rows
    )


def apply_retention(opened: Opened, scope: str, *, dry_run: bool) -> Forgotten:
    """Remove what the policies of a scope and below let go, or say what would go."""
    now_ms = opened.now_ms()
    with opened.database.read() as connection:
        rules = retention.policies(connection, scope)
    if not rules:
        return Forgotten((), dry_run)

    def rows(connection: apsw.Connection, _base: str) -> list[Row]:
        return [one for rule in rules for one in _due(connection, rule, now_ms)]

    gone = forget_rows(opened, scope, Selector("retention", rows), dry_run=dry_run)
    if not dry_run:
        compact_folder(opened, len(gone))
    return gone


def _due(connection: apsw.Connection, rule: retention.Policy, now_ms: int) -> Sequence[Row]:
    held = list(retention.aged(connection, rule.scope, rule.tier, now_ms=now_ms))
    size = sum(row.size for row in held)
    due: list[Row] = []
    for row in held:
        is_old = rule.max_age_ms is not None and row.since_ms < now_ms - rule.max_age_ms
        is_much = rule.max_bytes is not None and size > rule.max_bytes
        if row.may_go and (is_old or is_much):
            due.append((rule.tier, row.id))
            size -= row.size
    return due


def compact_folder(opened: Opened, removed: int = 0) -> None:
    """Give back what removed rows left: free pages, old changes, dead rows of the index.

    The index is made anew when a tenth of its rows was removed since it last was, or where it holds
    much of the generation before.
    """
    opened.index.fold(minimum=1, settle=True)
    published, live = opened.index.native.watermark, opened.index.native.live_len

    def prune(transaction: Transaction) -> int:
        connection = transaction.connection
        retention.prune_changes(connection, published)
        return retention.add_removed(connection, removed)

    dead = opened.database.write(prune)
    with opened.database.read() as connection:
        share = retention.free_share(connection)
    if share > FREE_SHARE:
        opened.database.vacuum()
    if dead > DEAD_SHARE * live or opened.index.spare_share() > SPARE_SHARE:
        opened.index.rebuild()
        opened.database.write(
            lambda transaction: retention.add_removed(transaction.connection, -dead)
        )
    # A reader of another process may hold it up; a later checkpoint empties it then.
    with suppress(StoreBusyError):
        opened.database.checkpoint(truncate=True)
