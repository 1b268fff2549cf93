"""What became of skills in use: reports, pins of sessions; and the fingerprints of one-offs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import apsw

__all__ = [
    "FingerprintRow",
    "add_report",
    "fingerprints",
    "forget_archives",
    "insert_fingerprint",
    "note_use",
    "pin",
    "pins",
    "spend_fingerprints",
]


class FingerprintRow(NamedTuple):
    """What a one-off left behind; ``data`` and ``sources`` are JSON."""

    id: int
    key: str
    data: str
    archive_id: int
    session: str
    sources: str


def add_report(
    connection: apsw.Connection,
    skill_id: int,
    version: int,
    *,
    session: str,
    is_success: bool,
    made_ms: int,
) -> int:
    """Add a report to a version and return how many failures now stand in a row."""
    connection.execute(
        "INSERT INTO skill_reports (skill_id, version, session, outcome, made_ms) "
        "VALUES (?,?,?,?,?)",
        (skill_id, version, session, "success" if is_success else "failure", made_ms),
    )
    row = connection.execute(
        "UPDATE skill_versions SET successes = successes + ?1, failures = failures + 1 - ?1, "
        "failed_in_a_row = iif(?1, 0, failed_in_a_row + 1), used_ms = ?2 "
        "WHERE skill_id = ?3 AND version = ?4 RETURNING failed_in_a_row",
        (int(is_success), made_ms, skill_id, version),
    ).fetchone()
    return int(row[0]) if row is not None else 0


def pins(connection: apsw.Connection, scope: str, owner: str, session: str) -> dict[int, int]:
    """Return the version that a session is held to, by skill."""
    return dict(
        connection.execute(
            "SELECT skill_id, version FROM skill_pins JOIN scopes ON scopes.id = scope_id "
            "WHERE scopes.path = ? AND owner = ? AND session = ?",
            (scope, owner, session),
        )
    )


def pin(
    connection: apsw.Connection,
    scope_id: int,
    owner: str,
    session: str,
    held: Iterable[tuple[int, int]],
) -> None:
    """Hold a session to versions ``(skill, version)``; a pin that is there already stays."""
    connection.executemany(
        "INSERT OR IGNORE INTO skill_pins VALUES (?,?,?,?,?)",
        [(scope_id, owner, session, skill, version) for skill, version in held],
    )


def note_use(connection: apsw.Connection, used: Iterable[tuple[int, int]], *, now_ms: int) -> None:
    """Note when versions ``(skill, version)`` were used."""
    connection.executemany(
        "UPDATE skill_versions SET used_ms = ? WHERE skill_id = ? AND version = ?",
        [(now_ms, skill, version) for skill, version in used],
    )


def insert_fingerprint(
    connection: apsw.Connection,
    scope_id: int,
    owner: str,
    *,
    key: str,
    archive_id: int,
    data: str,
    sources: str,
) -> None:
    """Keep what a one-off leaves; the same one of the same archive is kept once."""
    connection.execute(
        "INSERT OR IGNORE INTO skill_fingerprints (scope_id, owner, key, archive_id, data, sources) "
        "VALUES (?,?,?,?,?,?)",
        (scope_id, owner, key, archive_id, data, sources),
    )


def fingerprints(
    connection: apsw.Connection, scope: str, owner: str, limit: int
) -> list[FingerprintRow]:
    """Return the newest fingerprints of a scope and owner that no skill covers yet."""
    cursor = connection.execute(
        "SELECT skill_fingerprints.id, key, data, archive_id, sessions.name, sources "
        "FROM skill_fingerprints JOIN scopes ON scopes.id = skill_fingerprints.scope_id "
        "JOIN skill_archives ON skill_archives.id = archive_id "
        "JOIN skill_buffers ON skill_buffers.id = buffer_id "
        "JOIN sessions ON sessions.id = session_id "
        "WHERE scopes.path = ? AND skill_fingerprints.owner = ? AND is_used = 0 "
        "ORDER BY skill_fingerprints.id DESC LIMIT ?",
        (scope, owner, limit),
    )
    return [FingerprintRow._make(row) for row in cursor]


def spend_fingerprints(
    connection: apsw.Connection, scope_id: int, owner: str, keys: Sequence[str]
) -> None:
    """Mark fingerprints that a skill covers now."""
    connection.execute(
        "UPDATE skill_fingerprints SET is_used = 1 WHERE scope_id = ? AND owner = ? "
        "AND key IN (SELECT value FROM json_each(?))",
        (scope_id, owner, json.dumps(list(keys))),
    )


def forget_archives(connection: apsw.Connection, archive_ids: Sequence[int]) -> None:
    """Delete the fingerprints of archives, and the answers of reviewers not applied yet."""
    wanted = json.dumps(list(archive_ids))
    for statement in (
        "DELETE FROM skill_fingerprints WHERE archive_id IN (SELECT value FROM json_each(?))",
        (
            "UPDATE skill_tasks SET result = NULL, "
            "error = iif(error IS NULL, NULL, 'it quoted what was forgotten') "
            "WHERE archive_id IN (SELECT value FROM json_each(?))"
        ),
        ("UPDATE skill_archives SET intent = NULL WHERE id IN (SELECT value FROM json_each(?))"),
    ):
        connection.execute(statement, (wanted,))
