"""What every decision must pass, whoever made it: rules or a language model behind a port."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agentmem.errors import InvalidInputError
from agentmem.models.memory import Trust
from agentmem.models.skills import (
    REASONS,
    ArchiveView,
    Decision,
    Fingerprint,
    SkillView,
)
from agentmem.skills.body import SECTIONS
from agentmem.skills.injection import find_orders
from agentmem.skills.lint import check_draft, dangers, lint

__all__ = ["check_decision", "led_astray"]

_NEEDLE = 24
_SENTENCE = re.compile(r"[^\n.!?。]{24,}")


def check_decision(
    decision: Decision,
    archive: ArchiveView,
    existing: Sequence[SkillView],
    fingerprints: Sequence[Fingerprint] = (),
) -> Decision:
    """Return the decision if it may be applied, else a reject that says which gate it failed.

    The gates: an update names a skill that was shown, at the version that was shown; all
    evidence lies in the archive, in a fingerprint given or in the skill that is updated, and
    holds more than tool results; the draft is well formed, has every section and no secret; no
    sentence of it comes from a tool's text; the conversation was not led by one.

    Args:
        decision: A reviewer's answer.
        archive: What the reviewer read.
        existing: The skills that it was shown.
        fingerprints: The fingerprints that it was shown.
    """
    if decision.outcome not in {"create", "update", "reject"}:
        return _refused("bad-draft", f"outcome {decision.outcome!r} is none of three")
    unknown = [r for r in decision.reasons if r not in REASONS]
    if unknown or not decision.reasons:
        return _refused("bad-draft", f"reasons {unknown or 'missing'}: known are {sorted(REASONS)}")
    if decision.outcome == "reject":
        return decision
    orders = led_astray(archive)
    if orders is not None:
        return _refused("untrusted", orders)
    if archive.succeeded is False:
        return _refused("failed", "the host says that the work failed")
    draft = decision.draft
    if draft is None:
        return _refused("bad-draft", "there is no draft")
    problem = _base_problem(decision, existing)
    if problem is not None:
        return problem
    problem = _evidence_problem(decision, archive, existing, fingerprints)
    if problem is not None:
        return problem
    try:
        check_draft(draft)
    except InvalidInputError as error:
        return _refused("bad-draft", str(error))
    missing = [
        s
        for s in SECTIONS
        if not re.search(rf"^#+\s*{s}\s*$", draft.body, re.MULTILINE | re.IGNORECASE)
    ]
    if missing:
        return _refused("bad-draft", f"the body lacks {', '.join(missing)}")
    flags = lint(draft)
    if flags:
        return _refused("untrusted", f"the draft holds {flags[0]}")
    copied = _copied(draft.body + "\n" + draft.description, archive)
    if copied is not None:
        return _refused("untrusted", f"a tool's text became the skill's: {copied[:60]!r}")
    return decision


def _refused(reason: str, notes: str) -> Decision:
    return Decision(outcome="reject", reasons=(reason,), notes=notes)


def _base_problem(decision: Decision, existing: Sequence[SkillView]) -> Decision | None:
    shown = {s.name: s.version for s in existing}
    name = decision.draft.name if decision.draft is not None else ""
    if decision.outcome == "create":
        if name in shown:
            return _refused("duplicate", f"a skill named {name!r} exists")
        return None
    if decision.skill is None or decision.skill not in shown:
        return _refused("stale-base", f"skill {decision.skill!r} was not shown to the reviewer")
    if decision.base_version != shown[decision.skill]:
        return _refused(
            "stale-base",
            f"version {decision.base_version} is edited, {shown[decision.skill]} was shown",
        )
    if name != decision.skill:
        return _refused("bad-draft", f"an update of {decision.skill!r} can't rename it {name!r}")
    return None


def _evidence_problem(
    decision: Decision,
    archive: ArchiveView,
    existing: Sequence[SkillView],
    fingerprints: Sequence[Fingerprint],
) -> Decision | None:
    known: dict[str, set[str]] = {}
    known[archive.id] = {m.source for m in archive.messages if m.source is not None}
    known[archive.id] |= {c.source for c in archive.calls if c.source is not None}
    for evidence in (e for f in fingerprints for e in f.evidence):
        known.setdefault(evidence.archive, set()).update(evidence.sources)
    for evidence in (e for s in existing if s.name == decision.skill for e in s.evidence):
        known.setdefault(evidence.archive, set()).update(evidence.sources)
    if not any(e.sources for e in decision.evidence):
        return _refused("bad-evidence", "no evidence is cited")
    for evidence in decision.evidence:
        strange = [s for s in evidence.sources if s not in known.get(evidence.archive, set())]
        if strange:
            return _refused("bad-evidence", f"{strange[0]} is not in {evidence.archive}")
    low = {
        m.source
        for m in archive.messages
        if m.source is not None and (m.role == "tool_result" or m.trust < Trust.ASSISTANT)
    }
    if all(s in low for e in decision.evidence for s in e.sources):
        return _refused("untrusted", "all that is cited are tool results")
    return None


def _copied(text: str, archive: ArchiveView) -> str | None:
    """Return a sentence of the text that a tool said and nobody else did."""
    own = "\n".join(
        m.text
        for m in archive.messages
        if m.role in {"user", "assistant", "tool_call"} and m.trust >= Trust.ASSISTANT
    )
    told = " ".join(
        " ".join(m.text.split()) for m in archive.messages if m.role == "tool_result"
    ).casefold()
    own = " ".join(own.split()).casefold()
    for found in _SENTENCE.finditer(text):
        sentence = " ".join(found[0].split()).strip("-*#>` ").casefold()
        if (
            len(sentence) >= _NEEDLE
            and " " in sentence
            and sentence in told
            and sentence not in own
        ):
            return sentence
    return None


def led_astray(archive: ArchiveView) -> str | None:
    """Return what shows that a tool's text gave the agent orders, or None.

    Two signs: a result that speaks to agents and orders something lasting; and a call that does
    what the lint flags, with words that the user never said and a result did.
    """
    said = " ".join(m.text for m in archive.messages if m.role == "user")
    for message in archive.messages:
        if message.role != "tool_result":
            continue
        orders = find_orders(message.text)
        if orders is not None:
            return f"a tool's text gives orders: {orders!r}"
    for call in archive.calls:
        text = call.arguments if isinstance(call.arguments, str) else _joined(call.arguments)
        for danger in dangers(text):
            words = set(re.findall(r"[\w./:-]{6,}", danger))
            if not any(w in said for w in words):
                return f"a call does what nobody asked for: {danger[:80]!r}"
    return None


def _joined(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "\n".join(_joined(v) for v in value.values())
    if isinstance(value, list):
        return "\n".join(_joined(v) for v in value)
    return str(value)
