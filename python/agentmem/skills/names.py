"""Ids, owners and names as callers give them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from agentmem.errors import InvalidInputError

__all__ = [
    "check_author",
    "check_count",
    "check_mapping",
    "check_name",
    "check_owner",
    "check_sequence",
    "check_text",
    "parse_number",
]

MAX_OWNER_CHARS: Final = 1_024
MAX_NAME_CHARS: Final = 64
_NAME: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


def check_author(author: Any) -> None:
    """Accept a text that says who made something, and None.

    Raises:
        InvalidInputError: It is neither.
    """
    if author is not None:
        check_text(author, "author", MAX_OWNER_CHARS)


def check_owner(owner: Any) -> str:
    """Return the name of an owner if it is one.

    Raises:
        InvalidInputError: It is missing, blank, too long, or no text that can be stored.
    """
    if not isinstance(owner, str) or not owner.strip():
        raise InvalidInputError(f"owner: whose skill it is must be said, {owner!r} was given")
    return check_text(owner, "owner", MAX_OWNER_CHARS)


def check_text(value: Any, argument: str, most: int) -> str:
    """Return a text of at most so many characters that can be stored as it is.

    Raises:
        InvalidInputError: It is none.
    """
    if not isinstance(value, str):
        raise InvalidInputError(f"{argument}: a text is needed, {value!r} was given")
    if len(value) > most:
        raise InvalidInputError(
            f"{argument}: at most {most:,} characters are allowed, {len(value):,} were given"
        )
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InvalidInputError(f"{argument}: it has a lone surrogate") from error
    return value


def check_name(name: Any, argument: str = "name") -> str:
    """Return the name of a skill if the SKILL.md specification allows it.

    Raises:
        InvalidInputError: It does not.
    """
    if (
        not isinstance(name, str)
        or not 1 <= len(name) <= MAX_NAME_CHARS
        or not _NAME.fullmatch(name)
    ):
        raise InvalidInputError(
            f"{argument}: 1 to {MAX_NAME_CHARS} of a-z, 0-9 and single hyphens between them are needed, "
            f"{name!r} was given"
        )
    return name


def check_count(value: Any, argument: str, least: int) -> int:
    """Return a whole number that is not too small.

    Raises:
        InvalidInputError: It is none.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 1 << 63:
        raise InvalidInputError(
            f"{argument}: a whole number from {least} on is needed, {value!r} was given"
        )
    return value


def check_mapping(value: Any, argument: str) -> dict[Any, Any]:
    """Return a copy of a mapping; None is an empty one.

    Raises:
        InvalidInputError: It is none.
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"{argument}: a mapping is needed, {value!r:.200} was given")
    return dict(value)


def check_sequence(value: Any, argument: str) -> tuple[Any, ...]:
    """Return the values of something that can be gone through, but for a single text.

    Raises:
        InvalidInputError: It is none.
    """
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise InvalidInputError(f"{argument}: a sequence is needed, {value!r:.200} was given")
    return tuple(value)


def parse_number(value: Any, kind: str) -> int:
    """Return the number in an id such as ``"archive:5"``.

    Raises:
        InvalidInputError: It is no id of this kind.
    """
    head, _, tail = value.partition(":") if isinstance(value, str) else ("", "", "")
    if head == kind and tail.isascii() and tail.isdigit() and len(tail) < 17:  # noqa: PLR2004
        return int(tail)
    raise InvalidInputError(f"an id such as '{kind}:7' is needed, {value!r} was given")
