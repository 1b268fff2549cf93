"""Dates that sentences name, against the day they are said and its zone."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from agentmem.tiers.extract.dates import find_dates

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
