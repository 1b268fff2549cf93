"""An 8-byte mapped file that tells every process the last committed ``seq``."""

from __future__ import annotations

import mmap
import os
import stat
import struct
from pathlib import Path
from typing import Final

from agentmem.errors import NotAStoreError
from agentmem.store.folder import FILE_MODE

__all__ = ["ChangeCounter"]

_SIZE_BYTES: Final = 8


class ChangeCounter:
    """The last committed ``seq`` that any process announced.

    The file is one native-endian unsigned 64-bit integer, so one aligned load reads it whole.
    It is a hint to look, never a source of truth: whoever opens the store sets it from the rows.

    Args:
        path: The counter file; made with mode 0600 where it is missing.
        read_only: Map an existing file for reading; a missing one reads as 0.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        self._map: mmap.mmap | None = None
        self._cells: memoryview = memoryview(bytearray(_SIZE_BYTES)).cast("Q")
        access = os.O_RDONLY if read_only else os.O_RDWR | os.O_CREAT
        try:
            fd = os.open(path, access | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, FILE_MODE)
        except FileNotFoundError:
            return
        try:
            self._open(fd, read_only=read_only)
        finally:
            os.close(fd)

    def _open(self, fd: int, *, read_only: bool) -> None:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise NotAStoreError(f"{self.path} is not a regular file; remove it")
        if not read_only:
            if stat.S_IMODE(status.st_mode) != FILE_MODE and status.st_uid == os.geteuid():
                os.fchmod(fd, FILE_MODE)
            if status.st_size < _SIZE_BYTES:
                # Written, not only extended: storing into a hole of a full disk would be a SIGBUS.
                os.pwrite(fd, struct.pack("=Q", 0), 0)
        elif status.st_size < _SIZE_BYTES:
            return
        protection = mmap.PROT_READ if read_only else mmap.PROT_READ | mmap.PROT_WRITE
        self._map = mmap.mmap(fd, _SIZE_BYTES, mmap.MAP_SHARED, protection)
        self._cells = memoryview(self._map).cast("Q")

    @property
    def value(self) -> int:
        """The last committed ``seq`` announced; read from memory, without a system call."""
        return int(self._cells[0])

    def raise_to(self, seq: int) -> None:
        """Announce ``seq`` unless a later one was. Call while holding the write lock."""
        self._cells[0] = max(self._cells[0], seq)

    def reset_to(self, seq: int) -> None:
        """Set the counter to what the rows say. Call while holding the write lock."""
        self._cells[0] = seq

    def close(self) -> None:
        """Unmap the file; ``value`` keeps what was last seen."""
        if self._map is not None:
            last = bytearray(struct.pack("=Q", self._cells[0]))
            self._cells.release()
            self._cells = memoryview(last).cast("Q")
            self._map.close()
            self._map = None
