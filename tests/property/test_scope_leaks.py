"""A scope sees itself and what is below it, whatever names lie beside it."""

from __future__ import annotations

import random

from tests.strategies import unit_vector

from agentmem import GivenEmbeddings, Memory

NDIM = 8
READS = 10_000


def names():
    """Fifty scopes whose names are prefixes of one another or hold `_` and `%`."""
    parts = ["a", "ab", "a_", "a%", "%", "_", "a-b", "a0", "a.", "A"]
    return parts + [f"{one}/{two}" for one in parts[:5] for two in parts[:8]]


def test_no_read_crosses(tmp_path):
    scopes = names()
    assert len(scopes) == 50
    dice = random.Random(5)
    with Memory(tmp_path / "m", embedder=GivenEmbeddings(id="t", ndim=NDIM)) as memory:
        where = {}
        for scope in scopes:
            handle = memory.scoped(scope)
            for n in range(4):
                fact = handle.remember(
                    f"common words {n}", tags=["t"], metadata={"n": n},
                    embedding=unit_vector(n, NDIM),
                )  # fmt: skip
                where[fact.id] = scope
        memory._shared.index.fold()
        handles = {scope: memory.scoped(scope) for scope in scopes}
        leaks = 0
        for _ in range(READS):
            scope = dice.choice(scopes)
            handle = handles[scope]
            choice = dice.randrange(10)
            if choice < 7:
                vector = unit_vector(dice.randrange(6), NDIM)
                filters = dice.choice([{}, {"tags": ["t"]}, {"where": {"n": {"$lt": 3}}}])
                seen = [h.id for h in handle.recall("common", k=20, embedding=vector, **filters)]
                assert seen
            elif choice < 9:
                seen = [fact.id for fact in handle.facts(limit=50)]
            else:
                target = dice.choice(sorted(where))
                try:
                    seen = [handle.get(target).id]
                except LookupError:
                    continue
            leaks += sum(
                where[id] != scope and not where[id].startswith(scope + "/") for id in seen
            )
        assert leaks == 0
