"""Locks that a second SQLite library in this process can neither share nor drop.

SQLite's POSIX locks never conflict within one process, and any close of the file drops them. An
open-file-description lock does conflict, and stays. Held for reading on the bytes that every open
connection holds anyway, it keeps a foreign library from taking itself for the first user (which
would truncate the mapped ``-shm`` under us: SIGBUS) or for the last one (which would unlink both
sidecars). For other processes it is one more reader.

Source of the offsets: SQLite's file format ("Locking", PENDING_BYTE 0x40000000) and its
"WAL-mode File Format", section on the locks of the ``-shm`` file.
"""

from __future__ import annotations

import fcntl
import os
import struct
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

__all__ = ["LockHold"]

_SHARED_FIRST: Final = 0x40000002
_SHARED_SIZE: Final = 510
_DEAD_MAN_SWITCH: Final = 128


class LockHold:
    """Keeps read locks on the store's main file and its ``-shm`` while connections are open.

    Args:
        path: The store's main file.
    """

    is_wanted = True
    """Cleared by tests that show what the second line of defence, the guard, does alone."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fds: list[int] = []

    def take(self) -> None:
        """Take the locks, as far as the platform has them. Call with a connection open."""
        if self._fds or not self.is_wanted or sys.platform != "linux":
            return
        shm = self._path.with_name(self._path.name + "-shm")
        with suppress(OSError):
            self._lock(self._path, _SHARED_FIRST, _SHARED_SIZE)
            self._lock(shm, _DEAD_MAN_SWITCH, 1)

    def _lock(self, path: Path, first: int, size: int) -> None:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        # Kept even if the lock is refused: closing it here would drop our POSIX locks.
        self._fds.append(fd)
        # struct flock with 64-bit offsets: type, whence, start, length, pid (0 for this kind).
        request = struct.pack("hhqqi4x", fcntl.F_RDLCK, os.SEEK_SET, first, size, 0)
        fcntl.fcntl(fd, fcntl.F_OFD_SETLK, request)

    def give_back(self) -> None:
        """Close the descriptors. Call only when this process has no connection to the store."""
        while self._fds:
            os.close(self._fds.pop())
