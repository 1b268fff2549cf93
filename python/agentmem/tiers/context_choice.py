"""Which rows a context shows for a question, and in which order they get their room.

The unit is a piece of evidence: a turn with the facts that rest on it, or a fact without one. A unit
gets a share for its turn's rank, for the best rank of its facts and for the rank of its scene, as
in Reciprocal Rank Fusion (Cormack, Clarke, Büttcher, SIGIR 2009): what several tiers point to comes
first. A unit is shown by its fact, which is short; the first ones, and those without a fact, by a
quote.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from agentmem._native import analyze_query
from agentmem.models import Trust, Turn, parse_id
from agentmem.store import scenes, turns
from agentmem.tiers.quotes import is_same, quote, words_of

if TYPE_CHECKING:
    import apsw

    from agentmem._native import Hit

__all__ = ["Choice", "choose", "quote_chars"]

K: Final = 20.0
"""As in recall: agreement far down the lists counts for less than with the paper's 60."""
FACT_WEIGHT: Final = 0.15
SCENE_WEIGHT: Final = 0.05
MOST_UNITS: Final = 80
QUOTED_FIRST: Final = 1
"""So many units are quoted even where a fact stands for them."""
FACTS_OF_ONE: Final = 2
MOST_OF_A_TOOL: Final = 2
"""Units of one session's tools: what they return is not what somebody said."""
MOST_OF_A_SESSION: Final = 8
"""Units of one session before those of others; what is left of it comes behind them."""
SCENES_AT: Final = (12, 24)
"""Before which units the best scenes get their room."""
LABEL_CHARS: Final = 120

SCENES: Final = "Activities that fit:"
FACTS: Final = "Facts:"
SAID: Final = "Said:"


@dataclass(frozen=True, slots=True)
class Choice:
    """A row to show, if there is room."""

    id: str
    heading: str
    text: str
    notes: tuple[str, ...]
    sources: tuple[str, ...]
    trust: Trust
    span: tuple[int, int] | None = None


@dataclass(slots=True)
class _Unit:
    """A piece of evidence with its share of each list."""

    id: str
    score: float = 0.0
    facts: list[Hit] = field(default_factory=list)
    turn: Turn | None = None

    @property
    def session(self) -> str | None:
        if self.turn is not None:
            return self.turn.session
        return self.facts[0].session if self.facts else None

    @property
    def trust(self) -> Trust:
        if self.turn is not None:
            return self.turn.trust
        return self.facts[0].trust


