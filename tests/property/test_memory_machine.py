"""Any history of writes, reopenings, folds and a second handle, beside a dictionary."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.strategies import SCOPES, WORDS, texts, unit_vector

from agentmem import GivenEmbeddings, Memory

NDIM = 8
SPACE = GivenEmbeddings(id="machine", ndim=NDIM)
SEEDS = st.integers(0, 40)


class MemoryMachine(RuleBasedStateMachine):
    """The model: current facts as ``id -> (scope, text, key, seed)``."""

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.facts = {}

    @initialize()
    def open_both(self):
        self.one = Memory(self.folder / "m", embedder=SPACE)
        self.two = Memory(self.folder / "m", embedder=SPACE)

    def teardown(self):
        if hasattr(self, "one"):
            self.one.close()
            self.two.close()
        shutil.rmtree(self.folder)

    def twin(self, scope, text):
        """Return the model's fact of the same folded text in a scope."""
        folded = " ".join(text.casefold().split())
        return next(
            (
                id
                for id, (at, other, _, _) in self.facts.items()
                if at == scope and " ".join(other.casefold().split()) == folded
            ),
            None,
        )

    @rule(handle=st.booleans(), scope=st.sampled_from(SCOPES), text=texts(), seed=SEEDS)
    def add(self, handle, scope, text, seed):
        memory = (self.one if handle else self.two).scoped(scope)
        twin = self.twin(scope, text)
        fact = memory.remember(text, embedding=unit_vector(seed, NDIM))
        if twin is None:
            assert fact.status == "new"
            self.facts[fact.id] = (scope, text, None, seed)
        else:
            assert (fact.status, fact.id) == ("duplicate", twin)

    @rule(
        handle=st.booleans(), scope=st.sampled_from(SCOPES), text=texts(),
        key=st.sampled_from(["a", "b"]), seed=SEEDS,
    )  # fmt: skip
    def upsert(self, handle, scope, text, key, seed):
        memory = (self.one if handle else self.two).scoped(scope)
        old = next(
            (id for id, fact in self.facts.items() if fact[0] == scope and fact[2] == key), None
        )
        fact = memory.remember(text, key=key, embedding=unit_vector(seed, NDIM))
        if old is not None and self.facts[old][1] == text:
            assert (fact.status, fact.id) == ("duplicate", old)
            return
        assert fact.status == ("new" if old is None else "superseded")
        if old is not None:
            del self.facts[old]
        self.facts[fact.id] = (scope, text, key, seed)

    @rule(data=st.data(), text=texts(), seed=SEEDS)
    def supersede(self, data, text, seed):
        if not self.facts:
            return
        old = data.draw(st.sampled_from(sorted(self.facts)))
        scope, _, _, _ = self.facts[old]
        fact = self.one.scoped(scope).remember(
            text, supersedes=old, embedding=unit_vector(seed, NDIM)
        )
        assert fact.supersedes == (old,)
        del self.facts[old]
        self.facts[fact.id] = (scope, text, None, seed)

    @rule(data=st.data(), handle=st.booleans())
    def forget(self, data, handle):
        if self.facts:
            id = data.draw(st.sampled_from(sorted(self.facts)))
            gone = (self.one if handle else self.two).forget(id)
            assert id in gone.ids
            del self.facts[id]

    @rule(
        handle=st.booleans(), scope=st.sampled_from(SCOPES), word=st.sampled_from(WORDS),
        seed=SEEDS,
    )  # fmt: skip
    def recall(self, handle, scope, word, seed):
        query = unit_vector(seed, NDIM)
        hits = (self.one if handle else self.two).scoped(scope).recall(word, k=200, embedding=query)
        visible = {
            id: fact
            for id, fact in self.facts.items()
            if not scope or fact[0] == scope or fact[0].startswith(scope + "/")
        }
        assert {hit.id for hit in hits} == set(visible)
        assert all(hit.text == visible[hit.id][1] for hit in hits)
        exact = sorted(
            visible,
            key=lambda row: (-float(unit_vector(visible[row][3], NDIM) @ query), number(row)),
        )
        by_rank = sorted((hit for hit in hits), key=lambda hit: hit.ann_rank)
        cosines = [float(unit_vector(visible[hit.id][3], NDIM) @ query) for hit in by_rank]
        wanted = [float(unit_vector(visible[id][3], NDIM) @ query) for id in exact]
        assert np.allclose(cosines, wanted, atol=1e-6)

    @rule()
    def reopen(self):
        self.one.close()
        self.one = Memory(self.folder / "m", embedder=SPACE)

    @rule(handle=st.booleans())
    def fold(self, handle):
        (self.one if handle else self.two)._shared.index.fold()

    @rule()
    def rebuild(self):
        self.two.rebuild_index()

    @invariant()
    def every_current_fact_is_listed(self):
        if hasattr(self, "one"):
            listed = {fact.id: fact.text for fact in self.one.facts(limit=1000)}
            assert listed == {id: fact[1] for id, fact in self.facts.items()}


def number(id):
    """Return the number of an id."""
    return int(id.partition(":")[2])


class TestMachine(MemoryMachine.TestCase):
    settings = settings(
        max_examples=20, stateful_step_count=25, deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )  # fmt: skip


@pytest.mark.long
class TestMachineLong(MemoryMachine.TestCase):
    settings = settings(
        max_examples=200, stateful_step_count=40, deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )  # fmt: skip


TestMachine = pytest.mark.timeout(900)(TestMachine)
TestMachineLong = pytest.mark.timeout(3600)(TestMachineLong)
