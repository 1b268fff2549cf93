"""What is loaded once in a process, and anew in a forked child."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Final, Generic, TypeVar

__all__ = ["PerProcess"]

Value = TypeVar("Value")


class _LoadLock:
    """One lock for all loads; a forked child gets a fresh one, in case its parent was loading."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self.lock = threading.Lock()


_LOADING: Final = _LoadLock()


class PerProcess(Generic[Value]):
    """Holds a value that is made at its first use; any number of threads may ask at once.

    Args:
        make: Returns the value; what it raises reaches who asked, and the next one tries again.
    """

    def __init__(self, make: Callable[[], Value]) -> None:
        self._make = make
        self._held: tuple[int, Value] | None = None
        self._retired: list[Value] = []

    def get(self) -> Value:
        """Return this process's value."""
        process, held = os.getpid(), self._held
        if held is not None and held[0] == process:
            return held[1]
        with _LOADING.lock:
            held = self._held
            if held is not None and held[0] == process:
                return held[1]
            if held is not None:
                # Destroying a session that was made before a fork may crash: it is kept, unused.
                self._retired.append(held[1])
            value = self._make()
            self._held = process, value
            return value
