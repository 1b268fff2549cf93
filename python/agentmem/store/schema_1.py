"""Migration 1: what the infrastructure of the store itself needs."""

from typing import Final

__all__ = ["SCHEMA_1"]

SCHEMA_1: Final = """
CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE changes (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    op TEXT NOT NULL,
    tier INTEGER NOT NULL,
    row_id INTEGER NOT NULL,
    made_ms INTEGER NOT NULL
) STRICT;
"""
