"""From rows to skills and back: hashes, values, and what a draft must be."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from agentmem.errors import CorruptStoreError, InvalidInputError, NotFoundError, SkillError
from agentmem.models import (
    Draft,
    Evidence,
    SkillVersion,
    SkillView,
    Trust,
    format_id,
    from_ms,
    parse_id,
)
from agentmem.skills.names import check_name, check_text, parse_number
from agentmem.store import skills
from agentmem.store.skills import (
    SKILL_TIER,
    EvidenceRow,
    SkillRow,
    VersionRow,
    canonical_json,
    hash_of,
    is_whole,
)

if TYPE_CHECKING:
    import apsw

__all__ = [
    "SKILL_TIER",
    "check_draft",
    "evidence_rows",
    "find_one",
    "hash_of",
    "is_whole",
    "load_version",
    "to_version",
    "to_view",
]

MAX_DESCRIPTION: Final = 1_024
MAX_BODY: Final = 50_000
MAX_FILE: Final = 1 << 20
MAX_FILES: Final = 256
MAX_ALL_FILES: Final = 8 << 20
MAX_METADATA: Final = 256 << 10
_FOLDERS: Final = ("scripts/", "references/", "assets/")
_DAY_MS: Final = 86_400_000
_FAILURES_TO_SUSPECT: Final = 2


def check_draft(draft: Any) -> tuple[Draft, str]:
    """Return a draft and its metadata as JSON text, if it can be stored as a skill.

    Raises:
        InvalidInputError: Its name, a text, a path or a size is not allowed.
    """
    if not isinstance(draft, Draft):
        raise InvalidInputError(f"draft: a Draft is needed, not {type(draft).__name__}")
    check_name(draft.name)
    for argument, value, most in (
        ("description", draft.description, MAX_DESCRIPTION),
        ("body", draft.body, MAX_BODY),
    ):
        if not check_text(value, argument, most).strip():
            raise InvalidInputError(f"{argument}: it is blank")
    _check_resources(draft.resources)
    try:
        metadata = canonical_json(dict(draft.metadata))
        json.loads(metadata)
        if "NaN" in metadata or "Infinity" in metadata:
            json.dumps(dict(draft.metadata), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(f"metadata: JSON data is needed: {error}") from error
    if len(metadata) > MAX_METADATA:
        raise InvalidInputError(
            f"metadata: at most {MAX_METADATA:,} bytes are allowed, {len(metadata):,} were given"
        )
    return draft, metadata


def _check_resources(resources: Any) -> None:
    if not isinstance(resources, Mapping):
        raise InvalidInputError("resources: a mapping of paths to bytes is needed")
    if len(resources) > MAX_FILES:
        raise InvalidInputError(
            f"resources: at most {MAX_FILES} files, {len(resources)} were given"
        )
    for path, content in resources.items():
        check_text(path, "resources", 500)
        parts = path.split("/")
        if (
            not path.startswith(_FOLDERS)
            or any(part in ("", ".", "..") for part in parts)
            or any(ord(sign) < 0x20 or sign in '\\:*?"<>|' for sign in path)  # noqa: PLR2004
        ):
            raise InvalidInputError(
                f"resources: {path!r} is no path below scripts/, references/ or assets/"
            )
        if not isinstance(content, bytes):
            raise InvalidInputError(f"resources: {path!r} must be bytes")
        if len(content) > MAX_FILE:
            raise InvalidInputError(f"resources: {path!r} has more than {MAX_FILE:,} bytes")
    if sum(map(len, resources.values())) > MAX_ALL_FILES:
        raise InvalidInputError(f"resources: more than {MAX_ALL_FILES:,} bytes in all")


def evidence_rows(evidence: Sequence[Evidence]) -> list[EvidenceRow]:
    """Return evidence as rows.

    Raises:
        InvalidInputError: It names no archive, or what is no L0 id.
    """
    rows = []
    for one in evidence:
        if not isinstance(one, Evidence):
            raise InvalidInputError(f"evidence: Evidence is needed, not {type(one).__name__}")
        ids = [parse_id(source, argument="evidence") for source in one.sources]
        if any(tier for tier, _ in ids):
            raise InvalidInputError(f"evidence: L0 ids are needed, {one.sources!r} were given")
        note = check_text(one.note, "evidence", 1_000)
        numbers = json.dumps([number for _, number in ids])
        rows.append(EvidenceRow(parse_number(one.archive, "archive"), numbers, note))
    return rows


def _evidence(rows: Sequence[EvidenceRow]) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(
            archive=f"archive:{row.archive_id}",
            sources=tuple(format_id(0, number) for number in json.loads(row.sources)),
            note=row.note,
        )
        for row in rows
    )


def find_one(connection: apsw.Connection, scope: str, name: str) -> SkillRow:
    """Return the skill of a name: the scope's own, else the only one below it.

    Raises:
        InvalidInputError: It is no name, or several scopes below have it.
        NotFoundError: There is none in this scope.
    """
    check_name(name)
    found = skills.find(connection, scope, name)
    if not found:
        raise NotFoundError(f"there is no skill {name!r} in this scope; list() names those it has")
    if found[0].scope != scope and len(found) > 1:
        raise InvalidInputError(
            f"name: {name!r} exists in several scopes, {found[0].scope!r} and "
            f"{found[1].scope!r} among them; use memory.scoped()"
        )
    return found[0]


def load_version(
    connection: apsw.Connection,
    skill: SkillRow,
    version: int | None,
    *,
    now_ms: int,
    stale_days: float,
) -> SkillVersion:
    """Return a version of a skill, the newest by default, checked against its hash.

    Raises:
        NotFoundError: It has no such version.
        CorruptStoreError: The version was changed since it was written.
    """
    number = skill.version if version is None else version
    row = skills.select_version(connection, skill.id, number)
    if row is None:
        raise NotFoundError(
            f"the skill {skill.name!r} has no version {number}; its newest is {skill.version}"
        )
    resources = skills.resources(connection, skill.id, number)
    if not is_whole(skill, row, resources):
        raise CorruptStoreError(
            f"version {number} of the skill {skill.name!r} is not what was written; "
            "it is never handed out: roll back to another version, or restore a backup"
        )
    rests_on = skills.evidence(connection, skill.id, number)
    return to_version(skill, row, resources, rests_on, now_ms=now_ms, stale_days=stale_days)


def is_stale(row: VersionRow, now_ms: int, stale_days: float) -> bool:
    """Whether an approved version was neither made nor used for long."""
    last = max(row.created_ms, row.used_ms or 0)
    return row.state == "approved" and now_ms - last > stale_days * _DAY_MS


def to_version(
    skill: SkillRow,
    row: VersionRow,
    resources: Mapping[str, bytes],
    rests_on: Sequence[EvidenceRow],
    *,
    now_ms: int,
    stale_days: float,
) -> SkillVersion:
    """Return the public value of a version."""
    return SkillVersion(
        id=f"skill:{skill.id}",
        name=skill.name,
        version=row.version,
        state=row.state,  # type: ignore[arg-type]  # the table holds no other
        owner=skill.owner,
        author=row.author,
        scope=skill.scope,
        description=row.description,
        body=row.body,
        hash=row.hash.hex(),
        resources=dict(resources),
        metadata=json.loads(row.metadata),
        reasons=tuple(json.loads(row.reasons)),
        evidence=_evidence(rests_on),
        trust=Trust(row.trust),
        is_suspect=row.failed_in_a_row >= _FAILURES_TO_SUSPECT,
        is_stale=is_stale(row, now_ms, stale_days),
        is_head=row.version == skill.version,
        successes=row.successes,
        failures=row.failures,
        uses=row.successes + row.failures,
        last_used=None if row.used_ms is None else from_ms(row.used_ms),
        restores=row.restores,
        flags=tuple(json.loads(row.flags)),
        created=from_ms(row.created_ms),
    )


def to_view(
    skill: SkillRow,
    row: VersionRow,
    *,
    now_ms: int,
    stale_days: float,
    rests_on: Sequence[EvidenceRow] = (),
    paths: Sequence[str] = (),
) -> SkillView:
    """Return a version as a reviewer or the loadout sees it.

    Raises:
        SkillError: Its metadata is no JSON.
    """
    try:
        metadata = json.loads(row.metadata)
    except ValueError as error:
        raise SkillError(f"the metadata of the skill {skill.name!r} is damaged: {error}") from error
    return SkillView(
        id=f"skill:{skill.id}",
        name=skill.name,
        version=row.version,
        state=row.state,  # type: ignore[arg-type]
        owner=skill.owner,
        description=row.description,
        body=row.body,
        metadata=metadata,
        evidence=_evidence(rests_on),
        resources=tuple(paths),
        trust=Trust(row.trust),
        is_suspect=row.failed_in_a_row >= _FAILURES_TO_SUSPECT,
        is_stale=is_stale(row, now_ms, stale_days),
        successes=row.successes,
        failures=row.failures,
        uses=row.successes + row.failures,
        last_used=None if row.used_ms is None else from_ms(row.used_ms),
    )
