"""Embeddings of rows, float32 little endian: the truth from which the vector index is made."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from agentmem.store.bulk import insert_rows

if TYPE_CHECKING:
    import apsw

__all__ = [
    "EMBEDDED_TURNS",
    "MAX_CHUNKS",
    "add_pending",
    "delete",
    "insert_many",
    "insert_vectors",
    "key_of",
    "pending_count",
    "pending_keys",
    "still_pending",
    "vectors_of",
]

MAX_CHUNKS = 8
EMBEDDED_TURNS = frozenset(("user", "assistant"))
"""Kinds of turns that get vectors: words. Data of tools are found by their terms alone."""


def key_of(tier: int, number: int) -> int:
    """Return the key of a row in the index: unique over all tiers."""
    return tier << 56 | number


def insert_many(connection: apsw.Connection, rows: Iterable[tuple[int, bytes]]) -> None:
    """Insert ``(key * 8 + chunk, vector)``."""
    insert_rows(connection, "INSERT INTO embeddings", rows)


def insert_vectors(connection: apsw.Connection, key: int, vectors: bytes, width: int) -> None:
    """Insert the chunks of one row, which lie one after the other, each ``width`` bytes."""
    insert_many(
        connection,
        [
            (key * MAX_CHUNKS + place, vectors[place * width : (place + 1) * width])
            for place in range(len(vectors) // width)
        ],
    )


def vectors_of(connection: apsw.Connection, keys: Sequence[int]) -> dict[int, bytes]:
    """Return the vectors of rows by key, the chunks of a row one after the other."""
    found: dict[int, list[bytes]] = {}
    cursor = connection.execute(
        "SELECT embeddings.id, vector FROM json_each(?) AS wanted CROSS JOIN embeddings "
        "ON embeddings.id BETWEEN wanted.value * 8 AND wanted.value * 8 + 7 ORDER BY embeddings.id",
        (json.dumps(list(keys)),),
    )
    for number, vector in cursor:
        found.setdefault(number >> 3, []).append(vector)
    return {
        key: chunks[0] if len(chunks) == 1 else b"".join(chunks) for key, chunks in found.items()
    }


def delete(connection: apsw.Connection, keys: Sequence[int]) -> None:
    """Delete every vector of rows, and what waits to be embedded."""
    wanted = json.dumps(list(keys))
    connection.execute(
        "DELETE FROM embeddings WHERE id IN (SELECT embeddings.id FROM json_each(?) AS wanted "
        "CROSS JOIN embeddings ON embeddings.id BETWEEN wanted.value * 8 AND wanted.value * 8 + 7)",
        (wanted,),
    )
    connection.execute(
        "DELETE FROM pending_embeddings WHERE key IN (SELECT value FROM json_each(?))", (wanted,)
    )
    # A move to another embedder that was stopped leaves vectors in tables of its own.
    if connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'embedded_next'").fetchone():
        connection.execute(
            "DELETE FROM embeddings_next WHERE id >> 3 IN (SELECT value FROM json_each(?))",
            (wanted,),
        )
        connection.execute(
            "DELETE FROM embedded_next WHERE key IN (SELECT value FROM json_each(?))", (wanted,)
        )


def pending_count(connection: apsw.Connection) -> int:
    """Return how many rows wait for their vectors."""
    return int(next(connection.execute("SELECT count(*) FROM pending_embeddings"))[0])


def add_pending(connection: apsw.Connection, keys: Iterable[int], *, is_new: bool = False) -> None:
    """Note that rows wait for their vectors; what old rows had is deleted, it is of another text."""
    wanted = sorted(set(keys))
    if not is_new:
        delete(connection, wanted)
    connection.executemany(
        "INSERT OR IGNORE INTO pending_embeddings VALUES (?)", [(key,) for key in wanted]
    )


def pending_keys(connection: apsw.Connection, limit: int) -> list[int]:
    """Return keys of rows that wait for their vectors: upper tiers first, then in their order."""
    cursor = connection.execute(
        "SELECT key FROM pending_embeddings ORDER BY key >> 56 DESC, key LIMIT ?", (limit,)
    )
    return [row[0] for row in cursor]


def still_pending(connection: apsw.Connection, keys: Sequence[int]) -> list[int]:
    """Return those of these keys that wait for their vectors."""
    cursor = connection.execute(
        "SELECT pending_embeddings.key FROM json_each(?) AS wanted "
        "CROSS JOIN pending_embeddings "
        "ON pending_embeddings.key = wanted.value",
        (json.dumps(list(keys)),),
    )
    return [row[0] for row in cursor]
