"""Several processes, threads, forks and closings of one memory."""

import subprocess
import sys
import textwrap
import threading
import time

import pytest
from memory_model import Expected, start
from memory_worker import SPACE, vector

from agentmem import Memory
from agentmem.errors import ClosedError


def test_two_processes_of_four_threads_keep_every_row_once(tmp_path, request):
    is_long = request.config.getoption("--long")
    limits = {"seconds": 30} if is_long else {"count": 25}
    folder = tmp_path / "memory"
    children = [start(folder, seed=seed, threads=4, **limits) for seed in (10, 20)]
    expected = Expected()
    for child in children:
        out, err = child.communicate(timeout=280)
        assert child.returncode == 0, err
        assert not err
        assert out.endswith("DONE\n")
        expected.read(out.splitlines(keepends=True))
    expected.workers = 0
    assert not expected.unsure
    print(f"{len(expected.current)} rows of 2 x 4 threads")
    lost, wrong = expected.check(folder)
    assert not lost
    assert not wrong


def test_the_next_recall_sees_what_another_process_wrote(tmp_path):
    folder = tmp_path / "memory"
    code = f"""
import sys
sys.path.insert(0, {str(Expected.read.__code__.co_filename.rpartition("/")[0])!r})
from memory_worker import SPACE, vector
from agentmem import Memory
memory = Memory({str(folder)!r}, embedder=SPACE)
print("open", flush=True)
for line in sys.stdin:
    what, number = line.split()
    if what == "add":
        fact = memory.remember("shared row%s" % number, embedding=vector(int(number)))
        print(fact.id, flush=True)
    elif what == "forget":
        print(len(memory.forget(number)), flush=True)
    elif what == "fold":
        print(memory._shared.index.fold(), flush=True)
    else:
        hits = memory.recall("shared row%s" % number, k=1, embedding=vector(int(number)))
        print(hits[0].id if hits else "-", flush=True)
"""
    with Memory(folder, embedder=SPACE) as memory:
        child = subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

        def ask(*words):
            child.stdin.write(" ".join(map(str, words)) + "\n")
            child.stdin.flush()
            return child.stdout.readline().strip()

        with child:
            assert child.stdout.readline() == "open\n"
            for number in range(0, 60, 2):
                theirs = ask("add", number)
                hits = memory.recall(f"shared row{number}", k=1, embedding=vector(number))
                assert hits[0].id == theirs
                ours = memory.remember(f"shared row{number + 1}", embedding=vector(number + 1))
                assert ask("find", number + 1) == ours.id
                if number % 10 == 0:
                    ask("fold", 0)
                    ask("forget", theirs)
                    hits = memory.recall(f"shared row{number}", k=100, embedding=vector(number))
                    assert theirs not in {hit.id for hit in hits}
                    memory.forget(ours.id)
                    assert ask("find", number + 1) != ours.id
                if number % 14 == 0:
                    memory._shared.index.fold()
                if number == 30:
                    memory.rebuild_index()
            child.stdin.close()
        assert child.returncode == 0
        assert memory.verify().ok


FORKS = """
import faulthandler, gc, os, random, signal, sys, threading, time
sys.path.insert(0, sys.argv[2])
from memory_worker import SPACE, vector
from agentmem import Memory
from agentmem.errors import ForkedError

memory = Memory(sys.argv[1], embedder=SPACE)
stop = threading.Event()
failures, acknowledged = [], []

def guarded(work):
    def run(number):
        try:
            turn = 0
            while not stop.is_set():
                turn += 1
                work(number, turn)
        except BaseException as error:
            failures.append(repr(error))
    return run

def write(number, turn):
    rows = [{"text": f"t{number} turn{turn} row{n}", "embedding": vector(n)} for n in range(10)]
    acknowledged.extend((fact.id, fact.text) for fact in memory.remember_many(rows))

def read(number, turn):
    assert memory.recall("turn row3", k=5, embedding=vector(turn))

def fold(number, turn):
    memory._shared.index.fold()
    if turn % 5 == 0:
        memory.rebuild_index()

memory.remember("the first", embedding=vector(1))
threads = [
    threading.Thread(target=guarded(work), args=(n,), daemon=True)
    for n, work in enumerate((write, write, read, fold))
]
for thread in threads:
    thread.start()

USES = (
    lambda: memory.remember("in the child", embedding=vector(1)),
    lambda: memory.remember_many([{"text": "in the child", "embedding": vector(1)}]),
    lambda: memory.recall("first", embedding=vector(1)),
    lambda: memory.recall_many(["first"], embeddings=[vector(1)]),
    lambda: memory.facts(), lambda: memory.get("L1:1"), lambda: memory.history("L1:1"),
    lambda: memory.trace("L1:1"), lambda: memory.forget("L1:1"), lambda: memory.stats(),
    lambda: memory.verify(), lambda: memory.rebuild_index(), lambda: memory.purge(),
    lambda: memory.sql("SELECT 1"), lambda: memory.backup(sys.argv[1] + ".copy"),
    lambda: memory.export(sys.argv[1] + ".jsonl"), lambda: memory._shared.index.fold(),
)

def child(number):
    for use in USES:
        try:
            use()
        except ForkedError:
            continue
        return 3
    memory.close()
    return 0

hung, codes = 0, []
rng = random.Random(5)
for number in range(int(sys.argv[3])):
    time.sleep(rng.uniform(0, 0.03))
    pid = os.fork()
    if pid == 0:
        code = 9
        try:
            code = child(number)
            if number % 3 == 1:
                del memory, USES
                gc.collect()
        except BaseException as error:
            print(repr(error), file=sys.stderr)
        if number % 3 == 2 and code == 0:
            sys.exit(0)  # with all that the interpreter does at its end
        os._exit(code)
    until = time.monotonic() + 30
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            codes.append(os.waitstatus_to_exitcode(status))
            break
        if time.monotonic() > until:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            hung += 1
            break
        time.sleep(0.002)
stop.set()
for thread in threads:
    thread.join(60)
there = {fact.id: fact.text for fact in memory.facts(limit=100_000)}
lost = [id for id, text in acknowledged if there.get(id) != text]
print(hung, sorted(set(codes)), len(codes), len(lost), failures, list(memory.verify().problems))
memory.close()
"""


