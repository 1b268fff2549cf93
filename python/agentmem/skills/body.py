"""Writes a skill from a procedure: a name, a description and a body with seven sections.

No word of a run's results gets into it, and no value of a parameter.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final

from agentmem.models.skills import Draft, Evidence
from agentmem.skills.calls import verbs, word_set
from agentmem.skills.procedure import Pitfall, Procedure, Step, as_call
from agentmem.skills.template import constants, render

__all__ = ["SECTIONS", "SHORT", "draft_of", "leftovers"]

SECTIONS: Final = (
    "When to use",
    "When not to use",
    "Required inputs",
    "Steps",
    "Validation",
    "Pitfalls",
    "Evidence",
)
"""The headings of every body, in order."""

SHORT: Final = 3
"""Values of so few characters are no literals that anybody would know again."""

_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_MAX_EVIDENCE: Final = 12
_NAME_LIMIT: Final = 60
_FILLER: Final = word_set("the and for of to a an in on with by from as at or")
_TOO_COMMON: Final = word_set("bash run shell execute exec python true false http https")
_COLOURLESS: Final = word_set(
    "edit write file read open get put post sql query select insert info view find"
)


def draft_of(
    procedure: Procedure,
    evidence: Sequence[Evidence],
    taken: Sequence[str] = (),
    *,
    name: str | None = None,
    intent: str | None = None,
) -> Draft:
    """Return the procedure as a skill.

    Args:
        procedure: What to write down.
        evidence: What it rests on; only ids of it are shown.
        taken: Names that other skills have.
        name: The name to keep, of an update.
        intent: What a person wanted it for, without literals of the run.
    """
    title = name or _name(procedure, taken)
    acts = _acts(procedure)
    return Draft(
        name=title,
        description=_printable(_description(procedure, acts, intent)),
        body=_printable(_body(title, procedure, acts, evidence, intent)),
        metadata={"procedure": procedure.to_json()},
    )


def _printable(text: str) -> str:
    return _UNPRINTABLE.sub("\ufffd", text)


def _act(step: Step | Pitfall) -> str:
    """Return in a few words what a step does: a command's verbs, or the tool and its file."""
    call = as_call(step)
    for key in ("command", "cmd", "args", "query", "sql", "code", ""):
        if key in call.leaves and verbs(call.leaves[key]):
            said = [v for v in verbs(call.leaves[key]) if "\ufffc" not in v]
            tool = step.tool.casefold()
            head = [] if tool in _TOO_COMMON or tool in said else [tool]
            return " ".join([*head, *said][:4])
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", step.tool).replace("_", " ").replace("-", " ")
    method = step.args.get("method")
    extra = constants(method).strip() if method else ""
    url = constants(step.args["url"]) if "url" in step.args else ""
    place = re.findall(r"[a-z]{3,}", re.sub(r"^\s*https?://[^/\s]*", "", url))
    return " ".join(
        [*words.casefold().split(), *([extra.casefold()] if extra else []), *place[-1:]]
    )


def _acts(procedure: Procedure) -> list[str]:
    """Return what the procedure does, most telling first: effects before checks before reads."""
    ranked = sorted(
        enumerate(procedure.steps),
        key=lambda item: (not item[1].is_effect, not item[1].is_check, item[0]),
    )
    return list(dict.fromkeys(_act(s) for _, s in ranked if _act(s)))


def _name(procedure: Procedure, taken: Sequence[str]) -> str:
    words: list[str] = []
    for act in _acts(procedure)[:4]:
        words += [w for w in re.findall(r"[a-z0-9]+", act.casefold()) if w not in _FILLER]
    words = [w for w in dict.fromkeys(words) if w not in _TOO_COMMON]
    telling = [w for w in words if w not in _COLOURLESS]
    words = telling if len(telling) > 1 else words or ["procedure"]
    stem = ""
    for word in words[:6]:
        longer = f"{stem}-{word}" if stem else word
        if len(longer) > _NAME_LIMIT - 4:
            break
        stem = longer
    stem = stem or words[0][: _NAME_LIMIT - 4]
    free, number = stem, 2
    while free in taken:
        free, number = f"{stem}-{number}", number + 1
    return free


def _description(procedure: Procedure, acts: Sequence[str], intent: str | None) -> str:
    does = ", ".join(acts[:6])
    text = f"{len(procedure.steps)} steps with {does}."
    use = intent or (
        f"a request is about {', '.join(procedure.words[:8])}" if procedure.words else ""
    )
    if use:
        text += f" Use when {use}." if not intent else f" Use for: {use}."
    else:
        text += f" Use when the work calls for {acts[0]} and the checks after it."
    return text[:1_024]


