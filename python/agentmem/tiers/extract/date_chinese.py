"""The Chinese forms of dates, numbers in digits or characters; feasts and the months 正 and 腊 are of the lunar calendar."""

# ruff: noqa: E501 - a pattern or a list is read more easily whole
from __future__ import annotations

import re
from datetime import date, timedelta
from typing import Final

from agentmem.tiers.extract.date_forms import (
    EARLY,
    LATE,
    MIDDLE,
    WHOLE,
    Form,
    Open,
    Part,
    Resolve,
    Unit,
    calendar,
    counted,
    day_of_month,
    fixed,
    month_of_year,
    of_span,
    quarter_of_year,
    season,
    shift,
    span,
    weekday_of_week,
    weekdays,
)
from agentmem.tiers.extract.feasts import FEASTS, feast, lunar, named
from agentmem.tiers.extract.lunar import CHINA

__all__ = ["CHINESE"]

_CHARACTERS: Final = {char: n for n, char in enumerate("零一二三四五六七八九")} | {
    "〇": 0,
    "两": 2,
    "兩": 2,
    "俩": 2,
    "仨": 3,
    "几": 3,
    "数": 4,
}
_UNITS: Final[dict[str, Unit]] = {
    "分钟": "minute", "小时": "hour", "钟头": "hour", "天": "day", "日": "day", "晚": "day", "周": "week", "星期": "week", "礼拜": "week", "周末": "weekend", "月": "month",
    "季度": "quarter", "季": "quarter", "年": "year",
}  # fmt: skip
_STEPS: Final = {"上": -1, "下": 1, "去": -1, "明": 1, "前": -2, "后": 2, "来": 1, "次": 1}
_SEASONS: Final = "春夏秋冬"

_N: Final = r"(?:\d{1,4}|[一二两兩三四五六七八九十]{1,3}|[几数](?=[天个周年月])|俩|仨)"
_DOM: Final = r"(?:3[01]|[12]\d|0?[1-9]|三十一?|二?十[一二三四五六七八九]?|[一二三四五六七八九])"
_MONTH: Final = r"(?:1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九])"
_WEEK: Final = "(?:周|星期|礼拜)"
_WHICH: Final = "(?:大*上上?|下下?|这一?|本|当|再下|再上)"
_YEAR: Final = r"(?:(?P<y>(?:19|20)\d\d)年|(?P<yw>大前|大后|明|去|今|后|前|来|本|当|次)年的?)"
_PART: Final = "(?P<part>年初|年中|年底|年末|初|上旬|中旬|下旬|中|底|末|月初|月中|月底|月末)"
# How long the holidays of a feast are, in days.
_HOLIDAYS: Final = {"国": 7, "十": 7, "春": 8, "五": 5}
_FEAST: Final = "|".join(FEASTS["zh"])


def _group(match: re.Match[str], name: str) -> str:
    return match.groupdict().get(name) or ""


def _number(text: str) -> int:
    """Return a number below 100 in characters, or any in digits: "十五", "二十三"."""
    if text.isdecimal():
        return int(text)
    tens, ten, ones = text.rpartition("十")
    return (10 * _CHARACTERS.get(tens, 1) if ten else 0) + _CHARACTERS.get(ones, 0)


def _weekday(char: str) -> int:
    return "一二三四五六日".index("日" if char in "天末" else char)


def _which(text: str) -> int:
    """Return how many weeks or months away: 上 -1, 上上 -2, 这 0."""
    return sum({"上": -1, "下": 1, "再": 1 if "下" in text else -1}.get(char, 0) for char in text)


def _part(text: str) -> Part:
    return MIDDLE if "中" in text else LATE if re.search("[底末]|下", text) else EARLY


