"""The tool log as a Mermaid state diagram, and back.

The work is done in the native core; this module turns calls into what it reads and gives the
outcome a public face.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NoReturn, Self

import orjson

from agentmem import _native
from agentmem.errors import InvalidInputError
from agentmem.toollog.models import Outcome, ToolCall

if TYPE_CHECKING:
    from agentmem.protocols import TokenCounter

__all__ = [
    "LEVELS",
    "Canvas",
    "CanvasBuilder",
    "ContextText",
    "Level",
    "Step",
    "canonical",
    "compress",
    "estimate_tokens",
    "parse",
    "skeleton",
]

Level = Literal["standard", "brief", "short", "terse", "names"]
View = Literal["log", "tools", "styled"]

LEVELS: tuple[Level, ...] = ("standard", "brief", "short", "terse", "names")
"""How much a diagram says of each call, the fullest first."""

_MOST_SHARE = 0.30
"""A diagram's most bytes and tokens, as a share of the raw log: the limit a level must meet."""

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str).encode
_PLAIN = frozenset({str, int, bool, type(None)})


@dataclass(frozen=True, slots=True)
class Step:
    """What a diagram keeps of one call.

    Attributes:
        tool: The tool's name, exact.
        arguments_summary: A few words on the arguments, one line; secrets are masked.
        outcome: ``"ok"``, ``"error"`` or ``"pending"``, by the host's own flag.
        result_summary: A few words on the result and identifiers from it, one line.
        ref: ``"c7"``, or ``"c7_3"`` for the third call of the sub-agent that c7 started.
        parallel_group: ``ref`` of the first call of its parallel batch; None if it ran alone.
    """

    tool: str
    arguments_summary: str
    outcome: Outcome
    result_summary: str
    ref: str
    parallel_group: str | None = None


class ContextText(str):
    """What goes into a prompt: the shorter of diagram and raw log.

    Attributes:
        form: ``"diagram"`` or ``"raw"``.
    """

    __slots__ = ("form",)
    form: Literal["diagram", "raw"]

    def __new__(cls, text: str, form: Literal["diagram", "raw"]) -> Self:
        """Hold the text and say which of the two it is."""
        self = super().__new__(cls, text)
        self.form = form
        return self

    def __getnewargs__(self) -> tuple[str, Literal["diagram", "raw"]]:  # type: ignore[override]
        return str(self), self.form


class Canvas:
    """A tool log's diagram and its measures; ``str(canvas)`` is the Mermaid text.

    A log of more than 500 drawn calls or 45,000 characters has several ``pages``: Mermaid draws one
    at a time, ``parse`` takes one or all.
    """

    def __init__(self, native: _native.NativeCanvas, calls: Sequence[ToolCall]) -> None:
        self._native = native
        self._calls = calls
        self.pages: tuple[str, ...] = tuple(native.pages)
        self.level: Level = native.level
        self.root: str = native.root
        self.raw_bytes, self.raw_tokens, self.bytes, self.estimated_tokens = native.measures

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        # Nothing of a canvas changes, so a copy is the canvas itself.
        return self

    def __reduce__(self) -> NoReturn:
        raise InvalidInputError(
            "a Canvas can't be pickled; pickle its text, str(canvas), or the calls for compress"
        )

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return (
            f"<Canvas of {len(self._calls)} calls, {self.level}, "
            f"{self.bytes} of {self.raw_bytes} bytes>"
        )

    def __eq__(self, other: object) -> bool:
        return self.text == other.text if isinstance(other, Canvas) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.text)

    @cached_property
    def text(self) -> str:
        """The Mermaid text, all pages after one another; always a diagram, also of no calls."""
        return "".join(self.pages)

    @property
    def markdown(self) -> str:
        """The pages, each in a fence of its own."""
        return "\n".join(f"```mermaid\n{page}```\n" for page in self.pages)

    @cached_property
    def steps(self) -> list[Step]:
        """What the diagram says of each call, depth first; equals ``parse(str(canvas))``."""
        return self._native.steps()

    @cached_property
    def order(self) -> list[int]:
        """For each step the index of its call in the calls that were given."""
        return self._native.order

    @property
    def ratio(self) -> float:
        """Bytes of the diagram over bytes of the raw log; above 1.0 the raw log is shorter."""
        return self.bytes / max(self.raw_bytes, 1)

    @property
    def raw(self) -> str:
        """The raw log: name, compact JSON arguments and result of each call, one after another."""
        return "\n".join(
            f"{call.name}{_arguments(call)[0]}{call.result or ''}" for call in self._calls
        )

    def for_context(self) -> ContextText:
        """Return the shorter of diagram and raw log, so that nothing ever grows.

        Returns:
            The text, a ``str`` whose ``form`` says which it is.
        """
        if self.bytes <= self.raw_bytes:
            return ContextText(self.text, "diagram")
        raw = self.raw
        if len(raw.encode("utf-8", "surrogatepass")) < self.bytes:
            return ContextText(raw, "raw")
        return ContextText(self.text, "diagram")

    def view(self, kind: View = "log") -> str:
        """Return the steps in another look.

        Args:
            kind: ``"log"`` is the diagram itself; ``"tools"`` has tools as states and what came back
                as ``FAIL``, ``PASS`` and ``PENDING``, in call order, and ``parse`` reads it too;
                ``"styled"`` is the diagram with failed states in red.

        Raises:
            InvalidInputError: An unknown kind.
        """
        if kind == "log":
            return self.text
        if kind == "tools":
            return self._native.tools_view()
        if kind == "styled":
            return "".join(self._native.styled_view())
        raise InvalidInputError(f"kind must be 'log', 'tools' or 'styled', not {kind!r}")


class CanvasBuilder:
    """A canvas of a log that grows: each call is read once, at ``append``.

    A canvas after one more call costs what its text costs, not what the results cost.
    """

    def __init__(self) -> None:
        self._log = _native.ToolLog()
        self._calls: list[ToolCall] = []
        self._index_of: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._calls)

    def copy(self) -> CanvasBuilder:
        """Return a builder of the same calls that can go on without changing this one."""
        other = CanvasBuilder()
        other._log = self._log.copy()
        other._calls = self._calls[:]
        other._index_of = self._index_of
        return other

    def append(self, calls: Iterable[ToolCall]) -> None:
        """Read more calls.

        A call whose ``parent_id`` is the ``id`` of an earlier call (the latest one of that id)
        belongs to the run of the sub-agent which that call started.

        Raises:
            InvalidInputError: An item is no ``ToolCall``, its arguments can't be written as JSON,
                or the log would have more than a million calls.
        """
        given: list[ToolCall] = []
        rows: list[tuple[str, str, bool, str | None, bool, int | None, int | None]] = []
        if not isinstance(calls, Iterable):
            raise InvalidInputError(
                f"calls must be ToolCalls in a list or another iterable, not {type(calls).__name__}"
            )
        index_of = dict(self._index_of) if self._index_of else {}
        for number, call in enumerate(calls, start=len(self._calls)):
            if not isinstance(call, ToolCall):
                raise InvalidInputError(
                    f"calls[{number}] is a {type(call).__name__}; ToolCall is needed "
                    "(agentmem.tool_calls reads a host's messages)"
                )
            try:
                arguments, is_json = _arguments(call)
            except (TypeError, ValueError, RecursionError) as error:
                raise InvalidInputError(
                    f"calls[{number}].arguments can't be written as JSON: {error}"
                ) from error
            parent = index_of.get(call.parent_id) if call.parent_id is not None else None
            rows.append(
                (call.name, arguments, is_json, call.result, call.is_error, call.batch, parent)
            )
            if call.id is not None:
                index_of[call.id] = number
            given.append(call)
        if len(self._calls) + len(given) > _native.MAX_CALLS:
            raise InvalidInputError(
                f"a log holds at most {_native.MAX_CALLS} calls; start another one"
            )
        self._log.append(rows)
        self._calls.extend(given)
        self._index_of = index_of

    def canvas(
        self,
        *,
        level: Level = "standard",
        budget_tokens: int | None = None,
        count_tokens: TokenCounter | None = None,
        is_exact: bool = False,
        with_arguments: bool = True,
    ) -> Canvas:
        """Return the diagram of all calls so far; the arguments are those of ``compress``.

        ``with_arguments=False`` leaves the calls' arguments out, for a reader who has them at hand;
        the built-in estimate counts the tokens then.
        """
        _check(level, budget_tokens, count_tokens)
        calls = self._calls[:]
        if is_exact or count_tokens is None or not with_arguments:
            most_tokens = None if budget_tokens is None else min(budget_tokens, sys.maxsize)
            native = self._log.canvas(level, most_tokens, is_exact, with_arguments)
            return Canvas(native, calls)
        canvas = Canvas(self._log.canvas(level, None, True), calls)
        raw_tokens = count_tokens(canvas.raw)
        most = raw_tokens * _MOST_SHARE
        if budget_tokens is not None:
            most = min(most, budget_tokens)
        for lower in LEVELS[LEVELS.index(level) :]:
            if lower != canvas.level:
                canvas = Canvas(self._log.canvas(lower, None, True), calls)
            tokens = count_tokens(canvas.text)
            canvas.raw_tokens, canvas.estimated_tokens = raw_tokens, tokens
            if tokens <= most and canvas.bytes <= canvas.raw_bytes * _MOST_SHARE:
                break
        return canvas


