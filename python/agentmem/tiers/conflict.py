"""Hold a candidate against the facts that are known: new, said before, or in another's place.

What decides, in this order: the same words; a slot (subject and attribute) that holds one value; a
preference turned round; a statement that says it ends or changes what another says; the same
statement with another number; where no rule fires, the learnt weights of ``replacement.py``. A
cosine alone decides nothing: statements that differ in a digit, a name or a "not" are close to every
embedder.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from agentmem.models import Judgement, Trust
from agentmem.tiers.conflict_text import Features, features, words_of
from agentmem.tiers.replacement import ReplacementModel, Statement, packaged_replacement

if TYPE_CHECKING:
    from datetime import datetime

    from agentmem.models import Candidate

__all__ = ["Known", "judge"]

# Attributes that hold several values at once: a further one replaces nothing.
MANY_VALUED: Final = frozenset(
    (
        "likes",
        "dislikes",
        "skill",
        "habit",
        "allergy",
        "health",
        "goal",
        "experience",
        "work",
        "stops",
        "birth",
    )
)
# Said in many ways of one and the same: another wording is another value only where both are plain,
# or where the candidate says that it is so now.
SOFT: Final = frozenset(("occupation", "status", "working hours"))
_PLAIN_VALUE: Final = 4
# Share of the smaller statement's words of content that must recur for one topic. Chosen on the
# labelled development set so that no unrelated fact is retired.
TOPIC: Final = 0.5
NEAR: Final = 0.9
# From here a fact is about what the candidate changes, even where another is more so.
SURE: Final = 0.6
# The same where the candidate names what was: "instead of euros".
FORMER: Final = 0.3
# From here the words may differ more: the embedder sees one statement, and digits, names, denial agree.
NEAR_COSINE: Final = 0.92
NEAR_WITH_COSINE: Final = 0.6
# With fewer words of content two statements may differ in the very one that counts, though it is of a
# closed class: "make" and "just" are tools too. Then only the same words are a duplicate.
LEAST_TOPIC: Final = 2

_CLAUSE_END: Final = re.compile(r"[,;:，；：]|\b(?:because|since|so|but|vì|nên|nhưng)\b")
_DENIAL: Final = re.compile(
    r"\b(?:no longer|(?:do|does|did|is|are|was|were|have|has)(?: not|n't))\b|\bkhông còn\b|\bkhong con\b|不再",
    re.IGNORECASE,
)
_ADDITION: Final = re.compile(r"\b(?:too|as well)\W*$", re.IGNORECASE)
_SEVERAL: Final = re.compile(r"\w (?:and|or|và|hoặc) \w|[和或、]")
_ANYBODY: Final = frozenset(("assistant", "team"))
_GENERAL: Final = _ANYBODY | {"user", ""}
_CHANGES: Final = {
    "instruction": frozenset(("instruction", "decision")),
    "decision": frozenset(("decision", "fact", "event", "instruction")),
    "persona": frozenset(("persona", "fact")),
    "event": frozenset(("event", "fact", "decision")),
    "fact": frozenset(("fact", "event", "persona", "decision")),
}


class Known(Statement, Protocol):
    """A current fact as ``judge`` reads it; ``agentmem.Fact`` is one."""

    @property
    def id(self) -> str:
        """The L1 id."""

    @property
    def value(self) -> Any:
        """The value of the slot."""

    @property
    def trust(self) -> Trust:
        """Where it came from."""


def judge(
    candidate: Candidate,
    known: Sequence[Known],
    *,
    trust: Trust = Trust.USER,
    cosines: Mapping[str, float] | None = None,
    model: ReplacementModel | None = None,
) -> Judgement:
    """Return what a candidate is to the current facts of its scope.

    Args:
        candidate: The fact that was read.
        known: Current facts that it may touch: those that fill a slot of its subject, and those
            most like it, in any order; what was read before it in the same piece included. The
            caller bounds them to one scope.
        trust: Where the candidate came from. It replaces nothing that is trusted more.
        cosines: For near-duplicates, the cosine of the candidate to a known fact by its id.
        model: The learnt weights; those of the package if None.

    Returns:
        ``new``; ``duplicate`` of one fact; ``supersede`` of one or more; or ``past`` where what it
        would replace holds from later on.
    """
    own = features(candidate.text)
    plain = _fold(candidate.text)
    # Another value of one slot is no duplicate, however much of the words is the same.
    other = {fact.id for fact in _by_slot(candidate, own, known)}
    for fact in known:
        if _fold(fact.text) == plain or (
            fact.id not in other and _is_near(candidate, own, fact, (cosines or {}).get(fact.id))
        ):
            return Judgement("duplicate", (fact.id,))
    held = [fact for fact in known if fact.trust <= trust and not _denies_another(candidate, fact)]
    model = model or packaged_replacement()
    by_cue, by_weights = partial(_by_cue, model=model), partial(_by_weights, model=model)
    # "On Mondays too" comes beside what is, and in no place of it.
    if _ADDITION.search(candidate.text):
        return Judgement("new")
    for rule in (_by_slot, _by_turn, by_cue, _by_number, by_weights):
        replaced = rule(candidate, own, held)
        if replaced:
            later = [fact for fact in replaced if _began_later(fact, candidate)]
            if later:
                return Judgement("past", (later[0].id,))
            return Judgement("supersede", tuple(fact.id for fact in replaced))
    return Judgement("new")


def _began_later(fact: Known, candidate: Candidate) -> bool:
    """Whether the known fact holds from later on: the candidate comes late, out of its order."""
    return (
        fact.valid_from is not None
        and candidate.valid_from is not None
        and fact.valid_from > candidate.valid_from
    )


@lru_cache(maxsize=16_384)
def _fold(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".。!！")


def _overlap(one: frozenset[str], two: frozenset[str]) -> float:
    least = min(len(one), len(two))
    return len(one & two) / least if least else 0.0


def _jaccard(one: frozenset[str], two: frozenset[str]) -> float:
    union = len(one | two)
    return len(one & two) / union if union else 0.0


def _is_near(candidate: Candidate, own: Features, fact: Known, cosine: float | None) -> bool:
    other = features(fact.text)
    if (
        own.digits != other.digits
        or own.is_negated != other.is_negated
        or own.is_ended != other.is_ended
        or candidate.ends
        or _named(candidate.subject) != _named(fact.subject)
        or _day(candidate.event_time) != _day(fact.event_time)
    ):
        return False
    if own.names != other.names and (own.names ^ other.names) - (own.topic & other.topic):
        return False
    if len(own.topic | other.topic) < LEAST_TOPIC:
        return False
    alike = _jaccard(own.topic, other.topic)
    floor = NEAR if cosine is None or cosine < NEAR_COSINE else NEAR_WITH_COSINE
    return alike >= floor


def _day(time: datetime | None) -> object:
    return None if time is None else time.date()


def _named(subject: str | None) -> str:
    return "" if subject is None else _fold(subject)


def _is_one_subject(candidate: Candidate, fact: Known) -> bool:
    """Whether two facts may speak of one thing: the same subject, or one named in the other."""
    one, two = _named(candidate.subject), _named(fact.subject)
    if one == two or (one in _ANYBODY and two in _ANYBODY):
        return True
    if not one or not two:
        return True
    mine, theirs = words_of(candidate.subject or ""), words_of(fact.subject or "")
    if one != "user" and mine and mine <= words_of(fact.text):
        return True
    return two != "user" and bool(theirs) and theirs <= words_of(candidate.text)


def _by_slot(candidate: Candidate, own: Features, known: Sequence[Known]) -> list[Known]:
    """The slot of subject and attribute holds another value."""
    if (
        candidate.attribute is None
        or candidate.subject is None
        or candidate.attribute in MANY_VALUED
    ):
        return []
    attribute, subject = _named(candidate.attribute), _named(candidate.subject)
    held = [
        fact
        for fact in known
        if _named(fact.attribute) == attribute and _named(fact.subject) == subject
    ]
    if candidate.ends:
        return held
    replaced: list[Known] = []
    for fact in held:
        mine, theirs = str(candidate.value or candidate.text), str(fact.value or fact.text)
        if _fold(mine) == _fold(theirs):
            continue
        one, two = features(mine), features(theirs)
        # The same value said at more length is no other value.
        refined = bool(one.topic and two.topic) and (
            one.topic <= two.topic
            or one.topic >= two.topic
            or (not own.is_now and _overlap(one.topic, two.topic) >= TOPIC)
        )
        if (
            refined
            and one.digits == two.digits
            and one.is_negated == two.is_negated
            and not own.is_change
        ):
            continue
        long = max(len(mine.split()), len(theirs.split())) > _PLAIN_VALUE
        if attribute in SOFT and long and not own.is_change and not own.is_now:
            continue
        replaced.append(fact)
    return replaced


def _by_turn(candidate: Candidate, own: Features, known: Sequence[Known]) -> list[Known]:
    """A preference for what was disliked, a rule against what was asked."""
    replaced: list[Known] = []
    opposite = {"likes": "dislikes", "dislikes": "likes"}.get(candidate.attribute or "")
    for fact in known:
        if _named(fact.subject) != _named(candidate.subject):
            continue
        other = features(fact.text)
        if opposite and fact.attribute == opposite:
            mine, theirs = words_of(str(candidate.value or "")), words_of(str(fact.value or ""))
            if mine and theirs and _overlap(mine, theirs) >= TOPIC:
                replaced.append(fact)
        elif (
            candidate.kind == fact.kind
            and own.is_negated != other.is_negated
            and own.digits == other.digits
            and _jaccard(own.topic, other.topic) >= 0.75  # noqa: PLR2004 - all but a word the same
        ):
            replaced.append(fact)
    return replaced


def _by_cue(
    candidate: Candidate, own: Features, known: Sequence[Known], *, model: ReplacementModel
) -> list[Known]:
    """A statement that says that something ends or is other now, and what it speaks of.

    What the learnt weights find most unlikely stays: "is back" is said of more than it was before.
    """
    ends = candidate.ends or own.is_ended
    if not ends and not own.is_change and not own.is_now:
        return []
    is_choice = own.is_choice and own.is_now
    if not ends and candidate.attribute in MANY_VALUED and not own.former and not is_choice:
        return []
    touched = [
        (fact, features(fact.text).topic)
        for fact in known
        if fact.kind in _CHANGES[candidate.kind] and _is_one_subject(candidate, fact)
    ]
    scored: list[tuple[float, int, Known]] = []
    for fact, topic in touched:
        shared = own.topic & topic
        if not shared:
            continue
        is_weak = not ends and not own.is_change
        if is_weak and _named(fact.subject) != _named(candidate.subject):
            continue
        score = _overlap(own.topic, topic)
        # A single word is a topic only where no other fact has it too.
        if len(shared) == 1 and sum(not shared.isdisjoint(other) for _, other in touched) > 1:
            same = _named(fact.subject) == _named(candidate.subject) not in _GENERAL
            if not same or not ends:
                continue
        # "MSRV goes up to 1.80": of one thing another number; that both count euros is no topic.
        is_counted = (
            own.is_change and not shared <= own.units and _is_other_number(own, features(fact.text))
        )
        if own.former & topic and score >= (FORMER if candidate.kind == fact.kind else TOPIC):
            score += 1
        elif (
            (_is_other_day(candidate, fact) and not own.is_change)
            or (
                len(shared) == 1
                and not ends
                and candidate.kind != "instruction"
                and not _is_one_thing(candidate, fact)
                and own.topic != topic
                and not is_choice
                and not is_counted
            )
            or (not ends and not own.is_change and not is_choice and score < 0.75)  # noqa: PLR2004 - a length chosen on the development set
            or score
            < (TOPIC if candidate.kind == fact.kind or len(shared) > 1 else TOPIC + 0.1)
            - (0.2 if is_counted else 0)
        ):
            continue
        if model.is_possible(candidate, fact):
            scored.append((score, len(shared), fact))
    if not scored:
        return []
    best = max(one[:2] for one in scored)
    return [
        fact
        for score, size, fact in scored
        if (score, size) == best or (candidate.kind == "event" and size > 1 and score >= SURE)
    ]


def _denies_another(candidate: Candidate, fact: Known) -> bool:
    """Whether a denial speaks of another thing than the fact, or of one of several that it names.

    "No longer allergic to cats" says nothing of nuts, and of "nuts and shellfish" one may stay.
    """
    clause = _CLAUSE_END.split(candidate.text, maxsplit=1)[0]
    if not _DENIAL.search(clause):
        return False
    denied, topic = words_of(clause), words_of(fact.text)
    if denied - topic:
        return True
    return bool(topic - denied) and _SEVERAL.search(fact.text) is not None


def _is_other_day(candidate: Candidate, fact: Known) -> bool:
    one, two = candidate.event_time, fact.event_time
    return one is not None and two is not None and one.date() != two.date()


def _is_other_number(own: Features, other: Features) -> bool:
    """Whether both give a number or a day of the week, and not the same."""
    return bool(own.digits and other.digits) and own.digits != other.digits


def _is_one_thing(candidate: Candidate, fact: Known) -> bool:
    """Whether both speak of one thing that has a name of its own."""
    one, two = _named(candidate.subject), _named(fact.subject)
    return one not in _GENERAL or (two not in _GENERAL and one != two)


def _by_number(candidate: Candidate, own: Features, known: Sequence[Known]) -> list[Known]:
    """The same statement with another number, or a planned event with another day."""
    replaced: list[Known] = []
    for fact in known:
        if _named(fact.subject) != _named(candidate.subject) or fact.kind != candidate.kind:
            continue
        other = features(fact.text)
        if own.is_negated != other.is_negated or not own.topic:
            continue
        if candidate.kind == "event":
            begins = candidate.valid_from
            planned = (
                begins is not None
                and fact.event_time is not None
                and candidate.event_time is not None
            )
            if not planned or begins is None or fact.event_time is None:
                continue
            pending = fact.event_time.date() >= begins.date()
            alike = len(own.topic & other.topic) > 2 and _overlap(own.topic, other.topic) >= 0.75  # noqa: PLR2004
            if pending and alike and _day(candidate.event_time) != _day(fact.event_time):
                replaced.append(fact)
        elif _is_other_number(own, other) and own.topic == other.topic:
            replaced.append(fact)
    return replaced


def _by_weights(
    candidate: Candidate, own: Features, known: Sequence[Known], *, model: ReplacementModel
) -> list[Known]:
    """The one that the candidate most likely replaces by the learnt weights, if likely enough."""
    if not own.topic:
        return []
    likely = [fact for fact in known if model.is_likely(candidate, fact)]
    return [max(likely, key=lambda fact: model.score(candidate, fact))] if likely else []
