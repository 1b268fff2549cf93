"""Logs of thousands of calls, and results of megabytes."""

from __future__ import annotations

import pytest
from tests.host_logs import openai_pair

from agentmem import GivenEmbeddings, Memory

SPACE = GivenEmbeddings(id="test", ndim=4)


@pytest.fixture
def memory(tmp_path):
    with Memory(tmp_path / "memory", embedder=SPACE) as opened:
        yield opened


def test_calls_without_results_stay_linear(memory):
    calls = [openai_pair(number, "")[0] for number in range(12_000)]
    memory.capture(calls, session="s")
    assert memory.capture(openai_pair(12_000, "late"), session="s").new == 2
    steps = memory.canvas("s").steps
    assert len(steps) == 12_001
    assert {step.outcome for step in steps[:-1]} == {"error"}


def test_one_batch_of_thousands(memory):
    calls = [openai_pair(number, "")[0]["tool_calls"][0] for number in range(4_000)]
    memory.capture([{"role": "assistant", "tool_calls": calls}], session="s")
    results = [openai_pair(number, f"r{number}")[1] for number in reversed(range(4_000))]
    memory.capture(results, session="s")
    assert memory.expand("c1") == "r0"
    assert memory.expand("c4000") == "r3999"


def test_a_huge_result_comes_back(memory):
    text = "a line of a log 12345\n" * 500_000
    memory.capture(openai_pair(1, text), session="s")
    assert memory.expand("c1") == text
    assert memory.expand("c1", max_tokens=40).endswith("characters left out]")
