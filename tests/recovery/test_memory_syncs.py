"""What one ``remember`` costs the disk, and who finds the row right after it."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
import os, sys
sys.path.insert(0, sys.argv[2])
from memory_worker import SPACE, vector
from agentmem import Memory

def mark(name):
    os.access("/" + name, os.F_OK)

with Memory(sys.argv[1], embedder=SPACE) as memory:
    second = Memory(sys.argv[1], embedder=SPACE)
    memory.remember("the first", embedding=vector(0))
    for phase, count in (("FEW", 100), ("MANY", int(sys.argv[3]))):
        mark(phase + "-BEGIN")
        for number in range(count):
            seed = number + count * 10
            fact = memory.remember("%s row%d %s" % (phase, number, "x " * 50), embedding=vector(seed))
            if phase == "FEW":
                for handle in (memory, second):
                    hits = handle.recall("row%d" % number, k=1, embedding=vector(seed))
                    assert hits[0].id == fact.id
        mark(phase + "-END")
    print(memory._shared.database._checkpointer.runs, memory.stats().segments)
    second.close()
"""


@pytest.mark.timeout(280)
def test_one_sync_a_commit(tmp_path, request):
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("no strace here")
    count = 6000 if request.config.getoption("--long") else 1500
    log = tmp_path / "log"
    command = [
        strace, "-f", "-qq", "-y", "-o", str(log),
        "-e", "trace=fsync,fdatasync,sync_file_range,access,faccessat,faccessat2",
        sys.executable, "-c", CODE, str(tmp_path / "memory"), str(Path(__file__).parent), str(count),
    ]  # fmt: skip
    child = subprocess.run(command, capture_output=True, text=True, timeout=270, check=False)
    if "ptrace" in child.stderr and "not permitted" in child.stderr:
        pytest.skip("strace may not trace here")
    assert child.returncode == 0, child.stderr
    syncs = {"FEW": [], "MANY": []}
    phase = None
    for line in log.read_text().splitlines():
        for name in syncs:
            if f"/{name}-BEGIN" in line:
                phase = name
            elif f"/{name}-END" in line:
                phase = None
        if phase and "sync" in line and "resumed" not in line:
            syncs[phase].append(line)
    # Folds sync the files of the index, beside the commits and never inside one.
    of_store = {
        name: [line for line in lines if "store.amem" in line] for name, lines in syncs.items()
    }
    runs, segments = map(int, child.stdout.split())
    print(
        f"100 commits: {len(syncs['FEW'])} syncs; {count} commits: {len(of_store['MANY'])} of the "
        f"store, {runs} checkpoints, {segments} segments"
    )
    assert len(syncs["FEW"]) == 100
    assert all("store.amem-wal" in line for line in syncs["FEW"])
    assert count <= len(of_store["MANY"]) <= count * 1.05
