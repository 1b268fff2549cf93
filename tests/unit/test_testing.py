"""What hosts get for their tests, used as they use it."""

from datetime import datetime, timedelta

import numpy as np
import pytest

from agentmem import Memory
from agentmem.errors import InvalidInputError
from agentmem.protocols import Embedder
from agentmem.testing import (
    FakeClock,
    HashEmbedder,
    gate_recall,
    memory,  # noqa: F401
)


def test_the_fixture_is_a_real_memory(memory):  # noqa: F811
    fact = memory.remember("Deploys go to Fly.io.")
    memory.remember("Lunch is at noon.")
    assert memory.recall("where do deploys go?", k=1)[0].id == fact.id
    assert memory.verify().ok
    assert fact.created == datetime.fromisoformat("2026-01-01T00:00:00+00:00")


def test_the_clock_moves_when_told(tmp_path):
    clock = FakeClock()
    with Memory(tmp_path / "m", embedder=HashEmbedder(), clock=clock) as opened:
        first = opened.remember("one")
        clock.advance(days=1)
        clock.advance(timedelta(seconds=1))
        assert opened.remember("two").created - first.created == timedelta(days=1, seconds=1)
    with pytest.raises(InvalidInputError, match="does not go back"):
        clock.advance(seconds=-1)
    with pytest.raises(InvalidInputError, match="timezone-aware"):
        FakeClock(datetime(2026, 1, 1))  # noqa: DTZ001


@pytest.mark.parametrize(
    "text", ["", " ", "đường phố", "今天", "\0", "a\ud800b", "🎈", "x " * 50_000]
)
def test_any_text_has_a_unit_vector(text):
    embedder = HashEmbedder(16)
    (vector,) = embedder.embed([text])
    assert vector.dtype == np.float32
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-6)
    assert (HashEmbedder(16).embed([text])[0] == vector).all()


def test_texts_that_share_words_lie_close():
    embedder = HashEmbedder()
    assert isinstance(embedder, Embedder)
    a, b, c = embedder.embed(["The cat sleeps here", "the CAT sleeps there", "prices rose again"])
    assert a @ b > 0.5 > abs(a @ c)
    assert embedder.embed([]).shape == (0, 64)
    # Pinned: a host's stored vectors must fit those of the next version.
    assert HashEmbedder(4).embed(["deploy"])[0] == pytest.approx(
        [-0.411659, 0.907119, 0.087589, -0.000202], abs=1e-6
    )
    with pytest.raises(InvalidInputError, match="ndim"):
        HashEmbedder(0)


def test_the_gate_takes_times_only_of_what_is_found(benchmark, memory):  # noqa: F811
    facts = memory.remember_many([f"The code of door {n} is {n * 37}." for n in range(30)])
    cases = [(f"code of door {n}", fact.id) for n, fact in enumerate(facts)]
    with pytest.raises(AssertionError, match=r"recall@5 is 0\.500, at least 0\.9.*'nothing'"):
        gate_recall(benchmark, memory, [*cases[:1], ("nothing", "L1:999")], k=5)
    with pytest.raises(InvalidInputError, match="cases"):
        gate_recall(benchmark, memory, [])
    share = gate_recall(benchmark, memory, [*cases, ("door 3", ["L1:999", facts[3].id])], k=5)
    assert share >= 0.9
    assert benchmark.extra_info == {"recall": share, "k": 5, "cases": 31}
