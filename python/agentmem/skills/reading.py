"""Read skills: what a reviewer is shown, what an agent is handed, what people look at."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from agentmem.models import (
    ArchiveView,
    Evidence,
    Fingerprint,
    SkillVersion,
    SkillView,
    Task,
    format_id,
    from_ms,
    make_skill_view,
)
from agentmem.skills.rows import is_whole, to_version, to_view
from agentmem.store import skill_tasks, skill_uses, skills
from agentmem.store.scopes import obtain

if TYPE_CHECKING:
    import apsw

    from agentmem.opened import Opened
    from agentmem.skills.options import SkillOptions
    from agentmem.skills.relevance import Relevance
    from agentmem.store.writer import Transaction

__all__ = [
    "approved_views",
    "existing_views",
    "known_fingerprints",
    "list_heads",
    "tasks",
]

MAX_FINGERPRINTS: Final = 1_000
_get_fields: Final = attrgetter(*(one.name for one in fields(SkillView)[:-1]))
_HOUR_MS: Final = 3_600_000


def list_heads(
    opened: Opened, options: SkillOptions, scope: str, *, state: str | None, owner: str | None
) -> list[SkillVersion]:
    """Return the newest version of each skill; with a state, the newest one in that state."""
    now_ms = opened.now_ms()
    found = []
    with opened.database.read() as connection:
        for skill, head in skills.heads(connection, scope, owner=owner):
            rows = [head] if state is None else skills.versions(connection, skill.id)[::-1]
            row = next((one for one in rows if state is None or one.state == state), None)
            if row is None:
                continue
            files = skills.resources(connection, skill.id, row.version)
            made = to_version(
                skill, row, files, skills.evidence(connection, skill.id, row.version),
                now_ms=now_ms, stale_days=options.stale_days,
            )  # fmt: skip
            if not is_whole(skill, row, files):
                made = replace(made, flags=(*made.flags, "tampered: its hash does not hold"))
            found.append(made)
    return found


def existing_views(
    opened: Opened, options: SkillOptions, archive: ArchiveView, *, by_meaning: bool = False
) -> list[SkillView]:
    """Return the newest versions of the skills of an archive's scope, the closest first.

    ``relevance`` is that by words. With ``by_meaning`` the order heeds the embedder too.
    """
    views, relevance = _existing(opened, options, archive.scope)
    words = [message.text for message in archive.messages if message.role == "user"][:3]
    query = " ".join([archive.intent or "", *words, *{call.name: None for call in archive.calls}])
    scores = relevance.of(query[:4_000])
    if by_meaning:
        from agentmem.skills.closest import closest

        order = closest(opened, views, scores, query[:4_000])
    else:
        order = sorted(range(len(views)), key=lambda place: (-scores[place], views[place].name))
    return [replace(views[place], relevance=scores[place]) for place in order]


def _existing(
    opened: Opened, options: SkillOptions, scope: str
) -> tuple[list[SkillView], Relevance]:
    """Return the newest versions of a scope's skills, kept until one of their rows changes."""
    from agentmem.skills.relevance import Relevance

    key: Any = ("existing", scope, options.stale_days)
    now_ms = opened.now_ms()
    with opened.database.read() as connection:
        heads = [pair for pair in skills.heads(connection, scope) if pair[0].scope == scope]
        stamp = now_ms // _HOUR_MS, heads
        with opened.cache_lock:
            held: Any = opened.cache.get(key)
        if held is not None and held[0] == stamp:
            return held[1], held[2]
        views = []
        for skill, head in heads:
            files = skills.resources(connection, skill.id, head.version)
            if is_whole(skill, head, files):
                views.append(
                    to_view(
                        skill, head, now_ms=now_ms, stale_days=options.stale_days,
                        rests_on=skills.evidence(connection, skill.id, head.version),
                        paths=tuple(files),
                    )
                )  # fmt: skip
    relevance = Relevance([(one.name, one.description, one.body) for one in views])
    with opened.cache_lock:
        opened.cache[key] = stamp, views, relevance
    return views, relevance


def known_fingerprints(opened: Opened, archive: ArchiveView) -> list[Fingerprint]:
    """Return what earlier one-offs of an archive's scope and owner left, the newest first."""
    with opened.database.read() as connection:
        rows = skill_uses.fingerprints(connection, archive.scope, archive.owner, MAX_FINGERPRINTS)
    return [
        Fingerprint(
            key=row.key,
            data=json.loads(row.data),
            archive=f"archive:{row.archive_id}",
            session=row.session,
            evidence=tuple(
                Evidence(
                    archive=f"archive:{row.archive_id}",
                    sources=tuple(format_id(0, number) for number in numbers),
                )
                for numbers in json.loads(row.sources)
            ),
        )
        for row in rows
        if f"archive:{row.archive_id}" != archive.id
    ]


