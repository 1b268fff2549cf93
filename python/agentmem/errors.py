"""Every error that agentmem raises on purpose, as one tree.

::

    AgentMemError
    ├─ InvalidInputError  (+ValueError)      which argument, what was given, what is allowed
    │  └─ DimensionError                     .expected .got
    ├─ MermaidParseError  (+ValueError)      .line .column .reason
    ├─ ToolLogError  (+ValueError)           .file .line
    ├─ ClosedError                           the memory was closed
    ├─ ForkedError                           a handle was used in a forked child
    ├─ StoreError
    │  ├─ NotFoundError  (+LookupError)
    │  ├─ NotAStoreError                     the folder holds something else
    │  ├─ CorruptStoreError                  the SQLite file is damaged; it is left as it is
    │  ├─ StorageFullError  (+OSError)       no space; what was acknowledged is still there
    │  ├─ ReadOnlyStoreError
    │  ├─ StoreBusyError                     the write lock was not had within its time
    │  └─ SchemaVersionError                 the file is newer than this library
    ├─ SearchIndexError
    │  ├─ IndexCorruptError                  a derived file is damaged; it is rebuilt from the store
    │  └─ IndexBusyError
    ├─ EmbeddingError
    │  ├─ ModelNotFoundError  (+FileNotFoundError)
    │  └─ EmbedderMismatchError              .stored .given
    └─ SkillError
       ├─ NotOwnerError  (+PermissionError)
       ├─ ConflictError                      .expected_version .actual_version
       └─ IllegalMoveError                   .state .move

``OSError`` passes through. Errors of SQLite, onnxruntime or the native core never do:
they are translated where they arise.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "AgentMemError",
    "ClosedError",
    "ConflictError",
    "CorruptStoreError",
    "DimensionError",
    "EmbedderMismatchError",
    "EmbeddingError",
    "ForkedError",
    "IllegalMoveError",
    "IndexBusyError",
    "IndexCorruptError",
    "InvalidInputError",
    "MermaidParseError",
    "ModelNotFoundError",
    "NotAStoreError",
    "NotFoundError",
    "NotOwnerError",
    "ReadOnlyStoreError",
    "SchemaVersionError",
    "SearchIndexError",
    "SkillError",
    "StorageFullError",
    "StoreBusyError",
    "StoreError",
    "ToolLogError",
]


class AgentMemError(Exception):
    """The root of every error that agentmem raises on purpose."""


class InvalidInputError(AgentMemError, ValueError):
    """An argument is wrong; the message says which, what was given and what is allowed."""


class DimensionError(InvalidInputError):
    """A vector has the wrong length."""

    def __init__(self, expected: int, got: int, argument: str = "") -> None:
        where = f"{argument}: " if argument else ""
        super().__init__(f"{where}a vector of length {expected} is needed, {got} was given")
        self.expected = expected
        self.got = got
        self.argument = argument

    def __reduce__(self) -> tuple[type[DimensionError], tuple[int, int, str]]:
        return type(self), (self.expected, self.got, self.argument)


class MermaidParseError(AgentMemError, ValueError):
    """A text is not a diagram that agentmem wrote."""

    def __init__(self, line: int, column: int, reason: str) -> None:
        super().__init__(f"line {line}, column {column}: {reason}")
        self.line = line
        self.column = column
        self.reason = reason

    def __reduce__(self) -> tuple[type[MermaidParseError], tuple[int, int, str]]:
        return type(self), (self.line, self.column, self.reason)


class ToolLogError(AgentMemError, ValueError):
    """A tool log can't be read at one place; the rest was not lost."""

    def __init__(self, message: str, *, file: str | None = None, line: int | None = None) -> None:
        place = "".join((f"{file}: " if file else "", f"line {line}: " if line else ""))
        super().__init__(place + message)
        self.message = message
        self.file = file
        self.line = line


class ClosedError(AgentMemError):
    """The memory was closed; open it again."""


class ForkedError(AgentMemError):
    """A handle was inherited over a fork; open the memory again in the child."""


class StoreError(AgentMemError):
    """The store could not do what was asked."""


class NotFoundError(StoreError, LookupError):
    """No row, version or name of this kind exists here."""


class NotAStoreError(StoreError):
    """The folder holds something that is not an agentmem store."""


class CorruptStoreError(StoreError):
    """The SQLite file is damaged. Restore a backup; agentmem never repairs it by losing rows."""


class StorageFullError(StoreError, OSError):
    """There is no space left. What was acknowledged is still there, and reads go on."""


class ReadOnlyStoreError(StoreError):
    """The folder or file can't be written."""


class StoreBusyError(StoreError):
    """Another process held the write lock for longer than the timeout."""


class SchemaVersionError(StoreError):
    """The file was written by a newer agentmem; it is left alone."""


class SearchIndexError(AgentMemError):
    """The search index could not do what was asked."""


class IndexCorruptError(SearchIndexError):
    """A derived file is damaged or foreign; ``Memory.rebuild_index()`` makes it anew."""


class IndexBusyError(SearchIndexError):
    """Another process is publishing an index generation."""


class EmbeddingError(AgentMemError):
    """The embedder failed or gave something that is not an embedding."""


class ModelNotFoundError(EmbeddingError, FileNotFoundError):
    """The model files are not where they were looked for; nothing is ever downloaded."""


class EmbedderMismatchError(EmbeddingError):
    """The store holds vectors of another model; ``Memory.reembed`` moves them."""

    def __init__(self, stored: str, given: str, *, is_given: bool = False) -> None:
        remedy = (
            "open it with GivenEmbeddings of that id and ndim; Memory.reembed moves a store to an "
            "embedder that makes vectors itself, never to given ones"
            if is_given
            else "open it with that embedder, or with GivenEmbeddings of its id and ndim, and "
            "move it with Memory.reembed(embedder)"
        )
        super().__init__(
            f"the store's vectors were made by {stored!r}, the embedder given is {given!r}; "
            f"{remedy}"
        )
        self.stored = stored
        self.given = given
        self.is_given = is_given

    def __reduce__(self) -> tuple[Any, ...]:
        return _mismatch, (self.stored, self.given, self.is_given)


def _mismatch(stored: str, given: str, is_given: bool) -> EmbedderMismatchError:
    return EmbedderMismatchError(stored, given, is_given=is_given)


class SkillError(AgentMemError):
    """A skill could not be read or changed as asked."""


class NotOwnerError(SkillError, PermissionError):
    """Only the owner may change this skill."""


class ConflictError(SkillError):
    """The skill was changed since the version that the caller saw."""

    def __init__(self, expected_version: int, actual_version: int) -> None:
        super().__init__(f"version {expected_version} was expected, it is {actual_version} now")
        self.expected_version = expected_version
        self.actual_version = actual_version

    def __reduce__(self) -> tuple[type[ConflictError], tuple[int, int]]:
        return type(self), (self.expected_version, self.actual_version)


class IllegalMoveError(SkillError):
    """A skill in this state can't make this move."""

    def __init__(self, state: str, move: str) -> None:
        super().__init__(f"a skill that is {state} can't be {move}")
        self.state = state
        self.move = move

    def __reduce__(self) -> tuple[type[IllegalMoveError], tuple[str, str]]:
        return type(self), (self.state, self.move)
