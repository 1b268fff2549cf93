"""The forms of dates in three languages, and how each is reckoned from the day it was said."""

# ruff: noqa: E501, ISC004 - a pattern or a list is read more easily whole
from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable
from datetime import date, timedelta
from typing import Final

from agentmem.tiers.extract.segments import Language

__all__ = ["ABSOLUTE", "BARE", "RELATIVE", "Resolve", "shift", "weekday"]

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


def shift(day: date, days: int) -> date | None:
    """Return the day that many days later; None beyond the calendar's end."""
    try:
        return day + timedelta(days=days)
    except OverflowError:
        return None


def _monday(day: date, weeks: int) -> date | None:
    return shift(day, 7 * weeks - day.weekday())


def _by_unit(day: date, unit: str, count: int) -> date | None:
    if unit in {"day", "ngày", "ngay", "hôm", "hom", "天", "日", "bữa"}:
        return shift(day, count)
    if unit in {"week", "tuần", "tuan", "周", "星期", "礼拜"}:
        return shift(day, 7 * count)
    if unit in {"month", "tháng", "thang", "月"}:
        return _months(day, count, at=day.day)
    return _months(day, 12 * count, at=day.day)


def _start_of(day: date, unit: str, count: int) -> date | None:
    if unit in {"week", "tuần", "tuan", "周", "星期", "礼拜"}:
        return _monday(day, count)
    if unit == "weekend":
        monday = _monday(day, count)
        return monday and shift(monday, 5)
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
    return lambda _match, day: shift(day, days)


def _group(match: re.Match[str], name: str) -> str:
    return match.groupdict().get(name) or ""


def weekday(name: str) -> int:
    """Return the number of a weekday by its name in any of the languages; Monday is 0."""
    return _WEEKDAYS[re.sub(r"\s+", " ", name)]


def _week_day(weeks: dict[str, int]) -> Resolve:
    def resolve(match: re.Match[str], day: date) -> date | None:
        which = re.sub(r"\s+", " ", match["which"])
        monday = _monday(day, weeks[which])
        found = monday and shift(monday, weekday(match["day"]))
        # "This Saturday", said on a Sunday, is the one to come.
        return (
            shift(found, 7) if found and which in {"this", "này", "nay"} and found < day else found
        )

    return resolve


def _last_weekday(match: re.Match[str], day: date) -> date | None:
    return shift(day, (weekday(match["day"]) - day.weekday()) % 7 - 7)


def _past_weekend(_match: re.Match[str], day: date) -> date | None:
    return _start_of(day, "weekend", 0 if day.weekday() > 4 else -1)  # noqa: PLR2004 - Friday


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
    return shift(first, (weekday(match["day"]) - first.weekday()) % 7 + 7 * nth)


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
RELATIVE: Final[dict[Language, tuple[tuple[str, Resolve], ...]]] = {
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
        (r"over the weekend", _past_weekend),
    ),
    "vi": (
        (rf"(?:hôm|hom|bữa|bua)\s(?P<day>{_VI_DAY})(?!\s(?:này|nay|sau|tới|toi))", _last_weekday),
        (rf"(?P<day>{_VI_DAY})\s(?P<which>tuần\s(?:sau|tới|này|trước|rồi|vừa\srồi)"
         r"|tuan\s(?:sau|toi|nay|truoc|roi)|này|tới|nay|toi|trước|truoc|vừa\srồi|rồi|tuần)",
         _week_day({**_VI_WEEKS, "tuần": 0})),
        (r"ngày\s(?:kia|mốt)|ngay\s(?:kia|mot)|(?:sáng|trưa|chiều|tối)\s(?:ngày\s)?(?:kia|mốt)|mốt(?=\s(?:em|e|mình|tôi|anh|má|ba|mẹ|chị|con|tui|tớ|bố))",
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
        (rf"(?:sau|trong\s(?:vòng\s)?)\s?(?P<n>{_VI_N})\s(?P<unit>ngày|ngay|hôm|hom|bữa|tuần|tuan|tháng|thang)\b(?=\s(?:nữa|tới)|\s?[,.;]|$)", _counted(1)),
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
        (r"(?P<which>下|上|这|本)?个?(?:周末)",
         lambda match, day: _start_of(day, "weekend", _ZH_WEEKS[_group(match, "which")])),
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
ABSOLUTE: Final[dict[Language, tuple[tuple[str, Resolve], ...]]] = {
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
BARE: Final[dict[Language, str]] = {
    "en": rf"(?P<day>{_EN_DAY})(?!s)",
    "vi": rf"(?P<day>{_VI_DAY})",
    "zh": r"(?:周|星期|礼拜)(?P<day>[一二三四五六日天])",
}
