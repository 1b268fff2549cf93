"""What has gone on in the last sessions, read from scenes: the recent focus of a persona."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from agentmem.models import Trust, format_id
from agentmem.store import facts, links, scenes, turns
from agentmem.store.scene_rows import recent_sessions
from agentmem.tiers.cluster.labels import name_scene
from agentmem.tiers.cluster.profile import Line, Profile
from agentmem.tiers.persona_rules import PROJECT_SLOTS, Focus, is_aside, is_one_off

if TYPE_CHECKING:
    import apsw

__all__ = ["read_focuses"]

SESSIONS: Final = 2
"""Sessions that are recent: a change of focus shows at once, and rules by itself after two."""
FADING: Final = 0.6
"""What a session counts beside the one after it."""
LEAST_SHARE: Final = 0.65
"""A focus below this share of the strongest is none."""
MAX_FACTS: Final = 5
_LASTING_SLOTS: Final = PROJECT_SLOTS | {"likes", "dislikes", "name", "habit"}


def read_focuses(connection: apsw.Connection, scope_id: int) -> list[Focus]:
    """Return what the scenes of the last two sessions were about, strongest first.

    Only what users said and stated facts speak; turns that state a wish, a rule or another person's
    liking, and one-off orders do not.
    """
    ages = {name: age for age, name in enumerate(recent_sessions(connection, scope_id, SESSIONS))}
    rows = [row for row in scenes.current(connection, scope_id) if row.state != "{}"]
    profiles = {row.id: Profile.parse(row.state) for row in rows[:64]}
    lines = [line for one in profiles.values() if one is not None for line in one.lines]
    age_of = {
        line: ages[session]
        for line, session in _sessions(connection, lines).items()
        if session in ages
    }
    silent = _silent(connection, [line.number for line in lines if line.tier == 0])
    found: list[Focus] = []
    rarity = _rarity([one for one in profiles.values() if one is not None])
    for number, profile in profiles.items():
        if profile is None:
            continue
        recent = [
            line
            for line in profile.lines
            if line.is_own
            and (line.tier, line.number) in age_of
            and (line.tier, line.number) not in silent
            and not is_one_off(line.text)
            and not is_aside(line.text)
        ]
        if not recent:
            continue
        weight = sum(FADING ** age_of[line.tier, line.number] for line in recent)
        counts = profile.counts

        def score(term: str, counts: Mapping[str, int] = counts) -> float:
            return math.log1p(counts.get(term, 0) / 2) * rarity.get(term, 0.0)

        newest = sorted(recent, key=lambda one: (age_of[one.tier, one.number], -one.number))
        found.append(Focus(name_scene(newest, score), weight, _sources(connection, number)))
    most = max((one.weight for one in found), default=0.0)
    return sorted(
        (one for one in found if one.weight >= LEAST_SHARE * most), key=lambda one: -one.weight
    )


def _sessions(connection: apsw.Connection, lines: Sequence[Line]) -> dict[tuple[int, int], str]:
    of_turns = turns.load(connection, [line.number for line in lines if line.tier == 0])
    of_facts = facts.load(connection, [line.number for line in lines if line.tier == 1])
    return {(0, row.id): row.session or "" for row in of_turns} | {
        (1, row.id): row.session or ""
        for row in of_facts
        if row.kind not in ("persona", "instruction") and row.trust >= Trust.ASSISTANT
    }


def _silent(connection: apsw.Connection, numbers: Sequence[int]) -> set[tuple[int, int]]:
    """Return the turns that state a wish, a rule, or something of another person."""
    stated = links.dependants(connection, 0, numbers)
    rows = {
        row.id: row for row in facts.load(connection, [at for _, tier, at in stated if tier == 1])
    }
    return {
        (0, turn)
        for turn, tier, at in stated
        if tier == 1
        and at in rows
        and (
            rows[at].kind in ("persona", "instruction")
            or (rows[at].attribute or "") in _LASTING_SLOTS
        )
    }


def _rarity(profiles: Sequence[Profile]) -> dict[str, float]:
    seen: Counter[str] = Counter()
    for profile in profiles:
        seen.update(profile.counts.keys())
    return {term: math.log1p((len(profiles) + 1) / (count + 0.5)) for term, count in seen.items()}


def _sources(connection: apsw.Connection, number: int) -> tuple[str, ...]:
    held = [row_id for tier, row_id in scenes.members(connection, number) if tier == 1]
    trusted = [
        row.id
        for row in facts.load(connection, held)
        if row.trust >= Trust.ASSISTANT and row.superseded_ms is None
    ]
    return (format_id(2, number), *(format_id(1, one) for one in trusted[-MAX_FACTS:]))
