"""The acceptance tests that a study of the reference system suggests, by its numbers.

Those of context, forgetting and filters are in test_reference_system_context.py.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta

import pytest
from tests.extractors import Broken, Statements, hang, say

from agentmem import Memory, NotFoundError
from agentmem.protocols import GivenEmbeddings

SPACE = GivenEmbeddings("two", 2)
AT = [1.0, 0.0]


@pytest.fixture
def open_memory(tmp_path):
    made = []

    def make(**options):
        made.append(
            Memory(tmp_path / "m", **({"embedder": SPACE, "extractor": Statements()} | options))
        )
        return made[-1]

    yield make
    for memory in made:
        memory.close()


@pytest.mark.parametrize("failing", ["throws", "times out", "gives junk"])
def test_1_a_failing_extractor_moves_no_cursor_is_seen_and_the_retry_finds_the_same_rows(
    open_memory, failing
):
    event = threading.Event()

    def throw(_messages):
        raise RuntimeError("no")

    extractor = Broken(
        {"throws": throw, "times out": hang(event), "gives junk": lambda _: "junk"}[failing]
    )
    memory = open_memory(extractor=extractor, extractor_timeout_s=0.2)
    ids = memory.capture(say("fact a b is c", "fact d e is f"), session="s").ids
    try:
        assert not memory.consolidate().ok
    finally:
        event.set()
    assert memory.sql("SELECT * FROM cursors") == []
    (job,) = memory.stats().jobs
    assert (job.session, job.attempts, bool(job.error)) == ("s", 1, True)
    extractor.instead = None
    assert memory.consolidate().facts == 2
    assert extractor.asked == [list(ids)]


def test_2_the_same_turn_captured_8_times_is_one_row(open_memory):
    memory = open_memory()
    turn = say("fact a b is c", timestamp="2026-01-01T00:00:00Z")
    threads = [
        threading.Thread(target=memory.capture, args=(turn,), kwargs={"session": "s"})
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert memory.stats().turns == 1
    memory.consolidate()
    assert memory.sql("SELECT count(*) FROM facts") == [(1,)]


def test_3_what_is_captured_during_an_extraction_is_not_stranded(open_memory):
    memory = open_memory()
    gate, reading = threading.Event(), threading.Event()

    def slow(messages):
        reading.set()
        gate.wait(20)
        return Statements().extract(messages)

    memory._shared.extractor = extractor = Broken(slow)
    memory.capture(say("fact a b is c"), session="s")
    running = threading.Thread(target=memory.consolidate)
    running.start()
    reading.wait(20)
    memory.capture(say("fact d e is f"), session="s")
    memory.capture(say("fact g h is i"), session="other")
    gate.set()
    running.join()
    extractor.instead = None
    memory.consolidate()
    assert [fact.text for fact in memory.facts()] == ["a b is c", "d e is f", "g h is i"]
    assert memory.stats().jobs == ()


def test_4_of_50_messages_at_once_each_is_read_once_the_user_before_the_assistant(open_memory):
    extractor = Statements()
    memory = open_memory(extractor=extractor)
    stamp = "2026-01-01T00:00:00Z"
    said = [
        {"role": ("user", "assistant")[n % 2], "content": f"fact i{n} b is c", "timestamp": stamp}
        for n in range(50)
    ]
    ids = memory.capture(said, session="s").ids
    memory.consolidate()
    assert [one for asked in extractor.asked for one in asked] == list(ids)
    assert len(memory.facts()) == 50
    trusts = [fact.trust.name for fact in memory.facts()]
    assert trusts == ["USER", "ASSISTANT"] * 25


def test_5_two_users_never_meet(open_memory):
    memory = open_memory()
    users = {name: memory.scoped(f"acme/{name}") for name in ("ann", "bob")}
    for name, scoped in users.items():
        scoped.capture(say(f"persona user name is {name}", "fact server port is same"), session="s")
    memory.consolidate()
    for name, scoped in users.items():
        other = "bob" if name == "ann" else "ann"
        for tiers in ("L0", "L1", "L2", "L3"):
            for hit in scoped.recall("user name server port", k=50, tiers=tiers, embedding=AT):
                assert hit.scope == f"acme/{name}"
        assert [fact.value for fact in scoped.facts()] == [name, "same"]
        assert other not in scoped.persona().to_system_context()
        for scene in scoped.scenes():
            assert {scoped.get(member).scope for member in scene.members} == {f"acme/{name}"}
        theirs = users[other]
        for row in (theirs.facts()[0].id, theirs.scenes()[0].id, theirs.persona().id, "L0:1"):
            if scoped is users["ann"] and row == "L0:1":
                continue
            with pytest.raises(NotFoundError):
                scoped.trace(row)
    assert memory.scoped("acme/an").facts() == []


@pytest.mark.parametrize("way", ["same batch", "another batch", "another session", "inside"])
def test_6_a_value_that_changed_is_given_once_and_its_history_is_kept(open_memory, way):
    now = [datetime(2026, 1, 1, tzinfo=UTC)]
    memory = open_memory(clock=lambda: now[0])
    old, new = "fact shop discount is ten", "fact shop discount is fifteen"
    if way == "same batch":
        memory.capture(say(old, new), session="s")
    else:
        memory.capture(say(old), session="s")
        memory.consolidate()
        now[0] += timedelta(days=1)
        line = f"we spoke of the weather, and {new}, of all things" if way == "inside" else new
        memory.capture(say(line), session="t" if way == "another session" else "s")
    memory.consolidate()
    now[0] += timedelta(days=1)
    hits = memory.recall("shop discount", k=10, embedding=AT)
    assert [hit.text for hit in hits] == ["shop discount is fifteen"]
    first, second = memory.history(hits[0].id)
    assert (first.value, second.value) == ("ten", "fifteen")
    assert first.valid_to == second.valid_from
    assert (first.is_current, first.superseded_by) == (False, second.id)


TEXTS = {
    "Chinese": ("明天在上海部署服务器", "部署服务器"),
    "Japanese": ("データベースを東京に移した", "東京"),
    "Korean": ("배포는 금요일에 합니다", "금요일에"),
    "mixed": ("deploy 到 Fly.io 上 vào thứ ba", "Fly.io"),
    "emoji": ("the family 👨‍👩‍👧‍👦 flies to Rome ✈️", "family Rome"),
    "right to left": ("הפריסה ביום שלישי", "שלישי"),
    "Vietnamese": ("Đội triển khai ở Đà Nẵng", "da nang"),
}


@pytest.mark.parametrize("language", TEXTS)
def test_9_any_language_comes_back_whole_and_is_found(open_memory, language):
    memory = open_memory()
    text, query = TEXTS[language]
    memory.capture(say("the of and to", text, "的 了 吗"), session="s")
    hits = memory.recall(query, tiers="L0", embedding=None if memory is None else AT)
    best = [hit for hit in hits if hit.bm25_rank == 1]
    assert [hit.text for hit in best] == [text]
    assert memory.get(best[0].id).text == text


def test_16_restarted_in_the_middle_of_everything_it_goes_on(tmp_path):
    """Counters, retries and the queue live in the store: a new process sees and continues them."""
    folder = tmp_path / "m"
    code = """
