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
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Final

from agentmem.tiers.extract.date_forms import ABSOLUTE, BARE, RELATIVE, Resolve, shift, weekday
from agentmem.tiers.extract.segments import Language

__all__ = ["Dated", "find_dates"]


@dataclass(frozen=True, slots=True)
class Dated:
    """A date expression: where it stands, the day it means, whether it is relative.

    ``is_bare_weekday`` says that only the tense of the sentence tells which week is meant.
    """

    start: int
    end: int
    when: datetime
    is_relative: bool
    is_bare_weekday: bool = False


# A word without which no date can stand in the text: a cheap look before the long patterns.
_HINTS: Final[dict[Language, re.Pattern[str]]] = {
    "en": re.compile(
        r"\d|day|week|month|year|morrow|tonight|night|this |next|last|ago|quarter|tmrw|january|february"
        r"|march|april|\bmay\b|june|july|august|september|october|november|december"
    ),
    "vi": re.compile(
        r"\d|mai|qua|nay|này|sau|trước|truoc|tới|toi|rồi|roi|kia|nữa|nua|thứ|thu|chủ|chu|ngày|ngay"
        r"|tháng|thang|tuần|tuan|mốt|năm|đây|cn\b"
    ),
    "zh": re.compile(r"\d|[天日周月年号]|星期|礼拜|[今明昨][早晚儿]"),
}
_CLOCK: Final[dict[Language, re.Pattern[str]]] = {
    "en": re.compile(r"\b(?:at |around |by )?(\d{1,2})(?::(\d\d))? ?([ap])\.?m\b|\bat (\d{1,2})(?::(\d\d))?(?![\d%/])"),
    "vi": re.compile(
        r"(?:lúc |luc )?(?<!\d)(\d{1,2})\s?(?:h|giờ|gio|:)\s?(\d\d)?(?!\w)(?:\s(sáng|trưa|chiều"
        r"|tối|sang|trua|chieu|toi))?"
    ),
    "zh": re.compile(r"(上午|下午|晚上|早上|中午)?(\d{1,2})[点:：](\d\d)?"),
}  # fmt: skip


# For each form, in order, pieces of which every match has one: a form is tried only where one stands
# in the text, a look that costs a hundredth of the search.
_EN_MONTHS: Final = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_VI_DAYS: Final = "thứ|thu|nhật|nhat|cn|t2|t3|t4|t5|t6|t7"
_PIECES: Final[dict[Language, tuple[str, ...]]] = {
    "en": ("after tomorrow", "before yesterday", "tomorrow|tmrw", "yesterday|last night", "today|tonight|this ", " of ", "day",
           "week", "week", "month", "month", "week|month|quarter|year", "in ", "now|today|later", " ago| back", "over the weekend",
           "19|20", _EN_MONTHS, _EN_MONTHS, "the ", "19|20", _EN_MONTHS),
    "vi": (_VI_DAYS, _VI_DAYS, "kia|mốt|mot", "kia", "mai", "qua|qa", "nay|này", "cách|cach", "trước|truoc", "nữa|nua|sau|tới|toi",
           "sau|trong", "tháng|thang", "tháng|thang", "tuần|tuan", "tuần|tuan", "tháng|thang", "năm|nam", "tuần|tuan", "tuần|tuan|tháng|thang|năm|nam|quý",
           "19|20", "/", "tháng|thang", "ngày|ngay|mùng|mồng|mung", "tháng|thang"),
    "zh": ("大后", "大前", "后天", "前天", "明", "昨", "今", "周|星期|礼拜", "周末", "月", "周|星期|礼拜|月", "年", "前", "后",
           "19|20", "月", "号|日", "月"),
}  # fmt: skip
_BARE_PIECES: Final[dict[Language, str]] = {"en": "day", "vi": _VI_DAYS, "zh": "周|星期|礼拜"}


def _compile(form: str, language: Language) -> re.Pattern[str]:
    left, right = ("", "") if language == "zh" else (r"(?<![^\W_])", r"(?![^\W_])")
    return re.compile(f"{left}(?:{form}){right}")


def _forms(
    language: Language,
) -> tuple[tuple[tuple[str, ...], re.Pattern[str], Resolve, bool], ...]:
    forms = (*RELATIVE[language], *ABSOLUTE[language])
    relative = len(RELATIVE[language])
    return tuple(
        (tuple(pieces.split("|")), _compile(form, language), resolve, at < relative)
        for at, (pieces, (form, resolve)) in enumerate(zip(_PIECES[language], forms, strict=True))
    )


_FORMS: Final = {language: _forms(language) for language in _PIECES}
_BARE_FORMS: Final = {
    language: (tuple(_BARE_PIECES[language].split("|")), _compile(form, language))
    for language, form in BARE.items()
}


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


def _matches(lower: str, said: date, language: Language) -> Iterator[Dated]:
    for pieces, pattern, resolve, is_relative in _FORMS[language]:
        for piece in pieces:
            if piece in lower:
                break
        else:
            continue
        for match in pattern.finditer(lower):
            day = resolve(match, said)
            if day is not None:
                yield Dated(*match.span(), datetime.combine(day, time()), is_relative)
    pieces, pattern = _BARE_FORMS[language]
    if not any(piece in lower for piece in pieces):
        return
    for match in pattern.finditer(lower):
        ahead = (weekday(match["day"]) - said.weekday()) % 7
        day = shift(said, ahead)
        if day is not None:
            yield Dated(*match.span(), datetime.combine(day, time()), True, True)


def find_dates(text: str, said: datetime, language: Language) -> list[Dated]:
    """Return the dates that a sentence names, in order, none overlapping another.

    Args:
        text: One sentence; offsets are into it.
        said: When it was said, with the speaker's zone: the zone of every answer.
        language: Whose forms are read.

    Returns:
        Days at 00:00, or at the hour that the sentence names where it names one date only.
    """
    lower = text.lower()
    if len(lower) != len(text):  # a letter whose lower case is longer would move the offsets
        lower = "".join(one if len(one := char.lower()) == 1 else char for char in text)
    if not _HINTS[language].search(lower):
        return []
    taken: list[Dated] = []
    for found in _matches(lower, said.date(), language):
        if found.start and text[found.start : found.end] == "Mai":
            continue  # a name, not tomorrow
        if all(found.end <= other.start or found.start >= other.end for other in taken):
            taken.append(found)
    taken.sort(key=lambda found: found.start)
    clock = _clock(lower, language) if taken else None
    # The hour belongs to the date next to it.
    near = -1
    if clock is not None:
        places = [min(abs(clock[1] - one.start), abs(clock[1] - one.end)) for one in taken]
        near = places.index(min(places))
    return [
        Dated(
            one.start,
            one.end,
            datetime.combine(
                one.when.date(), clock[0] if clock and at == near else time(), said.tzinfo
            ),
            one.is_relative,
            one.is_bare_weekday,
        )
        for at, one in enumerate(taken)
    ]
