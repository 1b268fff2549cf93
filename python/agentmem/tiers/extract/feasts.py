"""Feasts: the days of a year that have a name, and how each is reckoned."""

# ruff: noqa: E501 - a list is read more easily whole
from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
from functools import lru_cache
from typing import Final

from agentmem.tiers.extract.date_forms import Open, nearest, nth_weekday
from agentmem.tiers.extract.lunar import CHINA, VIETNAM, lunar_day, solar_term
from agentmem.tiers.extract.segments import Language
from agentmem.tiers.extract.vietnamese_words import fold

__all__ = ["FEASTS", "YearDay", "easter", "feast", "lunar", "named"]

# The day in a year.
YearDay = Callable[[int], "date | None"]


def _solar(month: int, day: int) -> YearDay:
    return lambda year: date(year, month, day)


def _nth(month: int, weekday: int, nth: int, plus: int = 0) -> YearDay:
    def of_year(year: int) -> date | None:
        day = nth_weekday(date(year, month, 1), weekday, nth)
        return day + timedelta(days=plus) if day else None

    return of_year


@lru_cache(maxsize=64)
def easter(year: int) -> date:
    """Return Easter Sunday of the Western churches (the anonymous Gregorian algorithm, Meeus chapter 8)."""
    a, (b, c) = year % 19, divmod(year, 100)
    d, e = divmod(b, 4)
    g = (8 * b + 13) // 25
    h = (19 * a + b - d - g + 15) % 30
    i, k = divmod(c, 4)
    weekday = (32 + 2 * e + 2 * i - h - k) % 7
    m = (a + 11 * h + 22 * weekday) // 451
    month, day = divmod(h + weekday - 7 * m + 114, 31)
    return date(year, month, day + 1)


def _easter(plus: int) -> YearDay:
    return lambda year: easter(year) + timedelta(days=plus)


def lunar(month: int, day: int, zone: int, plus: int = 0) -> YearDay:
    """Return the day of a lunar month, and so many days later, in each lunar year."""

    @lru_cache(maxsize=64)
    def of_year(year: int) -> date | None:
        found = lunar_day(year, month, day, zone)
        return found + timedelta(days=plus) if found else None

    return of_year


def _term(degrees: int) -> YearDay:
    return lambda year: solar_term(year, degrees, CHINA)