def _body(
    title: str,
    procedure: Procedure,
    acts: Sequence[str],
    evidence: Sequence[Evidence],
    intent: str | None,
) -> str:
    about = ", ".join(procedure.words[:8])
    lines = [f"# {title}", ""]
    lines += ["## When to use", ""]
    lines.append(f"- The work is: {'; '.join(acts[:4])}.")
    if about:
        lines.append(f"- Requests of this kind speak of: {about}.")
    if intent:
        lines.append(f"- Asked for as: {intent}")
    lines += ["", "## When not to use", ""]
    lines.append("- One of the required inputs is unknown and nobody can be asked for it.")
    lines.append("- A step fails in a way that the pitfalls do not name: stop and say so.")
    lines.append("- Only a question is to be answered and nothing is to be changed.")
    lines += ["", "## Required inputs", ""]
    given = [p for p in procedure.parameters if p.step is None]
    found = [p for p in procedure.parameters if p.step is not None]
    lines += [f"- `{{{p.name}}}`: {_where(p.name, procedure)}" for p in given]
    if not given:
        lines.append("- None.")
    lines += [f"- `{{{p.name}}}`: not asked for; step {(p.step or 0) + 1} gives it." for p in found]
    lines += ["", "## Steps", ""]
    for number, step in enumerate(procedure.steps, 1):
        each = "For each: " if step.repeats else ""
        lines.append(f"{number}. {each}{_call(step.tool, step)}")
    lines += [
        f"\nSteps {a + 1} and {b + 1} may be done in either order." for a, b in procedure.swaps
    ]
    lines += ["", "## Validation", "", *_validation(procedure)]
    lines += ["", "## Pitfalls", ""]
    lines += [
        f"- {_call(p.tool, p)} failed; do step {p.step + 1} as it is written."
        for p in procedure.pitfalls
    ] or ["- None known."]
    lines += ["", "## Evidence", ""]
    lines += [f"- {e.archive}: {_span(e.sources)}{_note(e)}" for e in evidence[-_MAX_EVIDENCE:]]
    lines.append(f"- Runs it rests on: {procedure.runs}.")
    return "\n".join(lines) + "\n"


def _note(evidence: Evidence) -> str:
    return f" ({evidence.note})" if evidence.note else ""


def _span(sources: Sequence[str]) -> str:
    if not sources:
        return "no rows"
    return sources[0] if len(sources) == 1 else f"{sources[0]} to {sources[-1]}"


def _where(name: str, procedure: Procedure) -> str:
    steps = [str(i) for i, s in enumerate(procedure.steps, 1) if name in s.parameters]
    return f"step {steps[0]}" if len(steps) == 1 else f"steps {', '.join(steps)}"


def _call(tool: str, item: Step | Pitfall) -> str:
    args: Mapping[str, str] = {k: render(t) for k, t in item.args.items()}
    if not args:
        return f"`{tool}`"
    if len(args) == 1:
        [(key, text)] = args.items()
        shown = json.dumps(text, ensure_ascii=False) if "\n" in text else text
        return f"`{tool}` with {key or 'the text'} {_code(shown)}"
    shown = "; ".join(f"{k} = {_code(json.dumps(v, ensure_ascii=False))}" for k, v in args.items())
    return f"`{tool}` with {shown}"


def _code(text: str) -> str:
    """Return the text as a code span that nothing in it can end."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if text.startswith("`") or text.endswith("`") or not text.strip() else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _validation(procedure: Procedure) -> list[str]:
    steps = procedure.steps
    last_effect = max((i for i, s in enumerate(steps) if s.is_effect), default=-1)
    first_effect = next((i for i, s in enumerate(steps) if s.is_effect), -1)
    checks = [i for i, s in enumerate(steps) if s.is_check and i > first_effect]
    final = [i for i in range(len(steps)) if i > last_effect or i in checks]
    lines = [f"- Step {i + 1} must succeed: {_act(steps[i])}." for i in final]
    return lines or ["- Every step must succeed; the last one shows the result."]


def leftovers(draft: Draft, values: Sequence[str]) -> list[str]:
    """Return the values of a run that are left in a draft's words; evidence is not looked at.

    Args:
        draft: The skill as written.
        values: What varied in the runs. Those of up to three characters, and those that a step
            says by itself (a tool ``payments_refund`` beside the value ``refund``), are none.
    """
    body = draft.body.partition("\n## Evidence\n")[0]
    text = f"{draft.name}\n{draft.description}\n{body}"
    procedure = Procedure.from_json(draft.metadata.get("procedure"))
    said = {
        word
        for step in (procedure.steps if procedure else ())
        for part in (step.tool, *step.args, *map(constants, step.args.values()))
        for word in re.findall(r"[^\W_]+", part)
    }
    return [
        v
        for v in dict.fromkeys(values)
        if len(v) > SHORT
        and v not in said
        and re.search(rf"(?<![\w.-]){re.escape(v)}(?![\w-])", text)
    ]
