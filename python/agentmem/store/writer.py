"""Group commit without a writer thread: whoever gets the mutex commits for all who wait.

A hand-off to another thread costs tens of microseconds, and some 5 ms of interpreter lock each
way beside one busy pure-Python thread. Here a lone caller commits on its own thread; callers that
arrive during a commit are committed together by the first of them.
"""

from __future__ import annotations

import copy
import os
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import count, repeat
from typing import Any, Final, NamedTuple, TypeVar

import apsw

from agentmem.errors import ClosedError, StoreBusyError, StoreError
from agentmem.store.bulk import insert_rows
from agentmem.store.commit_queue import CommitQueue, Request
from agentmem.store.connection import is_damaging, translate, translated
from agentmem.store.counter import ChangeCounter
from agentmem.store.guard import StoreWarning
from agentmem.store.lock import FileLock
from agentmem.store.pool import ConnectionPool

__all__ = ["Change", "Transaction", "Writer"]

T = TypeVar("T")

# Each try needs another foreign close between two of our own steps; eight in a row are no accident.
_MAX_TRIES: Final = 8

_HEAL_S: Final = 1.0

_INSERT_CHANGES: Final = "INSERT INTO changes (op, tier, row_id, made_ms)"
_INSERT_CHANGE: Final = f"{_INSERT_CHANGES} VALUES (?, ?, ?, ?)"
_LAST_CHANGE: Final = "SELECT seq FROM sqlite_sequence WHERE name = 'changes'"
_SELECT_CHANGE: Final = "SELECT op, tier, row_id, made_ms FROM changes WHERE seq = ?"
_SAVE_WITNESS: Final = "INSERT OR REPLACE INTO meta (key, value) VALUES ('commit_witness', ?)"
_READ_WITNESS: Final = "SELECT value FROM meta WHERE key = 'commit_witness'"


class Change(NamedTuple):
    """One row of the ``changes`` log, with what the index needs to apply it.

    ``seq`` rises by one with each change that is committed, over all processes.
    """

    seq: int
    op: str
    tier: int
    id: int
    payload: Any


class Transaction:
    """What an operation gets: the write connection, inside its own savepoint."""

    __slots__ = ("_changes", "_made_ms", "connection")

    def __init__(self, connection: apsw.Connection, made_ms: int) -> None:
        self.connection = connection
        self._made_ms = made_ms
        self._changes: list[Change] = []

    @property
    def made_ms(self) -> int:
        """The time of the transaction, in Unix milliseconds by the system's clock."""
        return self._made_ms

    def change(self, op: str, tier: int, id: int, payload: Any = None) -> int:
        """Log a change of one row in the same transaction, and return its ``seq``.

        Args:
            op: What was done, in one word.
            tier: The row's tier, 0 to 3, or another number the table modules agree on.
            id: The row's number in its table.
            payload: Handed to ``publish`` as it is; not stored.
        """
        connection = self.connection
        connection.execute(_INSERT_CHANGE, (op, tier, id, self._made_ms))
        seq = connection.last_insert_rowid()
        self._changes.append(Change(seq, op, tier, id, payload))
        return seq

    def change_many(self, op: str, tier: int, payloads: Mapping[int, Any]) -> None:
        """Log the same change of several rows, in the order of ``payloads``.

        Args:
            op: What was done, in one word.
            tier: The rows' tier.
            payloads: What ``publish`` gets for each row, by the row's number.
        """
        if not payloads:
            return
        connection = self.connection
        row = connection.execute(_LAST_CHANGE).fetchone()
        first = 1 if row is None else row[0] + 1
        made_ms = self._made_ms
        insert_rows(connection, _INSERT_CHANGES, [(op, tier, id, made_ms) for id in payloads])
        fields = zip(count(first), repeat(op), repeat(tier), payloads, payloads.values())
        # Without the frame of `_make` for each.
        self._changes += map(tuple.__new__, repeat(Change), fields)


