"""One handle on the store of a folder: write, read, and what keeps both safe."""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeVar

import apsw

from agentmem.errors import (
    ClosedError,
    CorruptStoreError,
    ForkedError,
    InvalidInputError,
    NotAStoreError,
    ReadOnlyStoreError,
    StoreBusyError,
)
from agentmem.store import fork, opening
from agentmem.store.checkpointer import Checkpointer
from agentmem.store.connection import Durability, check_sqlite_version, translate, translated
from agentmem.store.counter import ChangeCounter
from agentmem.store.folder import COUNTER, LOCK, STORE, protect_files, resolve_folder
from agentmem.store.lock import FileLock
from agentmem.store.migrations import copy_into
from agentmem.store.pool import ConnectionPool, Slot, shared_file
from agentmem.store.query import run_query
from agentmem.store.writer import Change, Transaction, Writer

__all__ = ["Change", "Database", "Transaction"]

T = TypeVar("T")

# close() waits no longer than this for writes and readers that are still at work.
_CLOSE_S: Final = 5.0
# Between two tries to empty a WAL that a reader still needs.
_PAUSE_S: Final = 0.02


class Database:
    """The SQLite file of one folder, safe for many threads and several processes.

    Args:
        folder: Where ``store.amem`` and its companions are, or are to be made.
        durability: ``"full"``: an acknowledged write survives a power cut. ``"normal"``: it
            survives the end of the process, and a power cut loses what was written since the last
            checkpoint.
        timeout_s: How long a write waits for its turn, in seconds.
        read_only: Change nothing, not even the sidecars where the folder is not writable.
        create: Make the folder and the store where there is none.

    Raises:
        NotAStoreError: The folder holds something else, or no store and ``create`` is false.
        CorruptStoreError: The file is damaged. It is left as it is.
        SchemaVersionError: The file is newer than this library. It is left as it is.
        ReadOnlyStoreError: The folder can't be written and ``read_only`` is false.
        StoreBusyError: Another process held the write lock for longer than ``timeout_s``.
        StoreError: The SQLite library is too old to be trusted.
    """

    epoch: str
    """Names the history of this file: made with it, and made anew for each backup of it."""

    counter: ChangeCounter
    """The last committed ``seq`` that any process announced."""

    def __init__(
        self,
        folder: Path,
        *,
        durability: Durability = "full",
        timeout_s: float = 30.0,
        read_only: bool = False,
        create: bool = True,
    ) -> None:
        self._is_open = False
        if durability not in ("full", "normal"):
            raise InvalidInputError(f'durability is {durability!r}; it must be "full" or "normal"')
        if not 0 <= timeout_s <= threading.TIMEOUT_MAX / 4:
            raise InvalidInputError(f"timeout_s is {timeout_s!r}; it must be 0 or more seconds")
        check_sqlite_version()
        self._pid = os.getpid()
        self._timeout_s = timeout_s
        self._read_only = read_only
        self.folder = resolve_folder(Path(folder), create=create and not read_only)
        self.path = self.folder / STORE
        self._close_lock = threading.Lock()
        self._open(durability)
        self._is_open = True
        fork.watch(self)
        _open_databases.add(self)

    def _open(self, durability: Durability) -> None:
        if not self._read_only and not os.access(
            self.folder, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids
        ):
            raise ReadOnlyStoreError(
                f"{self.folder} can't be written; make it writable or open with read_only=True"
            )
        with translated(self.path), contextlib.ExitStack() as undo:
            self.counter = ChangeCounter(self.folder / COUNTER, read_only=self._read_only)
            undo.callback(self.counter.close)
            self._lock: FileLock | None = None
            if not self._read_only:
                self._lock = FileLock(self.folder / LOCK, timeout_s=self._timeout_s)
                undo.callback(self._lock.close)
            self._pool = ConnectionPool(
                self.path,
                shared_file(self.path),
                durability=durability,
                timeout_s=self._timeout_s,
                read_only=self._read_only,
            )
            undo.callback(self._pool.close, wait_s=0)
            if self._lock is None:
                self._open_for_reading()
            else:
                with self._lock:
                    self._open_for_writing(self._lock)
            undo.pop_all()

    def _open_for_reading(self) -> None:
        opening.probe(self.path)
        slot = self._pool.reader()
        connection = self._pool.enter(slot)
        try:
            opening.check_schema(connection)
            self.epoch = opening.read_epoch(connection)
        finally:
            self._pool.leave(slot)
        self._writer: Writer | None = None
        self._checkpointer: Checkpointer | None = None

    def _open_for_writing(self, lock: FileLock) -> None:
        opening.prepare(self.path)
        shared = self._pool.shared
        writer = Writer(self._pool, lock, self.counter, timeout_s=self._timeout_s)
        self._checkpointer = Checkpointer(self._pool, writer)
        self._pool.wal_hook = self._checkpointer.on_commit
        if shared.guard.changed():
            # The first handle of this process, or the files were replaced under an older one.
            with shared.drained():
                connection = self._pool.writer()
                shared.settle()
        connection = self._pool.writer()
        last = opening.last_seq(connection)
        if self.counter.value > last:
            # An older file was put here, or a power cut took commits that others had seen.
            opening.renew_epoch(connection)
        self.counter.reset_to(last)
        self.epoch = opening.read_epoch(connection)
        protect_files(self.folder)
        self._writer = writer

    # -- writing

    def write(self, operation: Callable[[Transaction], T]) -> T:
        """Run ``operation`` in a transaction and return its result once that is on disk.

        Up to 64 waiting operations share one commit, each in its own savepoint: one that raises
        is rolled back alone and its error comes out here. An operation may be run again, so it
        must have no effect outside its transaction, and it must not call ``write``.

        Cost: one sync to disk for each commit.

        Raises:
            StorageFullError: No space; nothing of this operation was kept.
            StoreBusyError: The lock was not had within ``timeout_s``.
            ReadOnlyStoreError: The store was opened for reading only.
        """
        return self._writing().submit(operation)

    @property
    def publish(self) -> Callable[[list[Change]], None] | None:
        """Called once a commit, in commit order, before its writes are acknowledged.

        It runs under the write lock: the changes of every earlier ``seq``, of any process, are
        committed. If it raises, a warning is given and the writes stay acknowledged.
        """
        return None if self._writer is None else self._writer.publish

    @publish.setter
    def publish(self, callback: Callable[[list[Change]], None] | None) -> None:
        self._writing().publish = callback

    @property
    def prepare(self) -> Callable[[list[Change]], None] | None:
        """Called once a commit, before it, with the very list that ``publish`` gets after it.

        What it starts runs while the disk is waited for. The commit may fail; it must not raise.
        """
        return None if self._writer is None else self._writer.prepare

    @prepare.setter
    def prepare(self, callback: Callable[[list[Change]], None] | None) -> None:
        self._writing().prepare = callback

    @property
    def guard_trips(self) -> int:
        """How often another SQLite library took the files away and all was reopened."""
        return 0 if self._writer is None else self._writer.guard_trips

    @property
    def _step(self) -> Callable[[str], None] | None:
        return self._writing().step

    @_step.setter
    def _step(self, callback: Callable[[str], None] | None) -> None:
        self._writing().step = callback

    # -- reading

    def read(self) -> AbstractContextManager[apsw.Connection]:
        """Return a block with this thread's own reader, which sees one snapshot throughout.

        Blocks may be nested; the inner one sees the outer one's snapshot. The connection can't
        write, and must not be used outside the block or on another thread.

        Example:
            >>> with database.read() as connection:
            ...     connection.execute("SELECT count(*) FROM changes").fetchall()
            [(0,)]
        """
        self.check()
        return _Reading(self)

    def sql(
        self, query: str, parameters: Sequence[Any] | Mapping[str, Any] = ()
    ) -> list[tuple[Any, ...]]:
        """Return all rows of one or more reading statements.

        Raises:
            InvalidInputError: The text is no SQL, its parameters do not fit, or it would write.
            StoreBusyError: It took longer than ``timeout_s``.
        """
        self.check()
        self._look_at_files()
        slot = self._pool.new_slot(self._pool.open_reader)
        try:
            with translated(self.path):
                connection = self._pool.enter(slot)
                try:
                    return run_query(connection, query, parameters, timeout_s=self._timeout_s)
                finally:
                    self._pool.leave(slot)
        finally:
            self._pool.discard(slot)

    def _look_at_files(self) -> None:
        if self._writer is not None and self._pool.shared.guard.changed():
            self._writer.heal()

    # -- upkeep

    def checkpoint(self, *, truncate: bool = False) -> None:
        """Copy the WAL into the main file.

        Args:
            truncate: Also empty the WAL, while writers wait.

        Raises:
            StoreBusyError: With ``truncate``, a reader kept the WAL in use for ``timeout_s``.
        """
        writer = self._writing()
        if truncate:
            self._truncate(writer)
            return
        self._look_at_files()
        if self._checkpointer is not None:
            with translated(self.path):
                self._checkpointer.run_now()

    def _truncate(self, writer: Writer) -> None:
        """Empty the WAL. Between tries, while a reader needs it, writers have their turn."""
        deadline = time.monotonic() + self._timeout_s
        while True:
            try:
                writer.exclusive(self._try_truncate, timeout_s=self._timeout_s)
            except StoreBusyError:
                if time.monotonic() >= deadline:
                    raise
                time.sleep(_PAUSE_S)
            else:
                return

    def _try_truncate(self, connection: apsw.Connection) -> None:
        with self._pool.impatient(connection):
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)

    def vacuum(self) -> None:
        """Rewrite the file without free pages and empty the WAL: no removed byte is left.

        Copies that were kept from before a migration are removed too.
        """
        writer = self._writing()
        writer.exclusive(lambda connection: connection.execute("VACUUM"), timeout_s=self._timeout_s)
        self._truncate(writer)
        for old in self.folder.glob(f"{STORE}.v*.backup*"):
            old.unlink()

    def backup(self, target: Path) -> None:
        """Write a consistent copy to the file ``target``, complete or not at all, with mode 0600.

        The copy has an epoch of its own. To restore it, put it into an empty folder as
        ``store.amem`` and open that.

        Raises:
            FileExistsError: ``target`` exists.
        """
        self.check()
        self._look_at_files()
        slot = self._pool.new_slot(self._pool.open_reader)
        try:
            with translated(self.path):
                connection = self._pool.enter(slot)
                try:
                    connection.pragma("query_only", 0)
                    copy_into(connection, Path(target), finish=opening.renew_epoch_of_copy)
                finally:
                    self._pool.leave(slot)
        finally:
            self._pool.discard(slot)

    def integrity(self) -> list[str]:
        """Read the whole file and return what is wrong with it, one sentence each."""
        self.check()
        try:
            with self.read() as connection:
                rows = connection.execute("PRAGMA integrity_check").fetchall()
                found = [str(row[0]) for row in rows if row[0] != "ok"]
                for table, row_id, parent, _ in connection.execute("PRAGMA foreign_key_check"):
                    found.append(f"row {row_id} of {table} refers to a missing row of {parent}")
        except (CorruptStoreError, NotAStoreError) as error:
            return [str(error)]
        return found

    @property
    def is_closed(self) -> bool:
        """Whether ``close`` was called."""
        return not self._is_open

    def close(self) -> None:
        """Close the store, within some seconds at most. Closing it again does nothing.

        In a forked child it does nothing either: what was inherited belongs to the parent.
        """
        if not self._is_open or os.getpid() != self._pid:
            return
        with self._close_lock:
            if not self._is_open:
                return
            self._is_open = False
        _open_databases.discard(self)
        if self._checkpointer is not None:
            self._checkpointer.stop()
        if self._writer is not None:
            with suppress(Exception):
                # Other handles may be at work on the file; then the WAL is theirs to empty.
                self._writer.exclusive(self._try_truncate, timeout_s=_CLOSE_S)
            self._writer.close()
        self._pool.close(wait_s=_CLOSE_S)
        self.counter.close()
        if self._lock is not None:
            self._lock.close()

    def __enter__(self) -> Self:
        self.check()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        with suppress(Exception):
            self.close()

    # -- checks at each entry

    def check(self) -> None:
        """Raise what stands against using this handle now.

        Raises:
            ClosedError: It was closed.
            ForkedError: It was inherited over a fork.
        """
        if os.getpid() != self._pid:
            raise ForkedError(
                f"this handle on {self.folder} was opened by process {self._pid} and inherited "
                f"over a fork; open the memory again in process {os.getpid()}"
            )
        if not self._is_open:
            raise ClosedError("this memory was closed; open it again")

    def _writing(self) -> Writer:
        self.check()
        if self._writer is None:
            raise ReadOnlyStoreError(f"{self.folder} was opened with read_only=True")
        return self._writer

    def forked(self) -> list[apsw.Connection]:
        """Give up, in a forked child, what was inherited; return what must never be closed."""
        if self._lock is not None:
            # Otherwise the child would keep the lock alive after the parent's death.
            self._lock.close()
        self._pool.shared.hold.give_back()
        return self._pool.leak()


