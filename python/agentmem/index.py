"""Keeps the native search index in step with the store; the one place that makes its arrays.

The index is derived: every state of it is a function of the store's rows up to a seq. It may be
deleted at any time, and whatever is missing, foreign, stale or damaged is rebuilt from the store.
"""

from __future__ import annotations

import math
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from agentmem._native import StoreIndex
from agentmem.errors import EmbedderMismatchError, IndexCorruptError, SearchIndexError
from agentmem.index_ahead import Ahead, last_of_each
from agentmem.index_files import clear, make_folder, publishing, spare_share
from agentmem.store import index_rows, opening, retention

if TYPE_CHECKING:
    import apsw
    import numpy as np
    import numpy.typing as npt

    from agentmem._native import Asked, Hit
    from agentmem.store.database import Change, Database

__all__ = ["SearchIndex"]

# A fold costs tens of milliseconds beside the writers; a tail of this size costs a search little.
FOLD_AT = 1_000
FOLD_AT_REST = 200
IDLE_S = 2.0
# The longest pause between two tries to leave an index at rest whose folds fail.
MAX_REST_PAUSE_S = 60.0
CATCH_UP_BATCH = 2_000
REBUILD_FOLD = 16_384
# As many changes in such a time are a bulk write.
BULK_CHANGES = 500
PAUSE_S = 0.25
# How often to look whether an index has come to the state of the store.
TRIES = 8
# From so many changes on, analysing them takes longer than starting a thread that does it.
PREPARE_AT = 64
# Above this a writer folds before it goes on, so that the tail is bounded.
TAIL_LIMIT = 20_000
JOIN_S = 10.0


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
        # The space of the native index that answers; None while it is replaced.
        self._serving: str | None = space
        # Where the store is being moved to by this process.
        self._moving_to: str | None = None
        self._ann: Literal["auto", "exact", "hnsw"] = ann
        self._lock = threading.RLock()
        self._wake = threading.Event()
        self._closing = threading.Event()
        # A tail that could not be folded is tried again when it has grown to this size.
        self._next_forced_fold = TAIL_LIMIT
        # What was applied when the index was last left at rest.
        self._rested_at = -1
        # How long to wait after a fold at rest that failed, and until when (monotonic seconds).
        self._rest_pause_s = self._rest_after_s = 0.0
        self.rebuilds = 0
        self.last_fold_error: Exception | None = None
        self._ahead = Ahead()
        make_folder(self._folder)
        try:
            self._native = self._open()
        except IndexCorruptError:
            self._native = self._rebuilt()
        else:
            if self._native.applied > self._last_seq():
                # An index newer than the store belongs to another state of it.
                self._native = self._rebuilt()
        self.catch_up()
        self._rested_at = self._native.applied
        # When this process last wrote, in monotonic seconds.
        self._published_s = -math.inf
        database.prepare = self.prepare
        database.publish = self.publish
        # The thread holds no reference between its turns, so a memory that nobody closed can go.
        self._folder_thread = threading.Thread(
            target=_fold_in_background,
            args=(weakref.ref(self), self._wake),
            name="agentmem-fold",
            daemon=True,
        )
        self._folder_thread.start()

    def _open(self) -> StoreIndex:
        return StoreIndex.open(
            str(self._folder),
            epoch=self._epoch(),
            space=self._space,
            ndim=self._ndim,
            ann=self._ann,
        )

    def _epoch(self) -> str:
        # From the file: another process may have renewed it since this one opened the store.
        with self._database.read() as connection:
            return opening.read_epoch(connection)

    def _last_seq(self) -> int:
        with self._database.read() as connection:
            return opening.last_seq(connection)

    @property
    def native(self) -> StoreIndex:
        """The native index with every change of this process, for counts and checks."""
        self._ahead.settle()
        return self._native

    def prepare(self, changes: Sequence[Change]) -> None:
        """Begin to analyse what a commit is about to change; the store calls it before it syncs."""
        if len(changes) >= PREPARE_AT:
            self._ahead.analyse(self._native, changes)

    def publish(self, changes: Sequence[Change]) -> None:
        """Apply what one commit changed, or begin to; the store calls it in commit order."""
        self._published_s = time.monotonic()
        with self._lock:
            self._ahead.settle()
            if changes[0].seq != self._native.applied + 1:
                self.catch_up()
                return
            coming = len(changes)
            if not self._ahead.apply(self._native, changes):
                rows, removed = last_of_each(changes)
                self._native.apply(rows, removed, changes[-1].seq)
                coming = 0
            tail = self._native.tail_len
            self._bound_tail()
        if tail + coming >= FOLD_AT:
            self._wake.set()

    def _bound_tail(self) -> None:
        """Fold a tail that grew too long; where that fails, searches and writes go on."""
        if self._native.tail_len >= self._next_forced_fold:
            self._try_fold(minimum=1, wait=True)

    def _try_fold(self, *, minimum: int, wait: bool, settle: bool = False) -> bool:
        """Fold; False where that failed."""
        try:
            self.fold(minimum=minimum, wait=wait, settle=settle)
        except Exception as error:  # noqa: BLE001
            # A failed fold changes nothing; a later one tries again and stats() shows it.
            self.last_fold_error = error
            self._next_forced_fold = max(TAIL_LIMIT, self._native.tail_len + TAIL_LIMIT)
            return False
        return True

    def catch_up(self) -> None:
        """Apply every committed change that this process has not seen yet.

        Raises:
            EmbedderMismatchError: Another handle moved the store to another embedder.
        """
        with self._lock:
            self._ahead.settle()
            self._pass_pruned()
            while True:
                # Each batch in its own snapshot: a fold never runs inside one.
                with self._database.read() as connection:
                    stored = opening.read_meta(connection, "embedder_id")
                    if stored is not None and stored != self._space:
                        if stored == self._moving_to:
                            return
                        raise EmbedderMismatchError(stored, self._space)
                    if not self._apply_next(connection):
                        break
                self._bound_tail()
        if self._native.tail_len >= FOLD_AT:
            self._wake.set()

    def _apply_next(self, connection: apsw.Connection) -> bool:
        """Apply the next changes of a snapshot; False where there are none."""
        after = self._native.applied
        upserted, removed, last = index_rows.changed_keys(
            connection, after=after, limit=CATCH_UP_BATCH
        )
        if last == after:
            return False
        self._native.apply(index_rows.read_rows(connection, upserted), removed, last)
        return True

    def _pass_pruned(self) -> None:
        """Go on from the published generation, or anew, where old changes are pruned already."""
        with self._database.read() as connection:
            pruned = retention.pruned_through(connection)
        if self._native.applied >= pruned:
            return
        with suppress(IndexCorruptError), publishing(self._folder, wait=True):
            self._native.reload()
        if self._native.applied < pruned:
            self._native = self._rebuilt()

    def _answering(self, space: str) -> StoreIndex:
        """Return the native index if it is of the space, after looking for others' writes.

        Raises:
            EmbedderMismatchError: It is of another space now.
        """
        self._ahead.settle()
        if self._moving_to is None and self._database.counter.value > self._native.applied:
            self.catch_up()
        # It is replaced while the name is None: the same name before and after is its name.
        before = self._serving
        native = self._native
        if before != space or self._serving != space:
            raise EmbedderMismatchError(self._space, space)
        return native

    def search(
        self,
        text: str,
        vector: npt.NDArray[np.float32] | None,
        asked: Asked,
        now_ms: int,
        *,
        space: str,
        share: float = 1.0,
    ) -> list[Hit]:
        """Return the hits of one query, whose vector is of a space.

        Raises:
            EmbedderMismatchError: The index is of another space now.
        """
        try:
            return self._answering(space).search(text, vector, asked, now_ms, share)
        except IndexCorruptError:
            self.rebuild()
            return self._answering(space).search(text, vector, asked, now_ms, share)

    def search_many(
        self,
        texts: Sequence[str],
        vectors: Sequence[npt.NDArray[np.float32]],
        asked: Asked,
        now_ms: int,
        *,
        space: str,
        shares: Sequence[float] | None = None,
    ) -> Sequence[list[Hit]]:
        """Return the hits of several queries, each with its vector, in one call.

        Raises:
            EmbedderMismatchError: The index is of another space now.
        """
        if not texts:
            return []
        import numpy as np

        matrix = np.stack(vectors)
        try:
            return self._answering(space).search_many(texts, matrix, asked, now_ms, shares)
        except IndexCorruptError:
            self.rebuild()
            return self._answering(space).search_many(texts, matrix, asked, now_ms, shares)

    def fold(self, *, minimum: int = 1, wait: bool = True, settle: bool = False) -> bool:
        """Turn the tail into a published segment; False when another process is at it.

        With ``settle`` the segments are joined to few, which is work for when nothing else goes on.
        A search or a write is never blocked: only publications exclude one another. Where the
        published files are missing or damaged the index is made anew from the store.

        Raises:
            OSError: No space, or the folder can't be written; the index is as before.
            SearchIndexError: The same, met by the search engine.
        """
        self._database.check()
        self._ahead.settle()
        try:
            with publishing(self._folder, wait=wait) as held:
                if not held:
                    return False
                self._native.reload()
                is_published = self._native.fold(minimum=minimum, settle=settle)
        except IndexCorruptError:
            self.rebuild()
            return True
        self.last_fold_error = None
        self._next_forced_fold = TAIL_LIMIT
        return is_published

    def spare_share(self) -> float:
        """Return which share of the folder's bytes the published segments do not need.

        The generation before is kept for handles that are just opening it.
        """
        return spare_share(self._folder)

    def check_files(self) -> None:
        """Read the published generation again, another process's too, and compare all of it.

        Raises:
            IndexCorruptError: A file is missing, damaged or foreign.
        """
        with ExitStack() as stack:
            # In a folder that can't be written nobody publishes.
            with suppress(OSError):
                stack.enter_context(publishing(self._folder, wait=True))
            try:
                self._native.reload()
            except IndexCorruptError:
                with self._database.read() as connection:
                    if index_rows.all_keys(connection):
                        raise
            else:
                self._native.verify()
                return
        # Another handle made the index of an empty store anew, which leaves no files.
        self.rebuild()

    def differences(self) -> tuple[set[int], set[int]]:
        """Return the keys that the index lacks, and those that it has beyond the store's.

        The index and the rows are of one state: the index is caught up within the snapshot that it
        is held against, and neither a write of this process nor a generation of any other one
        reaches it meanwhile.

        Raises:
            EmbedderMismatchError: Another handle moved the store to another embedder.
        """
        tries = TRIES
        while True:
            with self._lock, ExitStack() as stack:
                # Before the snapshot: it may fold, or go on from a published generation.
                self.catch_up()
                # In a folder that can't be written nobody publishes.
                with suppress(OSError):
                    stack.enter_context(publishing(self._folder, wait=True))
                connection = stack.enter_context(self._database.read())
                last = opening.last_seq(connection)
                while self._apply_next(connection):
                    pass
                tries -= 1
                if self._native.applied >= last or tries == 0:
                    stored = set(index_rows.all_keys(connection))
                    indexed = set(self._native.keys().tolist())
                    return stored - indexed, indexed - stored
            # It is being replaced, or others pruned changes in between; else the log has a gap.
            time.sleep(PAUSE_S)

    def fold_when_due(self, *, woken: bool) -> bool:
        """Do the background thread's work of one turn; False when there will be none any more."""
        if self._closing.is_set() or self._database.is_closed:
            return False
        self._ahead.settle()
        if not woken:
            if time.monotonic() >= self._rest_after_s:
                self._rest()
        elif self._is_in_bulk():
            self._wake.set()
        elif self._native.tail_len >= FOLD_AT and not self._closing.is_set():
            self._try_fold(minimum=FOLD_AT, wait=False)
        return not self._closing.is_set()

    def _rest(self) -> None:
        """Leave few segments, and a small tail to be replayed: cheaper than one more segment."""
        applied = self._native.applied
        if applied != self._rested_at:
            if self._try_fold(minimum=FOLD_AT_REST, wait=False, settle=True):
                self._rested_at = applied
                self._rest_pause_s = 0.0
            else:
                self._rest_pause_s = min(max(2 * self._rest_pause_s, IDLE_S), MAX_REST_PAUSE_S)
                self._rest_after_s = time.monotonic() + self._rest_pause_s

    def _is_in_bulk(self) -> bool:
        """Whether so much is being written that a later, larger segment is the better one."""
        if time.monotonic() - self._published_s > PAUSE_S:
            # What was caught up with at an opening was written before.
            return False
        before = self._native.applied
        if self._closing.wait(PAUSE_S):
            return False
        return (
            self._native.applied - before >= BULK_CHANGES and self._native.tail_len < REBUILD_FOLD
        )

    def _rebuilt(self) -> StoreIndex:
        """Return a new native index made from the store alone; the former files are deleted.

        Where there is no space for its files it is held in memory, and a later fold writes it.
        """
        self.rebuilds += 1
        with self._database.read() as connection:
            stored = opening.read_meta(connection, "embedder_id")
        if stored is not None and stored != self._space:
            raise EmbedderMismatchError(stored, self._space)
        with publishing(self._folder, wait=True):
            clear(self._folder)
            native = self._open()
            can_fold = True
            with self._database.read() as connection:
                last = opening.last_seq(connection)
                for keys in index_rows.batches(index_rows.all_keys(connection), CATCH_UP_BATCH):
                    # Before the piece: the last fold, which is to say how far it got, needs a tail.
                    if can_fold and native.tail_len >= REBUILD_FOLD:
                        can_fold = self._fold_rebuilt(native)
                    # Seq 0 until all rows are in: a crash here replays every change.
                    native.apply(index_rows.read_rows(connection, keys), [], 0)
                native.apply([], [], last)
            if can_fold:
                self._fold_rebuilt(native)
        return native

    def _fold_rebuilt(self, native: StoreIndex) -> bool:
        try:
            native.fold()
        except (OSError, SearchIndexError) as error:
            self.last_fold_error = error
            return False
        self.last_fold_error = None
        return True

    def rebuild(self) -> None:
        """Make the index anew from the store. No row is lost: the store is only read."""
        # Before the lock, which a thread that does not exist in a forked child may hold.
        self._database.check()
        with self._lock:
            self._native = self._rebuilt()
            self.catch_up()

    @contextmanager
    def moving(self, space: str) -> Iterator[None]:
        """Within it the store may go over to a space by this process's hand.

        Searches go on in the old index; what is written meanwhile is applied by ``move``.
        """
        self._moving_to = space
        try:
            yield
        finally:
            self._moving_to = None

    def move(self, *, space: str, ndim: int) -> None:
        """Make the index anew for vectors of another embedder, which are in the store already.

        Searches of the old space are answered from the old index until the new one stands.
        """
        self._database.check()
        with self._lock:
            former = self._space, self._ndim
            self._space, self._ndim = space, ndim
            try:
                native = self._rebuilt()
            except BaseException:
                # The old index stays of its own space, and the next look at the store says so.
                self._space, self._ndim = former
                raise
            self._serving = None
            self._native = native
            self._serving = space
            self.catch_up()

    def close(self) -> None:
        """Stop the background work; a tail worth a segment is folded first."""
        self._closing.set()
        self._wake.set()
        self._ahead.close()
        self._folder_thread.join(timeout=JOIN_S)
        if not self._folder_thread.is_alive():
            self._rest()


def _fold_in_background(index_ref: weakref.ref[SearchIndex], wake: threading.Event) -> None:
    while True:
        woken = wake.wait(IDLE_S)
        wake.clear()
        index = index_ref()
        if index is None or not index.fold_when_due(woken=woken):
            return
        del index
