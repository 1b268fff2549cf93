"""Rows in the form that the native index takes, read from every tier that is searchable."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from agentmem.store import embeddings, facts, personas, scenes, turns
from agentmem.store.links import sources_of, tags_of

if TYPE_CHECKING:
    import apsw

__all__ = [
    "IndexRow",
    "all_keys",
    "changed_keys",
    "fact_index_rows",
    "indexed_text",
    "persona_index_rows",
    "read_rows",
    "scene_index_rows",
    "scene_text",
    "turn_index_row",
    "turn_index_rows",
]

MAX_WORDS: Final = 16_000
MAX_DATA: Final = 2_000
WORDS: Final = frozenset(("user", "assistant", "system"))
NUMBER_BITS: Final = (1 << 56) - 1

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
            row.valid_from_ms if row.event_ms is None else row.event_ms,
            row.valid_from_ms,
            row.valid_to_ms,
            # Replaced ahead of time it holds up to its end, as a filter sees.
            row.superseded_ms is None or (row.valid_to_ms or 0) > row.superseded_ms,
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


def indexed_text(kind: str, text: str) -> str:
    """Return what of a turn's text is searched and comes back in a hit.

    Words are kept whole up to 16,000 characters, data of tools up to 2,000; of a longer text the
    head and the tail are. Lone surrogates, which no index can hold, become U+FFFD.
    """
    limit = MAX_WORDS if kind in WORDS else MAX_DATA
    if len(text) > limit:
        head = limit * 3 // 4
        text = f"{text[:head]}\n…\n{text[head - limit + 3 :]}"
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def turn_index_row(  # noqa: PLR0917
    number: int,
    kind: str,
    scope: str,
    session: str | None,
    position: int,
    text: str,
    created_ms: int,
    event_ms: int | None,
    trust: int,
    speaker: str | None,
    vectors: bytes | None = None,
) -> IndexRow:
    """Return the index row of a turn."""
    return (
        number, 0, kind, scope, session, position, indexed_text(kind, text), created_ms, event_ms,
        None, None, True, 50, trust, speaker, (), "{}", (), vectors,
    )  # fmt: skip


def turn_index_rows(connection: apsw.Connection, ids: Sequence[int]) -> list[IndexRow]:
    """Return the index rows of turns that exist; asserted ones are searched as their facts."""
    vectors = embeddings.vectors_of(connection, ids)
    return [
        turn_index_row(
            row.id, row.kind, row.scope, row.session, row.position, row.text, row.created_ms,
            row.event_ms, row.trust, row.speaker, vectors.get(row.id),
        )
        for row in turns.load(connection, ids)
        if row.origin != "asserted"
    ]  # fmt: skip


def scene_index_rows(connection: apsw.Connection, ids: Sequence[int]) -> list[IndexRow]:
    """Return the index rows of scenes that exist: label and summary are searched."""
    keys = [embeddings.key_of(2, number) for number in ids]
    vectors = embeddings.vectors_of(connection, keys)
    tags = tags_of(connection, 2, ids)
    sources = sources_of(connection, 2, ids)
    return [
        (
            embeddings.key_of(2, row.id), 2, row.kind, row.scope, row.session, row.id,
            scene_text(row), row.created_ms, row.last_ms, None, None, row.superseded_ms is None,
            row.priority, row.trust, None, tags.get(row.id, ()), row.metadata,
            sources.get(row.id, ()), vectors.get(embeddings.key_of(2, row.id)),
        )
        for row in scenes.load(connection, ids)
    ]  # fmt: skip


def scene_text(row: scenes.SceneRow) -> str:
    """Return what of a scene is searched and embedded."""
    return f"{row.label}\n{row.text}" if row.text else row.label


def persona_index_rows(connection: apsw.Connection, ids: Sequence[int]) -> list[IndexRow]:
    """Return the index rows of persona versions that exist."""
    keys = [embeddings.key_of(3, number) for number in ids]
    vectors = embeddings.vectors_of(connection, keys)
    sources = sources_of(connection, 3, ids)
    return [
        (
            embeddings.key_of(3, row.id), 3, "persona", row.scope, None, row.version, row.text,
            row.created_ms, None, None, None, row.superseded_ms is None, 50, row.trust, None, (),
            "{}", sources.get(row.id, ()), vectors.get(embeddings.key_of(3, row.id)),
        )
        for row in personas.load(connection, ids)
    ]  # fmt: skip


READERS: Mapping[int, Callable[[apsw.Connection, Sequence[int]], list[IndexRow]]] = {
    0: turn_index_rows,
    1: fact_index_rows,
    2: scene_index_rows,
    3: persona_index_rows,
}


def read_rows(connection: apsw.Connection, keys: Sequence[int]) -> list[IndexRow]:
    """Return the index rows of keys that exist, tier by tier."""
    found: list[IndexRow] = []
    for tier, read in READERS.items():
        ids = [key & NUMBER_BITS for key in keys if key >> 56 == tier]
        if ids:
            found += read(connection, ids)
    return found


def all_keys(connection: apsw.Connection) -> list[int]:
    """Return the keys of every searchable row, ascending."""
    return [
        row[0]
        for statement in (
            "SELECT id FROM turns WHERE origin <> 'asserted' ORDER BY id",
            "SELECT (1 << 56) | id FROM facts ORDER BY id",
            "SELECT (2 << 56) | id FROM scenes ORDER BY id",
            "SELECT (3 << 56) | id FROM personas ORDER BY id",
        )
        for row in connection.execute(statement)
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
