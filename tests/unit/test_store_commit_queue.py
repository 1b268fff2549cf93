import threading
import time

import pytest

from agentmem.errors import ClosedError, StoreBusyError
from agentmem.store import Database
from agentmem.store.commit_queue import MAX_BATCH, CommitQueue


def finish_all(batch):
    for request in batch:
        request.result = request.argument(None)
        request.finish()


def test_every_request_is_committed_once_and_in_batches():
    sizes = []

    def commit(batch):
        sizes.append(len(batch))
        time.sleep(0.001)
        finish_all(batch)

    queue = CommitQueue(commit, timeout_s=20)
    results = []

    def submit(base):
        for number in range(base, base + 50):
            results.append(queue.submit(lambda _, n=number: n))

    threads = [threading.Thread(target=submit, args=(base * 1000,)) for base in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(results) == sorted(b * 1000 + n for b in range(16) for n in range(50))
    assert sum(sizes) == 16 * 50
    assert max(sizes) <= MAX_BATCH
    assert len(sizes) < 16 * 50 / 2, "waiting requests share commits"


def test_an_interrupted_leader_leaves_the_others_work_to_the_next():
    begun, interrupt = threading.Event(), threading.Event()

    def commit(batch):
        if not begun.is_set():
            begun.set()
            interrupt.wait(20)
            raise KeyboardInterrupt
        finish_all(batch)

    queue = CommitQueue(commit, timeout_s=20)
    outcome = {}

    def submit(name):
        try:
            outcome[name] = queue.submit(lambda _: name)
        except KeyboardInterrupt:
            outcome[name] = "interrupted"

    leader = threading.Thread(target=submit, args=("leader",))
    leader.start()
    assert begun.wait(20)
    others = [threading.Thread(target=submit, args=(f"other{n}",)) for n in range(5)]
    for thread in others:
        thread.start()
    while len(queue) < 5:
        time.sleep(0.001)
    interrupt.set()
    for thread in [leader, *others]:
        thread.join(20)
    assert outcome == {"leader": "interrupted"} | {f"other{n}": f"other{n}" for n in range(5)}
    assert len(queue) == 0


def test_a_request_that_waits_too_long_is_withdrawn():
    begun, leave = threading.Event(), threading.Event()
    ran = []

    def commit(batch):
        begun.set()
        leave.wait(20)
        finish_all(batch)

    queue = CommitQueue(commit, timeout_s=0.1)
    leader = threading.Thread(target=queue.submit, args=(lambda _: ran.append("leader"),))
    leader.start()
    assert begun.wait(20)
    with pytest.raises(StoreBusyError, match="timeout_s"):
        queue.submit(lambda _: ran.append("late"))
    with pytest.raises(StoreBusyError), queue.alone(0.05):
        pytest.fail("a leader is at work")
    leave.set()
    leader.join(20)
    assert ran == ["leader"]
    assert queue.submit(lambda _: 5) == 5


def test_an_interrupted_operation_is_rolled_back_and_the_store_goes_on(tmp_path):
    with Database(tmp_path / "store") as database:

        def interrupted(transaction):
            transaction.change("add", 1, 1)
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            database.write(interrupted)
        assert database.sql("SELECT * FROM changes") == []
        assert database.write(lambda t: t.change("add", 1, 2)) == 1


def test_an_interrupt_after_the_commit_keeps_the_write_and_raises_the_counter(tmp_path):
    with Database(tmp_path / "store") as database:

        def publish(_):
            raise KeyboardInterrupt

        database.publish = publish
        with pytest.raises(KeyboardInterrupt):
            database.write(lambda t: t.change("add", 1, 1))
        database.publish = None
        assert database.counter.value == 1
        assert database.sql("SELECT row_id FROM changes") == [(1,)]
        assert database.write(lambda t: t.change("add", 1, 2)) == 2


def test_upkeep_gets_its_turn_beside_busy_writers(tmp_path):
    with Database(tmp_path / "store", durability="normal") as database:
        stop = threading.Event()

        def load():
            while not stop.is_set():
                database.write(lambda t: t.change("add", 1, 1))

        threads = [threading.Thread(target=load) for _ in range(4)]
        for thread in threads:
            thread.start()
        begun = time.monotonic()
        for _ in range(10):
            database.checkpoint(truncate=True)
        took = time.monotonic() - begun
        stop.set()
        for thread in threads:
            thread.join(20)
        assert took < 15
        assert database.guard_trips == 0


def test_writes_that_wait_at_close_get_an_answer(tmp_path):
    database = Database(tmp_path / "store")
    acknowledged, refused = [], []

    def load():
        try:
            while True:
                acknowledged.append(database.write(lambda t: t.change("add", 1, 1)))
        except ClosedError as error:
            refused.append(error)

    threads = [threading.Thread(target=load) for _ in range(6)]
    for thread in threads:
        thread.start()
    time.sleep(0.3)
    database.close()
    for thread in threads:
        thread.join(20)
    assert len(refused) == 6
    with Database(tmp_path / "store") as again:
        seqs = [row[0] for row in again.sql("SELECT seq FROM changes ORDER BY seq")]
    assert seqs == sorted(acknowledged)
