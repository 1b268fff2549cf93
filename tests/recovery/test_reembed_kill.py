"""kill -9 in the middle of a move: the old vectors answer, and the move goes on where it was."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest
from tests.unit.test_reembed import Letters, cosine, text_of, vectors_of_store

from agentmem import EmbedderMismatchError, Memory

CODE = """
import os, sys
from agentmem import Memory
from tests.unit.test_reembed import Letters
with Memory(sys.argv[1], embedder=Letters(1)) as memory:
    os.write(1, b"ready\\n")
    memory.reembed(Letters(2, pause_s=0.03), progress=lambda *_: os.write(1, b"."))
    os.write(1, b"moved\\n")
"""


def test_kills_lose_neither_rows_nor_what_was_made(tmp_path):
    rng = random.Random(random.SystemRandom().randrange(10**6))
    folder = tmp_path / "memory"
    with Memory(folder, embedder=Letters(1)) as memory:
        memory.remember_many([text_of(number) for number in range(1500)])
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    made_before, is_moved, kills = 0, False, 0
    while not is_moved:
        child = subprocess.Popen(
            [sys.executable, "-c", CODE, str(folder)],
            stdout=subprocess.PIPE,
            env=environment,
            cwd=os.getcwd(),
        )
        assert child.stdout.readline() == b"ready\n"
        if kills < 6:
            time.sleep(rng.uniform(0.03, 0.5))
            child.send_signal(signal.SIGKILL)
            kills += 1
        child.communicate(timeout=60)
        try:
            memory = Memory(folder, embedder=Letters(1))
        except EmbedderMismatchError:
            is_moved = True
            continue
        with memory:
            assert cosine(memory, text_of(700)) == pytest.approx(1, abs=1e-5)
            assert memory.verify().ok
            made = 0
            if memory.sql("SELECT 1 FROM sqlite_schema WHERE name = 'embedded_next'"):
                ((made,),) = memory.sql("SELECT count(*) FROM embedded_next")
            assert made >= made_before
            made_before = made
    assert kills == 6 or made_before > 0
    with Memory(folder, embedder=Letters(2)) as memory:
        assert memory.verify().ok
        assert len(vectors_of_store(memory)) == 1500
        for number in (0, 700, 1499):
            assert cosine(memory, text_of(number)) == pytest.approx(1, abs=1e-5)
