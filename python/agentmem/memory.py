"""The facade: opens a folder and hands each verb to the module that does it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from agentmem.arguments import check_flag, check_function, check_path
from agentmem.errors import InvalidInputError, StoreBusyError
from agentmem.models import (
    Captured,
    Compacted,
    Fact,
    Persona,
    Ranking,
    Scene,
    Trace,
    Turn,
    parse_id,
)
from agentmem.opened import Opened, Progress
from agentmem.operations import Operations
from agentmem.pipeline import Pipeline, checked_extractor, checked_summarizer, checked_timeout
from agentmem.protocols import Clock, Embedder, Extractor, GivenEmbeddings, Summarizer, TokenCounter
from agentmem.store.scopes import check_scope, join_scope
from agentmem.tiers.inspect import get, history, list_facts
from agentmem.tiers.recall import recall, recall_many
from agentmem.tiers.remember import remember
from agentmem.tiers.trace import trace

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from agentmem._native import Hit
    from agentmem.skills import Skills
    from agentmem.tiers.documents import Documents
    from agentmem.toollog.canvas import Canvas

__all__ = ["Memory"]


class Memory(Operations, Pipeline):
    """One folder on disk, opened: facts go in, the right ones come back.

    Handles may be used from any thread; several processes may open one folder. A handle that was
    inherited over a fork raises :class:`~agentmem.errors.ForkedError`.

    Args:
        path: The folder; it is made where it does not exist.
        embedder: None for the packaged MiniLM (loaded at first need), a path to a model folder, an
            :class:`~agentmem.protocols.Embedder`, or
            :class:`~agentmem.protocols.GivenEmbeddings` for a host with its own vectors.
        scope: The scope that this handle is bound to; reads see it and what is below it.
        clock: Says what time it is; the system's by default.
        durability: ``"full"`` syncs to disk before a write returns; ``"normal"`` may lose the last
            writes at a power cut, never the folder.
        redact: Whether secrets are replaced before anything is written.
        ann: ``"auto"``, ``"exact"`` or ``"hnsw"``: how the vector signal searches.
        extractor: Reads facts from captured messages; None for the built-in rules.
        extractor_timeout_s: How long one answer of the host's extractor may take.
        summarizer: Rewrites what scenes are called, in this process; None for the rules.
        consolidate: ``"manual"``, or ``"background"`` for ``start_consolidation`` at once.

    Raises:
        NotAStoreError: The folder holds something else.
        EmbedderMismatchError: The store's vectors were made by another embedder.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        embedder: Embedder | GivenEmbeddings | str | os.PathLike[str] | None = None,
        scope: str = "",
        clock: Clock | None = None,
        durability: Literal["full", "normal"] = "full",
        redact: bool = True,
        ann: Literal["auto", "exact", "hnsw"] = "auto",
        extractor: Extractor | None = None,
        extractor_timeout_s: float = 60.0,
        summarizer: Summarizer | None = None,
        consolidate: Literal["manual", "background"] = "manual",
    ) -> None:
        if durability not in ("full", "normal"):
            raise InvalidInputError(f"durability: 'full' or 'normal', not {durability!r}")
        if ann not in ("auto", "exact", "hnsw"):
            raise InvalidInputError(f"ann: 'auto', 'exact' or 'hnsw', not {ann!r}")
        if consolidate not in ("manual", "background"):
            raise InvalidInputError(f"consolidate: 'manual' or 'background', not {consolidate!r}")
        check_flag(redact, "redact")
        check_function(clock, "clock")
        self._scope = check_scope(scope)
        self._shared = Opened(
            check_path(path, "path").absolute(), embedder, clock, durability, ann, redact=redact,
            extractor=checked_extractor(extractor),
            extractor_timeout_s=checked_timeout(extractor_timeout_s),
            summarizer=checked_summarizer(summarizer),
        )  # fmt: skip
        if self._shared.is_purge_due:
            # A crash ended it. While another process is at it, it is that one's.
            with suppress(StoreBusyError):
                self.purge()
        if consolidate == "background":
            self.start_consolidation()

    @property
    def path(self) -> Path:
        """The folder."""
        return self._shared.path

    @property
    def scope(self) -> str:
        """The scope that this handle is bound to."""
        return self._scope

    @property
    def embedder(self) -> Embedder | GivenEmbeddings:
        """What makes the vectors."""
        return self._shared.embedder

    @property
    def skills(self) -> Skills:
        """What was learnt of how work is done: see :class:`~agentmem.skills.Skills`."""
        from agentmem.skills import Skills

        return Skills(self._shared, self._scope)

    @property
    def documents(self) -> Documents:
        """A host's JSON documents by scope and key, below this handle's scope."""
        from agentmem.tiers.documents import Documents

        return Documents(self._shared, self._scope)

    def scoped(self, scope: str) -> Memory:
        """Return a handle of the same store, bound to a scope below this one's."""
        handle = copy(self)
        handle._scope = check_scope(join_scope(self._scope, check_scope(scope)))  # noqa: SLF001
        return handle

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Memory({str(self._shared.path)!r}, scope={self._scope!r})"

    def close(self) -> None:
        """Close the folder for every handle of it; a second call does nothing."""
        self._shared.close()

    # Writes

    def remember(
        self,
        text: str,
        *,
        key: str | None = None,
        session: str | None = None,
        kind: str = "fact",
        tags: Iterable[str] = (),
        metadata: Mapping[str, Any] | None = None,
        subject: str | None = None,
        attribute: str | None = None,
        value: Any = None,
        valid_from: datetime | None = None,
        valid_to: datetime | None = None,
        priority: int = 50,
        sources: Iterable[str] = (),
        supersedes: str | Iterable[str] | None = None,
        embedding: Sequence[float] | npt.NDArray[np.float32] | None = None,
    ) -> Fact:
        """Write one fact (L1); it is on disk and found by ``recall`` when this returns.

        The same text in the same scope, after Unicode and white-space folding, is a duplicate: the
        stored fact comes back, unless the call says something else of it, which makes a new
        version. Of another ``subject``, or of an event at another ``valid_from``, it is a fact of
        its own. With ``key`` the fact replaces the current one of that key in this scope; the old
        version stays in ``history``. Without ``sources`` the text is also kept as an L0 turn of
        origin ``asserted``, so that every trace ends in L0.

        Args:
            text: What is the case; not blank, at most 64 Mi characters.
            key: The host's own name for the fact, unique in its scope.
            session: The run that it belongs to.
            kind: ``fact``, ``decision``, ``instruction``, … any name.
            tags: Names to filter by.
            metadata: JSON data of the host, to filter by and to get back.
            subject: Whom or what it is about.
            attribute: Which property of the subject.
            value: The property's value, JSON data.
            valid_from: When it begins to hold; timezone-aware. Until then ``recall`` finds it only
                with ``as_of``, and still finds what it supersedes. A ``kind="event"`` is found at
                once: of it this is when it happens.
            valid_to: When it stops to hold; timezone-aware.
            priority: 0 to 100.
            sources: Ids of the L0 turns or L1 facts that it rests on.
            supersedes: Ids of facts that it replaces.
            embedding: The host's vector, ``ndim`` numbers; it is scaled to unit length.

        Raises:
            InvalidInputError: An argument is wrong; nothing was written.
            NotFoundError: A source or a superseded fact does not exist in this scope.
            StorageFullError: No space; nothing was written.
        """
        item = {
            "text": text, "key": key, "session": session, "kind": kind, "tags": tags,
            "metadata": metadata, "subject": subject, "attribute": attribute, "value": value,
            "valid_from": valid_from, "valid_to": valid_to, "priority": priority,
            "sources": sources, "supersedes": supersedes, "embedding": embedding,
        }  # fmt: skip
        try:
            return remember(self._shared, self._scope, [item])[0]
        except InvalidInputError as error:
            if str(error).startswith("facts[0]: "):
                raise InvalidInputError(str(error).removeprefix("facts[0]: ")) from error
            raise

    def remember_many(
        self,
        facts: Iterable[str | Mapping[str, Any]],  # noqa: A002, RUF100
        *,
        progress: Progress | None = None,
    ) -> list[Fact]:
        """Write many facts; each item is a text or a mapping of ``remember``'s arguments.

        Everything is checked before the first row is written. The writes are atomic pieces of at
        most 2,000 facts and idempotent: after an error in the middle, run it again.

        Args:
            facts: The facts, in order.
            progress: Called as ``progress(done, total)`` after each piece; ``done`` facts are on
                disk then.

        Raises:
            InvalidInputError: An item is wrong; the message names its position.
        """
        return remember(self._shared, self._scope, facts, progress=progress)

    def capture(self, messages: Any, *, session: str, format: str = "auto") -> Captured:
        """Write a host's log (L0), verbatim; what the session has already is left alone.

        Give the log whole each time, a window that ends with the newest messages, or the newest
        alone: what is new is found. Messages without ids or times of their own, given without
        those before them, that repeat earlier ones word for word are taken for a replay and not
        written again, be it one message, a whole turn or a call with its result; give the log
        whole where that can happen. An imported session has turns only: capturing its log writes
        them again. Each part is a turn with the trust of who spoke; the host's record is kept
        too. Writes are atomic pieces of at most 2,000 turns.

        Args:
            messages: What ``tool_calls`` reads: a list, JSON or JSONL, an open file, a path.
            session: The run that it belongs to, in this scope.
            format: As for ``tool_calls``.

        Raises:
            InvalidInputError: The session or the format is none.
            ToolLogError: Nothing in the log can be read.
        """
        from agentmem.tiers.capture import capture

        if self._shared.worker is not None:
            self._shared.worker.ensure()
        return capture(self._shared, self._scope, messages, session=session, format_=format)

    # Reads

    def recall(
        self,
        query: str,
        *,
        k: int = 5,
        tiers: Sequence[str] = ("L1",),
        kinds: Iterable[str] | None = None,
        tags: Iterable[str] | None = None,
        any_tags: Iterable[str] | None = None,
        where: Mapping[str, Any] | None = None,
        scopes: Iterable[str] | None = None,
        session: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        as_of: datetime | None = None,
        embedding: Sequence[float] | npt.NDArray[np.float32] | None = None,
        ranking: Ranking | None = None,
        explain: bool = False,
    ) -> list[Hit]:
        """Return the k rows that fit the query best, best first.

        Both signals vote, always: BM25 over the text, cosine over the embedding, fused by RRF. Rows
        of one session lend one another support, and times that the query names lift their rows.
        Filters hold inside the engine, before ranking. Facts are found that hold now, or at the time
        of ``as_of``: not those that are superseded, expired or begin to hold later; one that is
        replaced from a later time on is found up to it. An event is found from when it is told, whenever it is.

        Cost: one embedding and one native call (benches/bench_recall.py).
        Source: Cormack, Clarke, Büttcher: Reciprocal Rank Fusion, SIGIR 2009.

        Args:
            query: Any text; a blank one without an embedding matches nothing.
            k: Hits wanted, 1 to 10,000.
            tiers: Which tiers are searched.
            kinds: Any of these kinds.
            tags: All of these tags.
            any_tags: At least one of these tags.
            where: Conditions on metadata, and on the row's own fields as ``$kind``, ``$session``…
            scopes: Only these scopes below the memory's own, each with what is below it.
            session: Only rows of this session.
            since: Event time, else creation, not before this.
            until: Event time, else creation, before this.
            as_of: What was valid at this time, superseded facts included.
            embedding: The query's vector, instead of embedding the text.
            ranking: Another way to rank than the measured one.
            explain: Fill ``Hit.explanation``: k, rank, score, weight and part of each signal, and
                every other part of the score under ``"parts"``. With ``fusion="score"`` a part is
                the score brought to 0..1; k is None and there is no weight.

        Returns:
            At most k hits; equal scores are ordered by smaller id.

        Raises:
            InvalidInputError: An argument is wrong.
            EmbeddingError: The embedder failed; BM25 alone is not an answer.
        """
        conditions: dict[str, Any] | None = None
        is_whole = kinds is tags is any_tags is where is scopes is session is None
        if not (is_whole and since is until is as_of is None and tiers == ("L1",)):
            conditions = {
                "tiers": tiers, "kinds": kinds, "tags": tags, "any_tags": any_tags, "where": where,
                "scopes": scopes, "session": session, "since": since, "until": until, "as_of": as_of,
            }  # fmt: skip
        return recall(
            self._shared, self._scope, query, k=k, embedding=embedding, ranking=ranking,
            explain=explain, conditions=conditions,
        )  # fmt: skip

    def recall_many(
        self,
        /,
        queries: Sequence[str],
        *,
        k: int = 5,
        embeddings: Sequence[Sequence[float]] | npt.NDArray[np.float32] | None = None,
        ranking: Ranking | None = None,
        explain: bool = False,
        **filters: Any,
    ) -> list[list[Hit]]:
        """Return the hits of several queries in one native call, in the order of the queries.

        Args:
            queries: The questions.
            k: Hits wanted for each.
            embeddings: The queries' vectors, shape ``(len(queries), ndim)``.
            ranking: As in ``recall``.
            explain: As in ``recall``.
            **filters: As in ``recall``, the same for all.
        """
        return recall_many(
            self._shared,
            self._scope,
            queries,
            k=k,
            embeddings=embeddings,
            ranking=ranking,
            explain=explain,
            **filters,
        )

    def facts(
        self,
        *,
        where: Mapping[str, Any] | None = None,
        limit: int = 100,
        after: str | None = None,
    ) -> list[Fact]:
        """Return current facts, which nothing superseded, in the order of their ids: stable paging.

        Those that expired or begin to hold later are among them; ``recall`` finds what holds now.

        Args:
            where: Conditions, as in ``recall``.
            limit: At most so many, 1 to 100,000.
            after: Only facts behind this id; pass the last id of a page for the next one.
        """
        return list_facts(self._shared.database, self._scope, where=where, limit=limit, after=after)

    def get(self, id: str) -> Turn | Fact | Scene | Persona:
        """Return one row of any tier.

        Raises:
            NotFoundError: It does not exist in this scope.
        """
        return get(self._shared.database, self._scope, id)

    def history(self, id: str) -> list[Turn | Fact | Scene | Persona]:
        """Return every version of a row, oldest first, whichever version is named.

        A turn has one; a scene's are those that were merged into it, a persona's all of its scope.

        Raises:
            NotFoundError: It does not exist in this scope.
        """
        return history(self._shared.database, self._scope, id)

    def trace(self, id: str) -> Trace:
        """Return the way from a row down to the L0 turns that it rests on.

        Raises:
            NotFoundError: It does not exist in this scope.
        """
        tier, number = parse_id(id)
        with self._shared.database.read() as connection:
            return trace(connection, self._scope, tier, number)

    def canvas(self, session: str) -> Canvas:
        """Return the diagram of a session's tool calls; those drawn before are not read again.

        Raises:
            NotFoundError: No such session was captured in this scope.
        """
        from agentmem.tiers.canvas import canvas

        return canvas(self._shared, self._scope, session)

    def expand(
        self,
        ref: str,
        *,
        session: str | None = None,
        part: Literal["result", "arguments", "record"] = "result",
        lines: str | int | Sequence[int] | None = None,
        grep: str | None = None,
        max_tokens: int | None = None,
    ) -> str:
        """Return what a ref of a canvas stands for, equal to what the host sent.

        Args:
            ref: ``"c31"`` or ``"c7_3"``, a call of the session; or ``"L0:12"``, any turn.
            session: The call's session; needed where several were captured.
            part: ``"result"`` (``""`` while none came), ``"arguments"``, or the host's ``"record"``.
            lines: ``"10-20"``, ``"10-"``, ``"-20"``, ``10`` or ``(10, 20)``: 1-based, inclusive.
            grep: Only lines that hold this text, each behind its number and a colon; no pattern.
            max_tokens: Cut behind the last line that fits, and say how much is left out.

        Raises:
            InvalidInputError: The ref is none, or several sessions have it and none is named.
            NotFoundError: It does not exist in this scope.
        """
        from agentmem.tiers.canvas import expand

        cuts: Any = {"lines": lines, "grep": grep, "max_tokens": max_tokens}
        return expand(self._shared, self._scope, ref, session=session, part=part, **cuts)

    def compact(
        self,
        messages: Sequence[Any],
        *,
        budget_tokens: int,
        session: str,
        format: str = "auto",
        count_tokens: TokenCounter | None = None,
    ) -> Compacted:
        """Return the host's message list with old tool results replaced by refs and the canvas.

        The list is captured first, so ``expand`` gives every result back. What users said, the
        calls and the last two turns stay; old results become one line each, the last one with the
        canvas. Between two steps the list only grows at its end; a step changes it from the last
        canvas on. What came back may be given again, with the messages that came since.

        Args:
            messages: OpenAI chat messages, OpenAI Responses items or Anthropic messages.
            budget_tokens: Tokens that the list may have; as much is replaced as it takes.
            session: As in ``capture``, and ``format`` too.
            format: As for ``tool_calls``.
            count_tokens: Counts the tokens of a message's JSON; None for the built-in estimate.

        Raises:
            InvalidInputError: ``messages`` is no flat list, or another argument is wrong.
        """
        from agentmem.tiers.compact import compact

        asked: Any = {"budget_tokens": budget_tokens, "count_tokens": count_tokens}
        return compact(
            self._shared, self._scope, messages, session=session, format_=format, **asked
        )
