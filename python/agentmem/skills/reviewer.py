"""The reviewer that needs no language model: what repeats and works becomes a skill.

Most conversations are rejected. One that worked leaves a fingerprint; when its procedure is met
again, in any session, the two make a skill. Pure: it reads what it is given and holds no store.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from agentmem.models.skills import ArchiveView, Decision, Draft, Evidence, Fingerprint, SkillView
from agentmem.skills.body import SHORT, draft_of, leftovers
from agentmem.skills.calls import Call, is_generic, is_noise, verbs
from agentmem.skills.gates import led_astray
from agentmem.skills.lint import lint
from agentmem.skills.mining import MIN_STEPS, MIN_WEIGHT, Run, common, is_work, mine, passes, useful
from agentmem.skills.parameters import spell
from agentmem.skills.procedure import Procedure, weight
from agentmem.skills.refine import Refinement, covered, refine
from agentmem.skills.single import twin
from agentmem.skills.success import calls_of, judge

__all__ = ["RuleReviewer"]

_MAX_JOINED: Final = 3
_MAX_SEGMENTS: Final = 6
_MAX_FINGERPRINT: Final = 48_000
_RESULT_KEPT: Final = 400
_MIN_TEXT: Final = 200


@dataclass(frozen=True, slots=True)
class _Piece:
    """A run of the archive with the L0 rows that it rests on."""

    run: Run
    request_sources: tuple[str, ...]


class RuleReviewer:
    """Mines procedures from archives by rules alone: deterministic, no model, no network."""

    compares_all = True
    """It holds a run against every skill's steps itself, so no embedder is loaded to order them."""

    @property
    def id(self) -> str:
        """Names this reviewer and the version of its rules."""
        return "rules-1"

    def review(
        self,
        archive: ArchiveView,
        existing: Sequence[SkillView],
        fingerprints: Sequence[Fingerprint],
    ) -> Decision:
        """Return what is to be made of one archive.

        Args:
            archive: The conversation.
            existing: The live skills that may cover it, closest first.
            fingerprints: What earlier one-offs left behind; those of this very archive are
                passed over, so that a repeated review decides the same.

        Returns:
            ``create`` for a procedure that ran twice, or once if a person asked for it;
            ``update`` where a run adds something to a skill; ``reject`` for all else.
        """
        calls = calls_of(archive)
        if not [c for c in calls if not is_noise(c)]:
            return _reject("chat", notes="no tool was called")
        orders = led_astray(archive)
        if orders is not None:
            return _reject("untrusted", notes=orders)
        verdict = judge(archive, calls)
        if not verdict.succeeded:
            return _reject("failed", notes=verdict.note)
        pieces = _pieces(archive, calls)
        old = [f for f in fingerprints if f.archive != archive.id]
        for piece in pieces:
            decision = _against_skills(archive, piece, existing)
            if decision is not None:
                return decision
        taken = [s.name for s in existing]
        whole = pieces[0]
        split = passes(whole.run.calls)
        if split:
            decision = _from_passes(archive, whole, split, taken)
            if decision is not None:
                return decision
        for piece in pieces:
            decision = _from_fingerprints(archive, piece, old, taken)
            if decision is not None:
                return decision
        if archive.intent is not None:
            return _from_intent(archive, whole, taken)
        kept = useful(whole.run.calls)
        if len(kept) < MIN_STEPS:
            return _reject("too-short")
        if not is_work(kept):
            return _reject("chat", notes="only look-ups, or one tool over and over")
        if weight(kept) < MIN_WEIGHT:
            return _reject("chat", notes="only what any session does")
        left = [p for p in pieces if is_work(useful(p.run.calls))]
        return Decision(
            outcome="reject",
            reasons=("one-off",),
            fingerprints=tuple(_fingerprint(archive, p) for p in left),
        )


def _reject(reason: str, *, skill: str | None = None, notes: str = "") -> Decision:
    return Decision(outcome="reject", reasons=(reason,), skill=skill, notes=notes)