@pytest.mark.timeout(290)
def test_fifty_forks_under_load(tmp_path):
    here = Expected.read.__code__.co_filename.rpartition("/")[0]
    child = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKS, str(tmp_path / "memory"), here, "50"],
        capture_output=True, text=True, timeout=280, check=False,
    )  # fmt: skip
    assert child.returncode == 0, child.stderr
    assert child.stdout == "0 [0] 50 0 [] []\n", child.stderr


def test_an_async_handle_of_a_fork_never_waits(tmp_path):
    here = Expected.read.__code__.co_filename.rpartition("/")[0]
    code = """
import asyncio, os, sys
sys.path.insert(0, sys.argv[2])
from memory_worker import SPACE, vector
from agentmem import AsyncMemory
from agentmem.errors import ClosedError, ForkedError

async def main():
    memory = AsyncMemory(sys.argv[1], embedder=SPACE)
    await memory.remember("one", embedding=vector(1))
    pid = os.fork()
    if pid == 0:
        try:
            # A forked child has no running loop; it starts its own.
            asyncio.run(asyncio.wait_for(memory.recall("one", embedding=vector(1)), 20))
        except ForkedError:
            os._exit(0)
        except BaseException:
            os._exit(8)
        os._exit(9)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    await memory.close()
    await memory.close()
    try:
        await memory.recall("one", embedding=vector(1))
    except ClosedError:
        print("closed")

asyncio.run(main())
"""
    child = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, str(tmp_path / "memory"), here],
        capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert child.stdout == "0\nclosed\n", child.stderr


def test_thirty_closings_beside_writers_readers_and_folds(tmp_path):
    folder = tmp_path / "memory"
    acknowledged = {}
    slowest = 0.0
    for cycle in range(30):
        memory = Memory(folder, embedder=SPACE)
        unexpected = []

        def run(work, unexpected=unexpected):
            turn = 0
            try:
                while True:
                    turn += 1
                    work(turn)
            except ClosedError:
                pass
            except BaseException as error:
                unexpected.append(error)

        def write(turn, memory=memory, cycle=cycle):
            rows = [
                {"text": f"cycle{cycle} turn{turn} row{n}", "embedding": vector(n)}
                for n in range(40)
            ]
            for fact in memory.remember_many(rows):
                acknowledged[fact.id] = fact.text

        def read(turn, memory=memory):
            memory.recall("turn1 row1", embedding=vector(turn))

        def fold(_, memory=memory):
            memory._shared.index.fold()
            time.sleep(0.005)

        threads = [threading.Thread(target=run, args=(work,)) for work in (write, read, fold)]
        for thread in threads:
            thread.start()
        time.sleep(0.02 + cycle % 5 * 0.03)
        begun = time.monotonic()
        closers = [threading.Thread(target=memory.close) for _ in range(cycle % 2 + 1)]
        for closer in closers:
            closer.start()
        for thread in [*closers, *threads]:
            thread.join(30)
            assert not thread.is_alive(), "close() hangs"
        slowest = max(slowest, time.monotonic() - begun)
        assert not unexpected
        with pytest.raises(ClosedError):
            memory.recall("anything", embedding=vector(1))
        with pytest.raises(ClosedError):
            memory.rebuild_index()
        memory.close()
    print(f"30 closings, {len(acknowledged)} rows, the slowest took {slowest:.2f} s")
    assert slowest < 20
    with Memory(folder, embedder=SPACE) as memory:
        assert memory.verify().ok
        there = {fact.id: fact.text for fact in memory.facts(limit=100_000)}
        assert acknowledged.items() <= there.items()


@pytest.mark.parametrize("is_daemon", [True, False])
def test_a_process_that_ends_without_closing_ends_in_peace(tmp_path, is_daemon):
    """Threads that search, write and fold at the interpreter's end must not stop it by a signal."""
    here = Expected.read.__code__.co_filename.rpartition("/")[0]
    code = f"""
import sys, threading, time
sys.path.insert(0, sys.argv[2])
from memory_worker import SPACE, vector
from agentmem import Memory
from agentmem.errors import ClosedError
memory = Memory(sys.argv[1], embedder=SPACE)
memory.remember_many([{{"text": f"row{{n}}", "embedding": vector(n)}} for n in range(1200)])
def read():
    try:
        while True:
            memory.recall("row7", embedding=vector(7))
    except ClosedError:
        pass
if {is_daemon}:
    threading.Thread(target=read, daemon=True).start()
    time.sleep(0.05)
"""
    for number in range(4):
        child = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code), str(tmp_path / f"memory{number}"), here],
            capture_output=True, text=True, timeout=100, check=False,
        )  # fmt: skip
        assert (child.returncode, child.stderr) == (0, "")
        with Memory(tmp_path / f"memory{number}", embedder=SPACE) as memory:
            assert memory.verify().ok
            assert memory.stats().facts == 1200
