r"""Two patterns near each other, found in time that grows with the text only.

``left[^\n]{0,400}?right`` in one expression tries, from every ``left``, all that follows; text full
of ``left`` makes that 400 steps a character. Here each side is found once, and each right is held
against the nearest left before it: if that one does not reach, none does.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

__all__ = ["Finder", "Near", "Words", "first", "folded", "words"]

_CAPITALS: Final = re.compile(r"\\.|\(\?P|[A-Z]+")

Span = tuple[int, int]


class Finder(Protocol):
    """Finds places in a text."""

    def spans(self, text: str) -> Iterator[Span]:
        """Yield where it is found, ``(start, end)``."""


@dataclass(frozen=True, slots=True)
class Words:
    """One expression, which must be linear itself: no repeats inside repeats, bounded tails."""

    pattern: re.Pattern[str]

    def spans(self, text: str) -> Iterator[Span]:
        """Yield where it is found, in order."""
        return (found.span() for found in self.pattern.finditer(text))


@dataclass(frozen=True, slots=True)
class Near:
    """``left``, then at most ``gap`` characters without one of ``stops``, then ``right``."""

    left: Finder
    right: Words
    gap: int
    stops: str = "\n"

    def spans(self, text: str) -> Iterator[Span]:
        """Yield from the start of the left to the end of the right, by the right's order."""
        lefts: list[Span] = list(self.left.spans(text))
        if not lefts:
            return
        ends = [end for _, end in lefts]
        for start, end in self.right.spans(text):
            place = bisect_right(ends, start) - 1
            if place < 0 or start - ends[place] > self.gap:
                continue
            if all(text.find(stop, ends[place], start) < 0 for stop in self.stops):
                yield lefts[place][0], end


def words(pattern: str) -> Words:
    """Return a finder for a pattern in folded text; capitals in it stand for small letters."""
    small = _CAPITALS.sub(lambda m: m[0] if m[0][0] in "\\(" else m[0].lower(), pattern)
    return Words(re.compile(small, re.DOTALL | re.MULTILINE))


def folded(text: str) -> str:
    """Return the text in small letters, every character in its place.

    Searching small letters in it is several times faster than with ``re.IGNORECASE``.
    """
    small = text.lower()
    if len(small) != len(text):
        small = "".join(c if len(c.lower()) != 1 else c.lower() for c in text)
    return small.replace("\u017f", "s")


def first(finders: Sequence[Finder], text: str) -> Span | None:
    """Return where the first of the finders that finds something finds it first."""
    for finder in finders:
        for span in finder.spans(text):
            return span
    return None
