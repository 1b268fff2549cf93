"""kill -9 anywhere in a consolidation: the next run completes it, nothing is lost or doubled."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest
from tests.extractors import Statements, say

from agentmem import Memory
from agentmem.protocols import GivenEmbeddings

SPACE = GivenEmbeddings("two", 2)
SESSIONS = 12
LINES = 30
CODE = """
import os, signal, sys
from agentmem import Memory
from agentmem.protocols import GivenEmbeddings
from tests.extractors import Statements
with Memory(sys.argv[1], embedder=GivenEmbeddings("two", 2), extractor=Statements()) as memory:
    after = [int(sys.argv[2])]
    def step(name):
        after[0] -= 1
        if after[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
    if after[0]:
        memory._shared.database._step = step
    os.write(1, b"ready\\n")
    memory.consolidate()
"""


def start(folder, after):
    paths = [os.path.abspath(path or ".") for path in sys.path]
    return subprocess.Popen(
        [sys.executable, "-c", CODE, str(folder), str(after)],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
    )


def filled(folder):
    with Memory(folder, embedder=SPACE) as memory:
        for session in range(SESSIONS):
            lines = [f"fact s{session} a{n % 10} is v{n}" for n in range(LINES)]
            memory.capture(say(*lines), session=str(session))
        memory.capture(say("persona user editor is vim"), session="last")


def check_whole(memory):
    assert memory.verify().ok
    facts = memory.facts(limit=10_000)
    slots = [(fact.subject, fact.attribute) for fact in facts]
    assert len(set(slots)) == len(slots)
    for fact in facts:
        assert memory.trace(fact.id).evidence
    ((extracted,),) = memory.sql("SELECT count(*) FROM facts")
    ((sources,),) = memory.sql("SELECT count(DISTINCT source_id) FROM sources WHERE tier = 1")
    assert extracted == sources


def check_complete(folder):
    with Memory(folder, embedder=SPACE, extractor=Statements()) as memory:
        check_whole(memory)
        assert memory.consolidate().ok
        check_whole(memory)
        assert memory.stats().jobs == ()
        assert memory.sql("SELECT count(*) FROM facts") == [(SESSIONS * LINES + 1,)]
        held = {(fact.subject, fact.attribute): fact.value for fact in memory.facts(limit=10_000)}
        assert held == {
            (f"s{session}", f"a{n}"): f"v{n + LINES - 10}"
            for session in range(SESSIONS)
            for n in range(10)
        } | {("user", "editor"): "vim"}
        assert memory.persona().version >= 1
        assert memory.consolidate().messages == 0


def run(tmp_path, kills, seed):
    rng = random.Random(seed)
    killed = 0
    folder = tmp_path / "m"
    filled(folder)
    for _ in range(kills):
        at_step = rng.random() < 0.6
        with start(folder, rng.randrange(1, 60) if at_step else 0) as child:
            assert child.stdout.readline() == b"ready\n"
            if not at_step:
                time.sleep(rng.uniform(0, 0.1))
                child.send_signal(signal.SIGKILL)
        killed += child.returncode == -signal.SIGKILL
        with Memory(folder, embedder=SPACE) as memory:
            check_whole(memory)
    assert killed
    check_complete(folder)


@pytest.mark.timeout(200)
def test_some_kills(tmp_path):
    run(tmp_path, 6, seed=5)


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_sixty_kills(tmp_path):
    for number in range(10):
        run(tmp_path / str(number), 6, seed=number)


@pytest.mark.timeout(200)
def test_two_processes_at_once_do_the_work_once(tmp_path):
    folder = tmp_path / "m"
    filled(folder)
    children = [start(folder, 0) for _ in range(3)]
    for child in children:
        child.communicate(timeout=120)
        assert child.returncode == 0
    check_complete(folder)
