"""Archived slices of sessions: what a reviewer will read, complete before any task names it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem.errors import CorruptStoreError
from agentmem.store.payloads import pack, unpack

if TYPE_CHECKING:
    import apsw

__all__ = [
    "ArchiveRow",
    "content_of",
    "damaged",
    "insert",
    "load",
    "locations",
    "move_in",
    "sources",
    "taken_by",
    "without_task",
]


class ArchiveRow(NamedTuple):
    """An archive; ``location`` names its payload in an external store, else the row holds it."""

    id: int
    buffer_id: int
    scope: str
    session: str
    owner: str
    reason: str
    intent: str | None
    succeeded: int | None
    messages: int
    calls: int
    size: int
    payload_size: int
    omitted_messages: int
    omitted_bytes: int
    shortened: int
    digest: bytes
    location: str | None
    created_ms: int


_SELECT: Final = (
    "SELECT archive.id, buffer_id, scopes.path, sessions.name, owner, reason, intent, "
    "archive.succeeded, archive.messages, archive.calls, archive.size, payload_size, "
    "omitted_messages, omitted_bytes, shortened, digest, location, created_ms "
    "FROM skill_archives AS archive JOIN skill_buffers ON skill_buffers.id = buffer_id "
    "JOIN sessions ON sessions.id = session_id JOIN scopes ON scopes.id = sessions.scope_id "
)


def insert(
    connection: apsw.Connection,
    *,
    buffer_id: int,
    reason: str,
    intent: str | None,
    succeeded: int | None,
    messages: int,
    calls: int,
    size: int,
    omitted: tuple[int, int, int],
    payload: bytes,
    digest: bytes,
    location: str | None,
    created_ms: int,
) -> int:
    """Insert an archive and return its number.

    Args:
        connection: The connection that writes.
        buffer_id: The buffer that it is a slice of.
        reason: Why it was archived.
        intent: What a person wants made of it.
        succeeded: The host's word.
        messages: Messages of the slice.
        calls: Initiated calls of the slice.
        size: UTF-8 bytes of the slice.
        omitted: Messages and bytes that the payload leaves out, and messages it shortens.
        payload: What the reviewer will read.
        digest: SHA-256 of the payload.
        location: Where an external store has the payload already; None to keep it in the row.
        created_ms: The present.
    """
    packed = pack(payload) if location is None else None
    connection.execute(
        "INSERT INTO skill_archives (buffer_id, reason, intent, succeeded, messages, calls, size, "
        "payload_size, omitted_messages, omitted_bytes, shortened, digest, location, is_packed, "
        "content, created_ms) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
        (buffer_id, reason, intent, succeeded, messages, calls, size, len(payload), *omitted,
         digest, location, packed is not None and packed.is_compressed,
         None if packed is None else packed.content, created_ms),
    )  # fmt: skip
    return int(connection.last_insert_rowid())


def load(connection: apsw.Connection, number: int) -> ArchiveRow | None:
    """Return an archive by its number."""
    row = connection.execute(f"{_SELECT} WHERE archive.id = ?", (number,)).fetchone()
    return None if row is None else ArchiveRow._make(row)


def content_of(connection: apsw.Connection, number: int) -> bytes | None:
    """Return the payload that a row holds, None where an external store has it.

    Raises:
        CorruptStoreError: It can't be decompressed to its size.
    """
    row = connection.execute(
        "SELECT is_packed, payload_size, content FROM skill_archives "
        "WHERE id = ? AND content IS NOT NULL",
        (number,),
    ).fetchone()
    return None if row is None else unpack(*row)


def damaged(connection: apsw.Connection) -> list[int]:
    """Return the archives whose payload, in its row, is not what its digest was made of."""
    found = []
    for number, digest, location in connection.execute(
        "SELECT id, digest, location FROM skill_archives ORDER BY id"
    ):
        try:
            content = content_of(connection, number)
        except CorruptStoreError:
            content = None
        if location is None and (content is None or sha256(content).digest() != digest):
            found.append(number)
    return found


def without_task(connection: apsw.Connection) -> int:
    """Return the number of archives that nobody was ever asked to review."""
    row = next(
        connection.execute(
            "SELECT count(*) FROM skill_archives WHERE NOT EXISTS "
            "(SELECT 1 FROM skill_tasks WHERE archive_id = skill_archives.id)"
        )
    )
    return int(row[0])


def sources(connection: apsw.Connection, number: int) -> dict[int, tuple[str, int]]:
    """Return the kind and trust of each L0 turn that an archive took, by the turn's number."""
    cursor = connection.execute(
        "SELECT turns.id, turns.kind, turns.trust FROM skill_buffered "
        "JOIN turns ON turns.id = turn_id WHERE archive_id = ?",
        (number,),
    )
    return {turn: (kind, trust) for turn, kind, trust in cursor}


def locations(connection: apsw.Connection) -> set[str]:
    """Return the keys in the external store that some archive refers to."""
    return {
        row[0]
        for row in connection.execute(
            "SELECT location FROM skill_archives WHERE location IS NOT NULL"
        )
    }


def taken_by(connection: apsw.Connection, turn_ids: Sequence[int]) -> list[int]:
    """Return the archives that took any of these turns; in order."""
    return [
        row[0]
        for row in connection.execute(
            "SELECT DISTINCT archive_id FROM json_each(?) AS wanted CROSS JOIN skill_buffered "
            "ON turn_id = wanted.value WHERE archive_id IS NOT NULL ORDER BY archive_id",
            (json.dumps(list(turn_ids)),),
        )
    ]


def move_in(connection: apsw.Connection, number: int, payload: bytes, digest: bytes) -> None:
    """Replace an archive's payload, which then lies in its row."""
    packed = pack(payload)
    connection.execute(
        "UPDATE skill_archives SET location = NULL, content = ?, is_packed = ?, payload_size = ?, "
        "digest = ? WHERE id = ?",
        (packed.content, packed.is_compressed, packed.size, digest, number),
    )
