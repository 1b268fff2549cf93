"""The learnt models decide which sentences speak; the rules say what."""

from __future__ import annotations

from copy import copy
from dataclasses import fields, replace
from datetime import datetime, timedelta, timezone
from importlib.resources import files

import numpy as np
import pytest

from agentmem.embedding.tokenizer import packaged_tokenizer
from agentmem.models import Message
from agentmem.tiers.extract import LearntExtractor, RuleExtractor
from agentmem.tiers.extract.extractor import heard
from agentmem.tiers.extract.features import BUCKETS, hashed
from agentmem.tiers.extract.linear import LinearModel, packaged_linear
from agentmem.tiers.extract.tuned import (
    MOST_TOKENS,
    MOST_WINDOWS,
    packaged_tuned,
    windows,
)

TUNED = packaged_tuned()
NOW = datetime(2026, 3, 11, 12, tzinfo=timezone(timedelta(hours=7)))  # a Wednesday


def message(text, *, role="user"):
    return Message(id="L0:1", text=text, role=role, time=NOW)


def read(text, *, role="user", least=None):
    linear, tuned = packaged_linear(), TUNED
    if least is not None:
        linear = replace(linear, thresholds=np.full_like(linear.thresholds, least))
        tuned = with_least(TUNED, least)
    return LearntExtractor(tuned=tuned, linear=linear).extract([message(text, role=role)])


def with_least(model, least):
    changed = copy(model)
    changed.thresholds = least, least
    return changed


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


def test_windows_hold_each_sentence_once_with_its_own_tokens():
    tokenizer = packaged_tokenizer()
    text = "Note: " + "I live in Bristol. The rent is 950 euros! " * 80
    sentences = list(heard(message(text)))
    found = list(windows(sentences, tokenizer))
    assert len(found) > 2
    assert [one for window in found for one, _, _ in window.sentences] == sentences
    first = found[0].sentences[0][0]
    for window in found:
        assert len(window.ids) <= MOST_TOKENS
        assert window.ids[0] == tokenizer.wrap([])[0]
        assert window.ids[-1] == tokenizer.wrap([])[1]
        for one, start, end in window.sentences:
            assert window.ids[start:end] == tokenizer.ids(text[one.start : one.end])
    assert first.start == len("Note: ")


def worth(text):
    return [one.worth for one in TUNED.judge(list(heard(message(text))))]


def test_a_message_is_judged_as_a_whole():
    (alone,) = worth("I live in Bristol.")
    _, beside = worth("Translate this into French for my homework. I live in Bristol.")
    assert beside != alone


def test_what_is_only_imagined_is_worth_less():
    (said,), (imagined,) = worth("I work as a nurse."), worth("Imagine I work as a nurse.")
    assert imagined < 0.5 < said


def test_a_book_in_one_message_costs_a_bounded_time():
    sentences = list(heard(message("The rent went up to 950 euros. " * 20_000)))
    verdicts = list(TUNED.judge(sentences))
    assert len(verdicts) == len(sentences)
    read = sum(one.worth > 0 for one in verdicts)
    assert 0 < read <= MOST_WINDOWS * MOST_TOKENS
    assert all(one.worth == 0 for one in verdicts[read:])


@pytest.mark.parametrize(
    "text", ["\ud800 I live in Bristol.", "I live in \x00 Bristol.", "🙂 I’m Zoë."]
)
def test_odd_text_is_judged(text):
    (verdict,) = TUNED.judge(list(heard(message(text))))
    assert 0 < verdict.worth < 1


def test_the_model_comes_back_as_it_was_written(tmp_path):
    model = packaged_linear()
    model.write(tmp_path / "model.npz")
    again = LinearModel.read(tmp_path / "model.npz")
    for one in fields(model):
        assert np.array_equal(getattr(again, one.name), getattr(model, one.name))
    packaged = (files("agentmem.tiers.extract") / "linear-1.npz").read_bytes()
    assert (tmp_path / "model.npz").read_bytes() == packaged
    assert len(packaged) <= 150_000


def test_scores_are_those_of_plain_arithmetic():
    """An oracle in plain Python: sums of signed bytes, scaled, in a logistic function."""
    model = packaged_linear()
    one = next(heard(message("Mình thích trà hơn cà phê.")))
    names = one.features()
    buckets, signs = hashed(names)
    rows = []
    for row in range(6):
        named = sum(
            int(model.weights[row, b]) * int(s) for b, s in zip(buckets, signs, strict=True)
        )
        rows.append(
            float(model.biases[row]) + named * float(model.scales[row]) / len(names) ** 0.25
        )
    verdict = model.judge(names)
    assert verdict.worth == pytest.approx(1 / (1 + np.exp(-rows[0])), abs=1e-5)
    kinds = ("persona", "instruction", "decision", "event", "fact")
    assert verdict.kind == kinds[int(np.argmax(rows[1:]))]


def test_the_order_of_messages_changes_nothing():
    said = [message("I live in Bristol."), message("我住在南京。"), message("Thanks!")]
    reader = LearntExtractor()
    apart = [fact for one in said for fact in reader.extract([one])]
    assert reader.extract(said) == apart
    assert reader.extract(said, context=[message("x", role="assistant")]) == apart


@pytest.mark.parametrize(
    "text",
    ["Proofread this: I am allergic to nuts.", "Translate to French: I live in Paris.",
     "Write a story about a man who says: I live in Paris.",
     "Here's an email I got:\n\nHi, I live in Paris. Best, Bob", "翻译：我住在北京",
     "把这句话翻译成英文：我对花生过敏。", "你能翻译吗：我住在北京",
     "Bạn dịch giúp mình câu này: Tôi bị dị ứng với đậu phộng.", "Dịch câu này: Tôi bị dị ứng với đậu phộng."],
)  # fmt: skip
def test_what_is_handed_over_to_be_worked_on_is_not_said(text):
    assert read(text, least=0.0) == []


@pytest.mark.parametrize(
    "text", ["I live in Ghent", "\ufeffI live in Ghent.", "I\u200b live in Ghent."]
)
def test_a_missing_stop_and_unseen_marks_change_nothing(text):
    (fact,) = read(text)
    assert fact.text == "The user lives in Ghent."


def test_a_fact_is_worded_with_the_day_that_it_has():
    (fact,) = LearntExtractor().extract(
        [replace(message("I'm travelling on the 30th."), time=NOW.replace(month=1, day=31))]
    )
    assert fact.event_time.date().isoformat() in fact.text


def test_a_denied_habit_is_in_the_third_person():
    (fact,) = read("I don't eat pork", least=0.0)
    assert fact.text == "The user doesn't eat pork."
