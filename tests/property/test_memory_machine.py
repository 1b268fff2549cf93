"""Any history of writes, reopenings, folds, other handles and processes, beside a dictionary."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.property.memory_peer import NDIM, Local, Peer
from tests.strategies import SCOPES, WORDS, texts, unit_vector

SEEDS = st.integers(0, 40)
HANDLES = st.sampled_from(["one", "two", "other"])

# Each fold syncs a dozen files: in memory, where there is such a folder, that costs nothing.
SCRATCH = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None

peers = []


@pytest.fixture(scope="module", autouse=True)
def peer_process():
    """One child for the whole module: starting one costs more than an example."""
    peers.append(Peer())
    yield
    peers.pop().stop()


class MemoryMachine(RuleBasedStateMachine):
    """The model: current facts as ``id -> (scope, text, key, seed)``."""

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(dir=SCRATCH))
        self.facts = {}
        self.ids = set()

    @initialize()
    def open_all(self):
        self.handles = {"one": Local(), "two": Local(), "other": peers[0]}
        for handle in self.handles.values():
            handle.open(str(self.folder / "m"))

    def teardown(self):
        if hasattr(self, "handles"):
            assert self.handles["two"].verify() == []
            for handle in self.handles.values():
                handle.close()
            last = Local()
            last.open(str(self.folder / "m"))
            assert last.verify() == []
            assert last.facts() == {id: fact[1] for id, fact in self.facts.items()}
            last.close()
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

    def note(self, id, *fact):
        assert id not in self.ids, "an id was given out twice"
        self.ids.add(id)
        self.facts[id] = fact

    @rule(handle=HANDLES, scope=st.sampled_from(SCOPES), text=texts(), seed=SEEDS)
    def add(self, handle, scope, text, seed):
        twin = self.twin(scope, text)
        id, status, _ = self.handles[handle].remember(scope, text, seed)
        if twin is None:
            assert status == "new"
            self.note(id, scope, text, None, seed)
        else:
            assert (status, id) == ("duplicate", twin)

    @rule(
        handle=HANDLES, scope=st.sampled_from(SCOPES), text=texts(),
        key=st.sampled_from(["a", "b"]), seed=SEEDS,
    )  # fmt: skip
    def upsert(self, handle, scope, text, key, seed):
        old = next(
            (id for id, fact in self.facts.items() if fact[0] == scope and fact[2] == key), None
        )
        id, status, past = self.handles[handle].remember(scope, text, seed, key=key)
        if old is not None and self.facts[old][1] == text:
            assert (status, id) == ("duplicate", old)
            return
        assert (status, past) == (("new", []) if old is None else ("superseded", [old]))
        self.facts.pop(old, None)
        self.note(id, scope, text, key, seed)

    @rule(handle=HANDLES, data=st.data(), text=texts(), seed=SEEDS)
    def supersede(self, handle, data, text, seed):
        if not self.facts:
            return
        old = data.draw(st.sampled_from(sorted(self.facts)))
        scope = self.facts[old][0]
        id, _, past = self.handles[handle].remember(scope, text, seed, supersedes=old)
        assert past == [old]
        del self.facts[old]
        self.note(id, scope, text, None, seed)

    @rule(data=st.data(), handle=HANDLES)
    def forget(self, data, handle):
        if self.facts:
            id = data.draw(st.sampled_from(sorted(self.facts)))
            assert id in self.handles[handle].forget(id)
            del self.facts[id]

    @rule(handle=HANDLES, scope=st.sampled_from(SCOPES), word=st.sampled_from(WORDS), seed=SEEDS)
    def recall(self, handle, scope, word, seed):
        query = unit_vector(seed, NDIM)
        hits = self.handles[handle].recall(scope, word, seed)
        visible = {
            id: fact
            for id, fact in self.facts.items()
            if not scope or fact[0] == scope or fact[0].startswith(scope + "/")
        }
        assert {hit[0] for hit in hits} == set(visible)
        assert all(hit[1] == visible[hit[0]][1] for hit in hits)
        cosines = {id: float(unit_vector(fact[3], NDIM) @ query) for id, fact in visible.items()}
        ranked = [cosines[hit[0]] for hit in sorted(hits, key=lambda hit: hit[4])]
        assert np.allclose(ranked, sorted(cosines.values(), reverse=True), atol=1e-6)
        assert sorted(hit[4] for hit in hits) == list(range(1, len(hits) + 1))

    @rule(
        scope=st.sampled_from(SCOPES),
        words=st.lists(st.sampled_from(WORDS), max_size=3),
        seed=SEEDS,
    )
    def all_handles_rank_the_same(self, scope, words, seed):
        """However each of them has split the rows between segments and tail."""
        query = " ".join(words)
        one, two, other = (
            self.handles[name].recall(scope, query, seed, k=20) for name in ("one", "two", "other")
        )
        assert one == two == other

    @rule()
    def reopen(self):
        self.handles["one"].close()
        self.handles["one"].open(str(self.folder / "m"))

    @rule(handle=HANDLES)
    def fold(self, handle):
        self.handles[handle].fold()

    @rule(handle=HANDLES)
    def rebuild(self, handle):
        self.handles[handle].rebuild()

    @invariant()
    def every_current_fact_is_listed(self):
        if hasattr(self, "handles"):
            listed = self.handles["one"].facts()
            assert listed == {id: fact[1] for id, fact in self.facts.items()}


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


HISTORY = st.lists(
    st.one_of(
        st.tuples(st.just("add"), texts(), SEEDS),
        st.tuples(st.just("upsert"), texts(), SEEDS, st.sampled_from(["a", "b", "c"])),
        st.tuples(st.just("forget"), st.integers(0, 1000)),
    ),
    min_size=5, max_size=40,
)  # fmt: skip


def play(folder, history, folds, *, reopen):
    """Run a history with a fold after each step that ``folds`` names; return the handle."""
    handle = Local()
    handle.open(folder)
    for number, (what, *rest) in enumerate(history):
        if what == "add":
            handle.remember("", *rest)
        elif what == "upsert":
            text, seed, key = rest
            handle.remember("", text, seed, key=key)
        elif current := sorted(handle.facts()):
            handle.forget(current[rest[0] % len(current)])
        if number in folds:
            handle.fold()
    if reopen:
        handle.close()
        handle.open(folder)
    return handle


@given(
    history=HISTORY, seed=st.integers(0, 2**32), words=st.lists(st.sampled_from(WORDS), max_size=4)
)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_split_between_tail_and_segments_ranks_the_same(history, seed, words):
    rng = random.Random(seed)
    splits = [
        (set(), False),
        # More than eight segments are merged into one.
        (set(range(0, len(history), 1 + len(history) // 12)), True),
        (set(rng.sample(range(len(history)), 1 + len(history) // 8)), rng.random() < 0.5),
    ]
    query = " ".join(words)
    with tempfile.TemporaryDirectory(dir=SCRATCH) as root:
        answers = []
        for number, (folds, reopen) in enumerate(splits):
            handle = play(f"{root}/{number}", history, folds, reopen=reopen)
            answers.append([
                handle.recall("", query, at, k=k) for at in (1, seed % 40) for k in (3, 100)
            ])  # fmt: skip
            if number == 1:
                handle.rebuild()
                again = [
                    handle.recall("", query, at, k=k) for at in (1, seed % 40) for k in (3, 100)
                ]
                assert again == answers[-1]
            handle.close()
        assert answers[0] == answers[1] == answers[2]
