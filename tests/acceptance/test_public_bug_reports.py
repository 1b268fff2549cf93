"""Kinds of faults that users of peers reported, by the letters of the study; none may occur here."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from tests.extractors import Broken, Statements, say

from agentmem import AsyncMemory, Memory
from agentmem.protocols import GivenEmbeddings

SPACE = GivenEmbeddings("two", 2)
AT = [1.0, 0.0]


@pytest.fixture
def memory(tmp_path):
    with Memory(tmp_path / "m", embedder=SPACE, extractor=Statements()) as opened:
        yield opened


def test_a_a_write_waits_for_no_extractor_and_a_recall_for_no_consolidation(memory):
    gate, reading = threading.Event(), threading.Event()

    def slow(_messages):
        reading.set()
        gate.wait(20)
        return []

    memory._shared.extractor = Broken(slow)
    memory.capture(say("fact a b is c"), session="s")
    running = threading.Thread(target=memory.consolidate)
    running.start()
    try:
        assert reading.wait(20)
        started = time.monotonic()
        memory.remember("written meanwhile", embedding=AT)
        memory.capture(say("captured meanwhile"), session="t")
        assert memory.recall("written", embedding=AT)[0].text == "written meanwhile"
        assert memory.recall("captured", tiers="L0", embedding=AT)
        assert time.monotonic() - started < 5
    finally:
        gate.set()
        running.join()


def test_b_the_event_loop_goes_on_while_the_tiers_are_built(tmp_path):
    import asyncio

    async def main():
        gate = threading.Event()
        extractor = Broken(lambda _: (gate.wait(20) and []) or [])
        async with AsyncMemory(tmp_path / "m", embedder=SPACE, extractor=extractor) as memory:
            await memory.capture(say("fact a b is c"), session="s")
            running = asyncio.create_task(memory.consolidate())
            ticks = 0
            for _ in range(20):
                await asyncio.sleep(0.005)
                ticks += 1
            gate.set()
            assert (await running).ok
            assert ticks == 20

    asyncio.run(main())


def test_c_repeated_writes_and_runs_leave_one_row_each(memory):
    for _ in range(25):
        memory.capture(say("fact a b is c", "persona user editor is vim"), session="s")
        memory.consolidate()
    counts = memory.sql(
        "SELECT (SELECT count(*) FROM turns), (SELECT count(*) FROM facts), "
        "(SELECT count(*) FROM personas)"
    )
    assert counts == [(2, 2, 1)]


def test_c_duplicates_are_said_and_near_ones_with_other_digits_are_kept(memory):
    memory.capture(
        say("fact build one is ok", "fact build two is ok", "fact build one is ok."), session="s"
    )
    report = memory.consolidate()
    assert (report.facts, report.duplicates) == (2, 1)


def test_d_nothing_that_was_merged_or_replaced_is_lost(memory):
    for number, value in enumerate(("one", "two", "three")):
        memory.capture(say(f"fact a b is {value}"), session=str(number))
        memory.consolidate()
    (fact,) = memory.facts()
    assert [version.value for version in memory.history(fact.id)] == ["one", "two", "three"]
    texts = {
        turn.text
        for version in memory.history(fact.id)
        for turn in memory.trace(version.id).evidence
    }
    assert texts == {"fact a b is one", "fact a b is two", "fact a b is three"}


def test_d_what_cannot_be_built_is_seen(memory, monkeypatch):
    def boom(_opened, _scope):
        raise RuntimeError("scenes are broken")

    memory.capture(say("fact a b is c"), session="s")
    monkeypatch.setattr("agentmem.tiers.consolidate.cluster_scope", boom)
    (failed,) = memory.consolidate().failed
    assert (failed.step, failed.session, "scenes are broken" in failed.error) == (
        "cluster",
        None,
        True,
    )
    assert len(memory.facts()) == 1
    monkeypatch.undo()
    assert memory.consolidate().ok
    assert memory.stats().jobs == ()
    assert memory.persona().version == 1


def test_e_an_update_replaces_whatever_the_attribute_and_history_never_crowds_out(memory):
    for subject, attribute in (("user", "city"), ("project", "owner"), ("user", "diet")):
        for value in [f"v{n}" for n in range(30)] + ["last"]:
            memory.capture(say(f"fact {subject} {attribute} is {value}"), session="s")
    memory.consolidate()
    assert [fact.value for fact in memory.facts()] == ["last"] * 3
    hits = memory.recall("user city", k=5, embedding=AT)
    assert hits[0].text == "user city is last"
    assert all(hit.text.endswith("is last") for hit in hits)


def test_e_a_time_means_the_zone_it_was_said_in(memory):
    seen = []
    memory._shared.extractor = Broken(lambda messages: seen.extend(messages) or [])
    stamp = datetime.fromisoformat("2026-06-01T23:30:00+08:00")
    memory.capture(say("tomorrow", timestamp=stamp.isoformat()), session="s")
    memory.consolidate()
    (turn,) = [memory.get(message.id) for message in seen]
    assert turn.event_time == stamp
    assert seen[0].time.date().isoformat() == "2026-06-01"


def test_e_a_teams_rule_is_no_trait_of_the_user(memory):
    memory.capture(say("instruction team style is tabs. persona user style is spaces"), session="s")
    memory.consolidate()
    assert {(fact.subject, fact.value) for fact in memory.facts()} == {
        ("team", "tabs"), ("user", "spaces")
    }  # fmt: skip


def test_f_short_words_of_any_script_are_found_and_one_more_word_never_hides_them(memory):
    memory.capture(say("部署在上海", "发布在北京"), session="s")
    (first,) = memory.recall("上海", tiers="L0", k=1, embedding=AT)
    assert first.text == "部署在上海"
    hits = memory.recall("上海 部署 纠正", tiers="L0", embedding=AT)
    assert hits[0].text == "部署在上海"


def test_g_ranks_are_given_beside_the_score_for_every_tier(memory):
    memory.capture(say("fact server port is one"), session="s")
    memory.consolidate()
    for hit in memory.recall("server port", tiers=("L0", "L1", "L2", "L3"), k=10, embedding=AT):
        assert hit.bm25_rank is not None or hit.ann_rank is not None


def test_h_many_writers_and_readers_at_once_lose_nothing(memory):
    failures = []

    def work(number):
        try:
            for round_ in range(5):
                memory.capture(say(f"fact s{number} r{round_} is v"), session=str(number))
                memory.consolidate()
                memory.recall("fact", tiers=("L0", "L1"), embedding=AT)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    memory.consolidate()
    assert failures == []
    assert len(memory.facts(limit=100)) == 30
    assert memory.verify().ok


def test_h_no_reading_writes(memory):
    memory.capture(say("fact a b is c"), session="s")
    memory.consolidate()
    before = memory.stats().last_seq
    memory.recall("a b", tiers=("L0", "L1", "L2", "L3"), embedding=AT)
    memory.scenes()
    memory.persona()
    memory.trace(memory.persona().id)
    assert memory.stats().last_seq == before


def test_k_a_prefix_is_no_tenant_and_every_way_of_reading_is_bounded(memory):
    acme, corp = memory.scoped("acme"), memory.scoped("acme-corp")
    corp.capture(say("persona user secret is corp"), session="s")
    memory.consolidate()
    assert acme.facts() == []
    assert acme.scenes() == []
    assert acme.persona().version == 0
    assert acme.end_session("s").version == 0
    for tier in ("L0", "L1", "L2", "L3"):
        assert acme.recall("secret corp", tiers=tier, embedding=AT) == []
    assert corp.facts()[0].value == "corp"


def test_k_a_sub_agents_scope_does_not_see_its_siblings(memory):
    one, two = memory.scoped("run/one"), memory.scoped("run/two")
    one.capture(say("fact a b is c"), session="s")
    two.capture(say("fact a b is d"), session="s")
    one.consolidate()
    assert [fact.value for fact in one.facts()] == ["c"]
    assert two.stats().jobs[-1].scope == "run/two"
    assert two.facts() == []


def test_a_clock_that_jumps_loses_and_delays_nothing(tmp_path):
    now = [datetime(2026, 1, 1, tzinfo=UTC)]
    with Memory(
        tmp_path / "m", embedder=SPACE, extractor=Statements(), clock=lambda: now[0]
    ) as memory:
        for number, days in enumerate((0, 3650, -9000, 1)):
            now[0] += timedelta(days=days)
            memory.capture(say(f"fact a b is v{number}"), session="s")
            memory.consolidate()
        (fact,) = memory.facts()
        assert fact.value == "v3"
        assert len(memory.history(fact.id)) == 4
        assert np.isfinite(memory.recall("a b", embedding=AT)[0].score)
