"""Notices that another SQLite library replaced the files under our connections.

A second SQLite library in this process (the standard ``sqlite3``, say) shares no state with ours.
When it closes the store it takes itself for the last user, copies the WAL and unlinks ``-wal`` and
``-shm``; what we commit afterwards goes into files without a name. An unlinked file keeps its
inode while we hold it, so a new file at the same path always has another one.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

__all__ = ["FileGuard", "StoreWarning"]

_SIDECARS: Final = ("", "-wal", "-shm")

_Identity = tuple[tuple[int, int] | None, ...]


class StoreWarning(RuntimeWarning):
    """Something outside endangered the store, and it was put right."""


class FileGuard:
    """Compares (device, inode) of the store and its sidecars with those at open.

    Args:
        path: The store's main file.
    """

    def __init__(self, path: Path) -> None:
        self._paths = tuple(f"{path}{suffix}" for suffix in _SIDECARS)
        self._identity: _Identity | None = None

    def remember(self) -> None:
        """Take the files now at the paths as ours. Call right after opening the connections."""
        self._identity = self._look()

    def forget(self) -> None:
        """Know no files, as before the first open."""
        self._identity = None

    def changed(self) -> bool:
        """Say whether a path now names another file, or none (about 4 µs)."""
        return self._look() != self._identity

    def _look(self) -> _Identity:
        try:
            database, wal, shm = map(os.stat, self._paths)
        except FileNotFoundError:
            return tuple(_identity(path) for path in self._paths)
        return (
            (database.st_dev, database.st_ino),
            (wal.st_dev, wal.st_ino),
            (shm.st_dev, shm.st_ino),
        )

    def missing(self) -> bool:
        """Say whether the main file itself is gone."""
        return _identity(self._paths[0]) is None

    def holds_deleted(self) -> bool:
        """Say whether this process still maps an unlinked ``-shm`` of the store (Linux)."""
        needle = f"{self._paths[2]} (deleted)"
        try:
            with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:  # noqa: PTH123
                return any(line.rstrip("\n").endswith(needle) for line in maps)
        except OSError:
            return False


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)  # noqa: PTH116 - a str is twice as fast as a Path here
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino
