"""The mission's two checks on Mermaid, each with the mutant that must turn it red."""

from __future__ import annotations

import pytest

from agentmem.errors import MermaidParseError
from agentmem.toollog import ToolCall, compress, parse, skeleton


def agent_log():
    """Two hundred calls of the kinds that agents make, with results of ordinary size."""
    calls = []
    for number in range(50):
        calls += [
            ToolCall(
                "Read", {"file_path": f"/srv/shop/src/part{number}.ts"}, f"line {number}\n" * 120
            ),
            ToolCall(
                "Grep", {"pattern": f"handler{number}"}, f"src/part{number}.ts:{number}: x\n" * 20
            ),
            ToolCall(
                "Bash",
                {"command": f"npm test -- part{number}"},
                "noise\n" * 80 + f"Tests:       {number} failed, 3 passed, {number + 3} total\n",
                is_error=number % 3 == 0,
            ),
            ToolCall(
                "Edit",
                {"file_path": f"/srv/shop/src/part{number}.ts", "old_string": "a"},
                "ok " * 30,
            ),
        ]
    return calls


def reads_back(calls, text):
    """The check: the diagram parses to the sequence of calls."""
    steps = parse(text)
    return (
        [step.tool for step in steps] == [call.name for call in calls]
        and [step.outcome == "error" for step in steps] == [call.is_error for call in calls]
        and steps == skeleton(calls)
    )


def test_the_diagram_parses_back_to_the_calls():
    calls = agent_log()
    assert reads_back(calls, str(compress(calls)))


def test_a_dropped_edge_turns_the_check_red():
    calls = agent_log()
    lines = str(compress(calls)).splitlines(keepends=True)
    for number in [i for i, line in enumerate(lines) if " --> " in line]:
        with pytest.raises(MermaidParseError):
            reads_back(calls, "".join(lines[:number] + lines[number + 1 :]))


def test_the_diagram_is_under_thirty_percent_of_the_raw_log():
    canvas = compress(agent_log())
    raw = sum(len(c.name) + len(str(c.arguments)) + len(c.result) for c in agent_log())
    assert canvas.raw_bytes <= raw
    assert len(str(canvas).encode()) < 0.25 * canvas.raw_bytes
    assert canvas.estimated_tokens < 0.25 * canvas.raw_tokens


def test_uncut_labels_turn_the_check_red():
    calls = agent_log()
    uncut = "stateDiagram-v2\n" + "".join(
        f"c{i} --> c{i + 1}: {c.name} {c.arguments} => {c.result}\n" for i, c in enumerate(calls)
    )
    assert len(uncut.encode()) >= 0.30 * compress(calls).raw_bytes
