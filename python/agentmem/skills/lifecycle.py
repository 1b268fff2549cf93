"""What may become of a skill: proposed, approved, rejected, retired; always as a new version.

Each verb is one transaction: it looks for the skill in its scope, then whose it is, then what
version it has, then whether the state allows the move; only then does it write.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from agentmem.errors import (
    ConflictError,
    IllegalMoveError,
    InvalidInputError,
    NotFoundError,
    NotOwnerError,
    SkillExistsError,
)
from agentmem.models import Draft, SkillVersion, Trust
from agentmem.skills.names import check_count, check_owner, check_text
from agentmem.skills.rows import (
    SKILL_TIER,
    check_draft,
    evidence_rows,
    find_one,
    hash_of,
    load_version,
)
from agentmem.skills.similar import near_duplicate, numbers_of
from agentmem.skills.steps import reach
from agentmem.store import skill_tasks, skill_uses, skills
from agentmem.store.guard import StoreWarning
from agentmem.store.scopes import obtain
from agentmem.store.skills import EvidenceRow, SkillRow, VersionRow

if TYPE_CHECKING:
    import apsw

    from agentmem.opened import Opened
    from agentmem.skills.options import SkillOptions
    from agentmem.store.writer import Transaction

__all__ = ["Lifecycle", "add_version", "write_skill"]

_STATES_AFTER: Final = {"approve": "approved", "reject": "rejected", "retire": "retired"}
_STATES_BEFORE: Final = {
    "approve": ("proposed",),
    "reject": ("proposed",),
    "retire": ("approved", "proposed"),
}
_DONE: Final = {"approve": "approved", "reject": "rejected", "retire": "retired"}
_MAX_NOTE: Final = 2_000
_FAILURES_TO_SUSPECT: Final = 2


def add_version(
    transaction: Transaction,
    skill: SkillRow,
    draft: Draft,
    metadata: str,
    *,
    expected_version: int,
    state: str,
    author: str,
    reasons: Sequence[str],
    rests_on: Sequence[EvidenceRow],
    trust: int,
    now_ms: int,
    flags: Sequence[str] = (),
    restores: int | None = None,
    move: str = "propose",
) -> VersionRow:
    """Write the next version of a skill, if the newest one is the expected one.

    Raises:
        ConflictError: It is another by now.
    """
    connection = transaction.connection
    if not skills.raise_head(
        connection, skill.id, expected_version=expected_version, owner=skill.owner
    ):
        current = skills.load(connection, skill.id)
        raise ConflictError(expected_version, skill.version if current is None else current.version)
    reach("head raised")
    row = VersionRow(
        skill_id=skill.id,
        version=expected_version + 1,
        state=state,
        author=author,
        description=draft.description,
        body=draft.body,
        metadata=metadata,
        hash=hash_of(skill.name, draft.description, draft.body, metadata, draft.resources),
        numbers=numbers_of(draft.body),
        reasons=json.dumps(list(reasons)),
        flags=json.dumps(list(flags)),
        trust=trust,
        restores=restores,
        created_ms=now_ms,
        successes=0,
        failures=0,
        failed_in_a_row=0,
        used_ms=None,
    )
    skills.insert_version(connection, row, draft.resources, rests_on)
    skills.add_move(
        connection, skill.id, row.version, move=move, actor=author,
        note=", ".join(reasons), made_ms=now_ms,
    )  # fmt: skip
    transaction.change("skill", SKILL_TIER, skill.id)
    reach("version written")
    return row


def write_skill(
    transaction: Transaction,
    scope: str,
    draft: Draft,
    metadata: str,
    *,
    owner: str,
    now_ms: int,
    **version: Any,
) -> tuple[SkillRow, VersionRow]:
    """Write a new skill with its first version.

    Raises:
        SkillExistsError: The name is taken in this scope.
    """
    connection = transaction.connection
    taken = [row for row in skills.find(connection, scope, draft.name) if row.scope == scope]
    if taken:
        raise SkillExistsError(draft.name, taken[0].version, "has this name already")
    number = skills.insert(connection, obtain(connection, scope), draft.name, owner, now_ms)
    skill = SkillRow(number, scope, draft.name, owner, 0, now_ms)
    row = add_version(
        transaction, skill, draft, metadata, expected_version=0, now_ms=now_ms, **version
    )
    return skill._replace(version=1), row


class Lifecycle:
    """The verbs that change skills, on one scope of an open folder."""

    def __init__(self, opened: Opened, options: SkillOptions, scope: str) -> None:
        self._opened = opened
        self._options = options
        self._scope = scope

    # -- new versions

    def create(
        self,
        draft: Draft,
        *,
        owner: str,
        author: str | None,
        reasons: Sequence[str],
        evidence: Sequence[Any],
        merge_into: str | None,
        expected_version: int | None,
        trust: Trust = Trust.USER,
        flags: Sequence[str] = (),
    ) -> SkillVersion:
        """Propose a new skill, or the next version of the one that it is merged into."""
        check_owner(owner)
        if merge_into is not None:
            draft = Draft(
                name=merge_into,
                description=draft.description,
                body=draft.body,
                resources=draft.resources,
                metadata=draft.metadata,
            )
            return self.update(
                draft, owner=owner, expected_version=expected_version, author=author,
                reasons=reasons, evidence=evidence,
            )  # fmt: skip
        if expected_version is not None:
            raise InvalidInputError(
                "expected_version: a new skill has none; use merge_into with it"
            )
        checked, metadata = check_draft(draft)
        rests_on = evidence_rows(evidence)
        now_ms = self._opened.now_ms()

        def operation(transaction: Transaction) -> tuple[SkillRow, int]:
            connection = transaction.connection
            found = near_duplicate(connection, self._scope, checked)
            if found is not None:
                raise SkillExistsError(found.name, found.version, "says nearly the same")
            self._check_evidence(connection, rests_on)
            skill, row = write_skill(
                transaction, self._scope, checked, metadata, owner=owner, now_ms=now_ms,
                state="proposed", author=author or owner, reasons=reasons, rests_on=rests_on,
                trust=int(trust), flags=flags,
            )  # fmt: skip
            return skill, row.version

        return self.finish(*self._written(operation))

    def update(
        self,
        draft: Draft,
        *,
        owner: str,
        expected_version: Any,
        author: str | None,
        reasons: Sequence[str],
        evidence: Sequence[Any],
        trust: Trust = Trust.USER,
        flags: Sequence[str] = (),
    ) -> SkillVersion:
        """Propose the next version of a skill."""
        check_owner(owner)
        expected = _expected(expected_version)
        checked, metadata = check_draft(draft)
        rests_on = evidence_rows(evidence)
        now_ms = self._opened.now_ms()

        def operation(transaction: Transaction) -> tuple[SkillRow, int]:
            skill, head = self.owned(transaction.connection, draft.name, owner, expected)
            if head.state == "retired":
                raise IllegalMoveError(head.state, "updated")
            self._check_evidence(transaction.connection, rests_on)
            row = add_version(
                transaction, skill, checked, metadata, expected_version=expected,
                state="proposed", author=author or owner, reasons=reasons, rests_on=rests_on,
                trust=int(trust), now_ms=now_ms, flags=flags,
            )  # fmt: skip
            return skill._replace(version=row.version), row.version

        return self.finish(*self._written(operation))

    def rollback(
        self, name: str, *, to: int, owner: str, expected_version: Any, note: str
    ) -> SkillVersion:
        """Make what an earlier version says the newest one; it is approved if that one was."""
        check_owner(owner)
        expected = _expected(expected_version)
        check_count(to, "to", 1)
        check_text(note, "note", _MAX_NOTE)
        now_ms = self._opened.now_ms()

        def operation(transaction: Transaction) -> tuple[SkillRow, int]:
            connection = transaction.connection
            skill, _ = self.owned(connection, name, owner, expected)
            old = load_version(connection, skill, to, now_ms=now_ms, stale_days=1)
            was_approved = any(
                version == to and move in ("approve", "rollback")
                for version, move, *_ in skills.moves(connection, skill.id)
            )
            if old.state == "rejected" or (old.state == "retired" and not was_approved):
                raise IllegalMoveError(old.state, "rolled back to")
            draft, metadata = check_draft(
                Draft(
                    name=name, description=old.description, body=old.body,
                    resources=old.resources, metadata=old.metadata,
                )
            )  # fmt: skip
            row = add_version(
                transaction, skill, draft, metadata, expected_version=expected,
                state="approved" if was_approved else "proposed", author=owner,
                reasons=("rollback",), rests_on=skills.evidence(connection, skill.id, to),
                trust=int(old.trust), now_ms=now_ms, flags=old.flags, restores=to,
                move="rollback" if was_approved else "propose",
            )  # fmt: skip
            if was_approved:
                skills.pass_over(connection, skill.id, row.version)
                skill_tasks.close_suspicions(connection, skill.id, "rolled back", now_ms)
            return skill._replace(version=row.version), row.version

        return self._read(*self._written(operation))

    # -- moves of versions

    def move(
        self,
        verb: str,
        name: str,
        *,
        owner: str,
        version: int | None,
        expected_version: int | None,
        note: str,
    ) -> SkillVersion:
        """Approve, reject or retire; retiring takes every approved version out of use."""
        check_owner(owner)
        check_text(note, "note", _MAX_NOTE)
        if version is not None:
            check_count(version, "version", 1)
        expected = None if expected_version is None else _expected(expected_version)
        now_ms = self._opened.now_ms()

        def operation(transaction: Transaction) -> tuple[SkillRow, int]:
            skill, _ = self.owned(transaction.connection, name, owner, expected)
            number = skill.version if version is None else version
            self._move(transaction, skill, number, verb, actor=owner, note=note, now_ms=now_ms)
            return skill, number

        return self._read(*self._written(operation))

    def _move(
        self,
        transaction: Transaction,
        skill: SkillRow,
        number: int,
        verb: str,
        *,
        actor: str,
        note: str,
        now_ms: int,
    ) -> None:
        connection = transaction.connection
        current = load_version(connection, skill, number, now_ms=now_ms, stale_days=1)
        before, after = _STATES_BEFORE[verb], _STATES_AFTER[verb]
        approved = [
            row.version
            for row in skills.versions(connection, skill.id)
            if row.state == "approved" and row.version != number
        ]
        is_last_word = verb == "retire" and number == skill.version and approved
        if not skills.move(connection, skill.id, number, before=before, after=after):
            # The newest may be a rejected proposal while an older version is in use.
            if not (is_last_word and current.state == "rejected"):
                raise IllegalMoveError(current.state, _DONE[verb])
        else:
            skills.add_move(
                connection, skill.id, number, move=verb, actor=actor, note=note, made_ms=now_ms
            )
        if verb == "approve":
            for passed in skills.pass_over(connection, skill.id, number):
                skills.add_move(
                    connection, skill.id, passed, move="reject", actor=actor,
                    note=f"version {number} was approved", made_ms=now_ms,
                )  # fmt: skip
        if is_last_word:
            for older in approved:
                skills.move(connection, skill.id, older, before=("approved",), after="retired")
                skills.add_move(
                    connection, skill.id, older, move=verb, actor=actor, note=note, made_ms=now_ms
                )
        if verb != "reject":
            skill_tasks.close_suspicions(connection, skill.id, _DONE[verb], now_ms)
        transaction.change("skill", SKILL_TIER, skill.id)
        reach("moved")

    def report(self, name: str, version: Any, *, session: str, outcome: Any) -> SkillVersion:
        """Count how a version did; two failures in a row make it suspect and open a task."""
        from agentmem.tiers.capture import check_session

        check_count(version, "version", 1)
        check_session(session)
        if outcome not in ("success", "failure"):
            raise InvalidInputError(f"outcome: 'success' or 'failure', not {outcome!r}")
        now_ms = self._opened.now_ms()

        def operation(transaction: Transaction) -> tuple[SkillRow, int]:
            connection = transaction.connection
            skill = find_one(connection, self._scope, name)
            current = load_version(connection, skill, version, now_ms=now_ms, stale_days=1)
            if current.state not in ("approved", "retired"):
                raise IllegalMoveError(current.state, "reported on: nobody was handed it")
            in_a_row = skill_uses.add_report(
                connection, skill.id, version, session=session,
                is_success=outcome == "success", made_ms=now_ms,
            )  # fmt: skip
            if not in_a_row:
                skill_tasks.close_suspicions(connection, skill.id, "succeeded again", now_ms)
            elif in_a_row >= _FAILURES_TO_SUSPECT and not skill_tasks.has_open_suspicion(
                connection, skill.id, version
            ):
                skill_tasks.open_suspicion(
                    connection, skill.id, version,
                    f"{in_a_row} failures in a row, the last in session {session!r}", now_ms,
                )  # fmt: skip
            transaction.change("skill", SKILL_TIER, skill.id)
            return skill, version

        return self._read(*self._written(operation))

    # -- what they share

    def owned(
        self, connection: apsw.Connection, name: str, owner: str, expected: int | None
    ) -> tuple[SkillRow, VersionRow]:
        """Return a skill of this owner with its newest version.

        Raises:
            NotFoundError: There is none of this name in this scope.
            NotOwnerError: It belongs to somebody else.
            ConflictError: Its newest version is not the expected one.
        """
        skill = find_one(connection, self._scope, name)
        if skill.owner != owner:
            raise NotOwnerError(
                f"the skill {name!r} does not belong to {owner!r}; only its owner may change it"
            )
        if expected is not None and expected != skill.version:
            raise ConflictError(expected, skill.version)
        head = skills.select_version(connection, skill.id, skill.version)
        if head is None:
            raise NotFoundError(f"the skill {name!r} has no version {skill.version}")
        return skill, head

    def _check_evidence(self, connection: apsw.Connection, rests_on: Sequence[EvidenceRow]) -> None:
        from agentmem.store import skill_archives
        from agentmem.store.scopes import contains

        for one in rests_on:
            archive = skill_archives.load(connection, one.archive_id)
            if archive is None or not contains(self._scope, archive.scope):
                raise NotFoundError(f"archive:{one.archive_id} does not exist in this scope")
            missing = set(json.loads(one.sources)) - set(
                skill_archives.sources(connection, one.archive_id)
            )
            if missing:
                raise NotFoundError(f"archive:{one.archive_id} holds no L0:{min(missing)}")

    def _written(
        self, operation: Callable[[Transaction], tuple[SkillRow, int]]
    ) -> tuple[SkillRow, int]:
        return self._opened.database.write(operation)

    def _read(self, skill: SkillRow, version: int) -> SkillVersion:
        with self._opened.database.read() as connection:
            current = skills.load(connection, skill.id)
            return load_version(
                connection, skill if current is None else current, version,
                now_ms=self._opened.now_ms(), stale_days=self._options.stale_days,
            )  # fmt: skip

    def approve_by_policy(self, name: str, version: int) -> None:
        """Approve a proposed version if the policy says so."""
        with self._opened.database.read() as connection:
            skill = find_one(connection, self._scope, name)
        self.finish(skill, version)

    def finish(self, skill: SkillRow, version: int) -> SkillVersion:
        """Return a version that was written; approved, if it is proposed and the policy says so."""
        made = self._read(skill, version)
        policy = self._options.auto_approve
        if policy is None or made.state != "proposed":
            return made
        try:
            if policy(made) is not True:
                return made
        except Exception as error:  # noqa: BLE001 - what is written stays, whatever a host's code does
            warnings.warn(
                f"auto_approve failed on version {version} of {skill.name!r}, which stays "
                f"proposed: {error!r}",
                StoreWarning,
                stacklevel=2,
            )
            return made
        now_ms = self._opened.now_ms()

        def operation(transaction: Transaction) -> None:
            self._move(
                transaction, skill, version, "approve", actor="policy",
                note="approved by policy", now_ms=now_ms,
            )  # fmt: skip

        self._opened.database.write(operation)
        return self._read(skill, version)


def _expected(value: Any) -> int:
    if value is None:
        raise InvalidInputError(
            "expected_version: the version that the change is based on must be said"
        )
    return check_count(value, "expected_version", 1)
