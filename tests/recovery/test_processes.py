"""Several processes, and forks of one, on the same folder."""

import fcntl
import multiprocessing
import os
import subprocess
import sys
import threading
import time

import apsw
import pytest
from recovery_model import acknowledged, check, start

from agentmem.errors import ForkedError, StoreBusyError
from agentmem.store import Database


def test_two_processes_of_four_threads_keep_every_write_once(tmp_path, request):
    count = 400 if request.config.getoption("--long") else 60
    folder = tmp_path / "store"
    begun = time.monotonic()
    children = [start(folder, "full", seed, count, 4) for seed in (1, 2)]
    rows = {}
    for child in children:
        out, err = child.communicate(timeout=250)
        assert child.returncode == 0, err
        new = acknowledged(out.splitlines())
        assert not rows.keys() & new.keys()
        rows |= new
    lost, wrong = check(folder, rows, in_flight=0)
    assert not lost
    assert not wrong
    with Database(folder) as database:
        # 3 statements of the schema in each process log no change.
        (logged,) = database.sql("SELECT count(*) FROM changes WHERE op <> 'probe'")[0]
    assert logged == 2 * 4 * count
    print(f"{logged} writes of 2 x 4 threads in {time.monotonic() - begun:.1f} s")


def test_a_write_is_seen_by_the_other_process_at_once(tmp_path):
    folder = tmp_path / "store"
    code = f"""
import sys
from pathlib import Path
from agentmem.store import Database
database = Database(Path({str(folder)!r}))
print("open", flush=True)
for line in sys.stdin:
    print(database.write(lambda t: t.change("add", 1, int(line))), flush=True)  # noqa: T201
"""
    with Database(folder) as database:
        child = subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        with child:
            assert child.stdout.readline() == "open\n"
            for number in range(1, 20, 2):
                child.stdin.write(f"{number}\n")
                child.stdin.flush()
                assert int(child.stdout.readline()) == number
                assert database.counter.value == number
                with database.read() as connection:
                    assert connection.execute("SELECT max(row_id) FROM changes").fetchall() == [
                        (number,)
                    ]
                assert database.write(lambda t, n=number: t.change("add", 1, n + 1)) == number + 1
            child.stdin.close()
        assert database.guard_trips == 0


