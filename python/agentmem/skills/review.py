"""Work on the queue: claim a review, let the reviewer think, keep its answer, apply it.

The reviewer works outside any transaction, so its slowness holds nobody up. Its answer is stored
before it is applied, so a crash does not pay for it twice. Applying it, ending the task and
recording the effect are one transaction under the claim's generation: a worker that lost its
claim changes nothing.
"""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from agentmem.errors import (
    ArchiveError,
    ConflictError,
    CorruptStoreError,
    SkillError,
)
from agentmem.models import ArchiveView, Decision, Fingerprint, Review, SkillView
from agentmem.skills import codec
from agentmem.skills.apply import Applied, apply
from agentmem.skills.archive import archive_overfull, load_view
from agentmem.skills.checks import check
from agentmem.skills.reading import existing_views, known_fingerprints
from agentmem.skills.steps import reach
from agentmem.skills.worker import Watch, Worker, reclaim_lost
from agentmem.store import skill_tasks
from agentmem.store.guard import StoreWarning

if TYPE_CHECKING:
    from agentmem.opened import Opened
    from agentmem.protocols import Reviewer
    from agentmem.skills.options import SkillOptions
    from agentmem.store.skill_tasks import TaskRow
    from agentmem.store.writer import Transaction

__all__ = ["Reviewing"]

MAX_ATTEMPTS: Final = 8
MAX_STALE: Final = 50
_FIRST_PAUSE_MS: Final = 1_000
_LAST_PAUSE_MS: Final = 300_000
_HORIZON_MS: Final = 2 * _LAST_PAUSE_MS  # a task put off further was put off by a wrong clock
_DAY_MS: Final = 86_400_000
_TURN_S: Final = 0.05
_LOOK_S: Final = 0.25
_MAX_ERROR_CHARS: Final = 2_000
_TRANSIENT: Final = (ConnectionError, TimeoutError)


class _LostClaimError(Exception):
    """Another worker has the task now."""


