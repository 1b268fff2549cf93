"""Judges the skill reviewer, the procedures it learns and the import lint on the labelled sets.

``python -m benches.quality.skills [FOLDER] [--suffix=-holdout] [--verbose]``; FOLDER holds the label
files and is ``benches/quality/labels`` if not given. How each figure is counted is written in
``labels/README-skills.md``; the recordings come from AGENTMEM_DATA and lines without them are left out.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import json
import re
import tempfile
import zipfile
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benches.corpus import data_folder

from agentmem import tool_calls
from agentmem.errors import AgentMemError
from agentmem.models.memory import Trust
from agentmem.models.skills import (
    ArchiveCall,
    ArchiveMessage,
    ArchiveView,
    Decision,
    Fingerprint,
    SkillView,
)
from agentmem.skills.calls import Call, flatten
from agentmem.skills.gates import check_decision
from agentmem.skills.lint import check_draft, lint
from agentmem.skills.procedure import Procedure, bind_call
from agentmem.skills.reviewer import RuleReviewer
from agentmem.skills.skill_md import read_skills

LABELS = Path(__file__).parent / "labels"


def view_of(
    messages: list[dict[str, Any]],
    *,
    id: str,
    owner: str,
    succeeded: bool | None,
    intent: str | None = None,
) -> ArchiveView:
    """Return a conversation in any host's shape as a reviewer reads it."""
    calls = tool_calls(messages)
    out: list[ArchiveMessage] = []
    rows: list[ArchiveCall] = []
    number = 0

    def add(role: Any, text: str, **more: Any) -> int:
        nonlocal number
        number += 1
        trust = {"user": Trust.USER, "tool_result": Trust.TOOL}.get(role, Trust.ASSISTANT)
        out.append(ArchiveMessage(role=role, text=text, source=f"L0:{number}", trust=trust, **more))
        return len(out) - 1

    rest = iter(calls)
    taken = 0

    def add_calls(count: int) -> None:
        nonlocal taken
        for _ in range(count):
            call = next(rest, None)
            if call is None:
                return
            taken += 1
            is_object = isinstance(call.arguments, dict)
            text = json.dumps(call.arguments, ensure_ascii=False) if is_object else call.arguments
            place = add("tool_call", str(text), name=call.name, is_object=is_object)
            source = out[place].source
            result_source = None
            if call.result is not None:
                result = add("tool_result", call.result, name=call.name, is_error=call.is_error)
                result_source = out[result].source
            rows.append(
                ArchiveCall(
                    name=call.name,
                    arguments=call.arguments,
                    result=call.result,
                    outcome="error"
                    if call.is_error
                    else "pending"
                    if call.result is None
                    else "ok",
                    place=place,
                    source=source,
                    result_source=result_source,
                    batch=call.batch,
                )
            )

    if isinstance(messages, dict):  # a trajectory: what was asked, then the calls
        asked = [m for m in messages.get("history", []) if m.get("role") == "user"][:1]
        messages = [{"role": "user", "content": m["content"]} for m in asked]
    for message in messages if isinstance(messages, list) else []:
        role, texts, count = _parts(message) if isinstance(message, dict) else ("", [], 0)
        if role in {"user", "assistant"}:
            for text in texts:
                if text.strip():
                    add(role, text)
            add_calls(count)
    add_calls(len(calls) - taken)
    return ArchiveView(
        id=id,
        session=id,
        owner=owner,
        scope="",
        reason="forced",
        messages=tuple(out),
        calls=tuple(rows),
        succeeded=succeeded,
        intent=intent,
    )


def _parts(message: dict[str, Any]) -> tuple[str, list[str], int]:
    """Return role, texts and number of calls of one message of a known host."""
    inner = message.get("message") if isinstance(message.get("message"), dict) else message
    role = str(inner.get("role") or message.get("type") or "")
    content = inner.get("content")
    texts: list[str] = []
    count = len(inner.get("tool_calls") or [])
    if isinstance(content, str):
        texts.append(content)
    elif isinstance(content, list):
        for block in content:
            if isinstance(block, dict):
                if block.get("type") == "text":
                    texts.append(str(block.get("text", "")))
                elif block.get("type") == "tool_use":
                    count += 1
    return role, texts, count


