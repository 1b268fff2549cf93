"""Killed at any step of archive, claim, review and apply: nothing lost, nothing twice."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from skills_child import BLOB_STEPS, FEED_STEPS, LOG, REVIEW_STEPS
from tests.skill_help import Canned, feed, open_memory, pairs, user

from agentmem import GivenEmbeddings, Memory
from agentmem.skills.archive_store import FolderArchiveStore

CHILD = os.path.join(os.path.dirname(__file__), "skills_child.py")
IN_DEFAULT = {"written", "archive inserted", "buffer cleared", "blob renamed", "payload put",
              "claimed", "answer stored", "effects written", "applied"}  # fmt: skip


def start(*arguments):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, CHILD, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, env=environment)


def run_and_die(*arguments):
    child = start(*arguments)
    out, _ = child.communicate(timeout=120)
    assert child.returncode == -signal.SIGKILL, (arguments, out)


def marked(steps):
    return [
        pytest.param(step, marks=[] if step in IN_DEFAULT else [pytest.mark.long]) for step in steps
    ]


def times(request):
    return 20 if request.config.getoption("--long") else 1


def check(memory):
    """What holds at any time, whatever was killed."""
    ((lost,),) = memory.sql(
        "SELECT count(*) FROM skill_archives WHERE NOT EXISTS "
        "(SELECT 1 FROM skill_tasks WHERE archive_id = skill_archives.id)"
    )
    assert lost == 0
    assert memory._shared.database.integrity() == []
    for buffer, *counts in memory.sql("SELECT id, messages, calls, size FROM skill_buffers"):
        (waiting,) = memory.sql(
            "SELECT count(*), coalesce(sum(calls), 0), coalesce(sum(size), 0) FROM skill_buffered "
            f"WHERE buffer_id = {buffer} AND archive_id IS NULL AND is_dropped = 0"
        )
        assert list(waiting) == counts
    for archive, messages in memory.sql("SELECT id, messages FROM skill_archives"):
        ((taken,),) = memory.sql(
            f"SELECT count(*) FROM skill_buffered WHERE archive_id = {archive}"
        )
        assert taken == messages


def finish(skills, memory):
    """Restart: review what is due, and see one effect of the one candidate."""
    check(memory)
    deadline = time.monotonic() + 10
    while True:
        skills.review(reviewer=Canned())
        if not skills.queue():
            break
        assert time.monotonic() < deadline
        time.sleep(0.05)
    check(memory)
    assert memory.sql("SELECT count(*) FROM skill_effects") == [(1,)]
    assert memory.sql("SELECT name, version FROM skills") == [("deploy", 1)]
    assert memory.sql("SELECT count(*) FROM skill_versions") == [(1,)]
    assert memory.sql("SELECT state, outcome FROM skill_tasks") == [("done", "created")]
    assert skills.get("deploy").version == 1


@pytest.mark.parametrize("step", marked(FEED_STEPS))
def test_killed_while_feeding(step, scratch, request):
    for turn in range(times(request)):
        folder = scratch / f"memory{turn}"
        open_memory(folder).close()
        run_and_die("feed", folder, step)
        with open_memory(folder) as memory:
            check(memory)
            # The host was not told, so it feeds again.
            memory.skills.add(LOG, session="s", owner="ann")
            assert memory.stats().turns == len(LOG)
            finish(memory.skills, memory)


@pytest.mark.parametrize("step", marked(BLOB_STEPS))
def test_killed_while_a_payload_is_written(step, scratch, request):
    for turn in range(times(request)):
        folder, payloads = scratch / f"memory{turn}", scratch / f"payloads{turn}"
        open_memory(folder).close()
        run_and_die("feed", folder, step, payloads)
        with open_memory(folder) as memory:
            assert memory.sql("SELECT count(*) FROM skill_tasks") == [(0,)]
            store = FolderArchiveStore(payloads)
            # Nobody feeds again: the next review archives what was due.
            finish(memory.skills.configure(archives=store), memory)
            ((digest,),) = memory.sql("SELECT lower(hex(digest)) FROM skill_archives")
            assert store.keys() == {digest}


@pytest.mark.parametrize("step", marked(REVIEW_STEPS))
def test_killed_while_reviewing(step, scratch, request):
    for turn in range(times(request)):
        folder = scratch / f"memory{turn}"
        with open_memory(folder) as memory:
            memory.skills.add(LOG, session="s", owner="ann")
        run_and_die("review", folder, step)
        with open_memory(folder) as memory:
            finish(memory.skills, memory)


def swarm(folder, tasks, distinct):
    names = [f"skill-{number}" for number in range(distinct)]
    with Memory(folder, embedder=GivenEmbeddings(id="test", ndim=2), durability="normal") as memory:
        for number in range(tasks):
            feed(memory.skills, names[number % distinct], f"session {number}", calls=1)
    child = start("swarm", folder, 7)
    out, _ = child.communicate(timeout=1_100)
    assert child.returncode == 0
    with open_memory(folder) as memory:
        check(memory)
        states = dict(memory.sql("SELECT state, count(*) FROM skill_tasks GROUP BY state"))
        print(f"{tasks} tasks, {int(out)} kills: {states}")
        assert sum(states.values()) == tasks
        assert set(states) <= {"done", "dead"}
        assert memory.sql("SELECT count(*) FROM skill_effects") == [(distinct,)]
        assert memory.sql("SELECT count(DISTINCT candidate) FROM skill_effects") == [(distinct,)]
        assert memory.sql("SELECT count(*) FROM skill_versions") == [(distinct,)]
        outcomes = dict(memory.sql("SELECT outcome, count(*) FROM skill_tasks GROUP BY outcome"))
        assert outcomes["created"] == distinct
        assert outcomes.get("rejected", 0) == states["done"] - distinct
        assert list((folder / "workers").glob("*.lock")) != [] or int(out) == 0
        memory.skills.review(reviewer=Canned())
    return int(out)


def test_a_swarm_that_is_killed_every_200_ms(scratch):
    assert swarm(scratch / "memory", tasks=80, distinct=20) >= 0


@pytest.mark.long
@pytest.mark.timeout(1_200)
def test_two_thousand_tasks_in_a_swarm(scratch):
    assert swarm(scratch / "memory", tasks=2_000, distinct=100) > 5


def test_a_dead_workers_task_is_taken_over_within_a_second(scratch):
    folder = scratch / "memory"
    with open_memory(folder) as memory:
        memory.skills.add(LOG, session="s", owner="ann")
        stop, seen = threading.Event(), []
        run_and_die("review", folder, "reviewer answered")
        assert memory.skills.queue()[0].state == "leased"
        started = time.monotonic()
        thread = threading.Thread(
            target=memory.skills.watch, args=(stop,),
            kwargs={"reviewer": Canned(), "on_review": seen.append},
        )  # fmt: skip
        thread.start()
        while not seen and time.monotonic() - started < 10:
            time.sleep(0.005)
        took = time.monotonic() - started
        stop.set()
        thread.join()
        assert seen[0].outcome == "created"
        assert took < 1


def test_a_living_workers_task_is_left_alone(scratch):
    folder = scratch / "memory"
    holding, go_on = threading.Event(), threading.Event()

    def wait(_):
        holding.set()
        go_on.wait(30)

    with open_memory(folder) as memory, open_memory(folder) as other:
        memory.skills.add(LOG, session="s", owner="ann")
        seen = []
        thread = threading.Thread(
            target=lambda: seen.extend(memory.skills.review(reviewer=Canned(also=wait)))
        )
        thread.start()
        assert holding.wait(20)
        assert other.skills.review(reviewer=Canned()) == []
        assert memory.skills.review(reviewer=Canned()) == []
        go_on.set()
        thread.join(20)
        assert [one.outcome for one in seen] == ["created"]


def test_a_stuck_worker_loses_its_task_by_the_observers_own_time(scratch):
    folder = scratch / "memory"
    with open_memory(folder) as memory:
        memory.skills.add(LOG, session="s", owner="ann")
    holding, go_on = threading.Event(), threading.Event()

    def hang(_):
        holding.set()
        go_on.wait(30)

    with open_memory(folder) as memory:
        # This worker's reviewer hangs and shows no progress: its own lease is long.
        hung = memory.skills.configure(lease_s=1_000.0)
        thread = threading.Thread(target=lambda: hung.review(reviewer=Canned(also=hang)))
        thread.start()
        assert holding.wait(20)
        stop, seen = threading.Event(), []
        watcher = threading.Thread(
            target=memory.skills.configure(lease_s=0.5).watch, args=(stop,),
            kwargs={"reviewer": Canned(), "on_review": seen.append},
        )  # fmt: skip
        watcher.start()
        deadline = time.monotonic() + 20
        while not seen and time.monotonic() < deadline:
            time.sleep(0.01)
        go_on.set()
        thread.join(20)
        stop.set()
        watcher.join(20)
        assert seen[0].outcome == "created"
        check(memory)
        assert memory.sql("SELECT count(*) FROM skill_effects") == [(1,)]


@pytest.mark.parametrize("pause_s", [0.5, pytest.param(10.0, marks=pytest.mark.long)])
def test_a_slow_archive_is_never_seen_before_it_is_there(pause_s, scratch):
    class Slow(FolderArchiveStore):
        def put(self, key, content):
            time.sleep(pause_s)
            super().put(key, content)

    folder = scratch / "memory"
    with open_memory(folder) as memory, open_memory(folder) as eager:
        store = Slow(scratch / "payloads")
        stop, seen = threading.Event(), []
        watcher = threading.Thread(
            target=eager.skills.configure(archives=store).watch, args=(stop,),
            kwargs={"reviewer": Canned(), "on_review": seen.append},
        )  # fmt: skip
        watcher.start()
        started = time.monotonic()
        # A write by somebody else meanwhile wakes the worker, and waits for nobody.
        other = threading.Timer(pause_s / 2, lambda: memory.capture(pairs(1), session="other"))
        other.start()
        memory.skills.configure(archives=store).add(
            [user("please make deploy"), *pairs(10)], session="s", owner="ann"
        )
        assert time.monotonic() - started >= pause_s
        deadline = time.monotonic() + 10
        while not seen and time.monotonic() < deadline:
            time.sleep(0.01)
        stop.set()
        watcher.join(20)
        other.join()
        assert [one.outcome for one in seen] == ["created"]


def test_idle_workers_cost_next_to_nothing(scratch):
    code = (
        "import sys, time, threading\n"
        "from tests.skill_help import Canned, open_memory\n"
        "memory = open_memory(sys.argv[1])\n"
        "stop = threading.Event()\n"
        "threads = [threading.Thread(target=memory.skills.watch, args=(stop,), "
        "kwargs={'reviewer': Canned()}) for _ in range(2)]\n"
        "[thread.start() for thread in threads]\n"
        "time.sleep(1)\n"
        "cpu, started = time.process_time(), time.monotonic()\n"
        "time.sleep(4)\n"
        "print((time.process_time() - cpu) / (time.monotonic() - started) / 2)\n"
        "stop.set()\n"
        "[thread.join() for thread in threads]\n"
        "memory.close()\n"
    )
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, [*sys.path, os.getcwd()]))
    }
    done = subprocess.run(
        [sys.executable, "-c", code, str(scratch / "memory")],
        capture_output=True, text=True, env=environment, timeout=60, check=True,
    )  # fmt: skip
    share = float(done.stdout)
    print(f"an idle worker takes {share:.2%} of a core")
    assert share < 0.01
