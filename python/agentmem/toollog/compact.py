"""Which old tool results of a message list give way, and the list without them.

The decision is a function of the messages alone and looks at them as they grew: at every point
where the host would have asked its model, if the list is over budget, the oldest results go until
it is well below. So a list that has grown by some turns is compacted as it was before, up to the
next step, and the prompt caches of hosts stay warm.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from typing import Any, Final, NamedTuple, Protocol

from agentmem.protocols import TokenCounter
from agentmem.toollog.canvas import LEVELS, Level
from agentmem.toollog.placeholder import (
    canvas_text,
    is_canvas_text,
    placeholder,
    read_placeholder,
)
from agentmem.toollog.stream import plain

__all__ = ["Drawn", "OldResult", "Outcome", "compact"]

KEEP_TURNS: Final = 2
"""The last answers of the assistant, with their calls and results, that stay as they are."""

LOW_SHARE: Final = 0.7
"""A step goes down to this share of the budget: the next one is then some turns away."""

_SMALLEST_STEP: Final = 0.1
_ROOM: Final = 0.03
_FRAME: Final = 60
"""Tokens of a canvas beside its lines."""


class Drawn(Protocol):
    """Draws the diagram of a session's first calls."""

    def __call__(self, number: int, *, level: Level) -> str:
        """Return the diagram up to a call's number, at most at a level."""


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str).encode

# Tokens of a diagram's line: at least, share of the result, at most on top.
_LINE: Final[dict[str, tuple[int, float, int]]] = {
    "standard": (16, 0.2, 110),
    "brief": (14, 0.2, 18),
    "short": (13, 0.1, 8),
    "terse": (12, 0.0, 0),
    "names": (11, 0.0, 0),
}


class OldResult(NamedTuple):
    """A result that may go: where it stands and which call it answers."""

    message: int
    place: int
    ref: str
    number: int
    is_error: bool


class Outcome(NamedTuple):
    """What became of a list."""

    messages: list[Any]
    tokens_before: int
    tokens_after: int
    replaced: tuple[str, ...]
    note: str


def _result_blocks(message: Any) -> list[Any]:
    """Return what holds the results of a message: itself, or blocks in it, in order."""
    if not isinstance(message, Mapping):
        return []
    if message.get("role") in ("tool", "function"):
        return [message]
    if message.get("type") in ("function_call_output", "custom_tool_call_output"):
        return [message]
    content = message.get("content")
    if not isinstance(content, list):
        return []
    return [
        block
        for block in content
        if isinstance(block, Mapping) and str(block.get("type", "")).endswith("tool_result")
    ]


def _text_of(block: Mapping[str, Any]) -> str | None:
    """Return the text of a result that is nothing but text; None for any other."""
    if str(block.get("type", "tool_result")) not in (
        "tool_result", "function_call_output", "custom_tool_call_output",
    ):  # fmt: skip
        return None
    content = block.get("output" if "output" in block else "content")
    if isinstance(content, str):
        return content
    if isinstance(content, list) and all(
        isinstance(item, Mapping) and isinstance(item.get("text"), str) for item in content
    ):
        return "\n".join(item["text"] for item in content)
    return None


def _with_text(block: Mapping[str, Any], text: str) -> dict[str, Any]:
    """Return a copy of a result with another text in the host's own shape."""
    name = "output" if "output" in block else "content"
    content = block.get(name)
    if isinstance(content, list) and content:
        return {**block, name: [{"type": content[0].get("type", "text"), "text": text}]}
    return {**block, name: text}


def _replace(message: Any, texts: Mapping[int, str]) -> Any:
    """Return a copy of a message with other texts in some of its results, by place."""
    if not texts:
        return message
    blocks = _result_blocks(message)
    if len(blocks) == 1 and blocks[0] is message:
        return _with_text(message, texts[0])
    content = []
    place = -1
    for block in message["content"]:
        is_result = any(block is one for one in blocks)
        place += is_result
        content.append(_with_text(block, texts[place]) if is_result and place in texts else block)
    return {**message, "content": content}


@dataclass
class _Entry:
    """One message: its tokens as it is and without its old results."""

    message: Any
    tokens: int
    without: int
    is_turn: bool
    results: list[OldResult] = field(default_factory=list)
    ours: bool = False
    canvas: int = 0

    @property
    def gain(self) -> int:
        return self.tokens - self.without