def _arguments(call: ToolCall) -> tuple[str, bool]:
    """The arguments as text, and whether it is JSON that was a mapping."""
    arguments = call.arguments
    if isinstance(arguments, str):
        return arguments, False
    if isinstance(arguments, dict) and _PLAIN.issuperset(map(type, arguments.values())):
        # Both encoders write these alike; what only one of them takes is left to the standard one.
        try:
            return orjson.dumps(arguments).decode(), True
        except TypeError:
            pass
    return _encode(arguments), True


def _check(level: str, budget_tokens: int | None, count_tokens: TokenCounter | None) -> None:
    if level not in LEVELS:
        raise InvalidInputError(f"level must be one of {', '.join(LEVELS)}, not {level!r}")
    if budget_tokens is not None:
        if not isinstance(budget_tokens, int) or isinstance(budget_tokens, bool):
            raise InvalidInputError(
                f"budget_tokens must be an int or None, not {type(budget_tokens).__name__}"
            )
        if budget_tokens < 0:
            raise InvalidInputError(f"budget_tokens must be at least 0, not {budget_tokens}")
    if count_tokens is not None and not callable(count_tokens):
        raise InvalidInputError(
            f"count_tokens must be a function of a str or None, not {type(count_tokens).__name__}"
        )


def compress(
    calls: Iterable[ToolCall],
    *,
    level: Level = "standard",
    budget_tokens: int | None = None,
    count_tokens: TokenCounter | None = None,
    is_exact: bool = False,
) -> Canvas:
    """Return the calls as a Mermaid state diagram.

    The first level, from ``level`` down, that fits the budget and 30 % of the raw log in bytes and
    tokens is taken; if none does, ``names``. The same calls give the same bytes.

    Cost: linear in the calls' text (benches/bench_toollog.py).

    Args:
        calls: In the order they were made.
        level: The fullest level to try: ``standard``, ``brief``, ``short``, ``terse``, ``names``.
        budget_tokens: Tokens that the diagram may have; None for no limit but the 30 %.
        count_tokens: Counts tokens; None for the built-in estimate.
        is_exact: Take ``level`` whether or not it fits.

    Raises:
        InvalidInputError: An item is no ``ToolCall``, or an argument is out of range.

    Example:
        >>> calls = [ToolCall("Bash", {"command": "npm test"}, "3 failures", is_error=True)]
        >>> print(compress(calls, is_exact=True).text.splitlines()[2])
        [*] --> c1: Bash npm test => FAIL 3 failures
    """
    builder = CanvasBuilder()
    builder.append(calls)
    return builder.canvas(
        level=level, budget_tokens=budget_tokens, count_tokens=count_tokens, is_exact=is_exact
    )


def skeleton(
    calls: Iterable[ToolCall],
    *,
    level: Level = "standard",
    budget_tokens: int | None = None,
) -> list[Step]:
    """Return what ``compress`` with the same arguments keeps of each call, depth first.

    Raises:
        InvalidInputError: An item is no ``ToolCall``, or an argument is out of range.
    """
    return compress(calls, level=level, budget_tokens=budget_tokens).steps


def parse(text: str) -> list[Step]:
    """Return the steps that a diagram was made of: the exact inverse of ``compress``.

    Args:
        text: One page or all of them, bare or in ```` ```mermaid ```` fences; the tools view and the
            styled one are read too.

    Raises:
        MermaidParseError: The text is not a diagram that agentmem wrote; says line and column.
        InvalidInputError: Not a str.
    """
    if not isinstance(text, str):
        raise InvalidInputError(f"text must be a str, not {type(text).__name__}")
    return _native.parse(text)


def canonical(text: str) -> str:
    """Return a diagram as ``compress`` writes it; of its own text, the same text.

    Raises:
        MermaidParseError: As ``parse``.
    """
    if not isinstance(text, str):
        raise InvalidInputError(f"text must be a str, not {type(text).__name__}")
    return _native.canonical(text)


def estimate_tokens(text: str) -> int:
    """Return about how many tokens a current model sees in the text, without a vocabulary."""
    return _native.estimate_tokens(text)
