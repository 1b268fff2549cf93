"""Retention: what goes by age and size, what never goes, and how large the folder stays."""

import itertools
import random
import shutil
import threading
from datetime import timedelta

import numpy as np
import pytest
from tests.canary import Hashed
from tests.extractors import Statements, say

from agentmem import InvalidInputError, Memory, NotFoundError
from agentmem.protocols import GivenEmbeddings
from agentmem.store.folder import folder_bytes
from agentmem.store.retention import live_bytes

DAY = timedelta(days=1)


@pytest.fixture
def memory(tmp_path, clock):
    with Memory(tmp_path / "m", embedder=Hashed(), extractor=Statements(), clock=clock) as memory:
        yield memory


def test_old_turns_go_but_none_that_a_fact_rests_on(memory, clock):
    old = memory.capture(
        say("chat about rain", "fact server port is 80", "more rain"), session="s"
    ).ids
    memory.consolidate()
    clock.now += 10 * DAY
    new = memory.capture(say("chat about snow"), session="s").ids
    memory.consolidate()
    memory.set_retention("L0", max_age=5 * DAY)
    preview = memory.apply_retention()
    assert preview.dry_run
    assert {one for one in preview.ids if one.startswith("L0")} == {old[0], old[2]}
    assert memory.stats().turns == 4
    gone = memory.apply_retention(dry_run=False)
    assert gone.ids == preview.ids
    assert memory.get(old[1]).text == "fact server port is 80"
    assert memory.get(new[0])
    (fact,) = memory.facts()
    assert [turn.id for turn in memory.trace(fact.id).evidence] == [old[1]]
    assert memory.verify().ok
    assert not memory.apply_retention().ids


def test_what_was_not_read_yet_stays(memory, clock):
    (turn,) = memory.capture(say("fact server port is 80"), session="s").ids
    clock.now += 10 * DAY
    memory.set_retention("L0", max_age=DAY)
    assert turn not in memory.apply_retention(dry_run=False).ids
    assert memory.consolidate().facts == 1


def test_what_a_skills_buffer_waits_with_stays(memory, clock):
    memory.skills.add(say("please deploy"), session="s", owner="ann")
    memory.consolidate()
    clock.now += 10 * DAY
    memory.set_retention("L0", max_age=DAY)
    assert memory.apply_retention(dry_run=False).ids == ()


def test_replaced_facts_go_first_and_current_ones_last(memory, clock):
    for n in range(5):
        memory.remember(f"version {n} " + "x" * 1_000, key="k")
        clock.now += DAY
    other = memory.remember("other")
    memory.set_retention("L1", max_bytes=3_000)
    gone = memory.apply_retention(dry_run=False)
    assert [one for one in gone.ids if one.startswith("L1")] == ["L1:1", "L1:2", "L1:3"]
    assert [fact.text[:9] for fact in memory.facts()] == ["version 4", "other"]
    clock.now += 100 * DAY
    memory.set_retention("L1", max_age=50 * DAY)
    assert other.id in memory.apply_retention(dry_run=False).ids
    assert memory.facts() == []


def test_scenes_and_persona_versions_age_too(memory, clock):
    for n in range(4):
        memory.capture(say(f"decision team host is fly{n}"), session=f"s{n}")
        memory.consolidate()
        clock.now += DAY
    current = memory.persona()
    assert current.version >= 3
    memory.set_retention("L3", max_age=timedelta(hours=36))
    gone = memory.apply_retention(dry_run=False)
    assert gone.ids
    assert all(one.startswith("L3") for one in gone.ids)
    assert memory.persona() == current
    memory.set_retention("L2", max_bytes=0)
    memory.apply_retention(dry_run=False)
    assert memory.scenes() == []
    assert memory.facts()
    assert memory.persona().evidence
    assert all(memory.trace(one).evidence for one in memory.persona().evidence)


