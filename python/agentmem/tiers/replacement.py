"""How likely one statement takes the place of another that no slot ties to it.

A logistic regression over plain features of the pair: the words that they share and where these
stand, what the new one says of the old by the cues of ``replacement_cues.py``, numbers, names and
people that differ. The weights were learnt from labelled pairs by
``benches/quality/train_replacement.py`` and come with the package; the same pair, the same answer.
There is no cosine in it: beside these the packaged embedder's found nothing more.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from agentmem.tiers.conflict_text import DATE, features, words_of
from agentmem.tiers.replacement_cues import CUES, PEOPLE, SAYS, TOLD

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

__all__ = ["ReplacementModel", "Statement", "packaged_replacement", "pair_features"]

_FILE: Final = "replacement-1.json"
_TOKEN: Final = re.compile(r"[\u3400-\u9fff]+|[^\W_\u3400-\u9fff]+(?:[._+#-][^\W_\u3400-\u9fff]+)*")
_HAN: Final = re.compile(r"[\u3400-\u9fff]")
_CLAUSES: Final = re.compile(r"[,;，；]")
_NAME: Final = re.compile(r"(?<=[^\s.!?] )[A-ZĐ][\w&-]+|\b[A-Z]+[a-z]*[A-Z]\w*")
# Features that count more where a rare word is shared.
WITH_RARE: Final = ("cue at shared", "new end", "new now", "old first", "other number")
# Characters: so far from the beginning a word is what a statement is about, and so far from a cue
# it is what the cue speaks of.
FIRST: Final = 12
NEAR: Final = 10


class Statement(Protocol):
    """A fact, known or a candidate."""

    @property
    def text(self) -> str:
        """What it says."""

    @property
    def kind(self) -> str:
        """One of ``FACT_KINDS``."""

    @property
    def subject(self) -> str | None:
        """Whom or what it is about."""

    @property
    def attribute(self) -> str | None:
        """The slot it fills."""

    @property
    def event_time(self) -> datetime | None:
        """When it happens."""

    @property
    def valid_from(self) -> datetime | None:
        """From when it holds."""


@dataclass(frozen=True, slots=True)
class ReplacementModel:
    """Weights by the names of features.

    Attributes:
        common: How rare the words of content are that are not, 0..1; all others count 1.
        weights: Of each feature that counts.
        bias: Of every pair.
        threshold: The least score of a replacement, in log-odds. Chosen in cross-validation so that
            next to nothing is wrongly retired.
        floor: The least score of what a rule takes for a replacement.
    """

    common: Mapping[str, float]
    weights: Mapping[str, float]
    bias: float
    threshold: float
    floor: float

    def score(self, new: Statement, old: Statement) -> float:
        """Return the log-odds that ``new`` replaces ``old``, -inf where it cannot."""
        found = pair_features(new, old, self.common)
        if found is None:
            return -math.inf
        weights = self.weights
        return self.bias + sum(weights.get(name, 0.0) * size for name, size in found.items())

    def is_likely(self, new: Statement, old: Statement) -> bool:
        """Whether ``new`` replaces ``old`` by the weights alone.

        What is only thought of changes nothing. A lasting rule with a clause that ``new`` leaves
        alone stays: to lose a rule is worse than to keep one too many.
        """
        if self.score(new, old) < self.threshold or "maybe" in _read(new.text).cues:
            return False
        return old.kind != "instruction" or not _says_more(new, old)

    def is_possible(self, new: Statement, old: Statement) -> bool:
        """Whether what a rule takes for a replacement may be one; slots are the rules' to judge."""
        return _has_slots(new, old) or self.score(new, old) >= self.floor


@lru_cache(maxsize=1)
def packaged_replacement() -> ReplacementModel:
    """Return the model that comes with the package, read once."""
    text = (files("agentmem.tiers") / _FILE).read_text(encoding="utf-8")
    return ReplacementModel(**json.loads(text))


class _Read(NamedTuple):
    """A text with the places of its cues and of its words of content.

    Attributes:
        cues: Names of its cues.
        said: Where it says that something ends or changes.
        people: Who is spoken of beside the speaker.
        names: Words that are names by their letters.
        places: Where each word of content stands.
        forms: How each is written there.
        pairs: Words of content that follow each other.
    """

    cues: frozenset[str]
    said: tuple[tuple[int, int], ...]
    people: frozenset[str]
    names: frozenset[str]
    places: dict[str, list[tuple[int, int]]]
    forms: dict[str, frozenset[str]]
    pairs: frozenset[tuple[str, str]]


@lru_cache(maxsize=16_384)
def _read(text: str) -> _Read:
    text = text[:4_000]
    lower = text.lower()
    cues = {name for name, cue in CUES.items() if cue.search(lower)}
    said = tuple(one.span() for name in ("end", "change") for one in CUES[name].finditer(lower))
    placed: list[tuple[int, int, str]] = []
    for match in _TOKEN.finditer(DATE.sub(lambda date: " " * len(date[0]), lower)):
        start, token = match.start(), match[0]
        found = words_of(token)
        if len(found) == 1 and not _HAN.match(token):
            placed.append((start, match.end(), next(iter(found))))
        else:
            spots = [(start + token.find(word), word) for word in found]
            placed += sorted((at, at + len(word), word) for at, word in spots)
    places: dict[str, list[tuple[int, int]]] = {}
    forms: dict[str, frozenset[str]] = {}
    for start, end, word in placed:
        places.setdefault(word, []).append((start, end))
        forms[word] = forms.get(word, frozenset()) | {lower[start:end]}
    pairs = {(one[2], two[2]) for one, two in pairwise(placed) if two[0] <= one[1] + 1}
    return _Read(
        frozenset(cues),
        said,
        frozenset(PEOPLE.findall(lower)),
        frozenset(name.lower() for name in _NAME.findall(text)),
        places,
        forms,
        frozenset(pairs),
    )


