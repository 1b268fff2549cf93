"""LangGraph's filters: what the index can hold of them, and the exact test of a value."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from agentmem.errors import InvalidInputError
from agentmem.store.conditions import MOST_NUMBER

__all__ = ["compiled"]

# Of use to nobody, and refused by LangGraph's SQLite store too.
BAD_KEY = re.compile("[\"'\\\\\x00-\x1f]")
MOST_PUSHED = 64
ORDERED: Mapping[str, Callable[[Any, Any], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
OPERATORS = ("$eq", "$ne", *ORDERED)


def compiled(
    given: Mapping[str, Any] | None,
) -> tuple[dict[str, Any] | None, Callable[[Mapping[str, Any]], bool] | None]:
    """Return ``(where, accept)`` of a filter.

    ``where`` is a condition of the index that lets through at least what ``accept`` does, which is
    the filter itself.

    Raises:
        InvalidInputError: An unknown operator, an operand that has no order, or a bad key.
    """
    if not given:
        return None, None
    if not isinstance(given, Mapping):
        raise InvalidInputError(f"filter: a mapping is needed, {given!r:.80} was given")
    where: dict[str, Any] = {}
    for key, wanted in given.items():
        if not isinstance(key, str) or not key or BAD_KEY.search(key):
            raise InvalidInputError(
                f"Invalid filter key: {key!r}; keys are strings without quotes, backslashes and "
                "control characters"
            )
        _check(key, wanted)
        pushed = _pushed(wanted)
        if pushed and not key.startswith("$") and len(where) < MOST_PUSHED and _is_utf8(key):
            where[key] = pushed

    def accept(value: Mapping[str, Any]) -> bool:
        return all(
            any(_fits(found, wanted) for found in _reached(value, key))
            for key, wanted in given.items()
        )

    return where or None, accept


def _has_operators(wanted: Mapping[Any, Any]) -> bool:
    return any(isinstance(name, str) and name.startswith("$") for name in wanted)


def _check(key: str, wanted: Any) -> None:
    if isinstance(wanted, Mapping):
        if not _has_operators(wanted):
            for name, inner in wanted.items():
                _check(f"{key}.{name}", inner)
            return
        for name, operand in wanted.items():
            if name not in OPERATORS:
                raise InvalidInputError(
                    f"filter: unknown operator {name!r} at {key!r}; known are {', '.join(OPERATORS)}"
                )
            if name in ORDERED and _kind(operand) not in ("string", "number"):
                raise InvalidInputError(
                    f"filter: {name} at {key!r} needs a string or a number, {operand!r} was given"
                )
    elif isinstance(wanted, list | tuple):
        for inner in wanted:
            _check(key, inner)


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _can_push(value: Any) -> bool:
    if isinstance(value, str):
        return _is_utf8(value)
    if isinstance(value, bool):
        return True
    return isinstance(value, int | float) and abs(value) <= MOST_NUMBER and math.isfinite(value)


def _pushed(wanted: Any) -> dict[str, Any]:
    """Return what the index may test: it takes a list for each of its members, which is more."""
    if isinstance(wanted, Mapping):
        if not _has_operators(wanted):
            return {}
        return {
            name: operand
            for name, operand in wanted.items()
            if name != "$ne" and _can_push(operand)
        }
    return {"$eq": wanted} if _can_push(wanted) else {}


def _reached(value: Mapping[str, Any], key: str) -> Iterator[Any]:
    """Yield what a key leads to: as it stands, else as a path with dots; None for nothing."""
    found = list(_paths(value, key))
    yield from found or (None,)


def _paths(value: Any, key: str) -> Iterator[Any]:
    if not isinstance(value, Mapping):
        return
    if key in value:
        yield value[key]
    for place, character in enumerate(key):
        if character == "." and key[:place] in value:
            yield from _paths(value[key[:place]], key[place + 1 :])


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return "string" if isinstance(value, str) else "other"


def _same(left: Any, right: Any) -> bool:
    """Whether two JSON values are equal; true is not 1, and 1 is 1.0."""
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(_same(left[name], right[name]) for name in left)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(_same, left, right))
    return _kind(left) == _kind(right) and bool(left == right)


def _fits(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        if _has_operators(wanted):
            return all(_holds(found, name, operand) for name, operand in wanted.items())
        return isinstance(found, Mapping) and all(
            _fits(found.get(name), inner) for name, inner in wanted.items()
        )
    if isinstance(wanted, list | tuple):
        return (
            isinstance(found, list | tuple)
            and len(found) == len(wanted)
            and all(map(_fits, found, wanted))
        )
    return _same(found, wanted)


def _holds(found: Any, name: str, operand: Any) -> bool:
    if name == "$eq":
        return _same(found, operand)
    if name == "$ne":
        return not _same(found, operand)
    return _kind(found) == _kind(operand) and ORDERED[name](found, operand)
