"""Holds a new run against a procedure that exists: what of it is new."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from agentmem.skills.assemble import pitfalls_of
from agentmem.skills.calls import ALIKE, Call, is_effect, is_generic
from agentmem.skills.mining import MAX_PITFALLS, MIN_STEPS, Run, distinct, useful
from agentmem.skills.parameters import name_for
from agentmem.skills.procedure import Pairing, Parameter, Procedure, Step, likeness, pair, weight
from agentmem.skills.template import Slot, Template, bind, generalised

__all__ = ["Refinement", "covered", "refine"]

_MIN_SHARE: Final = 0.6
_LEAST_SHARE: Final = 0.45
_LEAST_OF_RUN: Final = 0.4
_MIN_ACTS: Final = 0.5


@dataclass(frozen=True, slots=True)
class Refinement:
    """A procedure after one more run.

    Attributes:
        procedure: With what the run adds; equal to the old one, runs aside, if that is nothing.
        news: In a few words each, what is new.
        places: Of the calls of the run that the procedure covers.
        values: Of the parameters, in this run.
    """

    procedure: Procedure
    news: tuple[str, ...]
    places: tuple[int, ...]
    values: dict[str, str]


def covered(procedure: Procedure, calls: Sequence[Call]) -> tuple[float, Pairing] | None:
    """Return how much of the procedure the calls are, 0 to 1, if they are a run of it.

    A run has most of the steps, or nearly half of them and little else; of what changes something
    in either at least half is in both.
    """
    if len(calls) < MIN_STEPS:
        return None
    scores = [[likeness(step, call) for call in calls] for step in procedure.steps]
    found = pair(scores, ALIKE)
    if len(found.pairs) < MIN_STEPS:
        return None
    steps = [procedure.steps[i] for i, _ in found.pairs]
    share = weight(steps) / weight(procedure.steps)
    paired = {j for _, j in found.pairs} | found.repeats
    strange = [c for j, c in enumerate(calls) if j not in paired]
    of_run = weight(steps) / (weight(steps) + weight(strange))
    if share < _MIN_SHARE and (share < _LEAST_SHARE or of_run < _MIN_SHARE):
        return None
    if of_run < _LEAST_OF_RUN:
        return None
    acts = [s for s in procedure.steps if s.is_effect]
    done = [s for s in steps if s.is_effect]
    others = [c for c in strange if is_effect(c)]
    # What is changed says more of an aim than what is looked at.
    if acts and len(done) < _MIN_ACTS * min(len(acts), len(done) + len(others)):
        return None
    if acts and not done:
        return None
    said = [s for s in procedure.steps if not is_generic(Call(s.tool, {}))]
    if said and not any(s in steps for s in said):
        return None
    return share, found


def refine(procedure: Procedure, run: Run) -> Refinement | None:
    """Return the procedure with what a run adds to it; None if the run is none of it."""
    calls = useful(run.calls)
    got = covered(procedure, calls)
    if got is None:
        return None
    _, found = got
    news: list[str] = []
    steps = list(procedure.steps)
    values: dict[str, str] = {}
    names = {p.name for p in procedure.parameters}
    fresh: list[str] = []
    for i, j in found.pairs:
        if steps[i].tool != calls[j].tool:
            continue  # by other means: nothing to learn for the step's own words
        step, grown = _fitted(steps[i], calls[j], names, fresh)
        if grown:
            news.append(f"step {i + 1} varies more than was known")
        steps[i] = step
    steps, split = _unlinked(steps, found, calls, names=names, fresh=fresh, values=values)
    news += [f"{{{name}}} is a parameter of its own" for name in split]
    at = {calls[j].place: i for i, j in found.pairs}
    falls = pitfalls_of(run.calls, values, steps, at, run.request)
    pitfalls = distinct([*procedure.pitfalls, *falls])[:MAX_PITFALLS]
    if len(pitfalls) > len(procedure.pitfalls):
        news.append("a call that failed and was replaced")
    swaps = _new_swaps(procedure, found)
    if swaps:
        news.append("some steps may be done in another order")
    parameters = procedure.parameters + tuple(Parameter(name) for name in fresh)
    used = {n for s in steps for n in s.parameters}
    return Refinement(
        procedure=replace(
            procedure,
            steps=tuple(steps),
            parameters=tuple(p for p in parameters if p.name in used),
            pitfalls=pitfalls,
            swaps=tuple(sorted({*procedure.swaps, *swaps})),
            runs=procedure.runs + 1,
        ),
        news=tuple(news),
        places=tuple(calls[j].place for _, j in found.pairs),
        values=values,
    )


def _fitted(step: Step, call: Call, names: set[str], fresh: list[str]) -> tuple[Step, bool]:
    """Return the step with templates that the call is an instance of, and whether any changed.

    A template that would lose most of its words stays: the call is a variant then.
    """
    args = dict(step.args)
    changed = False
    for key, template in step.args.items():
        text = call.leaves.get(key)
        if text is None or bind(_apart(template), text) is not None:
            continue

        def name(before: str, value: str, key: str = key) -> str:
            free = name_for(before, key, [value], {*names, *fresh})
            fresh.append(free)
            return free

        wider = generalised(template, text, name)
        if wider is not None:
            args[key] = wider
            changed = True
    return (replace(step, args=args), True) if changed else (step, False)


def _apart(template: Template) -> Template:
    """Return the template with each slot named by its place, so that no two must agree."""
    return tuple(p if isinstance(p, str) else Slot(f"{p.name}#{i}") for i, p in enumerate(template))


def _unlinked(
    steps: Sequence[Step],
    found: Pairing,
    calls: Sequence[Call],
    *,
    names: set[str],
    fresh: list[str],
    values: dict[str, str],
) -> tuple[list[Step], list[str]]:
    """Give slots that one name joined, but that differ in this run, parameters of their own.

    Fills ``values`` with the value of each parameter: the one that most of its slots have.
    """
    seen: dict[tuple[int, str, int], tuple[str, str]] = {}
    for i, j in found.pairs:
        if steps[i].tool != calls[j].tool:
            continue
        for key, template in steps[i].args.items():
            text = calls[j].leaves.get(key)
            bound = bind(_apart(template), text) if text is not None else None
            for at, part in enumerate(template if bound is not None else ()):
                if isinstance(part, Slot) and bound is not None:
                    seen[i, key, at] = (part.name, bound[f"{part.name}#{at}"])
    counts: dict[str, Counter[str]] = {}
    for name, value in seen.values():
        counts.setdefault(name, Counter())[value] += 1
    values.update({n: c.most_common(1)[0][0] for n, c in counts.items()})
    out = list(steps)
    split: list[str] = []
    renamed: dict[tuple[str, str], str] = {}
    for (i, key, at), (name, value) in seen.items():
        if value == values[name]:
            continue
        if (name, value) not in renamed:
            new = name_for("", name, [value], {*names, *fresh})
            renamed[name, value] = new
            fresh.append(new)
            split.append(new)
            values[new] = value
        parts = list(out[i].args[key])
        parts[at] = Slot(renamed[name, value])
        out[i] = replace(out[i], args={**out[i].args, key: tuple(parts)})
    return out, split


def _new_swaps(procedure: Procedure, found: Pairing) -> list[tuple[int, int]]:
    """Return neighbouring steps that this run did the other way round, where that is new."""
    return [
        (i, k)
        for (i, a), (k, b) in zip(found.pairs, found.pairs[1:], strict=False)
        if a > b and (i, k) not in procedure.swaps
    ]
