"""The verbs of the tiers: consolidate, scenes, persona, trace, show."""

import json

import pytest
from tests.extractors import say
from tests.unit.test_cli import run  # noqa: F401 - a fixture

from agentmem import Memory
from agentmem.cli.trace import tree
from agentmem.models import Trace, TraceStep


@pytest.fixture
def folder(tmp_path):
    with Memory(tmp_path / "m") as memory:
        memory.capture(
            say("I prefer small commits.", "From now on always run the tests."), session="monday"
        )
    return tmp_path / "m"


def test_the_tiers_are_built_shown_and_traced(folder, run):  # noqa: F811
    assert "no scenes yet" in run("scenes", "-m", folder).out
    assert run("persona", "-m", folder, "--diff").code == 1
    assert json.loads(run("persona", "-m", folder, "--json").out)["version"] == 0
    shown = run("consolidate", "-m", folder)
    assert shown.code == 0
    assert "read 2 messages: 2 facts" in shown.out
    report = json.loads(run("consolidate", "-m", folder, "--json").out)
    assert (report["messages"], report["failed"]) == (0, [])
    assert "L2:1" in run("scenes", "-m", folder).out
    scene = json.loads(run("scenes", "-m", folder, "--json", "--limit", 1).out)[0]
    assert scene["sessions"] == ["monday"]
    persona = run("persona", "-m", folder).out
    assert persona.startswith("version 1\nProject: ")
    assert "small commits" in persona
    diff = run("persona", "-m", folder, "--diff").out
    assert "+++ version 1" in diff
    assert "small commits" in diff
    lines = run("trace", "-m", folder, "L3:1").out
    assert "L3:1" in lines
    assert "L0:1  “I prefer small commits" in lines
    assert json.loads(run("trace", "-m", folder, "--json", "L3:1").out)["evidence"]
    for row in ("L0:1", "L1:1", "L2:1", "L3:1"):
        assert row in run("show", "-m", folder, row).out
    assert run("trace", "-m", folder, "L3:9").code == 1
    hits = json.loads(run("recall", "-m", folder, "--tier", "L0", "small commits", "--json").out)
    assert hits[0]["id"] == "L0:1"


def test_a_trace_is_drawn_once_each_with_the_words_of_its_span():
    steps = (
        TraceStep("L3:1", "L3", "persona", ("L1:1", "L1:2")),
        TraceStep("L1:1", "L1", "one\nfact", ("L0:1",), {"L0:1": (0, 3)}),
        TraceStep("L1:2", "L1", "other", ("L0:1", "L0:9")),
        TraceStep("L0:1", "L0", "abc def", ()),
    )
    assert tree(Trace("L3:1", steps, ())) == [
        "L3:1  persona",
        "├─ L1:1  one fact",
        "│  └─ L0:1  “abc”",
        "└─ L1:2  other",
        "   └─ L0:1  “abc def”",
    ]
