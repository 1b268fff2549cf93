"""Diagrams as files that a person reads; ``--update-golden`` writes them anew."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentmem.toollog import ToolCall, compress, parse

FOLDER = Path(__file__).parent.parent / "golden" / "mermaid"


def calls_of(name):
    return [ToolCall(**call) for call in json.loads((FOLDER / f"{name}.json").read_text())]


@pytest.mark.parametrize(
    ("name", "view"),
    [
        ("mission", "tools"),
        ("mission", "log"),
        ("agent", "log"),
        ("agent", "tools"),
        ("agent", "styled"),
    ],
)
def test_golden(name, view, request):
    canvas = compress(calls_of(name), is_exact=True)
    text = canvas.view(view)
    path = FOLDER / f"{name}.{view}.mmd"
    if request.config.getoption("--update-golden") and (name, view) != ("mission", "tools"):
        path.write_text(text)
    assert text == path.read_text()
    assert parse(text) == canvas.steps


def test_the_mission_example_is_read_as_it_was_written():
    """Its own text has a bare colon in a label; it is the same log."""
    text = (FOLDER / "mission.tools.mmd").read_text()
    assert parse(text.replace("#58;", ":")) == parse(text)
    assert [(s.tool, s.outcome) for s in parse(text)] == [
        ("ReadFile", "ok"),
        ("RunTests", "error"),
        ("EditFile", "ok"),
        ("RunTests", "ok"),
        ("Commit", "ok"),
    ]
