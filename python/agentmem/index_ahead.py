"""A large commit on its way into the index: analysed beside its sync, applied beside the writer."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

    from agentmem._native import PreparedRows, StoreIndex
    from agentmem.store.database import Change
    from agentmem.store.index_rows import IndexRow

__all__ = ["Ahead", "last_of_each"]

Analysed = tuple["PreparedRows", list[int]]


def last_of_each(changes: Sequence[Change]) -> tuple[list[IndexRow], list[int]]:
    """Return the rows that changes leave, and the keys of those that they removed."""
    rows: dict[int, IndexRow] = {}
    removed: dict[int, None] = {}
    for _, op, tier, number, payload in changes:
        key = tier << 56 | number
        if op == "remove":
            rows.pop(key, None)
            removed[key] = None
        elif payload is not None:
            rows.pop(key, None)
            rows[key] = payload
    return list(rows.values()), list(removed)


class Begun(NamedTuple):
    """A commit that is being analysed for an index."""

    native: StoreIndex
    changes: Sequence[Change]
    analysed: Future[Analysed]


class Ahead:
    """Analyses and applies commits on one thread of its own, in their order.

    The index lags behind by the commit that was handed over last: whoever reads the index, or
    writes to it by other ways, calls ``settle`` before.
    """

    def __init__(self) -> None:
        # Its thread begins with the first large commit, and ends when nobody holds this any more.
        self._worker: ThreadPoolExecutor | None = None
        self._begun: Begun | None = None
        self._applied: Future[None] | None = None

    def analyse(self, native: StoreIndex, changes: Sequence[Change]) -> None:
        """Begin to analyse what a commit is about to change; it may still fail."""
        # Without a thread, as when the interpreter ends, `apply` says that it was not done.
        with suppress(RuntimeError):
            if self._worker is None:
                # Imported here: the module costs more than an opening has to spare.
                from concurrent.futures import ThreadPoolExecutor

                self._worker = ThreadPoolExecutor(1, thread_name_prefix="agentmem-index")
            self._begun = Begun(native, changes, self._worker.submit(_analyse, native, changes))

    def apply(self, native: StoreIndex, changes: Sequence[Change]) -> bool:
        """Begin to apply a commit to the index it was analysed for; False where it was not.

        Where that fails the index stays behind the store, and whoever looks catches up.
        """
        begun, self._begun = self._begun, None
        if begun is None or begun.changes is not changes or begun.native is not native:
            return False
        if self._worker is not None:
            with suppress(RuntimeError):
                seq = changes[-1].seq
                self._applied = self._worker.submit(_apply, native, begun.analysed, seq)
                return True
        return False

    def settle(self) -> None:
        """Wait until what was handed over is in the index."""
        applied = self._applied
        if applied is not None and not applied.done():
            # What it raised is of no account here: the index is behind, and that shows.
            applied.exception()

    def close(self) -> None:
        """Settle, and end the thread."""
        if self._worker is not None:
            self._worker.shutdown()


def _analyse(native: StoreIndex, changes: Sequence[Change]) -> Analysed:
    rows, removed = last_of_each(changes)
    return native.prepare(rows), removed


def _apply(native: StoreIndex, analysed: Future[Analysed], seq: int) -> None:
    rows, removed = analysed.result()
    native.apply(rows, removed, seq)
