"""Skills and their versions: immutable but for the state, each with a hash over all that it says."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from agentmem.store.scopes import subtree_clause

if TYPE_CHECKING:
    import apsw

__all__ = [
    "SKILL_TIER",
    "EvidenceRow",
    "SkillRow",
    "VersionRow",
    "add_move",
    "canonical_json",
    "count",
    "evidence",
    "find",
    "handed_out",
    "handed_out_resources",
    "hash_of",
    "heads",
    "insert",
    "insert_version",
    "is_whole",
    "load",
    "move",
    "moves",
    "pass_over",
    "raise_head",
    "resources",
    "says_the_same",
    "select_version",
    "similar",
    "split",
    "tampered",
    "versions",
]

SKILL_TIER: Final = 4
"""Stands for skills in the log of changes."""


class SkillRow(NamedTuple):
    """A skill; ``version`` is that of its newest version."""

    id: int
    scope: str
    name: str
    owner: str
    version: int
    created_ms: int


class VersionRow(NamedTuple):
    """A version as its row holds it: JSON where it has parts.

    ``numbers`` stands for the numbers in the body: near duplicates are looked for among equals.
    """

    skill_id: int
    version: int
    state: str
    author: str
    description: str
    body: str
    metadata: str
    hash: bytes
    numbers: int
    reasons: str
    flags: str
    trust: int
    restores: int | None
    created_ms: int
    successes: int
    failures: int
    failed_in_a_row: int
    used_ms: int | None


class EvidenceRow(NamedTuple):
    """What a version rests on: turns of one archive, as a JSON list of numbers."""

    archive_id: int
    sources: str
    note: str


_SKILL: Final = (
    "SELECT skills.id, scopes.path, name, owner, version, created_ms "
    "FROM skills JOIN scopes ON scopes.id = scope_id "
)
_COLUMNS: Final = ", ".join(f"skill_versions.{name}" for name in VersionRow._fields)
_WITH_SKILL: Final = (
    f"SELECT skills.id, scopes.path, name, owner, skills.version, skills.created_ms, {_COLUMNS} "
    "FROM skills JOIN scopes ON scopes.id = scope_id "
    "JOIN skill_versions ON skill_versions.skill_id = skills.id "
)


def canonical_json(value: Any) -> str:
    """Return JSON text that is the same for equal data."""
    return json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":"))


def hash_of(
    name: str, description: str, body: str, metadata: str, resources: Mapping[str, bytes]
) -> bytes:
    """Return the SHA-256 over all that a version says, each resource included.

    Args:
        name: The skill's name.
        description: Its description.
        body: Its body.
        metadata: Its metadata as the row holds it.
        resources: Its files by path.
    """
    files = [[path, sha256(content).hexdigest()] for path, content in sorted(resources.items())]
    text = canonical_json([name, description, body, metadata, files])
    return sha256(text.encode()).digest()


def is_whole(skill: SkillRow, row: VersionRow, resources: Mapping[str, bytes]) -> bool:
    """Whether a version still says what its hash was made of."""
    return hash_of(skill.name, row.description, row.body, row.metadata, resources) == row.hash


def count(connection: apsw.Connection) -> int:
    """Return the number of skills of all scopes."""
    return int(next(connection.execute("SELECT count(*) FROM skills"))[0])


def tampered(connection: apsw.Connection) -> list[tuple[str, int]]:
    """Return the name and number of each version, in any scope, that is not what was written."""
    found = []
    for row in connection.execute(f"{_WITH_SKILL} ORDER BY skills.id, skill_versions.version"):
        skill, version = SkillRow._make(row[:6]), VersionRow._make(row[6:])
        if not is_whole(skill, version, resources(connection, skill.id, version.version)):
            found.append((skill.name, version.version))
    return found


def find(connection: apsw.Connection, scope: str, name: str) -> list[SkillRow]:
    """Return the skills of a name in a scope and below, the scope's own first."""
    clause, bindings = subtree_clause(scope)
    cursor = connection.execute(
        f"{_SKILL} WHERE name = ? AND {clause} ORDER BY scopes.path, skills.id", (name, *bindings)
    )
    return [SkillRow._make(row) for row in cursor]


def load(connection: apsw.Connection, number: int) -> SkillRow | None:
    """Return a skill by its number."""
    row = connection.execute(f"{_SKILL} WHERE skills.id = ?", (number,)).fetchone()
    return None if row is None else SkillRow._make(row)


