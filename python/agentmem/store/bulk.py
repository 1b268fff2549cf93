"""Insert many rows with few statements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import apsw

__all__ = ["insert_rows"]

ROWS: Final = 50
"""Rows of one statement: binding and stepping each alone costs as much again as the insert."""


def insert_rows(connection: apsw.Connection, insert: str, rows: Iterable[Sequence[Any]]) -> None:
    """Insert rows in their order; within a transaction, since an error leaves those before it.

    Args:
        connection: The one that writes.
        insert: The statement up to ``VALUES``.
        rows: Values of each row, all of one length.
    """
    waiting = rows if isinstance(rows, list | tuple) else list(rows)
    if not waiting:
        return
    one = f"({','.join('?' * len(waiting[0]))})"
    whole = len(waiting) - len(waiting) % ROWS
    if whole:
        statement = f"{insert} VALUES {','.join([one] * ROWS)}"
        for start in range(0, whole, ROWS):
            values = chain.from_iterable(waiting[start : start + ROWS])
            connection.execute(statement, tuple(values))
    if whole < len(waiting):
        connection.executemany(f"{insert} VALUES {one}", waiting[whole:])
