"""Dates that sentences name, against the day they are said and its zone."""

from __future__ import annotations

import time
from datetime import datetime, timedelta, timezone

import pytest

from agentmem.models import Message
from agentmem.tiers.extract.dates import find_dates
from agentmem.tiers.extract.extractor import heard
from agentmem.tiers.extract.lunar import CHINA, VIETNAM, lunar_day, lunar_month, solar_term

ZONE = timezone(timedelta(hours=7))
SAID = datetime(2025, 8, 25, 9, 9, tzinfo=ZONE)  # a Monday


@pytest.mark.parametrize(
    ("language", "text", "day"),
    [
        ("en", "today", "2025-08-25"),
        ("en", "the day after tomorrow", "2025-08-27"),
        ("en", "the day before yesterday", "2025-08-23"),
        ("en", "next Friday", "2025-09-05"),
        ("en", "this Friday", "2025-08-29"),
        ("en", "last Thursday", "2025-08-21"),
        ("en", "this weekend", "2025-08-30"),
        ("en", "next month", "2025-09-01"),
        ("en", "in three days", "2025-08-28"),
        ("en", "a couple of weeks ago", "2025-08-11"),
        ("en", "the first Monday of next month", "2025-09-01"),
        ("en", "end of this month", "2025-08-31"),
        ("en", "May 20th", "2025-05-20"),
        ("en", "20 May 2024", "2024-05-20"),
        ("en", "2025-12-01", "2025-12-01"),
        ("en", "in 2019", "2019-01-01"),
        ("vi", "hôm kia", "2025-08-23"),
        ("vi", "ngày mốt", "2025-08-27"),
        ("vi", "thứ sáu tuần này", "2025-08-29"),
        ("vi", "thứ hai tuần trước", "2025-08-18"),
        ("vi", "thu 7 nay", "2025-08-30"),
        ("vi", "2 tuan truoc", "2025-08-11"),
        ("vi", "cuối tháng này", "2025-08-31"),
        ("vi", "đầu tháng 12", "2025-12-01"),
        ("vi", "ngày 15 tháng 10", "2025-10-15"),
        ("vi", "1/10/2024", "2024-10-01"),
        ("zh", "前天", "2025-08-23"),
        ("zh", "下周二", "2025-09-02"),
        ("zh", "上个月", "2025-07-01"),
        ("zh", "两周后", "2025-09-08"),
        ("zh", "2024年5月3日", "2024-05-03"),
    ],
)
def test_forms(language, text, day):
    (found,) = find_dates(text, SAID, language)
    assert found.when.date().isoformat() == day
    assert text[found.start : found.end].strip() == text.strip()
    assert found.when.tzinfo is ZONE


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "I may sunday-drive"),
        ("en", "on February 31st, 2025"),
        ("en", "in 9999 years"),
        ("vi", "ngày 31/2/2025"),
        ("zh", "13月45日"),
        ("en", "version 1.2.3"),
    ],
)
def test_no_day_is_made_up(language, text):
    for found in find_dates(text, SAID, language):
        assert found.when.year < 9999


def test_the_ends_of_the_calendar():
    for year in (1, 9999):
        said = datetime(year, 12, 31, tzinfo=ZONE)
        for text in (
            "next year",
            "last year",
            "next week",
            "in 500 months",
            "900 days ago",
            "last Monday",
        ):
            find_dates(text, said, "en")


def test_the_hour_of_a_sentence_with_one_date():
    (found,) = find_dates("tomorrow at 3:30 pm", SAID, "en")
    assert found.when.isoformat() == "2025-08-26T15:30:00+07:00"
    (found,) = find_dates("下周二下午3点", SAID, "zh")
    assert found.when.hour == 15


def test_a_letter_that_grows_in_lower_case_moves_no_offset():
    text = "İİİİ see you tomorrow"
    (found,) = find_dates(text, SAID, "en")
    assert text[found.start : found.end] == "tomorrow"