def _pieces(archive: ArchiveView, calls: Sequence[Call]) -> list[_Piece]:
    """Return the whole archive as one run, and then each request with its calls as another."""
    results = tuple((c.result or "")[:20_000] for c in archive.calls)
    at = {call.place: call for call in calls}
    asked = [(i, m) for i, m in enumerate(archive.messages) if m.role == "user"]
    whole = _Piece(
        Run(tuple(calls), "\n".join(m.text[:4_000] for _, m in asked)[:20_000], results),
        tuple(m.source for _, m in asked[:1] if m.source),
    )
    pieces = [whole]
    starts = [i for i, _ in asked]
    ends = [*starts[1:], len(archive.messages)] if starts else []
    for (start, message), end in zip(asked, ends, strict=True):
        part = [at[n] for n, c in enumerate(archive.calls) if n in at and start < c.place < end]
        if MIN_STEPS <= len(useful(part)) < len(useful(calls)):
            source = (message.source,) if message.source else ()
            pieces.append(_Piece(Run(tuple(part), message.text[:4_000], results), source))
    return pieces[: 1 + _MAX_SEGMENTS]


def _evidence(archive: ArchiveView, piece: _Piece, places: Sequence[int], note: str) -> Evidence:
    """Return the rows that carry the procedure: the request and the calls, no result."""
    wanted = set(places)
    sources = [*piece.request_sources]
    sources += [c.source for c in piece.run.calls if c.place in wanted and c.source is not None]
    return Evidence(archive=archive.id, sources=tuple(dict.fromkeys(sources)), note=note)


def _against_skills(
    archive: ArchiveView, piece: _Piece, existing: Sequence[SkillView]
) -> Decision | None:
    calls = useful(piece.run.calls)
    best: tuple[float, int, SkillView, Procedure] | None = None
    for place, skill in enumerate(existing):
        procedure = Procedure.from_json(skill.metadata.get("procedure"))
        if procedure is None:
            if _is_told(skill, calls):
                return _reject("duplicate", skill=skill.name, notes="the skill's text has it")
            continue
        got = covered(procedure, calls)
        if got is not None and (best is None or got[0] > best[0]):
            best = (got[0], place, skill, procedure)
    if best is None:
        return None
    _, _, skill, procedure = best
    parts = passes(piece.run.calls)
    runs = [Run(tuple(p), piece.run.request, piece.run.results) for p in parts] or [piece.run]
    if parts:
        runs = [Run(piece.run.calls, piece.run.request, piece.run.results), *runs]
    news: list[str] = []
    places: list[int] = []
    values: list[str] = []
    for run in runs:
        grown = refine(procedure, run)
        if grown is not None:
            news += grown.news
            places += grown.places
            values += grown.values.values()
            if grown.news:
                procedure = grown.procedure
    if not news:
        return _reject("duplicate", skill=skill.name, notes="only other arguments")
    if skill.owner != archive.owner:
        return _reject("duplicate", skill=skill.name, notes="another owner's; only they change it")
    if skill.state == "retired":
        return _reject("duplicate", skill=skill.name, notes="retired; a person may bring it back")
    evidence = (*skill.evidence, _evidence(archive, piece, places, "adds to it"))
    draft = draft_of(procedure, evidence, name=skill.name)
    draft = Draft(
        name=skill.name,
        description=skill.description,
        body=draft.body,
        metadata={**skill.metadata, **draft.metadata},
    )
    return _gated(
        Decision(
            outcome="update",
            reasons=("better",),
            draft=draft,
            skill=skill.name,
            base_version=skill.version,
            evidence=evidence[-1:],
            notes="; ".join(dict.fromkeys(news)),
        ),
        values,
    )


def _is_told(skill: SkillView, calls: Sequence[Call]) -> bool:
    """Whether a skill that a person wrote tells most of the calls: tools and verbs are in it."""
    kept = [c for c in calls if not (is_generic(c) and not _said(c))]
    if len(kept) < MIN_STEPS or not skill.body:
        return False
    text = skill.body.casefold()
    told = sum(1 for c in kept if all(word in text for word in _said(c) or [c.tool.casefold()]))
    return told >= 0.8 * len(kept)


