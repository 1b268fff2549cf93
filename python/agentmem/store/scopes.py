"""Scopes: `/`-separated paths that bound every read; each sees itself and what is below it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem.errors import InvalidInputError

if TYPE_CHECKING:
    import apsw

__all__ = ["check_scope", "contains", "join_scope", "obtain", "subtree_clause"]

MAX_SCOPE_LENGTH = 1024


def check_scope(path: str, *, argument: str = "scope") -> str:
    """Return the path if it is a scope: non-empty segments joined by ``/``; ``""`` is the root.

    Raises:
        InvalidInputError: An empty segment, a control character, no string, or too long.
    """
    if not isinstance(path, str):
        raise InvalidInputError(f"{argument}: a string is needed, {path!r} was given")
    if path == "":
        return path
    if len(path) > MAX_SCOPE_LENGTH:
        raise InvalidInputError(
            f"{argument}: at most {MAX_SCOPE_LENGTH} characters are allowed, {len(path)} were given"
        )
    if any(not segment for segment in path.split("/")):
        raise InvalidInputError(
            f"{argument}: {path!r} has an empty segment; write segments as 'acme/alice'"
        )
    if any(ord(character) < 0x20 or 0xD800 <= ord(character) <= 0xDFFF for character in path):  # noqa: PLR2004
        raise InvalidInputError(
            f"{argument}: {path!r} holds a control character or a lone surrogate"
        )
    return path


def join_scope(base: str, path: str) -> str:
    """Return ``path`` below ``base``; either may be the root."""
    return f"{base}/{path}" if base and path else base or path


def contains(scope: str, path: str) -> bool:
    """Whether ``path`` is ``scope`` itself or lies below it."""
    return not scope or path == scope or path.startswith(scope + "/")


def obtain(connection: apsw.Connection, path: str) -> int:
    """Return the id of a scope, making its row at first use."""
    row = connection.execute("SELECT id FROM scopes WHERE path = ?", (path,)).fetchone()
    if row is None:
        connection.execute("INSERT INTO scopes (path) VALUES (?)", (path,))
        return int(connection.last_insert_rowid())
    return int(row[0])


def subtree_clause(path: str, column: str = "scope_id") -> tuple[str, tuple[str, ...]]:
    """Return an SQL condition, and its bindings, for rows of a scope and of those below it.

    ``/`` is followed by ``0`` in the collation, so the half-open range ``path/`` to ``path0`` is
    the subtree: no wildcard character has a meaning.
    """
    if not path:
        return "1", ()
    return (
        f"{column} IN (SELECT id FROM scopes WHERE path = ? OR (path >= ? AND path < ?))",
        (path, path + "/", path + "0"),
    )