def heads(
    connection: apsw.Connection, scope: str, *, owner: str | None = None
) -> list[tuple[SkillRow, VersionRow]]:
    """Return the skills of a subtree with their newest versions, by scope and name."""
    clause, bindings = subtree_clause(scope)
    owned = "" if owner is None else " AND owner = ?"
    values = bindings if owner is None else (*bindings, owner)
    cursor = connection.execute(
        f"{_WITH_SKILL} WHERE skill_versions.version = skills.version AND {clause}{owned} "
        "ORDER BY scopes.path, name",
        values,
    )
    return [(SkillRow._make(row[:6]), VersionRow._make(row[6:])) for row in cursor]


def similar(
    connection: apsw.Connection, scope: str, numbers: int, lengths: tuple[int, int]
) -> list[tuple[SkillRow, str]]:
    """Return the live skills of exactly one scope whose newest body may be near another.

    Args:
        connection: Any connection.
        scope: The scope.
        numbers: As in ``VersionRow``.
        lengths: The least and the most characters of the body.
    """
    cursor = connection.execute(
        "SELECT skills.id, scopes.path, name, owner, skills.version, skills.created_ms, body "
        "FROM skill_versions JOIN skills ON skills.id = skill_id "
        "AND skills.version = skill_versions.version JOIN scopes ON scopes.id = scope_id "
        "WHERE numbers = ? AND state IN ('proposed', 'approved') AND scopes.path = ? "
        "AND length(body) BETWEEN ? AND ? ORDER BY skills.id",
        (numbers, scope, *lengths),
    )
    return [(SkillRow._make(row[:6]), row[6]) for row in cursor]


def handed_out(
    connection: apsw.Connection, scope: str, owner: str
) -> list[tuple[tuple[int, int], tuple[Any, ...]]]:
    """Return an owner's approved versions, a skill's newest first: key, and its row to compare.

    :func:`split` makes the skill and the version of such a row.
    """
    clause, bindings = subtree_clause(scope)
    cursor = connection.execute(
        f"{_WITH_SKILL} WHERE owner = ? AND state = 'approved' AND {clause}", (owner, *bindings)
    )
    # Sorted here: SQLite would carry the bodies through its sorter.
    rows: list[Any] = sorted(cursor, key=lambda row: (row[1], row[2], -row[7]))
    return [((row[0], row[7]), row) for row in rows]


def split(row: tuple[Any, ...]) -> tuple[SkillRow, VersionRow]:
    """Return the skill and the version of a row that has both."""
    return SkillRow._make(row[:6]), VersionRow._make(row[6:])


