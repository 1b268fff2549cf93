"""Consolidation in the background: a process of its own, so that recall never waits for it.

The host's side is :class:`Worker`; ``python -m agentmem.worker`` is the process. It lives as long
as the pipe from its host: the kernel closes that at the host's death, however it died. What it has
not done then is done by the next run of anybody, from the jobs and cursors in the store.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from agentmem.errors import (
    EmbedderMismatchError,
    EmbeddingError,
    InvalidInputError,
    SearchIndexError,
    StoreError,
)
from agentmem.opened import Opened
from agentmem.protocols import GivenEmbeddings
from agentmem.store import cursors, jobs
from agentmem.store.jobs import JobRow, is_due
from agentmem.tiers.consolidate import consolidate
from agentmem.tiers.pending import embed_pending

__all__ = ["Schedule", "Worker", "main"]

POLL_S: Final = 0.25
STOP_S: Final = 5.0
RESTART_S: Final = 30.0
EMBED_ROWS: Final = 64
NICENESS: Final = 10
WARM_UP: Final = (1, 2, 4)
"""Turns before the first runs of a session, so that a new user sees value at once."""
EVERY: Final = 5
IDLE_S: Final = 30.0


class Worker:
    """The host's hold on the background process.

    Args:
        opened: The open folder.
        idle_s: After how many quiet seconds what is left of a session is read.

    Raises:
        InvalidInputError: The host's extractor can't be made in another process.
    """

    def __init__(self, opened: Opened, *, idle_s: float = IDLE_S) -> None:
        self._opened, self._idle_s = opened, idle_s
        self._lock = threading.Lock()
        self._is_stopped = False
        self._process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        settings = json.dumps(_settings(self._opened, self._idle_s))
        self._started_s = time.monotonic()
        environment = dict(os.environ)
        package = str(Path(__file__).resolve().parents[1])
        paths = environment.get("PYTHONPATH", "")
        environment["PYTHONPATH"] = package + (os.pathsep + paths if paths else "")
        process = subprocess.Popen(
            [sys.executable, "-m", "agentmem.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
            close_fds=True,
        )
        # By the pipe: what an extractor is made of may be secret, and arguments are seen by all.
        if process.stdin is not None:
            with suppress(OSError):
                process.stdin.write(settings.encode() + b"\n")
                process.stdin.flush()
        return process

    @property
    def pid(self) -> int | None:
        """The process, None once it has ended."""
        return None if self._process.poll() is not None else self._process.pid

    @property
    def state(self) -> str:
        """``"background"`` while the process is at work, else what it ended with."""
        code = self._process.poll()
        return "background" if code is None else f"stopped: exit code {code}"

    def ensure(self) -> None:
        """Start the process again if it has died; not more often than each 30 seconds."""
        if self._process.poll() is None:
            return
        with self._lock:
            is_due = time.monotonic() - self._started_s >= RESTART_S
            if self._process.poll() is not None and is_due and not self._is_stopped:
                self._close_pipe()
                self._process = self._start()

    def _close_pipe(self) -> None:
        if self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()

    def stop(self, timeout_s: float = STOP_S) -> None:
        """Tell the process to end and wait for it; one that does not is ended."""
        with self._lock:
            self._is_stopped = True
            process = self._process
            self._close_pipe()
        try:
            process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _settings(opened: Opened, idle_s: float) -> dict[str, Any]:
    """Return what the process needs to open the same folder in the same way."""
    embedder: Any = None
    given, resolved = opened.given_embedder
    is_moved = opened.embedder is not resolved
    if isinstance(given, str | os.PathLike) and not is_moved:
        embedder = {"path": os.fspath(given)}
    elif given is not None or is_moved:
        # It makes no vectors of its own kind there: rows wait for this process to embed them.
        embedder = {"id": opened.embedder.id, "ndim": opened.embedder.ndim}
    extractor = None
    if opened.extractor is not None:
        spec = getattr(opened.extractor, "worker_spec", None)
        if spec is None:
            raise InvalidInputError(
                f"extractor: {opened.extractor.id!r} can't be made in a background process; give it "
                "worker_spec() -> ('module:name', arguments), or consolidate by hand"
            )
        name, arguments = spec()
        extractor = {"name": name, "arguments": arguments}
    return {
        "path": str(opened.path),
        "embedder": embedder,
        "extractor": extractor,
        "extractor_timeout_s": opened.extractor_timeout_s,
        "durability": opened.durability,
        "redact": opened.redact,
        "ann": opened.ann,
        "idle_s": idle_s,
    }


@dataclass
class Schedule:
    """Decides which jobs are due: by turns, fewer at first, when idle, or to be tried again.

    Quiet is measured on the monotonic clock, so a clock that jumps starts nothing and delays
    nothing.
    """

    idle_s: float = IDLE_S
    _seen: dict[int, tuple[tuple[int, int], float]] = field(default_factory=dict)

    def due(
        self, waiting: Sequence[JobRow], runs: Mapping[int, int], *, now_ms: int, now_s: float
    ) -> list[JobRow]:
        """Return the jobs to be done now.

        Args:
            waiting: All jobs there are.
            runs: By job, how often its session was read before.
            now_ms: The time, Unix milliseconds.
            now_s: The monotonic clock, seconds.
        """
        known = self._seen
        self._seen = {}
        found = []
        for job in waiting:
            mark = (job.updated_ms, job.turns)
            before = known.get(job.id)
            since = now_s if before is None or before[0] != mark else before[1]
            self._seen[job.id] = (mark, since)
            if job.error is not None:
                is_now = is_due(job, now_ms)
            else:
                is_now = (
                    job.step != "extract"
                    or job.turns >= pace(runs.get(job.id, 0))
                    or now_s - since >= self.idle_s
                )
            if is_now:
                found.append(job)
        return found


def pace(runs: int) -> int:
    """Return how many turns of a user come before the next reading of a session."""
    return WARM_UP[runs] if runs < len(WARM_UP) else EVERY


def main() -> None:
    """Work until the host closes the pipe, whose first line is the settings, or dies."""
    settings = json.loads(sys.stdin.buffer.readline())
    stopping = threading.Event()
    threading.Thread(target=_watch, args=(stopping,), daemon=True).start()
    with suppress(OSError):
        os.nice(NICENESS)
    opened = Opened(
        Path(settings["path"]),
        _embedder(settings["embedder"]),
        None,
        settings["durability"],
        settings["ann"],
        redact=settings["redact"],
        extractor=_extractor(settings["extractor"]),
        extractor_timeout_s=settings["extractor_timeout_s"],
    )
    try:
        _work(opened, Schedule(settings["idle_s"]), stopping)
    except _StoppedError:
        pass
    finally:
        opened.close()


class _StoppedError(Exception):
    """The host wants the process to end; what was begun is done by the next run."""


def _watch(stopping: threading.Event) -> None:
    with suppress(OSError):
        while sys.stdin.buffer.read(1):
            pass
    stopping.set()


def _work(opened: Opened, schedule: Schedule, stopping: threading.Event) -> None:
    def progress(_done: int, _total: int) -> None:
        if stopping.is_set():
            raise _StoppedError

    while not stopping.is_set():
        has_more = False
        try:
            due = _due(opened, schedule)
            if due:
                numbers = {job.id for job in due}
                consolidate(
                    opened,
                    "",
                    # What a due reading makes due above it is done with it.
                    select=lambda rows, numbers=numbers: [  # type: ignore[misc]
                        row for row in rows if row.id in numbers
                    ],
                    embed=False,
                    wait=False,
                    progress=progress,
                )
            has_more = embed_pending(opened, limit=EMBED_ROWS, progress=progress) == EMBED_ROWS
        except EmbedderMismatchError:
            # The store was moved to another embedder; the host starts a process that knows it.
            return
        except (StoreError, SearchIndexError, EmbeddingError, OSError):
            # No space, a lock that was not had, a model that fails: jobs and rows wait as they are.
            stopping.wait(RESTART_S)
        if not has_more:
            stopping.wait(POLL_S)


def _due(opened: Opened, schedule: Schedule) -> list[JobRow]:
    with opened.database.read() as connection:
        waiting = jobs.load(connection, "")
        runs = {
            job.id: cursors.position(connection, job.scope_id, "extract.runs", job.session)
            for job in waiting
            if job.step == "extract"
        }
    return schedule.due(waiting, runs, now_ms=opened.now_ms(), now_s=time.monotonic())


def _embedder(given: Any) -> Any:
    if given is None:
        return None
    if "path" in given:
        return given["path"]
    return GivenEmbeddings(given["id"], given["ndim"])


def _extractor(given: Any) -> Any:
    if given is None:
        return None
    module, _, name = given["name"].partition(":")
    return getattr(importlib.import_module(module), name)(**given["arguments"])


if __name__ == "__main__":
    main()
