"""kill -9 anywhere in forget and purge: after the next open and purge no byte is left."""

import os
import signal
import subprocess
import sys
import time

import pytest
from tests.canary import OTHER, WORD, fill, finds, opened, traces

CODE = """
import os, signal, sys
from tests.canary import opened
from agentmem.index import SearchIndex
from agentmem.store.database import Database
after = int(sys.argv[2])
with opened(sys.argv[1]) as memory:
    def step(name):
        global after
        after -= 1
        if after == 0:
            os.kill(os.getpid(), signal.SIGKILL)
    def around(kind, name):
        work = getattr(kind, name)
        def wrapped(self, *given, **more):
            step(name)
            result = work(self, *given, **more)
            step(name)
            return result
        setattr(kind, name, wrapped)
    for kind, name in ((Database, "vacuum"), (Database, "_truncate"), (SearchIndex, "rebuild"),
                       (SearchIndex, "_rebuilt"), (SearchIndex, "_open"), (SearchIndex, "_fold_rebuilt")):
        around(kind, name)
    memory._shared.database._step = step
    os.write(1, b"ready\\n")
    memory.forget(session="bad")
    memory.purge()
    os.write(1, b"done\\n")
"""


def run(folder, after, delay=None):
    paths = [os.path.abspath(path or ".") for path in sys.path]
    with subprocess.Popen(
        [sys.executable, "-c", CODE, str(folder), str(after)], stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
    ) as child:  # fmt: skip
        assert child.stdout.readline() == b"ready\n"
        if delay is not None:
            time.sleep(delay)
            child.send_signal(signal.SIGKILL)
        is_done = child.stdout.read() == b"done\n"
    return is_done, child.returncode == -signal.SIGKILL


def check(tmp_path, name, after, delay=None):
    folder = tmp_path / name
    with opened(folder) as memory:
        fill(memory)
        needles = traces(memory, WORD)
        memory.rebuild_index()
    is_done, is_killed = run(folder, after, delay)
    with opened(folder) as memory:
        is_forgotten = not memory.sql("SELECT 1 FROM turns WHERE session = 'bad'")
        marks = memory.sql("SELECT 1 FROM meta WHERE key = 'purge'")
        assert not marks
        assert memory.verify().ok
        assert memory.recall(OTHER)
        receipts = memory.sql("SELECT is_purged FROM receipts")
        assert bool(receipts) == is_forgotten
        if receipts == [(1,)]:
            # The purge had begun: the open has finished it.
            assert finds(folder, needles) == []
        if not is_forgotten:
            assert memory.forget(session="bad")
        memory.purge()
        assert finds(folder, needles) == []
    assert finds(folder, needles) == []
    return is_done, is_killed


@pytest.mark.timeout(300)
def test_kill_at_steps_of_forget_and_purge(tmp_path):
    kills = 0
    for after in (1, 3, 5, 8, 12, 15, 17, 19, 21, 23, 26, 29):
        is_done, is_killed = check(tmp_path, str(after), after)
        assert is_done != is_killed or is_killed
        kills += is_killed
    assert kills >= 8


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_kill_at_each_step_and_at_any_time(tmp_path):
    after = 1
    while check(tmp_path, f"s{after}", after)[1]:
        after += 1
    assert after > 15
    for n in range(40):
        check(tmp_path, f"t{n}", 0, delay=n * 0.004)