def recorded(source: dict[str, Any], data: Path) -> list[dict[str, Any]] | None:
    path = data / "toollogs" / source["file"]
    if not path.exists():
        return None
    raw = gzip.decompress(path.read_bytes()).decode()
    if path.name.endswith(".jsonl.gz"):
        rows = [json.loads(line) for line in raw.splitlines() if line.strip()]
        if "episode" in source:
            return list(rows[source["episode"]]["messages"])
        return rows[source.get("from", 0) : source.get("to", len(rows))]
    loaded = json.loads(raw)
    return loaded if isinstance(loaded, (list, dict)) else None


@dataclass
class World:
    """What the store half would keep: approved skills and fingerprints, by owner."""

    skills: dict[str, list[SkillView]] = field(default_factory=dict)
    prints: dict[str, list[Fingerprint]] = field(default_factory=dict)
    made: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    def review(self, archive: ArchiveView) -> tuple[Decision, str | None]:
        skills = self.skills.setdefault(archive.owner, [])
        prints = self.prints.setdefault(archive.owner, [])
        decision = RuleReviewer().review(archive, skills, prints)
        decision = check_decision(decision, archive, skills, prints)
        prints.extend(decision.fingerprints)
        self.prints[archive.owner] = [p for p in prints if p.key not in decision.used_fingerprints]
        draft = decision.draft
        if decision.outcome == "create" and draft is not None:
            skills.append(
                SkillView(
                    id=f"skill:{len(skills)}",
                    name=draft.name,
                    version=1,
                    state="approved",
                    owner=archive.owner,
                    description=draft.description,
                    body=draft.body,
                    metadata=json.loads(json.dumps(draft.metadata)),
                    evidence=decision.evidence,
                )
            )
            return decision, draft.name
        if decision.outcome == "update" and draft is not None:
            for place, skill in enumerate(skills):
                if skill.name == decision.skill:
                    skills[place] = replace(
                        skill,
                        version=skill.version + 1,
                        body=draft.body,
                        metadata=json.loads(json.dumps(draft.metadata)),
                        evidence=(*skill.evidence, *decision.evidence),
                    )
        return decision, decision.skill


SIGNAL = {"success": True, "failure": False, None: None}


def judge_skills(
    path: Path, data: Path | None, *, verbose: bool, signals: bool = True
) -> dict[str, Any]:
    lines = sorted(
        (json.loads(x) for x in path.read_text(encoding="utf-8").strip().split("\n")),
        key=lambda d: d["order"],
    )
    world = World()
    hits = Counter[str]()
    procedures: dict[tuple[str, str], set[str]] = {}
    skipped = recurred = accepted = second = contained = 0
    labels = {d["id"]: d for d in lines}
    wrong: list[str] = []
    for line in lines:
        messages = line.get("messages")
        if messages is None:
            messages = recorded(line["source"], data) if data else None
            if messages is None:
                skipped += 1
                continue
        archive = view_of(
            messages,
            id=line["id"],
            owner=line["owner"],
            succeeded=SIGNAL[line["signal"]] if signals else None,
        )
        decision, skill = world.review(archive)
        accept = line.get("accept") or [line["expect"]]
        key = (line["owner"], line["procedure"] or "")
        before = procedures.get(key, set())
        said, is_worth = decision.outcome != "reject", bool(line["worth"])
        if line["why"] != "duplicate":
            hits["tp" if said and is_worth else "fp" if said else "fn" if is_worth else "tn"] += 1
        if before and "update" in accept:
            recurred += 1
            accepted += decision.outcome in accept
            second += decision.outcome == "create"
        if line["procedure"] and decision.outcome == "create" and skill:
            procedures.setdefault(key, set()).add(skill)
        if decision.outcome not in accept:
            wrong.append(
                f"{line['order']:4} {line['id']:32} {line['why']:10} expected {accept} got "
                f"{decision.outcome} {decision.reasons} {skill or ''} {decision.notes[:90]}"
            )
        elif verbose:
            print(
                f"     ok {line['id']:32} {decision.outcome} {decision.reasons} {skill or ''} "
                f"{decision.notes[:80]}"
            )
    for skills in world.skills.values():
        for view in skills:
            for evidence in view.evidence:
                if labels[evidence.archive]["why"] in {"failed", "poisoned"}:
                    contained += 1
    print("\n".join(wrong))
    return {
        "conversations": len(lines) - skipped,
        "left out (no recording)": skipped,
        "precision": _share(hits["tp"], hits["tp"] + hits["fp"]),
        "recall": _share(hits["tp"], hits["tp"] + hits["fn"]),
        "tp/fp/fn/tn": [hits[k] for k in ("tp", "fp", "fn", "tn")],
        "recurrences accepted": f"{accepted}/{recurred}",
        "second skills": second,
        "skills resting on failed or poisoned material": contained,
    }


