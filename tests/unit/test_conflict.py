"""What replaces what, and what must be left alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from agentmem.models import Candidate, Message, Trust
from agentmem.tiers.conflict import judge
from agentmem.tiers.extract import RuleExtractor

NOW = datetime(2026, 3, 11, 12, tzinfo=UTC)


@dataclass
class Held:
    id: str
    text: str
    kind: str = "fact"
    subject: str | None = "user"
    attribute: str | None = None
    value: Any = None
    trust: Trust = Trust.USER
    event_time: datetime | None = None
    valid_from: datetime | None = None


def candidate(text, kind="fact", **more):
    return Candidate(
        text=text, kind=kind, source="L0:1", span=(0, 1), **({"subject": "user"} | more)
    )


def tell(*texts):
    """Read the texts one after the other; return the texts that are current at the end."""
    held = []
    for at, text in enumerate(texts):
        time = NOW + timedelta(days=at)
        for fact in RuleExtractor().extract(
            [Message(id=f"m{at}", text=text, role="user", time=time)]
        ):
            given = replace(fact, valid_from=time)
            verdict = judge(given, held)
            if verdict.action == "duplicate":
                continue
            if verdict.action == "supersede":
                held = [one for one in held if one.id not in verdict.facts]
            held.append(Held(f"L1:{at}.{len(held)}", fact.text, fact.kind, fact.subject, fact.attribute,
                             fact.value, Trust.USER, fact.event_time, time))  # fmt: skip
    return [one.text for one in held]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Choir is on Wednesdays at church.", "Choir moved to Thursdays."),
        ("Team mình MSRV là 1.74.", "Nâng MSRV lên 1.80 rồi nha."),
        ("The team uses Jenkins for CI.", "CI moved from Jenkins to GitHub Actions."),
        ("The user is on the night shift.", "The user switched from the night shift to mornings."),
        ("The user drinks three coffees a day.", "The user no longer drinks coffee."),
        ("The standup is at 9:30.", "The standup is at 10 now."),
        ("The user has a gym membership.", "The user cancelled their gym membership."),
        ("The rent is 900 euros.", "The rent went up to 950 euros."),
        ("The user is learning Spanish.", "The user gave up Spanish."),
        ("The user prefers window seats.", "The user prefers aisle seats these days."),
        ("The user drives a Corolla.", "The user sold the Corolla."),
        ("Team mình dùng Jira.", "Team mình chuyển sang Linear rồi, không còn dùng Jira."),
        ("Người dùng ăn chay trường.", "Người dùng không còn ăn chay nữa."),
        ("Người dùng đang làm ở FPT.", "Người dùng nghỉ FPT rồi, giờ làm ở Viettel."),
        ("Tiền nhà 3 triệu một tháng.", "Tiền nhà tăng lên 3 triệu rưỡi."),
        ("用户每天喝咖啡。", "用户不再喝咖啡了。"),
        ("会议定在周三下午三点。", "会议改成周四上午十点。"),
        ("用户等人用MySQL。", "数据库从MySQL换成PostgreSQL了。"),
    ],
)  # fmt: skip
def test_a_sentence_that_says_what_changed_replaces_it_without_a_slot(before, after):
    assert judge(candidate(after), [Held("L1:1", before)]).action == "supersede"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("The rent is 900 euros.", "The deposit went up to 950 euros."),
        ("The user drinks three coffees a day.", "The user no longer drinks beer."),
        ("The user is learning Spanish.", "The user gave up smoking."),
        ("The user's flight leaves on June 3.", "The user's train was pushed back to June 5."),
        ("The user lives with a cat.", "The user no longer lives with their parents."),
        ("Người dùng uống trà.", "Người dùng không còn uống cà phê nữa."),
        ("用户在南京工作。", "用户的妹妹搬到苏州了。"),
    ],
)
def test_a_change_of_another_thing_replaces_nothing(before, after):
    assert judge(candidate(after), [Held("L1:1", before)]).action == "new"


def test_nothing_known_is_new():
    assert judge(candidate("The user lives in Oslo."), []).action == "new"


def test_another_value_of_a_slot_is_no_duplicate_though_its_words_mean_nothing():
    """The values are words that say nothing of a topic: only the slot tells them apart."""
    slot = {"subject": "team", "attribute": "builds"}
    held = Held("L1:1", "builds is done with make", "decision", **slot, value="make")
    told = candidate("builds is done with just", "decision", **slot, value="just")
    assert judge(told, [held], cosines={"L1:1": 0.95}).action == "supersede"


def test_what_differs_in_a_word_that_says_little_is_no_duplicate_if_little_else_is_said():
    known = [Held("L1:1", "The user and others use make for builds.")]
    told = candidate("The user and others use just for builds.")
    assert judge(told, known, cosines={"L1:1": 0.99}).action != "duplicate"
    again = candidate("The user and others use  make for builds")
    assert judge(again, known).action == "duplicate"


def test_the_same_words_are_a_duplicate_whatever_their_case():
    verdict = judge(candidate("the user lives in  Oslo"), [Held("L1:1", "The user lives in Oslo.")])
    assert (verdict.action, verdict.facts) == ("duplicate", ("L1:1",))


@pytest.mark.parametrize(
    ("known", "text"),
    [
        ("The limit is 10 requests.", "The limit is 15 requests."),
        ("Anna owns the billing service.", "Bert owns the billing service."),
        ("The build uses the cache.", "The build does not use the cache."),
    ],
)
def test_a_digit_a_name_a_denial_are_no_duplicate_however_close(known, text):
    verdict = judge(candidate(text), [Held("L1:1", known)], cosines={"L1:1": 0.99})
    assert verdict.action != "duplicate"


def test_a_cosine_lets_a_wording_differ_and_never_decides_alone():
    known = [Held("L1:1", "The staging database runs on Postgres.")]
    same = candidate("The staging database runs on Postgres today.")
    assert judge(same, known, cosines={"L1:1": 0.97}).action == "duplicate"
    other = candidate("The user enjoys long walks.")
    assert judge(other, known, cosines={"L1:1": 0.99}).action == "new"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("The discount is 10 %.", "The discount is 15 %."),
        ("I live in Ghent.", "I moved to Antwerp last Saturday."),
        ("Whenever you show money, use euros.", "Use US dollars instead of euros from now on."),
        ("I like tea.", "I don't like tea."),
        ("Mình sống ở Đà Nẵng.", "Mình vừa chuyển vào Sài Gòn hôm kia."),
        (
            "Nhóm quyết định dùng Flutter cho app.",
            "Nhóm không dùng Flutter nữa mà chuyển sang React Native.",
        ),
        ("Mình thích uống cà phê sữa đá.", "Mình không uống cà phê nữa."),
        ("Thứ ba tuần sau mình có lịch khám răng.", "Lịch khám răng dời sang thứ năm tuần sau."),
        ("我住在杭州。", "我已经搬到上海了。"),
        ("不要用表情符号。", "表情符号可以用了。"),
    ],
)
def test_what_is_said_later_takes_the_place(before, after):
    current = tell(before, after)
    assert len(current) == 1
    assert current != tell(before)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("I like tea.", "I like hiking."),
        ("I live in Ghent.", "My sister lives in Antwerp."),
        ("Never push to main.", "Use euros instead of dollars from now on."),
        ("Mình sống ở Đà Nẵng.", "Bố mẹ mình sống ở Huế."),
        ("Mình thích cà phê.", "Chồng mình nghiện cà phê đen."),
        ("Server staging có 2 máy.", "Server thật có 6 máy."),
        ("I have a dentist appointment next Thursday.", "I have a job interview next Friday."),
        ("I don't eat meat anymore.", "I love cheese."),
    ],
)
def test_what_is_of_another_thing_stays(one, two):
    assert len(tell(one, two)) == 2


def test_it_works_within_one_message():
    assert len(tell("The limit is 10. The limit is 15.")) == 1


def test_less_trust_replaces_nothing():
    known = [Held("L1:1", "The user lives in Oslo.", attribute="residence", value="Oslo")]
    text = candidate("The user lives in Rome.", attribute="residence", value="Rome")
    assert judge(text, known, trust=Trust.ASSISTANT).action == "new"
    assert judge(text, known, trust=Trust.USER).action == "supersede"


def test_what_comes_late_goes_into_the_past():
    known = [
        Held("L1:1", "The user lives in Oslo.", attribute="residence", value="Oslo", valid_from=NOW)
    ]
    late = candidate("The user lives in Rome.", attribute="residence", value="Rome",
                     valid_from=NOW - timedelta(days=9))  # fmt: skip
    verdict = judge(late, known)
    assert (verdict.action, verdict.facts) == ("past", ("L1:1",))


def test_values_of_a_slot_of_many_stay_together():
    known = [Held("L1:1", "The user likes tea.", "persona", attribute="likes", value="tea")]
    more = candidate("The user now likes rum.", "persona", attribute="likes", value="rum")
    assert judge(more, known).action == "new"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("The user is allergic to nuts.", "The user is no longer allergic to cats."),
        ("The user is allergic to nuts and shellfish.", "The user is no longer allergic to nuts."),
        ("The user takes metformin.", "The user no longer takes ibuprofen."),
        ("The user speaks French.", "The user does not speak German any more."),
        ("The user lives in Oslo.", "The user does not live in Bergen."),
        ("The team deploys to Heroku.", "The team no longer deploys to AWS."),
        ("Người dùng dị ứng với đậu phộng.", "Người dùng không còn dị ứng với mèo."),
        ("用户对花生过敏。", "用户对猫不再过敏了。"),
        ("Deploy on Fridays.", "From now on deploy on Mondays too."),
        ("The user is allergic to nuts or shellfish.", "The user isn't allergic to nuts anymore."),
    ],
)
def test_a_denial_or_an_addition_ends_no_other_thing(before, after):
    assert judge(candidate(after), [Held("L1:1", before)]).action == "new"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("The user is allergic to nuts.", "The user is no longer allergic to nuts."),
        ("The team deploys to Heroku.", "The team no longer deploys to Heroku."),
        ("The team uses Jenkins for CI.", "The team does not use Jenkins any more."),
        ("The user is allergic to nuts.", "The user isn't allergic to nuts anymore."),
        ("The user lives in Oslo.", "The user doesn't live in Oslo anymore."),
        ("The user eats pork.", "The user doesn't eat pork any more."),
    ],
)
def test_a_denial_ends_what_it_names(before, after):
    assert judge(candidate(after), [Held("L1:1", before)]).action == "supersede"


def test_an_addition_leaves_the_slot_as_it_is():
    assert len(tell("I live in Oslo.", "I live in Ghent too.")) == 2
    assert tell("I live in Oslo.", "I don't live in Oslo anymore, I live in Ghent.") != [
        "The user lives in Oslo."
    ]
