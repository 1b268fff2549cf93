"""Tags of a row and the rows it rests on, for every tier.

``CROSS JOIN`` holds the wanted ids in the outer loop: without it SQLite may walk a whole table and
look each of its rows up in the list.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from agentmem.models import format_id
from agentmem.store.bulk import insert_rows

if TYPE_CHECKING:
    import apsw

__all__ = [
    "delete_links",
    "dependants",
    "insert_sources",
    "insert_spans",
    "insert_tags",
    "rests_on",
    "source_numbers",
    "sources_of",
    "spans_of",
    "tags_of",
]


def insert_tags(connection: apsw.Connection, rows: Iterable[tuple[int, int, str]]) -> None:
    """Insert ``(tier, row_id, tag)``; a tag that is there already stays."""
    insert_rows(connection, "INSERT OR IGNORE INTO tags", rows)


def insert_sources(connection: apsw.Connection, rows: Iterable[tuple[int, int, int, int]]) -> None:
    """Insert ``(tier, row_id, source_tier, source_id)``; a link that is there already stays."""
    insert_rows(
        connection,
        "INSERT OR IGNORE INTO sources (tier, row_id, source_tier, source_id)",
        rows,
    )


def insert_spans(
    connection: apsw.Connection, rows: Iterable[tuple[int, int, int, int, int, int]]
) -> None:
    """Insert ``(tier, row_id, source_tier, source_id, span_start, span_end)``.

    The span is the half-open range of characters of the source's text that says it.
    """
    connection.executemany("INSERT OR IGNORE INTO sources VALUES (?,?,?,?,?,?)", rows)


def spans_of(
    connection: apsw.Connection, tier: int, ids: Sequence[int]
) -> dict[tuple[int, int, int], tuple[int, int]]:
    """Return the span of each link that has one, by ``(row_id, source_tier, source_id)``."""
    return {
        (number, source_tier, source): (start, end)
        for number, source_tier, source, start, end in connection.execute(
            "SELECT row_id, source_tier, source_id, span_start, span_end FROM json_each(?) AS wanted "
            "CROSS JOIN sources ON sources.tier = ? AND sources.row_id = wanted.value "
            "WHERE span_start IS NOT NULL",
            (json.dumps(list(ids)), tier),
        )
    }


def _grouped(cursor: Iterable[tuple[int, str]]) -> dict[int, tuple[str, ...]]:
    found: dict[int, list[str]] = {}
    for number, value in cursor:
        found.setdefault(number, []).append(value)
    return {number: tuple(values) for number, values in found.items()}


def tags_of(
    connection: apsw.Connection, tier: int, ids: Sequence[int]
) -> dict[int, tuple[str, ...]]:
    """Return the tags of rows, sorted; rows without tags are absent."""
    return _grouped(
        connection.execute(
            "SELECT row_id, tag FROM json_each(?) AS wanted CROSS JOIN tags "
            "ON tags.tier = ? AND tags.row_id = wanted.value ORDER BY row_id, tag",
            (json.dumps(list(ids)), tier),
        )
    )


def source_numbers(
    connection: apsw.Connection, tier: int, ids: Sequence[int]
) -> list[tuple[int, int, int]]:
    """Return ``(row_id, source_tier, source_id)`` of rows, in order."""
    return list(
        connection.execute(
            "SELECT row_id, source_tier, source_id FROM json_each(?) AS wanted CROSS JOIN sources "
            "ON sources.tier = ? AND sources.row_id = wanted.value "
            "ORDER BY row_id, source_tier, source_id",
            (json.dumps(list(ids)), tier),
        )
    )


def sources_of(
    connection: apsw.Connection, tier: int, ids: Sequence[int]
) -> dict[int, tuple[str, ...]]:
    """Return the ids of the rows that rows rest on."""
    return _grouped(
        (number, format_id(source_tier, source))
        for number, source_tier, source in source_numbers(connection, tier, ids)
    )


def dependants(
    connection: apsw.Connection, tier: int, ids: Sequence[int]
) -> list[tuple[int, int, int]]:
    """Return ``(source_id, tier, row_id)`` of the rows that rest on these."""
    return list(
        connection.execute(
            "SELECT source_id, sources.tier, row_id FROM json_each(?) AS wanted CROSS JOIN sources "
            "ON sources.source_tier = ? AND sources.source_id = wanted.value "
            "ORDER BY source_id, sources.tier, row_id",
            (json.dumps(list(ids)), tier),
        )
    )


def rests_on(connection: apsw.Connection, sources: Iterable[tuple[int, int]], fact: int) -> bool:
    """Whether any of these rows is a fact, or rests on it through any number of others."""
    ids = [number for tier, number in sources if tier == 1]
    row = connection.execute(
        "WITH RECURSIVE below(id) AS (SELECT value FROM json_each(?1) UNION "
        "SELECT source_id FROM sources JOIN below ON tier = 1 AND row_id = below.id "
        "WHERE source_tier = 1) SELECT 1 FROM below WHERE id = ?2",
        (json.dumps(ids), fact),
    ).fetchone()
    return row is not None


def delete_links(connection: apsw.Connection, tier: int, ids: Sequence[int]) -> None:
    """Delete the tags of rows, every source link from or to them, and their places in scenes."""
    wanted = json.dumps(list(ids))
    for statement in (
        "DELETE FROM tags WHERE tier = ? AND row_id IN (SELECT value FROM json_each(?))",
        "DELETE FROM sources WHERE tier = ? AND row_id IN (SELECT value FROM json_each(?))",
        (
            "DELETE FROM sources WHERE source_tier = ? "
            "AND source_id IN (SELECT value FROM json_each(?))"
        ),
        "DELETE FROM scene_members WHERE tier = ? AND row_id IN (SELECT value FROM json_each(?))",
    ):
        connection.execute(statement, (tier, wanted))