def _share(part: float, whole: float) -> float:
    return round(part / whole, 3) if whole else 1.0


def _bindings(step: Any, call: Call) -> set[str]:
    """Return each parameter's value, and the words and paths of which only parameters vary."""
    values = bind_call(step, call) or {}
    found = {v.strip("/") for v in values.values()}
    for key, template in step.args.items():
        text = call.leaves[key]
        found |= {text} if any(not isinstance(p, str) for p in template) else set()
        spot = 0
        for part in template:
            length = len(part) if isinstance(part, str) else len(values[part.name])
            if not isinstance(part, str):
                for stop in (r"[\s'\"`()\[\]{}<>,;=:|&/@?]", r"[\s'\"`()\[\]{}<>,;=:|&]"):
                    left = max((m.end() for m in re.finditer(stop, text[:spot])), default=0)
                    right = re.search(stop, text[spot + length :])
                    end = spot + length + right.start() if right else len(text)
                    found.add(text[left:end].strip("/"))
            spot += length
    return found


def judge_procedures(path: Path, *, verbose: bool) -> dict[str, Any]:
    explained: list[float] = []
    bound = strict = total = literal = learned = 0
    for line in (json.loads(x) for x in path.read_text(encoding="utf-8").strip().split("\n")):
        world = World()
        for n, run in enumerate(line["runs"]):
            world.review(
                view_of(
                    run["messages"],
                    id=f"{line['procedure']}-{n}",
                    owner=line["owner"],
                    succeeded=SIGNAL[run["signal"]],
                )
            )
        skills = world.skills.get(line["owner"], [])
        held = line["heldout"]
        for heldout in held if isinstance(held, list) else [held]:
            if not skills:
                print(f"     {line['procedure']}: no skill")
                explained.append(0.0)
                total += len(heldout["parameters"])
                continue
            learned += 1
            skill = skills[0]
            procedure = Procedure.from_json(skill.metadata["procedure"])
            assert procedure is not None
            calls = [
                Call(c.name, flatten(c.arguments), place=i)
                for i, c in enumerate(tool_calls(heldout["messages"]))
            ]
            extra = heldout["extra"]
            extra = set(extra if isinstance(extra, list) else [extra])
            free, values, pure = set(range(len(procedure.steps))), set(), set()
            count = 0
            for call in calls:
                fitting = [
                    i for i in sorted(free) if bind_call(procedure.steps[i], call) is not None
                ]
                if fitting and call.place not in extra:
                    count += 1
                    if not procedure.steps[fitting[0]].repeats:
                        free.discard(fitting[0])
                    values |= _bindings(procedure.steps[fitting[0]], call)
                    pure |= set((bind_call(procedure.steps[fitting[0]], call) or {}).values())
                elif call.place not in extra:
                    print(
                        f"     {line['procedure']}: not explained: {call.tool} {dict(call.leaves)}"
                    )
            explained.append(count / (len(calls) - len(extra)))
            for name, value in heldout["parameters"].items():
                total += 1
                strict += str(value) in pure
                if str(value).strip("/") in values:
                    bound += 1
                else:
                    print(f"     {line['procedure']}: {name} = {value!r} is bound to nothing")
            body = skill.body.partition("\n## Evidence\n")[0]
            words = f"{skill.name}\n{skill.description}\n{body}"
            left = [
                x for x in line["literals"] if re.search(rf"(?<!\w){re.escape(x)}(?!\w)", words)
            ]
            literal += len(left)
            if left:
                print(f"     {line['procedure']}: literals left: {left}")
            if verbose:
                print(skill.body)
    return {
        "procedures": len(explained),
        "learned": learned,
        "calls explained, mean": round(sum(explained) / len(explained), 3),
        "true values bound": f"{bound}/{total}",
        "by a parameter alone": f"{strict}/{total}",
        "literals left": literal,
    }


