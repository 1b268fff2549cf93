"""Turn a checked decision into rows, inside the transaction that ends its task."""

from __future__ import annotations

import difflib
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from agentmem.errors import ConflictError, NotFoundError, SkillError, SkillExistsError
from agentmem.models import Decision, Trust
from agentmem.skills.lifecycle import add_version, write_skill
from agentmem.skills.rows import check_draft, evidence_rows, find_one
from agentmem.skills.similar import near_duplicate
from agentmem.store import skill_archives, skill_uses, skills
from agentmem.store.scopes import obtain

if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

    from agentmem.store.skill_archives import ArchiveRow
    from agentmem.store.skills import EvidenceRow
    from agentmem.store.writer import Transaction

__all__ = ["Applied", "apply", "body_diff"]


class Applied(NamedTuple):
    """What a decision came to."""

    outcome: str
    scope: str
    skill: str | None = None
    skill_id: int | None = None
    version: int | None = None
    diff: str = ""


def body_diff(before: str, after: str, *, name: str, versions: tuple[int, int]) -> str:
    """Return the unified diff of two bodies."""
    return "\n".join(
        difflib.unified_diff(
            before.split("\n"), after.split("\n"),
            f"{name} version {versions[0]}", f"{name} version {versions[1]}", lineterm="",
        )
    )  # fmt: skip


def apply(
    transaction: Transaction, decision: Decision, archive_id: int, *, author: str, now_ms: int
) -> Applied:
    """Write what a decision asks for.

    Raises:
        ConflictError: What the decision is based on has changed; it is to be made anew.
        SkillError: The evidence is not there, or is a tool's word alone.
    """
    connection = transaction.connection
    archive = skill_archives.load(connection, archive_id)
    if archive is None:
        raise NotFoundError(f"archive:{archive_id} does not exist")
    scope_id = obtain(connection, archive.scope)
    for one in decision.fingerprints:
        rows = evidence_rows(one.evidence)
        skill_uses.insert_fingerprint(
            connection, scope_id, archive.owner, key=one.key, archive_id=archive_id,
            data=json.dumps(dict(one.data)),
            sources=json.dumps([json.loads(row.sources) for row in rows]),
        )  # fmt: skip
    if decision.used_fingerprints:
        skill_uses.spend_fingerprints(
            connection, scope_id, archive.owner, decision.used_fingerprints
        )
    if decision.outcome == "reject":
        return Applied("rejected", archive.scope, decision.skill)
    draft, metadata = check_draft(decision.draft)
    rests_on = evidence_rows(decision.evidence)
    trust = _trust(connection, archive, rests_on)
    made: dict[str, Any] = {
        "state": "proposed", "author": author, "reasons": decision.reasons,
        "rests_on": rests_on, "trust": trust,
    }  # fmt: skip
    if decision.outcome == "create":
        found = near_duplicate(connection, archive.scope, draft)
        if found is not None:
            # It came while the reviewer thought: now it can be shown.
            raise SkillExistsError(found.name, found.version, "says nearly the same")
        skill, row = write_skill(
            transaction, archive.scope, draft, metadata, owner=archive.owner, now_ms=now_ms, **made
        )
        return Applied("created", archive.scope, skill.name, skill.id, row.version)
    base = decision.base_version or 0
    skill = find_one(connection, archive.scope, decision.skill or "")
    if skill.owner != archive.owner or skill.version != base:
        raise ConflictError(base, skill.version)
    before = skills.select_version(connection, skill.id, base)
    row = add_version(
        transaction, skill, draft, metadata, expected_version=base, now_ms=now_ms, **made
    )
    diff = body_diff(
        "" if before is None else before.body, draft.body,
        name=skill.name, versions=(base, row.version),
    )  # fmt: skip
    return Applied("updated", archive.scope, skill.name, skill.id, row.version, diff)


def _trust(
    connection: apsw.Connection, archive: ArchiveRow, rests_on: Sequence[EvidenceRow]
) -> int:
    """Return the lowest trust of the evidence, by code and not by the reviewer's word.

    A call's name and arguments carry the assistant's trust, so results are left out of the
    minimum; but they alone are no evidence.
    """
    trusts = []
    for one in rests_on:
        cited = skill_archives.load(connection, one.archive_id)
        if cited is None or (cited.scope, cited.owner) != (archive.scope, archive.owner):
            raise SkillError(f"bad-evidence: archive:{one.archive_id} is not this owner's")
        sources = skill_archives.sources(connection, one.archive_id)
        for number in json.loads(one.sources):
            if number not in sources:
                raise SkillError(f"bad-evidence: archive:{one.archive_id} holds no L0:{number}")
            kind, trust = sources[number]
            if kind != "tool_result":
                trusts.append(trust)
    if not trusts or min(trusts) <= Trust.TOOL:
        raise SkillError("bad-evidence: what is cited is a tool's word alone")
    return min(trusts)
