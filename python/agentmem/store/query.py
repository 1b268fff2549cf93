"""Reading SQL of a caller: whatever it says, it changes nothing and it ends."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

import apsw

from agentmem.errors import InvalidInputError, StoreBusyError

__all__ = ["run_query"]

_STEPS_BETWEEN_LOOKS: Final = 10_000
_READING: Final = frozenset(
    {
        apsw.SQLITE_SELECT,
        apsw.SQLITE_READ,
        apsw.SQLITE_FUNCTION,
        apsw.SQLITE_RECURSIVE,
    }
)
# Pragmas that only report; all others are refused, with or without an argument.
_REPORTS: Final = frozenset(
    {
        "application_id",
        "compile_options",
        "database_list",
        "foreign_key_list",
        "index_info",
        "index_list",
        "index_xinfo",
        "page_count",
        "page_size",
        "table_info",
        "table_list",
        "table_xinfo",
        "user_version",
    }
)
_WITH_ARGUMENT: Final = frozenset(
    name for name in _REPORTS if name.endswith(("_info", "_list", "_xinfo"))
)


def run_query(
    connection: apsw.Connection,
    query: str,
    parameters: Sequence[Any] | Mapping[str, Any],
    *,
    timeout_s: float,
) -> list[tuple[Any, ...]]:
    """Return all rows of the statements in ``query``.

    Args:
        connection: A reader that is used for nothing else.
        query: One or more statements.
        parameters: Values for its placeholders.
        timeout_s: After this many seconds it is interrupted.

    Raises:
        InvalidInputError: The text is no SQL, its parameters do not fit, or it would write.
        StoreBusyError: It was interrupted.
    """
    if not isinstance(query, str):
        raise InvalidInputError(f"query: SQL as a text is needed, {query!r:.80} was given")
    if not isinstance(parameters, Sequence | Mapping):
        raise InvalidInputError(
            f"parameters: a sequence or a mapping is needed, {parameters!r:.80} was given"
        )
    deadline = time.monotonic() + timeout_s
    connection.set_authorizer(_allow)
    connection.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS_BETWEEN_LOOKS)
    try:
        return [tuple(row) for row in connection.execute(query, parameters)]
    except apsw.InterruptError as error:
        raise StoreBusyError(f"the query took more than {timeout_s:g} s; narrow it") from error
    except (apsw.AuthError, apsw.ReadOnlyError) as error:
        raise InvalidInputError(f"sql() only reads, this would do more: {error}") from error
    except (
        apsw.SQLError,
        apsw.BindingsError,
        apsw.MismatchError,
        apsw.RangeError,
        apsw.TooBigError,
        TypeError,
        ValueError,
        OverflowError,
    ) as error:
        raise InvalidInputError(f"the query can't be run: {error}") from error


def _allow(
    action: int, first: str | None, second: str | None, _database: str | None, _trigger: str | None
) -> int:
    if action == apsw.SQLITE_FUNCTION:
        return apsw.SQLITE_DENY if second == "load_extension" else apsw.SQLITE_OK
    if action in _READING:
        return apsw.SQLITE_OK
    if action == apsw.SQLITE_PRAGMA and first is not None and first.lower() in _REPORTS:
        fits = second is None or first.lower() in _WITH_ARGUMENT
        return apsw.SQLITE_OK if fits else apsw.SQLITE_DENY
    return apsw.SQLITE_DENY
