"""Find the dates that a sentence names and make them absolute against the time it was said.

Relative forms are our own table in three languages: they are short, closed lists, and general
date libraries resolve about half of the Vietnamese ones. Weeks begin on Monday. "Next" with a
weekday is that day of the following week, "this" that day of the present one, "last" that day of
the week before; a weekday alone is the nearest one in the direction of the sentence. A span of
time (a week, a month) stands for its first day, a weekend for its Saturday.
"""

# ruff: noqa: E501 - a pattern or a list is read more easily whole
from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta, tzinfo
from functools import lru_cache
from typing import Final

from agentmem.tiers.extract.date_chinese import CHINESE
from agentmem.tiers.extract.date_english import ENGLISH
from agentmem.tiers.extract.date_forms import Form, Open
from agentmem.tiers.extract.date_vietnamese import VIETNAMESE
from agentmem.tiers.extract.segments import Language
from agentmem.tiers.extract.vietnamese_words import fold

__all__ = ["Dated", "find_dates"]


@dataclass(frozen=True, slots=True)
class Dated:
    """A date expression: where it stands, the day it means, whether it is relative.

    Attributes:
        start: Where it begins in the text.
        end: Where it ends.
        when: The day that it means where nothing else tells.
        is_relative: Whether it needs the day that it was said on, for more than the year.
        is_bare_weekday: Whether it is a weekday and nothing else.
        is_weak: Whether it is a feast or a season, which may also say of what a thing is: "the Christmas tree".
        is_week: Whether it is a whole week.
        other: The day on the other side of the present that the tense of the sentence may tell: "on Monday", "in May".
    """

    start: int
    end: int
    when: datetime
    is_relative: bool
    is_bare_weekday: bool = False
    is_weak: bool = False
    is_week: bool = False
    other: datetime | None = None

    def in_tense(self, tense: int) -> Dated:
        """Return the date as it is meant in the past (-1) or the future (1); 0 leaves it."""
        if self.other is None or not tense or (self.other > self.when) != (tense > 0):
            return self
        return replace(self, when=self.other, other=self.when)

    def moved(self, by: int) -> Dated:
        """Return the date with its place so many characters further on."""
        return replace(self, start=self.start + by, end=self.end + by)

    def _at(self, hour: time, zone: tzinfo | None) -> Dated:
        other = self.other and datetime.combine(self.other.date(), hour, zone)
        return replace(self, when=datetime.combine(self.when.date(), hour, zone), other=other)


_CLOCK: Final[dict[Language, re.Pattern[str]]] = {
    "en": re.compile(r"\b(?:at |around |by )?(\d{1,2})(?::(\d\d))? ?([ap])\.?m\b|\bat (\d{1,2})(?::(\d\d))?(?![\d%/])"),
    "vi": re.compile(
        r"(?:lúc |luc )?(?<!\d)(\d{1,2})\s?(?:h|giờ|gio|:)\s?(\d\d)?(?!\w)(?:\s(sáng|trưa|chiều"
        r"|tối|sang|trua|chieu|toi))?"
    ),
    "zh": re.compile(r"(上午|下午|晚上|早上|中午)?(\d{1,2})[点:：](\d\d)?"),
}  # fmt: skip


# Signs that are read as others: typographic apostrophes, digits of full width.
_SAME: Final = str.maketrans("’０１２３４５６７８９", "'0123456789")
_TABLES: Final[dict[Language, tuple[Form, ...]]] = {"en": ENGLISH, "vi": VIETNAMESE, "zh": CHINESE}


_WORD: Final = re.compile(r"[^\W_]+")
_DIGIT: Final = re.compile(r"\d")


class _Forms:
    """A language's forms, compiled; a form is tried only where one of its words stands in the text.

    That look costs a hundredth of a search. With ``bare`` they are those of a text without marks.
    """

    def __init__(self, language: Language, *, bare: bool = False) -> None:
        self._has_words = language != "zh"
        self._forms: list[tuple[re.Pattern[str], Form, list[set[str]]]] = []
        self._by_word: dict[str, list[int]] = {}
        for form in _TABLES[language]:
            if bare and form.needs_marks:
                continue
            first, *others = [
                set((fold(group) if bare else group).split()) for group in form.words.split("&")
            ]
            for word in first:
                self._by_word.setdefault(word, []).append(len(self._forms))
            self._forms.append((_compiled(form.pattern, language, bare=bare), form, others))
        self._words = frozenset(self._by_word)

    def matches(self, lower: str, said: datetime) -> Iterator[Dated]:
        """Yield what each form finds, in the order of the forms."""
        words = set(_WORD.findall(lower) if self._has_words else lower)
        if _DIGIT.search(lower):
            words.add("#")
        tried = {at for word in self._words & words for at in self._by_word[word]}
        today = said.date()
        for at in sorted(tried):
            pattern, form, others = self._forms[at]
            if any(group.isdisjoint(words) for group in others):
                continue
            for match in pattern.finditer(lower):
                day = form.resolve(match, today)
                if isinstance(day, timedelta):
                    day = _moved(said, day)
                if day is not None:
                    yield _dated(match, day, form)


