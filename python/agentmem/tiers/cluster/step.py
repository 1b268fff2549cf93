"""The step of the pipeline: read what is new in a scope, decide, write the scenes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from agentmem.store import cursors, facts, jobs, scenes
from agentmem.store.cursors import StaleCursorError
from agentmem.store.links import source_numbers
from agentmem.store.scene_rows import absent, last_fact, last_turn, member_counts, turns_after
from agentmem.tiers.cluster.assign import Clusterer, Last, Row
from agentmem.tiers.cluster.profile import Profile
from agentmem.tiers.cluster.rederive import members_of, rederive_scenes
from agentmem.tiers.cluster.refine import refine_scenes
from agentmem.tiers.cluster.rows import fact_row, make_missing, stored_vectors, turn_row
from agentmem.tiers.cluster.write import write_scenes
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
class _Piece:
    """What is read for one write: turns, or facts where no turn is left."""

    scope_id: int
    turns_at: int
    facts_at: int
    turns: list[TurnRow]
    facts: list[FactRow]
    states: dict[int, str]
    profiles: dict[int, Profile]
    stale: list[int]
    sessions: dict[tuple[int, str], Last]
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
    while True:
        with opened.database.read() as connection:
            scope_id = existing_scope(connection, scope)
            if scope_id is None:
                return Stepped(read=read, written=written)
            piece = _read(connection, scope_id)
        now_ms = opened.now_ms()
        try:
            if piece.stale:
                rederive = partial(_rederive, scope_id=scope_id, stale=piece.stale, now_ms=now_ms)
                written += opened.database.write(rederive)
                continue
            clusterer = _decide(opened, piece)
            clusterer.name_scenes()
            refine_scenes(opened.summarizer, clusterer)
            written += opened.database.write(_operation(opened, piece, clusterer, now_ms))
        except StaleCursorError:
            # Another run, or a forget, came between the reading and the write.
            tries += 1
            if tries == MAX_TRIES:
                raise
            continue
        read += len(piece.turns) + len(piece.facts)
        if piece.is_last:
            return Stepped(read=read, written=written)


def _rederive(transaction: Transaction, scope_id: int, stale: Sequence[int], now_ms: int) -> int:
    rederive_scenes(transaction, stale, now_ms=now_ms)
    jobs.request(transaction.connection, scope_id, "abstract", now_ms=now_ms)
    return len(stale)


def _read(connection: apsw.Connection, scope_id: int) -> _Piece:
    turns_at = cursors.position(connection, scope_id, TURNS)
    facts_at = cursors.position(connection, scope_id, FACTS)
    new_turns = turns_after(connection, scope_id, after=turns_at, limit=PIECE)
    new_facts = (
        [] if new_turns else facts.of_scope(connection, scope_id, after=facts_at, limit=PIECE)
    )
    counts = member_counts(connection, scope_id)
    states: dict[int, str] = {}
    profiles: dict[int, Profile] = {}
    stale: list[int] = []
    for row in scenes.current(connection, scope_id):
        states[row.id] = row.state
        profile = Profile.parse(row.state)
        if profile is None or members_of(row.metadata) != counts.get(row.id, 0):
            stale.append(row.id)
        else:
            profiles[row.id] = profile
    piece = _Piece(
        scope_id, turns_at, facts_at, new_turns, new_facts, states, profiles, stale, {}, {}
    )
    if stale:
        return piece
    for session in dict.fromkeys(row.session for row in new_turns if row.session is not None):
        before = last_turn(connection, scope_id, session, until=turns_at)
        if before is not None:
            piece.sessions[0, session] = Last.of(before[0], turn_row(before[1]))
    for session in dict.fromkeys(row.session for row in new_facts if row.session is not None):
        known = last_fact(connection, scope_id, session, until=facts_at)
        if known is not None:
            piece.sessions[1, session] = Last(known[0], known[1], 0)
    for number, tier, source in source_numbers(connection, 1, [row.id for row in new_facts]):
        if tier == 0 and number not in piece.followed:
            scene = scenes.scene_of(connection, 0, source)
            if scene is not None and scene in states:
                piece.followed[number] = scene
    return piece


def _decide(opened: Opened, piece: _Piece) -> Clusterer:
    profiles = piece.profiles
    live = {number: profile for number, profile in profiles.items() if not profile.is_dormant}
    clusterer = Clusterer(live, piece.sessions)
    for row in _rows(opened, piece):
        scene = piece.followed.get(row.number) if row.tier == 1 else None
        if scene is None:
            clusterer.add(row)
            continue
        if scene not in clusterer.scenes:
            clusterer.cooled.setdefault(scene, profiles[scene])
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
    opened: Opened, piece: _Piece, clusterer: Clusterer, now_ms: int
) -> Callable[[Transaction], int]:
    def operation(transaction: Transaction) -> int:
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
        if any(
            now.get(number) != piece.states[number] for number in known if number in piece.states
        ):
            raise StaleCursorError(f"scenes of scope {piece.scope_id} changed")
        members = [one for event in clusterer.events for one in event.rows]
        if absent(connection, members):
            raise StaleCursorError(f"rows of scope {piece.scope_id} are gone")
        count = write_scenes(
            transaction, piece.scope_id, clusterer, now_ms=now_ms, space=opened.embedder
        )
        if piece.is_last:
            jobs.done(connection, piece.scope_id, "cluster")
            jobs.request(connection, piece.scope_id, "abstract", now_ms=now_ms)
        return count

    return operation