def says_the_same(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Whether two rows of :func:`handed_out` have all that the hash is over, and the hash, alike."""
    mine, its = split(one), split(other)
    return mine[0].name == its[0].name and all(
        getattr(mine[1], name) == getattr(its[1], name)
        for name in ("description", "body", "metadata", "hash")
    )


def handed_out_resources(
    connection: apsw.Connection, scope: str, owner: str
) -> dict[tuple[int, int], dict[str, bytes]]:
    """Return the files of an owner's approved versions, by skill and version, in order."""
    clause, bindings = subtree_clause(scope)
    found: dict[tuple[int, int], dict[str, bytes]] = {}
    cursor = connection.execute(
        "SELECT skills.id, skill_versions.version, skill_resources.path, content "
        "FROM skills JOIN scopes ON scopes.id = scope_id "
        "JOIN skill_versions ON skill_versions.skill_id = skills.id "
        "JOIN skill_resources ON skill_resources.skill_id = skills.id "
        "AND skill_resources.version = skill_versions.version "
        f"WHERE owner = ? AND state = 'approved' AND {clause} ORDER BY skill_resources.path",
        (owner, *bindings),
    )
    for number, version, path, content in cursor:
        found.setdefault((number, version), {})[path] = content
    return found


def versions(connection: apsw.Connection, skill_id: int) -> list[VersionRow]:
    """Return all versions of a skill, oldest first."""
    cursor = connection.execute(
        f"SELECT {_COLUMNS} FROM skill_versions WHERE skill_id = ? ORDER BY version", (skill_id,)
    )
    return [VersionRow._make(row) for row in cursor]


def select_version(connection: apsw.Connection, skill_id: int, version: int) -> VersionRow | None:
    """Return one version of a skill."""
    row = connection.execute(
        f"SELECT {_COLUMNS} FROM skill_versions WHERE skill_id = ? AND version = ?",
        (skill_id, version),
    ).fetchone()
    return None if row is None else VersionRow._make(row)


def resources(connection: apsw.Connection, skill_id: int, version: int) -> dict[str, bytes]:
    """Return the files of a version by path, in order."""
    return dict(
        connection.execute(
            "SELECT path, content FROM skill_resources WHERE skill_id = ? AND version = ? "
            "ORDER BY path",
            (skill_id, version),
        )
    )


def evidence(connection: apsw.Connection, skill_id: int, version: int) -> list[EvidenceRow]:
    """Return what a version rests on."""
    cursor = connection.execute(
        "SELECT archive_id, sources, note FROM skill_evidence "
        "WHERE skill_id = ? AND version = ? ORDER BY place",
        (skill_id, version),
    )
    return [EvidenceRow._make(row) for row in cursor]


def insert(
    connection: apsw.Connection, scope_id: int, name: str, owner: str, created_ms: int
) -> int:
    """Insert a skill without versions and return its number."""
    connection.execute(
        "INSERT INTO skills (scope_id, name, owner, version, created_ms) VALUES (?,?,?,0,?)",
        (scope_id, name, owner, created_ms),
    )
    return int(connection.last_insert_rowid())


def raise_head(
    connection: apsw.Connection, skill_id: int, *, expected_version: int, owner: str
) -> bool:
    """Compare and swap: count up the newest version if it is still the expected one."""
    connection.execute(
        "UPDATE skills SET version = version + 1 WHERE id = ? AND version = ? AND owner = ?",
        (skill_id, expected_version, owner),
    )
    return connection.changes() == 1


def insert_version(
    connection: apsw.Connection,
    row: VersionRow,
    files: Mapping[str, bytes],
    rests_on: Iterable[EvidenceRow],
) -> None:
    """Insert a version with its files and its evidence."""
    marks = ",".join("?" * len(row))
    connection.execute(
        f"INSERT INTO skill_versions ({', '.join(VersionRow._fields)}) VALUES ({marks})", row
    )
    connection.executemany(
        "INSERT INTO skill_resources VALUES (?,?,?,?)",
        [(row.skill_id, row.version, path, content) for path, content in files.items()],
    )
    connection.executemany(
        "INSERT INTO skill_evidence VALUES (?,?,?,?,?,?)",
        [(row.skill_id, row.version, place, *one) for place, one in enumerate(rests_on)],
    )


def move(
    connection: apsw.Connection, skill_id: int, version: int, *, before: Sequence[str], after: str
) -> bool:
    """Give a version another state, if its state is one of those expected."""
    connection.execute(
        "UPDATE skill_versions SET state = ? WHERE skill_id = ? AND version = ? "
        "AND state IN (SELECT value FROM json_each(?))",
        (after, skill_id, version, json.dumps(list(before))),
    )
    return connection.changes() == 1


def pass_over(connection: apsw.Connection, skill_id: int, version: int) -> list[int]:
    """Reject the proposals older than a version that was approved, and return their numbers."""
    rows: list[Any] = connection.execute(
        "UPDATE skill_versions SET state = 'rejected' WHERE skill_id = ? AND version < ? "
        "AND state = 'proposed' RETURNING version",
        (skill_id, version),
    ).fetchall()
    return sorted(row[0] for row in rows)


def add_move(
    connection: apsw.Connection,
    skill_id: int,
    version: int,
    *,
    move: str,
    actor: str,
    note: str,
    made_ms: int,
) -> None:
    """Record what was done to a version, by whom and why."""
    connection.execute(
        "INSERT INTO skill_moves (skill_id, version, move, actor, note, made_ms) "
        "VALUES (?,?,?,?,?,?)",
        (skill_id, version, move, actor, note, made_ms),
    )


def moves(connection: apsw.Connection, skill_id: int) -> list[tuple[int, str, str, str, int]]:
    """Return ``(version, move, actor, note, made_ms)`` of a skill, oldest first."""
    return list(
        connection.execute(
            "SELECT version, move, actor, note, made_ms FROM skill_moves "
            "WHERE skill_id = ? ORDER BY id",
            (skill_id,),
        )
    )
