"""Receipts of what was forgotten: counts and times, never words."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import apsw

__all__ = ["PURGE", "insert", "mark_purged", "unpurged"]

PURGE: Final = "purge"
"""The key in ``meta`` that stands from the begin of a purge to its end."""


def insert(
    connection: apsw.Connection, scope_id: int, op: str, counts: Mapping[str, int], *, now_ms: int
) -> int:
    """Insert a receipt and return its number."""
    connection.execute(
        "INSERT INTO receipts (scope_id, op, made_ms, counts) VALUES (?,?,?,?)",
        (scope_id, op, now_ms, json.dumps(counts, separators=(",", ":"))),
    )
    return connection.last_insert_rowid()


def unpurged(connection: apsw.Connection) -> list[int]:
    """Return the receipts whose rows may still have bytes in the folder."""
    return [
        row[0]
        for row in connection.execute("SELECT id FROM receipts WHERE NOT is_purged ORDER BY id")
    ]


def mark_purged(connection: apsw.Connection, numbers: Sequence[int]) -> None:
    """Note that no byte of what these receipts are about is left."""
    connection.execute(
        "UPDATE receipts SET is_purged = 1 WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(numbers)),),
    )
