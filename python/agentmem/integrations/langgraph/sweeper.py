"""Removes what has expired, now and then, on a thread that never keeps its store alive."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress

__all__ = ["DEFAULT_MINUTES", "Sweeper"]

logger = logging.getLogger(__name__)
DEFAULT_MINUTES = 5.0


class Sweeper:
    """One thread that sweeps at intervals until it is stopped, or until ``sweep`` returns None.

    Args:
        sweep: Removes what has expired and returns how much; None where there is no store any more.
        interval_s: Seconds between two sweeps.
    """

    def __init__(self, sweep: Callable[[], int | None], interval_s: float) -> None:
        self._sweep = sweep
        self._interval_s = interval_s
        self._stop = threading.Event()
        self.future: Future[None] = Future()
        self.future.add_done_callback(lambda _: self._stop.set())
        self._thread = threading.Thread(target=self._run, name="agentmem-sweep", daemon=True)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """Whether it still sweeps."""
        return self._thread.is_alive()

    def _run(self) -> None:
        while not self._stop.wait(min(self._interval_s, threading.TIMEOUT_MAX)):
            try:
                removed = self._sweep()
            except Exception:
                # A locked or full store today may be free at the next turn.
                logger.exception("a sweep of expired items failed")
                continue
            if removed is None:
                break
            if removed:
                logger.info("removed %d expired items", removed)
        with suppress(InvalidStateError):
            self.future.set_result(None)

    def stop(self, timeout_s: float | None = None) -> bool:
        """Stop it, and return whether its thread ended within the time."""
        self._stop.set()
        if self._thread is threading.current_thread():
            return True
        self._thread.join(timeout_s)
        return not self._thread.is_alive()
