"""What the forms of dates are reckoned with: days that come again, spans of time and their parts."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final, Literal

__all__ = [
    "EARLY",
    "LATE",
    "MIDDLE",
    "WHOLE",
    "Form",
    "Open",
    "Part",
    "Resolve",
    "Span",
    "Unit",
    "calendar",
    "counted",
    "day_of_month",
    "earlier",
    "fixed",
    "later",
    "monday",
    "month_of_year",
    "months",
    "nearest",
    "nth_weekday",
    "of_span",
    "quarter_of_year",
    "season",
    "shift",
    "span",
    "weekday_of_week",
    "weekdays",
]

Unit = Literal[
    "minute", "hour", "day", "week", "fortnight", "weekend", "month", "quarter", "year", "decade"
]
Part = Literal["early", "middle", "late", "whole"]
EARLY: Final = "early"
MIDDLE: Final = "middle"
LATE: Final = "late"
WHOLE: Final = "whole"
# First and last day.
Span = tuple[date, date]

# So many times nearer is the past day that is meant without a tense: what is told with a day is rather to come.
_BIAS: Final = 2
_LAST_YEAR: Final = 9998
_FRIDAY: Final = 4
_SATURDAY: Final = 5


@dataclass(frozen=True, slots=True)
class Open:
    """A day that comes again and again: which is meant the tense of the sentence tells.

    Attributes:
        before: The last one up to the day it was said.
        after: The next one, that day included.
        day: The one that is meant where no tense tells.
    """

    before: date
    after: date
    day: date


# A day, one of two, or how far away a moment is; None where the calendar has no such day.
Resolve = Callable[[re.Match[str], date], "date | Open | timedelta | None"]


@dataclass(frozen=True, slots=True)
class Form:
    """One form of dates.

    Attributes:
        words: Words (of Chinese: signs), one of which stands in every match: without one the pattern is not tried;
            ``#`` is what begins with a digit. Several such groups are separated by ``&``.
        pattern: What it looks like in lower case.
        resolve: The day that a match means, said on a day.
        is_relative: Whether the day it was said is needed to know it, beyond the year.
        is_bare_weekday: Whether it is a weekday and nothing else.
        is_weak: Whether it names a feast or a season, which may also say of what a thing is: "the Christmas tree".
        is_week: Whether it is a whole week, in which a weekday beside it lies.
        needs_marks: Whether it means something else, or nothing, in Vietnamese without marks.
    """

    words: str
    pattern: str
    resolve: Resolve
    is_relative: bool = True
    is_bare_weekday: bool = False
    is_weak: bool = False
    is_week: bool = False
    needs_marks: bool = False


def shift(day: date, days: int) -> date | None:
    """Return the day that many days later; None beyond the calendar's end."""
    try:
        return day + timedelta(days=days)
    except OverflowError:
        return None


def months(day: date, count: int, *, at: int = 1) -> date | None:
    """Return the day with number ``at`` (or the last) of the month that many months later."""
    month = day.year * 12 + day.month - 1 + count
    if not 1 <= month // 12 <= _LAST_YEAR:
        return None
    year, month = month // 12, month % 12 + 1
    return date(year, month, min(at, monthrange(year, month)[1]))


def monday(day: date, weeks: int) -> date | None:
    """Return the Monday of the week that many weeks later."""
    return shift(day, 7 * weeks - day.weekday())


def earlier(day: date | Open | timedelta | None) -> date | None:
    """Return the day itself or the past one of two."""
    return day.before if isinstance(day, Open) else day if isinstance(day, date) else None


def later(day: date | Open | timedelta | None) -> date | None:
    """Return the day itself or the coming one of two."""
    return day.after if isinstance(day, Open) else day if isinstance(day, date) else None


def nearest(days: Iterable[date | None], said: date) -> Open | None:
    """Return the days before and after, of which the nearer is meant where no tense tells."""
    known = [day for day in days if day is not None]
    before = max((day for day in known if day <= said), default=None)
    after = min((day for day in known if day >= said), default=None)
    if before is None or after is None:
        only = before or after
        return Open(only, only, only) if only else None
    return Open(before, after, before if _BIAS * (said - before) < after - said else after)


def weekdays(said: date, weekday: int, *, is_strict: bool = False) -> Open | None:
    """Return a weekday (Monday 0) before and after; the next one is meant where no tense tells.

    With ``is_strict`` the day it was said is neither.
    """
    ahead = (weekday - said.weekday()) % 7
    before = shift(said, ahead - 7 if ahead or is_strict else 0)
    after = shift(said, ahead or (7 if is_strict else 0))
    return Open(before, after, after) if before and after else None


def weekday_of_week(said: date, weekday: int, weeks: int) -> date | None:
    """Return a weekday of the week that many weeks later, weeks beginning on Monday."""
    first = monday(said, weeks)
    return first and shift(first, weekday)


