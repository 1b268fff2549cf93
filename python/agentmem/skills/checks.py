"""What any reviewer's answer must pass before it changes anything, a language model's too.

A malformed answer, or one about what the reviewer was not shown, raises: the task is tried again,
and parked if that does not help. An answer that would make a skill of what must not become one is
turned into a reject with the reason (:mod:`agentmem.skills.gates`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from agentmem.errors import SkillError
from agentmem.models import REASONS, ArchiveView, Decision, Fingerprint, SkillView
from agentmem.skills.gates import check_decision
from agentmem.skills.names import check_text
from agentmem.skills.rows import check_draft, evidence_rows
from agentmem.skills.similar import is_near

__all__ = ["check"]

MAX_KEY_CHARS: Final = 1_024
MAX_DATA_BYTES: Final = 64 << 10
MAX_FINGERPRINTS: Final = 64
_MALFORMED: Final = ("bad-evidence", "bad-draft", "stale-base")


def check(
    decision: Any,
    archive: ArchiveView,
    existing: Sequence[SkillView],
    fingerprints: Sequence[Fingerprint],
) -> Decision:
    """Return the decision that may be applied.

    Raises:
        SkillError: It is malformed, or names what the reviewer was not shown.
        InvalidInputError: The draft can't be a skill.
    """
    if not isinstance(decision, Decision):
        raise SkillError(f"a reviewer must give a Decision, not {type(decision).__name__}")
    _check_form(decision, fingerprints)
    if decision.outcome == "reject":
        return replace(decision, draft=None, evidence=())
    draft, _ = check_draft(decision.draft)
    if not decision.evidence:
        raise SkillError("bad-evidence: a skill needs evidence, the reviewer gave none")
    if archive.succeeded is False:
        return _rejected(decision, "failed")
    shown = {view.name: view for view in existing}
    if decision.outcome == "create":
        for view in existing:
            is_live = view.state in ("proposed", "approved")
            if view.name == draft.name or (is_live and is_near(view.body, draft.body)):
                return replace(_rejected(decision, "duplicate"), skill=view.name)
    else:
        view = _check_update(decision, shown, archive.owner)
        if view.state == "retired":
            return _rejected(decision, "duplicate", f"{view.name!r} is retired; roll it back first")
    _check_evidence(decision, archive, shown, fingerprints)
    judged = check_decision(decision, archive, existing, fingerprints)
    if judged is decision:
        return decision
    reason = judged.reasons[0]
    if reason in _MALFORMED:
        raise SkillError(f"{reason}: {judged.notes}")
    return _rejected(decision, reason, judged.notes)


def _rejected(decision: Decision, reason: str, notes: str | None = None) -> Decision:
    return replace(
        decision, outcome="reject", reasons=(reason,), draft=None, evidence=(),
        used_fingerprints=(), notes=decision.notes if notes is None else notes,
    )  # fmt: skip


def _check_form(decision: Decision, fingerprints: Sequence[Fingerprint]) -> None:
    if decision.outcome not in ("create", "update", "reject"):
        raise SkillError(f"outcome: create, update or reject, not {decision.outcome!r}")
    if not decision.reasons or not set(decision.reasons) <= set(REASONS):
        raise SkillError(f"reasons: some of {', '.join(REASONS)}, not {decision.reasons!r}")
    check_text(decision.notes, "notes", 20_000)
    if len(decision.fingerprints) > MAX_FINGERPRINTS:
        raise SkillError(f"fingerprints: at most {MAX_FINGERPRINTS} may be left")
    for one in decision.fingerprints:
        if not isinstance(one, Fingerprint) or not one.key:
            raise SkillError("fingerprints: each needs a key")
        check_text(one.key, "fingerprints", MAX_KEY_CHARS)
        try:
            size = len(json.dumps(dict(one.data)))
        except (TypeError, ValueError, RecursionError) as error:
            raise SkillError(f"fingerprints: the data must be JSON: {error}") from error
        if size > MAX_DATA_BYTES:
            raise SkillError(f"fingerprints: at most {MAX_DATA_BYTES:,} bytes of data each")
    unknown = set(decision.used_fingerprints) - {
        one.key for one in (*fingerprints, *decision.fingerprints)
    }
    if unknown:
        raise SkillError(f"used_fingerprints: {min(unknown)!r} was not shown to the reviewer")


def _check_update(decision: Decision, shown: dict[str, SkillView], owner: str) -> SkillView:
    """Return the skill that a decision updates.

    Raises:
        SkillError: It was not shown, is another's, or the decision is based on another version.
    """
    view = shown.get(decision.skill or "")
    if view is None:
        raise SkillError(f"an update names a skill that was shown, not {decision.skill!r}")
    if view.owner != owner:
        raise SkillError(f"the skill {view.name!r} belongs to another owner")
    if decision.base_version != view.version:
        raise SkillError(
            f"an update names the version it was shown, {view.version}, "
            f"not {decision.base_version!r}"
        )
    if decision.draft is not None and decision.draft.name != view.name:
        raise SkillError(f"an update keeps the name {view.name!r}")
    return view


def _check_evidence(
    decision: Decision,
    archive: ArchiveView,
    shown: dict[str, SkillView],
    fingerprints: Sequence[Fingerprint],
) -> None:
    """Hold the archives that are cited against those that the reviewer knows of.

    That the rows exist in them is checked where the decision is applied.
    """
    evidence_rows(decision.evidence)
    known = {archive.id, *(one.archive for one in fingerprints)}
    for view in shown.values():
        known.update(one.archive for one in view.evidence)
    for one in decision.evidence:
        if one.archive not in known:
            raise SkillError(f"bad-evidence: the reviewer was not shown {one.archive}")
        if not one.sources:
            raise SkillError(f"bad-evidence: no row of {one.archive} is cited")
    if all(one.archive != archive.id for one in decision.evidence):
        raise SkillError(f"bad-evidence: nothing of {archive.id} itself is cited")
