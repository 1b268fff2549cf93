"""The pure core: which scene each row belongs to, one row after the other.

A turn that opens an exchange is held against the scene that its session is in and against every
other scene: shared terms weighted by their rarity (tf-idf cosine), the direction of its vector
where there is one (both sides taken from the mean of all scenes, so that a model's common direction
counts for nothing), and the cues of the talk. The turns that follow go where it went. So every
decision rests on earlier rows alone, and rows give the same scenes in whatever pieces they come.

The rarity of terms is taken from the scenes' own counts. Constants were set on labelled histories
(``benches/quality/scenes.py``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from agentmem.tiers.cluster.cues import Cues, closes, completes, read_cues
from agentmem.tiers.cluster.directions import Directions
from agentmem.tiers.cluster.labels import name_scene
from agentmem.tiers.cluster.profile import Line, Profile, Vector
from agentmem.tiers.cluster.term_index import Floats, TermIndex
from agentmem.tiers.cluster.terms import IDENTIFIER_MARK, has_han, is_english, terms_of

__all__ = ["Clusterer", "Event", "Last", "Row", "Settings", "replay"]

_LINE_CHARS: Final = 240
_HALF: Final = 2
_CHARS: Final = {"user": 2_000, "fact": 2_000, "tool_result": 400}
_REPLY_CHARS: Final = 1_000
_OWN: Final = ("user", "fact")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The constants of the decision.

    Attributes:
        vector: What a cosine of 1 between directions counts beside one between terms, in English.
        vector_other: The same in other languages, which an English model knows less of.
        han: Factor on the terms of Chinese texts: most of their pairs cross two words.
        identifier: Factor on terms that name one thing.
        sibling: Taken off where a scene knows a numbered sibling of an identifier, not itself.
        stay: For the scene that the session is in.
        follows: For it, where the turn follows on what was said.
        opens: Against it, where the turn greets or turns to something else.
        closed: Against it, where the turn before took leave or completed a piece of work.
        gap: Against it, after more than ``gap_ms`` of silence.
        task: Against it, and against joining any scene by ``task_new``, where a task is set.
        new: What the best scene must reach after a border; else a new scene begins.
        new_inside: The same without any border in the session.
        merge: What two scenes must reach to become one.
        merge_vector: ``vector`` for that.
        short: Terms from which an opening without a cue counts in full against going on.
        gap_ms: The silence that is a border, in milliseconds.
        most: Members of a scene; a full one is split where it was half full.
        live: Scenes that can be joined; the coldest beyond are dormant.
    """

    vector: float = 0.2
    vector_other: float = 0.24
    han: float = 3.0
    identifier: float = 1.2
    sibling: float = 0.1
    stay: float = 0.03
    follows: float = 0.42
    opens: float = 0.1
    closed: float = 0.38
    gap: float = 0.14
    task: float = 0.3
    task_new: float = 0.12
    new: float = 0.157
    new_inside: float = 0.085
    short: int = 8
    merge: float = 0.55
    merge_vector: float = 0.3
    gap_ms: int = 20 * 60_000
    most: int = 400
    live: int = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A turn, or a fact without a turn in a scene, as the core reads it.

    Attributes:
        tier: 0 for a turn, 1 for a fact.
        number: Its number in its tier.
        kind: The kind of a turn; ``"fact"`` for a fact.
        session: Its session.
        time_ms: When it was said, or else written.
        text: Its words.
        vector: Unit vector of the words, where there is one.
    """

    tier: int
    number: int
    kind: str
    session: str | None
    time_ms: int
    text: str
    vector: Vector | None = None


@dataclass(frozen=True, slots=True)
class Last:
    """The row before in a session: its scene, when it was, and whether it ended something."""

    scene: int
    number: int
    time_ms: int
    is_closing: bool = False
    is_completing: bool = False

    @classmethod
    def of(cls, scene: int, row: Row) -> Last:
        """Return it from a row that is in a scene."""
        if row.kind == "fact":
            return cls(scene, row.number, row.time_ms)
        completing = row.kind != "user" and completes(row.text)
        return cls(scene, row.number, row.time_ms, closes(row.text), completing)


@dataclass(frozen=True, slots=True)
class Event:
    """One change to write, in order.

    ``new``: a scene begins. ``join``: ``rows`` become its members. ``merge``: it goes into
    ``other``. ``split``: its members behind the turn and fact ``cut`` go to the new scene
    ``other``.
    """

    action: Literal["new", "join", "merge", "split"]
    scene: int
    rows: list[tuple[int, int]] = field(default_factory=list)
    other: int = 0
    cut: tuple[int, int] = (0, 0)


class Clusterer:
    """Takes rows one after the other and says where they go.

    Args:
        scenes: The scenes there are, by id; new ones get the ids -1, -2, … in their order.
        sessions: The last row of each session that goes on, by ``session_key``.
        settings: The constants of the decision.
    """

    def __init__(
        self,
        scenes: Mapping[int, Profile],
        sessions: Mapping[tuple[int, str], Last] | None = None,
        settings: Settings | None = None,
    ) -> None:
        self.settings = settings or Settings()
        self.scenes: dict[int, Profile] = {}
        self.sessions: dict[tuple[int, str], Last] = dict(sessions or {})
        self.cooled: dict[int, Profile] = {}
        self.events: list[Event] = []
        self.touched: set[int] = set()
        self._rank: dict[int, int] = {}
        self._terms = TermIndex(self.settings.identifier)
        self._directions = Directions(self.scenes)
        self._placed: tuple[list[int], npt.NDArray[np.intp]] = [], np.zeros(0, np.intp)
        self._unnamed: dict[int, _Unnamed] = {}
        self._made = 0
        self._last = [0, 0]
        for number in sorted(scenes):
            self._enter(number, scenes[number])

    def add(self, row: Row) -> int:
        """Decide where a row goes and return the scene.

        Rows of one tier come in the order of their numbers.
        """
        key = None if row.session is None else (row.tier, row.session)
        last = None if key is None else self.sessions.get(key)
        if last is not None and last.scene not in self.scenes:
            last = None
        opens = row.kind in _OWN or last is None
        if last is not None and last.is_completing and row.kind != "tool_result":
            opens = opens or not completes(row.text)
        terms = terms_of(row.text, _CHARS.get(row.kind, _REPLY_CHARS))
        scene = self._decide(row, terms, last) if opens or last is None else last.scene
        self._join(scene, (row.tier, row.number))
        self._take(scene, row, terms, opens=opens)
        if key is not None:
            self.sessions[key] = Last.of(scene, row)
        self._last[row.tier] = row.number
        if opens and _is_milestone(self.scenes[scene].units):
            scene = self._settle(scene, english=is_english(row.text))
        self._bound(scene)
        return scene

    def _take(self, scene: int, row: Row, terms: Mapping[str, int], *, opens: bool) -> None:
        """Count a row into a scene's profile."""
        profile = self.scenes[scene]
        dropped = profile.add_terms(terms, 2 if opens else 1)
        self._terms.change(scene, profile.counts, [*terms, *dropped])
        profile.add_time(row.time_ms)
        if row.text.strip() and row.kind != "tool_result":
            profile.add_line(Line(row.tier, row.number, row.text[:_LINE_CHARS], row.kind in _OWN))
        if opens:
            profile.units += 1
            self._terms.units += 1
            profile.add_vector(row.vector)
            if row.vector is not None:
                self._directions.update(scene, profile)
        profile.norm = self._terms.norm(scene)

    def follow(self, scene: int, row: Row) -> None:
        """Put a fact where the turn is that it was read from; its words are counted already."""
        self._join(scene, (row.tier, row.number))
        if row.session is not None:
            self.sessions[row.tier, row.session] = Last.of(scene, row)

    def settle(self, numbers: Mapping[int, int]) -> None:
        """Go on behind what was written: new scenes have these ids now, and no event is open."""
        self.scenes = {numbers.get(one, one): profile for one, profile in self.scenes.items()}
        self._rank = {numbers.get(one, one): rank for one, rank in self._rank.items()}
        for key, last in self.sessions.items():
            if last.scene in numbers:
                self.sessions[key] = replace(last, scene=numbers[last.scene])
        self._terms.rename(numbers)
        self._directions.forget(self.scenes)
        self.cooled = {}
        self.events = []
        self.touched = set()

    def _join(self, scene: int, member: tuple[int, int]) -> None:
        self.touched.add(scene)
        if self.events and self.events[-1].action == "join" and self.events[-1].scene == scene:
            self.events[-1].rows.append(member)
        else:
            self.events.append(Event("join", scene, [member]))

    # The decision

    def _decide(self, row: Row, terms: dict[str, int], last: Last | None) -> int:
        settings = self.settings
        current = None if last is None else last.scene
        if not self.scenes or (not terms and row.vector is None and current is None):
            return self._begin()
        if not terms and row.vector is None and current is not None:
            return current
        cues = read_cues(row.text) if row.kind == "user" else Cues()
        tasks = cues.tasks
        scores = self._scores(row, terms, points=not cues.follows)
        least = settings.new_inside
        if current is None or last is None:
            least = settings.new
        else:
            gap = row.time_ms - last.time_ms > settings.gap_ms
            closed = last.is_closing or last.is_completing
            if cues.opens or closed or gap or tasks:
                least = settings.new
            else:
                # A few words without any cue go on with what is talked about.
                least *= min(1.0, len(terms) / settings.short) ** 2
            slot = self._terms.slot_of[current]
            near = float(scores[slot])
            scores[slot] = (
                (0.0 if near == -math.inf else near) + settings.stay
                + settings.follows * cues.follows - settings.opens * cues.opens
                - settings.closed * closed - settings.gap * gap - settings.task * tasks
            )  # fmt: skip
        most = float(scores.max())
        if most == -math.inf or most < least + settings.task_new * tasks:
            return self._begin()
        best = (self._terms.scene_at[int(slot)] for slot in np.flatnonzero(scores == most))
        return min(best, key=self._rank.__getitem__)

    def _scores(self, row: Row, terms: dict[str, int], *, points: bool) -> Floats:
        """Return how near each scene is to an opening, by slot; -inf without anything in common."""
        settings = self.settings
        index = self._terms
        scores = index.scores(
            terms,
            factor=settings.han if has_han(row.text) else 1.0,
            sibling=settings.sibling if points else 0.0,
        )
        cosines = self._directions.cosines(row.vector)
        if len(cosines):
            factor = settings.vector if is_english(row.text) else settings.vector_other
            at = self._slots()
            known = scores[at]
            scores[at] = np.where(known == -math.inf, 0.0, known) + factor * cosines
        return scores

    def _slots(self) -> npt.NDArray[np.intp]:
        """Return the slots of the scenes that have a direction, in the order of their cosines."""
        scenes = self._directions.scenes
        if self._placed[0] is not scenes:
            slots = np.array([self._terms.slot_of[one] for one in scenes], np.intp)
            self._placed = scenes, slots
        return self._placed[1]

    # Keeping the scenes

    def _begin(self) -> int:
        self._made += 1
        self._enter(-self._made, Profile())
        self.events.append(Event("new", -self._made))
        return -self._made

    def _enter(self, scene: int, profile: Profile) -> None:
        self.scenes[scene] = profile
        self._rank[scene] = len(self._rank)
        self._terms.units += profile.units
        self._terms.enter(scene, profile.counts, profile.norm)
        self._directions.forget()

    def _put(self, scene: int, profile: Profile) -> None:
        """Enter a scene again, at its old place among the others."""
        rank = self._rank[scene]
        self._enter(scene, profile)
        self._rank[scene] = rank
        self.scenes = {one: self.scenes[one] for one in sorted(self.scenes, key=self._rank.get)}  # type: ignore[arg-type]  # every scene has a rank
        self._directions.forget(self.scenes)

    def _leave(self, scene: int) -> Profile:
        profile = self.scenes.pop(scene)
        self._terms.units -= profile.units
        self._terms.leave(scene)
        self._directions.forget()
        return profile

    # Milestones and bounds

    def _settle(self, scene: int, *, english: bool) -> int:
        """Merge a scene with the nearest one if they are one activity, and name it."""
        near = self._nearest(scene, english=english) if self.scenes[scene].units > 1 else None
        if near is not None:
            into, gone = sorted((scene, near), key=self._rank.__getitem__)
            profile, other = self._leave(into), self._leave(gone)
            profile.absorb(other)
            self._put(into, profile)
            profile.norm = self._terms.norm(into)
            self._unnamed.pop(gone, None)
            for key, last in self.sessions.items():
                if last.scene == gone:
                    self.sessions[key] = replace(last, scene=into)
            self.events.append(Event("merge", gone, other=into))
            self.touched.discard(gone)
            self.touched.add(into)
            scene = into
        self._name(scene)
        return scene

    def _name(self, scene: int) -> None:
        """Note what a scene is to be named by: as of now, whatever comes before it is named."""
        profile = self.scenes[scene]
        self._unnamed[scene] = _Unnamed(
            tuple(profile.lines), dict(profile.counts), self._terms.frequencies(scene),
            self._terms.units,
        )  # fmt: skip

    def name_scenes(self) -> None:
        """Name the scenes that came to a milestone, each by what it was then."""
        for scene in list(self._unnamed):
            self._settle_name(scene)

    def _settle_name(self, scene: int) -> None:
        unnamed = self._unnamed.pop(scene, None)
        profile = self.scenes.get(scene) or self.cooled.get(scene)
        if unnamed is not None and profile is not None:
            profile.label = unnamed.name(self.settings.identifier)

    def _nearest(self, scene: int, *, english: bool) -> int | None:
        settings = self.settings
        index = self._terms
        profile = self.scenes[scene]
        scores = index.scores_with(scene)
        shared = scores > 0.0
        factor = settings.merge_vector
        if not english:
            factor *= settings.vector_other / settings.vector
        if profile.total is not None:
            cosines = self._directions.cosines(profile.total / np.float32(profile.vectors))
            at = self._slots()
            scores[at] += factor * cosines
        shared &= scores > settings.merge
        room = settings.most * 3 // 4 - profile.size
        near = {
            one: float(scores[slot])
            for slot in np.flatnonzero(shared)
            if (one := index.scene_at[int(slot)]) != scene and self.scenes[one].size <= room
        }
        return max(near, key=lambda one: (near[one], -self._rank[one]), default=None)

    def _bound(self, scene: int) -> None:
        profile = self.scenes[scene]
        settings = self.settings
        if profile.half is None and profile.size >= settings.most // 2:
            self._settle_name(scene)
            profile.snapshot((self._last[0], self._last[1]))
        elif profile.size >= settings.most and profile.half is not None:
            cut = (int(profile.half["cut"][0]), int(profile.half["cut"][1]))
            older = self._leave(scene)
            newer = older.divide()
            self._put(scene, older)
            self._made += 1
            part = -self._made
            self._enter(part, newer)
            self.events.append(Event("split", scene, other=part, cut=cut))
            for key, last in self.sessions.items():
                if last.scene == scene and last.number > cut[key[0]]:
                    self.sessions[key] = replace(last, scene=part)
            for one in (scene, part):
                self.scenes[one].norm = self._terms.norm(one)
                self._name(one)
                self.touched.add(one)
            scene = part
        if len(self.scenes) > settings.live:
            coldest = min(
                (one for one in self.scenes if one != scene),
                key=lambda one: (self.scenes[one].heat(), self._rank[one]),
            )
            self.cooled[coldest] = self._leave(coldest)
            self.cooled[coldest].is_dormant = True
            self.touched.add(coldest)