def test_a_lock_held_elsewhere_is_a_typed_error_and_ends_with_its_holder(tmp_path):
    folder = tmp_path / "store"
    code = f"""
import fcntl, sys
lock = open({str(folder / "LOCK.write")!r}, "r+")
fcntl.flock(lock, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""
    with Database(folder, timeout_s=0.2) as database:
        child = subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        with child:
            assert child.stdout.readline() == "held\n"
            begun = time.monotonic()
            with pytest.raises(StoreBusyError, match="timeout_s"):
                database.write(lambda t: t.change("add", 1, 1))
            assert 0.2 <= time.monotonic() - begun < 5
            with pytest.raises(StoreBusyError):
                Database(folder, timeout_s=0.1)
            assert database.sql("SELECT count(*) FROM changes") == [(0,)]
            child.kill()
        assert database.write(lambda t: t.change("add", 1, 1)) == 1


def test_a_foreign_writer_is_a_typed_error(tmp_path):
    with Database(tmp_path / "store", timeout_s=0.2) as database:
        other = apsw.Connection(str(database.path))
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusyError):
            database.write(lambda t: t.change("add", 1, 1))
        other.execute("ROLLBACK")
        assert database.write(lambda t: t.change("add", 1, 1)) == 1
        # Closed while ours is open: the same library shares its locks and takes nothing away.
        other.close()
        assert database.write(lambda t: t.change("add", 1, 2)) == 2
        assert database.guard_trips == 0


def _use_in_child(database, results):
    uses = (
        lambda: database.write(lambda t: t.change("add", 1, 1)),
        lambda: database.read().__enter__(),
        lambda: database.sql("SELECT 1"),
        lambda: database.checkpoint(truncate=True),
        database.vacuum,
        database.integrity,
        lambda: database.backup(database.folder / "never.amem"),
        database.__enter__,
    )
    refused = 0
    for use in uses:
        try:
            use()
        except ForkedError:
            refused += 1
    database.close()
    results.put((refused, len(uses)))


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork.*:DeprecationWarning")
def test_fifty_forks_under_load_never_hang_and_leave_the_parent_alone(tmp_path):
    context = multiprocessing.get_context("fork")
    folder = tmp_path / "store"
    stop = threading.Event()
    acknowledged_seqs = []
    failures = []
    with Database(folder) as database:
        database.write(lambda t: t.change("add", 1, 0))

        def load():
            while not stop.is_set():
                try:
                    acknowledged_seqs.append(database.write(lambda t: t.change("add", 1, 1)))
                    with database.read() as connection:
                        connection.execute("SELECT count(*) FROM changes").fetchall()
                except Exception as error:
                    failures.append(error)
                    return

        threads = [threading.Thread(target=load) for _ in range(3)]
        for thread in threads:
            thread.start()
        with database.read():
            for number in range(50):
                results = context.SimpleQueue()
                process = context.Process(target=_use_in_child, args=(database, results))
                process.start()
                process.join(20)
                assert process.exitcode == 0, f"fork {number} hangs or failed"
                refused, tried = results.get()
                assert refused == tried
        stop.set()
        for thread in threads:
            thread.join(20)
        assert not failures
        assert database.guard_trips == 0
        seqs = [row[0] for row in database.sql("SELECT seq FROM changes ORDER BY seq")]
        assert sorted([1, *acknowledged_seqs]) == seqs
        assert database.integrity() == []


def test_a_child_that_ends_with_its_interpreter_never_hangs(tmp_path):
    """The end of the child's interpreter, where inherited handles would be closed."""
    code = f"""
import os, sys, threading
from pathlib import Path
from agentmem.errors import ForkedError
from agentmem.store import Database
database = Database(Path({str(tmp_path / "store")!r}))
stop = threading.Event()
def load():
    while not stop.is_set():
        database.write(lambda t: t.change("add", 1, 1))
threads = [threading.Thread(target=load) for _ in range(2)]
for thread in threads:
    thread.start()
codes = []
for _ in range(20):
    child = os.fork()
    if child == 0:
        try:
            database.write(lambda t: t.change("add", 1, 1))
        except ForkedError:
            sys.exit(42)
        sys.exit(1)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
stop.set()
for thread in threads:
    thread.join()
print(set(codes), database.guard_trips, database.integrity())
"""
    parent = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert parent.stdout == "{42} 0 []\n", parent.stderr


def test_a_child_that_outlives_its_parent_does_not_keep_the_lock(tmp_path):
    folder = tmp_path / "store"
    code = f"""
import os, time
from pathlib import Path
from agentmem.store import Database
database = Database(Path({str(folder)!r}))
def operation(t):
    child = os.fork()
    if child == 0:
        os.write(1, b"%d\\n" % os.getpid())
        os.close(1)
        os.close(2)
        time.sleep(30)
        os._exit(0)
    time.sleep(0.3)
    os._exit(7)
database.write(operation)
"""
    parent = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert parent.returncode == 7, parent.stderr
    child = int(parent.stdout)
    try:
        os.kill(child, 0)
        with Database(folder, timeout_s=1) as database:
            assert database.write(lambda t: t.change("add", 1, 1)) == 1
    finally:
        os.kill(child, 9)


def test_a_forked_childs_exit_keeps_the_parents_lock(tmp_path):
    with Database(tmp_path / "store") as database:

        def operation(transaction):
            child = os.fork()
            if child == 0:
                os._exit(0)
            os.waitpid(child, 0)
            with (database.folder / "LOCK.write").open() as lock, pytest.raises(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            probe = (
                "import apsw,sys; c = apsw.Connection(sys.argv[1]); c.execute('BEGIN IMMEDIATE')"
            )
            other = subprocess.run(
                [sys.executable, "-c", probe, str(database.path)],
                capture_output=True,
                text=True,
                check=False,
            )
            assert "BusyError" in other.stderr
            return transaction.change("add", 1, 1)

        assert database.write(operation) == 1


def test_an_unclosed_store_is_closed_at_exit(tmp_path):
    folder = tmp_path / "store"
    code = f"""
from pathlib import Path
from agentmem.store import Database
database = Database(Path({str(folder)!r}))
for number in range(10):
    database.write(lambda t: t.change("add", 1, number))
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    assert (folder / "store.amem-wal").stat().st_size == 0
    with Database(folder) as database:
        assert database.sql("SELECT count(*) FROM changes") == [(10,)]
