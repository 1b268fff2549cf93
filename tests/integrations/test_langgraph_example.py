"""The example agent, run as its reader runs it: each turn is a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("langgraph.graph", reason="needs langgraph")

ROOT = Path(__file__).parents[2]


def turn(folder, words):
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "langgraph_agent.py"), str(folder), words],
        check=False, capture_output=True, text=True, timeout=120,
        env=os.environ | {"PYTHONPATH": str(ROOT / "python")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.timeout(300)
def test_the_agent_remembers_across_processes(tmp_path):
    folder = tmp_path / "memory"
    assert turn(folder, "Which editor do I use?") == "I do not know that yet."
    assert turn(folder, "Remember: My editor is Helix.") == "Noted."
    assert turn(folder, "Remember: My cat is called Miso.") == "Noted."
    assert turn(folder, "Which editor do I use?") == "You told me: My editor is Helix."
    assert turn(folder, "What is my cat's name?") == "You told me: My cat is called Miso."
