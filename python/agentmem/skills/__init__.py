"""Skills: from the buffer of a conversation to a reviewed, versioned, governed way of working.

A memory says what happened; a skill tells another agent how to do a class of work. So it has a
path of its own: buffer, archive, review, versions that somebody approves, and a loadout.
"""

from __future__ import annotations

import builtins
import threading
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentmem.arguments import check_flag, check_function, check_path
from agentmem.errors import InvalidInputError, NotFoundError
from agentmem.skills.changes import Changes

if TYPE_CHECKING:
    import os

    from agentmem.models import (
        Archive,
        ArchiveView,
        Buffered,
        Loadout,
        Review,
        SkillVersion,
        Task,
    )
    from agentmem.opened import Opened
    from agentmem.protocols import Reviewer, TokenCounter

__all__ = ["Skills"]

_STATES = ("proposed", "approved", "rejected", "retired")
_TASK_STATES = ("waiting", "leased", "blocked", "done", "dead")
_MAX_LIMIT = 100_000


class Skills(Changes):
    """The skills of one scope of an open memory: ``memory.skills``.

    Args:
        opened: The open folder.
        scope: The scope that the memory is bound to.
    """

    def __init__(self, opened: Opened, scope: str) -> None:
        from agentmem.skills.options import SkillOptions

        self._opened = opened
        self._scope = scope
        self._options = SkillOptions()

    def configure(self, **changes: Any) -> Skills:
        """Return a handle with other settings; this one keeps its own.

        Args:
            **changes: Fields of :class:`~agentmem.skills.options.SkillOptions`: thresholds
                (``archive_calls``, ``archive_bytes``, ``oversize_bytes``, ``shorten_bytes``),
                ``archives`` (an external store of payloads), ``auto_approve``,
                ``review_timeout_s``, ``lease_s``, ``stale_days``.

        Raises:
            InvalidInputError: A name is none, or a value is out of its range.
        """
        handle = copy(self)
        handle._options = self._options.changed(changes)  # noqa: SLF001
        return handle

    # From conversations to archives

    def add(
        self,
        messages: Any,
        *,
        session: str,
        owner: str,
        format: str = "auto",
        succeeded: bool | None = None,
    ) -> Buffered:
        """Feed messages of a session; now and then this archives what has come together.

        They are captured to L0 too, in the same transaction, as ``memory.capture`` does: a host
        feeds once, whole or in pieces, and what is there already adds nothing.

        Args:
            messages: What ``tool_calls`` reads.
            session: The run that they belong to, in this scope.
            owner: Whose skills are to be made of it.
            format: As for ``tool_calls``.
            succeeded: The host's word on whether the work succeeded; it goes with the next archive.

        Returns:
            How full the buffer is now, what was left out, and the archive if one was made.

        Raises:
            InvalidInputError: An argument is wrong; nothing was written.
            ToolLogError: Nothing in the log can be read.
            StorageFullError: No space. What was fed before is kept; add the same again later.
        """
        from agentmem.skills.buffer import add

        return add(
            self._opened, self._options, self._scope, messages,
            session=session, owner=owner, format_=format, succeeded=succeeded,
        )  # fmt: skip

    def archive(
        self,
        session: str,
        *,
        owner: str,
        intent: str | None = None,
        succeeded: bool | None = None,
    ) -> Archive:
        """Archive what a session's buffer holds now, however little it is.

        Args:
            session: The session.
            owner: Whose buffer it is.
            intent: What a person wants made of it.
            succeeded: The host's word on whether the work succeeded.

        Returns:
            The archive; one with ``reason == "empty"`` and no id where there was nothing.

        Raises:
            InvalidInputError: An argument is wrong.
        """
        from agentmem.skills.archive import force

        return force(
            self._opened, self._options, self._scope, session, owner,
            intent=intent, succeeded=succeeded,
        )  # fmt: skip

    def archive_view(self, archive: str) -> ArchiveView:
        """Return an archive as a reviewer reads it.

        Raises:
            NotFoundError: It does not exist in this scope.
            ArchiveError: Its payload is missing or damaged.
        """
        from agentmem.skills.archive import load_view
        from agentmem.skills.names import parse_number

        self._opened.check()
        number = parse_number(archive, "archive")
        return load_view(self._opened, self._options, self._scope, number)

    def sweep(self) -> int:
        """Remove from the external archive store what no archive of this memory refers to.

        Such payloads are left by a crash between payload and row, or by ``forget``. Use it only
        for an archive store that no other memory shares, while nobody feeds this one.

        Returns:
            How many payloads were removed.

        Raises:
            InvalidInputError: There is no external store, or it can't name its keys.
        """
        from agentmem.store import skill_archives

        store = self._options.archives
        keys = getattr(store, "keys", None)
        if store is None or not callable(keys):
            raise InvalidInputError("archives: a store with keys() is needed; see configure()")
        with self._opened.database.read() as connection:
            held = skill_archives.locations(connection)
        unused = sorted(set(keys()) - held)
        for key in unused:
            store.delete(key)
        return len(unused)

    # Reviews

    def review(
        self, *, reviewer: Reviewer | None = None, limit: int | None = None
    ) -> builtins.list[Review]:
        """Review the archives that wait, and return how each went.

        Several threads and processes may do this at once. What a reviewer proposes waits for
        ``approve``. A task whose reviewer fails is tried again later, and parked as dead with its
        error after eight failures.

        Args:
            reviewer: Who judges; the rule-based one, which needs no model, by default.
            limit: At most so many tasks.

        Raises:
            InvalidInputError: The limit is no number from 1 on.

        Warns:
            StoreWarning: A task is blocked, because its archive is missing or damaged.
        """
        from agentmem.skills.names import check_count
        from agentmem.skills.review import Reviewing

        if limit is not None:
            check_count(limit, "limit", 1)
        self._opened.check()
        return Reviewing(self._opened, self._options, self._scope, _reviewer(reviewer)).run(limit)

    def watch(
        self,
        stop: threading.Event,
        *,
        reviewer: Reviewer | None = None,
        on_review: Callable[[Review], None] = lambda _: None,
    ) -> None:
        """Review whatever comes, in any process, until ``stop`` is set.

        Args:
            stop: Ends the watch within a twentieth of a second, after the task at hand.
            reviewer: As in ``review``.
            on_review: Called after each task.

        Raises:
            InvalidInputError: An argument is none of these.
        """
        from agentmem.skills.review import Reviewing

        if not (callable(getattr(stop, "is_set", None)) and callable(getattr(stop, "wait", None))):
            raise InvalidInputError(f"stop: a threading.Event is needed, {stop!r} was given")
        if not callable(on_review):
            raise InvalidInputError(f"on_review: a function is needed, {on_review!r} was given")
        self._opened.check()
        reviewing = Reviewing(self._opened, self._options, self._scope, _reviewer(reviewer))
        reviewing.watch(stop, on_review)

    def queue(
        self,
        *,
        states: Sequence[str] = ("waiting", "leased", "blocked", "dead"),
        limit: int = 100,
    ) -> builtins.list[Task]:
        """Return the reviews that are not done, the newest first.

        Args:
            states: ``waiting``, ``leased``, ``blocked``, ``dead``, ``done``.
            limit: At most so many.

        Raises:
            InvalidInputError: A state is none, or the limit is out of its range.
        """
        from agentmem.skills.names import check_count, check_sequence
        from agentmem.skills.reading import tasks

        states = check_sequence(states, "states")
        unknown = [state for state in states if state not in _TASK_STATES]
        if unknown:
            raise InvalidInputError(f"states: {', '.join(_TASK_STATES)}, not {unknown[0]!r}")
        self._opened.check()
        limit = min(check_count(limit, "limit", 1), _MAX_LIMIT)
        return tasks(self._opened, self._scope, states=states, limit=limit)

    def requeue(self, task: str) -> None:
        """Put a dead or blocked task back into the queue with a clean count.

        Raises:
            NotFoundError: It does not exist in this scope, or is neither dead nor blocked.
        """
        from agentmem.skills.names import parse_number
        from agentmem.store import skill_tasks

        number = parse_number(task, "task")
        stopped = self.queue(states=("dead", "blocked"), limit=_MAX_LIMIT)
        if task not in {one.id for one in stopped}:
            raise NotFoundError(f"there is no dead or blocked {task} in this scope")
        now_ms = self._opened.now_ms()
        self._opened.database.write(
            lambda transaction: skill_tasks.restart(transaction.connection, number, now_ms)
        )

    # Handing out

    def loadout(
        self,
        query: str | None = None,
        *,
        owner: str,
        budget_tokens: int = 2000,
        pin: str | None = None,
        count_tokens: TokenCounter | None = None,
    ) -> Loadout:
        """Return what an agent is handed: its owner's approved skills, within a token budget.

        Identities of all that fit come first, then bodies by relevance, outcomes and trust.

        Args:
            query: What the agent is to do.
            owner: Whose skills.
            budget_tokens: Tokens that the text may have.
            pin: A session, which keeps the version of each skill that it is first handed. If that
                version is retired the session gets none of that skill.
            count_tokens: Counts tokens; the built-in estimate by default.

        Raises:
            InvalidInputError: An argument is wrong.
        """
        from agentmem._native import estimate_tokens
        from agentmem.skills.loadout import arrange
        from agentmem.skills.names import check_count, check_owner
        from agentmem.skills.reading import approved, hold
        from agentmem.tiers.capture import check_session

        check_owner(owner)
        check_count(budget_tokens, "budget_tokens", 1)
        if query is not None and not isinstance(query, str):
            raise InvalidInputError(f"query: a text is needed, {query!r} was given")
        if pin is not None:
            check_session(pin, argument="pin")
        check_function(count_tokens, "count_tokens")
        self._opened.check()
        handed = approved(self._opened, self._options, self._scope, owner, query=query, pin=pin)
        loadout, shown = arrange(
            handed.views,
            scores=handed.scores,
            budget_tokens=budget_tokens,
            pin=pin,
            count_tokens=count_tokens or estimate_tokens,
        )
        if pin is not None:
            hold(
                self._opened, self._scope, owner, pin,
                fresh=handed.fresh, shown=[handed.views[place] for place in shown],
            )  # fmt: skip
        return loadout

    def export(
        self,
        directory: str | os.PathLike[str],
        *,
        names: Iterable[str] | None = None,
        owner: str | None = None,
    ) -> builtins.list[Path]:
        """Write skills as Agent Skills folders, ``<directory>/<name>/SKILL.md``; return the folders.

        Args:
            directory: Where; it is made where it does not exist.
            names: Which skills, the newest version of each whatever its state; by default every
                skill that has an approved version, the newest of those.
            owner: Only this owner's.

        Raises:
            InvalidInputError: Something else is in the way, or an argument is wrong.
            NotFoundError: There is none of a name in this scope.
            StorageFullError: No space; no part of a skill is left behind.
        """
        from agentmem.skills.names import check_owner, check_sequence
        from agentmem.skills.skill_md import export_skill

        target = check_path(directory, "directory")
        if owner is not None:
            check_owner(owner)
        if names is None:
            chosen = self.list(state="approved", owner=owner)
        else:
            found = [self.get(name) for name in check_sequence(names, "names")]
            chosen = [one for one in found if owner is None or one.owner == owner]
        return [export_skill(one, target) for one in chosen]

    def import_(
        self, directory: str | os.PathLike[str], *, owner: str = "imported", merge: bool = False
    ) -> builtins.list[SkillVersion]:
        """Take in Agent Skills folders; each arrives proposed, with what a lint found as flags.

        Args:
            directory: A folder of skill folders, one skill folder, or a zip file of either.
            owner: Whose skills they become.
            merge: Make a skill of a name that is there already its next version.

        Raises:
            InvalidInputError: A folder is no skill, or reaches outside itself; as with each error
                below, nothing was taken in.
            SkillExistsError: A name is there already and ``merge`` is false, or another skill says
                nearly the same.
            NotOwnerError: The skill to merge into belongs to somebody else.
        """
        from agentmem.skills.importing import import_drafts
        from agentmem.skills.names import check_owner
        from agentmem.skills.skill_md import read_skills

        check_owner(owner)
        check_flag(merge, "merge")
        self._opened.check()
        drafts = read_skills(check_path(directory, "directory"))
        return import_drafts(
            self._opened, self._options, self._scope, drafts, owner=owner, merge=merge
        )

    def list(
        self, *, state: str | None = None, owner: str | None = None
    ) -> builtins.list[SkillVersion]:
        """Return each skill's newest version, by name; with a state, the newest one in that state.

        Raises:
            InvalidInputError: The state is none.
        """
        from agentmem.skills.names import check_owner
        from agentmem.skills.reading import list_heads

        if state is not None and state not in _STATES:
            raise InvalidInputError(f"state: {', '.join(_STATES)}, not {state!r}")
        if owner is not None:
            check_owner(owner)
        return list_heads(self._opened, self._options, self._scope, state=state, owner=owner)


def _reviewer(given: Reviewer | None) -> Reviewer:
    if given is None:
        from agentmem.skills.reviewer import RuleReviewer

        return RuleReviewer()
    if not callable(getattr(given, "review", None)) or not isinstance(
        getattr(given, "id", None), str
    ):
        raise InvalidInputError(f"reviewer: an id and a review method are needed, not {given!r}")
    return given
