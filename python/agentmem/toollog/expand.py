"""Part of a long text: some of its lines, those that hold a word, no more than a budget."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from agentmem.errors import InvalidInputError
from agentmem.toollog.canvas import estimate_tokens

if TYPE_CHECKING:
    from agentmem.protocols import TokenCounter

__all__ = ["Lines", "check_cut", "cut"]

Lines = str | int | Sequence[int]

_RANGE = re.compile(r"\s*(\d{1,12})?\s*(-)?\s*(\d{1,12})?\s*")
_CHARS_A_TOKEN: Final = 4
_SHORTEST: Final = 16


def _bounds(lines: Lines) -> tuple[int, int | None]:
    """Return the first and the last line, 1-based; None for the end."""
    first: int | None = None
    last: int | None = None
    if isinstance(lines, str):
        match = _RANGE.fullmatch(lines)
        if match is not None and (match[1] or match[3]):
            first = int(match[1]) if match[1] else 1
            last = (int(match[3]) if match[3] else None) if match[2] else first
    elif isinstance(lines, int) and not isinstance(lines, bool):
        first = last = lines
    elif (
        isinstance(lines, Sequence)
        and len(lines) == 2  # noqa: PLR2004 - first and last
        and all(isinstance(one, int) and not isinstance(one, bool) for one in lines)
    ):
        first, last = int(lines[0]), int(lines[1])
    if first is None or first < 1 or (last is not None and last < first):
        raise InvalidInputError(
            f"lines: a range such as '10-20', '10-', '-20', 10 or (10, 20) is needed, 1-based "
            f"and inclusive; {lines!r} was given"
        )
    return first, last


def check_cut(lines: Lines | None, grep: str | None, max_tokens: int | None) -> None:
    """Check the arguments of ``cut``.

    Raises:
        InvalidInputError: One of them is wrong.
    """
    if lines is not None:
        _bounds(lines)
    if grep is not None and (not isinstance(grep, str) or not grep or "\n" in grep):
        raise InvalidInputError(f"grep: a non-empty text of one line is needed, {grep!r} was given")
    if max_tokens is not None and (
        isinstance(max_tokens, bool) or not isinstance(max_tokens, int) or max_tokens < 1
    ):
        raise InvalidInputError(f"max_tokens: at least 1 is needed, {max_tokens!r} was given")


def cut(
    text: str,
    *,
    lines: Lines | None = None,
    grep: str | None = None,
    max_tokens: int | None = None,
    count_tokens: TokenCounter | None = None,
) -> str:
    """Return part of a text; without arguments the text itself.

    Lines end at LF only. The range is taken first, then the lines with the word, then the budget.

    Args:
        text: Any text.
        lines: ``"10-20"``, ``"10-"``, ``"-20"``, ``10`` or ``(10, 20)``: 1-based, inclusive.
        grep: Only lines that hold this text, exactly as it is written, each behind its number and
            a colon. It is no pattern: a pattern could take for ever on a hostile line.
        max_tokens: Cut behind the last line that fits, and say in a last line how much is left.
        count_tokens: Counts tokens; None for the built-in estimate.

    Raises:
        InvalidInputError: An argument is wrong.
    """
    check_cut(lines, grep, max_tokens)
    if lines is None and grep is None and max_tokens is None:
        return text
    count = count_tokens or estimate_tokens
    rows = text.split("\n")
    first = 1
    if lines is not None:
        first, last = _bounds(lines)
        rows = rows[first - 1 : last]
    if grep is not None:
        rows = [f"{number}:{row}" for number, row in enumerate(rows, first) if grep in row]
    return "\n".join(rows) if max_tokens is None else _within(rows, max_tokens, count)


def _within(rows: list[str], max_tokens: int, count: TokenCounter) -> str:
    used = 0
    for place, row in enumerate(rows):
        # What is far too long need not be counted to the end.
        cost = count(row[: max_tokens * 64 + 64]) + 1
        if used + cost <= max_tokens:
            used += cost
            continue
        if place == len(rows) - 1 and used + cost - 1 <= max_tokens:
            break
        kept = rows[:place]
        rest = len(rows) - place
        if not kept:
            head = row[: max(_SHORTEST, max_tokens * _CHARS_A_TOKEN)]
            while len(head) > 1 and count(head) > max_tokens:
                head = head[: len(head) * 3 // 4]
            kept = [head]
            left = f"{len(row) - len(head)} more characters of this line"
            if rest > 1:
                left += f" and {_lines_of(rest - 1)}"
        else:
            left = f"{_lines_of(rest)}, {_size(rows[place:])} characters"
        return "\n".join([*kept, f"[agentmem: {left} left out]"])
    return "\n".join(rows)


def _lines_of(number: int) -> str:
    return f"{number} more line{'' if number == 1 else 's'}"


def _size(rows: Iterable[str]) -> int:
    return sum(len(row) + 1 for row in rows) - 1
