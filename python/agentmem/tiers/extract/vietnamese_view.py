"""A piece of a Vietnamese sentence under a cursor, and the subject that stands at its head."""

# ruff: noqa: E501 - a pattern or a list is read more easily whole
from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from agentmem.tiers.extract import vietnamese_words as lexicon
from agentmem.tiers.extract.segments import Word
from agentmem.tiers.extract.vietnamese_words import Phrases
from agentmem.tiers.word_list import words

__all__ = ["PREDICATES", "Subject", "View", "skip", "subject_of"]

# Verbs that also name what happens: "họp nhóm", "thi cuối kỳ".
_HAPPENINGS: Final = Phrases("họp|thi|khám|phỏng vấn|cưới|demo|đi chơi|thuyết trình")
_DIRECTIONS: Final = words("lên ra vào về đến tới này để len vao ve den toi nay de")
_LONGEST_NOUN: Final = 7
_PLAYS: Final = Phrases(
    "chơi|tập|chạy bộ|đá bóng|đá banh|bơi|học|đi bộ|đọc|nghe|xem|uống|ăn|tập gym|đạp xe|ăn chay"
)
PREDICATES: Final = Phrases.union(
    lexicon.LIKES, lexicon.DISLIKES, lexicon.SKILLS, lexicon.HEALTH, lexicon.NAME, lexicon.LIVES, lexicon.WORKS, lexicon.HAS,
    lexicon.DECIDES, lexicon.RESCHEDULES, lexicon.STOPS, lexicon.IS, lexicon.EVENTS, lexicon.ADVERBS, lexicon.NEGATION,
    lexicon.STATES, lexicon.TRAITS, lexicon.ORIGIN, _PLAYS,
)  # fmt: skip


@dataclass(slots=True)
class View:
    """A piece of a sentence with a cursor: the tokens, and which of them belong to dates."""

    tokens: list[str]
    places: list[Word]
    start: int
    end: int
    is_bare: bool
    dated: dict[int, int]

    def at(self, phrases: Phrases, place: int) -> int:
        """Return how many words of the longest phrase stand at a place of the piece, or 0."""
        size = phrases.at(self.tokens, place, is_bare=self.is_bare)
        return size if place + size <= self.end else 0

    def has(self, phrases: Phrases, start: int | None = None) -> bool:
        """Whether a phrase stands anywhere in the piece, from ``start`` on."""
        begin = self.start if start is None else start
        return phrases.find(self.tokens, begin, self.end, is_bare=self.is_bare) >= 0

    def is_capital(self, place: int) -> bool:
        """Whether the word at a place is written with a capital."""
        return place < self.end and self.places[place].raw[:1].isupper()

    def is_number(self, place: int) -> bool:
        """Whether a number stands at a place, in digits or in words."""
        if place >= self.end:
            return False
        token = self.tokens[place]
        return token[:1].isdecimal() or token in {
            "một",
            "hai",
            "ba",
            "bốn",
            "năm",
            "sáu",
            "bảy",
            "tám",
            "chín",
            "mười",
            "mot",
            "bon",
            "muoi",
            "vài",
        }


@dataclass(slots=True)
class Subject:
    """Whom a piece is about; the predicate begins at ``verb``, which is ``start`` where no subject stands."""

    who: str  # user, we, kin, name, noun
    name: str
    start: int
    verb: int


def skip(view: View, place: int, phrases: Phrases) -> int:
    """Return the first place that is neither a date nor one of the phrases."""
    while place < view.end:
        if place in view.dated:
            place = view.dated[place]
        elif (
            view.tokens[place] in {"từ", "vào", "tu", "vao", "đến", "den"}
            and place + 1 in view.dated
        ):
            place += 1
        elif size := view.at(phrases, place):
            if (
                phrases is lexicon.LEADS
                and view.tokens[place] in {"con", "xong", "roi"}
                and view.is_bare
                and place > view.start
            ):
                break
            place += size
        else:
            break
    return place


def subject_of(view: View, place: int, previous: Subject | None) -> Subject:
    """Return the subject at a place; the one before, else the speaker, where none stands."""
    tokens = view.tokens
    measured = place + view.at(lexicon.MEASURES, place)
    for begin in dict.fromkeys((measured, place)):
        size = view.at(lexicon.KIN, begin)
        owned = begin + size
        if size and (
            (view.tokens[owned : owned + 1] and tokens[owned] in lexicon.POSSESSIVE)
            or tokens[owned : owned + 1] in (["của"], ["cua"])
        ):
            after = owned + (2 if tokens[owned] in {"của", "cua"} else 1)
            return Subject("kin", " ".join(tokens[begin:owned]), place, after)
        multi = size > 1 and tokens[begin] not in {"con", "bạn", "ban"}
        if multi:
            return Subject("kin", " ".join(tokens[begin:owned]), place, owned)
    if (size := view.at(lexicon.WE, place)) and not (
        view.is_capital(place + size) and tokens[place] not in {"nhóm", "team"}
    ):
        own = tokens[place] in {"gia", "nhà", "vợ", "nha", "vo"}
        return Subject(
            "user" if own else "we", " ".join(tokens[place : place + size]), place, place + size
        )
    if (
        (size := view.at(lexicon.TITLES, place))
        and view.is_capital(place + size)
        and place + size not in view.dated
    ):
        after = place + size
        while view.is_capital(after) and after - place < 5 and after not in view.dated:  # noqa: PLR2004 - no longer name
            after += 1
        if after < view.end:
            return Subject(
                "name", " ".join(view.places[k].raw for k in range(place, after)), place, after
            )
    if size := view.at(lexicon.PRONOUN, place):
        return Subject("user", "user", place, place + size)
    if (view.is_capital(place) and place > 0) or (
        view.is_capital(place) and view.is_capital(place + 1)
    ):
        after = place
        while view.is_capital(after) and after - place < 5:  # noqa: PLR2004
            after += 1
        verb = _predicate_at(view, after)
        if after < view.end and verb:
            return Subject(
                "name", " ".join(view.places[k].raw for k in range(place, after)), place, after
            )
    if view.at(_HAPPENINGS, place) and not _predicate_at(view, place + 1):
        for k in range(place + 1, min(place + _LONGEST_NOUN, view.end)):
            if view.at(lexicon.RESCHEDULES, k):
                return Subject("noun", " ".join(tokens[place:k]), place, k)
    if not _predicate_at(view, place) and tokens[place] not in _DIRECTIONS:
        for k in range(
            place + max(1, view.at(lexicon.APPOINTMENTS, place)),
            min(place + _LONGEST_NOUN, view.end),
        ):
            if k in view.dated or (_noun_verb(view, k) and k > place):
                return Subject("noun", " ".join(tokens[place:k]), place, k)
    if previous is not None:
        return Subject(previous.who, previous.name, place, place)
    return Subject("user", "user", place, place)


def _noun_verb(view: View, k: int) -> bool:
    return bool(
        view.at(lexicon.IS, k) or view.at(lexicon.SWITCHES, k) > 1 or view.at(lexicon.STATES, k) or view.at(lexicon.RESCHEDULES, k)
        or view.at(lexicon.DECIDES, k)
        or (view.at(lexicon.NAME, k) and view.is_capital(k + view.at(lexicon.NAME, k)))
        or (view.at(lexicon.ADVERBS, k) and view.at(PREDICATES, k + view.at(lexicon.ADVERBS, k)) and view.tokens[k] in lexicon.PAST | lexicon.FUTURE | {"bị", "được", "phải", "đang"})
    )  # fmt: skip


def _predicate_at(view: View, k: int) -> bool:
    return bool(view.at(PREDICATES, k))
