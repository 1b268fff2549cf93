"""The lunisolar calendar of China and Vietnam: its days as days of the Gregorian calendar.

New moons after J. Meeus, Astronomical Algorithms (2nd ed., chapter 49) and the sun's longitude after his
chapter 25, both to minutes. A month begins on the day of the new moon; that of the winter solstice is the
eleventh; of thirteen months between two solstices the first without a principal term is a leap month. Days are
counted at the country's meridian: Vietnam is an hour behind China, and now and then a new year is another day's.
"""

from __future__ import annotations

from datetime import date
from functools import lru_cache
from math import floor, radians, sin
from typing import Final

__all__ = ["CHINA", "VIETNAM", "lunar_day", "lunar_month", "solar_term"]

# Hours ahead of UTC.
CHINA: Final = 8
VIETNAM: Final = 7

# From date.toordinal() to the number of the Julian day that begins at noon.
_ORDINAL: Final = 1_721_425
# Julian centuries count from 2000-01-01 12:00; mean lengths of a year and of a month in days.
_EPOCH: Final = 2_451_545.0
_YEAR: Final = 365.2422
_MONTH: Final = 29.530588861


def _new_moon(count: int) -> float:
    """Return the Julian day (UT) of a new moon; 0 is that of January 2000."""
    t = count / 1236.85
    mean = 2_451_550.09766 + _MONTH * count + 0.00015437 * t * t
    sun = radians(2.5534 + 29.1053567 * count)
    moon = radians(201.5643 + 385.81693528 * count + 0.0107582 * t * t)
    node = radians(160.7108 + 390.67050284 * count - 0.0016118 * t * t)
    e = 1 - 0.002516 * t
    terms = (
        -0.4072 * sin(moon) + 0.17241 * e * sin(sun) + 0.01608 * sin(2 * moon) + 0.01039 * sin(2 * node)
        + 0.00739 * e * sin(moon - sun) - 0.00514 * e * sin(moon + sun) + 0.00208 * e * e * sin(2 * sun)
        - 0.00111 * sin(moon - 2 * node) - 0.00057 * sin(moon + 2 * node) + 0.00056 * e * sin(2 * moon + sun)
        - 0.00042 * sin(3 * moon) + 0.00042 * e * sin(sun + 2 * node) + 0.00038 * e * sin(sun - 2 * node)
    )  # fmt: skip
    return mean + terms - _lag(t)


def _lag(t: float) -> float:
    """Return by how many days the even time of the formulas is ahead of the clock."""
    return (64 + 59 * t) / 86_400 if t < 0.5 else (93 + 110 * (t - 0.5)) / 86_400  # noqa: PLR2004 - 2050


def _longitude(day: float) -> float:
    """Return the apparent longitude of the sun in degrees at a Julian day (UT)."""
    t = (day - _EPOCH) / 36_525
    t += _lag(t) / 36_525
    anomaly = radians(357.52911 + 35_999.05029 * t)
    centre = (
        (1.914602 - 0.004817 * t) * sin(anomaly) + 0.019993 * sin(2 * anomaly) + 0.000289 * sin(3 * anomaly)
    )  # fmt: skip
    node = radians(125.04 - 1934.136 * t)
    return (280.46646 + 36_000.76983 * t + centre - 0.00569 - 0.00478 * sin(node)) % 360


def _first_day(count: int, zone: int) -> int:
    """Return the Julian day number of the day that a new moon falls on."""
    return floor(_new_moon(count) + 0.5 + zone / 24)


def _term(day: int, zone: int) -> int:
    """Return which twelfth of its course the sun is in when a day begins."""
    return floor(_longitude(day - 0.5 - zone / 24) / 30)


@lru_cache(maxsize=64)
def _eleventh(year: int, zone: int) -> int:
    """Return the number of the new moon that begins the month of a year's winter solstice."""
    last = date(year, 12, 31).toordinal() + _ORDINAL
    count = floor((last - _EPOCH) / _MONTH) + 1
    # Not before the sun has entered its ninth twelfth: the solstice is later than the month's beginning.
    while _first_day(count, zone) > last or _term(_first_day(count, zone), zone) >= 9:  # noqa: PLR2004
        count -= 1
    return count


@lru_cache(maxsize=64)
def _months(year: int, zone: int) -> tuple[tuple[int, int], ...]:
    """Return the months between two eleventh ones: number and first day, a leap month's number negative."""
    start, end = _eleventh(year, zone), _eleventh(year + 1, zone)
    has_leap = end - start == 13  # noqa: PLR2004 - moons between two solstices
    months: list[tuple[int, int]] = []
    number = 11
    for count in range(start, end):
        first = _first_day(count, zone)
        is_leap = (
            has_leap
            and count > start
            and _term(first, zone) == _term(_first_day(count + 1, zone), zone)
        )
        if is_leap:
            has_leap = False
            months.append((-number, first))
            continue
        number = 11 if count == start else number % 12 + 1
        months.append((number, first))
    return tuple(months)


def _date(day: int) -> date:
    return date.fromordinal(day - _ORDINAL)


def lunar_day(year: int, month: int, day: int, zone: int) -> date | None:
    """Return the day of a lunar year that begins in the given year; None where the month has no such day.

    Args:
        year: 1600 to 2400; the formulas hold no further.
        month: 1 to 12, never the leap month.
        day: 1 to 30; 30 of the twelfth month is its last day, be it the 29th.
        zone: ``CHINA`` or ``VIETNAM``.
    """
    if not 1600 <= year <= 2400:  # noqa: PLR2004 - see above
        return None
    months = (*(one for one in _months(year - 1, zone) if abs(one[0]) < 11), *_months(year, zone))  # noqa: PLR2004
    firsts = [first for _, first in months]
    at = next(at for at, (number, _) in enumerate(months) if number == month)
    after = firsts[at + 1] if at + 1 < len(firsts) else _first_day(_eleventh(year + 1, zone), zone)
    if month == 12:  # noqa: PLR2004 - the last day of the year has the name of the 30th
        day = min(day, after - firsts[at])
    return _date(firsts[at] + day - 1) if 1 <= day <= after - firsts[at] else None


def lunar_month(day: date, zone: int) -> tuple[int, int]:
    """Return the lunar year and month that a day lies in; a leap month has the number of the one before."""
    number = day.toordinal() + _ORDINAL
    for year in (day.year + 1, day.year, day.year - 1):
        before = [one for one in _months(year - 1, zone) if one[1] <= number]
        if before:
            month = abs(before[-1][0])
            return (year - 1 if month >= 11 else year), month  # noqa: PLR2004 - the year ends with the twelfth
    raise AssertionError


def solar_term(year: int, degrees: int, zone: int) -> date:
    """Return the day on which the sun comes to a longitude: 15 at Qingming, 270 at the winter solstice."""
    day = date(year, 3, 20).toordinal() + _ORDINAL + floor((degrees - 2) % 360 / 360 * _YEAR)
    while (_longitude(day + 0.5 - zone / 24) - degrees) % 360 > 180:  # noqa: PLR2004 - not reached yet
        day += 1
    return _date(day)
