"""Run what the pipeline has to do: L0 to L1 for each session, then L2 and L3 for each scope."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from agentmem._native import redact
from agentmem.errors import (
    ClosedError,
    EmbedderMismatchError,
    ForkedError,
    StoreBusyError,
    StoreError,
)
from agentmem.models import Report
from agentmem.store import jobs
from agentmem.store.folder import CONSOLIDATION
from agentmem.store.lock import FileLock
from agentmem.tiers.extract import LearntExtractor
from agentmem.tiers.extraction import extract_session
from agentmem.tiers.pending import embed_pending
from agentmem.tiers.steps import abstract_scope, cluster_scope

if TYPE_CHECKING:
    import apsw

    from agentmem.opened import Opened, Progress

__all__ = ["Selection", "consolidate"]

LOCK_WAIT_S: Final = 120.0
MAX_ERROR_CHARS: Final = 2_000
Selection = Callable[[Sequence[jobs.JobRow]], Sequence[jobs.JobRow]]


def consolidate(
    opened: Opened,
    scope: str,
    *,
    session: str | None = None,
    select: Selection | None = None,
    embed: bool | int = True,
    wait: bool = True,
    progress: Progress | None = None,
) -> Report:
    """Do the pending work of a scope and below; return what was done and what failed.

    A step that fails leaves its job, which shows what went wrong; the others go on. One run at a
    time works on a folder: a lock that the kernel frees at death keeps a second from doing the work
    twice. Should it not be had, the cursors keep the two apart.

    Args:
        opened: The open folder.
        scope: The scope.
        session: Only this session, and the scopes it is in.
        select: Which of the jobs are to be done now; None for all, waiting ones too.
        embed: Whether to make the vectors that are pending, or how many of them at most.
        wait: Whether to wait for another run; if not and there is one, nothing is done.
        progress: Called as ``progress(done, total)`` after each job.
    """
    opened.check()
    lock = FileLock(opened.path / CONSOLIDATION, timeout_s=LOCK_WAIT_S)
    try:
        if not lock.try_acquire():
            if not wait:
                return Report()
            # One that hangs is not waited for longer: the cursors fence what both would write.
            with suppress(StoreBusyError):
                lock.acquire()
        with opened.database.read() as connection:
            waiting: Sequence[jobs.JobRow] = jobs.load(connection, scope)
            if session is not None:
                waiting = _of_session(connection, waiting, scope, session)
        run = _Run(opened)
        run.work(waiting if select is None else select(waiting), progress)
        if embed:
            limit = None if embed is True else int(embed)
            run.embedded = embed_pending(opened, limit=limit, progress=progress)
        return run.report(scope)
    finally:
        lock.close()


def _of_session(
    connection: apsw.Connection, waiting: Sequence[jobs.JobRow], scope: str, session: str
) -> list[jobs.JobRow]:
    """Return the jobs of a session, and those of the scopes that it has rows in."""
    paths = {job.scope for job in waiting if job.session == session}
    paths |= {
        job.scope
        for job in waiting
        if job.step != "extract"
        and connection.execute(
            "SELECT 1 FROM facts WHERE scope_id = ?1 AND session = ?2 UNION ALL "
            "SELECT 1 FROM turns WHERE scope_id = ?1 AND session = ?2 LIMIT 1",
            (job.scope_id, session),
        ).fetchone()
        is not None
    }
    paths.add(scope)
    return [
        job
        for job in waiting
        if job.scope in paths and (job.step != "extract" or job.session == session)
    ]


@dataclass
class _Run:
    """One run over some jobs, and what came of it."""

    opened: Opened
    messages: int = 0
    facts: int = 0
    duplicates: int = 0
    superseded: int = 0
    scenes: int = 0
    personas: int = 0
    embedded: int = 0
    failures: dict[int, None] = field(default_factory=dict)
    is_hanging: bool = False

    def report(self, scope: str) -> Report:
        """Return what was done; the failed jobs as they stand now."""
        with self.opened.database.read() as connection:
            rows = jobs.load(connection, scope)
        return Report(
            messages=self.messages,
            facts=self.facts,
            duplicates=self.duplicates,
            superseded=self.superseded,
            scenes=self.scenes,
            personas=self.personas,
            embedded=self.embedded,
            failed=tuple(jobs.to_job(row) for row in rows if row.id in self.failures),
        )

    def work(self, waiting: Sequence[jobs.JobRow], progress: Progress | None) -> None:
        """Do the readings, then what is due in each of the scopes."""
        reading = [job for job in waiting if job.step == "extract"]
        scopes = dict.fromkeys(job.scope for job in waiting)
        total = len(reading) + len(scopes)
        for done, job in enumerate(reading, 1):
            self._extract(job)
            if progress is not None:
                progress(done, total)
        for done, one in enumerate(scopes, len(reading) + 1):
            self._build(one)
            if progress is not None:
                progress(done, total)

    def _extract(self, job: jobs.JobRow) -> None:
        if self.is_hanging:
            # It would hang again; the jobs that are left wait as they are.
            return
        given = self.opened.extractor
        try:
            # The built-in rules are bounded by themselves.
            got = extract_session(
                self.opened,
                job.scope,
                job.session,
                extractor=LearntExtractor() if given is None else given,
                timeout_s=None if given is None else self.opened.extractor_timeout_s,
            )
        except (ClosedError, ForkedError, StoreError, EmbedderMismatchError):
            # The store itself is in trouble: that is the caller's to know, not the job's.
            raise
        except Exception as error:  # noqa: BLE001 - an extractor may raise anything
            self.is_hanging = isinstance(error, TimeoutError)
            self._note(job.scope_id, "extract", job.session, error)
            return
        self.messages += got.messages
        self.facts += got.facts
        self.duplicates += got.duplicates
        self.superseded += got.superseded

    def _build(self, scope: str) -> None:
        for step, work in (("cluster", cluster_scope), ("abstract", abstract_scope)):
            with self.opened.database.read() as connection:
                waiting = [
                    job for job in jobs.load(connection, scope, step=step) if job.scope == scope
                ]
            if not waiting:
                continue
            try:
                got = work(self.opened, scope)
            except (ClosedError, ForkedError, StoreError, EmbedderMismatchError):
                raise
            except Exception as error:  # noqa: BLE001 - the job shows it
                self._note(waiting[0].scope_id, step, "", error)
                return
            if step == "cluster":
                self.scenes += got.written
            else:
                self.personas += got.written

    def _note(self, scope_id: int, step: str, session: str, error: Exception) -> None:
        now_ms = self.opened.now_ms()
        shown, _ = redact(f"{type(error).__name__}: {error}"[:MAX_ERROR_CHARS])
        number = self.opened.database.write(
            lambda transaction: jobs.failed(
                transaction.connection, scope_id, step, session, error=shown, now_ms=now_ms
            )
        )
        self.failures[number] = None
