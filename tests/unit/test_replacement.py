"""What the learnt weights take for a replacement where no rule fires, and what they hold back."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import permutations

import pytest

from agentmem.models import Candidate, Trust
from agentmem.tiers.conflict import judge
from agentmem.tiers.replacement import packaged_replacement, pair_features

NOW = datetime(2026, 3, 11, 12, tzinfo=UTC)
MODEL = packaged_replacement()
# The rules without the weights: nothing is likely, nothing is held back.
RULES_ALONE = replace(MODEL, threshold=math.inf, floor=-math.inf)


class Held:
    trust = Trust.USER

    def __init__(self, name, fact):
        self.id, self._fact = name, fact

    def __getattr__(self, name):
        return getattr(self._fact, name)


def told(text, kind="fact", **more):
    given = {"subject": "user", "valid_from": NOW} | more
    return Candidate(text=text, kind=kind, source="L0:1", span=(0, 1), **given)


def replaced(old, new, model=MODEL):
    return judge(new, [Held("L1:1", old)], model=model).action == "supersede"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("CI runs on Jenkins.", "They dropped Jenkins for GitHub Actions last sprint."),
        ("Priya runs the Leeds team.", "Tom is looking after Leeds now, Priya went on leave."),
        ("Web chạy trên VPS Vultr.", "Đã chuyển hết web khỏi Vultr về Viettel rồi."),
        ("用户习惯用印象笔记。", "印象笔记的账号已经注销了。"),
    ],
)
def test_what_no_rule_sees_is_replaced(before, after):
    assert not replaced(told(before), told(after), RULES_ALONE)
    assert replaced(told(before), told(after))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("CI runs on Jenkins.", "The mobile team is on Bitrise now."),
        ("CI runs on Jenkins.", "They might drop Jenkins at some point."),
        ("The user eats no breakfast.", "The user's sister never liked breakfast."),
        ("Người dùng bán bún.", "Bạn của người dùng đã chuyển đi rồi."),
        ("Nhà có con mèo tên Mướp.", "Vừa rước thêm một bé mèo nữa, đặt là Bơ."),
    ],
)
def test_what_is_of_something_else_stays(before, after):
    assert not replaced(told(before), told(after))


def test_what_happened_is_not_undone_by_the_next_time():
    last = told("The user's stomach hurt.", "event", event_time=NOW - timedelta(days=3))
    assert not replaced(last, told("The user's stomach hurts again now."))
    assert not replaced(last, told("The user's stomach hurts no longer."))


def test_a_cue_that_is_none_retires_nothing():
    """ "The lower back" lowers nothing, and a change of one thing is none of another."""
    before = told("The user does lower back stretches before bed every day.")
    after = told("After work the user's lower back felt sore and stiff.", "event")
    assert not replaced(before, after)


def test_a_rule_with_a_clause_that_is_left_alone_stays():
    half = told("以后回答用户都用简体中文，不要用表情符号。", "instruction", subject="assistant")
    after = told("表情符号可以用了，之前那条作废。", "instruction", subject="assistant")
    assert not replaced(half, after)
    whole = told("不要用表情符号。", "instruction", subject="assistant")
    assert replaced(whole, after)


def test_one_fact_replaces_at_most_one_by_the_weights_in_any_order():
    texts = ("CI runs on Jenkins.", "Jenkins sits under a desk.", "The user drinks tea.")
    known = [Held(f"L1:{at}", told(text)) for at, text in enumerate(texts)]
    new = told("They dropped Jenkins for GitHub Actions last sprint.")
    verdicts = {judge(new, order).facts for order in permutations(known)}
    assert len(verdicts) == 1
    assert len(verdicts.pop()) == 1


def test_two_marked_words_with_the_same_letters_are_two_words():
    assert pair_features(told("Giờ bán rồi."), told("Bàn ở quê."), {}) is None
    assert pair_features(told("Giờ ban roi."), told("Bàn ở quê."), {}) is not None


def test_less_trust_replaces_nothing_by_the_weights():
    known = [Held("L1:1", told("CI runs on Jenkins."))]
    new = told("They dropped Jenkins for GitHub Actions last sprint.")
    assert judge(new, known, trust=Trust.ASSISTANT).action == "new"


def test_what_comes_late_goes_into_the_past():
    known = [Held("L1:1", told("CI runs on Jenkins."))]
    late = told("They dropped Jenkins for GitHub.", valid_from=NOW - timedelta(days=9))
    assert judge(late, known).action == "past"
