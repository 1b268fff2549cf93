"""Which words of a long text answer a question: a quote with its place."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final, NamedTuple

from agentmem._native import analyze

__all__ = ["Quote", "is_same", "quote", "words_of"]

MAX_READ: Final = 16_000
MOST_PIECES: Final = 400
NEAR_DUPLICATE: Final = 0.85
_PIECE = re.compile(r"[^.!?。！？\n]*(?:[.!?。！？]+(?:[\"'”’)\]]*)|\n+|$)\s*")
_DIGITS = re.compile(r"\d+")
_NEGATIONS: Final = frozenset(
    ("not", "no", "never", "don't", "without", "stop", "không", "đừng", "chưa", "不", "没", "别")
)


class Quote(NamedTuple):
    """A piece of a text: the half-open range of its characters."""

    text: str
    start: int
    end: int


def _pieces(text: str) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for match in _PIECE.finditer(text, 0, MAX_READ):
        if match.start() == match.end():
            continue
        found.append(match.span())
        if len(found) == MOST_PIECES:
            break
    return found


def quote(text: str, terms: Collection[str], *, max_chars: int) -> Quote:
    """Return the sentences in a row that hold most of a question's terms, within a length.

    The first 16,000 characters are looked at. A single sentence that is longer is cut.

    Args:
        text: The whole text.
        terms: Terms of the question, as ``analyze_query`` gives them.
        max_chars: The length of the quote, at least 1.
    """
    stripped = text.strip()
    if len(stripped) <= max_chars:
        start = text.find(stripped)
        return Quote(stripped, start, start + len(stripped))
    wanted = set(terms)
    pieces = _pieces(text)
    held = [wanted.intersection(analyze(text[start:end])) for start, end in pieces]
    best, best_value = (0, 0), (-1, 0)
    for first, (start, _) in enumerate(pieces):
        if not held[first] and best_value[0] >= 0:
            # A quote begins with a sentence that answers.
            continue
        covered: set[str] = set()
        for last in range(first, len(pieces)):
            if last > first and pieces[last][1] - start > max_chars:
                break
            covered |= held[last]
            value = (len(covered), -(last - first))
            if value > best_value:
                best, best_value = (first, last), value
    first, last = best
    # What room is left goes to what follows, then to what stands before.
    while last + 1 < len(pieces) and pieces[last + 1][1] - pieces[first][0] <= max_chars:
        last += 1
    while first and pieces[last][1] - pieces[first - 1][0] <= max_chars:
        first -= 1
    start, end = pieces[first][0], pieces[last][1]
    start += len(text[start:end]) - len(text[start:end].lstrip())
    end = start + min(len(text[start:end].rstrip()), max_chars)
    return Quote(text[start:end], start, end)


def words_of(text: str) -> frozenset[str]:
    """Return a text's terms, for ``is_same``; digits and negations are told apart from words."""
    lower = text.casefold()
    return frozenset(
        (*analyze(text), *(f"#{number}" for number in _DIGITS.findall(text)),
         *(f"!{word}" for word in _NEGATIONS if word in lower.split()))
    )  # fmt: skip


def is_same(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two texts say the same in other words: their terms agree, all digits and negations."""
    if not one or not other:
        return one == other
    if {word for word in one if word[0] in "#!"} != {word for word in other if word[0] in "#!"}:
        return False
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared) >= NEAR_DUPLICATE