class _HandedOut(NamedTuple):
    """The approved versions of an owner, checked, with their statistics; kept between calls."""

    stamp: tuple[int, ...]
    by_skill: dict[int, dict[int, SkillView]]
    fields: dict[int, dict[int, tuple[Any, ...]]]
    newest: list[int]
    relevance: Relevance


def approved_views(
    opened: Opened,
    options: SkillOptions,
    scope: str,
    owner: str,
    *,
    query: str | None,
    pin: str | None,
) -> list[SkillView]:
    """Return the versions that an agent is handed, each whole, one a skill; with their relevance.

    With ``pin`` a session keeps the version of each skill that it was first handed, as long as it
    stays approved; skills that are new to it are pinned by this call.
    """
    with opened.database.read() as connection:
        held = _handed_out(opened, options, connection, scope, owner)
        pinned = {} if pin is None else skill_uses.pins(connection, scope, owner, pin)
    scores: Sequence[float | None] = [None] * len(held.newest)
    if query is not None and query.strip():
        scores = held.relevance.of(query)
    chosen, fresh = [], []
    for number, score in zip(held.newest, scores, strict=True):
        versions = held.by_skill[number]
        version = max(versions)
        if pin is not None and number in pinned:
            version = pinned[number]
            if version not in versions:
                # The version that this session works by was retired: it gets no other one.
                continue
        elif pin is not None:
            fresh.append((number, version))
        if score is None:
            chosen.append(versions[version])
        else:
            chosen.append(make_skill_view(*held.fields[number][version], score))
    if pin is not None and fresh:
        _pin(opened, scope, owner, pin, fresh)
    return chosen


def _pin(
    opened: Opened, scope: str, owner: str, session: str, fresh: list[tuple[int, int]]
) -> None:
    now_ms = opened.now_ms()

    def operation(transaction: Transaction) -> None:
        connection = transaction.connection
        skill_uses.pin(connection, obtain(connection, scope), owner, session, fresh, now_ms=now_ms)

    opened.database.write(operation)


def _handed_out(
    opened: Opened, options: SkillOptions, connection: apsw.Connection, scope: str, owner: str
) -> _HandedOut:
    from agentmem.skills.relevance import Relevance

    key: Any = ("handed out", scope, owner, options.stale_days)
    # What any connection wrote since changes one of them; a foreign one the last.
    stamp = (
        opened.database.counter.value,
        id(connection),
        int(connection.pragma("data_version")),
        opened.now_ms() // _HOUR_MS,
    )
    with opened.cache_lock:
        held: _HandedOut | None = opened.cache.get(key)
    if held is not None and held.stamp == stamp:
        return held
    now_ms = opened.now_ms()
    by_skill: dict[int, dict[int, SkillView]] = {}
    for skill, row in skills.handed_out(connection, scope, owner):
        files = skills.resources(connection, skill.id, row.version)
        if is_whole(skill, row, files):
            by_skill.setdefault(skill.id, {})[row.version] = to_view(
                skill, row, now_ms=now_ms, stale_days=options.stale_days, paths=tuple(files)
            )
    newest = list(by_skill)
    views = [by_skill[number][max(by_skill[number])] for number in newest]
    relevance = Relevance([(view.name, view.description, view.body) for view in views])
    field_values = {
        number: {version: _get_fields(view) for version, view in versions.items()}
        for number, versions in by_skill.items()
    }
    held = _HandedOut(stamp, by_skill, field_values, newest, relevance)
    with opened.cache_lock:
        opened.cache[key] = held
    return held


def tasks(opened: Opened, scope: str, *, states: Sequence[str], limit: int) -> list[Task]:
    """Return the newest tasks of a scope and below."""
    with opened.database.read() as connection:
        rows = skill_tasks.select(connection, scope, states=states, limit=limit)
    return [
        Task(
            id=f"task:{row.id}",
            archive="" if row.archive_id is None else f"archive:{row.archive_id}",
            state=row.state,  # type: ignore[arg-type]  # the table holds no other
            session=session,
            owner=owner,
            scope=path,
            generation=row.generation,
            attempts=row.attempts,
            deaths=row.deaths,
            worker=row.worker,
            run_after=from_ms(row.run_after_ms),
            created=from_ms(row.created_ms),
            error=row.error,
            outcome=row.outcome,
            kind=row.kind,  # type: ignore[arg-type]
        )
        for row, path, session, owner in rows
    ]