class Reviewing:
    """One worker on the queue of a scope.

    Args:
        opened: The open folder.
        options: The settings.
        scope: Tasks of this scope and below.
        reviewer: Who judges.
    """

    def __init__(
        self, opened: Opened, options: SkillOptions, scope: str, reviewer: Reviewer
    ) -> None:
        self._opened = opened
        self._options = options
        self._scope = scope
        self._reviewer = reviewer
        self._watch = Watch(options.lease_s)

    def run(self, limit: int | None = None) -> list[Review]:
        """Review what is due, at most ``limit`` tasks, and return how each went."""
        archive_overfull(self._opened, self._options, self._scope)
        with Worker(self._opened.database.folder) as worker:
            return self._due(worker, limit, None, threading.Event())

    def watch(self, stop: threading.Event, on_review: Callable[[Review], None]) -> None:
        """Review whatever comes until ``stop`` is set; waiting costs next to nothing."""
        archive_overfull(self._opened, self._options, self._scope)
        with Worker(self._opened.database.folder) as worker:
            while not stop.is_set():
                seen = self._opened.database.counter.value
                self._due(worker, None, on_review, stop)
                self._wait(worker, seen, stop)

    def _due(
        self,
        worker: Worker,
        limit: int | None,
        on_review: Callable[[Review], None] | None,
        stop: threading.Event,
    ) -> list[Review]:
        reviews: list[Review] = []
        reclaim_lost(self._opened, worker.token, self._watch)
        while (limit is None or len(reviews) < limit) and not stop.is_set():
            task = self._claim(worker)
            if task is None:
                if not reclaim_lost(self._opened, worker.token, self._watch):
                    break
                continue
            review = self._one(worker, task)
            if on_review is None:
                reviews.append(review)
            else:
                on_review(review)
        return reviews

    def _wait(self, worker: Worker, seen: int, stop: threading.Event) -> None:
        """Return when something was written, a task comes due, or a worker is gone."""
        database = self._opened.database
        next_look = 0.0
        while not stop.wait(_TURN_S):
            if database.counter.value != seen:
                return
            if time.monotonic() < next_look:
                continue
            next_look = time.monotonic() + _LOOK_S
            if self._is_due():
                return
            worker.beat()
            if reclaim_lost(self._opened, worker.token, self._watch):
                return

    def _is_due(self) -> bool:
        with self._opened.database.read() as connection:
            due_ms = skill_tasks.next_due_ms(connection, self._scope)
        now_ms = self._opened.now_ms()
        return due_ms is not None and (due_ms <= now_ms or due_ms > now_ms + _HORIZON_MS)

    def _claim(self, worker: Worker) -> TaskRow | None:
        if not self._is_due():
            return None
        worker.beat()
        now_ms = self._opened.now_ms()
        reach("claim begun")
        task = self._opened.database.write(
            lambda transaction: skill_tasks.claim(
                transaction.connection, self._scope, worker.token, now_ms, horizon_ms=_HORIZON_MS
            )
        )
        if task is not None:
            reach("claimed")
        return task

    # -- one task

    def _one(self, worker: Worker, task: TaskRow) -> Review:
        try:
            decision = self._decided(worker, task)
            reach("answer stored")
            applied = self._applied(task, decision)
            reach("applied")
        except ArchiveError as error:
            return self._blocked(task, error)
        except _LostClaimError:
            return _review(task, "retry", error="another worker has the task now")
        except ConflictError as error:
            return self._stale(task, error)
        except Exception as error:  # noqa: BLE001 - whatever a reviewer raises is its failure
            return self._failed(task, error)
        self._approve(applied)
        return _review(
            task, applied.outcome, reasons=decision.reasons, skill=applied.skill,
            version=applied.version, diff=applied.diff, notes=decision.notes,
        )  # fmt: skip

    def _decided(self, worker: Worker, task: TaskRow) -> Decision:
        view = load_view(self._opened, self._options, self._scope, task.archive_id or 0)
        if task.result is not None:
            return codec.decode(task.result)
        compares_all = getattr(self._reviewer, "compares_all", False) is True
        existing = existing_views(self._opened, self._options, view, by_meaning=not compares_all)
        fingerprints = known_fingerprints(self._opened, view)
        reach("archive read")
        answer = self._asked(worker, view, existing, fingerprints)
        reach("reviewer answered")
        decision = check(answer, view, existing, fingerprints)
        text = codec.encode(decision)
        name = str(self._reviewer.id)

        def operation(transaction: Transaction) -> bool:
            return skill_tasks.store_result(
                transaction.connection, task.id, task.generation, text, name
            )

        if not self._opened.database.write(operation):
            raise _LostClaimError
        return decision

    def _asked(
        self,
        worker: Worker,
        view: ArchiveView,
        existing: list[SkillView],
        fingerprints: list[Fingerprint],
    ) -> Any:
        """Return what the reviewer says; one that hangs is left behind and counts as failed."""
        answer: list[Any] = []
        failure: list[Exception] = []

        def ask() -> None:
            try:
                answer.append(self._reviewer.review(view, existing, fingerprints))
            except Exception as error:  # noqa: BLE001 - it is raised again by the worker
                failure.append(error)
            except BaseException as error:  # noqa: BLE001 - an exit of the reviewer is not the host's
                failure.append(SkillError(f"the reviewer ended itself: {error!r}"))

        thread = threading.Thread(target=ask, name="agentmem-reviewer", daemon=True)
        deadline = time.monotonic() + self._options.review_timeout_s
        thread.start()
        while thread.is_alive():
            left = deadline - time.monotonic()
            if left <= 0:
                raise SkillError(
                    f"the reviewer did not answer within {self._options.review_timeout_s:g} s"
                )
            thread.join(min(left, self._options.lease_s / 4))
            worker.beat()
        if failure:
            raise failure[0]
        return answer[0]

    def _applied(self, task: TaskRow, decision: Decision) -> Applied:
        now_ms = self._opened.now_ms()
        candidate = sha256(codec.encode(decision).encode()).digest()
        reviewer = str(self._reviewer.id) if task.reviewer is None else task.reviewer

        def operation(transaction: Transaction) -> Applied:
            reach("apply begun")
            applied = apply(
                transaction, decision, task.archive_id or 0, author=reviewer, now_ms=now_ms
            )
            reach("effects written")
            connection = transaction.connection
            if applied.skill_id is not None and applied.version is not None:
                skill_tasks.add_effect(
                    connection, task.id, candidate, applied.skill_id, applied.version
                )
            reach("effect recorded")
            if not skill_tasks.end(
                connection, task.id, task.generation, outcome=applied.outcome,
                reasons=decision.reasons, ended_ms=now_ms,
            ):  # fmt: skip
                raise _LostClaimError
            reach("task ended")
            return applied

        return self._opened.database.write(operation)

    def _approve(self, applied: Applied) -> None:
        if self._options.auto_approve is None or applied.skill is None or applied.version is None:
            return
        from agentmem.skills.lifecycle import Lifecycle

        Lifecycle(self._opened, self._options, applied.scope).approve_by_policy(
            applied.skill, applied.version
        )

    # -- what does not work

    def _blocked(self, task: TaskRow, error: ArchiveError) -> Review:
        message = f"task:{task.id} is blocked: {error}"
        warnings.warn(message, StoreWarning, stacklevel=2)
        after_ms = self._after_ms(task, task.tries)

        def operation(transaction: Transaction) -> bool:
            return skill_tasks.block(
                transaction.connection, task.id, task.generation, run_after_ms=after_ms,
                error=str(error)[:_MAX_ERROR_CHARS],
            )  # fmt: skip

        self._opened.database.write(operation)
        return _review(task, "blocked", error=str(error))

    def _stale(self, task: TaskRow, error: ConflictError) -> Review:
        """The skill changed while the reviewer thought: it thinks again, soon."""
        burns = task.tries >= MAX_STALE
        return self._put_back(
            task, f"stale-base: {error}", after_ms=self._opened.now_ms(), burns=burns
        )

    def _failed(self, task: TaskRow, error: Exception) -> Review:
        if isinstance(error, CorruptStoreError):
            raise error
        is_transient = isinstance(error, _TRANSIENT) and (
            self._opened.now_ms() - task.created_ms < _DAY_MS
        )
        return self._put_back(
            task, f"{type(error).__name__}: {error}", after_ms=self._after_ms(task, task.tries),
            burns=not is_transient,
        )  # fmt: skip

    def _put_back(self, task: TaskRow, error: str, *, after_ms: int, burns: bool) -> Review:
        is_dead = burns and task.attempts + 1 >= MAX_ATTEMPTS
        stored = error.encode("utf-8", "replace").decode()[:_MAX_ERROR_CHARS]
        ended_ms = self._opened.now_ms()

        def operation(transaction: Transaction) -> bool:
            return skill_tasks.fail(
                transaction.connection, task.id, task.generation, run_after_ms=after_ms,
                error=stored, burns=burns, is_dead=is_dead, ended_ms=ended_ms,
            )  # fmt: skip

        self._opened.database.write(operation)
        return _review(task, "dead" if is_dead else "retry", error=error)

    def _after_ms(self, task: TaskRow, tries: int) -> int:
        """Return when to try again: twice as long each time, spread by a fifth, five minutes at most."""
        pause = min(_LAST_PAUSE_MS, _FIRST_PAUSE_MS << min(tries, 20))
        spread = sha256(f"{task.id}:{tries}".encode()).digest()[0] / 255
        return self._opened.now_ms() + int(pause * (0.8 + 0.4 * spread))


def _review(task: TaskRow, outcome: Any, **fields: Any) -> Review:
    return Review(
        task=f"task:{task.id}", archive=f"archive:{task.archive_id}", outcome=outcome, **fields
    )