def _year(match: re.Match[str], said: date) -> int | None:
    if digits := _group(match, "y"):
        return int(digits)
    which = _group(match, "yw")
    steps = _STEPS.get(which[-1:], 0)
    return said.year + steps + (steps // 2 if which.startswith("大") else 0) if which else None


def _away(sign: int) -> Resolve:
    def resolve(match: re.Match[str], said: date) -> date | timedelta | None:
        half = 1 if _group(match, "half") or _group(match, "more") else 0
        count = _number(match["n"]) if _group(match, "n") else 0
        return counted(said, _UNITS[match["unit"]], sign * count, half=sign * half)

    return resolve


def _week_day(match: re.Match[str], said: date) -> date | None:
    return weekday_of_week(said, _weekday(match["day"]), _which(match["which"]))


def _spanned(match: re.Match[str], said: date) -> date | None:
    """Read 下个月, 上上周, 本季度, 月底, 周初, and their parts."""
    part = _group(match, "part")
    unit = _UNITS[match["unit"]]
    return of_span(span(said, unit, _which(_group(match, "which"))), _part(part) if part else WHOLE)


def _of_year(match: re.Match[str], said: date) -> date | None:
    """Read 去年, 明年初, 今年年底, 2025年上半年."""
    whole = span(date(_year(match, said) or said.year, 1, 1), "year", 0)
    half, part = _group(match, "h"), _group(match, "part")
    if whole and half:
        return whole[0] if half == "上" else whole[0].replace(month=7)
    return of_span(whole, _part(part) if part else WHOLE)


def _month(match: re.Match[str], said: date) -> date | Open | None:
    part = _group(match, "part")
    return month_of_year(
        said, _number(match["m"]), _year(match, said), _part(part) if part else WHOLE
    )


def _season(match: re.Match[str], said: date) -> date | Open | None:
    number, which = _SEASONS.index(match["season"]), _group(match, "which")
    year = _year(match, said)
    if year is None and which:
        step = _which(which)
        ahead = 3 * number + 3 - said.month
        year = said.year + (0 if (step < 0 and ahead <= -3) or (step > 0 and ahead > 0) else step)  # noqa: PLR2004 - months
    return season(
        said, number, year, _part(_group(match, "part")) if _group(match, "part") else WHOLE
    )


def _calendar(match: re.Match[str], said: date) -> date | Open | None:
    return calendar(_year(match, said), _number(match["m"]), _number(match["d"]), said)


def _day(match: re.Match[str], said: date) -> date | Open | None:
    which = _group(match, "which")
    return day_of_month(
        said, _number(_group(match, "d") or match["e"]), _which(which) if which else None
    )


def _same_day(match: re.Match[str], said: date) -> date | timedelta | None:
    """Read 去年的今天, 下周的今天."""
    if match["unit"]:
        return counted(said, _UNITS[match["unit"]], _which(match["which"]))
    return counted(said, "year", _STEPS[match["yw"]])


def _lunar(match: re.Match[str], said: date) -> date | Open | None:
    """Read 正月初五, 大年初三, 农历八月十五, 腊月二十三."""
    name = _group(match, "m")
    month = {"正": 1, "腊": 12, "冬": 11, "": 1}.get(name) or _number(name)
    return feast(said, lunar(month, _number(match["d"]), CHINA), _year(match, said))


def _of_feast(match: re.Match[str], said: date) -> date | Open | None:
    of_year = named(match["feast"], "zh")
    return feast(said, of_year, _year(match, said)) if of_year else None


def _beside(match: re.Match[str], said: date) -> date | None:
    """Read 春节前三天, 国庆后一周, 中秋第二天."""
    found = _of_feast(match, said)
    base = found.day if isinstance(found, Open) else found
    if base is None or not _group(match, "n"):
        after = _HOLIDAYS.get(match["feast"][0], 1) if _group(match, "past") else 1
        return base and shift(base, -1 if _group(match, "eve") else after)
    away = counted(
        base, _UNITS[match["unit"]], (-1 if match["side"] == "前" else 1) * _number(match["n"])
    )
    return away if isinstance(away, date) else None


def _quarter(match: re.Match[str], said: date) -> date | Open | None:
    return quarter_of_year(
        said,
        _number(match["q"]),
        _year(match, said),
        _part(_group(match, "part")) if _group(match, "part") else WHOLE,
    )


_COUNT: Final = rf"(?:(?P<n>{_N})(?:到{_N}|、{_N})?多?(?P<half>个半)?(?:个|來)?(?P<unit>分钟|小时|钟头|天|晚|周|星期|礼拜|月|年)(?P<more>半)?)"
_HALF: Final = "(?P<half>半)(?:个)?多?(?P<unit>小时|钟头|天|月|年)"
# Signs of which one stands in every feast.
_FEAST_SIGNS: Final = "节 庆 秋 旦 五 六 十 端 清 诞 除 阳 夕 宵 双 冬 腊 夜 初 过 年"

# In order: the first form that fits at a place wins.
CHINESE: Final[tuple[Form, ...]] = (
    Form(_FEAST_SIGNS, rf"(?:{_YEAR})?(?P<feast>{_FEAST})(?:(?P<side>前|后)(?P<n>{_N})个?(?P<unit>天|周|星期|月)|的?(?:(?P<eve>前一[天晚]|前夕|前夜)|(?:第二|后一)天|(?P<past>之?后|以后|过后|假期后)(?![天日])))", _beside),
    Form("大", "大大后天", fixed(4)), Form("大", "大大前天", fixed(-4)), Form("大", "大后[天日]", fixed(3)), Form("大", "大前[天日]", fixed(-3)),
    Form("后", "后[天日儿]", fixed(2)), Form("前", "(?<!以)(?:前[天日儿]|前晚)(?!半)", fixed(-2)),
    Form("明", "明[天日早晚晨儿](?!年|月)|明[上下中]午", fixed(1)), Form("昨", "昨[天日早晚夜晨儿]|昨[上下中]午", fixed(-1)),
    Form("今 才 凌", "今[天日早晚夜晨儿](?!年)|今[上下中]午|刚才|方才|(?<![天日])凌晨", fixed(0)),
    Form("周 期 拜", rf"(?P<which>{_WHICH})个?{_WEEK}(?P<day>[一二三四五六日天])(?![天个周年月])", _week_day),
    Form("末", rf"(?P<which>{_WHICH})?(?:一)?个?(?P<unit>周末)", _spanned),
    Form("月", rf"(?P<which>{_WHICH})个?月(?:的)?(?P<d>{_DOM})[号日]", _day),
    Form("季", rf"(?:{_YEAR})?第?(?P<q>[1-4一二三四])季度?(?:{_PART})?", _quarter),
    Form("季", rf"(?P<which>{_WHICH})个?(?P<unit>季度)(?:{_PART})?", _spanned),
    Form("春 夏 秋 冬", rf"(?:{_YEAR}|(?P<which>{_WHICH})个?)(?P<part>初|末|底)?(?P<season>[春夏秋冬])(?:天|季)?(?![度赛款装节])", _season),
    Form("春 夏 秋 冬", "(?P<part>初|末|底)?(?<![每年])(?P<season>[春夏秋冬])[天季](?![度赛款装节])", _season, is_weak=True),
    Form("年", rf"{_YEAR}(?P<m>{_MONTH})月份?(?P<part>初|上旬|中旬|下旬|中(?!午)|底|末)?(?!\d|[一二三四五六七八九十])", _month),
    Form("月", rf"(?:{_YEAR})?(?P<m>{_MONTH})月(?P<d>{_DOM})(?:[日号](?!线|楼|店)|(?![\d天个点时周岁]))", _calendar, is_relative=False),
    Form("正 腊 冬 历 年 初", rf"(?:{_YEAR})?(?:农历|阴历)?(?:(?P<m>正|腊|冬|{_MONTH})月(?=[初廿十二]|[^\W\d]{{1,3}}[^日号\d]|$)(?:初)?|大年初|年初)(?P<d>{_DOM})(?![日号\d])", _lunar),
    Form("年", rf"{_YEAR}(?:{_PART}|(?P<h>[上下])半年)?(?![前后以之])", _of_year),
    Form("年", "(?<![一二三四五六七八九十两几半\\d今明去后前])(?P<part>年初|年中|年底|年末)|(?P<h>[上下])半年", _of_year),
    Form("月", rf"(?P<which>{_WHICH})个?(?P<unit>月)(?:的)?(?P<part>初|上旬|中旬|下旬|中(?!午)|底|末)?", _spanned),
    Form("月", r"(?<![\d一二三四五六七八九十个])(?P<unit>月)(?P<part>初|上旬|中旬|下旬|底|末|中(?![国午心学]))", _spanned),
    Form("今", r"(?:(?P<yw>明|去|前)年|(?P<which>下下?|上上?)个?(?P<unit>周|星期|礼拜|月))的?今天", _same_day),
    Form("年", "(?<![一二三四五六七八九十两几半数\\d今明去后前多])年(?P<side>[前后])(?!面)", lambda match, said: feast(said, lunar(1, 1, CHINA, -1 if match["side"] == "前" else _HOLIDAYS["春"]))),
    Form("前", rf"{_COUNT}(?:之?前|以前)(?!面|后)", _away(-1)), Form("半&前", rf"{_HALF}(?:之?前|以前)", _away(-1)),
    Form("后 内", rf"{_COUNT}(?:之?后|以后|之内|以内|内)(?!面)", _away(1)), Form("半&后 内", rf"{_HALF}(?:之?后|以后|之内|内)", _away(1)),
    Form("过", rf"(?:再过|(?<![经通超度])过){_COUNT}(?![了节年])(?!后)", _away(1)), Form("前", "前(?:几|两|些)天", fixed(-3)),
    Form("周 期 拜", rf"(?P<which>{_WHICH})(?:一)?个?(?P<unit>周|星期|礼拜)(?P<part>初|中|末)?(?!年|岁)", _spanned, is_week=True),
    Form("周", "(?<![一二三四五六七八九十两几\\d每])(?P<unit>周)(?P<part>初|中)(?!午)", _spanned),
    Form("#", r"(?P<y>[12]\d{3})[-/.](?P<m>1[0-2]|0?[1-9])[-/.](?P<d>3[01]|[12]\d|0?[1-9])(?!\d)", _calendar, is_relative=False),
    Form("#", r"(?<![\d/])(?P<m>1[0-2]|0?[1-9])/(?P<d>3[01]|[12]\d|0?[1-9])(?![\d/])", _calendar, is_relative=False),
    Form("号 日", rf"(?<![\d月十])(?P<d>3[01]|[12]\d|0?[1-9])[号日](?!线|楼|店|院|机|门)|(?<![一二三四五六七八九十月\d周星期礼拜])(?P<e>{_DOM})号(?!线|楼|店|院|机|门)", _day, is_relative=False),
    Form("月", rf"(?<![\d一二三四五六七八九十个])(?P<m>{_MONTH})月(?:份)?(?P<part>初|上旬|中旬|下旬|中(?!午)|底|末)?(?!\d)", _month, is_relative=False),
    Form(_FEAST_SIGNS,
         rf"(?:{_YEAR})?(?P<feast>{_FEAST})", _of_feast, is_weak=True),
    Form("周 期 拜", rf"(?<![每一两三四五六七八九十几\d个]){_WEEK}(?P<day>[一二三四五六日天])(?![天个年月次])", lambda match, said: weekdays(said, _weekday(match["day"])), is_bare_weekday=True),
)  # fmt: skip