def _entries(
    messages: Sequence[Any], results: Sequence[OldResult], count: TokenCounter
) -> list[_Entry]:
    entries = []
    for message in messages:
        data = plain(message)
        tokens = count(_encode(data))
        role = data.get("role") if isinstance(data, Mapping) else None
        kind = data.get("type") if isinstance(data, Mapping) else None
        is_turn = role == "assistant" or kind in ("function_call", "custom_tool_call")
        entries.append(_Entry(message, tokens, tokens, is_turn))
    for result in results:
        entry = entries[result.message]
        blocks = _result_blocks(entry.message)
        text = _text_of(blocks[result.place]) if result.place < len(blocks) else None
        if text is None:
            continue
        line = placeholder(result.ref, is_error=result.is_error)
        if read_placeholder(text) == result.ref:
            entry.ours = True
            entry.results.append(result)
            if is_canvas_text(text):
                entry.canvas = entry.tokens
        elif count(_encode(text)) > count(_encode(line)):
            entry.results.append(result)
    for entry in entries:
        if entry.results:
            texts = {
                one.place: placeholder(one.ref, is_error=one.is_error) for one in entry.results
            }
            entry.without = min(count(_encode(_replace(entry.message, texts))), entry.tokens)
            if entry.canvas:
                entry.canvas -= entry.without
    return entries


class _Plan(NamedTuple):
    end: int
    level: Level


def _starts(entries: Sequence[_Entry]) -> list[int]:
    """Return, for each place, where the last turns begin for a list that ends behind it."""
    starts = []
    turns: list[int] = []
    for at, entry in enumerate(entries):
        # The messages of one answer are one turn.
        if entry.is_turn and (at == 0 or not entries[at - 1].is_turn):
            turns.append(at)
        starts.append(turns[-KEEP_TURNS] if len(turns) >= KEEP_TURNS else 0)
    return starts


class _Walk:
    """The list as it grew, with the sums over its beginnings."""

    def __init__(self, entries: Sequence[_Entry], budget: int) -> None:
        self.entries = entries
        self.budget = budget
        self.starts = _starts(entries)
        # Where what an earlier pass replaced ends: it stays, with its canvas, until the next step.
        self.base = max((at + 1 for at, entry in enumerate(entries) if entry.ours), default=0)
        self.tokens = _sums(entry.tokens for entry in entries)
        self.without = _sums(entry.without for entry in entries)
        self.lines = {level: _sums(_lines(entry, level) for entry in entries) for level in LEVELS}

    def total(self, until: int, plan: _Plan) -> float:
        """Return the tokens of the first messages after a step."""
        if plan.end == self.base:
            return self.tokens[until]
        replaced = self.without[plan.end] + self.tokens[until] - self.tokens[plan.end]
        return replaced + _FRAME + self.lines[plan.level][plan.end]

    def last_step(self) -> _Plan:
        """Return the last step that was made on the way to the list's end."""
        plan = _Plan(self.base, "standard")
        entries = self.entries
        for at, entry in enumerate(entries):
            is_asked = at + 1 == len(entries) or (entries[at + 1].is_turn and not entry.is_turn)
            limit = self.budget * (1.0 if plan.end == self.base else 1 - _ROOM)
            if is_asked and at >= plan.end and self.total(at + 1, plan) > limit:
                plan = self._step(at, plan)
        return plan

    def candidates(self, at: int, end: int) -> list[int]:
        """Return the messages with results that may go, from ``end`` to the last turns."""
        return [one for one in range(end, self.starts[at]) if self.entries[one].gain]

    def _step(self, at: int, plan: _Plan) -> _Plan:
        candidates = self.candidates(at, plan.end)
        if not candidates:
            return plan
        for one in candidates:
            step = _Plan(one + 1, "standard")
            if self.total(at + 1, step) <= self.budget * LOW_SHARE:
                return step
        end = candidates[-1] + 1
        for level in LEVELS:
            if self.total(at + 1, _Plan(end, level)) <= self.budget * (1 - _ROOM):
                return _Plan(end, level)
        gained = sum(self.entries[one].gain for one in candidates)
        if plan.end and gained < self.budget * _SMALLEST_STEP:
            return plan
        return _Plan(end, "standard")

    def attempts(self) -> Iterator[tuple[_Plan, bool]]:
        """Yield what to try for the whole list, and whether it may stand though it does not fit.

        Out of reach, the last step stands as it was made: it says most, lower levels save little.
        """
        plan = self.last_step()
        ends = [plan.end]
        if self.entries:
            # Where the estimate was too low, everything that may go has to.
            ends += [one + 1 for one in self.candidates(len(self.entries) - 1, plan.end)[-1:]]
        for end in ends:
            if end > self.base:
                start = LEVELS.index(plan.level) if end == plan.end else 0
                for level in LEVELS[start:]:
                    yield _Plan(end, level), end == plan.end


