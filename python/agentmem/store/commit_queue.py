"""Who commits: one of the callers at a time, for all who wait.

A caller appends its request and tries the mutex. Whoever gets it is the leader and commits what
waits; the others sleep until a leader wakes them, either with their result or to lead. A leader
looks at the queue again after it has released the mutex, and a caller appends before it tries the
mutex, so one of the two always sees the request.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, Generic, TypeVar

from agentmem.errors import StoreBusyError, StoreError

__all__ = ["MAX_BATCH", "CommitQueue", "Request"]

T = TypeVar("T")

MAX_BATCH: Final = 64
# A sleeper looks for itself this often, should the one who was to wake it have been interrupted.
_LOOK_S: Final = 0.25
# A request that a leader has already taken is waited for beyond the timeout, but not for ever.
_IN_FLIGHT_S: Final = 10.0


class Request(Generic[T]):
    """One caller's operation and what came of it."""

    __slots__ = ("argument", "error", "is_done", "is_settled", "result", "wake")

    def __init__(self, argument: Callable[[Any], T]) -> None:
        self.argument = argument
        self.result: T | None = None
        self.error: BaseException | None = None
        self.is_settled = False
        """It must not be run again: it was committed, or failed for good."""
        self.is_done = False
        """The caller may return."""
        self.wake = threading.Lock()
        self.wake.acquire()

    def finish(self) -> None:
        """Let the caller return."""
        self.is_settled = self.is_done = True
        self.nudge()

    def nudge(self) -> None:
        """Wake the caller if it sleeps."""
        with suppress(RuntimeError):
            self.wake.release()


class CommitQueue:
    """Requests in the order of their arrival, and the mutex of their leader.

    Args:
        commit: Runs a batch and finishes each request of it, or raises and leaves in the queue
            what was not settled. Called by one thread at a time.
        timeout_s: How long a request may wait for its turn, in seconds.
    """

    def __init__(self, commit: Callable[[list[Request[Any]]], None], *, timeout_s: float) -> None:
        self._commit = commit
        self._timeout_s = timeout_s
        self._waiting: deque[Request[Any]] = deque()
        self._mutex = threading.Lock()
        # The mutex is not fair: a busy writer would keep a checkpoint out for ever. Who wants it
        # alone holds the turnstile meanwhile, and new requests wait there.
        self._turnstile = threading.Lock()
        self._is_wanted_alone = False
        self._leader: int | None = None

    def __len__(self) -> int:
        """Return how many requests wait."""
        return len(self._waiting)

    def submit(self, operation: Callable[[Any], T]) -> T:
        """Return the operation's result once its batch was committed."""
        if self._leader == threading.get_ident():
            raise StoreError(
                "a write was started inside another write's operation; use its transaction"
            )
        if self._is_wanted_alone and self._turnstile.acquire(timeout=self._timeout_s):
            self._turnstile.release()
        request: Request[T] = Request(operation)
        self._waiting.append(request)
        try:
            if not self._lead(request):
                self._sleep(request)
        except BaseException:
            with suppress(ValueError):
                self._waiting.remove(request)
            self._wake_next()
            raise
        if request.error is not None:
            raise request.error
        return request.result  # type: ignore[return-value]

    def _lead(self, request: Request[T]) -> bool:
        """Commit until ``request`` is done, if nobody else leads; say whether it is done."""
        if not self._mutex.acquire(blocking=False):
            return request.is_done
        self._leader = threading.get_ident()
        try:
            while not request.is_done:
                waiting = self._waiting
                batch = [waiting.popleft() for _ in range(min(len(waiting), MAX_BATCH))]
                try:
                    self._commit(batch)
                except BaseException:
                    waiting.extendleft(left for left in reversed(batch) if not left.is_settled)
                    raise
        finally:
            self._release()
        return True

    def _sleep(self, request: Request[T]) -> None:
        deadline = time.monotonic() + self._timeout_s
        while True:
            left = deadline - time.monotonic()
            request.wake.acquire(timeout=min(max(left, 0.0), _LOOK_S))
            if self._lead(request):
                return
            if left <= 0:
                break
        try:
            self._waiting.remove(request)
        except ValueError:
            # A leader has it, and its own waits are bounded.
            deadline = time.monotonic() + 2 * self._timeout_s + _IN_FLIGHT_S
            while not request.is_done and time.monotonic() < deadline:
                request.wake.acquire(timeout=_LOOK_S)
            if request.is_done:
                return
            raise StoreBusyError(
                "this write was begun but not finished in time; whether it was kept is unknown"
            ) from None
        raise StoreBusyError(
            f"other writes of this process took more than {self._timeout_s:g} s; "
            "write again later or raise timeout_s"
        )

    def _release(self) -> None:
        self._leader = None
        self._mutex.release()
        self._wake_next()

    def _wake_next(self) -> None:
        try:
            first = self._waiting[0]
        except IndexError:
            return
        first.nudge()

    def is_leader(self) -> bool:
        """Say whether the calling thread leads."""
        return self._leader == threading.get_ident()

    @contextmanager
    def alone(self, timeout_s: float) -> Iterator[None]:
        """Keep every leader out during the block.

        Raises:
            StoreBusyError: A leader was at work for all of ``timeout_s``.
        """
        if self.is_leader():
            raise StoreError("this can't run inside a write's operation")
        deadline = time.monotonic() + timeout_s
        if not self._turnstile.acquire(timeout=timeout_s):
            raise StoreBusyError(f"the store was not free for {timeout_s:g} s")
        try:
            self._is_wanted_alone = True
            if not self._mutex.acquire(timeout=max(0.0, deadline - time.monotonic())):
                raise StoreBusyError(f"a write of this process took more than {timeout_s:g} s")
        finally:
            self._is_wanted_alone = False
            self._turnstile.release()
        self._leader = threading.get_ident()
        try:
            yield
        finally:
            self._release()