class Writer:
    """Runs operations, many to a commit, and acknowledges them when they are on disk.

    Args:
        pool: Where the write connection comes from.
        lock: Held around each transaction, against other processes and handles.
        counter: Raised after each commit, before the acknowledgement.
        timeout_s: How long one write waits for its turn, in seconds.
    """

    def __init__(
        self, pool: ConnectionPool, lock: FileLock, counter: ChangeCounter, *, timeout_s: float
    ) -> None:
        self._pool = pool
        self._guard = pool.shared.guard
        self._lock = lock
        self._counter = counter
        self._timeout_s = timeout_s
        self._queue = CommitQueue(self._commit_batch, timeout_s=timeout_s)
        self._has_warned = False
        self._is_closed = False
        self._is_in_doubt = False
        self.prepare: Callable[[list[Change]], None] | None = None
        self.publish: Callable[[list[Change]], None] | None = None
        self.step: Callable[[str], None] | None = None
        self.guard_trips = 0

    def submit(self, operation: Callable[[Transaction], T]) -> T:
        """Run ``operation`` in the next commit and return its result once that is on disk."""
        return self._queue.submit(operation)

    def _commit_batch(self, batch: list[Request[Any]]) -> None:
        self._is_in_doubt = False
        try:
            if self._is_closed:
                raise ClosedError("this memory was closed; open it again")
            self._lock.acquire()
            try:
                self._commit(batch)
            finally:
                self._lock.release()
        except Exception as error:  # noqa: BLE001 - each caller gets it
            if is_damaging(error):
                self._pool.drop_writer()
            for request in batch:
                request.error = self._for_caller(error)
                request.is_settled = True
        except BaseException:
            # The leader was interrupted: what was rolled back is left for the next one.
            if self._is_in_doubt:
                for request in batch:
                    request.error = StoreError(
                        "the thread that committed this write was interrupted; "
                        "whether it was kept is unknown, look before writing it again"
                    )
                    request.is_settled = True
            raise
        finally:
            for request in batch:
                if request.is_settled:
                    request.finish()

    def _for_caller(self, error: Exception) -> Exception:
        """Return what a caller gets for ``error``; each caller of a batch gets its own."""
        if isinstance(error, apsw.Error):
            typed: Exception = translate(error, self._pool.path)
        elif isinstance(error, (StoreError, ClosedError)):
            typed = copy.copy(error)
        else:
            return error
        typed.__cause__ = error
        return typed

    def _commit(self, batch: list[Request[Any]]) -> None:
        self._step("locked")
        for _ in range(_MAX_TRIES):
            try:
                changes, witness = self._run(self._pool.writer(), batch)
            except Exception:
                # What was read from files without a name proves nothing.
                if not self._guard.changed():
                    raise
                self._reopen()
                continue
            self._step("committed")
            if not self._guard.changed():
                break
            self._reopen()
            if self._is_kept(self._pool.writer(), changes, witness):
                break
        else:
            raise StoreError(
                f"{self._pool.path} was replaced during each of {_MAX_TRIES} tries to write it; "
                "close whatever else opens it in this process, and read it with sql() instead"
            )
        self._is_in_doubt = False
        for request in batch:
            request.is_settled = True
        self._step("checked")
        if changes:
            self._announce(changes)
        self._step("announced")

    def _run(
        self, connection: apsw.Connection, batch: list[Request[Any]]
    ) -> tuple[list[Change], str | None]:
        """Run the batch in one transaction; return its changes, or a witness if it logged none."""
        execute = connection.execute
        execute("BEGIN IMMEDIATE")
        try:
            self._step("begun")
            before = connection.total_changes()
            made_ms = time.time_ns() // 1_000_000
            changes: list[Change] = []
            for request in batch:
                self._run_one(connection, request, made_ms, changes, alone=len(batch) == 1)
            witness = None
            if not changes and connection.total_changes() != before:
                witness = os.urandom(16).hex()
                execute(_SAVE_WITNESS, (witness,))
            self._step("written")
            if changes and self.prepare is not None:
                self.prepare(changes)
            self._is_in_doubt = True
            execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                with suppress(apsw.Error):
                    execute("ROLLBACK")
            if connection.in_transaction:
                self._pool.drop_writer()
            raise
        return changes, witness

    def _run_one(
        self,
        connection: apsw.Connection,
        request: Request[Any],
        made_ms: int,
        changes: list[Change],
        *,
        alone: bool,
    ) -> None:
        transaction = Transaction(connection, made_ms)
        request.error = None
        if not alone:
            connection.execute("SAVEPOINT operation")
        try:
            request.result = request.argument(transaction)
        except Exception as error:
            if alone or not connection.in_transaction:
                raise
            if is_damaging(error):
                raise
            connection.execute("ROLLBACK TO operation")
            connection.execute("RELEASE operation")
            request.result = None
            request.error = self._for_caller(error)
            return
        if not connection.in_transaction:
            raise StoreError("an operation ended its transaction; it must leave that to the store")
        if not alone:
            connection.execute("RELEASE operation")
        changes += transaction._changes  # noqa: SLF001 - one module, two halves

    def _is_kept(
        self, connection: apsw.Connection, changes: list[Change], witness: str | None
    ) -> bool:
        """Say whether the reopened file has the commit. A commit is kept whole or not at all."""
        if changes:
            last = changes[-1]
            rows = connection.execute(_SELECT_CHANGE, (last.seq,)).fetchall()
            return [row[:3] for row in rows] == [(last.op, last.tier, last.id)]
        if witness is not None:
            return connection.execute(_READ_WITNESS).fetchall() == [(witness,)]
        return True

    def _announce(self, changes: list[Change]) -> None:
        try:
            if self.publish is not None:
                self.publish(changes)
        except Exception as error:  # noqa: BLE001 - the rows are committed and stay so
            # Derived state is a function of the rows up to a seq: it catches up from them.
            self._warn(f"a commit could not be published, it will be caught up: {error!r}")
        finally:
            self._counter.raise_to(changes[-1].seq)

    # -- a second SQLite library

    def heal(self) -> None:
        """Reopen every connection if the files were replaced; called by readers that noticed."""
        if self._queue.is_leader():
            return
        try:
            with self._queue.alone(_HEAL_S), self._lock, translated(self._pool.path):
                if self._guard.changed():
                    self._reopen()
        except StoreBusyError:
            # A leader is at work and looks at the files itself; it may be waiting for something
            # that this reader's thread holds.
            return

    def _reopen(self) -> None:
        shared = self._pool.shared
        for _ in range(_MAX_TRIES):
            with shared.drained():
                if self._guard.missing():
                    raise StoreError(
                        f"{self._pool.path} was removed while it was open; put it back or restore "
                        "a backup, what is written now would be lost"
                    )
                self._pool.writer()
                shared.settle()
            if not self._guard.holds_deleted():
                break
        self.guard_trips += 1
        if not self._has_warned:
            self._has_warned = True
            self._warn(
                f"another SQLite library in this process closed {self._pool.path} and took its WAL "
                "away; nothing acknowledged was lost, but read it with sql() instead"
            )

    @staticmethod
    def _warn(message: str) -> None:
        # A filter that turns warnings into errors must not turn a kept write into a failed one.
        with suppress(Warning):
            warnings.warn(message, StoreWarning, stacklevel=5)

    def _step(self, name: str) -> None:
        if self.step is not None:
            self.step(name)

    # -- the whole

    def exclusive(self, work: Callable[[apsw.Connection], T], *, timeout_s: float) -> T:
        """Run ``work`` on the write connection outside any transaction, while nobody writes."""
        deadline = time.monotonic() + timeout_s
        with self._queue.alone(timeout_s):
            self._lock.acquire(max(0.0, deadline - time.monotonic()))
            try:
                with translated(self._pool.path):
                    if self._guard.changed():
                        self._reopen()
                    return work(self._pool.writer())
            finally:
                self._lock.release()

    def close(self) -> None:
        """Refuse every later write; those that wait get ClosedError."""
        self._is_closed = True