@dataclass(frozen=True, slots=True)
class _Unnamed:
    """What a scene is named by: its words and counts, and how often its terms are in all scenes."""

    lines: tuple[Line, ...]
    counts: dict[str, int]
    frequencies: dict[str, int]
    units: int

    def name(self, identifier: float) -> str:
        """Return the name; ``identifier`` is the factor on the rarity of identifiers.

        What recurs names a scene, so counts weigh in full here.
        """
        scores: dict[str, float] = {}

        def score(term: str) -> float:
            known = scores.get(term)
            if known is not None:
                return known
            count = self.counts.get(term)
            found = 0.0
            if count:
                share = (self.units + 1) / (self.frequencies[term] / _HALF + 0.5)
                found = count / _HALF * math.log1p(share)
                if term[0] == IDENTIFIER_MARK:
                    found *= identifier
            scores[term] = found
            return found

        return name_scene(self.lines, score)


def replay(rows: Iterable[Row]) -> Profile:
    """Return the profile of a scene that has these members and no others, named."""
    clusterer = Clusterer({1: Profile()})
    last: tuple[int, str | None] | None = None
    for row in rows:
        opens = row.kind in _OWN or last != (row.tier, row.session)
        terms = terms_of(row.text, _CHARS.get(row.kind, _REPLY_CHARS))
        clusterer._take(1, row, terms, opens=opens)  # noqa: SLF001  # of its own module
        last = (row.tier, row.session)
    clusterer._name(1)  # noqa: SLF001
    clusterer.name_scenes()
    return clusterer.scenes[1]


def _is_milestone(units: int) -> bool:
    """Whether a number is 1, 2, 3, 4, 6, 8, 12, …: a power of two, or three times one."""
    odd = units // (units & -units)
    return odd in (1, 3)
