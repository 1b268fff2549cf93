"""What a text is about, as terms: words, pairs of Chinese characters, names of things."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Final

from agentmem._native import analyze
from agentmem.tiers.cluster.stopwords import STOP_BIGRAMS, STOP_WORDS

__all__ = [
    "IDENTIFIER_MARK",
    "has_han",
    "is_english",
    "is_han",
    "terms_of",
    "token_terms",
]

IDENTIFIER_MARK: Final = "#"
"""Stands before a term that names one thing: a file, a ticket, a function, a booking code."""

_STOP_TERMS: Final = STOP_WORDS | frozenset(analyze(" ".join(sorted(STOP_WORDS))))
"""The stop words and their stems."""
_MAX_IDENTIFIERS: Final = 40
_MAX_TERM_CHARS: Final = 60
_MAX_TOKEN_CHARS: Final = 80
_IDENTIFIER: Final = re.compile(
    r"(?<![\w/.-])(?=[\w./#-]{0,40}\d)(?=[\w./#-]{0,40}[A-Za-z])\w[\w./#-]{2,40}"  # HAT039, pr-42
    r"|[A-Za-z_][\w-]{0,40}(?:/[\w.-]{1,60})+"  # a path
    r"|\b[a-z]{1,40}_[a-z_]{1,40}\b"
    r"|\b[A-Z]?[a-z]{1,40}[A-Z]\w{1,40}\b"
    r"|\b[\w-]{1,40}\.(?:py|ts|js|go|rs|exs?|md|sh|toml|json|ya?ml|pl|java|rb|cpp|c|h)\b"
)
_HAN: Final = re.compile(r"[\u3400-\u9fff]")
_MARK: Final = re.compile(r"[\d_/]|\.[a-z]|[a-z][A-Z]")
_ENGLISH_SHARE: Final = 0.97
_SHORT_NUMBER: Final = 3


def is_han(letter: str) -> bool:
    """Whether a character is a Chinese one (CJK unified ideographs and extension A)."""
    return "\u3400" <= letter <= "\u9fff"


def has_han(text: str) -> bool:
    """Whether the beginning of a text holds Chinese characters."""
    return _HAN.search(text, 0, 200) is not None


def is_english(text: str) -> bool:
    """Whether the letters at the beginning of a text are plain Latin ones."""
    head = text[:400]
    plain = sum(map(str.isalpha, head.encode("ascii", "ignore").decode()))
    return plain > 0 and plain > _ENGLISH_SHARE * sum(map(str.isalpha, head))


def _marked(text: str) -> Iterator[str]:
    """Yield the words of a text that hold a mark of an identifier."""
    if _MARK.search(text) is None:
        return
    text = " ".join(text.split())
    end = 0
    for match in _MARK.finditer(text):
        if match.start() < end:
            continue
        start, end = text.rfind(" ", 0, match.start()) + 1, text.find(" ", match.end())
        end = end if end >= 0 else len(text)
        yield text[start:end]


@lru_cache(maxsize=16_384)
def _says_something(term: str) -> bool:
    """Whether a term of the analyzer is one that a scene may be about."""
    if is_han(term[0]):
        return len(term) == 2 and term not in STOP_BIGRAMS  # noqa: PLR2004
    return (
        1 < len(term) <= _MAX_TERM_CHARS
        and term not in _STOP_TERMS
        and (len(term) >= _SHORT_NUMBER or not term.isdigit())
    )


@lru_cache(maxsize=16_384)
def token_terms(token: str) -> frozenset[str]:
    """Return the terms of one word."""
    return frozenset(terms_of(token, _MAX_TOKEN_CHARS))


def terms_of(text: str, limit: int) -> Counter[str]:
    """Return the terms of the first ``limit`` characters of a text with their counts."""
    text = text[:limit]
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode()
    counts: Counter[str] = Counter(filter(_says_something, analyze(text)))
    # No identifier holds a space, and each has one of these marks.
    matches = (match for word in _marked(text) for match in _IDENTIFIER.finditer(word))
    for match in islice(matches, _MAX_IDENTIFIERS):
        name = match.group().strip(".-/#").lower()
        if len(name) > 2:  # noqa: PLR2004
            counts[IDENTIFIER_MARK + name] = 1
    return counts
