"""The linear model decides which sentences speak; the rules say what."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import datetime, timedelta, timezone
from importlib.resources import files

import numpy as np
import pytest

from agentmem.embedding.tokenizer import packaged_tokenizer
from agentmem.models import Message
from agentmem.tiers.extract import LinearExtractor, RuleExtractor
from agentmem.tiers.extract.extractor import heard
from agentmem.tiers.extract.features import BUCKETS, hashed
from agentmem.tiers.extract.linear import LinearModel, packaged_linear, pieces_of

NOW = datetime(2026, 3, 11, 12, tzinfo=timezone(timedelta(hours=7)))  # a Wednesday


def message(text, *, role="user"):
    return Message(id="L0:1", text=text, role=role, time=NOW)


def read(text, *, role="user", least=None):
    model = packaged_linear()
    if least is not None:
        model = replace(model, thresholds=np.full_like(model.thresholds, least))
    return LinearExtractor(model).extract([message(text, role=role)])


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("I prefer tabs over spaces.", "persona"),
        ("I live in Bristol.", "fact"),
        ("Please always run the linter.", "instruction"),
        ("We decided to use Postgres.", "decision"),
        ("Mình không còn ăn chay nữa.", None),
        ("Từ nay viết commit bằng tiếng Việt.", "instruction"),
        ("我住在南京。", "fact"),
    ],
)
def test_plain_statements_speak(text, kind):
    (fact,) = read(text)
    assert kind in {None, fact.kind}
    assert text[slice(*fact.span)] == text.rstrip(".。")


@pytest.mark.parametrize(
    "text",
    ["hello there", "What time is it?", "Thanks!", "ok cool, sounds good", "Chào bạn!",
     "cảm ơn nha", "你好", "Your parcel is out for delivery. Track it in the app."],
)  # fmt: skip
def test_small_talk_and_notices_are_silent(text):
    assert read(text) == []


def test_what_no_rule_reads_speaks_where_the_words_are_worth_it():
    text = "The rent went up to 950 euros."
    assert RuleExtractor().extract([message(text)]) == []
    assert [fact.text for fact in read(text)] == [text]


def test_the_model_has_the_last_word_over_a_rule():
    text = "I prefer tabs over spaces."
    assert RuleExtractor().extract([message(text)])
    assert read(text, least=1.0) == []


def test_a_sentence_gives_one_fact_or_one_for_each_slot():
    assert len(read("I like tea, and we bought a house last week.", least=0.0)) == 1
    text = "My name is Alex and I live in Berlin."
    assert {fact.attribute for fact in read(text)} == {"name", "residence"}


@pytest.mark.parametrize("role", ["assistant", "tool", "system"])
def test_only_people_speak(role):
    assert read("I prefer tabs over spaces.", role=role, least=0.0) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Well, I still need my other leg brace.", "The user still needs their other leg brace."),
        ("I'm off sugar.", "The user is off sugar."),
        ("By the way, my leg hurts my mood.", "The user's leg hurts their mood."),
        ("tui bán xe hôm qua", "Người dùng bán xe hôm qua (2026-03-10)."),
        ("Anh Tuấn bán xe hôm qua", "Anh Tuấn bán xe hôm qua (2026-03-10)."),
        ("我昨天卖车", "用户昨天（2026-03-10）卖车。"),
    ],
)
def test_a_fact_stands_by_itself(text, said):
    (fact,) = read(text, least=0.0)
    assert fact.text == said


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("Leg surgery yesterday, checkup next Friday at noon", "2026-03-20"),
        ("Leg surgery over the weekend", "2026-03-07"),
        ("Mổ chân hôm thứ hai", "2026-03-09"),
        ("tái khám sau 10 ngày", "2026-03-21"),
        ("周末手术", "2026-03-14"),
    ],
)
def test_dates_to_come_stand_before_those_gone(text, day):
    (fact,) = read(text, least=0.0)
    assert fact.event_time.date().isoformat() == day


def test_marks_that_compose_without_combining_keep_their_place():
    text = "I live in \u09c7\u09be Bristol."  # two signs that compose to one
    (fact,) = read(text, least=0.0)
    assert text[slice(*fact.span)] == text[:-1]


def test_any_text_has_features_of_its_own():
    for text in ("\ud800 The login test fails.", "a", "。", "İß ﬁ", "x" * 100_000):
        for one in heard(message(text)):
            buckets, signs = hashed(one.features())
            assert len(buckets) == len(signs) > 0
            assert buckets.min() >= 0
            assert buckets.max() < BUCKETS
            assert set(signs.tolist()) <= {1, -1}


@pytest.mark.parametrize(
    "text", ["I prefer tabs.", "unbelievable misjudgements, 42%!", "qqqq zzxy"]
)
def test_pieces_are_those_of_the_embedder(text):
    tokenizer = packaged_tokenizer()
    ids = [number for number in tokenizer.ids(text) if number not in {101, 102}]
    assert pieces_of(text) == ids


def test_the_model_comes_back_as_it_was_written(tmp_path):
    model = packaged_linear()
    model.write(tmp_path / "model.npz")
    again = LinearModel.read(tmp_path / "model.npz")
    for one in fields(model):
        assert np.array_equal(getattr(again, one.name), getattr(model, one.name))
    packaged = (files("agentmem.tiers.extract") / "linear-1.npz").read_bytes()
    assert (tmp_path / "model.npz").read_bytes() == packaged
    assert len(packaged) <= 300_000


def test_scores_are_those_of_plain_arithmetic():
    """An oracle in plain Python: sums of signed bytes, scaled, in a logistic function."""
    model = packaged_linear()
    one = next(heard(message("I prefer tabs over spaces.")))
    names, pieces = one.features(), one.pieces()
    buckets, signs = hashed(names)
    rows = []
    for row in range(6):
        named = sum(
            int(model.weights[row, b]) * int(s) for b, s in zip(buckets, signs, strict=True)
        )
        spelt = sum(int(model.words[row, piece]) for piece in pieces)
        rows.append(
            float(model.biases[row])
            + named * float(model.scales[0, row]) / len(names) ** 0.25
            + spelt * float(model.scales[1, row]) / len(pieces) ** 0.5
        )
    verdict = model.judge(names, pieces)
    assert verdict.worth == pytest.approx(1 / (1 + np.exp(-rows[0])), abs=1e-5)
    kinds = ("persona", "instruction", "decision", "event", "fact")
    assert verdict.kind == kinds[int(np.argmax(rows[1:]))]


def test_the_order_of_messages_changes_nothing():
    said = [message("I live in Bristol."), message("我住在南京。"), message("Thanks!")]
    reader = LinearExtractor()
    apart = [fact for one in said for fact in reader.extract([one])]
    assert reader.extract(said) == apart
    assert reader.extract(said, context=[message("x", role="assistant")]) == apart
