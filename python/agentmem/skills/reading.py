"""Read skills: what a reviewer is shown, what an agent is handed, what people look at."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
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
)
from agentmem.skills.names import parse_number
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
    "Handed",
    "approved",
    "existing_views",
    "hold",
    "known_fingerprints",
    "list_heads",
    "tasks",
]

MAX_FINGERPRINTS: Final = 1_000
_HOUR_MS: Final = 3_600_000
_DAY_MS: Final = 24 * _HOUR_MS


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


class _Held(NamedTuple):
    """One approved version as its rows are, and as an agent is handed it; None if it is not whole."""

    row: tuple[Any, ...]
    files: dict[str, bytes]
    view: SkillView | None


class _Shelf(NamedTuple):
    """The approved versions of an owner, checked, with their statistics; kept between calls.

    ``by_skill`` has the versions of each skill, the newest first.
    """

    stamp: tuple[int, ...]
    held: dict[tuple[int, int], _Held]
    by_skill: dict[int, dict[int, SkillView]]
    newest: list[SkillView]
    relevance: Relevance


class Handed(NamedTuple):
    """What an agent may be handed.

    Attributes:
        views: One version of each skill.
        scores: How well each fits the query, None without one.
        fresh: Number and version of each skill that the session is not held to yet.
    """

    views: list[SkillView]
    scores: list[float] | None
    fresh: list[tuple[int, int]]


def approved(
    opened: Opened,
    options: SkillOptions,
    scope: str,
    owner: str,
    *,
    query: str | None,
    pin: str | None,
) -> Handed:
    """Return the versions that an agent may be handed, each whole, one a skill.

    With ``pin`` a session keeps the version of each skill that there was when it first asked, as
    long as it stays approved: :func:`hold` notes it.
    """
    with opened.database.read() as connection:
        shelf = _shelf(opened, options, connection, scope, owner)
        pinned = {} if pin is None else skill_uses.pins(connection, scope, owner, pin)
    scores = shelf.relevance.of(query) if query is not None and query.strip() else None
    if pin is None:
        return Handed(shelf.newest, scores, [])
    fresh = [
        (number, next(iter(shelf.by_skill[number])))
        for number in shelf.by_skill.keys() - pinned.keys()
    ]
    views: list[SkillView] = []
    places: list[int] = []
    for place, (number, newest) in enumerate(zip(shelf.by_skill, shelf.newest, strict=True)):
        version = pinned.get(number)
        # If the version that the session works by was retired it gets no other one.
        view = newest if version in (None, newest.version) else shelf.by_skill[number].get(version)
        if view is not None:
            views.append(view)
            places.append(place)
    if scores is not None and len(places) < len(scores):
        scores = [scores[place] for place in places]
    return Handed(views, scores, sorted(fresh))


def hold(
    opened: Opened,
    scope: str,
    owner: str,
    session: str,
    *,
    fresh: Sequence[tuple[int, int]],
    shown: Sequence[SkillView],
) -> None:
    """Hold a session to versions ``(skill, version)``, and note the use of what it is shown then.

    Without something fresh nothing is written. A use is noted once a day: staleness asks no more.
    """
    if not fresh:
        return
    now = opened.now_ms()
    day_ago = from_ms(now - _DAY_MS)
    used = [
        (parse_number(view.id, "skill"), view.version)
        for view in shown
        if view.last_used is None or view.last_used < day_ago
    ]

    def operation(transaction: Transaction) -> None:
        connection = transaction.connection
        skill_uses.pin(connection, obtain(connection, scope), owner, session, fresh)
        skill_uses.note_use(connection, used, now_ms=now)

    opened.database.write(operation)


def _shelf(
    opened: Opened, options: SkillOptions, connection: apsw.Connection, scope: str, owner: str
) -> _Shelf:
    """Return an owner's approved versions; after any write the rows are compared with those held.

    What was checked and says the same still is whole: only what says something else is hashed.
    """
    from agentmem.skills.relevance import Relevance

    key: Any = ("handed out", scope, owner, options.stale_days)
    now_ms = opened.now_ms()
    # What any connection wrote since changes one of the first three; a foreign one the last of them.
    stamp = (
        opened.database.counter.value, id(connection), int(connection.pragma("data_version")),
        now_ms // _HOUR_MS,
    )  # fmt: skip
    with opened.cache_lock:
        old: _Shelf | None = opened.cache.get(key)
    if old is not None and old.stamp == stamp:
        return old
    is_same_hour = old is not None and old.stamp[-1] == stamp[-1]
    before = old.held if old is not None else {}
    files = skills.handed_out_resources(connection, scope, owner)
    held: dict[tuple[int, int], _Held] = {}
    by_skill: dict[int, dict[int, SkillView]] = {}
    for at, values in skills.handed_out(connection, scope, owner):
        own = files.get(at, {})
        one = before.get(at)
        if one is None or not is_same_hour or one.row != values or one.files != own:
            skill, row = skills.split(values)
            if one is not None and one.files == own and skills.says_the_same(one.row, values):
                is_sound = one.view is not None
            else:
                is_sound = is_whole(skill, row, own)
            view = None
            if is_sound:
                view = to_view(
                    skill, row, now_ms=now_ms, stale_days=options.stale_days, paths=tuple(own)
                )
            one = _Held(values, own, view)
        held[at] = one
        if one.view is not None:
            by_skill.setdefault(at[0], {})[at[1]] = one.view
    newest = [next(iter(versions.values())) for versions in by_skill.values()]
    if old is not None and [_words(v) for v in old.newest] == [_words(v) for v in newest]:
        relevance = old.relevance
    else:
        relevance = Relevance([_words(view) for view in newest])
    shelf = _Shelf(stamp, held, by_skill, newest, relevance)
    with opened.cache_lock:
        opened.cache[key] = shelf
    return shelf


def _words(view: SkillView) -> tuple[str, str, str]:
    return view.name, view.description, view.body


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
