"""What builds the tiers above L0, and what they say: the facade's part for scenes and persona."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from agentmem.arguments import check_function
from agentmem.errors import InvalidInputError, NotFoundError
from agentmem.models import Context, Persona, Report, Scene
from agentmem.opened import Opened, Progress
from agentmem.protocols import Extractor, Summarizer, TokenCounter
from agentmem.store import personas, scenes

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["Pipeline", "checked_extractor", "checked_summarizer", "checked_timeout"]

MAX_LIMIT = 100_000
MAX_IDLE_S = 86_400.0
MOST = 1 << 63


def checked_extractor(extractor: Any) -> Extractor | None:
    """Return an extractor if it is one.

    Raises:
        InvalidInputError: It has no id or cannot extract.
    """
    if extractor is None:
        return None
    name = getattr(extractor, "id", None)
    if not isinstance(name, str) or not name or not callable(getattr(extractor, "extract", None)):
        raise InvalidInputError(
            f"extractor: an object with an id and extract(messages, context=…) is needed, "
            f"{type(extractor).__name__} was given"
        )
    return extractor  # type: ignore[no-any-return]


def checked_summarizer(summarizer: Any) -> Summarizer | None:
    """Return a summarizer if it is one.

    Raises:
        InvalidInputError: It has no id or cannot summarize.
    """
    if summarizer is None:
        return None
    name = getattr(summarizer, "id", None)
    is_able = callable(getattr(summarizer, "summarize", None))
    if not isinstance(name, str) or not name or not is_able:
        raise InvalidInputError(
            f"summarizer: an object with an id and summarize(label, texts) is needed, "
            f"{type(summarizer).__name__} was given"
        )
    return summarizer  # type: ignore[no-any-return]


def checked_timeout(value: Any) -> float:
    """Return a number of seconds that may pass before an extractor is given up.

    Raises:
        InvalidInputError: It is none.
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 < value <= MAX_IDLE_S:
        raise InvalidInputError(
            f"extractor_timeout_s: more than 0 and at most {MAX_IDLE_S:g} s, not {value!r}"
        )
    return float(value)


class Pipeline:
    """What :class:`~agentmem.memory.Memory` offers beside writing and reading rows."""

    _shared: Opened
    _scope: str

    def consolidate(
        self, *, session: str | None = None, progress: Progress | None = None
    ) -> Report:
        """Do what is pending of L0 to L1 to L2 to L3, and say what was done and what failed.

        Facts are read from new messages, held against what is known, put into scenes, and a new
        persona version is written where they say something new; rows without vectors get them.
        Nothing is ever done twice: a run that was killed goes on at the next one, two at once
        share the work. What fails stays as a job in ``stats().jobs`` and is tried again; the rest
        goes on.

        Args:
            session: Only this session and the scopes that it is in; None for all pending work.
            progress: Called as ``progress(done, total)``.
        """
        from agentmem.tiers.capture import check_session
        from agentmem.tiers.consolidate import consolidate

        if session is not None:
            check_session(session)
        check_function(progress, "progress")
        return consolidate(self._shared, self._scope, session=session, progress=progress)

    def end_session(self, session: str) -> Persona:
        """Do what is pending of one session, and return the persona of its scope as it is then.

        A failure shows in ``stats().jobs``; the persona is then that of what could be read.

        Args:
            session: The name of the session.

        Raises:
            InvalidInputError: It is no name of a session.
        """
        from agentmem.tiers.session_end import end_session

        return end_session(self._shared, self._scope, session)

    def context(
        self,
        query: str,
        *,
        budget_tokens: int = 1500,
        deadline_s: float = 5.0,
        embedding: Sequence[float] | npt.NDArray[np.float32] | None = None,
        count_tokens: TokenCounter | None = None,
    ) -> Context:
        """Return what an agent should know for a question, from L3 down to quotes of L0.

        First the lasting rules of the user by priority, the persona and an index of scenes: the
        ``stable`` part, the same whatever is asked. Then, ``volatile``, what fits the question:
        scenes, facts and quoted turns, each once, and of no source more than its share. Everything
        stands between tags that no content can close; ``capture`` leaves such a text out.

        Where ``recall`` would raise because a signal can't run, this returns what there is and
        says so in ``degraded``. A hanging embedder holds it up no longer than its deadline.

        Args:
            query: Any text; a blank one without an embedding gets the stable part alone.
            budget_tokens: Tokens that ``text`` may have, 1 to 10,000,000.
            deadline_s: Seconds that each leg may take: the query's vector, then the search.
            embedding: The query's vector, instead of embedding the text.
            count_tokens: Counts the tokens of a text; None for the built-in estimate.

        Raises:
            InvalidInputError: An argument is wrong.
        """
        from agentmem.tiers.context import context

        return context(
            self._shared, self._scope, query, budget_tokens=budget_tokens, deadline_s=deadline_s,
            embedding=embedding, count_tokens=count_tokens,
        )  # fmt: skip

    def scenes(self, *, limit: int = 100) -> list[Scene]:
        """Return the scenes (L2) of this scope and below, the latest first.

        Args:
            limit: At most so many, 1 to 100,000.
        """
        if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_LIMIT:
            raise InvalidInputError(f"limit: 1 to {MAX_LIMIT} is allowed, {limit!r} was given")
        with self._shared.database.read() as connection:
            return scenes.to_scene(connection, scenes.page(connection, self._scope, limit))

    def persona(self, version: int | None = None) -> Persona:
        """Return the persona (L3) of this scope alone; one that says nothing has version 0.

        Args:
            version: An earlier version; None for the current one.

        Raises:
            NotFoundError: There is no such version.
        """
        if version is not None and (
            isinstance(version, bool) or not isinstance(version, int) or not 0 <= version < MOST
        ):
            raise InvalidInputError(
                f"version: a whole number of 0 or more is needed, {version!r:.80} was given"
            )
        with self._shared.database.read() as connection:
            if version is None:
                row = personas.newest(connection, self._scope)
            else:
                row = personas.of_version(connection, self._scope, version)
        if row is not None:
            return personas.to_persona(row)
        if version in (None, 0):
            return Persona(scope=self._scope)
        raise NotFoundError(f"there is no version {version} of the persona of {self._scope!r}")

    def start_consolidation(self, *, idle_s: float = 30.0) -> None:
        """Consolidate in the background, in a process of its own, until the memory is closed.

        A session is read after 1, 2, 4, then every 5 turns of its user, or after ``idle_s`` quiet
        seconds. The process opens the folder itself, with the packaged or a given model; it makes
        the vectors of captured turns too. With an embedder object of the host's, rows wait for the
        next ``consolidate()`` of a handle that has it. A second call does nothing.

        Args:
            idle_s: Quiet seconds after which what is left of a session is read.

        Raises:
            InvalidInputError: The extractor can't be made in another process.
        """
        from agentmem.worker import Worker

        number: Any = idle_s
        is_number = isinstance(number, int | float) and not isinstance(number, bool)
        if not is_number or not 0 <= number <= MAX_IDLE_S:
            raise InvalidInputError(f"idle_s: 0 to {MAX_IDLE_S:g} seconds, not {idle_s!r}")
        self._shared.check()
        with self._shared.cache_lock:
            if self._shared.worker is None:
                self._shared.worker = Worker(self._shared, idle_s=float(idle_s))

    def stop_consolidation(self) -> None:
        """End the background process; what it has not done is done by the next run of anybody."""
        with self._shared.cache_lock:
            worker, self._shared.worker = self._shared.worker, None
        if worker is not None:
            worker.stop()
