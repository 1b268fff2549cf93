"""Rows in the form that the native index takes, read from every tier that is searchable."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from agentmem.store import embeddings, facts
from agentmem.store.links import sources_of, tags_of

if TYPE_CHECKING:
    import apsw

__all__ = ["IndexRow", "all_keys", "changed_keys", "fact_index_rows", "read_rows"]

# key, tier, kind, scope, session, position, text, created_ms, event_ms, valid_from_ms, valid_to_ms,
# is_current, priority, trust, subject, tags, metadata, sources, vectors
IndexRow = tuple[Any, ...]


def fact_index_rows(connection: apsw.Connection, ids: Sequence[int]) -> list[IndexRow]:
    """Return the index rows of facts that exist, in the order of their ids."""
    tags = tags_of(connection, 1, ids)
    sources = sources_of(connection, 1, ids)
    vectors = embeddings.vectors_of(connection, [embeddings.key_of(1, number) for number in ids])
    return [
        (
            embeddings.key_of(1, row.id),
            1,
            row.kind,
            row.scope,
            row.session,
            row.id,
            row.text,
            row.created_ms,
            row.valid_from_ms,
            row.valid_from_ms,
            row.valid_to_ms,
            row.superseded_ms is None,
            row.priority,
            row.trust,
            row.subject,
            tags.get(row.id, ()),
            row.metadata,
            sources.get(row.id, ()),
            vectors.get(embeddings.key_of(1, row.id)),
        )
        for row in facts.load(connection, ids)
    ]


def read_rows(connection: apsw.Connection, keys: Sequence[int]) -> list[IndexRow]:
    """Return the index rows of keys that exist and belong to a searchable tier."""
    ids = [key & ((1 << 56) - 1) for key in keys if key >> 56 == 1]
    return fact_index_rows(connection, ids) if ids else []


def all_keys(connection: apsw.Connection) -> list[int]:
    """Return the keys of every searchable row, ascending."""
    return [
        embeddings.key_of(1, row[0])
        for row in connection.execute("SELECT id FROM facts ORDER BY id")
    ]


def changed_keys(
    connection: apsw.Connection, *, after: int, limit: int
) -> tuple[list[int], list[int], int]:
    """Return ``(upserted, removed, last_seq)`` of the next changes after a seq.

    A row that was changed and then removed is among the removed only.
    """
    upserted: dict[int, None] = {}
    removed: dict[int, None] = {}
    last = after
    for seq, op, tier, number in connection.execute(
        "SELECT seq, op, tier, row_id FROM changes WHERE seq > ? ORDER BY seq LIMIT ?",
        (after, limit),
    ):
        key = embeddings.key_of(tier, number)
        last = seq
        if op == "remove":
            upserted.pop(key, None)
            removed[key] = None
        else:
            removed.pop(key, None)
            upserted[key] = None
    return list(upserted), list(removed), last


def batches(keys: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    """Yield consecutive pieces of at most ``size`` keys."""
    for start in range(0, len(keys), size):
        yield keys[start : start + size]


def dump_metadata(metadata: Any) -> str:
    """Return the JSON text under which metadata is stored."""
    return json.dumps(metadata, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
