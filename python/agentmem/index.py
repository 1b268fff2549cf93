"""Keeps the native search index in step with the store; the one place that makes its arrays.

The index is derived: every state of it is a function of the store's rows up to a seq. It may be
deleted at any time, and whatever is missing, foreign, stale or damaged is rebuilt from the store.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from agentmem._native import StoreIndex
from agentmem.errors import IndexCorruptError
from agentmem.store import index_rows

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from agentmem.store.database import Change, Database

__all__ = ["SearchIndex"]

# A fold costs tens of milliseconds beside the writers; a tail of this size costs a search little.
FOLD_AT = 1_000
# At close and when idle a small tail is left to be replayed: that is cheaper than one more segment.
FOLD_AT_REST = 200
IDLE_S = 2.0
CATCH_UP_BATCH = 2_000
REBUILD_FOLD = 16_384
# Above this a writer folds before it goes on, so that the tail is bounded.
TAIL_LIMIT = 20_000
# Held over reload and fold together; the native index takes its own `LOCK` for a publication.
OUR_LOCK = "LOCK.process"


class SearchIndex:
    """The native index of one store, folded in the background."""

    def __init__(
        self,
        database: Database,
        folder: Path,
        *,
        space: str,
        ndim: int,
        ann: Literal["auto", "exact", "hnsw"] = "auto",
    ) -> None:
        self._database = database
        self._folder = folder
        self._space = space
        self._ndim = ndim
        self._ann: Literal["auto", "exact", "hnsw"] = ann
        self._lock = threading.RLock()
        self._wake = threading.Event()
        self._closed = False
        self.rebuilds = 0
        folder.mkdir(mode=0o700, exist_ok=True)
        try:
            self._native = self._open()
        except IndexCorruptError:
            self._native = self._rebuilt()
        else:
            if self._native.applied > self._last_seq():
                # An index newer than the store belongs to another state of it.
                self._native = self._rebuilt()
        self.catch_up()
        database.publish = self.publish
        self._folder_thread = threading.Thread(
            target=self._fold_in_background, name="agentmem-fold", daemon=True
        )
        self._folder_thread.start()

    def _open(self) -> StoreIndex:
        return StoreIndex.open(
            str(self._folder),
            epoch=self._database.epoch,
            space=self._space,
            ndim=self._ndim,
            ann=self._ann,
        )

    def _last_seq(self) -> int:
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT seq FROM sqlite_sequence WHERE name = 'changes'"
            ).fetchone()
        return 0 if row is None else int(row[0])

    @property
    def native(self) -> StoreIndex:
        """The native index, for counts and checks."""
        return self._native

    def publish(self, changes: Sequence[Change]) -> None:
        """Apply what one commit changed; the store calls it in commit order."""
        with self._lock:
            if changes[0].seq != self._native.applied + 1:
                self.catch_up()
                return
            rows: dict[int, index_rows.IndexRow] = {}
            removed: dict[int, None] = {}
            for change in changes:
                key = change.tier << 56 | change.id
                if change.op == "remove":
                    rows.pop(key, None)
                    removed[key] = None
                elif change.payload is not None:
                    rows.pop(key, None)
                    rows[key] = change.payload
            self._native.apply(list(rows.values()), list(removed), changes[-1].seq)
            tail = self._native.tail_len
        if tail >= FOLD_AT:
            self._wake.set()
        if tail >= TAIL_LIMIT:
            self.fold()

    def catch_up(self) -> None:
        """Apply every committed change that this process has not seen yet."""
        with self._lock, self._database.read() as connection:
            while True:
                after = self._native.applied
                upserted, removed, last = index_rows.changed_keys(
                    connection, after=after, limit=CATCH_UP_BATCH
                )
                if last == after:
                    break
                rows = index_rows.read_rows(connection, upserted)
                self._native.apply(rows, removed, last)
                if self._native.tail_len >= TAIL_LIMIT:
                    self.fold()
        if self._native.tail_len >= FOLD_AT:
            self._wake.set()

    def search(
        self, text: str, vector: npt.NDArray[np.float32] | None, **asked: Any
    ) -> list[tuple[Any, ...]]:
        """Return the native hits of one query, after looking for other processes' writes."""
        if self._database.counter.value > self._native.applied:
            self.catch_up()
        try:
            return self._native.search(text, vector, **asked)
        except IndexCorruptError:
            self.rebuild()
            return self._native.search(text, vector, **asked)

    def search_many(
        self, texts: Sequence[str], vectors: Sequence[npt.NDArray[np.float32]], **asked: Any
    ) -> Sequence[list[tuple[Any, ...]]]:
        """Return the native hits of several queries, each with its vector, in one call."""
        if not texts:
            return []
        import numpy as np

        matrix = np.stack(vectors)
        if self._database.counter.value > self._native.applied:
            self.catch_up()
        try:
            return self._native.search_many(texts, matrix, **asked)
        except IndexCorruptError:
            self.rebuild()
            return self._native.search_many(texts, matrix, **asked)

    @contextmanager
    def _publishing(self, *, wait: bool) -> Iterator[bool]:
        """Hold the lock under which a process publishes a generation; the kernel frees it."""
        descriptor = os.open(
            self._folder / OUR_LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
        )
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                yield False
                return
            yield True
        finally:
            os.close(descriptor)

    def fold(self, *, minimum: int = 1, wait: bool = True) -> bool:
        """Turn the tail into a published segment; False when another process is at it.

        A search or a write is never blocked: only publications exclude one another.
        """
        with self._publishing(wait=wait) as held:
            if not held:
                return False
            self._native.reload()
            return self._native.fold(minimum=minimum)

    def _fold_in_background(self) -> None:
        while not self._closed:
            woken = self._wake.wait(IDLE_S)
            self._wake.clear()
            if self._closed:
                return
            minimum = FOLD_AT if woken else FOLD_AT_REST
            if self._native.tail_len < minimum:
                continue
            try:
                self.fold(minimum=minimum, wait=False)
            except Exception as error:  # noqa: BLE001
                # A failed fold changes nothing; the next one tries again and stats() shows it.
                self.last_fold_error = error

    last_fold_error: Exception | None = None

    def _rebuilt(self) -> StoreIndex:
        """Return a new native index made from the store alone; the former files are deleted."""
        self.rebuilds += 1
        with self._publishing(wait=True):
            for entry in self._folder.iterdir():
                if entry.name in (OUR_LOCK, "LOCK"):
                    continue
                if entry.is_dir() and not entry.is_symlink():
                    shutil.rmtree(entry, ignore_errors=True)
                else:
                    entry.unlink(missing_ok=True)
            native = self._open()
            with self._database.read() as connection:
                row = connection.execute(
                    "SELECT seq FROM sqlite_sequence WHERE name = 'changes'"
                ).fetchone()
                last = 0 if row is None else int(row[0])
                for keys in index_rows.batches(index_rows.all_keys(connection), CATCH_UP_BATCH):
                    # Seq 0 until all rows are in: a crash here replays every change.
                    native.apply(index_rows.read_rows(connection, keys), [], 0)
                    if native.tail_len >= REBUILD_FOLD:
                        native.fold()
                native.apply([], [], last)
            native.fold()
        return native

    def rebuild(self) -> None:
        """Make the index anew from the store. No row is lost: the store is only read."""
        with self._lock:
            self._native = self._rebuilt()
            self.catch_up()

    def move(self, *, space: str, ndim: int) -> None:
        """Make the index anew for vectors of another embedder, which are in the store already."""
        with self._lock:
            self._space, self._ndim = space, ndim
            self.rebuild()

    def close(self) -> None:
        """Stop the background work; a tail worth a segment is folded first."""
        self._closed = True
        self._wake.set()
        self._folder_thread.join(timeout=10)
        if self._native.tail_len >= FOLD_AT_REST:
            self.fold(wait=False)
