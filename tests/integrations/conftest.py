"""A store in a temporary folder, on a clock that tests move."""

import pytest

from agentmem.testing import FakeClock


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def store(tmp_path, clock):
    pytest.importorskip("langgraph.store.base", reason="needs agentmem-tiers[langgraph]")
    from tests.integrations.langgraph_parts import INDEX

    from agentmem.integrations.langgraph import AgentMemStore

    with AgentMemStore(tmp_path / "store", index=INDEX, clock=clock) as opened:
        yield opened
