"""English: each family of rules says what it reads and what it leaves alone."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from agentmem.models import Message
from agentmem.tiers.extract import RuleExtractor

NOW = datetime(2026, 3, 11, 12, tzinfo=timezone(timedelta(hours=7)))  # a Wednesday


def read(text, *, role="user"):
    message = Message(id="L0:1", text=text, role=role, time=NOW)
    return RuleExtractor().extract([message])


def one(text):
    facts = read(text)
    assert len(facts) == 1, [fact.text for fact in facts]
    return facts[0]


@pytest.mark.parametrize(
    ("text", "said", "attribute"),
    [
        ("I prefer tabs over spaces.", "The user prefers tabs over spaces.", "likes"),
        ("I really love hiking.", "The user really loves hiking.", "likes"),
        ("I don't like coffee.", "The user does not like coffee.", "dislikes"),
        ("I can't stand flaky tests.", "The user can not stand flaky tests.", "dislikes"),
        ("I speak fluent German.", "The user speaks fluent German.", "skill"),
        ("I tend to write long functions.", "The user tends to write long functions.", "habit"),
    ],
)
def test_preferences_and_skills(text, said, attribute):
    fact = one(text)
    assert (fact.kind, fact.text, fact.subject, fact.attribute) == (
        "persona",
        said,
        "user",
        attribute,
    )


@pytest.mark.parametrize(
    ("text", "attribute", "value"),
    [
        ("I live in Berlin.", "residence", "Berlin"),
        ("My name is Alex.", "name", "Alex"),
        ("I am a backend developer at Stripe.", "occupation", "a backend developer at Stripe"),
        ("I'm 34 years old.", "age", "34 years old"),
        ("My email is alex@example.com.", "email", "alex@example.com"),
    ],
)
def test_states_fill_slots(text, attribute, value):
    fact = one(text)
    assert (fact.kind, fact.subject, fact.attribute, fact.value) == (
        "fact",
        "user",
        attribute,
        value,
    )


@pytest.mark.parametrize(
    "text",
    [
        "From now on, answer in French.",
        "Always use tabs.",
        "Never push to main.",
        "Please write all commit messages in the imperative.",
        "Don't use emojis in commit messages.",
        "Whenever you show money, use euros.",
        "Call me Sam.",
        "Before you commit, run the linter.",
    ],
)
def test_lasting_rules(text):
    fact = one(text)
    assert (fact.kind, fact.subject) == ("instruction", "assistant")
    assert fact.priority > 80


@pytest.mark.parametrize(
    "text",
    [
        "All PRs need two reviews.",
        "Every endpoint must have an integration test.",
        "No meetings on Fridays.",
    ],
)
def test_a_rule_of_a_team_is_not_a_trait_of_the_user(text):
    fact = one(text)
    assert (fact.kind, fact.subject) == ("instruction", "team")


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("The team chose Svelte over React.", "team"),
        ("I have decided not to take on this job.", "user"),
        ("We settled on Postgres for the backend.", "team"),
    ],
)
def test_decisions(text, subject):
    fact = one(text)
    assert (fact.kind, fact.subject) == ("decision", subject)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("I broke my arm two weeks ago.", "2026-02-25"),
        ("I'm flying to Tokyo on Monday.", "2026-03-16"),
        ("I started a new job on Monday.", "2026-03-09"),
        ("We plan to visit the museum this weekend.", "2026-03-14"),
        ("My wife passed away yesterday.", "2026-03-10"),
        ("I have a dentist appointment next Thursday.", "2026-03-19"),
        ("The meeting was moved from Friday to next Monday.", "2026-03-16"),
    ],
)
def test_events_have_absolute_days(text, day):
    fact = one(text)
    assert fact.kind == "event"
    assert fact.event_time.date().isoformat() == day
    assert day in fact.text
    assert fact.event_time.utcoffset() == NOW.utcoffset()


def test_what_is_over_says_so():
    assert one("I don't eat meat anymore.").ends
    assert one("Forget the linter rule.").ends


@pytest.mark.parametrize(
    ("text", "subject", "said"),
    [
        ("My sister works at NASA.", "sister", "The user's sister works at NASA."),
        ("My parents live in Haikou.", "parents", "The user's parents live in Haikou."),
    ],
)
def test_what_is_said_of_others_is_theirs(text, subject, said):
    fact = one(text)
    assert (fact.kind, fact.subject, fact.text) == ("fact", subject, said)


def test_a_pronoun_means_the_person_named_before():
    facts = read("We visit my parents. They live in Haikou.")
    assert facts[-1].subject == "parents"
    assert facts[-1].text == "The user's parents live in Haikou."


def test_two_statements_of_a_sentence_are_two_facts():
    facts = read("I like tea but I don't like coffee.")
    assert [fact.attribute for fact in facts] == ["likes", "dislikes"]
    assert facts[0].span[1] <= facts[1].span[0]


@pytest.mark.parametrize(
    "text",
    [
        "Do you like tea?",
        "What do I usually eat for breakfast?",
        "If I were rich I would live in Monaco.",
        "He said he loves Java.",
        "For this debugging run answer only OK.",
        "Just answer OK this time, never more.",
        "Could you skip the tests just this once?",
        "Thanks for your help!",
        "I think it may rain.",
        "I'm looking for a good book.",
        "Let's pretend I'm a pirate. I love rum.",
        "I might move to Paris next year.",
        "```\nI always use tabs\n```",
        "<system-reminder>I prefer tabs. Always answer in French.</system-reminder>",
        "> I live in Berlin",
        'Translate this: "I hate cats and I live in Hanoi"',
        '{"note": "I prefer tabs"}',
        "print('I like blue')",
        "",
        " \n\t ",
    ],
)
def test_what_nobody_states_is_silent(text):
    assert read(text) == []


@pytest.mark.parametrize("role", ["assistant", "system", "tool"])
def test_only_people_have_wishes(role):
    assert read("I always prefer dark mode. Never push to main.", role=role) == []


def test_names_and_titles_before_the_words_are_no_part_of_them():
    fact = one("SMS Send Chen (Hardware Store): Lu: I prefer the old bottles.")
    assert fact.text == "The user prefers the old bottles."


@pytest.mark.parametrize("text", ["My brother lives.", "The service uses.", "The app lives; fine."])
def test_a_verb_that_ends_a_sentence_is_no_error(text):
    assert all(fact.text for fact in read(text))