def pair_features(
    new: Statement, old: Statement, common: Mapping[str, float]
) -> dict[str, float] | None:
    """Return the features of a pair by their names, each about 0 to 1.

    ``common`` is that of the model. None where there is nothing to weigh: no word of content in
    common; nothing said of a change and no other number; another slot, or the same one, which is
    the slot rule's to judge; an event that has happened.
    """
    one, two = features(new.text), features(old.text)
    if one.topic.isdisjoint(two.topic) or _has_slots(new, old):
        return None
    mine, theirs = _read(new.text), _read(old.text)
    shared = frozenset(word for word in one.topic & two.topic if _is_one_word(word, mine, theirs))
    if not shared:
        return None
    is_other_number = bool(one.digits - two.digits) and bool(two.digits - one.digits)
    if not (is_other_number or mine.cues & SAYS) or _has_happened(old, new.valid_from):
        return None
    found = _words(one.topic, two.topic, shared, common)
    overlap = found["overlap"]
    for name, holds in _shapes(mine, theirs, shared):
        found[name] = float(holds)
    for cue in mine.cues:
        found[f"new {cue}"] = 1.0
        if cue in SAYS:
            found[f"new {cue} overlap"] = overlap
    for cue in theirs.cues & {"maybe", "negated"}:
        found[f"old {cue}"] = 1.0
    if is_other_number:
        found["other number"], found["other number overlap"] = 1.0, overlap
    found["same number"] = float(bool(one.digits) and one.digits == two.digits)
    found["turned"] = float(("negated" in mine.cues) != ("negated" in theirs.cues))
    found["former"] = float(not one.former.isdisjoint(two.topic))
    found["old told"] = float(TOLD.search(old.text) is not None)
    found["instructions"] = float(new.kind == old.kind == "instruction")
    found["old persona"] = float(old.kind == "persona")
    found["new persona"] = float(new.kind == "persona")
    found["same subject"] = float((new.subject or "") == (old.subject or ""))
    # A cue says little beside a word that everybody uses.
    for name in WITH_RARE:
        found[f"{name} rare"] = found.get(name, 0.0) * found["rare"]
    return found


def _says_more(new: Statement, old: Statement) -> bool:
    topic = words_of(new.text)
    clauses = [words_of(clause) for clause in _CLAUSES.split(old.text)]
    return any(len(clause) > 1 and clause.isdisjoint(topic) for clause in clauses)


def _has_slots(new: Statement, old: Statement) -> bool:
    return new.attribute is not None and old.attribute is not None


def _has_happened(old: Statement, now: datetime | None) -> bool:
    return (
        old.kind == "event"
        and old.event_time is not None
        and now is not None
        and old.event_time.date() < now.date()
    )


def _is_one_word(word: str, mine: _Read, theirs: _Read) -> bool:
    """Whether a word is the same in both: "bán" and "bạn" are two, "ban" may be either."""
    one, two = mine.forms.get(word, frozenset()), theirs.forms.get(word, frozenset())
    return not one.isdisjoint(two) or any(form.isascii() for form in one | two)


def _words(
    new: frozenset[str], old: frozenset[str], shared: frozenset[str], common: Mapping[str, float]
) -> dict[str, float]:
    """How much of the words of content recurs, each counted by how rare it is."""
    whole = sum(common.get(word, 1.0) for word in new)
    other = sum(common.get(word, 1.0) for word in old)
    rare = [common.get(word, 1.0) for word in shared]
    both = sum(rare)
    return {
        "overlap": both / min(whole, other),
        "jaccard": both / (whole + other - both),
        "of new": both / whole,
        "of old": both / other,
        "shared": min(both, 4.0) / 4,
        "rare": max(rare),
        "size": min(len(new), 20) / 20,
        "old size": min(len(old), 20) / 20,
    }


def _shapes(mine: _Read, theirs: _Read, shared: frozenset[str]) -> tuple[tuple[str, bool], ...]:
    """Where the words in common stand, and who is spoken of."""
    spots = [spot for word in shared for spot in mine.places.get(word, ())]
    is_said = any(
        max(start - cue_end, cue_start - end) <= NEAR
        for start, end in spots
        for cue_start, cue_end in mine.said
    )
    is_first = any(start < FIRST for word in shared for start, _ in theirs.places.get(word, ()))
    return (
        ("cue at shared", is_said),
        ("old first", is_first),
        ("shared pair", not mine.pairs.isdisjoint(theirs.pairs)),
        ("says twice", len(mine.cues & SAYS) > 1),
        ("other person", bool(mine.people - theirs.people)),
        ("old person", bool(theirs.people - mine.people)),
        ("same name", not mine.names.isdisjoint(theirs.names)),
    )