@pytest.mark.parametrize(
    ("language", "text", "day"),
    [
        # a number, a unit, a direction
        ("en", "a fortnight ago", "2025-08-11"),
        ("en", "in two weeks' time", "2025-09-08"),
        ("en", "a year and a half ago", "2024-02-25"),
        ("en", "half a year ago", "2025-02-25"),
        ("en", "twenty-one days ago", "2025-08-04"),
        ("en", "two or three weeks ago", "2025-08-11"),
        ("en", "this time last year", "2024-08-25"),
        ("en", "two summers ago", "2023-06-01"),
        ("vi", "nửa năm trước", "2025-02-25"),
        ("vi", "một năm rưỡi trước", "2024-02-25"),
        ("vi", "cách đây hai mươi mốt ngày", "2025-08-04"),
        ("vi", "ba bữa nữa", "2025-08-28"),
        ("vi", "tuần nữa", "2025-09-01"),
        ("vi", "giờ này tuần sau", "2025-09-01"),
        ("zh", "半年前", "2025-02-25"),
        ("zh", "一年半前", "2024-02-25"),
        ("zh", "二十一天前", "2025-08-04"),
        ("zh", "再过两周", "2025-09-08"),
        ("zh", "去年的今天", "2024-08-25"),
        # from another day
        ("en", "a week on Tuesday", "2025-09-02"),
        ("en", "Tuesday week", "2025-09-02"),
        ("en", "Thursday fortnight", "2025-09-11"),
        ("en", "a week ago yesterday", "2025-08-17"),
        ("en", "a fortnight from today", "2025-09-08"),
        ("en", "the day after Christmas", "2025-12-26"),
        ("en", "three days before Easter", "2026-04-02"),
        ("en", "two Fridays ago", "2025-08-15"),
        ("vi", "hai ngày trước Giáng sinh", "2025-12-23"),
        ("zh", "国庆前三天", "2025-09-28"),
        ("zh", "国庆后", "2025-10-08"),
        # weekdays
        ("en", "the Friday before last", "2025-08-15"),
        ("en", "the week after next", "2025-09-08"),
        ("en", "the weekend before last", "2025-08-16"),
        ("en", "this past Sunday", "2025-08-24"),
        ("en", "Wednesday of next week", "2025-09-03"),
        ("en", "Friday the 5th", "2025-09-05"),
        ("vi", "thứ sáu tới", "2025-08-29"),
        ("vi", "thứ sáu tuần tới", "2025-09-05"),
        ("vi", "thứ tư tuần sau nữa", "2025-09-10"),
        ("vi", "chủ nhật vừa rồi", "2025-08-24"),
        ("vi", "thứ ba hai tuần nữa", "2025-09-09"),
        ("vi", "thu sau toi", "2025-08-29"),
        ("vi", "cn tuan sau", "2025-09-07"),
        ("zh", "上上周五", "2025-08-15"),
        ("zh", "下下个礼拜三", "2025-09-10"),
        ("zh", "大后天", "2025-08-28"),
        # days of a month
        ("en", "the 16th of next month", "2025-09-16"),
        ("en", "the last Friday of the month", "2025-08-29"),
        ("en", "the second week of July", "2025-07-08"),
        ("en", "the first weekend in March", "2026-03-07"),
        ("vi", "mùng 5 tháng tới", "2025-09-05"),
        ("vi", "ngày hai mươi tám", "2025-08-28"),
        ("vi", "ngày cuối tháng", "2025-08-31"),
        ("vi", "ngay 14 thang sau", "2025-09-14"),
        ("zh", "下个月10号", "2025-09-10"),
        ("zh", "三月二十号", "2026-03-20"),
        ("zh", "６月３日", "2025-06-03"),
        # parts of weeks, months, quarters, seasons, years
        ("en", "late September", "2025-09-30"),
        ("en", "mid-April 2024", "2024-04-15"),
        ("en", "the start of the year", "2025-01-01"),
        ("en", "the end of next week", "2025-09-05"),
        ("en", "last spring", "2025-03-01"),
        ("en", "the third quarter of last year", "2024-07-01"),
        ("vi", "giữa tháng tư", "2026-04-15"),
        ("vi", "cuối năm ngoái", "2024-12-31"),
        ("vi", "tuần trước nữa", "2025-08-11"),
        ("vi", "sang năm", "2026-01-01"),
        ("vi", "mùa hè năm ngoái", "2024-06-01"),
        ("vi", "dau thang sau", "2025-09-01"),
        ("vi", "quý 4", "2025-10-01"),
        ("zh", "月底", "2025-08-31"),
        ("zh", "下月中旬", "2025-09-15"),
        ("zh", "今年秋天", "2025-09-01"),
        ("zh", "明年初", "2026-01-01"),
        ("zh", "下半年", "2025-07-01"),
        # parts of a day
        ("en", "in the small hours", "2025-08-25"),
        ("en", "the night before last", "2025-08-23"),
        ("vi", "hồi hôm", "2025-08-24"),
        ("vi", "hồi trưa", "2025-08-25"),
        ("vi", "khuya qua", "2025-08-24"),
        ("vi", "sáng kia", "2025-08-27"),
        ("zh", "前晚", "2025-08-23"),
        ("zh", "昨夜", "2025-08-24"),
        # feasts
        ("en", "Labor Day", "2025-09-01"),
        ("en", "Thanksgiving last year", "2024-11-28"),
        ("en", "Good Friday 2026", "2026-04-03"),
        ("vi", "Quốc khánh", "2025-09-02"),
        ("vi", "mùng hai Tết", "2026-02-18"),
        ("vi", "Tết năm sau", "2026-02-17"),
        ("vi", "rằm tháng sau", "2025-10-06"),
        ("vi", "hăm ba tháng Chạp", "2026-02-10"),
        ("vi", "trung thu", "2025-10-06"),
        ("zh", "明年春节", "2026-02-17"),
        ("zh", "端午节", "2025-05-31"),
        ("zh", "中秋前一天", "2025-10-05"),
        ("zh", "农历八月十五", "2025-10-06"),
    ],
)
def test_kinds_of_forms(language, text, day):
    (found,) = find_dates(text, SAID, language)
    assert found.when.date().isoformat() == day


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("I met Ana on Wednesday", "2025-08-20"),
        ("I meet Ana on Wednesday", "2025-08-27"),
        ("We will meet on Wednesday", "2025-08-27"),
        ("Her recital was Sunday, she nailed it", "2025-08-24"),
        ("The rehearsal moved to Sunday morning", "2025-08-31"),
        ("The table is booked for Sunday", "2025-08-31"),
        ("Nobody answered the letter since Tuesday", "2025-08-19"),
        ("They launched the menu on the 1st", "2025-08-01"),
        ("Rent is due on the 1st", "2025-09-01"),
        ("We moved in back in December", "2024-12-01"),
        ("She starts in December", "2025-12-01"),
        ("He quit at the weekend", "2025-08-23"),
        ("We went to Wales over Easter", "2025-04-20"),
        ("Cô giáo dặn nộp bài trước thứ ba", "2025-08-26"),
        ("Em gặp chị Lan hôm thứ ba", "2025-08-19"),
        ("Đợt này chị đi công tác tới thứ bảy mới về", "2025-08-30"),
        ("Tôi đã nộp hồ sơ ngày 28", "2025-07-28"),
        ("周一刚做完手术", "2025-08-25"),
        ("周三去医院看过了", "2025-08-20"),
        ("周五前要交材料", "2025-08-29"),
        ("12月8号办的婚礼很热闹", "2024-12-08"),
        ("We settled the date for May 5", "2026-05-05"),
        ("The Christmas dinner is on Friday", "2025-08-29"),
        ("Next week's review is on Thursday", "2025-09-04"),
        ("Họp nhóm đổi sang thứ ba, bắt đầu từ tuần tới", "2025-09-02"),
        ("下周会议改到周二下午", "2025-09-02"),
    ],
)
def test_the_day_that_a_sentence_means(text, day):
    message = Message(id="1", text=text, role="user", speaker="user", session="s", time=SAID)
    (one,) = heard(message)
    assert one.day().when.date().isoformat() == day