class _Reading:
    __slots__ = ("_database", "_slot")

    def __init__(self, database: Database) -> None:
        self._database = database
        self._slot: Slot | None = None

    def __enter__(self) -> apsw.Connection:
        database = self._database
        database.check()
        pool = database._pool  # noqa: SLF001
        slot = self._slot = pool.reader()
        if slot.depth:
            return pool.enter(slot)
        database._look_at_files()  # noqa: SLF001
        try:
            connection = pool.enter(slot)
            try:
                connection.execute("BEGIN")
            except BaseException:
                slot.close(force=True)
                pool.leave(slot)
                raise
        except apsw.Error as error:
            raise translate(error, database.path) from error
        return connection

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        slot = self._slot
        database = self._database
        if slot is None or os.getpid() != database._pid:  # noqa: SLF001
            return
        pool = database._pool  # noqa: SLF001
        if slot.depth == 1 and slot.connection is not None:
            try:
                slot.connection.execute("ROLLBACK")
            except apsw.Error:
                # The next block opens another connection.
                slot.close(force=True)
        pool.leave(slot)
        if isinstance(error, apsw.Error):
            raise translate(error, database.path) from error


_open_databases: weakref.WeakSet[Database] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for database in list(_open_databases):
        with suppress(Exception):
            database.close()
