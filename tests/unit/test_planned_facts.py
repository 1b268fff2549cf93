"""Facts that begin later, and what becomes of them when the plan changes."""

from __future__ import annotations

from datetime import timedelta

import pytest

from agentmem import Memory
from agentmem.testing import FakeClock, HashEmbedder


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def memory(tmp_path, clock):
    with Memory(tmp_path / "m", embedder=HashEmbedder(), clock=clock) as opened:
        yield opened


def found(memory, query, **conditions):
    return sorted(hit.text for hit in memory.recall(query, **conditions))


def test_current_is_what_nothing_superseded_whenever_it_holds(memory, clock):
    old = memory.remember("The office is in Ghent.", key="office")
    begins = clock() + timedelta(days=30)
    plan = memory.remember("The office is in Paris.", key="office", valid_from=begins)
    for holds, days in ((old, 31), (plan, 0)):
        assert [fact.id for fact in memory.facts()] == [plan.id]
        assert (memory.stats().facts, memory.stats().superseded) == (1, 1)
        assert [memory.get(one.id).is_current for one in (old, plan)] == [False, True]
        (hit,) = memory.recall("office")
        # A hit speaks of the time that was asked for.
        assert (hit.id, hit.is_current) == (holds.id, True)
        clock.advance(days=days)


@pytest.mark.parametrize("days", [None, 10])
def test_a_plan_that_is_overtaken_leaves_one_fact_current(memory, clock, days):
    now = clock()
    memory.remember("The office is in Ghent.", key="office")
    memory.remember("The office is in Paris.", key="office", valid_from=now + timedelta(days=30))
    assert found(memory, "office") == ["The office is in Ghent."]
    begins = None if days is None else now + timedelta(days=days)
    memory.remember("The office is in Berlin.", key="office", valid_from=begins)
    for after, holds in ((0, "Ghent" if days else "Berlin"), (11, "Berlin"), (31, "Berlin")):
        at = now + timedelta(days=after, seconds=1)
        clock.advance(at - clock())
        assert found(memory, "office") == [f"The office is in {holds}."]
        assert found(memory, "office", as_of=at) == [f"The office is in {holds}."]


def test_a_plan_that_is_put_off_lets_what_held_hold_longer_no_more(memory, clock):
    now = clock()
    for place, days in (("Ghent", 0), ("Paris", 30), ("Berlin", 40)):
        memory.remember(f"The office is in {place}.", key="office",
                        valid_from=now + timedelta(days=days))  # fmt: skip
    for after, holds in ((1, "Ghent"), (31, "Paris"), (41, "Berlin")):
        at = now + timedelta(days=after)
        assert found(memory, "office", as_of=at) == [f"The office is in {holds}."]


def test_an_event_that_is_told_anew_replaces_the_one_before(memory, clock):
    for place, days in (("Rome", 4), ("Oslo", 4), ("Bern", 9)):
        memory.remember(f"I fly to {place}.", kind="event", key="trip",
                        valid_from=clock() + timedelta(days=days))  # fmt: skip
        assert found(memory, "I fly", kinds=["event"]) == [f"I fly to {place}."]
    assert [fact.text for fact in memory.history("L1:1")][-1] == "I fly to Bern."


def test_a_plan_in_what_is_said_is_overtaken_too(memory):
    said = ["I live in Ghent.", "From next month on I live in Paris.", "I live in Rome now."]
    for text in said:
        memory.capture([{"role": "user", "content": text}], session="s")
        memory.consolidate()
    places = {place for place in ("Ghent", "Paris", "Rome")
              if any(place in text for text in found(memory, "where do I live?", k=10))}  # fmt: skip
    assert len(places) <= 1 or places == {"Rome"}


def test_a_word_without_end_stops_no_session(memory):
    memory.capture(
        [
            {"role": "user", "content": "I live in Ghent."},
            {"role": "user", "content": "I always deploy with https://s3.example/?" + "ab1" * 1500},
            {"role": "user", "content": "我喜欢" + "好" * 5_000},
            {"role": "user", "content": "My dog is called Rex."},
        ],
        session="s",
    )
    assert not memory.consolidate().failed
    texts = [fact.text for fact in memory.facts()]
    assert any("Ghent" in text for text in texts)
    assert any("Rex" in text for text in texts)
    assert memory.stats().jobs == ()