def _said(call: Call) -> list[str]:
    for key in ("command", "cmd", "args", "query", "sql", ""):
        if key in call.leaves:
            return [v for v in verbs(call.leaves[key]) if len(v) > 1][:2]
    return []


def _from_passes(
    archive: ArchiveView, piece: _Piece, split: Sequence[Sequence[Call]], taken: Sequence[str]
) -> Decision | None:
    falls = [c for c in piece.run.calls if c.failed]
    runs: list[Run] = []
    for part in split:
        first, last = part[0].place, part[-1].place
        within = [c for c in falls if first < c.place < last and c not in part]
        merged = sorted([*part, *within], key=lambda c: c.place)
        runs.append(Run(tuple(merged), piece.run.request, piece.run.results))
    found = mine(runs[: 1 + _MAX_JOINED])
    if found is None:
        return None
    procedure, covers = found
    places = [p for row in covers for p in row]
    evidence = _evidence(archive, piece, places, f"{len(split)} times in one conversation")
    return _created(procedure, (evidence,), taken, runs, ("repeated",))


def _from_fingerprints(
    archive: ArchiveView, piece: _Piece, old: Sequence[Fingerprint], taken: Sequence[str]
) -> Decision | None:
    mine_now = useful(piece.run.calls)
    near: list[tuple[int, Fingerprint, Run]] = []
    for fingerprint in old:
        run = _run_of(fingerprint)
        found = common(useful(run.calls), mine_now)
        if found is not None:
            near.append((-len(found.pairs), fingerprint, run))
    near.sort(key=lambda item: (item[0], item[1].archive, item[1].key))
    while near:
        chosen = near[:_MAX_JOINED]
        runs = [*(run for _, _, run in chosen), piece.run]
        found_all = mine(runs)
        if found_all is not None:
            procedure, covers = found_all
            evidence = (
                *(e for _, f, _ in chosen for e in f.evidence),
                _evidence(archive, piece, covers[-1], "a later run"),
            )
            decision = _created(procedure, evidence, taken, runs, ("repeated",))
            if decision is not None:
                return Decision(
                    outcome=decision.outcome,
                    reasons=decision.reasons,
                    draft=decision.draft,
                    evidence=decision.evidence,
                    used_fingerprints=tuple(dict.fromkeys(f.key for _, f, _ in chosen))
                    if decision.outcome == "create"
                    else (),
                    notes=decision.notes,
                )
        near = near[: len(chosen) - 1]
    return None


def _from_intent(archive: ArchiveView, piece: _Piece, taken: Sequence[str]) -> Decision:
    if len(useful(piece.run.calls)) < MIN_STEPS:
        return _reject("too-short")
    runs = [piece.run, twin(piece.run)]
    found = mine(runs, are_twins=True)
    if found is None:
        return _reject("chat", notes="only look-ups, or one tool over and over")
    procedure, covers = found
    evidence = _evidence(archive, piece, covers[0], "asked for by a person")
    single = Procedure(
        procedure.steps, procedure.parameters, procedure.pitfalls, (), procedure.words, 1
    )
    values = _values_of(procedure, runs[:1])
    intent = " ".join((archive.intent or "").split())[:300]
    for value in sorted(values, key=len, reverse=True):
        if len(value) > SHORT:
            intent = intent.replace(value, "…")
    decision = _created(single, (evidence,), taken, runs[:1], ("intent",), intent=intent)
    return decision or _reject("bad-draft", notes="what varies could not be told from what stays")


def _values_of(procedure: Procedure, runs: Sequence[Run]) -> list[str]:
    values: list[str] = []
    for run in runs:
        grown: Refinement | None = refine(procedure, run)
        if grown is not None:
            values += grown.values.values()
    return values


