"""Take skills in from drafts that came from outside: all of them in one transaction, or none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from agentmem.errors import IllegalMoveError, SkillExistsError
from agentmem.models import Draft, SkillVersion, Trust
from agentmem.skills.lifecycle import Lifecycle, add_version, write_skill
from agentmem.skills.lint import lint
from agentmem.skills.names import check_owner
from agentmem.skills.rows import check_draft
from agentmem.skills.similar import near_duplicate
from agentmem.store import skills

if TYPE_CHECKING:
    from agentmem.opened import Opened
    from agentmem.skills.options import SkillOptions
    from agentmem.store.skills import SkillRow
    from agentmem.store.writer import Transaction

__all__ = ["import_drafts"]


def import_drafts(
    opened: Opened,
    options: SkillOptions,
    scope: str,
    drafts: Sequence[Draft],
    *,
    owner: str,
    merge: bool,
) -> list[SkillVersion]:
    """Propose each draft, with what the lint finds as its flags.

    Args:
        opened: The open folder.
        options: The settings.
        scope: Where the skills come to lie.
        drafts: The skills.
        owner: Whose they become.
        merge: Make a draft of a name that is there already the next version of that skill.

    Raises:
        InvalidInputError: A draft is no skill; like each error below, nothing was written.
        SkillExistsError: A name is taken and ``merge`` is false, or a skill says nearly the same.
        NotOwnerError: The skill to merge into belongs to somebody else.
        IllegalMoveError: It is retired.
    """
    check_owner(owner)
    lifecycle = Lifecycle(opened, options, scope)
    checked = [(*check_draft(draft), lint(draft)) for draft in drafts]
    now_ms = opened.now_ms()

    def operation(transaction: Transaction) -> list[tuple[SkillRow, int]]:
        connection = transaction.connection
        made = []
        for draft, metadata, flags in checked:
            said: dict[str, Any] = {
                "state": "proposed", "author": "import", "reasons": ("imported",),
                "rests_on": (), "trust": int(Trust.IMPORTED), "flags": flags, "now_ms": now_ms,
            }  # fmt: skip
            if merge and skills.find(connection, scope, draft.name):
                skill, head = lifecycle.owned(connection, draft.name, owner, None)
                if head.state == "retired":
                    raise IllegalMoveError(head.state, "updated")
                row = add_version(
                    transaction, skill, draft, metadata, expected_version=skill.version, **said
                )
                skill = skill._replace(version=row.version)
            else:
                found = near_duplicate(connection, scope, draft)
                if found is not None:
                    raise SkillExistsError(found.name, found.version, "says nearly the same")
                skill, row = write_skill(transaction, scope, draft, metadata, owner=owner, **said)
            made.append((skill, row.version))
        return made

    return [lifecycle.finish(skill, number) for skill, number in opened.database.write(operation)]
