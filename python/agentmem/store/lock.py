"""The lock between processes that is held around each write transaction.

SQLite's own POSIX locks vanish when any code of the process closes the file; ``flock`` belongs
to the open file description, so it stays until it is released or the kernel ends the process.
"""

from __future__ import annotations

import fcntl
import os
import stat
import time
from pathlib import Path
from types import TracebackType
from typing import Final

from agentmem.errors import NotAStoreError, StoreBusyError
from agentmem.store.folder import FILE_MODE

__all__ = ["FileLock"]

# Waiters poll, because a blocking flock has no timeout: half a millisecond is about one commit.
_FIRST_PAUSE_S: Final = 0.0005
_LAST_PAUSE_S: Final = 0.005


class FileLock:
    """An exclusive lock on one file, for one holder at a time in this process.

    Args:
        path: The lock file; made with mode 0600 where it is missing, never followed as a symlink.
        timeout_s: How long ``acquire`` waits, in seconds.
    """

    def __init__(self, path: Path, *, timeout_s: float) -> None:
        self.path = path
        self._timeout_s = timeout_s
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        self._fd = os.open(path, flags, FILE_MODE)
        mode = os.fstat(self._fd).st_mode
        if not stat.S_ISREG(mode):
            os.close(self._fd)
            raise NotAStoreError(f"{path} is not a regular file; remove it")
        if stat.S_IMODE(mode) != FILE_MODE and os.fstat(self._fd).st_uid == os.geteuid():
            os.fchmod(self._fd, FILE_MODE)

    def try_acquire(self) -> bool:
        """Take the lock if it is free, and say whether it was."""
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def acquire(self, timeout_s: float | None = None) -> None:
        """Take the lock, waiting for at most ``timeout_s`` seconds.

        Raises:
            StoreBusyError: Another process, or another handle of this one, kept it all that time.
        """
        if self.try_acquire():
            return
        limit_s = self._timeout_s if timeout_s is None else timeout_s
        deadline = time.monotonic() + limit_s
        pause = _FIRST_PAUSE_S
        while not self.try_acquire():
            if time.monotonic() >= deadline:
                raise StoreBusyError(
                    f"{self.path} was held by another process for {limit_s:g} s; "
                    "write again later or raise timeout_s"
                )
            time.sleep(pause)
            pause = min(pause * 1.2, _LAST_PAUSE_S)

    def release(self) -> None:
        """Give the lock back."""
        fcntl.flock(self._fd, fcntl.LOCK_UN)

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.release()

    def close(self) -> None:
        """Close the file. The lock ends with the last copy of its descriptor.

        A forked child calls this on its inherited copy: that never unlocks what the parent holds,
        and the child does not keep the lock alive when the parent dies.
        """
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