def _created(
    procedure: Procedure,
    evidence: tuple[Evidence, ...],
    taken: Sequence[str],
    runs: Sequence[Run],
    reasons: tuple[str, ...],
    *,
    intent: str | None = None,
) -> Decision | None:
    values = _values_of(procedure, runs)
    draft = draft_of(procedure, evidence, taken, intent=intent)
    decision = Decision(outcome="create", reasons=reasons, draft=draft, evidence=evidence)
    return _gated(decision, values)


def _gated(decision: Decision, values: Sequence[str]) -> Decision:
    """Return the decision, or a reject where its draft holds what no skill may hold."""
    draft = decision.draft
    if draft is None:
        return decision
    flags = lint(draft)
    if flags:
        return _reject("untrusted", notes=f"the steps hold {flags[0]}")
    left = leftovers(draft, values)
    if left:
        body = "\n".join(
            _hidden(line, left) if not line.startswith("- archive:") else line
            for line in draft.body.split("\n")
        )
        draft = Draft(
            name=draft.name,
            description=_hidden(draft.description, left),
            body=body,
            metadata=draft.metadata,
        )
        if leftovers(draft, values):
            return _reject("bad-draft", notes="a literal of the run would remain in the skill")
    return Decision(
        outcome=decision.outcome,
        reasons=decision.reasons,
        draft=draft,
        skill=decision.skill,
        base_version=decision.base_version,
        evidence=decision.evidence,
        used_fingerprints=decision.used_fingerprints,
        notes=decision.notes,
    )


def _hidden(text: str, values: Sequence[str]) -> str:
    return "".join(p if isinstance(p, str) else "…" for p in spell(text, {v: v for v in values}))


def _fingerprint(archive: ArchiveView, piece: _Piece) -> Fingerprint:
    calls = [c for c in piece.run.calls if not is_noise(c)][:80]
    later = " ".join(t for c in calls for t in c.leaves.values())
    rows: list[dict[str, Any]] = []
    for call in calls:
        result = piece.run.results[call.place] if call.place < len(piece.run.results) else ""
        rows.append({**call.to_json(), "gave": _reused(result, later)})
    data: dict[str, Any] = {"calls": rows, "request": piece.run.request[:2_000]}
    while len(json.dumps(data, ensure_ascii=False).encode()) > _MAX_FINGERPRINT and rows:
        longest = max(
            ((row, key) for row in rows for key in row["args"]),
            key=lambda item: len(item[0]["args"][item[1]]),
            default=None,
        )
        if longest is None or len(longest[0]["args"][longest[1]]) < _MIN_TEXT:
            rows.pop()
        else:
            row, key = longest
            row["args"][key] = row["args"][key][: len(row["args"][key]) // 2]
    signature = sorted({(c.tool, *(_said(c)[:2]), *sorted(c.leaves)) for c in useful(calls)})
    digest = hashlib.sha256(json.dumps(signature, ensure_ascii=False).encode()).hexdigest()
    return Fingerprint(
        key=f"rules-1:{digest[:32]}",
        data=data,
        archive=archive.id,
        session=archive.session,
        evidence=(_evidence(archive, piece, [c.place for c in calls], "the first run"),),
    )


def _reused(result: str, later: str) -> str:
    """Return those words of a result that later arguments use; no other word of it is kept."""
    words = dict.fromkeys(w.strip("\"'`,;:()[]{}<>") for w in result[:20_000].split())
    kept = [w for w in words if len(w) > 1 and w in later]
    return " ".join(kept)[:_RESULT_KEPT]


def _run_of(fingerprint: Fingerprint) -> Run:
    data = fingerprint.data
    rows = data.get("calls")
    rows = [r for r in rows if isinstance(r, Mapping)] if isinstance(rows, list) else []
    request = data.get("request")
    return Run(
        tuple(Call.from_json(row, place) for place, row in enumerate(rows)),
        request if isinstance(request, str) else "",
        tuple(str(row.get("gave", "")) for row in rows),
    )
