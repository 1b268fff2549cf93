"""Texts on their way into a model: cleaning, bounds, and the windows of a long text.

Pure functions: nothing here knows a model or imports more than the standard library.
"""

from __future__ import annotations

from collections.abc import Sequence

from agentmem.errors import InvalidInputError

__all__ = [
    "FIRST_CUT",
    "MAX_CHARACTERS",
    "MAX_CHUNKS",
    "OVERLAP",
    "QUERY_CHARACTERS",
    "WINDOW",
    "check_texts",
    "clean",
    "windows",
]

#: Characters of a query that are embedded.
QUERY_CHARACTERS = 4_000
#: Most vectors that one text gets.
MAX_CHUNKS = 8
#: Tokens of a window; the model was trained on 128 to 256, and a fact drowns in longer ones.
WINDOW = 200
#: Tokens that neighbouring windows share, so that a sentence on the border is whole in one of them.
OVERLAP = 20
#: Characters tokenised at first: eight windows of prose take about 7,000.
FIRST_CUT = 16_384
#: Characters tokenised at most, where white space or very long words fill few tokens.
MAX_CHARACTERS = 262_144


def check_texts(texts: Sequence[str]) -> list[str]:
    """Return the texts as a list.

    Raises:
        InvalidInputError: A bare ``str`` was given, or one of the texts is not a ``str``.
    """
    if isinstance(texts, (str, bytes)):
        raise InvalidInputError(
            f"texts must be a sequence of str, a bare {type(texts).__name__} was given; "
            "wrap it in a list"
        )
    checked = list(texts)
    for place, text in enumerate(checked):
        if not isinstance(text, str):
            raise InvalidInputError(
                f"texts[{place}] must be a str, {type(text).__name__} was given"
            )
    return checked


def clean(text: str) -> str:
    """Return the text as valid Unicode: surrogate pairs joined, lone surrogates as U+FFFD.

    Anything else stays as it is; the tokenizer drops NUL and other control characters itself.
    """
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def windows(
    tokens: int, *, window: int = WINDOW, overlap: int = OVERLAP, limit: int = MAX_CHUNKS
) -> list[tuple[int, int]]:
    """Return the ``[start, end)`` token windows of a text, in order, the first from 0.

    A text that fits one window has one. A longer one is split into as few as cover it, of equal
    length up to one token, each sharing ``overlap`` tokens or more with the one before it. Tokens
    beyond ``limit`` full windows are outside all of them.

    Args:
        tokens: Length of the text, without special tokens.
        window: Most tokens in a window, more than ``overlap``.
        overlap: Fewest tokens that neighbours share.
        limit: Most windows.
    """
    if tokens <= 0:
        return []
    if tokens <= window or limit == 1:
        return [(0, min(tokens, window))]
    step = window - overlap
    covered = min(tokens, window + (limit - 1) * step)
    count = -(-(covered - overlap) // step)
    length = -(-(covered + (count - 1) * overlap) // count)
    last = covered - length
    starts = [last * place // (count - 1) for place in range(count)]
    return [(start, start + length) for start in starts]
