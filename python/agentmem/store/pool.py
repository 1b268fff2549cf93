"""The connections that this process has to one store, and how all of them are closed at once.

SQLite shares one ``-shm`` mapping among the connections of a process. So after the sidecars were
replaced, every connection of the process must be closed before a new one sees the new files.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

import apsw

from agentmem.errors import ClosedError, StoreBusyError
from agentmem.store.connection import Durability, open_reader, open_writer
from agentmem.store.guard import FileGuard
from agentmem.store.hold import LockHold

__all__ = ["ConnectionPool", "SharedFile", "Slot", "shared_file"]

# How long readers may finish what they do before their connection is closed under them.
_DRAIN_S: Final = 5.0
_INTERRUPTED_S: Final = 1.0
_MOMENT_MS: Final = 20


class Slot:
    """One connection outside the writer's, opened at first use and used by one thread at a time."""

    __slots__ = ("__weakref__", "connection", "depth", "opener", "thread")

    def __init__(self, opener: Callable[[], apsw.Connection]) -> None:
        self.opener = opener
        self.connection: apsw.Connection | None = None
        self.depth = 0
        self.thread: weakref.ref[threading.Thread] = weakref.ref(threading.current_thread())

    def is_orphan(self) -> bool:
        """Say whether the thread that owned this slot has ended."""
        thread = self.thread()
        return thread is None or not thread.is_alive()

    def close(self, *, force: bool = False) -> None:
        """Close the connection; the next use opens another."""
        connection, self.connection = self.connection, None
        if connection is not None:
            with suppress(apsw.Error):
                connection.close(force)


class SharedFile:
    """What all handles of this process on one store file have in common."""

    def __init__(self, path: Path) -> None:
        self.guard = FileGuard(path)
        self.hold = LockHold(path)
        self.pools: weakref.WeakSet[ConnectionPool] = weakref.WeakSet()

    @contextmanager
    def drained(self) -> Iterator[None]:
        """Close every connection of this process to the file, and keep new ones out meanwhile.

        Call while holding the write lock. Writers are reopened by whoever writes next.
        """
        with ExitStack() as stack:
            for pool in list(self.pools):
                stack.enter_context(pool.drained())
            self.hold.give_back()
            yield

    def settle(self) -> None:
        """Take the files as they are now for ours. Call with a connection open."""
        self.hold.take()
        self.guard.remember()

    def join(self, pool: ConnectionPool) -> None:
        """Count a pool in, before it opens its first connection."""
        with _shared_lock:
            self.pools.add(pool)

    def leave(self, pool: ConnectionPool) -> None:
        """Forget a pool that was closed; the last one out gives the locks back."""
        with _shared_lock:
            self.pools.discard(pool)
            if not self.pools:
                self.hold.give_back()
                self.guard.forget()


# Reentrant: the collector may close a forgotten handle while this thread holds it.
_shared_lock = threading.RLock()
_shared_files: weakref.WeakValueDictionary[Path, SharedFile] = weakref.WeakValueDictionary()


def shared_file(path: Path) -> SharedFile:
    """Return the one ``SharedFile`` of this process for a resolved path."""
    with _shared_lock:
        found = _shared_files.get(path)
        if found is None:
            found = _shared_files[path] = SharedFile(path)
        return found


def renew_after_fork() -> None:
    """Forget, in a forked child, what the parent had open."""
    global _shared_lock, _shared_files  # noqa: PLW0603
    _shared_lock = threading.RLock()
    _shared_files = weakref.WeakValueDictionary()


