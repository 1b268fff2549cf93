"""Who works on the queue: a lock that the kernel frees at death says that a worker lives."""

from __future__ import annotations

import fcntl
import os
import re
import time
import weakref
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Literal, Self

from agentmem.skills.steps import reach
from agentmem.store import skill_tasks

if TYPE_CHECKING:
    from agentmem.opened import Opened
    from agentmem.store.writer import Transaction

__all__ = ["Worker", "reclaim_lost"]

FOLDER: Final = "workers"
MAX_DEATHS: Final = 3
_TOKEN: Final = re.compile(r"[0-9a-f]{32}")


class Worker:
    """One worker's life: a file that it holds locked, and touches while it makes progress.

    Args:
        folder: The memory's folder.
    """

    def __init__(self, folder: Path) -> None:
        self.token = os.urandom(16).hex()
        place = folder / FOLDER
        place.mkdir(mode=0o700, exist_ok=True)
        self._path = place / f"{self.token}.lock"
        self._pid = os.getpid()
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        self._fd = os.open(self._path, flags, 0o600)
        fcntl.flock(self._fd, fcntl.LOCK_EX)
        _living.add(self)

    def beat(self) -> None:
        """Show progress; nobody compares the time with a clock, only with the last one seen."""
        if self._fd >= 0:
            os.utime(self._fd)

    def give_up(self) -> None:
        """Let go of the file in a forked child, which must not keep the parent's lock alive."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._fd >= 0 and os.getpid() == self._pid:
            with suppress(OSError):
                self._path.unlink(missing_ok=True)
            self.give_up()


_living: weakref.WeakSet[Worker] = weakref.WeakSet()


def _in_child() -> None:
    for worker in list(_living):
        worker.give_up()
    _living.clear()


os.register_at_fork(after_in_child=_in_child)


def _end_of(folder: Path, token: str) -> Literal["left", "died"] | None:
    """Return how a worker ended: it took its file along, or left it unlocked; None if it lives."""
    if not _TOKEN.fullmatch(token):
        return "left"
    path = folder / FOLDER / f"{token}.lock"
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return "left"
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return None
    else:
        path.unlink(missing_ok=True)
        return "died"
    finally:
        os.close(descriptor)


class Watch:
    """Remembers since when each leased task has shown no progress, by this process's own time."""

    def __init__(self, lease_s: float) -> None:
        self._lease_s = lease_s
        self._seen: dict[tuple[int, int], tuple[int, float]] = {}

    def is_stuck(self, folder: Path, number: int, generation: int, token: str) -> bool:
        """Whether a living worker has shown no progress for the whole lease."""
        try:
            beat = (folder / FOLDER / f"{token}.lock").stat().st_mtime_ns
        except OSError:
            return False
        key = number, generation
        last = self._seen.get(key)
        if last is None or last[0] != beat:
            self._seen[key] = beat, time.monotonic()
            return False
        return time.monotonic() - last[1] > self._lease_s

    def forget(self, held: set[tuple[int, int]]) -> None:
        """Keep only what is still leased."""
        self._seen = {key: value for key, value in self._seen.items() if key in held}


def reclaim_lost(opened: Opened, own_token: str, watch: Watch) -> int:
    """Put the tasks of dead and stuck workers back into the queue; return how many."""
    database = opened.database
    with database.read() as connection:
        leased = skill_tasks.leased(connection)
    lost = []
    for number, generation, token in leased:
        if token == own_token:
            continue
        end = _end_of(database.folder, token)
        if end == "left":
            # It was interrupted or met an error of its own, a full disk say: not the task's fault.
            lost.append((number, generation, 0, "the worker left it unfinished"))
        elif end == "died":
            lost.append((number, generation, 1, "the worker process died in it"))
        elif watch.is_stuck(database.folder, number, generation, token):
            lost.append(
                (number, generation, 1, "the worker showed no progress for the whole lease")
            )
    watch.forget({(number, generation) for number, generation, _ in leased})
    if not lost:
        return 0
    now_ms = opened.now_ms()
    reach("reclaim begun")

    def operation(transaction: Transaction) -> int:
        return sum(
            skill_tasks.reclaim(
                transaction.connection, number, generation, now_ms,
                deaths=deaths, max_deaths=MAX_DEATHS, error=error,
            )
            for number, generation, deaths, error in lost
        )  # fmt: skip

    return database.write(operation)
