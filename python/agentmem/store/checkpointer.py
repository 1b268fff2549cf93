"""Copies the WAL back into the main file, in the background and never inside a commit."""

from __future__ import annotations

import threading
import weakref
from contextlib import suppress
from typing import Final

import apsw

from agentmem.errors import AgentMemError
from agentmem.store.pool import ConnectionPool
from agentmem.store.writer import Writer

__all__ = ["Checkpointer"]

# 4,000 pages are 16 MB: some 700 small commits share the two syncs of a checkpoint.
_PAGES: Final = 4_000
_PAGES_MORE: Final = 1_000
# A longer WAL grows faster than it is copied: now the writers wait, and it stays below 64 MB.
_PAGES_UNLOCKED: Final = 8_000
# While readers keep the WAL from being reused, look again this often.
_RETRY_S: Final = 0.25
_LOCK_TIMEOUT_S: Final = 1.0
_JOIN_S: Final = 2.0


class Checkpointer:
    """A daemon thread with a connection of its own, started by the first long WAL.

    A passive checkpoint runs beside the writers. What they added meanwhile is copied in a second,
    short one while they wait, because only a WAL copied whole is written again from its start.

    Args:
        pool: Where the connections come from.
        writer: Whose lock is held for the second, short part.
    """

    def __init__(self, pool: ConnectionPool, writer: Writer) -> None:
        self._pool = pool
        self._writer = weakref.ref(writer)
        self._slot = pool.new_slot(pool.open_writer)
        self._due_pages = _PAGES
        self._pages = 0
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._start_lock = threading.Lock()
        self.runs = 0
        self.last_error: str | None = None

    def on_commit(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        """Note the WAL's length after a commit; the hook of every write connection."""
        self._pages = pages
        if pages <= _PAGES:
            self._due_pages = _PAGES
        elif pages > self._due_pages:
            # A reader can keep a copied WAL from being reused: not each commit is another run.
            self._due_pages = pages + _PAGES_MORE
            self._wake.set()
            self._start()
        return apsw.SQLITE_OK

    def _start(self) -> None:
        with self._start_lock:
            if self._thread is None and not self._stop.is_set():
                self._thread = threading.Thread(
                    target=self._run, name="agentmem-checkpoint", daemon=True
                )
                self._slot.thread = weakref.ref(self._thread)
                self._thread.start()

    def _run(self) -> None:
        while not self._stop.is_set():
            self._wake.wait()
            self._wake.clear()
            while not self._stop.is_set() and not self._once():
                self._stop.wait(_RETRY_S)

    def _once(self) -> bool:
        """Checkpoint, and say whether the next commit can write the WAL from its start again."""
        writer = self._writer()
        if writer is None:
            return True
        try:
            if self._pages <= _PAGES_UNLOCKED:
                self._passive()
            pages, copied = writer.exclusive(lambda _: self._passive(), timeout_s=_LOCK_TIMEOUT_S)
        except (AgentMemError, apsw.Error, OSError) as error:
            self.last_error = str(error)
            return False
        self.runs += 1
        self.last_error = None
        return copied >= pages

    def _passive(self) -> tuple[int, int]:
        if self._pool.shared.guard.changed():
            # Pages of a WAL without a name must never be copied into the file.
            raise apsw.AbortError("the store's files were replaced")
        connection = self._pool.enter(self._slot)
        try:
            return connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        finally:
            self._pool.leave(self._slot)

    def run_now(self) -> tuple[int, int]:
        """Run one passive checkpoint on the caller's thread.

        Returns:
            Pages in the WAL, and how many of them are in the main file now.
        """
        slot = self._pool.new_slot(self._pool.open_writer)
        try:
            connection = self._pool.enter(slot)
            try:
                return connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            finally:
                self._pool.leave(slot)
        finally:
            self._pool.discard(slot)

    def stop(self) -> None:
        """End the thread, waiting at most two seconds for it."""
        self._stop.set()
        self._wake.set()
        with self._start_lock:
            thread, self._thread = self._thread, None
        if thread is not None and thread is not threading.current_thread():
            with suppress(RuntimeError):
                thread.join(_JOIN_S)
