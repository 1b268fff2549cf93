"""Turns paired calls into steps, parameters, pitfalls and free orders."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from agentmem.skills.calls import Call, is_check, is_effect, is_noise, similarity, word_set
from agentmem.skills.parameters import Pool, Values, spell
from agentmem.skills.procedure import Parameter, Pitfall, Step
from agentmem.skills.template import Slot, Template, align, constants, render, slots_of

__all__ = [
    "build_steps",
    "fold",
    "free_orders",
    "origins",
    "pitfalls_of",
    "shared_words",
    "words_of",
]

Column = Sequence[Call | None]
_REACH: Final = 6
_FOLDED: Final = 3
_SHARED_BY: Final = 2
_PIECE = re.compile(r"[^\s'\"`()\[\]{}<>,;=:|&/@?]+|\s+|.", re.DOTALL)
_LETTERS = re.compile(r"[^\W\d_]{3,}")
_STOP: Final = word_set(
    "the and for with that this from into our can you please have has are was were will not "
    "but its it's they them then there when what which your all any out now new one two three "
    "also just get got does did make made needs need want wants should must after before "
    "again run của cho và các những một với này đã bị là có không hãy giúp mình trên"
)


def build_steps(columns: Sequence[Column], runs: int) -> tuple[tuple[Step, ...], Pool]:
    """Return one step for each column of paired calls, and the parameters with their values."""
    pool = Pool()
    spelled: list[dict[str, tuple[list[str | None], list[Values]]]] = []
    for column in columns:
        present = [(n, c) for n, c in enumerate(column) if c is not None]
        keys = [k for k in present[0][1].leaves if all(k in c.leaves for _, c in present)]
        row: dict[str, tuple[list[str | None], list[Values]]] = {}
        for key in keys:
            parts, slots = align([c.leaves[key] for _, c in present])
            wide: list[Values] = []
            for values in slots:
                filled: list[str | None] = [None] * runs
                for (n, _), value in zip(present, values, strict=True):
                    filled[n] = value
                wide.append(tuple(filled))
            row[key] = (parts, wide)
        spelled.append(row)
    pool.learn(
        (values, _before(parts, place), key)
        for row in spelled
        for key, (parts, slots) in row.items()
        for place, values in enumerate(slots)
    )
    steps: list[Step] = []
    for column, row in zip(columns, spelled, strict=True):
        call = next(c for c in column if c is not None)
        args = {key: pool.template(parts, slots) for key, (parts, slots) in row.items()}
        steps.append(Step(call.tool, args, is_check(call), is_effect(call)))
    return tuple(steps), pool


def _before(parts: Sequence[str | None], slot: int) -> str:
    seen = -1
    for place, part in enumerate(parts):
        if part is None:
            seen += 1
            if seen == slot:
                return (parts[place - 1] or "") if place else ""
    return ""


def _shape(step: Step) -> tuple[str, tuple[tuple[str, str], ...]]:
    return step.tool, tuple(
        (k, "".join(p if isinstance(p, str) else "\0" for p in t)) for k, t in step.args.items()
    )


def fold(
    steps: Sequence[Step], places: Sequence[int]
) -> tuple[tuple[Step, ...], list[int], list[int]]:
    """Fold three or more like steps in a row into one that repeats.

    Returns:
        The steps, the place of each, and the folded step that each given one went into.
    """
    out: list[Step] = []
    kept: list[int] = []
    into: list[int] = []
    i = 0
    while i < len(steps):
        end = i
        while end + 1 < len(steps) and _shape(steps[end + 1]) == _shape(steps[i]):
            end += 1
        width = 1 if end - i + 1 < _FOLDED or not steps[i].parameters else end - i + 1
        out.append(replace(steps[i], repeats=width > 1))
        kept.append(places[i])
        into.extend([len(out) - 1] * width)
        i += width
    return tuple(out), kept, into


def free_orders(
    places: Sequence[int], orders: Sequence[Mapping[int, int]]
) -> list[tuple[int, int]]:
    """Return neighbouring steps that at least one run did the other way round."""
    found: list[tuple[int, int]] = []
    for k, (one, other) in enumerate(pairwise(places)):
        if any(o.get(one, -1) > o[other] for o in orders if other in o and one in o):
            found.append((k, k + 1))
    return found


def origins(
    steps: Sequence[Step],
    pool: Pool,
    requests: Sequence[str],
    results: Sequence[Sequence[str]],
    columns: Sequence[Column],
) -> tuple[Parameter, ...]:
    """Return the parameters in order of use; those that a result gives name its step."""
    names = dict.fromkeys(n for s in steps for n in s.parameters)
    return tuple(
        Parameter(
            name,
            _origin(name, steps, pool.values[name], requests, results=results, columns=columns),
        )
        for name in names
    )


def _origin(
    name: str,
    steps: Sequence[Step],
    values: Values,
    requests: Sequence[str],
    *,
    results: Sequence[Sequence[str]],
    columns: Sequence[Column],
) -> int | None:
    first = next(k for k, s in enumerate(steps) if name in s.parameters)
    if any(v and v in request for v, request in zip(values, requests, strict=True)):
        return None
    for k in range(first - 1, -1, -1):
        texts = [
            results[n][call.place] if call is not None and call.place < len(results[n]) else ""
            for n, call in enumerate(columns[k])
        ]
        if all(v is None or (v and v in text) for v, text in zip(values, texts, strict=True)):
            return k
    return None


def words_of(text: str) -> list[str]:
    """Return the words of a request that may say what it is about, lower case, each once."""
    return [w for w in dict.fromkeys(_LETTERS.findall(text[:4_000].casefold())) if w not in _STOP]


def shared_words(requests: Sequence[str], values: Sequence[str]) -> tuple[str, ...]:
    """Return the words that at least two requests share and that are in no parameter's value."""
    private = set(_LETTERS.findall(" ".join(values).casefold()))
    rows = [set(words_of(r)) for r in requests]
    return tuple(
        w
        for w in words_of(" ".join(requests))
        if w not in private and sum(w in row for row in rows) >= _SHARED_BY
    )[:12]