class ConnectionPool:
    """A writer, a reader for each thread, and slots for other uses.

    Args:
        path: The store's main file, resolved.
        shared: What the handles of this process on that file share.
        durability: Of the writer.
        timeout_s: How long SQLite waits for its own locks, in seconds.
        read_only: Open nothing for writing.
    """

    def __init__(
        self,
        path: Path,
        shared: SharedFile,
        *,
        durability: Durability,
        timeout_s: float,
        read_only: bool,
    ) -> None:
        self.path = path
        self.shared = shared
        self._durability: Durability = durability
        # SQLite takes an int of 32 bits.
        self._busy_ms = int(min(timeout_s * 1000, 2**31 - 1))
        self._timeout_s = timeout_s
        self._read_only = read_only
        self._condition = threading.Condition()
        self._draining = False
        self._closed = False
        self._slots: list[Slot] = []
        self._local = threading.local()
        self._writer: apsw.Connection | None = None
        self.wal_hook: Callable[[apsw.Connection, str, int], int] | None = None
        shared.join(self)

    # -- the writer: used only while the write lock is held

    def writer(self) -> apsw.Connection:
        """Return the connection for writing. Call while holding the write lock."""
        if self._writer is None:
            self._writer = self.open_writer()
            self._writer.set_wal_hook(self.wal_hook)
        return self._writer

    def drop_writer(self) -> None:
        """Close the write connection; the next write opens another."""
        connection, self._writer = self._writer, None
        if connection is not None:
            with suppress(apsw.Error):
                connection.close(True)

    def open_writer(self) -> apsw.Connection:
        """Return a new connection for writing, outside the pool's care."""
        return open_writer(self.path, durability=self._durability, busy_ms=self._busy_ms)

    @contextmanager
    def impatient(self, connection: apsw.Connection) -> Iterator[None]:
        """Let ``connection`` wait for SQLite's locks only for a moment."""
        connection.set_busy_timeout(_MOMENT_MS)
        try:
            yield
        finally:
            connection.set_busy_timeout(self._busy_ms)

    def open_reader(self) -> apsw.Connection:
        """Return a new connection for reading, outside the pool's care."""
        return open_reader(self.path, busy_ms=self._busy_ms, read_only=self._read_only)

    # -- slots

    def reader(self) -> Slot:
        """Return this thread's slot for reading."""
        slot: Slot | None = getattr(self._local, "slot", None)
        if slot is None:
            slot = self._local.slot = self.new_slot(self.open_reader)
        return slot

    def new_slot(self, opener: Callable[[], apsw.Connection]) -> Slot:
        """Return a slot whose connection is made by ``opener``."""
        slot = Slot(opener)
        with self._condition:
            for orphan in [old for old in self._slots if old.is_orphan()]:
                orphan.close(force=True)
                self._slots.remove(orphan)
            self._slots.append(slot)
        return slot

    def enter(self, slot: Slot) -> apsw.Connection:
        """Take a slot for use; pair each call with ``leave``."""
        if slot.depth and slot.connection is not None:
            slot.depth += 1
            return slot.connection
        with self._condition:
            if self._draining and not self._condition.wait_for(
                lambda: not self._draining, self._timeout_s
            ):
                raise StoreBusyError(f"{self.path} was being reopened for {self._timeout_s:g} s")
            if self._closed:
                raise ClosedError("this memory was closed; open it again")
            slot.depth += 1
        if slot.connection is None:
            try:
                slot.connection = slot.opener()
            except BaseException:
                self.leave(slot)
                raise
        return slot.connection

    def leave(self, slot: Slot) -> None:
        """Give a slot back."""
        if slot.depth > 1:
            slot.depth -= 1
            return
        with self._condition:
            slot.depth = 0
            if self._closed:
                slot.close(force=True)
            if self._draining or self._closed:
                self._condition.notify_all()

    def discard(self, slot: Slot) -> None:
        """Close a slot that is not used again."""
        with self._condition:
            slot.close(force=True)
            with suppress(ValueError):
                self._slots.remove(slot)

    # -- all at once

    @contextmanager
    def drained(self) -> Iterator[None]:
        """Close every connection, waiting for readers but not for ever, and keep new ones out."""
        with self._condition:
            self._draining = True
        try:
            self._close_connections(_DRAIN_S)
            yield
        finally:
            with self._condition:
                self._draining = False
                self._condition.notify_all()

    def close(self, *, wait_s: float) -> None:
        """Close everything; later use raises ClosedError."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()
        self._close_connections(wait_s)
        self.shared.leave(self)

    def _close_connections(self, wait_s: float) -> None:
        own = threading.current_thread()
        with self._condition:
            if not self._wait_idle(own, wait_s):
                for slot in self._busy(own):
                    with suppress(apsw.Error, AttributeError):
                        slot.connection.interrupt()  # type: ignore[union-attr]
                self._wait_idle(own, min(wait_s, _INTERRUPTED_S))
            for slot in self._slots:
                slot.close(force=True)
            if self._closed:
                self._slots.clear()
            self.drop_writer()

    def _wait_idle(self, own: threading.Thread, wait_s: float) -> bool:
        deadline = time.monotonic() + wait_s
        while self._busy(own):
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            self._condition.wait(left)
        return True

    def _busy(self, own: threading.Thread) -> list[Slot]:
        return [slot for slot in self._slots if slot.depth and slot.thread() is not own]

    def leak(self) -> list[apsw.Connection]:
        """Return every open connection, for a forked child that must never close them."""
        found = [slot.connection for slot in self._slots if slot.connection is not None]
        if self._writer is not None:
            found.append(self._writer)
        return found
