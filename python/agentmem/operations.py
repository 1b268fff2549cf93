"""The upkeep of an open memory: counts, checks, other forms and other places of what it holds."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Literal

from agentmem.arguments import check_flag, check_function, check_path
from agentmem.models import Forgotten, Imported, Purged, Retention, Stats, Verification
from agentmem.opened import Opened, Progress
from agentmem.protocols import Embedder
from agentmem.tiers import retention, transfer
from agentmem.tiers.forget import forget
from agentmem.tiers.import_rows import import_
from agentmem.tiers.inspect import stats, verify
from agentmem.tiers.purge import purge
from agentmem.tiers.reembed import Reembedding, move_to

__all__ = ["Operations"]


class Operations:
    """What :class:`~agentmem.memory.Memory` offers beside writing and reading rows."""

    _shared: Opened
    _scope: str

    def sql(self, query: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a read-only SQL query over the store of all scopes.

        Use this and not another SQLite library: opening ``store.amem`` with one, in a process that
        has it open here, can make the kernel drop locks.
        """
        return self._shared.database.sql(query, parameters)

    def stats(self) -> Stats:
        """Return counts and sizes."""
        return stats(self._shared)

    def verify(self) -> Verification:
        """Check the store, the index and that they agree; nothing is changed.

        Others may write meanwhile: only damage is reported, never a row on its way. Writes of this
        process wait while the keys of the index are read, about a millisecond for a thousand rows.

        A problem of the index is mended by ``rebuild_index``; one of the store needs a backup.
        """
        return verify(self._shared)

    def rebuild_index(self) -> None:
        """Make the search index anew from the store; no row is lost and no model is needed."""
        self._shared.index.rebuild()

    def forget(
        self,
        ids: str | Sequence[str] | None = None,
        *,
        where: Mapping[str, Any] | None = None,
        scope: str | None = None,
        session: str | None = None,
        source: str | Sequence[str] | None = None,
        query: str | None = None,
        dry_run: bool = False,
    ) -> Forgotten:
        """Remove rows of any tier, and what rests on them alone, from the store and every index.

        With a fact go the versions that it replaced, never a newer one; with a turn the host's
        record. Scenes that lose members are made again from what is left, in the same transaction;
        persona versions that quote what goes, go, and the persona is written again. A replay of a
        log does not bring its forgotten records back. ``purge`` afterwards leaves no byte of the
        text in the folder.

        Args:
            ids: One id or several, of any tier.
            where: A condition on current facts, as in ``recall``; not empty.
            scope: A scope below this one, ``""`` for this one: all that is in it and below, with
                the names of its sessions.
            session: All that was captured or remembered of a session.
            source: One id or several: they and all facts that rest on them, even if on others too;
                or ``"user"``, ``"assistant"``, ``"imported"`` or ``"tool"``: all that came from
                there.
            query: Words: every turn, record and fact, of any version, in which they stand one after
                the other, whatever the case and white space.
            dry_run: Only say what would go.

        Raises:
            InvalidInputError: None or several of the selectors are given, or one is wrong.
            NotFoundError: An id does not exist in this scope; nothing is removed.
        """
        check_flag(dry_run, "dry_run")
        return forget(
            self._shared, self._scope, ids=ids, where=where, below=scope, session=session,
            source=source, query=query, dry_run=dry_run,
        )  # fmt: skip

    def purge(self) -> Purged:
        """Rewrite the files so that no byte of forgotten text is left in the folder.

        That is so when this returns; a purge that a crash ended is finished by the next open. Copies
        that migrations kept go too; backups and exports elsewhere are the host's to delete.

        Raises:
            StoreBusyError: Another process kept reading; the purge stays due.
        """
        return purge(self._shared)

    def set_retention(
        self, tier: str, *, max_age: timedelta | None = None, max_bytes: int | None = None
    ) -> None:
        """Set how long the rows of a tier stay in this scope and below, and how large they may be.

        Nothing goes before ``apply_retention``. Age counts for a turn from its writing, for a fact
        from when it was replaced or expired, else from its writing, for a scene from its last
        change, for a persona version from when it was replaced. A turn stays while a fact of any
        version rests on it, or while it was not read yet; the current persona version stays.

        Args:
            tier: ``"L0"`` to ``"L3"``.
            max_age: Older rows go; None for no limit.
            max_bytes: While texts, records and vectors of the tier have more bytes, the oldest go,
                replaced ones first; None for no limit. With neither the policy is removed.

        Raises:
            InvalidInputError: An argument is wrong.
        """
        retention.set_retention(
            self._shared, self._scope, tier, max_age=max_age, max_bytes=max_bytes
        )

    def retention(self) -> tuple[Retention, ...]:
        """Return the policies of this scope and below."""
        return retention.policies(self._shared, self._scope)

    def apply_retention(self, *, dry_run: bool = True) -> Forgotten:
        """Say what the policies of this scope and below let go; with ``dry_run=False`` remove it.

        It is ``forget`` for these rows; afterwards the folder gives back what they took.

        Args:
            dry_run: Only say what would go; the default, so that nobody loses rows by surprise.
        """
        check_flag(dry_run, "dry_run")
        return retention.apply_retention(self._shared, self._scope, dry_run=dry_run)

    def reembed(
        self,
        embedder: Embedder | str | os.PathLike[str] | None,
        *,
        background: bool = False,
        progress: Progress | None = None,
    ) -> Reembedding:
        """Move the store to another embedder; resumable, and the old vectors answer meanwhile.

        The new vectors are made beside the old ones and put in force at once at the end; reads and
        writes go on, and no two spaces are ever compared. What was made stays when it ends early,
        even by a crash: the same call goes on from there. Handles of other processes raise
        ``EmbedderMismatchError`` from the end of the move on, until they are opened anew.

        Args:
            embedder: What makes the new vectors; None for the packaged default.
            background: Return at once and go on in a thread; closing the memory stops it.
            progress: Called as ``progress(done, total)``, in that thread.

        Returns:
            The move: its ``wait`` gives whether the store was moved.

        Raises:
            InvalidInputError: ``GivenEmbeddings``, or a move that is under way.
            EmbeddingError: The embedder failed (in the background ``wait`` raises it).
        """
        check_flag(background, "background")
        check_function(progress, "progress")
        return move_to(self._shared, embedder, background=background, progress=progress)

    def export(
        self,
        path: str | os.PathLike[str],
        *,
        format: Literal["jsonl", "markdown"] = "jsonl",
    ) -> int:
        """Write this scope and what is below it into one file; return the number of rows.

        Args:
            path: The file; with ``.gz`` it is compressed. For ``"markdown"`` a folder, which is made.
            format: ``"jsonl"`` holds every turn and every version of every fact, for ``import_``
                (records and tool calls of captured logs stay behind, and so do skills, which
                ``skills.export`` writes); ``"markdown"`` is for people: ``L0-turns.md``,
                ``L1-facts.md``, ``L2-scenes.md`` and ``L3-persona.md``, what is current in each tier.

        Raises:
            InvalidInputError: An unknown format, or a file inside the memory's own folder.
        """
        target = check_path(path, "path")
        return transfer.export(self._shared, self._scope, target, format_=format)

    def import_(
        self, path: str | os.PathLike[str], *, progress: Progress | None = None
    ) -> Imported:
        """Take in a file of ``export`` below this scope; a second run adds nothing.

        A fact that says something else than the current one of its key, or with other fields than
        the one of its text, subject and event, comes in as an older version of it. Secrets are redacted.

        An imported session has its turns but neither records nor tool calls: ``canvas`` finds no
        such session, and a ``capture`` of the same log writes its turns again.

        Raises:
            InvalidInputError: The file is no export, or its facts have no vectors and the store's
                vectors come from the host; nothing was written.
        """
        check_function(progress, "progress")
        return import_(self._shared, self._scope, check_path(path, "path"), progress=progress)

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Write a consistent copy of the store into a new folder; work goes on meanwhile.

        The folder opens as a memory of its own; its index is made at the first open.

        Raises:
            FileExistsError: The folder holds a store already.
        """
        folder = check_path(path, "path")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._shared.database.backup(folder / "store.amem")
