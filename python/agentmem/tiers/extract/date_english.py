"""The English forms of dates: a unit, a number and a direction; weekdays; parts of spans; feasts; days of the calendar."""

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
    earlier,
    fixed,
    later,
    month_of_year,
    months,
    nearest,
    nth_weekday,
    of_span,
    quarter_of_year,
    season,
    shift,
    span,
    weekday_of_week,
    weekdays,
)
from agentmem.tiers.extract.feasts import FEASTS, feast, named

__all__ = ["ENGLISH"]

_ONES: Final = [
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
_TENS: Final = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_NUMBERS: Final = {
    **{word: n for n, word in enumerate(_ONES, 1)}, **{word: 10 * n for n, word in enumerate(_TENS, 2)},
    "a": 1, "an": 1, "a couple of": 2, "a couple": 2, "couple of": 2, "couple": 2, "a few": 3, "few": 3, "several": 4, "half a dozen": 6, "a dozen": 12,
}  # fmt: skip
_ORDINALS: Final = {
    word: n
    for n, word in enumerate(["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth", "twentieth"], 1)
} | {f"twenty-{word}": 20 + n for n, word in enumerate(["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"], 1)} | {
    "thirtieth": 30, "thirty-first": 31, "last": 0, "final": 0}  # fmt: skip
_ENDS: Final[dict[str, Unit]] = {"eow": "week", "eom": "month", "eoy": "year"}
_SATURDAY: Final = 5
_WEEKDAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_MONTHS: Final = (
    "jan",
    "feb",
    "mar",
    "apr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep",
    "oct",
    "nov",
    "dec",
)
_SEASONS: Final = {"spring": 0, "summer": 1, "autumn": 2, "fall": 2, "winter": 3}
_UNITS: Final[dict[str, Unit]] = {
    "min": "minute", "minute": "minute", "hr": "hour", "hour": "hour", "day": "day", "night": "day", "week": "week", "wk": "week",
    "fortnight": "fortnight", "weekend": "weekend", "month": "month", "mo": "month", "quarter": "quarter", "year": "year", "yr": "year", "decade": "decade",
}  # fmt: skip
_WHICH: Final = {
    "this": 0,
    "the": 0,
    "current": 0,
    "next": 1,
    "coming": 1,
    "upcoming": 1,
    "following": 1,
    "last": -1,
    "past": -1,
    "previous": -1,
}

_DAY: Final = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_SHORT: Final = r"(?:mon|tues?|weds?|thu(?:rs?)?|fri|sat|sun)"
_MONTH: Final = r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
_SEASON: Final = r"(?:spring|summer|autumn|fall|winter)(?:time)?"
_DOM: Final = r"(?:3[01]|[12]\d|0?[1-9])"
_YEAR: Final = r"(?:19|20)\d\d"
_N: Final = (
    rf"(?:\d{{1,4}}|(?:{'|'.join(_TENS)})(?:[ -](?:{'|'.join(_ONES[:9])}))?|{'|'.join(reversed(_ONES))}|half a dozen|a dozen|(?:a )?couple(?: of)?"
    r"|a few|few|several|an?)"
)
_UNIT: Final = r"(?P<unit>minute|min|hour|hr|day|night|weekend|week|wk|fortnight|month|mo|quarter|year|yr|decade)"
_COUNT: Final = (
    rf"(?:(?P<n>{_N})(?: ?(?:or|to|-|–) ?(?:so|{_N}))?(?: more)?(?P<half> and a half)? {_UNIT}s?(?: or (?:two|so))?(?P<more> and a half)?"
    rf"|(?P<only>half an?) (?P<unit2>hour|day|month|year|decade))"
)
_FEAST: Final = "|".join(FEASTS["en"])
_ANCHOR: Final = (
    rf"(?P<anchor>today|tomorrow|yesterday|now|(?:(?:next|last|this|this coming) )?{_DAY}|the {_DOM}(?:st|nd|rd|th)|{_MONTH} (?:the )?{_DOM}(?:st|nd|rd|th)?"
    rf"|{_FEAST})"
)
_PART: Final = r"(?P<part>early|earlier|mid|late|later|(?:the )?(?:very )?(?:beginning|start|first half|middle|second half|end|back end|tail end) of|(?:the )?turn of)(?: in)?"
_REF: Final = (
    rf"(?:(?P<which>this|next|last|the|the coming) (?P<unit>week|month|quarter|year|decade)"
    rf"|(?:(?P<of>this|next|last|the) )?(?:(?P<month>{_MONTH})|(?P<season>{_SEASON}))(?![a-z])(?:(?: of)?,? (?P<y>{_YEAR})| (?:of )?(?P<yw>last|this|next) year)?"
    rf"|(?P<year>{_YEAR})(?!-))"
)


def _group(match: re.Match[str], name: str) -> str:
    return match.groupdict().get(name) or ""


def _number(text: str) -> int:
    if text.isdecimal():
        return int(text)
    return _NUMBERS.get(text) or sum(_NUMBERS[part] for part in re.split("[ -]", text))


def _weekday(name: str) -> int:
    return _WEEKDAYS.index(name[:3])


def _month(name: str) -> int:
    return _MONTHS.index(name[:3]) + 1


def _count(match: re.Match[str]) -> tuple[Unit, int, int]:
    """Return the unit, how many of it, and whether half a one more."""
    if _group(match, "only"):
        return _UNITS[match["unit2"]], 0, 1
    return _UNITS[match["unit"]], _number(match["n"]), 1 if match["half"] or match["more"] else 0


def _away(sign: int) -> Resolve:
    def resolve(match: re.Match[str], said: date) -> date | timedelta | None:
        unit, count, half = _count(match)
        return counted(said, unit, sign * count, half=sign * half)

    return resolve


def _anchor(name: str, said: date) -> date | Open | None:
    """Return the day that others are counted from."""
    near = {"today": 0, "now": 0, "tomorrow": 1, "yesterday": -1}.get(name)
    if near is not None:
        return shift(said, near)
    which, _, rest = name.rpartition(" ")
    if name[-3:] == "day" and re.fullmatch(_DAY, rest):
        return (
            _which_weekday(which, _weekday(rest), said) if which else weekdays(said, _weekday(rest))
        )
    if of_year := named(name, "en"):
        return feast(said, of_year)
    digits = re.search(r"\d+", name)
    if digits is None:
        return None
    return (
        day_of_month(said, int(digits[0]))
        if name.startswith("the ")
        else calendar(None, _month(name), int(digits[0]), said)
    )


def _from_anchor(match: re.Match[str], said: date) -> date | None:
    """Read "a week on Tuesday", "two days before Christmas", "a week ago yesterday"."""
    unit, count, half = _count(match)
    way = match["way"]
    day = _anchor(match["anchor"], said)
    if way == "before":
        base, sign = (day.day if isinstance(day, Open) else day), -1
    elif way.startswith("ago") or (not way and match["anchor"].startswith(("yesterday", "last "))):
        base, sign = (
            earlier(_anchor(match["anchor"], shift(said, -1) or said))
            if isinstance(day, Open)
            else day,
            -1,
        )
    elif way == "after":
        base, sign = (day.day if isinstance(day, Open) else day), 1
    else:
        base, sign = later(day), 1
    found = base and counted(base, unit, sign * count, half=sign * half)
    return found if isinstance(found, date) else None


def _beside(match: re.Match[str], said: date) -> date | None:
    """Read "the day after Christmas", "the Monday before Easter", "the week after the 5th"."""
    day = _anchor(match["anchor"], said)
    base = day.day if isinstance(day, Open) else day
    if base is None:
        return None
    sign = 1 if match["side"] in {"after", "following"} else -1
    what = match["what"]
    if what in {"day", "night", "morning", "evening"}:
        return shift(base, sign)
    if what in {"week", "weekend"}:
        is_next = sign if what == "week" or sign < 0 else int(base.weekday() >= _SATURDAY)
        return of_span(span(base, _UNITS[what], is_next), WHOLE)
    near = weekdays(base, _weekday(what), is_strict=True)
    return later(near) if sign > 0 else earlier(near)


def _this_time(match: re.Match[str], said: date) -> date | timedelta | None:
    return (
        counted(said, _UNITS[match["unit"]], _WHICH[match["which"]])
        if match["which"]
        else shift(said, 1)
    )


def _which_weekday(which: str, weekday: int, said: date) -> date | None:
    if which in {"this past", "past"}:
        return earlier(weekdays(said, weekday, is_strict=True))
    if which in {"coming", "the coming", "this coming"}:
        return later(weekdays(said, weekday, is_strict=True))
    found = weekday_of_week(said, weekday, _WHICH[which])
    # "This Saturday", said on a Sunday, is the one to come.
    return shift(found, 7) if found and which == "this" and found < said else found


def _second(match: re.Match[str], said: date) -> date | Open | None:
    """Read "the week after next", "the Friday before last"."""
    sign = 1 if match["side"] == "after next" else -1
    what = match["what"]
    if what in _UNITS:
        return of_span(span(said, _UNITS[what], 2 * sign), WHOLE)
    if what in _SEASONS:
        return season(said, _SEASONS[what], said.year + (2 if sign > 0 else -2))
    near = weekdays(said, _weekday(what), is_strict=True)
    return near and shift(near.after if sign > 0 else near.before, 7 * sign)


def _so_many_ago(match: re.Match[str], said: date) -> date | Open | None:
    """Read "two Fridays ago", "three summers ago"."""
    count, what = _number(match["n"]) - 1, match["what"]
    if what in _SEASONS:
        number = _SEASONS[what]
        return season(
            said, number, said.year + _which_year("last", 3 * number + 3 - said.month, 3) - count
        )
    last = earlier(weekdays(said, _weekday(what), is_strict=True))
    return last and shift(last, -7 * count)


def _ordinal(text: str) -> int:
    digits = re.match(r"\d+", text)
    return int(digits[0]) if digits else _ORDINALS[text.replace(" ", "-")]


def _first_of(match: re.Match[str], said: date) -> date | Open | None:
    """Return the first day of the month that a form names: "of next month", "in July", "of the month"."""
    if match["month"]:
        return month_of_year(said, _month(match["month"]), int(match["y"]) if match["y"] else None)
    return months(said, _WHICH[match["which"]])


def _nth(match: re.Match[str], said: date) -> date | Open | None:
    """Read "the first Monday of next month", "the second week of July", "the last weekend in May"."""
    first = _first_of(match, said)
    if isinstance(first, Open):
        return nearest((_nth_of(match, one) for one in (first.before, first.after)), said)
    return first and _nth_of(match, first)


def _nth_of(match: re.Match[str], first: date) -> date | None:
    nth, what = _ordinal(match["nth"]) - 1, match["what"]
    if what == "week":
        return shift(first, 7 * nth) if nth >= 0 else (last := months(first, 1)) and shift(last, -7)
    if what == "day":
        return shift(first, nth) if nth >= 0 else (last := months(first, 1)) and shift(last, -1)
    return nth_weekday(first, 5 if what == "weekend" else _weekday(what), nth)


def _part(text: str) -> Part:
    if re.search("mid|middle", text):
        return MIDDLE
    return LATE if re.search("late|end|second", text) else EARLY


def _spanned(match: re.Match[str], said: date) -> date | Open | None:
    """Read a week, a month, a season or a year, or a part of one: "early next month", "since mid-April", "last spring"."""
    part = _part(_group(match, "part")) if _group(match, "part") else WHOLE
    of, month, name, year = (_group(match, key) for key in ("of", "month", "season", "year"))
    if _group(match, "unit"):
        return of_span(span(said, _UNITS[match["unit"]], _WHICH[match["which"].split()[-1]]), part)
    if year:
        return of_span(span(date(int(year), 1, 1), "year", 0), part)
    named_year = _year(match, said)
    number, length = (_month(month), 1) if month else (_SEASONS[name.removesuffix("time")], 3)
    first = number if month else 3 * number + 3
    if of in {"this", "last", "next"} and named_year is None:
        named_year = said.year + _which_year(of, first - said.month, length)
    return (month_of_year if month else season)(said, number, named_year, part)


def _year(match: re.Match[str], said: date) -> int | None:
    """Return the year that stands after a day or a span: a number, or "last year"."""
    if digits := _group(match, "y"):
        return int(digits)
    which = _group(match, "yw")
    return said.year + _WHICH[which] if which else None


def _which_year(which: str, ahead: int, length: int) -> int:
    """Return which year "this", "last" or "next" means of a span that begins so many months ahead."""
    if which == "last":
        return 0 if ahead <= -length else -1
    if which == "next":
        return 1 if ahead <= 0 or length > 1 else 0
    return 0


def _weekend(match: re.Match[str], said: date) -> date | Open | None:
    ahead = of_span(span(said, "weekend", 0), WHOLE)
    before = ahead and shift(ahead, -7)
    if ahead is None or before is None:
        return None
    if said.weekday() > 4:  # noqa: PLR2004 - Friday
        return ahead
    return Open(before, ahead, before if match[0].startswith("over") else ahead)


def _of_feast(match: re.Match[str], said: date) -> date | Open | None:
    of_year = named(match["feast"], "en")
    if of_year is None:
        return None
    year = _year(match, said)
    found = feast(said, of_year, year)
    which = match["of"]
    if isinstance(found, Open) and which:
        return found.before if which == "last" else found.after if which == "next" else found
    return found


def _day_of_month(match: re.Match[str], said: date) -> date | Open | None:
    which = _group(match, "which")
    return day_of_month(
        said, _ordinal(match["d"]), _WHICH[which] if which and which != "the" else None
    )


def _weekday_and_day(match: re.Match[str], said: date) -> date | Open | None:
    """Read "Friday the 20th": the day with this number that is this weekday, if one of the months around has it."""
    number, weekday = int(match["d"]), _weekday(match["day"])
    near = [months(said, off, at=number) for off in (-3, -2, -1, 0, 1, 2, 3)]
    found = nearest(
        (one for one in near if one and one.day == number and one.weekday() == weekday), said
    )
    return found or day_of_month(said, number)


def _absolute(match: re.Match[str], said: date) -> date | Open | None:
    year = _year(match, said)
    month = match["m"]
    return calendar(year, int(month) if month.isdecimal() else _month(month), int(match["d"]), said)


def _numeric(match: re.Match[str], said: date) -> date | Open | None:
    """Read 3/14 and 14/3: only where one number can be no month, or both say the same."""
    one, two = int(match["a"]), int(match["b"])
    if one <= 12 and two <= 12 and one != two:  # noqa: PLR2004 - the months
        return None
    month, day = (two, one) if one > 12 else (one, two)  # noqa: PLR2004
    return calendar(int(match["y"]) if match["y"] else None, month, day, said)


def _quarter(match: re.Match[str], said: date) -> date | Open | None:
    nth = match["q"] or match["nth"]
    quarter = int(nth) if nth.isdecimal() else _ordinal(nth)
    year = _year(match, said)
    return quarter_of_year(said, quarter, year)


_TAIL: Final = rf"(?:(?: of)?,? (?P<y>{_YEAR})(?!-)| (?:of )?(?P<yw>last|this|next) year)?"
_NTH: Final = (
    "(?P<nth>" + "|".join(sorted(_ORDINALS, key=len, reverse=True)) + r"|\d{1,2}(?:st|nd|rd|th))"
)
_SPELT: Final = "|".join(
    sorted(
        (one.replace("-", "[- ]") for one in _ORDINALS if one not in {"last", "final"}),
        key=len,
        reverse=True,
    )
)
# Words of which one stands in every unit, weekday, month and feast.
_UNIT_WORDS: Final = " ".join(f"{one} {one}s" for one in _UNITS)
_DAY_WORDS: Final = "monday tuesday wednesday thursday friday saturday sunday"
_MONTH_WORDS: Final = "jan january feb february mar march apr april may jun june jul july aug august sep sept september oct october nov november dec december"
_FEAST_WORDS: Final = (
    "day eve christmas xmas easter halloween nye year patrick fool fools tet tết night fawkes juneteenth thanksgiving epiphany valentine valentines"
    " mayo july saints nicholas tuesday wednesday thursday friday sunday monday gras pentecost christi autumn festival qingming solstice cup"
)

# In order: the first form that fits at a place wins.
ENGLISH: Final[tuple[Form, ...]] = (
    Form(f"{_UNIT_WORDS}&from on after before ago today tomorrow yesterday {_DAY_WORDS}", rf"{_COUNT} (?P<way>from|on|after|before|ago on|ago this|ago last|ago|this|)(?: ?(?<= )){_ANCHOR}", _from_anchor),
    Form("week fortnight", rf"(?:next )?(?P<anchor>{_DAY}|tomorrow|today) (?P<unit>week|fortnight)(?= ?(?:$|[^\w\s]|at|in|for|from|with|and|so|to|then|we|i|it|is))",
         lambda match, said: (base := later(_anchor(match["anchor"], said))) and shift(base, 7 if match["unit"] == "week" else 14)),
    Form("last next&before after", rf"(?:the )?(?P<what>{_DAY}|weekend|week|month|quarter|year|{_SEASON}) (?P<side>before last|after next)", _second),
    Form("after before following", rf"(?:the )?(?P<what>day|night|morning|evening|weekend|week|{_DAY}) (?P<side>after|before|following) {_ANCHOR}", _beside),
    Form("time", r"this time (?P<which>last|next) (?P<unit>week|month|year)|this time tomorrow", _this_time),
    Form("last", r"(?:the )?(?:day|night|evening) before last", fixed(-2)),
    Form("tomorrow tmr tmrw 2morrow 2moro tomoz", "tomorrow|tmrw?|2morrow|2moro|tomoz", fixed(1)),
    Form("yesterday yday day night overnight", "yesterday|y'?day|last night|overnight", fixed(-1)),
    Form("today tonight tonite this just hours moment moments eod day", r"(?:(?:later|earlier) )?(?:today|tonight|tonite|this (?:morning|afternoon|evening|lunchtime|arvo))"
         r"|just now|(?:in )?the (?:small|early|wee) hours|(?:a moment|moments) ago|eod|end of (?:the )?day", fixed(0)),
    Form("of in&day week weekend monday tuesday wednesday thursday friday saturday sunday", rf"(?:the )?{_NTH} (?P<what>{_DAY}|weekend|week|day) (?:of|in) (?:(?P<which>this|next|last|the) month|(?P<month>{_MONTH})(?![a-z])(?:,? (?P<y>{_YEAR}))?)", _nth),
    Form("month", rf"(?:on )?(?:the )?(?P<d>{_DOM}(?:st|nd|rd|th)|{_SPELT}) (?:of )?(?P<which>this|next|last|the) month", _day_of_month),
    Form("next last this coming past", rf"(?P<which>next|last|this coming|this past|the coming|coming|past|this) (?P<day>{_DAY}|{_SHORT}(?!\w))",
         lambda match, said: _which_weekday(match["which"], _weekday(match["day"]), said)),
    Form("week", rf"(?P<day>{_DAY})(?: (?:morning|afternoon|evening|night))?(?: of)? (?P<which>next|last|this|the coming) week",
         lambda match, said: weekday_of_week(said, _weekday(match["day"]), _WHICH[match["which"].removeprefix("the ")])),
    Form("gone", rf"(?P<day>{_DAY}) (?:just )?gone", lambda match, said: earlier(weekdays(said, _weekday(match["day"]), is_strict=True))),
    Form("early earlier mid late later beginning start middle end half turn", rf"{_PART}[ -]{_REF}", _spanned),
    Form("eow eom eoy", "(?P<unit>eow|eom|eoy)", lambda match, said: of_span(span(said, _ENDS[match["unit"]], 0), LATE)),
    Form("midweek mid", "(?:(?P<which>this|next|last) )?mid-?week", lambda match, said: weekday_of_week(said, 2, _WHICH[match["which"] or "this"])),
    Form("week", r"(?P<which>next|last|this coming|the coming|this) (?P<unit>week)", lambda match, said: of_span(span(said, "week", _WHICH[match["which"].split()[-1]]), WHOLE), is_week=True),
    Form("weekend week month quarter year decade", r"(?P<which>next|last|this coming|this past|the coming|coming|past|previous|this) (?P<unit>weekend|week|month|quarter|year|decade)",
         lambda match, said: of_span(span(said, _UNITS[match["unit"]], _WHICH[match["which"].split()[-1]]), WHOLE)),
    Form(f"in within&{_UNIT_WORDS}", rf"(?:with)?in (?:about |around |roughly |the next )?{_COUNT}(?:'? time| from now)?(?! before| after| of (?!now))", _away(1)),
    Form("from later hence time", rf"{_COUNT}(?: (?:from (?:now|today)|later|hence)|'? time)", _away(1)),
    Form("ago back", rf"{_COUNT} (?:ago|back)(?! (?:in|at|to|on|from|into)\b(?! (?:{_MONTH}|{_DAY})))", _away(-1)),
    Form("ago", rf"(?P<n>{_N}) (?P<what>{_DAY}|{_SEASON})s ago", _so_many_ago),
    Form("weekend", "(?:over|at|on|during|since|by|until|till|this|for|before|after|come) the weekend", _weekend),
    Form("#", r"(?P<y>[12]\d{3})[-/.](?P<m>1[0-2]|0?[1-9])[-/.](?P<d>3[01]|[12]\d|0?[1-9])(?!\d)", lambda match, said: calendar(int(match["y"]), int(match["m"]), int(match["d"]), said), is_relative=False),
    Form(_MONTH_WORDS, rf"(?P<m>{_MONTH}) (?:the )?(?P<d>{_DOM})(?:st|nd|rd|th)?(?![\d:%]){_TAIL}", _absolute, is_relative=False),
    Form(f"{_MONTH_WORDS}&#", rf"(?:the )?(?P<d>{_DOM})(?:st|nd|rd|th)?(?: of)? (?P<m>{_MONTH})(?![a-z]){_TAIL}", _absolute, is_relative=False),
    Form("#", rf"(?P<day>{_DAY}|{_SHORT}),? (?:the )?(?P<d>{_DOM})(?:st|nd|rd|th)(?! (?:of )?(?:{_MONTH}|[a-z]* ?month))", _weekday_and_day),
    Form("the&#", r"(?:on )?the (?P<d>(?:3[01]|[12]\d|[1-9])(?:st|nd|rd|th))(?! [a-z]*(?:time|floor|edition|century|birthday|anniversary|grade|graders?|place|round|person|attempt|draft|version|quarter)\b)", _day_of_month),
    Form("the&on by since until till", rf"(?:on|by|since|until|till) the (?P<d>{_SPELT})(?=$|[.,;!?)]| (?:and|so|at|but|for|then|because|with|to)\b)", _day_of_month),
    Form("#", rf"(?:on|by|until|till|since|from|due|for) (?P<a>{_DOM})/(?P<b>{_DOM})(?:/(?P<y>\d{{4}}|\d\d))?(?![\d/])", _numeric, is_relative=False),
    Form("q1 q2 q3 q4 quarter", rf"(?:q(?P<q>[1-4])|(?:the )?(?P<nth>first|second|third|fourth|1st|2nd|3rd|4th) quarter)(?:(?:(?: of)?,? |/)(?P<y>{_YEAR})(?!-)| (?:of )?(?P<yw>last|this|next) year)?", _quarter),
    Form(_FEAST_WORDS,
         rf"(?:(?P<of>this|last|next) )?(?P<feast>{_FEAST}){_TAIL}", _of_feast, is_weak=True),
    Form("this last next&spring summer autumn fall winter springtime summertime wintertime", rf"(?:(?:in|since|over|during|by|until|till|from|through|throughout|for|back in|late|early) )?(?P<of>this|last|next) (?P<season>{_SEASON})(?![a-z])", _spanned),
    Form("spring summer autumn fall winter springtime summertime wintertime", rf"(?:in|since|over|during|by|until|till|from|through|throughout|back in) (?:the )?(?P<season>{_SEASON})(?!s|[a-z]|ing){_TAIL}", _spanned, is_weak=True),
    Form(f"this last next&{_MONTH_WORDS}", rf"(?P<of>this|last|next) (?P<month>{_MONTH})(?![a-z]| {_DOM}(?!\d))", _spanned),
    Form("#", rf"(?:in|since|back in|from|until|till|by) (?P<y>{_YEAR})(?!-)", lambda match, _said: date(int(match["y"]), 1, 1), is_relative=False),
    Form(_MONTH_WORDS, rf"(?:in|by|since|until|till|from|during|through|around|before|after|of|for|come) (?P<month>{_MONTH})(?![a-z]| (?:the )?{_DOM}(?:st|nd|rd|th)?(?![\d:])){_TAIL}", _spanned, is_relative=False),
    Form(_DAY_WORDS, rf"(?P<day>{_DAY})(?!s)", lambda match, said: weekdays(said, _weekday(match["day"])), is_bare_weekday=True),
    Form("tue tues weds thur thurs mon wed thu fri sat sun", r"(?P<day>tues?|weds|thurs?|(?<!the )(?:mon|wed|thu|fri|sat|sun)(?= ?(?:$|[,.;!?)/\d]|(?:morning|afternoon|evening|night|am|pm|at|or)\b)))(?![\w-])", lambda match, said: weekdays(said, _weekday(match["day"])), is_bare_weekday=True),
    Form("mon tue tues wed weds thu thur thurs fri sat sun", rf"(?:on|by|until|till|since|from) (?P<day>{_SHORT})(?![\w-])", lambda match, said: weekdays(said, _weekday(match["day"])), is_bare_weekday=True),
)  # fmt: skip
