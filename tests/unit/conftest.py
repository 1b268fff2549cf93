"""A memory whose clock a test moves, and its skills; a module may have a memory of its own."""

from datetime import UTC, datetime

import pytest
from tests.skill_help import open_memory


class Clock:
    """Says the time that a test last gave it."""

    def __init__(self):
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def memory(tmp_path, clock):
    with open_memory(tmp_path / "memory", clock=clock) as memory:
        yield memory


@pytest.fixture
def skills(memory):
    return memory.skills
