"""The step of the pipeline: read what is new in a scope, decide, write the scenes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from agentmem.store import cursors, facts, jobs, scenes
from agentmem.store.cursors import StaleCursorError
from agentmem.store.links import source_numbers
from agentmem.store.scene_rows import (
    absent,
    change_mark,
    last_fact,
    last_turn,
    member_counts,
    scenes_changed,
    turns_after,
)
from agentmem.tiers.cluster.assign import Clusterer, Last, Row
from agentmem.tiers.cluster.profile import Profile
from agentmem.tiers.cluster.rederive import members_of, rederive_scenes
from agentmem.tiers.cluster.refine import refine_scenes
from agentmem.tiers.cluster.rows import fact_row, make_missing, stored_vectors, turn_row
from agentmem.tiers.cluster.write import Written, write_scenes
from agentmem.tiers.steps import Stepped, existing_scope

if TYPE_CHECKING:
    import apsw

    from agentmem.opened import Opened
    from agentmem.store.database import Transaction
    from agentmem.store.facts import FactRow
    from agentmem.store.turns import TurnRow

__all__ = ["cluster_scope"]

PIECE: Final = 2_000
"""Rows to a transaction: reading the live scenes back costs as much as some hundred rows."""
MAX_TRIES: Final = 20
TURNS: Final = "cluster.turns"
FACTS: Final = "cluster.facts"


@dataclass(slots=True)
class _Kept:
    """The clusterer between two pieces of a run: good while nobody else changes scenes or removes rows.

    ``states`` are those of the scope's scenes, ``mark`` is the last change that they know of.
    """

    clusterer: Clusterer
    states: dict[int, str]
    mark: int


@dataclass(slots=True)
class _Piece:
    """What is read for one write: turns, or facts where no turn is left."""

    scope_id: int
    turns_at: int
    facts_at: int
    turns: list[TurnRow]
    facts: list[FactRow]
    stale: list[int]
    kept: _Kept
    followed: dict[int, int]

    @property
    def is_last(self) -> bool:
        """Whether nothing is left behind it."""
        return not self.stale and not self.turns and len(self.facts) < PIECE


def cluster_scope(opened: Opened, scope: str) -> Stepped:
    """Put what is new in a scope into scenes; see ``tiers.steps`` for the contract.

    Scenes whose members were forgotten since are made again from what is left.
    """
    read = written = tries = 0
    kept: _Kept | None = None
    while True:
        with opened.database.read() as connection:
            scope_id = existing_scope(connection, scope)
            if scope_id is None:
                return Stepped(read=read, written=written)
            if kept is not None and scenes_changed(connection, kept.mark):
                kept = None
            piece = _read(connection, scope_id, kept)
        kept = None
        now_ms = opened.now_ms()
        try:
            if piece.stale:
                rederive = partial(_rederive, scope_id=scope_id, stale=piece.stale, now_ms=now_ms)
                written += opened.database.write(rederive)
                continue
            clusterer = _decide(opened, piece)
            clusterer.name_scenes()
            refine_scenes(opened.summarizer, clusterer)
            done, mark = opened.database.write(_operation(opened, piece, now_ms))
        except StaleCursorError:
            # Another run, or a forget, came between the reading and the write.
            tries += 1
            if tries == MAX_TRIES:
                raise
            continue
        written += done.changed
        read += len(piece.turns) + len(piece.facts)
        if piece.is_last:
            return Stepped(read=read, written=written)
        clusterer.settle(done.numbers)
        kept = _Kept(clusterer, piece.kept.states | done.states, mark)


def _rederive(transaction: Transaction, scope_id: int, stale: Sequence[int], now_ms: int) -> int:
    rederive_scenes(transaction, stale, now_ms=now_ms)
    jobs.request(transaction.connection, scope_id, "abstract", now_ms=now_ms)
    return len(stale)


def _read(connection: apsw.Connection, scope_id: int, kept: _Kept | None) -> _Piece:
    turns_at = cursors.position(connection, scope_id, TURNS)
    facts_at = cursors.position(connection, scope_id, FACTS)
    new_turns = turns_after(connection, scope_id, after=turns_at, limit=PIECE)
    new_facts = (
        [] if new_turns else facts.of_scope(connection, scope_id, after=facts_at, limit=PIECE)
    )
    stale: list[int] = []
    if kept is None:
        kept = _load(connection, scope_id, stale)
    piece = _Piece(scope_id, turns_at, facts_at, new_turns, new_facts, stale, kept, {})
    if stale:
        return piece
    sessions = kept.clusterer.sessions
    for session in dict.fromkeys(row.session for row in new_turns if row.session is not None):
        if (0, session) not in sessions:
            before = last_turn(connection, scope_id, session, until=turns_at)
            if before is not None:
                sessions[0, session] = Last.of(before[0], turn_row(before[1]))
    for session in dict.fromkeys(row.session for row in new_facts if row.session is not None):
        if (1, session) not in sessions:
            known = last_fact(connection, scope_id, session, until=facts_at)
            if known is not None:
                sessions[1, session] = Last.of(known[0], fact_row(known[1]))
    links = source_numbers(connection, 1, [row.id for row in new_facts])
    scene_of = scenes.scenes_of(connection, 0, {source for _, tier, source in links if tier == 0})
    for number, tier, source in links:
        scene = scene_of.get(source) if tier == 0 else None
        if scene is not None and scene in kept.states:
            piece.followed.setdefault(number, scene)
    return piece


def _load(connection: apsw.Connection, scope_id: int, stale: list[int]) -> _Kept:
    """Return a clusterer over the scenes of a scope; those to be made again go to ``stale``."""
    counts = member_counts(connection, scope_id)
    states: dict[int, str] = {}
    live: dict[int, Profile] = {}
    for row in scenes.current(connection, scope_id):
        states[row.id] = row.state
        profile = Profile.parse(row.state)
        if profile is None or members_of(row.metadata) != counts.get(row.id, 0):
            stale.append(row.id)
        elif not profile.is_dormant:
            live[row.id] = profile
    return _Kept(Clusterer({} if stale else live), states, change_mark(connection))


def _decide(opened: Opened, piece: _Piece) -> Clusterer:
    clusterer = piece.kept.clusterer
    for row in _rows(opened, piece):
        scene = piece.followed.get(row.number) if row.tier == 1 else None
        if scene is None:
            clusterer.add(row)
            continue
        if scene not in clusterer.scenes and scene not in clusterer.cooled:
            profile = Profile.parse(piece.kept.states[scene])
            if profile is not None:
                clusterer.cooled[scene] = profile
        clusterer.follow(scene, row)
    return clusterer


def _rows(opened: Opened, piece: _Piece) -> list[Row]:
    ndim = opened.embedder.ndim
    words = {row.id: row.text for row in piece.turns if row.kind == "user"}
    free = {row.id: row.text for row in piece.facts if row.id not in piece.followed}
    with opened.database.read() as connection:
        of_turns = stored_vectors(connection, 0, list(words), ndim)
        of_facts = stored_vectors(connection, 1, list(free), ndim)
    of_turns = make_missing(opened, words, of_turns)
    of_facts = make_missing(opened, free, of_facts)
    return [
        *(turn_row(row, of_turns.get(row.id)) for row in piece.turns),
        *(fact_row(row, of_facts.get(row.id)) for row in piece.facts),
    ]


def _operation(
    opened: Opened, piece: _Piece, now_ms: int
) -> Callable[[Transaction], tuple[Written, int]]:
    clusterer, states = piece.kept.clusterer, piece.kept.states

    def operation(transaction: Transaction) -> tuple[Written, int]:
        connection = transaction.connection
        for step, at, rows in (
            (TURNS, piece.turns_at, piece.turns),
            (FACTS, piece.facts_at, piece.facts),
        ):
            end = rows[-1].id if rows else at
            cursors.advance(connection, piece.scope_id, step, expected=at, to=end)
        known = [number for number in clusterer.touched if number > 0]
        now = {
            row.id: row.state for row in scenes.load(connection, known) if row.superseded_ms is None
        }
        if any(now.get(number) != states[number] for number in known if number in states):
            raise StaleCursorError(f"scenes of scope {piece.scope_id} changed")
        members = [one for event in clusterer.events for one in event.rows]
        if absent(connection, members):
            raise StaleCursorError(f"rows of scope {piece.scope_id} are gone")
        done = write_scenes(
            transaction, piece.scope_id, clusterer, now_ms=now_ms, space=opened.embedder
        )
        if piece.is_last:
            jobs.done(connection, piece.scope_id, "cluster")
            jobs.request(connection, piece.scope_id, "abstract", now_ms=now_ms)
        return done, change_mark(connection)

    return operation