@pytest.mark.parametrize(
    ("year", "month", "day", "zone", "expected"),
    [
        (1985, 1, 1, VIETNAM, "1985-01-21"),  # a month before China's
        (1985, 1, 1, CHINA, "1985-02-20"),
        (2007, 1, 1, VIETNAM, "2007-02-17"),
        (2007, 1, 1, CHINA, "2007-02-18"),
        (2025, 12, 30, VIETNAM, "2026-02-16"),  # the eve: that month has 29 days
        (2023, 8, 15, CHINA, "2023-09-29"),  # after a leap second month
        (2033, 12, 1, CHINA, "2034-01-20"),  # after a leap eleventh month
    ],
)
def test_lunar_days(year, month, day, zone, expected):
    found = lunar_day(year, month, day, zone)
    assert found.isoformat() == expected
    assert lunar_month(found, zone) == (year, month)


def test_lunar_days_that_are_none():
    assert lunar_day(2025, 1, 31, CHINA) is None
    assert lunar_day(9000, 1, 1, CHINA) is None
    assert solar_term(2026, 15, CHINA).isoformat() == "2026-04-05"
    assert solar_term(2026, 270, CHINA).isoformat() == "2026-12-22"


@pytest.mark.parametrize("language", ["en", "vi", "zh"])
@pytest.mark.parametrize(
    "piece",
    [
        "a week on the day after ",
        "hai mươi ngày ",
        "mùng hăm ",
        "三个半月的年",
        "in the last ",
        "1 2 3 ",
        "周",
        "friday ",
    ],
)
def test_time_grows_with_the_text(language, piece):
    def cost(times):
        text = piece * times
        best = 1e9
        for attempt in range(3):
            begun = time.process_time()
            find_dates(text + "x" * attempt, SAID, language)
            best = min(best, time.process_time() - begun)
        return best

    cost(100)
    assert cost(2_000) < 24 * cost(250) + 0.02
