"""A procedure: steps with parameters, pitfalls and orders that are free, as plain data.

A procedure holds no value of any run: what varies is a parameter, and only what all runs have in
common is written out. So it can be kept, shown and exported without what the runs were about.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from agentmem.skills.acts import act_likeness
from agentmem.skills.calls import SLOT, Call, is_command, is_generic, similarity, verbs, word_set
from agentmem.skills.template import (
    Template,
    bind,
    from_json,
    render,
    slots_of,
    to_json,
)

__all__ = [
    "EVERYDAY_WEIGHT",
    "FORMAT",
    "Parameter",
    "Pitfall",
    "Procedure",
    "Step",
    "as_call",
    "bind_call",
    "likeness",
    "pair",
    "weight",
]

FORMAT: Final = 1
EVERYDAY_WEIGHT: Final = 0.4
_SHELL_WEIGHT: Final = 0.7
_FILE_WEIGHT: Final = 0.3
_VERSIONED: Final = word_set("git hg jj svn")
_EVERYDAY: Final = word_set("status commit add diff log show stash checkout switch branch")


@dataclass(frozen=True, slots=True)
class Step:
    """One call of a procedure.

    Attributes:
        tool: The tool's name.
        args: A template for each argument, by path.
        is_check: It checks the work.
        is_effect: It changes something.
        repeats: It is done once for each of several things.
    """

    tool: str
    args: Mapping[str, Template]
    is_check: bool = False
    is_effect: bool = False
    repeats: bool = False

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of its parameters, each once, in order."""
        return tuple(dict.fromkeys(n for t in self.args.values() for n in slots_of(t)))


@dataclass(frozen=True, slots=True)
class Pitfall:
    """A call that failed and was replaced.

    Attributes:
        tool: The tool of the failed call.
        args: A template for each argument; literals that no parameter explains are left out.
        step: 0-based place of the step that replaced it.
    """

    tool: str
    args: Mapping[str, Template]
    step: int


@dataclass(frozen=True, slots=True)
class Parameter:
    """What varies.

    Attributes:
        name: As in ``{name}``.
        step: 0-based place of the step whose result gives it; None if it must be given.
    """

    name: str
    step: int | None = None