def test_policies_are_of_a_scope_and_below(memory, clock):
    for scope in ("acme/alice", "acme/bob"):
        memory.scoped(scope).capture(say("chat"), session="s")
        memory.scoped(scope).consolidate()
    memory.scoped("acme/alice").set_retention("L0", max_age=DAY)
    memory.scoped("acme").set_retention("L1", max_bytes=5)
    clock.now += 5 * DAY
    assert [(one.scope, one.tier) for one in memory.retention()] == [
        ("acme", "L1"),
        ("acme/alice", "L0"),
    ]
    assert memory.scoped("acme/bob").retention() == ()
    assert memory.scoped("acme/bob").apply_retention(dry_run=False).ids == ()
    gone = memory.apply_retention(dry_run=False)
    assert "L0:1" in gone.ids
    with pytest.raises(NotFoundError):
        memory.get("L0:1")
    assert memory.get("L0:2")
    memory.scoped("acme").set_retention("L1")
    assert [one.tier for one in memory.retention()] == ["L0"]


@pytest.mark.parametrize(
    "wrong",
    [("L4", {}), ("L0", {"max_age": 5}), ("L0", {"max_age": -DAY}), ("L0", {"max_bytes": -1}),
     ("L0", {"max_bytes": True}), ("L0", {"max_bytes": 1.5})],
)  # fmt: skip
def test_bad_policies(memory, wrong):
    tier, bounds = wrong
    with pytest.raises(InvalidInputError):
        memory.set_retention(tier, **bounds)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("cycles", [30, pytest.param(300, marks=pytest.mark.long)])
def test_the_folder_stays_within_two_and_a_half_times_its_live_data(tmp_path, clock, cycles):
    """Each cycle writes a tenth of what lives and lets as much go."""
    rng = random.Random(1)
    vectors = np.random.default_rng(1)
    words = [
        "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(3, 9)))
        for _ in range(5_000)
    ]
    space = GivenEmbeddings("wide", 384)
    shares = []
    with Memory(tmp_path / "m", embedder=space, clock=clock) as memory:
        memory.set_retention("L1", max_age=10 * DAY)
        for cycle in range(cycles):
            memory.remember_many(
                {"text": " ".join(rng.choices(words, k=80)), "embedding": vector}
                for vector in vectors.standard_normal((150, 384)).astype(np.float32)
            )
            clock.now += DAY
            memory.apply_retention(dry_run=False)
            if cycle >= 10:
                with memory._shared.database.read() as connection:
                    live = live_bytes(connection)
                shares.append(folder_bytes(tmp_path / "m") / live)
        assert memory.stats().facts == 10 * 150
        assert memory.verify().ok
        assert memory.recall(words[0], embedding=[1.0] * 384)
    print(
        f"\n{cycles} cycles: {max(shares):.2f} times the live data at most, {shares[-1]:.2f} at the end"
    )
    assert max(shares) <= 2.5, shares


def test_another_process_that_was_away_goes_on(tmp_path):
    with (
        Memory(tmp_path / "m", embedder=Hashed()) as one,
        Memory(tmp_path / "m", embedder=Hashed()) as two,
    ):
        gone = one.remember("red walnut")
        kept = one.remember("green walnut")
        assert len(two.recall("walnut")) == 2
        one.forget(gone.id)
        new = one.remember("blue walnut")
        one.set_retention("L0", max_age=DAY)
        one.apply_retention(dry_run=False)
        assert one.sql("SELECT value FROM meta WHERE key = 'changes_pruned_through'")
        assert {hit.id for hit in two.recall("walnut")} == {kept.id, new.id}
        later = one.remember("white walnut")
        assert later.id in {hit.id for hit in two.recall("walnut")}
        assert two.verify().ok
    with Memory(tmp_path / "m", embedder=Hashed()) as again:
        assert len(again.recall("walnut")) == 3


def test_a_folder_is_measured_while_its_files_come_and_go(tmp_path):
    running = threading.Event()
    running.set()

    def churn():
        for number in itertools.count():
            if not running.is_set():
                return
            passing = tmp_path / f"tmp-segment-{number}"
            passing.mkdir()
            (passing / "rows").write_bytes(b"x" * 10)
            shutil.rmtree(passing)

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        sizes = {folder_bytes(tmp_path) for _ in range(1_000)}
    finally:
        running.clear()
        thread.join()
    assert sizes <= {0, 10}
