"""The Vietnamese forms of dates, Northern and Southern; a text without marks is read by the same forms without marks.

"Tới" with a weekday is the next one, "tuần tới" the week after this; "kia" is two days away. Feasts, the full moon
("rằm") and the months "Giêng" and "Chạp" are of the lunar calendar.
"""

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
    nearest,
    of_span,
    quarter_of_year,
    season,
    shift,
    span,
    weekday_of_week,
    weekdays,
)
from agentmem.tiers.extract.feasts import FEASTS, feast, lunar, named
from agentmem.tiers.extract.lunar import VIETNAM, lunar_day, lunar_month
from agentmem.tiers.extract.vietnamese_words import fold

__all__ = ["VIETNAMESE"]

_DIGITS: Final = {
    word: n for n, words in enumerate(("một mốt mot", "hai", "ba", "bốn tư bon tu", "năm lăm nhăm nam lam nham", "sáu sau", "bảy bẩy bay", "tám tam", "chín chin"), 1)
    for word in words.split()
}  # fmt: skip
_TENS: Final = {"mười": 10, "muoi": 10, "hăm": 20, "ham": 20, "băm": 30, "chục": 10, "chuc": 10}
_VAGUE: Final = {"vài": 3, "mấy": 3, "dăm": 5, "đôi": 2, "nửa": 0}
_WEEKDAYS: Final = {
    name: n
    for n, names in enumerate(("hai", "ba", "tư tu", "năm nam", "sáu sau", "bảy bẩy bay"))
    for name in names.split()
}
_SEASONS: Final = {
    "xuân": 0,
    "xuan": 0,
    "hè": 1,
    "he": 1,
    "hạ": 1,
    "ha": 1,
    "thu": 2,
    "đông": 3,
    "dong": 3,
}
_UNITS: Final[dict[str, Unit]] = {
    "phút": "minute", "phut": "minute", "giờ": "hour", "gio": "hour", "tiếng": "hour", "tieng": "hour", "ngày": "day", "ngay": "day", "hôm": "day", "hom": "day",
    "bữa": "day", "bua": "day", "đêm": "day", "dem": "day", "tuần": "week", "tuan": "week", "tháng": "month", "thang": "month",
    "quý": "quarter", "quy": "quarter", "năm": "year", "nam": "year", "thập kỷ": "decade", "thap ky": "decade",
}  # fmt: skip

_DAY: Final = r"(?:thứ (?:hai|ba|tư|năm|sáu|bảy|bẩy|[2-7])|chủ nhật|t[2-7]|cn)"
_TIME: Final = r"(?:sáng sớm|rạng sáng|sáng|trưa|chiều tối|chiều|tối|đêm|khuya)"
_ONE: Final = "một|mốt|hai|ba|bốn|tư|năm|lăm|nhăm|sáu|bảy|bẩy|tám|chín"
_N: Final = rf"(?:\d{{1,4}}|(?:(?:hai|ba|bốn|năm|sáu|bảy|tám|chín) (?:mươi|chục)|mười|hăm|băm)(?: (?:{_ONE}))?|(?:hai|ba|bốn) (?:mốt|lăm|nhăm)|một|hai|ba|bốn|năm|sáu|bảy|bẩy|tám|chín|vài|mấy|dăm|đôi|nửa)"
_UNIT: Final = "(?P<unit>phút|giờ|tiếng|ngày|hôm|bữa|đêm|tuần|tháng|quý|năm|thập kỷ)"
_SHORT_UNIT: Final = "(?P<unit>ngày|hôm|bữa|tuần|tháng)"
_COUNT: Final = rf"(?P<n>{_N})(?:(?: đến | tới |-|–| hay | )(?:{_N}))? {_UNIT}(?P<half> rưỡi)?"
_NEXT: Final = "sắp tới|tới đây|tới|sau|kế tiếp|kế|tiếp theo|tiếp"
_LAST: Final = "vừa rồi|vừa qua|rồi|qua|trước|ngoái"
_WHICH: Final = rf"(?:sau nữa|tới nữa|trước nữa|{_NEXT}|này|nầy|nay|ni|{_LAST})"
# A day's number in digits or in words, as after "mùng" and "ngày".
_DOM: Final = rf"(?:3[01]|[12]\d|0?[1-9]|(?:hai mươi|ba mươi|mười|hăm|băm)(?: (?:{_ONE}))?|{_ONE})"
_MONTH: Final = r"(?:1[0-2]|0?[1-9]|mười một|mười hai|mười|một|hai|ba|tư|năm|sáu|bảy|bẩy|tám|chín)"
_LUNAR_MONTH: Final = rf"(?:giêng|chạp|{_MONTH})"
_YEAR: Final = r"(?:19|20)\d\d"
_OF_YEAR: Final = rf"(?:,? năm (?P<y>{_YEAR})| ?[/-] ?(?P<ys>{_YEAR})| (?P<yw>năm (?:nay|ngoái|trước|rồi|sau|tới|kia)|sang năm))?"
_PART: Final = "(?P<part>nửa đầu|nửa cuối|đầu|giữa|cuối)"
_FEAST: Final = "|".join(FEASTS["vi"])
_TWO_WORDS: Final = rf"(?:hai mươi|ba mươi|hăm|băm)(?: (?:{_ONE}))?|mười (?:{_ONE})"
# When life goes on after the new year, in days from it.
_AFTER_TET: Final = 6
_AL: Final = " (?:âm lịch|âm|ta|al)"