_MON, _TUE, _THU, _SUN = 0, 1, 3, 6
_ENGLISH: Final[dict[str, YearDay]] = {
    "new year's eve|nye": _solar(12, 31), "new year's(?: day)?|new years day": _solar(1, 1), "epiphany": _solar(1, 6), "at new year": _solar(1, 1),
    "mlk day|martin luther king(?: jr)? day": _nth(1, _MON, 2), "burns night": _solar(1, 25), "australia day": _solar(1, 26),
    "groundhog day": _solar(2, 2), "waitangi day": _solar(2, 6), "valentine's(?: day)?|valentines(?: day)?": _solar(2, 14),
    "presidents'? day|president's day": _nth(2, _MON, 2), "st\\.? david's day": _solar(3, 1), "(?:international )?women's day": _solar(3, 8),
    "pi day": _solar(3, 14), "(?:st\\.?|saint) patrick's(?: day)?|paddy's day": _solar(3, 17), "april fools?'?s?(?: day)?": _solar(4, 1),
    "earth day": _solar(4, 22), "st\\.? george's day": _solar(4, 23), "anzac day": _solar(4, 25), "may day": _solar(5, 1),
    "cinco de mayo": _solar(5, 5), "mother's day": _nth(5, _SUN, 1), "early may bank holiday|may bank holiday": _nth(5, _MON, 0),
    "victoria day": lambda year: date(year, 5, 24) - timedelta(days=date(year, 5, 24).weekday()),
    "memorial day|(?:spring|late may) bank holiday": _nth(5, _MON, -1), "father's day": _nth(6, _SUN, 2), "juneteenth": _solar(6, 19),
    "midsummer(?:'s)? day|st\\.? john's day": _solar(6, 24), "canada day": _solar(7, 1), "independence day|(?:the )?(?:fourth|4th) of july": _solar(7, 4),
    "bastille day": _solar(7, 14), "august bank holiday|summer bank holiday": _nth(8, _MON, -1), "labou?r day(?: weekend)?": _nth(9, _MON, 0),
    "columbus day|indigenous peoples'? day|canadian thanksgiving": _nth(10, _MON, 1), "halloween": _solar(10, 31),
    "all saints'?(?: day)?": _solar(11, 1), "(?:us )?election day": _nth(11, _MON, 0, 1), "melbourne cup(?: day)?": _nth(11, _TUE, 0),
    "bonfire night|guy fawkes(?: night| day)?": _solar(11, 5), "veterans'? day|remembrance day|armistice day": _solar(11, 11),
    "thanksgiving(?: day)?": _nth(11, _THU, 3), "black friday": _nth(11, _THU, 3, 1), "cyber monday": _nth(11, _THU, 3, 4),
    "st\\.? andrew's day": _solar(11, 30), "st\\.? nicholas(?:'s?)?(?: day)?": _solar(12, 6), "christmas eve|xmas eve": _solar(12, 24),
    "boxing day|st\\.? stephen's day": _solar(12, 26), "(?:christmas|xmas)(?: day)?": _solar(12, 25),
    "(?:shrove|pancake|fat) tuesday|pancake day|mardi gras": _easter(-47), "ash wednesday": _easter(-46), "palm sunday": _easter(-7),
    "maundy thursday": _easter(-3), "good friday": _easter(-2), "easter monday": _easter(1), "easter(?: sunday| day)?": _easter(0),
    "ascension(?: day| thursday)?": _easter(39), "(?:whit sunday|pentecost)(?: sunday)?": _easter(49), "(?:whit|pentecost) monday": _easter(50),
    "corpus christi": _easter(60), "(?:chinese|lunar) new year(?:'s day)?": lunar(1, 1, CHINA), "(?:chinese|lunar) new year's eve": lunar(12, 30, CHINA),
    "t[eế]t(?: nguy[eê]n [dđ][aá]n| holiday)?": lunar(1, 1, VIETNAM), "mid-autumn(?: festival)?": lunar(8, 15, CHINA), "dragon boat festival": lunar(5, 5, CHINA),
    "qingming(?: festival)?|tomb[- ]sweeping day": _term(15), "winter solstice": _term(270),
}  # fmt: skip
_VIETNAMESE: Final[dict[str, YearDay]] = {
    "tết dương(?: lịch)?|tết tây": _solar(1, 1), "lễ tình nhân|valentine": _solar(2, 14), "ngày thầy thuốc(?: việt nam)?": _solar(2, 27),
    "(?:ngày )?quốc tế phụ nữ": _solar(3, 8), "cá tháng tư": _solar(4, 1), "(?:lễ |ngày )?giải phóng(?: miền nam)?": _solar(4, 30),
    "(?:lễ |ngày )?quốc tế lao động": _solar(5, 1), "(?:ngày )?(?:quốc tế|tết) thiếu nhi": _solar(6, 1), "ngày của mẹ": _nth(5, _SUN, 1),
    "ngày của (?:cha|bố|ba)": _nth(6, _SUN, 2), "(?:lễ |ngày )?thương binh liệt sĩ": _solar(7, 27), "(?:lễ |ngày )?quốc khánh": _solar(9, 2),
    "(?:ngày )?phụ nữ việt nam": _solar(10, 20), "halloween": _solar(10, 31), "(?:ngày )?nhà giáo(?: việt nam)?": _solar(11, 20),
    "đêm (?:giáng sinh|noel|nô en)": _solar(12, 24), "(?:lễ )?(?:giáng sinh|noel|nô en)": _solar(12, 25), "(?:lễ )?phục sinh": _easter(0), "(?:lễ )?tạ ơn": _nth(11, _THU, 3),
    "(?:cúng |ngày |đưa |tiễn )?(?:ông công )?ông táo|ông công": lunar(12, 23, VIETNAM), "(?:đêm )?giao thừa|tất niên tết": lunar(12, 30, VIETNAM),
    "(?:ngày )?(?:vía )?thần tài": lunar(1, 10, VIETNAM), "(?:tết |lễ )?(?:nguyên tiêu|thượng nguyên)": lunar(1, 15, VIETNAM),
    "(?:tết )?hàn thực": lunar(3, 3, VIETNAM), "(?:ngày )?giỗ tổ(?: hùng vương)?": lunar(3, 10, VIETNAM), "(?:lễ |ngày |đại lễ )?(?:phật đản|vesak)": lunar(4, 15, VIETNAM),
    "(?:tết )?đoan ngọ|tết giết sâu bọ": lunar(5, 5, VIETNAM), "(?:ngày )?(?:lễ )?thất tịch": lunar(7, 7, VIETNAM), "(?:lễ |mùa )?vu lan": lunar(7, 15, VIETNAM),
    "(?:tết |rằm )?trung thu": lunar(8, 15, VIETNAM), "(?:tết )?trùng cửu": lunar(9, 9, VIETNAM), "(?:tiết |tết )?thanh minh": _term(15), "đông chí": _term(270),
    "tết(?: nguyên đán| âm(?: lịch)?| ta)?": lunar(1, 1, VIETNAM),
}  # fmt: skip
_CHINESE: Final[dict[str, YearDay]] = {
    "元旦(?:节)?": _solar(1, 1), "情人节": _solar(2, 14), "(?:三八)?妇女节|三八节": _solar(3, 8), "植树节": _solar(3, 12), "愚人节": _solar(4, 1),
    "五一(?:劳动节|假期)?|劳动节": _solar(5, 1), "青年节": _solar(5, 4), "母亲节": _nth(5, _SUN, 1), "(?:六一)?儿童节|六一": _solar(6, 1), "父亲节": _nth(6, _SUN, 2),
    "建军节": _solar(8, 1), "教师节": _solar(9, 10), "国庆(?:节)?|十一假期|十一长假": _solar(10, 1), "万圣节": _solar(10, 31), "双十一|双11": _solar(11, 11),
    "感恩节": _nth(11, _THU, 3), "双十二|双12": _solar(12, 12), "平安夜": _solar(12, 24), "圣诞(?:节)?": _solar(12, 25), "复活节": _easter(0),
    "腊八(?:节)?": lunar(12, 8, CHINA), "小年(?:夜)?": lunar(12, 23, CHINA), "除夕(?:夜)?|大年三十|年三十|大年夜|年夜饭": lunar(12, 30, CHINA),
    "春节|大年初一|农历新年|过年": lunar(1, 1, CHINA), "元宵(?:节)?": lunar(1, 15, CHINA), "清明(?:节)?": _term(15), "端午(?:节)?": lunar(5, 5, CHINA),
    "七夕(?:节)?": lunar(7, 7, CHINA), "中元节": lunar(7, 15, CHINA), "中秋(?:节)?": lunar(8, 15, CHINA), "重阳(?:节)?": lunar(9, 9, CHINA), "冬至": _term(270),
}  # fmt: skip
FEASTS: Final[dict[Language, dict[str, YearDay]]] = {
    "en": _ENGLISH,
    "vi": _VIETNAMESE,
    "zh": _CHINESE,
}

_FIRST_YEAR: Final = 1700
_LAST_YEAR: Final = 2300


def feast(said: date, of_year: YearDay, year: int | None = None) -> date | Open | None:
    """Return a feast; without a year the last or the next one; None outside 1700 to 2300."""
    if not _FIRST_YEAR <= (year or said.year) <= _LAST_YEAR:
        return None
    if year is not None:
        return of_year(year)
    return nearest((of_year(said.year + off) for off in (-2, -1, 0, 1, 2)), said)


@lru_cache(maxsize=1024)
def named(name: str, language: Language) -> YearDay | None:
    """Return the feast of a name, marks or none; None for no feast."""
    for pattern, of_year in FEASTS[language].items():
        if re.fullmatch(pattern, name) or (language == "vi" and re.fullmatch(fold(pattern), name)):
            return of_year
    return None
