"""Leave no byte of what was forgotten in the folder, and finish that after a crash."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem.models import Purged
from agentmem.store import receipts
from agentmem.store.folder import folder_bytes
from agentmem.tiers.legs import LEGS

if TYPE_CHECKING:
    from agentmem.opened import Opened
    from agentmem.store.database import Transaction

__all__ = ["purge"]


def purge(opened: Opened) -> Purged:
    """Rewrite the store and the index; until it is done a mark in the store says that it is due."""
    before = folder_bytes(opened.path)

    def begin(transaction: Transaction) -> list[int]:
        connection = transaction.connection
        connection.execute("INSERT OR REPLACE INTO meta VALUES (?, '1')", (receipts.PURGE,))
        return receipts.unpurged(connection)

    due = opened.database.write(begin)
    with opened.cache_lock:
        # Canvases and the like are drawn again from what is left.
        for key in [key for key in opened.cache if not key[0].startswith(LEGS)]:
            del opened.cache[key]
    opened.database.vacuum()
    opened.index.rebuild()

    def end(transaction: Transaction) -> None:
        receipts.mark_purged(transaction.connection, due)
        transaction.connection.execute("DELETE FROM meta WHERE key = ?", (receipts.PURGE,))

    opened.database.write(end)
    return Purged(before, folder_bytes(opened.path), tuple(due))