def _plain(text: str) -> str:
    return " ".join(text.split())


def _group(match: re.Match[str], name: str) -> str:
    return _plain(match.groupdict().get(name) or "")


def _number(text: str) -> int:
    """Return a number in digits or in words: "mười lăm", "hai mươi mốt", "hăm ba", "ba mốt"."""
    if text.isdecimal():
        return int(text)
    total = 0
    for word in _plain(text).split():
        if word in {"mươi", "chục", "chuc"} or (word == "muoi" and total):
            total *= 10
        elif word in _DIGITS:
            total = (10 * total if 0 < total < 10 else total) + _DIGITS[word]  # noqa: PLR2004 - "ba mốt" is 31
        else:
            vague = {**_VAGUE, **{fold(key): n for key, n in _VAGUE.items()}}
            total += _TENS.get(word) or vague.get(word, 20 if word == "ham" else 30)
    return total


def _weekday(name: str) -> int:
    if name.startswith(("c", "chu")):
        return 6
    last = name.rsplit(maxsplit=1)[-1]
    return int(last[-1]) - 2 if last[-1].isdecimal() else _WEEKDAYS[last]


def _which(text: str) -> int:
    text = fold(text)
    if text in {"sau nua", "toi nua"}:
        return 2
    if text == "truoc nua":
        return -2
    return 1 if text in fold(_NEXT).split("|") else -1 if text in fold(_LAST).split("|") else 0


def _part(text: str) -> Part:
    text = fold(text)
    return MIDDLE if "giua" in text else LATE if "cuoi" in text else EARLY


def _unit(text: str) -> Unit:
    return _UNITS[_plain(text)]


def _year(match: re.Match[str], said: date) -> int | None:
    if digits := _group(match, "y") or _group(match, "ys"):
        return int(digits) + (2000 if len(digits) < 3 else 0)  # noqa: PLR2004 - two digits
    which = fold(_group(match, "yw"))
    return (
        said.year
        + {"nam nay": 0, "nam ngoai": -1, "nam truoc": -1, "nam roi": -1, "nam kia": -2}.get(
            which, 1
        )
        if which
        else None
    )


def _away(sign: int) -> Resolve:
    def resolve(match: re.Match[str], said: date) -> date | timedelta | None:
        count = _number(match["n"])
        half = 1 if match["half"] or fold(match["n"]) == "nua" else 0
        return counted(said, _unit(match["unit"]), sign * count, half=sign * half)

    return resolve


def _week_day(match: re.Match[str], said: date) -> date | Open | None:
    """Read a weekday with its week, or with "này", "tới", "sau", "rồi"."""
    day, which = _weekday(_group(match, "day")), _group(match, "which")
    if _group(match, "week"):
        return weekday_of_week(said, day, _which(which))
    plain = fold(which)
    if plain in {"toi", "sap toi", "toi day"}:
        return later(weekdays(said, day, is_strict=True))
    if plain in {"roi", "qua", "vua roi", "vua qua"}:
        return earlier(weekdays(said, day, is_strict=True))
    found = weekday_of_week(said, day, _which(which))
    return shift(found, 7) if found and plain == "nay" and found < said else found


