"""Find the dates that a sentence names and make them absolute against the time it was said.

Relative forms are our own table in three languages: they are short, closed lists, and general
date libraries resolve about half of the Vietnamese ones. Weeks begin on Monday. "Next" with a
weekday is that day of the following week, "this" that day of the present one, "last" that day of
the week before; a weekday alone is the nearest one in the direction of the sentence. A span of
time (a week, a month) stands for its first day, a weekend for its Saturday.
"""

# ruff: noqa: E501, ISC004 - a pattern or a list is read more easily whole
from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Final

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


Resolve = Callable[[re.Match[str], date], date | None]

_NUMBERS: Final = {
    **{word: n for n, word in enumerate(
        ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"])},
    "a": 1, "an": 1, "a couple of": 2, "couple of": 2, "a few": 3,
    **{word: n for n, word in enumerate(
        ["không", "một", "hai", "ba", "bốn", "năm", "sáu", "bảy", "tám", "chín", "mười"])},
    **{word: n for n, word in enumerate(["khong", "mot", "hai", "ba", "bon", "nam", "sau", "bay", "tam", "chin", "muoi"])},
    "vài": 3, "vai": 3, "mấy": 3, "tư": 4, "tu": 4, "dăm": 5,
    **{word: n for n, word in enumerate("零一二三四五六七八九十")},
    "两": 2, "兩": 2, "几": 3, "十一": 11, "十二": 12, "半": 0,
}  # fmt: skip
_MONTHS: Final = {
    name: n
    for n, names in enumerate(
        ("jan january", "feb february", "mar march", "apr april", "may", "jun june", "jul july",
         "aug august", "sep sept september", "oct october", "nov november", "dec december"), 1)
    for name in names.split()
}  # fmt: skip
_WEEKDAYS: Final = {
    **{day: n for n, day in enumerate(
        ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"])},
    **{day: n for n, day in enumerate(["mon", "tue", "wed", "thu", "fri", "sat", "sun"])},
    "tues": 1, "thur": 3, "thurs": 3,
    **{day: n for n, day in enumerate(
        ["thứ hai", "thứ ba", "thứ tư", "thứ năm", "thứ sáu", "thứ bảy", "chủ nhật"])},
    **{day: n for n, day in enumerate(
        ["thu hai", "thu ba", "thu tu", "thu nam", "thu sau", "thu bay", "chu nhat"])},
    **{f"{prefix}{n + 2}": n for n in range(6) for prefix in ("thứ ", "thu ", "t")},
    "cn": 6, "thứ bẩy": 5,
    **{day: n for n, day in enumerate("一二三四五六日")}, "天": 6,
}  # fmt: skip


def _number(text: str) -> int | None:
    if text.isdecimal():
        return int(text) if len(text) <= 4 else None  # noqa: PLR2004 - no span of time is longer
    return _NUMBERS.get(text)


def _months(day: date, count: int, *, at: int = 1) -> date | None:
    month = day.year * 12 + day.month - 1 + count
    if not 1 <= month // 12 <= 9998:  # noqa: PLR2004 - the calendar's end
        return None
    year, month = month // 12, month % 12 + 1
    return date(year, month, min(at, monthrange(year, month)[1]))


def _shift(day: date, days: int) -> date | None:
    try:
        return day + timedelta(days=days)
    except OverflowError:
        return None


def _monday(day: date, weeks: int) -> date | None:
    return _shift(day, 7 * weeks - day.weekday())


def _by_unit(day: date, unit: str, count: int) -> date | None:
    if unit in {"day", "ngày", "ngay", "hôm", "hom", "天", "日", "bữa"}:
        return _shift(day, count)
    if unit in {"week", "tuần", "tuan", "周", "星期", "礼拜"}:
        return _shift(day, 7 * count)
    if unit in {"month", "tháng", "thang", "月"}:
        return _months(day, count, at=day.day)
    return _months(day, 12 * count, at=day.day)


def _start_of(day: date, unit: str, count: int) -> date | None:
    if unit in {"week", "tuần", "tuan", "周", "星期", "礼拜"}:
        return _monday(day, count)
    if unit == "weekend":
        monday = _monday(day, count)
        return monday and _shift(monday, 5)
    if unit in {"month", "tháng", "thang", "月"}:
        return _months(day, count)
    if unit in {"quarter", "quý"}:
        return _months(day, 3 * count - (day.month - 1) % 3)
    return date(day.year + count, 1, 1) if 1 <= day.year + count <= 9998 else None  # noqa: PLR2004


def _calendar(year: int | None, month: int, dom: int, said: date) -> date | None:
    """Return the day; without a year the one nearest to when it was said."""
    try:
        if year is not None:
            return date(year + 2000 if year < 100 else year, month, dom)  # noqa: PLR2004
        near = [date(said.year + off, month, dom) for off in (-1, 0, 1)
                if dom <= monthrange(said.year + off, month)[1]]  # fmt: skip
    except (ValueError, IndexError):
        return None
    return min(near, key=lambda day: abs((day - said).days), default=None)


def _fixed(days: int) -> Resolve:
    return lambda _match, day: _shift(day, days)


def _group(match: re.Match[str], name: str) -> str:
    return match.groupdict().get(name) or ""


def _weekday(name: str) -> int:
    return _WEEKDAYS[re.sub(r"\s+", " ", name)]


def _week_day(weeks: dict[str, int]) -> Resolve:
    def resolve(match: re.Match[str], day: date) -> date | None:
        monday = _monday(day, weeks[re.sub(r"\s+", " ", match["which"])])
        return monday and _shift(monday, _weekday(match["day"]))

    return resolve


def _period(weeks: dict[str, int]) -> Resolve:
    return lambda match, day: _start_of(
        day, match["unit"], weeks[re.sub(r"\s+", " ", match["which"])]
    )


def _counted(sign: int) -> Resolve:
    def resolve(match: re.Match[str], day: date) -> date | None:
        count = _number(re.sub(r"\s+", " ", match["n"]))
        return None if count is None else _by_unit(day, match["unit"], sign * count)

    return resolve


def _absolute(match: re.Match[str], day: date) -> date | None:
    month = _group(match, "m")
    number = _MONTHS.get(month.rstrip(".")) or (int(month) if month.isdecimal() else 0)
    year = _group(match, "y")
    return _calendar(int(year) if year else None, number, int(_group(match, "d") or 1), day)


def _day_of_month(match: re.Match[str], day: date) -> date | None:
    near = [
        one
        for off in (-1, 0, 1)
        if (one := _months(day, off, at=int(match["d"]))) and one.day == int(match["d"])
    ]
    return min(near, key=lambda one: abs((one - day).days), default=None)


def _ordinal_weekday(match: re.Match[str], day: date) -> date | None:
    first = _months(day, {"this": 0, "next": 1, "last": -1}[match["which"]])
    if first is None:
        return None
    nth = {"first": 0, "second": 1, "third": 2, "fourth": 3}[match["nth"]]
    return _shift(first, (_weekday(match["day"]) - first.weekday()) % 7 + 7 * nth)


def _part_of_month(match: re.Match[str], day: date) -> date | None:
    """Read "early next month", "đầu tháng 12", "cuối tháng này", "月底"."""
    first: date | None
    if _group(match, "m"):
        first = _calendar(None, int(match["m"]), 1, day)
    else:
        which = re.sub(r"\s+", " ", _group(match, "which")).strip()
        shift = {"next": 1, "last": -1, "sau": 1, "tới": 1, "toi": 1, "trước": -1, "truoc": -1,
                 "下": 1, "下个": 1, "上": -1, "上个": -1}.get(which, 0)  # fmt: skip
        first = _months(day, shift)
    if first is None:
        return None
    part = match["part"]
    last = monthrange(first.year, first.month)[1]
    if part in {"late", "end of", "the end of", "cuối", "cuoi", "底", "末"}:
        return first.replace(day=last)
    if part in {"mid", "middle of", "the middle of", "giữa", "giua", "中", "中旬"}:
        return first.replace(day=15)
    return first


def _part_of_year(match: re.Match[str], day: date) -> date | None:
    """Read "cuối năm nay": the first, the sixth, the last month's first day."""
    year = day.year + {"sau": 1, "tới": 1, "ngoái": -1, "trước": -1}.get(match["which"], 0)
    part = match["part"]
    month = 12 if part in {"cuối", "cuoi"} else 6 if part in {"giữa", "giua"} else 1
    return date(year, month, 1) if 1 <= year <= 9998 else None  # noqa: PLR2004 - the calendar's end


_EN_DAY = r"(?:mon|tues?|wednes|thurs?|fri|satur|sun)day"
_EN_N = r"(?:\d{1,4}|an?|(?:a )?couple of|a few|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_EN_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_VI_DAY = (
    r"(?:thứ\s(?:hai|ba|tư|năm|sáu|bảy|bẩy|[2-7])|thu\s(?:hai|ba|tu|nam|sau|bay|[2-7])"
    r"|chủ\snhật|chu\snhat|t[2-7]|cn)"
)
_VI_N = (
    r"(?:\d{1,4}|một|hai|ba|bốn|năm|sáu|bảy|tám|chín|mười|vài|mấy|dăm"
    r"|mot|bon|nam|sau|bay|tam|chin|muoi|vai)"
)
_VI_UNIT = r"(?:ngày|ngay|hôm|hom|bữa|tuần|tuan|tháng|thang|năm|nam)"
_VI_NEXT = r"(?:tuần\s(?:sau|tới)|tuan\s(?:sau|toi))"
_VI_WEEKS = {
    "tuần sau": 1, "tuần tới": 1, "tuan sau": 1, "tuan toi": 1, "tuần này": 0, "tuan nay": 0,
    "này": 0, "nay": 0, "tới": 1, "toi": 1, "sau": 1, "trước": -1, "truoc": -1, "rồi": -1,
    "roi": -1, "tuần trước": -1, "tuan truoc": -1, "tuần rồi": -1, "tuan roi": -1,
    "vừa rồi": -1, "vua roi": -1, "qua": -1, "tuần vừa rồi": -1, "ngoái": -1, "ngoai": -1,
    "sau nữa": 2,
}  # fmt: skip
_ZH_N = r"(?:\d{1,4}|[一二两三四五六七八九十几]{1,2})"
_ZH_WEEKS = {
    "下": 1, "下个": 1, "下下": 2, "上": -1, "上个": -1, "上上": -2, "这": 0, "这个": 0, "本": 0,
    "明": 1, "去": -1, "今": 0, "后": 2, "前": -2, "": 0,
}  # fmt: skip
_EN_WHICH = {"next": 1, "last": -1, "this": 0, "this coming": 0, "this past": -1, "past": -1}

# In order: the first form that fits at a place wins. Each pattern reads lower-case text.
_RELATIVE: Final[dict[Language, tuple[tuple[str, Resolve], ...]]] = {
    "en": (
        (r"(?:the )?day after tomorrow", _fixed(2)),
        (r"(?:the )?day before yesterday", _fixed(-2)),
        (r"tomorrow|tmrw", _fixed(1)),
        (r"yesterday|last night", _fixed(-1)),
        (r"today|tonight|this (?:morning|afternoon|evening)|(?:later|earlier) today", _fixed(0)),
        (rf"(?:the )?(?P<nth>first|second|third|fourth) (?P<day>{_EN_DAY}) of (?P<which>this|next|last) month",
         _ordinal_weekday),
        (rf"(?P<which>next|last|this coming|this past|this) (?P<day>{_EN_DAY})", _week_day(_EN_WHICH)),
        (rf"(?P<day>{_EN_DAY}) (?P<which>next|last|this) week", _week_day(_EN_WHICH)),
        (rf"(?P<day>{_EN_DAY}) of (?P<which>next|last|this) week", _week_day(_EN_WHICH)),
        (r"(?P<part>early|late|mid|(?:the )?(?:end|middle|beginning|start) of) (?P<which>next|last|this) month",
         _part_of_month),
        (r"(?:the )?(?P<part>end of) the month", _part_of_month),
        (r"(?P<which>next|last|this coming|this past|past|this) (?P<unit>weekend|week|month|quarter|year)",
         _period(_EN_WHICH)),
        (rf"(?:with)?in (?P<n>{_EN_N}) (?P<unit>day|week|month|year)s?(?:'? time)?", _counted(1)),
        (rf"(?P<n>{_EN_N}) (?P<unit>day|week|month|year)s? (?:from (?:now|today)|later)", _counted(1)),
        (rf"(?P<n>{_EN_N}) (?P<unit>day|week|month|year)s? (?:ago|back)", _counted(-1)),
    ),
    "vi": (
        (rf"(?P<day>{_VI_DAY})\s(?P<which>tuần\s(?:sau|tới|này|trước|rồi|vừa\srồi)"
         r"|tuan\s(?:sau|toi|nay|truoc|roi)|này|tới|nay|toi|trước|truoc|vừa\srồi|rồi|tuần)",
         _week_day({**_VI_WEEKS, "tuần": 0})),
        (r"ngày\s(?:kia|mốt)|ngay\s(?:kia|mot)|(?:sáng|trưa|chiều|tối)\s(?:ngày\s)?(?:kia|mốt)|mốt(?=\s(?:em|e|mình|tôi|anh))",
         _fixed(2)),
        (r"hôm\skia|hom\skia|bữa\skia", _fixed(-2)),
        (r"ngày\smai|ngay\smai|(?:sáng|trưa|chiều|tối|đêm|sang|trua|chieu|toi)\smai|mai(?!\s(?:là|la)\b)",
         _fixed(1)),
        (r"hôm\squa|hom\squa|hqua|hôm\sqa|(?:tối|sáng|chiều|trưa|đêm|toi|sang|chieu|trua|dem)\s(?:hôm\s|hom\s)?qua",
         _fixed(-1)),
        (r"hôm\snay|hom\snay|hnay|bữa\snay|(?:sáng|trưa|chiều|tối|đêm|sang|trua|chieu|toi)\s(?:nay|này)",
         _fixed(0)),
        (rf"(?:cách\sđây|cach\sday)\s(?P<n>{_VI_N})\s(?P<unit>{_VI_UNIT})", _counted(-1)),
        (rf"(?P<n>{_VI_N})\s(?P<unit>{_VI_UNIT})\s(?:trước|truoc)", _counted(-1)),
        (rf"(?P<n>{_VI_N})\s(?P<unit>{_VI_UNIT})\s(?:nữa|nua|sau|tới|toi)", _counted(1)),
        (rf"(?:sau|trong\s(?:vòng\s)?)\s?(?P<n>{_VI_N})\s(?P<unit>{_VI_UNIT})\b(?=\s(?:nữa|tới))", _counted(1)),
        (r"(?P<part>đầu|giữa|cuối|dau|giua|cuoi)\s(?:tháng|thang)\s(?P<which>sau|tới|này|trước|toi|nay|truoc)",
         _part_of_month),
        (r"(?P<part>đầu|giữa|cuối|dau|giua|cuoi)\s(?:tháng|thang)\s(?P<m>1[0-2]|0?[1-9])", _part_of_month),
        (r"(?:cuối\stuần|cuoi\stuan)\s(?P<which>này|nay|sau|tới|toi|trước|truoc|rồi|qua|vừa\srồi)",
         lambda match, day: _start_of(day, "weekend", _VI_WEEKS[re.sub(r"\s+", " ", match["which"])])),
        (r"(?:đầu|dau)\s(?:tuần|tuan)\s(?P<which>này|nay|sau|tới|toi|trước|truoc)",
         lambda match, day: _start_of(day, "week", _VI_WEEKS[match["which"]])),
        (r"(?P<part>đầu|giữa|cuối|dau|giua|cuoi)\s(?:tháng|thang)(?!\s(?:nào|nao|\d))", _part_of_month),
        (r"(?P<part>đầu|giữa|cuối|dau|giua|cuoi)\s(?:năm|nam)\s(?P<which>nay|sau|tới|ngoái|trước)", _part_of_year),
        (r"(?:cuối\stuần|cuoi\stuan)(?!\s(?:nào|nao))", lambda _match, day: _start_of(day, "weekend", 0)),
        (r"(?P<unit>tuần|tuan|tháng|thang|năm|nam|quý)\s(?P<which>sau\snữa|sau|tới|toi|này|nay|trước|truoc"
         r"|vừa\srồi|vua\sroi|rồi|roi|qua|ngoái|ngoai)", _period(_VI_WEEKS)),
    ),
    "zh": (
        (r"大后天", _fixed(3)), (r"大前天", _fixed(-3)), (r"后天", _fixed(2)), (r"前天", _fixed(-2)),
        (r"明[天日早晚]|明儿", _fixed(1)), (r"昨[天日晚]|昨儿", _fixed(-1)),
        (r"今[天日早晚]|今儿", _fixed(0)),
        (r"(?P<which>下下|上上|下个?|上个?|这个?|本)(?:周|星期|礼拜)(?P<day>[一二三四五六日天])",
         _week_day(_ZH_WEEKS)),
        (r"(?P<which>下|上|这|本)个?(?:周末)",
         lambda match, day: _start_of(day, "weekend", _ZH_WEEKS[match["which"]])),
        (r"(?P<which>下|上|这)?个?月(?P<part>初|中旬|底|末)", _part_of_month),
        (r"(?P<which>下|上|这|本)个?(?P<unit>周|星期|礼拜|月)", _period(_ZH_WEEKS)),
        (r"(?P<which>明|去|今|后|前)(?P<unit>年)", _period(_ZH_WEEKS)),
        (rf"(?P<n>{_ZH_N})(?:个)?(?P<unit>天|周|星期|月|年)(?:之?前|以前)", _counted(-1)),
        (rf"(?P<n>{_ZH_N})(?:个)?(?P<unit>天|周|星期|月|年)(?:之?后|以后)", _counted(1)),
    ),
}  # fmt: skip
_ISO: Final = (
    r"(?P<y>[12]\d{3})[-/.](?P<m>1[0-2]|0?[1-9])[-/.](?P<d>3[01]|[12]\d|0?[1-9])(?!\d)",
    _absolute,
)
_ABSOLUTE: Final[dict[Language, tuple[tuple[str, Resolve], ...]]] = {
    "en": (
        _ISO,
        (rf"(?P<m>{_EN_MONTH}) (?:the )?(?P<d>3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?(?![\d:%])(?:,? (?P<y>[12]\d{{3}}))?",
         _absolute),
        (rf"(?:the )?(?P<d>3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?(?: of)? (?P<m>{_EN_MONTH})(?![a-z])(?:,? (?P<y>[12]\d{{3}}))?",
         _absolute),
        (r"(?:on )?the (?P<d>3[01]|[12]\d|[1-9])(?:st|nd|rd|th)(?! [a-z]*(?:time|floor|edition|century|birthday|anniversary))",
         _day_of_month),
        (r"(?:in|since|back in) (?P<y>(?:19|20)\d\d)(?!-)", lambda match, _day: date(int(match["y"]), 1, 1)),
        (rf"(?:in|by|since|until|end of|early|late) (?P<m>{_EN_MONTH})(?![a-z])(?: (?P<y>[12]\d{{3}}))?", _absolute),
    ),
    "vi": (
        _ISO,
        (r"(?:ngày|ngay|hôm|mùng|mồng)?\s?(?P<d>3[01]|[12]\d|0?[1-9])\s?/\s?(?P<m>1[0-2]|0?[1-9])(?!\d)(?:\s?/\s?(?P<y>\d{4}|\d{2}))?",
         _absolute),
        (r"(?:ngày|ngay|mùng|mồng|mung)?\s?(?P<d>3[01]|[12]\d|0?[1-9])\s(?:tháng|thang)\s(?P<m>1[0-2]|0?[1-9])(?!\d)"
         r"(?:,?\s(?:năm|nam)\s(?P<y>\d{4}))?", _absolute),
        (r"(?:ngày|ngay|mùng|mồng|mung)\s(?P<d>3[01]|[12]\d|0?[1-9])(?![\d/])(?:\s(?:này|nay|tới|toi))?", _day_of_month),
        (r"(?:tháng|thang)\s(?P<m>1[0-2]|0?[1-9])(?!\d)(?:\s?(?:/|năm|nam)\s?(?P<y>\d{4})|\s(?:này|nay|tới|toi))?", _absolute),
    ),
    "zh": (
        _ISO,
        (r"(?:(?P<y>[12]\d{3})年)?(?P<m>1[0-2]|0?[1-9])月(?P<d>3[01]|[12]\d|0?[1-9])[日号]?", _absolute),
        (r"(?P<d>3[01]|[12]\d|0?[1-9])[号日](?!线|楼|店)", _day_of_month),
        (r"(?<!\d)(?P<m>1[0-2]|0?[1-9])月(?:份)?(?!\d)", _absolute),
    ),
}  # fmt: skip
_BARE: Final[dict[Language, str]] = {
    "en": rf"(?P<day>{_EN_DAY})(?!s)",
    "vi": rf"(?P<day>{_VI_DAY})",
    "zh": r"(?:周|星期|礼拜)(?P<day>[一二三四五六日天])",
}
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
           "week", "week", "month", "month", "week|month|quarter|year", "in ", "now|today|later", " ago| back",
           "19|20", _EN_MONTHS, _EN_MONTHS, "the ", "19|20", _EN_MONTHS),
    "vi": (_VI_DAYS, "kia|mốt|mot", "kia", "mai", "qua|qa", "nay|này", "cách|cach", "trước|truoc", "nữa|nua|sau|tới|toi",
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
    forms = (*_RELATIVE[language], *_ABSOLUTE[language])
    relative = len(_RELATIVE[language])
    return tuple(
        (tuple(pieces.split("|")), _compile(form, language), resolve, at < relative)
        for at, (pieces, (form, resolve)) in enumerate(zip(_PIECES[language], forms, strict=True))
    )


_FORMS: Final = {language: _forms(language) for language in _PIECES}
_BARE_FORMS: Final = {
    language: (tuple(_BARE_PIECES[language].split("|")), _compile(form, language))
    for language, form in _BARE.items()
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
        ahead = (_weekday(match["day"]) - said.weekday()) % 7
        day = _shift(said, ahead)
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