def _content(value: Any) -> bytes | None:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    if "base64" in value:
        return base64.b64decode(value["base64"])
    return (value["repeat"] * value["times"]).encode() if "repeat" in value else None


def present(entry: dict[str, Any], folder: Path) -> tuple[str, str]:
    """Import one labelled skill; return ``refused``, ``flagged`` or ``clean``, and why."""
    files = entry["files"]
    risky = re.compile(r"(?:^|/)\.\.(?:/|$)|^/|\\|\0|^[A-Za-z]:")
    name = entry["name"]
    if risky.search(name) or any(risky.search(p) for p in files):
        path = folder / "skill.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for file, value in files.items():
                info = zipfile.ZipInfo("x")
                info.filename = f"{name}/{file}" if not risky.match(file) else file
                archive.writestr(info, _content(value) or b"")
    else:
        path = folder / name
        path.mkdir()
        for file, value in files.items():
            target = path / file
            target.parent.mkdir(parents=True, exist_ok=True)
            content = _content(value)
            if content is None:
                target.symlink_to(value["symlink"])
            else:
                target.write_bytes(content)
    try:
        drafts = read_skills(path)
        for draft in drafts:
            check_draft(draft)
    except AgentMemError as error:
        return "refused", str(error)
    flags = [flag for draft in drafts for flag in lint(draft)]
    return ("flagged", flags[0]) if flags else ("clean", "")


def judge_imports(path: Path, *, malicious: bool, verbose: bool) -> dict[str, Any]:
    counts: Counter[str] = Counter()
    for entry in (json.loads(x) for x in path.read_text(encoding="utf-8").strip().split("\n")):
        with tempfile.TemporaryDirectory() as folder:
            got, why = present(entry, Path(folder))
        counts[got] += 1
        if (got == "clean") == malicious or verbose:
            print(f"     {entry['name']}: {got} {why[:110]} {entry.get('why', '')}")
    return dict(counts)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benches.quality.skills")
    parser.add_argument("folder", nargs="?", type=Path, default=LABELS)
    parser.add_argument("--suffix", default="", help="scores the set whose files end so")
    parser.add_argument("--only", default="", help="skills, procedures or imports")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--no-signals", action="store_true", help="hosts say nothing of outcomes")
    chosen = parser.parse_args(arguments)
    data = data_folder()
    kinds = {
        "skills": lambda p: judge_skills(
            p, data, verbose=chosen.verbose, signals=not chosen.no_signals
        ),
        "procedures": lambda p: judge_procedures(p, verbose=chosen.verbose),
        "imports": lambda p: judge_imports(p, malicious=True, verbose=chosen.verbose),
        "imports-benign": lambda p: judge_imports(p, malicious=False, verbose=chosen.verbose),
    }
    for kind, judge in kinds.items():
        path = chosen.folder / f"{kind}{chosen.suffix}.jsonl"
        if chosen.only and not kind.startswith(chosen.only):
            continue
        if not path.exists():
            print(f"{kind}: {path.name} is not there")
            continue
        print(f"{kind}:")
        print(json.dumps(judge(path), ensure_ascii=False, indent=2))


if __name__ == "__main__":
    main()
