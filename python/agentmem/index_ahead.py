"""What a commit is about to change, made ready for the index while the disk is waited for."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentmem._native import PreparedRows, StoreIndex
    from agentmem.store.database import Change
    from agentmem.store.index_rows import IndexRow

__all__ = ["Ahead", "last_of_each"]


def last_of_each(changes: Sequence[Change]) -> tuple[list[IndexRow], list[int]]:
    """Return the rows that changes leave, and the keys of those that they removed."""
    rows: dict[int, IndexRow] = {}
    removed: dict[int, None] = {}
    for change in changes:
        key = change.tier << 56 | change.id
        if change.op == "remove":
            rows.pop(key, None)
            removed[key] = None
        elif change.payload is not None:
            rows.pop(key, None)
            rows[key] = change.payload
    return list(rows.values()), list(removed)


class Ahead(threading.Thread):
    """The changes of one commit on their way into a native index, analysed beside the sync."""

    def __init__(self, native: StoreIndex, changes: Sequence[Change]) -> None:
        super().__init__(name="agentmem-prepare", daemon=True)
        self.native = native
        self.changes = changes
        self._made: tuple[PreparedRows, list[int]] | None = None

    def run(self) -> None:
        """Analyse the rows."""
        # What is wrong with a row comes out of `apply`.
        with suppress(Exception):
            rows, removed = last_of_each(self.changes)
            self._made = self.native.prepare(rows), removed

    def wait(self) -> tuple[PreparedRows, list[int]] | None:
        """Return the rows and the removed keys, None where that failed."""
        self.join()
        return self._made
