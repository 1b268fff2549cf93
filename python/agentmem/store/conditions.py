"""The `where` language, evaluated in Python over one row; the native index speaks the same.

A condition maps a dotted path into the metadata, or one of the row's own fields (`$kind`,
`$session`, `$subject`, `$tag`, `$priority`, `$trust`), to a scalar or to operators. Scalars compare
by type: 1 equals 1.0, true does not equal 1. A list matches if any of its scalars does. `$ne` and
`$nin` also match rows that lack the path.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from agentmem.errors import InvalidInputError

__all__ = ["FIELDS", "ConditionRow", "check_where", "matches"]

Scalar = str | int | float | bool | None
FIELDS = ("$kind", "$session", "$subject", "$tag", "$priority", "$trust")
# As the native index, so that the two never differ in what they refuse.
MOST_CONDITIONS = 256
MOST_NUMBER = 10**308
OPERATORS = ("$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin", "$exists")


class ConditionRow(Protocol):
    """What a condition may ask of a row."""

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The host's own fields."""

    @property
    def kind(self) -> str:
        """The kind of the row."""

    @property
    def session(self) -> str | None:
        """The session of the row."""

    @property
    def subject(self) -> str | None:
        """Whom or what the row is about."""

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of the row."""

    @property
    def priority(self) -> int:
        """The priority of the row."""

    @property
    def trust(self) -> int:
        """The trust of the row."""


def _check_scalar(value: object, path: str) -> None:
    if value is not None and not isinstance(value, str | int | float):
        raise InvalidInputError(
            f"where: {path!r} compares with a string, number, boolean or None, {value!r} was given"
        )
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > MOST_NUMBER:
        raise InvalidInputError(f"where: {path!r} can't be compared with so large a number")
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidInputError(f"where: {path!r} can't be compared with {value!r}")


def check_where(where: Mapping[str, Any] | None) -> str | None:
    """Return the JSON of a condition, or None where there is none.

    Raises:
        InvalidInputError: An unknown field or operator, or a value that can't be compared.
    """
    if where is None:
        return None
    if not isinstance(where, Mapping):
        raise InvalidInputError(f"where: a mapping is needed, {where!r} was given")
    weight = sum(
        sum(len(one) if isinstance(one, list | tuple) else 1 for one in condition.values())
        if isinstance(condition, Mapping)
        else 1
        for condition in where.values()
    )
    if weight > MOST_CONDITIONS:
        raise InvalidInputError(
            f"where: at most {MOST_CONDITIONS} conditions and values are allowed, not {weight}"
        )
    for path, condition in where.items():
        if not isinstance(path, str) or not path:
            raise InvalidInputError(f"where: {path!r} is no path; paths are non-empty strings")
        if path.startswith("$") and path not in FIELDS:
            raise InvalidInputError(
                f"where: unknown field {path!r}; the row's own fields are {', '.join(FIELDS)}"
            )
        _check_condition(path, condition)
    return json.dumps(dict(where), ensure_ascii=False) if where else None


def _check_condition(path: str, condition: object) -> None:
    if not isinstance(condition, Mapping):
        _check_scalar(condition, path)
        return
    if not condition:
        raise InvalidInputError(f"where: {path!r} has no operator")
    for operator, operand in condition.items():
        if operator not in OPERATORS:
            raise InvalidInputError(
                f"where: unknown operator {operator!r} at {path!r}; "
                f"known are {', '.join(OPERATORS)}"
            )
        if operator in ("$in", "$nin"):
            if isinstance(operand, str) or not isinstance(operand, list | tuple):
                raise InvalidInputError(f"where: {operator} at {path!r} needs a list")
            for value in operand:
                _check_scalar(value, path)
        elif operator == "$exists":
            if not isinstance(operand, bool):
                raise InvalidInputError(f"where: $exists at {path!r} needs True or False")
        else:
            _check_scalar(operand, path)
            if operator not in ("$eq", "$ne") and _kind_of(operand) not in ("str", "number"):
                raise InvalidInputError(
                    f"where: {operator} at {path!r} needs a string or a number, {operand!r} was given"
                )


def _kind_of(value: Scalar) -> str:
    if isinstance(value, bool) or value is None:
        return type(value).__name__
    return "str" if isinstance(value, str) else "number"


def _equal(left: Scalar, right: Scalar) -> bool:
    return _kind_of(left) == _kind_of(right) and left == right


def _ordered(test: Callable[[Any, Any], bool]) -> Callable[[Scalar, Scalar], bool]:
    def compare(left: Scalar, right: Scalar) -> bool:
        kind = _kind_of(left)
        if kind != _kind_of(right) or kind not in ("str", "number"):
            return False
        if isinstance(left, str) and isinstance(right, str):
            return test(left.encode(), right.encode())
        return test(left, right)

    return compare


COMPARE: Mapping[str, Callable[[Scalar, Scalar], bool]] = {
    "$eq": _equal,
    "$gt": _ordered(lambda left, right: left > right),
    "$gte": _ordered(lambda left, right: left >= right),
    "$lt": _ordered(lambda left, right: left < right),
    "$lte": _ordered(lambda left, right: left <= right),
}


def _values(row: ConditionRow, path: str) -> Iterator[Scalar]:
    if path == "$tag":
        yield from row.tags
        return
    if path.startswith("$"):
        value = getattr(row, path[1:])
        if value is not None:
            yield int(value) if path == "$trust" else value
        return
    for found in _reached(row.metadata, path):
        for value in found if isinstance(found, list | tuple) else (found,):
            if not isinstance(value, Mapping | list | tuple):
                yield value


def _reached(found: Any, path: str) -> Iterator[Any]:
    """Yield what a dotted path leads to; a key may itself hold dots."""
    if not isinstance(found, Mapping):
        return
    if path in found:
        yield found[path]
    for place, character in enumerate(path):
        if character == "." and path[:place] in found:
            yield from _reached(found[path[:place]], path[place + 1 :])


def _holds(row: ConditionRow, path: str, operator: str, operand: Any) -> bool:
    values = list(_values(row, path))
    if operator == "$exists":
        is_there = bool(values) or (
            path[0] != "$" and any(True for _ in _reached(row.metadata, path))
        )
        return is_there is operand
    if operator == "$ne":
        return not any(_equal(value, operand) for value in values)
    if operator == "$in":
        return any(_equal(value, wanted) for value in values for wanted in operand)
    if operator == "$nin":
        return not any(_equal(value, wanted) for value in values for wanted in operand)
    compare = COMPARE[operator]
    return any(compare(value, operand) for value in values)


def matches(where: Mapping[str, Any], row: ConditionRow) -> bool:
    """Whether a row fulfils every condition; ``where`` was checked by :func:`check_where`."""
    return all(
        _holds(row, path, operator, operand)
        for path, condition in where.items()
        for operator, operand in (
            condition.items() if isinstance(condition, Mapping) else (("$eq", condition),)
        )
    )
