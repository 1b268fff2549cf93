"""Namespaces as scopes: any label that LangGraph allows has a segment of its own, and no other has."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)

from agentmem.errors import InvalidInputError
from agentmem.store.scopes import check_scope

__all__ = ["check_op", "common_prefix", "does_match", "listed", "to_namespace", "to_scope"]

Namespace = tuple[str, ...]
# What a scope's segment can't hold, and the sign that begins an escape.
UNSAFE = re.compile("[%/\x00-\x1f\ud800-\udfff]")
ESCAPE = re.compile("%(?:u([0-9A-F]{4})|([0-9A-F]{2}))")


def _escape(found: re.Match[str]) -> str:
    code = ord(found.group())
    return f"%{code:02X}" if code <= 0xFF else f"%u{code:04X}"  # noqa: PLR2004


@lru_cache(maxsize=4096)
def to_scope(namespace: Namespace) -> str:
    """Return the scope of a namespace, whose labels were checked.

    Raises:
        InvalidNamespaceError: It is longer than a scope may be.
    """
    path = "/".join([UNSAFE.sub(_escape, label) for label in namespace])
    try:
        return check_scope(path)
    except InvalidInputError as error:
        raise InvalidNamespaceError(f"{error}; the namespace is {namespace!s:.200}") from error


@lru_cache(maxsize=4096)
def to_namespace(scope: str) -> Namespace:
    """Return the namespace of a scope."""
    if not scope:
        return ()
    if "%" not in scope:
        return tuple(scope.split("/"))
    return tuple(
        ESCAPE.sub(lambda found: chr(int(found[1] or found[2], 16)), segment)
        for segment in scope.split("/")
    )


def _check_labels(namespace: Iterable[Any]) -> None:
    for label in namespace:
        if not isinstance(label, str):
            problem = f"is {type(label).__name__}, not a string"
        elif not label:
            problem = "is empty"
        elif "." in label:
            problem = "holds a period"
        elif "\0" in label:
            problem = "holds a NUL character"
        else:
            continue
        raise InvalidNamespaceError(f"label {label!r} of namespace {namespace!r} {problem}")


def check_op(op: Any) -> None:
    """Raise unless the labels of an operation are such as LangGraph allows.

    Raises:
        InvalidNamespaceError: A label is empty, no string, or holds a period or NUL.
        ValueError: It is no operation of a store.
    """
    if isinstance(op, GetOp | PutOp):
        _check_labels(op.namespace)
    elif isinstance(op, SearchOp):
        _check_labels(op.namespace_prefix)
    elif isinstance(op, ListNamespacesOp):
        for condition in op.match_conditions or ():
            _check_labels(condition.path)
    else:
        raise ValueError(f"unknown operation {type(op).__name__}")  # noqa: TRY004


def does_match(condition: MatchCondition, namespace: Namespace) -> bool:
    """Say whether a namespace begins or ends as asked; ``*`` stands for any one label.

    Raises:
        ValueError: The type of the condition is unknown.
    """
    path = tuple(condition.path)
    if condition.match_type == "prefix":
        part = namespace[: len(path)]
    elif condition.match_type == "suffix":
        part = namespace[len(namespace) - len(path) :] if len(path) <= len(namespace) else ()
    else:
        raise ValueError(
            f"unknown match type {condition.match_type!r}; known are 'prefix' and 'suffix'"
        )
    return len(part) == len(path) and all(
        wanted in ("*", label) for label, wanted in zip(part, path, strict=True)
    )


def listed(namespaces: Iterable[Namespace], op: ListNamespacesOp) -> list[Namespace]:
    """Return the page of namespaces that an operation asks for, in order."""
    found = {
        namespace if op.max_depth is None else namespace[: op.max_depth]
        for namespace in namespaces
        if all(does_match(condition, namespace) for condition in op.match_conditions or ())
    }
    return sorted(found)[op.offset : op.offset + op.limit]


def common_prefix(op: ListNamespacesOp) -> Namespace:
    """Return the longest prefix, without wildcards, that every namespace asked for has."""
    longest: Namespace = ()
    for condition in op.match_conditions or ():
        if condition.match_type == "prefix":
            path = tuple(condition.path)
            known = path[: path.index("*")] if "*" in path else path
            longest = max(longest, known, key=len)
    return longest