def _unit_which(match: re.Match[str], said: date) -> date | None:
    """Read "đầu tháng sau", "tuần tới", "cuối năm ngoái"."""
    unit, part = _unit(match["unit"]), _group(match, "part")
    if unit == "week" and part and _part(part) == LATE:
        unit, part = "weekend", ""
    return of_span(span(said, unit, _which(_group(match, "which"))), _part(part) if part else WHOLE)


def _weekend(_match: re.Match[str], said: date) -> date | None:
    return of_span(span(said, "weekend", 0), WHOLE)


def _month(match: re.Match[str], said: date) -> date | Open | None:
    part = _group(match, "part")
    month = _number(match["m"])
    which = fold(_group(match, "which"))
    found = month_of_year(said, month, _year(match, said), _part(part) if part else WHOLE)
    return (
        later(found)
        if which == "toi"
        else earlier(found)
        if which in {"roi", "vua roi", "vua qua"}
        else found
    )


def _season(match: re.Match[str], said: date) -> date | Open | None:
    number, part, which = (
        _SEASONS[_group(match, "season")],
        _group(match, "part"),
        _group(match, "which"),
    )
    year = _year(match, said)
    found = season(
        said, number, said.year if which and year is None else year, _part(part) if part else WHOLE
    )
    if not which or year is not None or not isinstance(found, date):
        return found
    step = _which(which)
    if step and (found > said) == (step > 0):
        step = 0
    return season(said, number, said.year + step, _part(part) if part else WHOLE)


def _day(match: re.Match[str], said: date) -> date | Open | None:
    which, number = (
        _group(match, "which"),
        _group(match, "d") or _group(match, "d2") or _group(match, "d3"),
    )
    return day_of_month(said, _number(number), _which(which) if which else None)


def _edge(match: re.Match[str], said: date) -> date | None:
    """Read "ngày cuối tháng", "ngày đầu năm sau"."""
    whole = span(said, _unit(match["unit"]), _which(_group(match, "which")))
    return whole and whole[1 if _part(match["part"]) == LATE else 0]


def _calendar(match: re.Match[str], said: date) -> date | Open | None:
    return calendar(_year(match, said), _number(match["m"]), _number(match["d"]), said)


def _lunar(match: re.Match[str], said: date) -> date | Open | None:
    """Read a day of a lunar month by its name or number: "rằm tháng Giêng", "hăm ba tháng Chạp", "mùng 3 tháng 3 âm"."""
    name = _group(match, "m") or _group(match, "m2") or _group(match, "m3")
    month = {"gieng": 1, "chap": 12}.get(fold(name)) or _number(name)
    number = _group(match, "d") or _group(match, "d2")
    day = _number(number) if number else 15
    return feast(said, lunar(month, day, VIETNAM), _year(match, said)) if month else None


def _lunar_month(match: re.Match[str], said: date) -> date | Open | None:
    month, part = 1 if fold(match["m"]) == "gieng" else 12, _group(match, "part")
    day = {EARLY: 1, MIDDLE: 15, LATE: 29}[_part(part)] if part else 1
    return feast(said, lunar(month, day, VIETNAM), _year(match, said))


