"""Insert many rows with few statements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import apsw

__all__ = ["insert_rows"]

ROWS: Final = 50
"""Rows of one statement: binding and stepping each alone costs as much again as the insert."""


def insert_rows(
    connection: apsw.Connection,
    insert: str,
    rows: Iterable[Sequence[Any]],
    *,
    values: str | None = None,
) -> None:
    """Insert rows in their order; within a transaction, since an error leaves those before it.

    Args:
        connection: The one that writes.
        insert: The statement up to ``VALUES``.
        rows: Values of each row, all of one length.
        values: SQL of a row's values, where ``{0}`` stands for the first of those given, as often
            as it is wanted; by default just these, in their order.
    """
    waiting = rows if isinstance(rows, list | tuple) else list(rows)
    if not waiting:
        return
    width = len(waiting[0])
    whole = len(waiting) - len(waiting) % ROWS
    if whole:
        statement = _statement(insert, values, width, ROWS)
        for start in range(0, whole, ROWS):
            bindings = chain.from_iterable(waiting[start : start + ROWS])
            connection.execute(statement, tuple(bindings))
    if whole < len(waiting):
        connection.executemany(_statement(insert, values, width, 1), waiting[whole:])


@lru_cache(maxsize=64)
def _statement(insert: str, values: str | None, width: int, rows: int) -> str:
    row = values or ", ".join(f"{{{at}}}" for at in range(width))
    numbered = [f"?{number}" for number in range(1, width * rows + 1)]
    each = (row.format(*numbered[at : at + width]) for at in range(0, len(numbered), width))
    return f"{insert} VALUES ({'), ('.join(each)})"
