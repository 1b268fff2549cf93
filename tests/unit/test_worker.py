"""Consolidation in the background: a process of its own that nobody has to wait for."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.extractors import Statements, say

import agentmem
from agentmem import InvalidInputError, Memory
from agentmem.protocols import GivenEmbeddings
from agentmem.testing import HashEmbedder

SPACE = GivenEmbeddings("two", 2)


class Spoken(Statements):
    """The tests' extractor, as another process makes it."""

    def worker_spec(self):
        return "tests.extractors:Statements", {}


def until(claim, seconds=20.0):
    deadline = time.monotonic() + seconds
    while not claim():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


@pytest.fixture(autouse=True)
def _importable(monkeypatch):
    paths = [str(Path(__file__).parents[2]), str(Path(agentmem.__file__).parents[1])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))


def test_the_first_turn_is_read_at_once_and_the_second_with_the_third(tmp_path):
    with Memory(
        tmp_path / "m", embedder=SPACE, extractor=Spoken(), consolidate="background"
    ) as memory:
        memory.start_consolidation()
        memory.capture(say("fact a b is c"), session="s")
        until(lambda: [fact.text for fact in memory.facts()] == ["a b is c"])
        until(lambda: memory.persona().version or not memory.stats().jobs)
        assert memory.stats().consolidation == "background"
        memory.capture(say("fact d e is f"), session="s")
        time.sleep(1)
        assert len(memory.facts()) == 1
        memory.capture(say("fact g h is i"), session="s")
        until(lambda: len(memory.facts()) == 3)
        assert memory.recall("g h", embedding=[1, 0])
        pid = memory._shared.worker.pid
        memory.stop_consolidation()
        assert memory.stats().consolidation == "manual"
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_what_is_left_is_read_when_it_is_quiet(tmp_path):
    with Memory(tmp_path / "m", embedder=SPACE, extractor=Spoken()) as memory:
        memory.capture(say("fact a b is c", role="assistant"), session="s")
        memory.start_consolidation(idle_s=0.5)
        until(lambda: len(memory.facts()) == 1)
        until(lambda: memory.stats().jobs == ())


def test_a_killed_process_is_seen_and_its_work_is_done_by_the_next(tmp_path):
    with Memory(
        tmp_path / "m", embedder=SPACE, extractor=Spoken(), consolidate="background"
    ) as memory:
        os.kill(memory._shared.worker.pid, signal.SIGKILL)
        until(lambda: memory.stats().consolidation.startswith("stopped"))
        memory.capture(say("fact a b is c"), session="s")
        assert memory.consolidate().facts == 1
        memory._shared.worker._started_s -= 60
        memory.capture(say("fact d e is f", "fact g h is i"), session="s")
        assert memory.stats().consolidation == "background"
        until(lambda: len(memory.facts()) == 3)
        assert memory.verify().ok


def test_the_process_ends_with_its_host_however_that_ends(tmp_path):
    code = (
        "import sys, os, signal; from agentmem import Memory, GivenEmbeddings\n"
        "m = Memory(sys.argv[1], embedder=GivenEmbeddings('two', 2), consolidate='background')\n"
        "print(m._shared.worker.pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "m"], capture_output=True, text=True, check=False
    )
    pid = int(done.stdout)

    def is_gone():
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"

    until(is_gone)


def test_an_extractor_that_cannot_be_made_elsewhere_is_refused(tmp_path):
    with Memory(tmp_path / "m", embedder=SPACE, extractor=Statements()) as memory:
        with pytest.raises(InvalidInputError, match="worker_spec"):
            memory.start_consolidation()
        for wrong in (-1, "soon", True, float("nan")):
            with pytest.raises(InvalidInputError):
                memory.start_consolidation(idle_s=wrong)


def test_the_process_imports_no_model_until_it_embeds():
    code = (
        "import sys, agentmem.worker; "
        "print([m for m in ('onnxruntime', 'onnx', 'tokenizers', 'click') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_after_a_move_to_another_embedder_the_process_that_knows_it_goes_on(tmp_path):
    old, new = HashEmbedder(ndim=8), HashEmbedder(ndim=16)
    with Memory(
        tmp_path / "m", embedder=old, extractor=Spoken(), consolidate="background"
    ) as memory:
        memory.capture(say("fact a b is c"), session="s")
        until(lambda: len(memory.facts()) == 1 and memory.stats().jobs == ())
        # An object of the host's does not get there: the rows wait for this process.
        assert memory.stats().pending_embeddings > 0
        memory.reembed(new)
        memory.capture(say("fact d e is f", "fact g h is i"), session="s")
        until(lambda: memory.stats().consolidation.startswith("stopped"))
        memory._shared.worker._started_s -= 60
        memory.capture(say("fact j k is l"), session="s")
        until(lambda: len(memory.facts()) == 4)
        memory.consolidate()
        assert memory.stats().pending_embeddings == 0
        assert memory.verify().ok
