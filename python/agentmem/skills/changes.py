"""The verbs that change skills, as methods of ``memory.skills``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from agentmem.models import Evidence, SkillVersion
    from agentmem.opened import Opened
    from agentmem.skills.lifecycle import Lifecycle
    from agentmem.skills.options import SkillOptions

__all__ = ["Changes"]


class Changes:
    """What :class:`~agentmem.skills.Skills` offers to read and change single skills."""

    _opened: Opened
    _scope: str
    _options: SkillOptions

    @property
    def _lifecycle(self) -> Lifecycle:
        from agentmem.skills.lifecycle import Lifecycle

        self._opened.check()
        return Lifecycle(self._opened, self._options, self._scope)

    # Reading

    def get(self, name: str, *, version: int | None = None) -> SkillVersion:
        """Return a version of a skill, the newest by default, whatever its state.

        Raises:
            NotFoundError: There is none of this name, or no such version, in this scope.
            CorruptStoreError: The version is not what was written.
        """
        from agentmem.skills.names import check_count
        from agentmem.skills.rows import find_one, load_version

        if version is not None:
            check_count(version, "version", 1)
        with self._opened.database.read() as connection:
            skill = find_one(connection, self._scope, name)
            return load_version(
                connection, skill, version,
                now_ms=self._opened.now_ms(), stale_days=self._options.stale_days,
            )  # fmt: skip

    def versions(self, name: str) -> list[SkillVersion]:
        """Return every version of a skill, oldest first.

        Raises:
            NotFoundError: There is none of this name in this scope.
            CorruptStoreError: A version is not what was written.
        """
        newest = self._head(name)
        return [self.get(name, version=number) for number in range(1, newest + 1)]

    def _head(self, name: str) -> int:
        from agentmem.skills.rows import find_one

        with self._opened.database.read() as connection:
            return find_one(connection, self._scope, name).version

    def diff(self, name: str, a: int, b: int) -> str:
        """Return the unified diff of the bodies of two versions; empty if they are equal.

        Raises:
            NotFoundError: There is no such skill or version in this scope.
        """
        from agentmem.skills.apply import body_diff
        from agentmem.skills.names import check_count

        for argument, number in (("a", a), ("b", b)):
            check_count(number, argument, 1)
        before, after = self.get(name, version=a), self.get(name, version=b)
        return body_diff(before.body, after.body, name=name, versions=(a, b))

    # Changing

    def create(
        self,
        name: str,
        *,
        description: str,
        body: str,
        owner: str,
        resources: Mapping[str, bytes] | None = None,
        metadata: Mapping[str, Any] | None = None,
        author: str | None = None,
        reasons: Iterable[str] = (),
        evidence: Iterable[Evidence] = (),
        merge_into: str | None = None,
        expected_version: int | None = None,
    ) -> SkillVersion:
        """Propose a new skill; it is handed out after ``approve``.

        Args:
            name: 1 to 64 of ``a-z``, ``0-9`` and single hyphens between them.
            description: What it does and when to use it, at most 1,024 characters.
            body: Markdown, at most 50,000 characters.
            owner: Who may change it from now on.
            resources: Files by path below ``scripts/``, ``references/`` or ``assets/``.
            metadata: JSON data kept with the version.
            author: Who made it; the owner by default.
            reasons: Why it is made.
            evidence: Archives and L0 rows that it rests on.
            merge_into: Make it the next version of this skill instead of a new one.
            expected_version: With ``merge_into``, that skill's newest version.

        Raises:
            InvalidInputError: An argument is wrong.
            SkillExistsError: The name is taken, or another skill says nearly the same.
            NotFoundError: The evidence does not exist in this scope.
        """
        from agentmem.models import Draft
        from agentmem.skills.names import check_author, check_mapping, check_name, check_sequence

        check_author(author)
        if merge_into is not None:
            check_name(merge_into, "merge_into")

        draft = Draft(
            name=name, description=description, body=body,
            resources=check_mapping(resources, "resources"),
            metadata=check_mapping(metadata, "metadata"),
        )  # fmt: skip
        return self._lifecycle.create(
            draft, owner=owner, author=author, reasons=_texts(reasons),
            evidence=check_sequence(evidence, "evidence"),
            merge_into=merge_into, expected_version=expected_version,
        )  # fmt: skip

    def update(
        self,
        name: str,
        *,
        owner: str,
        expected_version: int | None = None,
        description: str | None = None,
        body: str | None = None,
        resources: Mapping[str, bytes] | None = None,
        metadata: Mapping[str, Any] | None = None,
        author: str | None = None,
        reasons: Iterable[str] = (),
        evidence: Iterable[Evidence] = (),
    ) -> SkillVersion:
        """Propose the next version of a skill; what is not given stays as it is.

        Args:
            name: The skill.
            owner: Its owner.
            expected_version: The newest version that the change is based on; needed.
            description: As in ``create``, like the others.
            body: The whole new body.
            resources: All files of the new version.
            metadata: All metadata of the new version.
            author: Who made it.
            reasons: Why.
            evidence: What it rests on.

        Raises:
            InvalidInputError: An argument is wrong, or ``expected_version`` is missing.
            NotFoundError: There is none of this name in this scope.
            NotOwnerError: It belongs to somebody else.
            ConflictError: It has another newest version by now.
            IllegalMoveError: It is retired; ``rollback`` brings it back.
        """
        from agentmem.models import Draft
        from agentmem.skills.names import (
            check_author,
            check_mapping,
            check_owner,
            check_sequence,
        )

        check_owner(owner)
        check_author(author)
        lifecycle = self._lifecycle
        base: Any = None
        if None in (description, body, resources, metadata):
            base = self.get(name)
        draft = Draft(
            name=name,
            description=base.description if description is None else description,
            body=base.body if body is None else body,
            resources=base.resources
            if resources is None
            else check_mapping(resources, "resources"),
            metadata=base.metadata if metadata is None else check_mapping(metadata, "metadata"),
        )
        return lifecycle.update(
            draft, owner=owner, expected_version=expected_version, author=author,
            reasons=_texts(reasons), evidence=check_sequence(evidence, "evidence"),
        )  # fmt: skip

    def approve(
        self,
        name: str,
        *,
        owner: str,
        version: int | None = None,
        expected_version: int | None = None,
        note: str = "",
    ) -> SkillVersion:
        """Approve a proposed version: it is handed out from now on.

        Older proposals are passed over; a session that is pinned to an older version keeps it.

        Args:
            name: The skill.
            owner: Its owner.
            version: Which version; the newest by default.
            expected_version: Only if this is the newest version.
            note: Why, for people.

        Raises:
            NotFoundError: There is no such skill or version in this scope.
            NotOwnerError: It belongs to somebody else.
            ConflictError: It has another newest version by now.
            IllegalMoveError: The version is not a proposal.
        """
        return self._lifecycle.move(
            "approve", name, owner=owner, version=version, expected_version=expected_version, note=note
        )  # fmt: skip

    def reject(
        self,
        name: str,
        *,
        owner: str,
        version: int | None = None,
        expected_version: int | None = None,
        note: str = "",
    ) -> SkillVersion:
        """Reject a proposed version; arguments and errors are those of ``approve``."""
        return self._lifecycle.move(
            "reject", name, owner=owner, version=version, expected_version=expected_version, note=note
        )  # fmt: skip

    def retire(
        self,
        name: str,
        *,
        owner: str,
        version: int | None = None,
        expected_version: int | None = None,
        note: str = "",
    ) -> SkillVersion:
        """Take a skill out of use, in pinned sessions too; with an older ``version`` only that one.

        Nothing is deleted. Arguments and errors are those of ``approve``.
        """
        return self._lifecycle.move(
            "retire", name, owner=owner, version=version, expected_version=expected_version, note=note
        )  # fmt: skip

    def rollback(
        self,
        name: str,
        *,
        to: int,
        owner: str,
        expected_version: int | None = None,
        note: str = "",
    ) -> SkillVersion:
        """Make what an earlier version says the newest version; approved if that one ever was.

        Args:
            name: The skill.
            to: The version to bring back.
            owner: Its owner.
            expected_version: The newest version; needed.
            note: Why, for people.

        Raises:
            InvalidInputError: An argument is wrong, or ``expected_version`` is missing.
            NotFoundError: There is no such skill or version in this scope.
            NotOwnerError: It belongs to somebody else.
            ConflictError: It has another newest version by now.
            IllegalMoveError: That version was rejected.
        """
        return self._lifecycle.rollback(
            name, to=to, owner=owner, expected_version=expected_version, note=note
        )

    def report(
        self, name: str, version: int, *, session: str, outcome: Literal["success", "failure"]
    ) -> SkillVersion:
        """Say how a version did in a session.

        Two failures in a row make it suspect: it is ranked last and flagged, and a task for a
        person is opened. A success, or a new approved version, clears that.

        Raises:
            InvalidInputError: The outcome is neither ``"success"`` nor ``"failure"``.
            NotFoundError: There is no such skill or version in this scope.
            IllegalMoveError: The version was never handed out.
        """
        return self._lifecycle.report(name, version, session=session, outcome=outcome)


def _texts(values: Iterable[str]) -> tuple[str, ...]:
    from agentmem.skills.names import check_sequence, check_text

    given = check_sequence(values, "reasons")
    return tuple(check_text(value, "reasons", 1_000) for value in given)