def _compiled(form: str, language: Language, *, bare: bool) -> re.Pattern[str]:
    if language == "zh":
        return re.compile(form)
    form = (fold(form) if bare else form).replace(" ", r"\s")
    return re.compile(rf"(?<![^\W_])(?:{form})(?![^\W_])")


def _moved(said: datetime, by: timedelta) -> date | None:
    try:
        return (said + by).date()
    except OverflowError:
        return None


def _dated(match: re.Match[str], day: date | Open, form: Form) -> Dated:
    meant, other = (
        (day, None)
        if isinstance(day, date)
        else (day.day, day.before if day.day == day.after else day.after)
    )
    return Dated(
        *match.span(),
        datetime.combine(meant, time()),
        form.is_relative,
        form.is_bare_weekday,
        form.is_weak,
        form.is_week,
        datetime.combine(other, time()) if other and other != meant else None,
    )


_FORMS: Final[dict[Language, _Forms]] = {language: _Forms(language) for language in _TABLES}
_BARE: Final = _Forms("vi", bare=True)


def _clock(text: str, language: Language) -> tuple[time, int] | None:
    """Return the hour that a sentence names and where, None where it names none or several."""
    matches = list(_CLOCK[language].finditer(text))
    if len(matches) != 1:
        return None
    match = matches[0]
    if language == "zh":
        part, hour, minute = match[1] or "", int(match[2]), int(match[3] or 0)
        late = part in {"下午", "晚上"}
    elif language == "vi":
        hour, minute = int(match[1]), int(match[2] or 0)
        late = (match[3] or "") in {"chiều", "tối", "chieu", "toi"}
    else:
        hour, minute = int(match[1] or match[4]), int(match[2] or match[5] or 0)
        late = match[3] == "p"
        if match[3] == "a" and hour == 12:  # noqa: PLR2004 - midnight is 12 a.m.
            hour = 0
    if late and hour < 12:  # noqa: PLR2004 - the clock's half
        hour += 12
    return (time(hour, minute), match.start()) if hour < 24 and minute < 60 else None  # noqa: PLR2004


# What joins "on Tuesday" to "from next week on" after it.
_FROM: Final = re.compile(r"bắt đầu|bat dau|kể từ|ke tu|starting|beginning|from|从|开始")
_APART: Final = re.compile(r"[,;:.!?()，。；：！？]")
_NEAR: Final = 32
_BESIDE: Final = re.compile(r"[\s,(（]{0,2}")


def _join(dates: list[Dated], text: str) -> None:
    """Reckon two dates beside each other as one: "next week's review is on Tuesday", "Friday the 20th"."""
    for at in range(len(dates) - 1):
        one, two = dates[at], dates[at + 1]
        if not (one.is_bare_weekday or two.is_bare_weekday):
            continue
        between = text[one.end : two.start]
        if len(between) > _NEAR:
            continue
        day, beside = (one, two) if one.is_bare_weekday else (two, one)
        if beside.is_week and (
            _FROM.search(between) if two.is_week else not _APART.search(between)
        ):
            when = beside.when + timedelta(days=day.when.weekday())
        elif _BESIDE.fullmatch(between):
            days = [
                when
                for when in (beside.when, beside.other)
                if when and when.weekday() == day.when.weekday()
            ]
            if not days:
                continue
            when = days[0]
        else:
            continue
        dates[at : at + 2] = [
            replace(one, when=when, other=None),
            replace(two, when=when, other=None),
        ]


def find_dates(text: str, said: datetime, language: Language) -> list[Dated]:
    """Return the dates that a sentence names, in order, none overlapping another.

    Args:
        text: One sentence; offsets are into it.
        said: When it was said, with the speaker's zone: the zone of every answer.
        language: Whose forms are read.

    Returns:
        Days at 00:00, or at the hour that the sentence names where it names one date only.
    """
    return list(_found(text, said, language))


# The rules and the choice among a sentence's dates ask one after the other.
@lru_cache(maxsize=4)
def _found(text: str, said: datetime, language: Language) -> tuple[Dated, ...]:
    lower = text.lower()
    if len(lower) != len(text):  # a letter whose lower case is longer would move the offsets
        lower = "".join(one if len(one := char.lower()) == 1 else char for char in text)
    lower = lower.translate(_SAME)
    forms = _BARE if language == "vi" and lower.isascii() else _FORMS[language]
    taken: list[Dated] = []
    free = bytearray(len(lower))
    # The longest at a place, and of two the form that comes first.
    for found in sorted(forms.matches(lower, said), key=lambda one: one.start - one.end):
        if free.find(1, found.start, found.end) >= 0:
            continue
        if found.start and text[found.start : found.end] == "Mai":
            continue  # a name, not tomorrow
        free[found.start : found.end] = bytes((1,)) * (found.end - found.start)
        taken.append(found)
    taken.sort(key=lambda found: found.start)
    _join(taken, lower)
    clock = _clock(lower, language) if taken else None
    # The hour belongs to the date next to it.
    near = -1
    if clock is not None:
        places = [min(abs(clock[1] - one.start), abs(clock[1] - one.end)) for one in taken]
        near = places.index(min(places))
    return tuple(
        one._at(clock[0] if clock and at == near else time(), said.tzinfo)  # noqa: SLF001
        for at, one in enumerate(taken)
    )