def counted(said: date, unit: Unit, count: int, *, half: int = 0) -> date | timedelta | None:
    """Return the day so many units later, and half a unit more (``half`` 1) or less (-1)."""
    if unit in {"minute", "hour"}:
        minutes = (60 if unit == "hour" else 1) * count + (30 if unit == "hour" else 0) * half
        return timedelta(minutes=minutes)
    days = {"day": 1, "weekend": 7, "week": 7, "fortnight": 14}.get(unit)
    if days is not None:
        return shift(said, days * count + half * days // 2)
    length = {"month": 1, "quarter": 3, "year": 12, "decade": 120}[unit]
    found = months(said, length * count + half * length // 2, at=said.day)
    return shift(found, 15 * half) if found and unit == "month" else found


def span(said: date, unit: Unit, count: int) -> Span | None:
    """Return the calendar's unit that many units later: its first and last day."""
    first: date | None
    if unit in {"week", "weekend", "fortnight"}:
        first = monday(said, count)
        begin = first and shift(first, _SATURDAY if unit == "weekend" else 0)
        end = first and shift(first, 6)
        return (begin, end) if begin and end else None
    if unit in {"month", "quarter"}:
        length = 3 if unit == "quarter" else 1
        first = months(said, length * count - (said.month - 1) % length)
    elif unit in {"year", "decade"}:
        length = 12 if unit == "year" else 120
        year = said.year + count if unit == "year" else said.year // 10 * 10 + 10 * count
        first = date(year, 1, 1) if 1 <= year <= _LAST_YEAR else None
    else:
        first = shift(said, count)
        return (first, first) if first else None
    following = first and months(first, length)
    last = following and shift(following, -1)
    return (first, last) if first and last else None


def of_span(whole: Span | None, part: Part) -> date | None:
    """Return the day that a part of a span stands for: its first, a middle one, the last; of a week Friday."""
    if whole is None:
        return None
    first, last = whole
    length = (last - first).days
    if part == MIDDLE:
        return first + timedelta(days=2 if length == 6 else length // 2)  # noqa: PLR2004 - a week's Wednesday
    if part == LATE:
        return first + timedelta(days=_FRIDAY) if length == 6 else last  # noqa: PLR2004 - a week
    return first


def _yearly(said: date, of_year: Callable[[int], Span | None], part: Part) -> Open | None:
    """Return a part of a span of every year; where it is said within the span, that one is meant."""
    spans = [
        of_year(said.year + off) for off in (-2, -1, 0, 1, 2) if 1 <= said.year + off <= _LAST_YEAR
    ]
    for one in spans:
        if one and one[0] <= said <= one[1] and (day := of_span(one, part)):
            return Open(day, day, day)
    return nearest((of_span(one, part) for one in spans), said)


def _in_year(
    said: date, year: int | None, of_year: Callable[[int], Span | None], part: Part
) -> date | Open | None:
    if year is None:
        return _yearly(said, of_year, part)
    return of_span(of_year(year), part) if 1 <= year <= _LAST_YEAR else None


def _months_of(first: int, length: int) -> Callable[[int], Span | None]:
    def of_year(year: int) -> Span | None:
        begin = date(year, first, 1)
        following = months(begin, length)
        return (begin, following - timedelta(days=1)) if following else None

    return of_year


def month_of_year(
    said: date, month: int, year: int | None, part: Part = WHOLE
) -> date | Open | None:
    """Return a part of a month; without a year of the last or the next one."""
    return _in_year(said, year, _months_of(month, 1), part) if 1 <= month <= 12 else None  # noqa: PLR2004


def quarter_of_year(
    said: date, quarter: int, year: int | None, part: Part = WHOLE
) -> date | Open | None:
    """Return a part of a quarter (1 to 4); without a year of the last or the next one."""
    return _in_year(said, year, _months_of(3 * quarter - 2, 3), part) if 1 <= quarter <= 4 else None  # noqa: PLR2004


def season(said: date, number: int, year: int | None, part: Part = WHOLE) -> date | Open | None:
    """Return a part of a season: spring (0) is March to May, winter (3) ends in the year after."""
    return _in_year(said, year, _months_of(3 * number + 3, 3), part)


def calendar(year: int | None, month: int, day: int, said: date) -> date | Open | None:
    """Return a day of a month; without a year the last or the next one."""
    try:
        if year is not None:
            return date(year + 2000 if year < 100 else year, month, day)  # noqa: PLR2004 - two digits
        years = (year for year in range(said.year - 4, said.year + 5) if 1 <= year <= _LAST_YEAR)
        near = [date(one, month, day) for one in years if day <= monthrange(one, month)[1]]
    except ValueError:
        return None
    return nearest(near, said)


def day_of_month(said: date, day: int, month: int | None = None) -> date | Open | None:
    """Return a day of this month (0), of the next (1) …; with None of the last or the next month that has it."""
    if month is not None:
        found = months(said, month, at=day)
        return found if found and found.day == day else None
    near = (months(said, off, at=day) for off in (-2, -1, 0, 1, 2))
    return nearest((one for one in near if one and one.day == day), said)


def nth_weekday(first: date, weekday: int, nth: int) -> date | None:
    """Return the nth weekday (0 the first, -1 the last) of the month that begins on a day."""
    length = monthrange(first.year, first.month)[1]
    at = 1 + (weekday - first.weekday()) % 7 + 7 * (nth if nth >= 0 else 5)
    while nth < 0 and at > length:
        at -= 7
    return first.replace(day=at) if at <= length else None


def fixed(days: int) -> Resolve:
    """Return what reads a form as so many days later."""
    return lambda _match, said: shift(said, days)