def _full_moon(match: re.Match[str], said: date) -> date | Open | None:
    """Read "rằm", "rằm tháng sau", "mùng 5 âm": the 15th, or another day, of a lunar month."""
    year, month = lunar_month(said, VIETNAM)
    which, number = _group(match, "which"), _number(_group(match, "d") or "15")
    at = 12 * year + month - 1
    days = [
        lunar_day((at + off) // 12, (at + off) % 12 + 1, number, VIETNAM)
        for off in (-2, -1, 0, 1, 2)
    ]
    return days[2 + _which(which)] if which else nearest(days, said)


def _tet(match: re.Match[str], said: date) -> date | Open | None:
    """Read "mùng hai Tết", "29 Tết": a day of its month, or one of the twelfth before it."""
    day = _number(match["d"])
    return feast(said, lunar(1 if day <= 15 else 12, day, VIETNAM))  # noqa: PLR2004 - the half of a month


def _of_feast(match: re.Match[str], said: date) -> date | Open | None:
    of_year = named(_plain(match["feast"]), "vi")
    found = feast(said, of_year, _year(match, said)) if of_year else None
    which = fold(_group(match, "which"))
    return (
        found
        if not which
        else later(found)
        if which in {"nay", "toi", "sap toi"}
        else earlier(found)
    )


def _beside_feast(match: re.Match[str], said: date) -> date | None:
    found = _of_feast(match, said)
    base = found.day if isinstance(found, Open) else found
    sign = -1 if fold(match["side"]).startswith("truoc") else 1
    away = base and counted(base, _unit(match["unit"]), sign * _number(match["n"]))
    return away if isinstance(away, date) else None


def _quarter(match: re.Match[str], said: date) -> date | Open | None:
    number = {"i": 1, "ii": 2, "iii": 3, "iv": 4}.get(match["q"]) or _number(match["q"])
    part = _group(match, "part")
    return quarter_of_year(said, number, _year(match, said), _part(part) if part else WHOLE)


_NOT_WHICH: Final = rf"(?! (?:{_WHICH}|nào|nao))"
# Words of which one stands in every weekday and feast.
_DAY_WORDS: Final = "thứ nhật cn t2 t3 t4 t5 t6 t7"
_FEAST_WORDS: Final = (
    "tết lễ nhân valentine thuốc nữ cá giải lao thiếu mẹ cha bố ba liệt khánh halloween giáo giáng noel nô phục ơn táo công thừa tài nguyên thực tổ đản vesak"
    " ngọ bọ tịch lan thu cửu minh đông"
)

# In order: the first form that fits at a place wins.
VIETNAMESE: Final[tuple[Form, ...]] = (
    Form("trước sau&tết lễ noel sinh quốc", rf"(?P<n>{_N}) {_UNIT} (?P<side>trước|sau) (?:khi )?(?P<feast>{_FEAST}){_OF_YEAR}", _beside_feast),
    Form("trước sau", rf"(?P<side>trước|sau) (?P<feast>{_FEAST}){_OF_YEAR} (?:khoảng )?(?P<n>{_N}) {_UNIT}", _beside_feast),
    Form("tết", r"(?:sau|ra|qua|ăn) tết(?: xong)?", lambda _match, said: feast(said, lunar(1, 1, VIETNAM, _AFTER_TET))),
    Form("giêng chạp", rf"(?:{_PART} )?tháng (?P<m>giêng|chạp)(?:{_AL})?(?:,? năm (?P<y>{_YEAR}))?", _lunar_month),
    Form("này", rf"(?:đúng )?(?:ngày|giờ|hôm|lúc) này (?P<unit>tuần|tháng|năm) (?P<which>{_WHICH})",
         lambda match, said: counted(said, _unit(match["unit"]), _which(_group(match, "which")))),
    Form("tết", rf"(?:ngày |hôm |mùng |mồng |chiều |tối |sáng )?(?P<d>2[3-9]|30|[1-9]|10|hăm (?:{_ONE})|hai mươi (?:{_ONE})|ba mươi|{_ONE}) tết(?! (?:dương|tây|thiếu|trung|đoan))", _tet),
    Form("âm ta al", rf"(?:ngày |hôm )?(?:mùng |mồng )?(?P<d>{_DOM}){_AL}(?! lịch tháng)", _full_moon),
    Form("tây", rf"(?:ngày |hôm )?(?:mùng |mồng )?(?P<d>{_DOM}) tây", _day),
    Form("sáng trưa chiều tối đêm&#", rf"{_TIME} (?P<d>3[01]|2\d|1[3-9])(?![\d:/h%.,]| (?:giờ|phút|người|tháng|ngày|độ|h|k)\b)", _day),
    Form("rằm", r"rằm tháng (?P<which>sau|tới|này|trước|rồi)|rằm(?! tháng| trung)(?: (?:này|tới))?", _full_moon),
    Form("tháng", rf"(?:(?:ngày |hôm )?(?:rằm|(?:mùng |mồng )?(?P<d>{_DOM})) tháng (?P<m>giêng|chạp)|rằm tháng (?P<m2>{_MONTH})|(?:ngày |hôm )?(?:mùng |mồng )?(?P<d2>{_DOM}) (?:tháng|/) ?(?P<m3>{_LUNAR_MONTH}){_AL})(?:,? năm (?P<y>{_YEAR}))?",
         _lunar),
    Form("tháng", rf"(?:(?:ngày|hôm|bữa) (?:mùng |mồng )?|(?:mùng|mồng) )(?P<d>{_DOM}) tháng (?P<which>sau nữa|trước nữa|{_NEXT}|này|{_LAST})(?! \d)", _day),
    Form(_DAY_WORDS, rf"(?P<day>{_DAY})(?: của)? (?P<week>tuần) (?P<which>{_WHICH})", _week_day),
    Form(_DAY_WORDS, rf"(?P<day>{_DAY}) (?P<n>{_N}) tuần (?P<way>nữa|tới|sau|trước)",
         lambda match, said: weekday_of_week(said, _weekday(_group(match, "day")), _number(match["n"]) * (-1 if fold(match["way"]) == "truoc" else 1))),
    Form(_DAY_WORDS, rf"(?P<day>{_DAY}) (?P<which>sau nữa|này|nay|vừa rồi|vừa qua|rồi|qua|trước|sắp tới|tới(?! \d| sáng| trưa| chiều| tối| giờ| nay| bây)|sau|kế tiếp|kế|tuần)(?! (?:đó|khi))", _week_day),
    Form(_DAY_WORDS, rf"(?:hôm|bữa) (?P<day>{_DAY})", lambda match, said: earlier(weekdays(said, _weekday(_group(match, "day")), is_strict=True))),
    Form("kìa", "ngày kìa", fixed(3), needs_marks=True), Form("kìa kỉa", "(?:hôm|bữa) (?:kìa|kỉa)", fixed(-3), needs_marks=True),
    Form("kia mốt", r"(?:ngày|bữa|sáng|trưa|chiều|tối) (?:ngày )?mốt|(?:ngày|sáng|trưa|chiều|tối) (?:ngày )?kia|mốt(?= (?:em|e|mình|tôi|anh|má|ba|mẹ|chị|con|tui|tớ|bố|cô|chú|lên|xuống|qua|đi|về|ra|vô|vào|đến|tới|sang|là|có|phải|gặp|làm|học|thi|họp|trả|giao)\b)", fixed(2)),
    Form("mốt", r"(?:^|(?<=[,.;] ))mốt(?= \w)", fixed(2), needs_marks=True),
    Form("kia", "(?:hôm|bữa) kia", fixed(-2)),
    Form("mai mơi", rf"(?:ngày|{_TIME}(?: ngày)?) (?:mai|mơi)|mai(?! (?:là|mốt|sau|này)\b)", fixed(1)),
    Form("qua qa wa hqua", rf"(?:hôm|bữa) (?:qua|qa|wa)|hqua|(?:{_TIME}) (?:hôm )?qua", fixed(-1)),
    Form("hôm đêm khuya", rf"hồi (?:hôm|đêm|khuya)(?! {_DAY})|khi hôm|đêm hôm(?! {_DAY})", fixed(-1)),
    Form("nay này ni hnay", rf"(?:hôm|bữa) (?:nay|ni)|hnay|(?:{_TIME}) (?:hôm )?(?:nay|này)|(?:^|(?<=[,.;] ))nay(?= \w)", fixed(0)),
    Form("hồi khi nãy xong", "(?:hồi|khi) (?:sáng sớm|sáng|trưa|chiều|tối|sớm)(?! hôm| qua| mai)|(?:hồi|khi|lúc|ban|vừa) nãy|vừa xong", fixed(0)),
    Form("cách", rf"(?:cách đây|cách nay) (?:khoảng |hơn |gần |độ )?{_COUNT}", _away(-1)),
    Form("trước", rf"{_COUNT} (?:trước|về trước)(?: đây)?(?! (?:khi|lúc|ngày|tết|lễ|noel))", _away(-1)),
    Form("nay", rf"{_COUNT} nay", _away(-1)),
    Form("nữa", r"(?P<unit>tuần|tháng|năm) nữa", lambda match, said: counted(said, _unit(match["unit"]), 1)),
    Form("nữa sau tới", rf"(?:trong (?:vòng )?)?{_COUNT} (?:nữa|sau|tới)(?! (?:khi|lúc|ngày|tết|lễ|noel))", _away(1)),
    Form("sau trong", rf"(?:sau|trong(?: vòng)?) {_COUNT.replace(_UNIT, _SHORT_UNIT)}(?= ?[,.;]|$)", _away(1)),
    Form("ngày&đầu cuối", rf"ngày (?P<part>đầu|cuối)(?: tiên| cùng)?(?: của)? (?P<unit>tháng|năm|quý)(?: (?P<which>{_WHICH}))?", _edge),
    Form("tuần", rf"(?<!đầu )(?<!giữa )(?<!cuối )(?P<unit>tuần) (?P<which>{_WHICH})(?! (?:đó|khi))", _unit_which, is_week=True),
    Form("tuần tháng năm quý", rf"(?:{_PART} )?(?P<unit>tuần|tháng|năm|quý) (?P<which>{_WHICH})(?! (?:đó|khi))", _unit_which),
    Form("kia kìa&năm", "năm (?P<k>kia|kìa)", lambda match, said: of_span(span(said, "year", -3 if match["k"] == "kìa" else -2), WHOLE)),
    Form("sang qua", rf"(?:{_PART} )?(?:sang|qua) (?P<unit>tuần|tháng|năm|quý)(?! (?:{_WHICH}|\d))",
         lambda match, said: of_span(span(said, _unit(match["unit"]), 1), _part(match["part"]) if match["part"] else WHOLE)),
    Form("xuân hè thu đông hạ&mùa nghỉ dịp", rf"(?:{_PART} )?(?:mùa|nghỉ|dịp) (?P<season>xuân|hè|hạ|thu|đông)(?: (?P<which>này|nay|tới|sau|rồi|vừa rồi|vừa qua|trước))?{_OF_YEAR}", _season),
    Form("hè", rf"(?P<season>hè) (?:(?P<which>này|nay|tới|sau|rồi|vừa rồi|vừa qua|trước)(?! năm)|(?=năm ))(?:(?P<yw>năm (?:nay|ngoái|trước|sau|tới))|năm (?P<y>{_YEAR}))?", _season),
    Form("quý", rf"(?:{_PART} )?quý (?P<q>[1-4]|i{{1,3}}|iv|một|hai|ba|tư|bốn)(?!\w){_OF_YEAR}", _quarter),
    Form("#", r"(?P<y>[12]\d{3})[-/.](?P<m>1[0-2]|0?[1-9])[-/.](?P<d>3[01]|[12]\d|0?[1-9])(?!\d)", _calendar, is_relative=False),
    Form("#", r"(?:ngày|hôm|mùng|mồng)? ?(?P<d>3[01]|[12]\d|0?[1-9]) ?/ ?(?P<m>1[0-2]|0?[1-9])(?!\d)(?: ?/ ?(?P<y>\d{4}|\d{2}))?", _calendar, is_relative=False),
    Form("tháng", rf"(?:ngày |hôm |mùng |mồng )?(?P<d>3[01]|[12]\d|0?[1-9]|{_TWO_WORDS}|(?<=ngày ){_DOM}|(?<=mùng ){_DOM}) tháng (?P<m>{_MONTH})(?!\d){_OF_YEAR}", _calendar, is_relative=False),
    Form("ngày mùng mồng hôm bữa hăm", rf"(?:(?:ngày|hôm|bữa) (?:mùng |mồng )?(?P<d>3[01]|[12]\d|0?[1-9]|{_TWO_WORDS})|(?:hôm |ngày )?(?:(?:mùng|mồng) (?P<d2>{_DOM})|(?P<d3>hăm (?:{_ONE}))(?= (?:này|tới))))(?![\d/]|\w| (?:tháng|tết))(?: (?:này|tới))?",
         _day),
    Form("tháng", rf"(?:{_PART} )?tháng (?P<m>{_MONTH})(?!\d| lần)(?:{_OF_YEAR}| (?P<which>này|tới|rồi|vừa rồi|vừa qua))", _month, is_relative=False),
    Form("năm&đầu giữa cuối", rf"{_PART} năm (?P<y>{_YEAR})", lambda match, _said: of_span(span(date(int(match["y"]), 1, 1), "year", 0), _part(match["part"])), is_relative=False),
    Form("cuối&tuần", rf"cuối tuần{_NOT_WHICH}", _weekend),
    Form("đầu giữa cuối", rf"{_PART} (?P<unit>tháng|năm|quý|tuần){_NOT_WHICH}(?! \d)", _unit_which),
    Form(_FEAST_WORDS, rf"(?P<feast>{_FEAST})(?: (?P<which>này|tới|sắp tới|rồi|vừa rồi|vừa qua)|{_OF_YEAR})", _of_feast, is_weak=True),
    Form(_DAY_WORDS, rf"(?P<day>{_DAY})(?: (?:đầu|cuối) tuần{_NOT_WHICH})?", lambda match, said: weekdays(said, _weekday(_group(match, "day"))), is_bare_weekday=True),
)  # fmt: skip