@dataclass(frozen=True, slots=True)
class Procedure:
    """What the runs have in common.

    Attributes:
        steps: In order.
        parameters: In order of first use.
        pitfalls: In order of the steps.
        swaps: Pairs of steps, 0-based, that were done in either order.
        words: Words that the requests have in common, lower case.
        runs: How many runs it rests on.
    """

    steps: tuple[Step, ...]
    parameters: tuple[Parameter, ...] = ()
    pitfalls: tuple[Pitfall, ...] = ()
    swaps: tuple[tuple[int, int], ...] = ()
    words: tuple[str, ...] = ()
    runs: int = 1

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON data; ``from_json`` reads it back."""
        return {
            "format": FORMAT,
            "runs": self.runs,
            "words": list(self.words),
            "parameters": [{"name": p.name, "step": p.step} for p in self.parameters],
            "steps": [
                {
                    "tool": s.tool,
                    "args": {k: to_json(t) for k, t in s.args.items()},
                    "check": s.is_check,
                    "effect": s.is_effect,
                    "repeats": s.repeats,
                }
                for s in self.steps
            ],
            "pitfalls": [
                {"tool": p.tool, "args": {k: to_json(t) for k, t in p.args.items()}, "step": p.step}
                for p in self.pitfalls
            ],
            "swaps": [list(pair) for pair in self.swaps],
        }

    @classmethod
    def from_json(cls, data: Any) -> Procedure | None:
        """Return the procedure of plain data, or None if it is none; no input raises."""
        if not isinstance(data, Mapping) or data.get("format") != FORMAT:
            return None
        steps = tuple(
            Step(
                str(s.get("tool", "")),
                _templates(s.get("args")),
                s.get("check") is True,
                s.get("effect") is True,
                s.get("repeats") is True,
            )
            for s in _mappings(data.get("steps"))
        )
        if not steps:
            return None
        count = len(steps)
        swaps = data.get("swaps")
        words = data.get("words")
        runs = data.get("runs")
        return cls(
            steps=steps,
            parameters=tuple(
                Parameter(str(p.get("name", "")), _place(p.get("step"), count))
                for p in _mappings(data.get("parameters"))
            ),
            pitfalls=tuple(
                Pitfall(str(p.get("tool", "")), _templates(p.get("args")), place)
                for p in _mappings(data.get("pitfalls"))
                if (place := _place(p.get("step"), count)) is not None
            ),
            swaps=tuple(
                (pair[0], pair[1])
                for pair in (swaps if isinstance(swaps, list) else [])
                if isinstance(pair, list)
                and [_place(p, count) is not None for p in pair] == [True, True]
            ),
            words=tuple(
                w for w in (words if isinstance(words, list) else []) if isinstance(w, str)
            ),
            runs=runs if isinstance(runs, int) and runs > 0 else 1,
        )


def _mappings(data: Any) -> list[Mapping[str, Any]]:
    return [d for d in data if isinstance(d, Mapping)] if isinstance(data, list) else []


def _templates(data: Any) -> dict[str, Template]:
    return {str(k): from_json(t) for k, t in data.items()} if isinstance(data, Mapping) else {}


def _place(value: Any, count: int) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and 0 <= value < count else None


def as_call(step: Step | Pitfall, place: int = 0) -> Call:
    """Return the step as a call whose parameters are no words."""
    leaves = {k: render(t, SLOT) for k, t in step.args.items()}
    return Call(step.tool, leaves, place=place)


def bind_call(step: Step, call: Call) -> dict[str, str] | None:
    """Return the value of each parameter if the call is an instance of the step, else None."""
    if step.tool != call.tool or step.args.keys() != call.leaves.keys():
        return None
    values: dict[str, str] = {}
    for key, template in step.args.items():
        found = bind(template, call.leaves[key])
        if found is None or any(values.setdefault(n, v) != v for n, v in found.items()):
            return None
    return values


def likeness(step: Step, call: Call) -> float:
    """Return 0 to 1, how likely a call is an instance of the step."""
    known = as_call(step)
    near = max(similarity(known, call), act_likeness(known, call))
    if bind_call(step, call) is not None:
        return max(near, 0.6 if is_generic(call) else 0.9)
    return near


@dataclass(frozen=True, slots=True)
class Pairing:
    """Which steps of one sequence are which calls of another.

    Attributes:
        pairs: Places in both, by the first.
        repeats: Calls of the second that repeat a paired one.
    """

    pairs: tuple[tuple[int, int], ...]
    repeats: frozenset[int] = field(default_factory=frozenset)


def pair(scores: Sequence[Sequence[float]], threshold: float) -> Pairing:
    """Pair rows and columns one to one, likeliest first; nearness in place breaks ties.

    Args:
        scores: Likeness of each row to each column, 0 to 1.
        threshold: What is less alike is never paired.
    """
    height = len(scores)
    width = len(scores[0]) if scores else 0
    ranked = sorted(
        (
            (-round(score - 0.12 * abs((i + 1) / height - (j + 1) / width), 6), abs(i - j), i, j)
            for i, row in enumerate(scores)
            for j, score in enumerate(row)
            if score >= threshold
        )
    )
    rows: dict[int, int] = {}
    columns: set[int] = set()
    for _, _, i, j in ranked:
        if i not in rows and j not in columns:
            rows[i] = j
            columns.add(j)
    paired = sorted(rows.items())
    repeats = {
        j for j in range(width) if j not in columns and any(scores[i][j] >= threshold for i in rows)
    }
    return Pairing(tuple(paired), frozenset(repeats))


def weight(calls: Iterable[Call | Step]) -> float:
    """Return how much the calls say of the work.

    1 for a tool that only this work uses, 0.7 for a command in a shell, and little for what any
    session does: 0.3 for reading and editing files, 0.4 for the everyday use of version control.
    """
    return sum(_weight(c if isinstance(c, Call) else as_call(c)) for c in calls)


def _weight(call: Call) -> float:
    said = next((verbs(t) for key, t in call.leaves.items() if is_command(key)), ())
    words = said if call.tool.casefold() not in _VERSIONED else ("git", *said)
    if len(words) > 1 and words[0] in _VERSIONED and words[1] in _EVERYDAY:
        return EVERYDAY_WEIGHT
    if not is_generic(call):
        return 1.0
    return _SHELL_WEIGHT if said else _FILE_WEIGHT
