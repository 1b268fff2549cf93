"""What the recovery tests share."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

SHIM = Path(__file__).with_name("powercut_shim.c")


@pytest.fixture(scope="session")
def cut_shim(tmp_path_factory):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler here, so no power cuts are simulated")
    target = tmp_path_factory.mktemp("shim") / "powercut.so"
    command = [
        compiler,
        "-O1",
        "-Wall",
        "-Wno-format-truncation",
        "-shared",
        "-fPIC",
        SHIM,
        "-o",
        target,
        "-ldl",
        "-lpthread",
    ]
    subprocess.run(command, check=True)
    return target


@pytest.fixture
def scratch(tmp_path):
    """A folder in memory where there is one, for tests that need many syncs but no real disk."""
    shared = Path("/dev/shm")
    if not os.access(shared, os.W_OK):
        yield tmp_path
        return
    folder = shared / f"agentmem-{os.getpid()}-{tmp_path.name}"
    folder.mkdir()
    yield folder
    shutil.rmtree(folder)