def pitfalls_of(
    calls: Sequence[Call],
    known: Mapping[str, str],
    steps: Sequence[Step],
    step_of: Mapping[int, int],
    request: str,
) -> list[Pitfall]:
    """Return what failed in a run and was replaced by one of the steps.

    Args:
        calls: All calls of the run.
        known: Value of each parameter in this run.
        steps: Of the procedure.
        step_of: The step that each call of the run is, by the call's place, if any.
        request: What was asked for; its words are literals.
    """
    said = set(_LETTERS.findall(request.casefold()))
    words = {
        w for s in steps for t in s.args.values() for w in _PIECE.findall(constants(t)) if w.strip()
    }
    found: list[Pitfall] = []
    for i, call in enumerate(calls):
        if not call.failed or is_noise(call) or call.place in step_of:
            continue
        later = [c for c in calls[i + 1 : i + 1 + _REACH] if c.place in step_of]
        same = [c for c in later if c.tool == call.tool]
        if not same:
            continue
        better = max(same, key=lambda c: (similarity(call, c), -c.place))
        step = step_of[better.place]
        args = {
            key: _masked(spell(text, known), words, set(_leading(text)) - said)
            for key, text in call.leaves.items()
        }
        fall = Pitfall(call.tool, args, step)
        if {k: render(t) for k, t in args.items()} != {
            k: render(t) for k, t in steps[step].args.items()
        }:
            found.append(fall)
    return found


def _leading(text: str) -> list[str]:
    """Return the plain words that a command begins with; those further on may name things."""
    words: list[str] = []
    for word in text[:400].split()[:3]:
        if not re.fullmatch(r"[A-Za-z]+", word):
            break
        words.append(word.casefold())
    return words


def _masked(template: Template, words: set[str], also: set[str]) -> Template:
    """Return the template without the words that are no part of the procedure."""
    parts: list[str | Slot] = []
    for part in template:
        if isinstance(part, Slot):
            parts.append(part)
            continue
        text = "".join(
            piece
            if piece in words
            or piece.casefold() in also
            or not any(c.isalnum() for c in piece)
            or (piece.startswith("-") and not any(c.isdigit() for c in piece))
            else "…"
            for piece in _PIECE.findall(part)
        )
        parts.append(re.sub(r"…(?:[^\w-]{1,2}…)+", "…", text))
    return tuple(parts)


def used(templates: Sequence[Template]) -> set[str]:
    """Return the names of all slots in the templates."""
    return {n for t in templates for n in slots_of(t)}