def _sums(values: Iterable[float]) -> list[float]:
    return [0, *accumulate(values)]


def _lines(entry: _Entry, level: Level) -> float:
    if not entry.results:
        return 0
    base, share, most = _LINE[level]
    size = entry.gain / len(entry.results)
    return len(entry.results) * (base + min(size * share, most))


def _render(
    entries: Sequence[_Entry], end: int, base: int, drawn: Callable[[int], str]
) -> tuple[list[Any], list[str]]:
    """Return the list with the results before ``end`` replaced and the canvas in the last one."""
    messages = [entry.message for entry in entries]
    refs: list[str] = []
    carrier: tuple[int, OldResult] | None = None
    number = 0
    for at, entry in enumerate(entries[:end]):
        if not entry.results or not (entry.gain or entry.ours):
            continue
        carrier = at, entry.results[-1]
        number = max(number, *(one.number for one in entry.results))
        if entry.ours and at < base and not entry.canvas and not entry.gain:
            refs += [one.ref for one in entry.results]
            continue
        texts = {one.place: placeholder(one.ref, is_error=one.is_error) for one in entry.results}
        messages[at] = _replace(entry.message, texts)
        refs += [one.ref for one in entry.results]
    if carrier is not None:
        at, result = carrier
        texts = {
            one.place: placeholder(one.ref, is_error=one.is_error) for one in entries[at].results
        }
        texts[result.place] = canvas_text(texts[result.place], drawn(number))
        messages[at] = _replace(entries[at].message, texts)
    return messages, refs


def compact(
    messages: Sequence[Any],
    results: Sequence[OldResult],
    *,
    budget_tokens: int,
    count_tokens: TokenCounter,
    drawn: Drawn,
) -> Outcome:
    """Return the list with its oldest results replaced, so that it fits the budget if it can.

    Args:
        messages: The host's messages; none of them is changed.
        results: The results in them that may go, in order.
        budget_tokens: Tokens that the list may have.
        count_tokens: Counts the tokens of a message's JSON.
        drawn: Draws the canvas.
    """
    entries = _entries(messages, results, count_tokens)
    before = sum(entry.tokens for entry in entries)
    walk = _Walk(entries, budget_tokens)
    here = [one.ref for entry in entries[: walk.base] if entry.ours for one in entry.results]
    best: tuple[int, list[Any], list[str]] = (before, list(messages), here)
    if before > budget_tokens:
        for (end, level), may_stand in walk.attempts():
            made, refs = _render(entries, end, walk.base, partial(drawn, level=level))
            after = sum(
                entry.tokens if one is entry.message else count_tokens(_encode(plain(one)))
                for one, entry in zip(made, entries, strict=True)
            )
            if after <= budget_tokens:
                best = after, made, refs
                break
            if may_stand and best[0] == before and after < before:
                best = after, made, refs
    after, made, refs = best
    return Outcome(made, before, after, tuple(refs), _note(walk, after, refs))


def _note(walk: _Walk, after: int, refs: Sequence[str]) -> str:
    if after <= walk.budget:
        return ""
    start = walk.starts[-1] if walk.starts else 0
    kept = walk.tokens[-1] - walk.tokens[start]
    gone = set(refs)
    may_go = [
        one.ref
        for entry in walk.entries[:start]
        if entry.gain
        for one in entry.results
        if one.ref not in gone
    ]
    later = (
        f"; {len(may_go)} more may go, but too little to reach the budget, and they stay so that the "
        "prompt's beginning does not change"
        if may_go
        else ""
    )
    return (
        f"{after} tokens, {walk.budget} were asked for: the last {KEEP_TURNS} turns ({kept} tokens) "
        f"stay as they are, and so do {walk.without[start]} tokens of messages, calls and short "
        f"results before them; {len(gone)} results were replaced{later}"
    )
