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

from agentmem.tiers.cluster.cues import Cues, closes, completes, read_cues
from agentmem.tiers.cluster.labels import name_scene
from agentmem.tiers.cluster.profile import Line, Profile, Vector
from agentmem.tiers.cluster.terms import IDENTIFIER_MARK, family, has_han, is_english, terms_of

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
        self._postings: dict[str, dict[int, int]] = {}
        self._frequency: dict[str, int] = {}
        self._families: dict[str, dict[int, int]] = {}
        self._units = 0
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
        opens = row.kind in _OWN or last is None or (last.is_completing and not completes(row.text))
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
        self._leave_index(scene, terms)
        dropped = profile.add_terms(terms, 2 if opens else 1)
        self._leave_index(scene, dropped)
        self._index(scene, terms)
        profile.add_time(row.time_ms)
        if row.text.strip() and row.kind != "tool_result":
            profile.add_line(Line(row.tier, row.number, row.text[:_LINE_CHARS], row.kind in _OWN))
        if opens:
            profile.units += 1
            self._units += 1
            profile.add_vector(row.vector)
        profile.norm = self._norm(profile)

    def follow(self, scene: int, row: Row) -> None:
        """Put a fact where the turn is that it was read from; its words are counted already."""
        self._join(scene, (row.tier, row.number))
        if row.session is not None:
            self.sessions[row.tier, row.session] = Last.of(scene, row)

    def _join(self, scene: int, member: tuple[int, int]) -> None:
        self.touched.add(scene)
        if self.events and self.events[-1].action == "join" and self.events[-1].scene == scene:
            self.events[-1].rows.append(member)
        else:
            self.events.append(Event("join", scene, [member]))

    # The decision

    def _decide(self, row: Row, terms: Mapping[str, int], last: Last | None) -> int:
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
            scores[current] = (
                scores.get(current, 0.0) + settings.stay + settings.follows * cues.follows
                - settings.opens * cues.opens - settings.closed * closed - settings.gap * gap
                - settings.task * tasks
            )  # fmt: skip
        best = max(scores, key=lambda one: (scores[one], -self._rank[one]), default=None)
        if best is None or scores[best] < least + settings.task_new * tasks:
            return self._begin()
        return best

    def _scores(self, row: Row, terms: Mapping[str, int], *, points: bool) -> dict[int, float]:
        """Return how near each scene is to an opening; scenes without anything in common lack."""
        settings = self.settings
        weights = {
            term: (1.0 if term.startswith(IDENTIFIER_MARK) else 1.0 + math.log(count))
            * self._rarity(term)
            for term, count in terms.items()
        }
        length = math.sqrt(sum(weight * weight for weight in weights.values())) or 1.0
        dots: dict[int, float] = {}
        for term, weight in weights.items():
            held = self._postings.get(term)
            if not held:
                continue
            weight *= self._rarity(term)  # noqa: PLW2901
            for scene, count in held.items():
                dots[scene] = dots.get(scene, 0.0) + weight * math.log1p(count / _HALF)
        factor = (settings.han if has_han(row.text) else 1.0) / length
        scores = {
            scene: factor * dot / (self.scenes[scene].norm or 1.0) for scene, dot in dots.items()
        }
        if points and settings.sibling:
            for scene in self._siblings(terms):
                scores[scene] = scores.get(scene, 0.0) - settings.sibling
        factor = settings.vector if is_english(row.text) else settings.vector_other
        for scene, cosine in self._cosines(row.vector):
            scores[scene] = scores.get(scene, 0.0) + factor * cosine
        return scores

    def _siblings(self, terms: Mapping[str, int]) -> set[int]:
        found: set[int] = set()
        for term in terms:
            name = family(term)
            if name is not None:
                held = self._postings.get(term, {})
                found.update(one for one in self._families.get(name, ()) if one not in held)
        return found

    def _cosines(self, vector: Vector | None) -> list[tuple[int, float]]:
        seen = [(scene, one) for scene, one in self.scenes.items() if one.total is not None]
        if vector is None or not seen:
            return []
        totals = np.stack([one.total for _, one in seen if one.total is not None])
        counts = np.array([one.vectors for _, one in seen], np.float32)
        mean = totals.sum(axis=0) / counts.sum()
        centred = totals / counts[:, None] - mean
        own = vector - mean
        norms = np.sqrt(np.einsum("ij,ij->i", centred, centred)) * np.sqrt(own @ own) + 1e-9
        cosines = (centred @ own) / norms
        return [(scene, float(one)) for (scene, _), one in zip(seen, cosines, strict=True)]

    def _rarity(self, term: str) -> float:
        """Return the inverse document frequency over the openings of the scenes that are live."""
        share = (self._units + 1) / (self._frequency.get(term, 0) / _HALF + 0.5)
        rarity = math.log1p(share)
        return rarity * self.settings.identifier if term.startswith(IDENTIFIER_MARK) else rarity

    def _norm(self, profile: Profile) -> float:
        return math.sqrt(
            sum(
                (math.log1p(count / _HALF) * self._rarity(term)) ** 2
                for term, count in profile.counts.items()
            )
        )

    # Keeping the scenes

    def _begin(self) -> int:
        self._made += 1
        self._enter(-self._made, Profile())
        self.events.append(Event("new", -self._made))
        return -self._made

    def _enter(self, scene: int, profile: Profile) -> None:
        self.scenes[scene] = profile
        self._rank[scene] = len(self._rank)
        self._units += profile.units
        self._index(scene, profile.counts)

    def _put(self, scene: int, profile: Profile) -> None:
        """Enter a scene again, at its old place among the others."""
        rank = self._rank[scene]
        self._enter(scene, profile)
        self._rank[scene] = rank
        self.scenes = {one: self.scenes[one] for one in sorted(self.scenes, key=self._rank.get)}  # type: ignore[arg-type]  # every scene has a rank

    def _leave(self, scene: int) -> Profile:
        profile = self.scenes.pop(scene)
        self._units -= profile.units
        self._leave_index(scene, profile.counts)
        return profile

    def _index(self, scene: int, terms: Iterable[str]) -> None:
        counts = self.scenes[scene].counts
        for term in terms:
            count = counts.get(term)
            if not count:
                continue
            self._postings.setdefault(term, {})[scene] = count
            self._frequency[term] = self._frequency.get(term, 0) + count
            name = family(term)
            if name is not None:
                held = self._families.setdefault(name, {})
                held[scene] = held.get(scene, 0) + 1

    def _leave_index(self, scene: int, terms: Iterable[str]) -> None:
        for term in terms:
            held = self._postings.get(term)
            count = held.pop(scene, None) if held else None
            if count is None:
                continue
            self._frequency[term] -= count
            name = family(term)
            if name is not None:
                self._families[name][scene] -= 1
                if not self._families[name][scene]:
                    del self._families[name][scene]

    # Milestones and bounds

    def _settle(self, scene: int, *, english: bool) -> int:
        """Merge a scene with the nearest one if they are one activity, and name it."""
        near = self._nearest(scene, english=english) if self.scenes[scene].units > 1 else None
        if near is not None:
            into, gone = sorted((scene, near), key=self._rank.__getitem__)
            profile, other = self._leave(into), self._leave(gone)
            profile.absorb(other)
            self._put(into, profile)
            profile.norm = self._norm(profile)
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
        profile = self.scenes[scene]
        profile.label = name_scene(
            profile.lines,
            lambda term: math.log1p(profile.counts.get(term, 0) / _HALF) * self._rarity(term),
        )

    def _nearest(self, scene: int, *, english: bool) -> int | None:
        settings = self.settings
        profile = self.scenes[scene]
        dots: dict[int, float] = {}
        for term, count in profile.counts.items():
            held = self._postings.get(term, {})
            if len(held) < 2:  # noqa: PLR2004
                continue
            weight = math.log1p(count / _HALF) * self._rarity(term) ** 2
            for other, held_count in held.items():
                dots[other] = dots.get(other, 0.0) + weight * math.log1p(held_count / _HALF)
        scores = {
            other: dot / (profile.norm * self.scenes[other].norm or 1.0)
            for other, dot in dots.items()
            if other != scene
        }
        factor = settings.merge_vector
        if not english:
            factor *= settings.vector_other / settings.vector
        if profile.total is not None:
            for other, cosine in self._cosines(profile.total / np.float32(profile.vectors)):
                if other in scores:
                    scores[other] += factor * cosine
        room = settings.most * 3 // 4 - profile.size
        near = {
            one: score
            for one, score in scores.items()
            if score > settings.merge and self.scenes[one].size <= room
        }
        return max(near, key=lambda one: (near[one], -self._rank[one]), default=None)

    def _bound(self, scene: int) -> None:
        profile = self.scenes[scene]
        settings = self.settings
        if profile.half is None and profile.size >= settings.most // 2:
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
                self.scenes[one].norm = self._norm(self.scenes[one])
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
    return clusterer.scenes[1]


def _is_milestone(units: int) -> bool:
    """Whether a number is 1, 2, 3, 4, 6, 8, 12, …: a power of two, or three times one."""
    odd = units // (units & -units)
    return odd in (1, 3)
