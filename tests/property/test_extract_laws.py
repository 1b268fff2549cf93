"""Laws of the extractors over any text."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentmem.models import FACT_KINDS, Message
from agentmem.tiers.conflict import judge
from agentmem.tiers.extract import LearntExtractor, RuleExtractor

READERS = pytest.mark.parametrize(
    "reader", [RuleExtractor(), LearntExtractor()], ids=["rules", "learnt"]
)
NOW = datetime(2026, 3, 11, 12, tzinfo=UTC)
PIECES = st.sampled_from(
    [
        "I",
        "my",
        "wife",
        "we",
        "the",
        "team",
        "prefer",
        "moved",
        "decided",
        "will",
        "never",
        "always",
        "from",
        "now",
        "on",
        "tomorrow",
        "next",
        "Friday",
        ",",
        ".",
        "?",
        "!",
        ";",
        ":",
        "\n",
        "(",
        ")",
        '"',
        "`",
        "```",
        "<b>",
        "</b>",
        "mình",
        "không",
        "thích",
        "từ",
        "nay",
        "đừng",
        "thứ",
        "ba",
        "tuần",
        "sau",
        "nữa",
        "rồi",
        "我",
        "喜欢",
        "以后",
        "明天",
        "决定",
        "不",
        "了",
        "，",
        "。",
        "\x00",
        "�",
        "\u202e",
        "́",
        "👩\u200d👩\u200d👧",
        "42",
        "5/6",
        "2025-13-40",
        "İ",
        "ß",
    ]
)
TEXTS = st.one_of(
    st.text(),
    st.lists(PIECES, max_size=40).map(" ".join),
    st.lists(PIECES, max_size=40).map("".join),
)
TIMES = st.datetimes(timezones=st.just(UTC))


def message(text, said=NOW):
    return Message(id="L0:1", text=text, role="user", time=said)


@READERS
@given(TEXTS, TIMES)
def test_any_text_gives_facts_that_quote_it(reader, text, said):
    facts = reader.extract([message(text, said)])
    for fact in facts:
        start, end = fact.span
        assert 0 <= start < end <= len(text)
        assert text[start:end].strip()
        assert fact.kind in FACT_KINDS
        assert fact.text.strip()
        assert "\n" not in fact.text
        assert 0 <= fact.confidence <= 1
        assert 0 <= fact.priority <= 100
        assert fact.event_time is None or fact.event_time.tzinfo is not None
    assert reader.extract([message(text, said)]) == facts


@READERS
@given(TEXTS, TEXTS)
def test_messages_are_read_each_by_itself(reader, one, two):
    read = reader
    assert read.extract([message(one), message(two)]) == [
        *read.extract([message(one)]),
        *read.extract([message(two)]),
    ]


@READERS
@given(st.lists(TEXTS, max_size=4))
def test_any_facts_are_judged(reader, texts):
    facts = [fact for text in texts for fact in reader.extract([message(text)])]

    class Held:
        def __init__(self, at, fact):
            self.id, self.trust, self._fact = f"L1:{at}", 4, fact

        def __getattr__(self, name):
            return getattr(self._fact, name)

    known = [Held(at, fact) for at, fact in enumerate(facts)]
    for fact in facts:
        verdict = judge(fact, known)
        assert verdict.action == "duplicate" or fact.ends or verdict.action == "supersede"
        assert set(verdict.facts) <= {one.id for one in known}


@READERS
@pytest.mark.parametrize(
    "unit",
    ["a", "I ", "I like tea. ", "(", "<b>", "`", "```\n", '"',
     "x, ", "tomorrow ", "we decided ", "1/2 ", "my ", "for a(",
     "mình thích ", "không ", "我喜欢", "e\u0301", "A: ", "and ", ". ", "| a ", "let us go ", " ", "\n", "\t "],
)  # fmt: skip
def test_the_time_grows_with_the_length_only(reader, unit):
    def took(size):
        text = (unit * (size // len(unit) + 1))[:size]
        begun = time.process_time()
        reader.extract([message(text)])
        return time.process_time() - begun

    took(2_000)
    # What is not linear is not so any time; a busy machine is.
    assert any(8 * 4 * max(took(20_000), 0.002) > took(160_000) for _ in range(3))


@READERS
@settings(max_examples=1)
@given(st.just("I like tea, and then we went on and on about it all day long; "))
def test_ten_megabytes_are_read_in_bounded_time(reader, unit):
    text = unit * (10_000_000 // len(unit))
    begun = time.process_time()
    facts = reader.extract([message(text)])
    assert time.process_time() - begun < 20
    assert len(facts) <= 40