import os, signal, sys
from agentmem import Memory
from agentmem.protocols import GivenEmbeddings
from tests.extractors import Broken, Statements, say
def boom(messages):
    if "bad" in messages[0].text:
        raise RuntimeError("not now")
    return Statements().extract(messages)
memory = Memory(sys.argv[1], embedder=GivenEmbeddings("two", 2), extractor=Broken(boom))
memory.capture(say("bad fact a b is c"), session="one")
memory.capture(say("fact d e is f"), session="two")
memory.consolidate()
memory.consolidate()
memory.capture(say("fact g h is i", "fact j k is l"), session="three")
os.kill(os.getpid(), signal.SIGKILL)
"""
    paths = os.pathsep.join(os.path.abspath(path or ".") for path in sys.path)
    subprocess.run(
        [sys.executable, "-c", code, str(folder)],
        env=os.environ | {"PYTHONPATH": paths},
        check=False,
    )
    with Memory(folder, embedder=SPACE, extractor=Statements()) as memory:
        one, three = memory.stats().jobs
        assert (one.session, one.attempts, "not now" in one.error) == ("one", 2, True)
        assert (three.session, three.turns, three.error) == ("three", 2, None)
        assert [fact.text for fact in memory.facts()] == ["d e is f"]
        version = memory.persona().version
        assert memory.consolidate().facts == 3
        assert memory.stats().jobs == ()
        assert memory.persona().version >= version
        assert memory.verify().ok
