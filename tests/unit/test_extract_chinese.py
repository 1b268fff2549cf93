"""Chinese: clauses between signs, read by a table."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from agentmem.models import Message
from agentmem.tiers.extract import RuleExtractor

NOW = datetime(2026, 3, 11, 12, tzinfo=timezone(timedelta(hours=8)))  # a Wednesday


def read(text):
    return RuleExtractor().extract([Message(id="L0:1", text=text, role="user", time=NOW)])


@pytest.mark.parametrize(
    ("text", "kind", "attribute", "value"),
    [
        ("我住在杭州。", "fact", "residence", "杭州"),
        ("我喜欢喝绿茶。", "persona", "likes", "喝绿茶"),
        ("我讨厌开会。", "persona", "dislikes", "开会"),
        ("以后回答我都用简体中文。", "instruction", None, None),
        ("我们决定用Postgres。", "decision", None, None),
    ],
)
def test_kinds(text, kind, attribute, value):
    (fact,) = read(text)
    assert (fact.kind, fact.attribute, fact.value) == (kind, attribute, value)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("三天前我刚换了工作。", "2026-03-08"),
        ("下周五我们去看房。", "2026-03-20"),
        ("上周五我和他开会了。", "2026-03-06"),
        ("我们明天出发去川西。", "2026-03-12"),
        ("7月15日下午我去考试。", "2026-07-15"),
    ],
)
def test_events_have_absolute_days(text, day):
    (fact,) = read(text)
    assert fact.kind == "event"
    assert fact.event_time.date().isoformat() == day


@pytest.mark.parametrize(
    "text",
    [
        "你喜欢什么？",
        "如果我是百万富翁，我就天天住酒店。",
        "这次只回答“好”，别的都不要说。",
        "哈哈好的，谢谢啦！",
    ],
)
def test_what_nobody_states_is_silent(text):
    assert read(text) == []
