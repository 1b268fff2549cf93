"""Run one leg of a question with a deadline: what hangs is left behind and blocks nobody.

A thread can't be stopped, so one that hangs stays until what it called returns; there are never
more than a few of them. Threads are daemons: they keep no program from ending.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, Final, TypeVar

__all__ = ["LEGS", "Legs"]

T = TypeVar("T")

LEGS: Final = "legs of "
"""How the keys of such threads in a memory's cache begin: they are kept when the rest is cleared."""
MOST_THREADS: Final = 8
IDLE_S: Final = 10.0


class _Leg:
    """One piece of work, and what came of it."""

    __slots__ = ("done", "error", "result", "work")

    def __init__(self, work: Callable[[], Any]) -> None:
        self.work = work
        self.done = threading.Event()
        self.result: Any = None
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self.result = self.work()
        except BaseException as error:  # noqa: BLE001 - whoever waits gets it
            self.error = error
        self.done.set()


class Legs:
    """A few threads that are kept for the next question, and end when there is none for a while."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._queue: SimpleQueue[_Leg] = SimpleQueue()
        self._threads = 0
        self._free = 0

    def run(self, work: Callable[[], T], *, deadline_s: float) -> T:
        """Return what ``work`` returns, or raise what it raises.

        Raises:
            TimeoutError: It took longer, or as many earlier ones still hang as there are threads.
        """
        leg = _Leg(work)
        with self._lock:
            if self._free:
                self._free -= 1
            elif self._threads < MOST_THREADS:
                self._threads += 1
                threading.Thread(target=self._serve, name="agentmem-leg", daemon=True).start()
            else:
                raise TimeoutError(f"{MOST_THREADS} earlier ones still hang")
        self._queue.put(leg)
        if not leg.done.wait(deadline_s):
            raise TimeoutError(f"no answer within {deadline_s:g} s")
        if leg.error is not None:
            raise leg.error
        return leg.result  # type: ignore[no-any-return]

    def _serve(self) -> None:
        while True:
            try:
                leg = self._queue.get(timeout=IDLE_S)
            except Empty:
                with self._lock:
                    # Whoever counted on this thread has put its work already, or will.
                    if self._free:
                        self._free -= 1
                        self._threads -= 1
                        return
                continue
            leg.run()
            del leg
            with self._lock:
                self._free += 1
