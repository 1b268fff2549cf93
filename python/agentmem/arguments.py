"""Arguments that many verbs have in common, held against what they may be."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from agentmem.errors import InvalidInputError

__all__ = ["check_flag", "check_function", "check_path", "check_strings"]


def check_flag(value: Any, argument: str) -> bool:
    """Return True or False.

    Raises:
        InvalidInputError: It is neither.
    """
    if not isinstance(value, bool):
        raise InvalidInputError(f"{argument}: True or False is needed, {value!r:.80} was given")
    return value


def check_function(value: Any, argument: str) -> None:
    """Accept what can be called, and None.

    Raises:
        InvalidInputError: It is neither.
    """
    if value is not None and not callable(value):
        raise InvalidInputError(f"{argument}: a function is needed, {value!r:.80} was given")


def check_strings(value: Any, argument: str) -> list[str]:
    """Return several strings; one alone is a list of itself.

    Raises:
        InvalidInputError: It is none, or holds something else.
    """
    if isinstance(value, str):
        return [value]
    if not isinstance(value, Iterable):
        raise InvalidInputError(f"{argument}: strings are needed, {value!r:.80} was given")
    found = list(value)
    if not all(isinstance(item, str) for item in found):
        raise InvalidInputError(f"{argument}: strings are needed, {found!r:.80} was given")
    return found


def check_path(value: Any, argument: str) -> Path:
    """Return a path that the operating system could have.

    Raises:
        InvalidInputError: It is none.
    """
    try:
        text = os.fspath(value)
    except TypeError:
        text = None
    if not isinstance(text, str) or not text or "\0" in text:
        raise InvalidInputError(f"{argument}: a path is needed, {value!r:.200} was given")
    try:
        os.lstat(text)
    except UnicodeEncodeError as error:
        raise InvalidInputError(f"{argument}: {text!r:.200} is no path here") from error
    except OSError as error:
        if error.errno in (errno.ENAMETOOLONG, errno.ELOOP):
            raise InvalidInputError(f"{argument}: {text[:200]!r}: {error.strerror}") from error
    return Path(text)