def quote_chars(budget_tokens: int) -> int:
    """Return how much of a row is shown: less where little fits, so that several do."""
    return max(160, min(600, 120 + budget_tokens // 8))


def choose(
    connection: apsw.Connection,
    text: str,
    hits: tuple[Sequence[Hit], Sequence[Hit], Sequence[Hit]],
    *,
    said: list[frozenset[str]],
    shown: Collection[str],
    longest: int,
) -> list[Choice]:
    """Return what is to be shown, the most important first.

    What was said already, in these or nearly these words, is left out; so is what one source says
    beyond its share.

    Args:
        connection: A reader.
        text: The question.
        hits: Of L1, L2 and L0, bounded to the question's scope: what they rest on lies in it too.
        said: The words of facts that the context shows already; what is chosen is added.
        shown: Ids that the context shows already.
        longest: How many characters of a row may be shown.
    """
    found_facts, found_scenes, found_turns = hits
    units = _units(connection, found_facts, found_scenes, found_turns)
    terms = set(analyze_query(text))
    # A label stands for what happened and hides none of it.
    left = [one for one in _scenes(connection, found_scenes) if one.id not in shown]
    chosen: list[Choice] = []
    for place, unit in enumerate(_spread(units)):
        if place in SCENES_AT and left:
            chosen.append(left.pop(0))
        chosen += _unsaid(_shown(unit, place, terms, longest), said)
    return chosen if units else left


def _units(
    connection: apsw.Connection,
    found_facts: Sequence[Hit],
    found_scenes: Sequence[Hit],
    found_turns: Sequence[Hit],
) -> list[_Unit]:
    """Return the units, best first, each with its turn where it was captured."""
    held: dict[str, _Unit] = {}
    by_row: dict[str, str] = {}
    for rank, hit in enumerate(found_turns, 1):
        held[hit.id] = _Unit(hit.id, 1.0 / (K + rank))
        by_row[hit.id] = hit.id
    wanted = {one for hit in found_facts for one in hit.sources if one.startswith("L0:")}
    loaded = _load(connection, [*held, *wanted])
    seen: set[str] = set()
    for rank, hit in enumerate(found_facts, 1):
        base = next((one for one in hit.sources if one in loaded), hit.id)
        unit = held.setdefault(base, _Unit(base))
        unit.facts.append(hit)
        by_row[hit.id] = base
        if base not in seen:
            seen.add(base)
            unit.score += (1.0 if base == hit.id else FACT_WEIGHT) / (K + rank)
    for rank, hit in enumerate(found_scenes, 1):
        raised: set[str] = set()
        for tier, number in scenes.members(connection, parse_id(hit.id)[1]):
            base = by_row.get(f"L{tier}:{number}", "")
            if base and base not in raised:
                raised.add(base)
                held[base].score += SCENE_WEIGHT / (K + rank)
    for unit in held.values():
        unit.turn = loaded.get(unit.id)
    whole = [unit for unit in held.values() if unit.turn is not None or unit.facts]
    return sorted(whole, key=lambda unit: (-unit.score, parse_id(unit.id)))[:MOST_UNITS]


def _load(connection: apsw.Connection, ids: Sequence[str]) -> Mapping[str, Turn]:
    """Return turns by id; what a host asserted is shown as its fact and is no turn here."""
    numbers = sorted({parse_id(one)[1] for one in ids})
    rows = turns.load(connection, numbers)
    found = [turns.to_turn(row) for row in rows if row.origin != "asserted"]
    return {turn.id: turn for turn in found}


def _spread(units: Sequence[_Unit]) -> list[_Unit]:
    """Return the units so that no source fills the context."""
    first: list[_Unit] = []
    later: list[_Unit] = []
    of_tools: Counter[str | None] = Counter()
    of_sessions: Counter[str | None] = Counter()
    for unit in units:
        session = unit.session
        if unit.trust <= Trust.TOOL:
            of_tools[session] += 1
            if of_tools[session] > MOST_OF_A_TOOL:
                continue
        of_sessions[session] += 1
        is_much = session is not None and of_sessions[session] > MOST_OF_A_SESSION
        (later if is_much else first).append(unit)
    return first + later


def _shown(unit: _Unit, place: int, terms: set[str], longest: int) -> list[Choice]:
    chosen = []
    for hit in unit.facts[:FACTS_OF_ONE]:
        words = quote(hit.text, terms, max_chars=longest).text
        when = f"{hit.event_time or hit.created:%Y-%m-%d}"
        chosen.append(Choice(hit.id, FACTS, words, (when,), hit.sources, hit.trust))
    turn = unit.turn
    if turn is not None and turn.text.strip() and (not chosen or place < QUOTED_FIRST):
        said = quote(turn.text, terms, max_chars=longest)
        when = f"{turn.event_time or turn.created:%Y-%m-%d}"
        # The user's own words are the rule; who else speaks is said.
        notes = (when, turn.speaker or turn.kind) if _needs_name(turn) else (when,)
        span = (said.start, said.end)
        chosen.append(Choice(turn.id, SAID, said.text, notes, (turn.id,), turn.trust, span))
    return chosen


def _needs_name(turn: Turn) -> bool:
    return turn.kind != "user" or turn.speaker is not None


def _scenes(connection: apsw.Connection, hits: Sequence[Hit]) -> list[Choice]:
    rows = scenes.load(connection, [parse_id(hit.id)[1] for hit in hits[: len(SCENES_AT)]])
    by_id = {one.id: one for one in scenes.to_scene(connection, rows)}
    chosen = []
    for hit in hits:
        scene = by_id.get(hit.id)
        if scene is None or not scene.label.strip():
            continue
        text = quote(scene.label, (), max_chars=LABEL_CHARS).text
        notes = (f"{scene.first:%Y-%m-%d} to {scene.last:%Y-%m-%d}",)
        chosen.append(Choice(scene.id, SCENES, text, notes, scene.members, scene.trust))
    return chosen


def _unsaid(choices: Sequence[Choice], said: list[frozenset[str]]) -> list[Choice]:
    """Return what nobody said yet."""
    kept = []
    for choice in choices:
        words = words_of(choice.text)
        if any(is_same(words, one) for one in said):
            continue
        said.append(words)
        kept.append(choice)
    return kept
