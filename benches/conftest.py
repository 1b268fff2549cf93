"""Corpora and engines, built once a session; a debug build is never timed."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from benches.corpus import Corpus, make_corpus
from tests.reference import Exact

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benches.ours import Ours
    from benches.peers import Peer

    Engine = Peer | Ours


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("agentmem benches")
    group.addoption("--large", action="store_true", help="also run at 100,000 facts")
    group.addoption(
        "--gate",
        choices=("floor", "goal"),
        help="judge speed: 'floor' as CI does on a busy machine, 'goal' as the design asks",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        for option in ("large", "gate"):
            if item.get_closest_marker(option) and not config.getoption(f"--{option}"):
                item.add_marker(pytest.mark.skip(reason=f"runs only with --{option}"))


class Engines:
    """Builds each engine once for each corpus, and closes all at the end."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folders = 0
        self.built: dict[tuple[str, int, int], Engine] = {}

    def corpus(self, n: int, ndim: int) -> Corpus:
        return make_corpus(n, ndim=ndim)

    @cache  # noqa: B019 - one object a session
    def exact(self, n: int, ndim: int) -> Exact:
        corpus = self.corpus(n, ndim)
        return Exact([text.split() for text in corpus.texts], corpus.vectors)

    @cache  # noqa: B019
    def signals(self, n: int, ndim: int, query: int) -> tuple[dict[int, float], Any]:
        """Return the exact BM25 scores and cosines for one query of the corpus."""
        corpus = self.corpus(n, ndim)
        return self.exact(n, ndim).signals(
            corpus.queries[query].split(), corpus.query_vectors[query]
        )

    def folder(self, name: str) -> Path:
        folder = self.root / f"{len(list(self.root.iterdir()))}-{name.split(maxsplit=1)[0].lower()}"
        folder.mkdir()
        return folder

    def get(self, kind: type[Any], n: int, ndim: int) -> Any:
        key = (kind.name, n, ndim)
        if key not in self.built:
            corpus = self.corpus(n, ndim)
            engine = kind(self.folder(kind.name), ndim)
            engine.add(corpus.texts, corpus.vectors)
            if hasattr(engine, "settle"):
                engine.settle()
            self.built[key] = engine
        return self.built[key]

    def hits(self, engine: Engine, n: int, ndim: int, *, k: int, count: int) -> float:
        """Return the share of queries whose target is among the k best."""
        corpus = self.corpus(n, ndim)
        found = 0
        for query in range(count):
            hits = engine.search(corpus.queries[query], corpus.query_vectors[query], k)
            found += corpus.targets[query] in engine.rows(hits)
        return found / count

    def close(self) -> None:
        for engine in self.built.values():
            engine.close()


@pytest.fixture(scope="session")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engines]:
    built = Engines(tmp_path_factory.mktemp("engines"))
    yield built
    built.close()


@pytest.fixture(scope="session")
def timed(request: pytest.FixtureRequest) -> bool:
    """Whether this run measures; then two cores are used and a debug build is refused."""
    config = request.config
    # As pytest-benchmark itself decides it: an explicit --benchmark-enable wins.
    disabled = config.getoption("benchmark_disable") and not config.getoption("benchmark_enable")
    on = bool(config.getoption("--gate")) or not disabled
    if on and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:2]))
    return on


@pytest.fixture(scope="session")
def ours(timed: bool) -> type[Ours]:
    """Our adapter."""
    from agentmem import _native

    if timed and _native.build_profile == "debug":
        pytest.exit("agentmem._native is a debug build; build with --release to measure", 2)
    from benches.ours import Ours

    return Ours


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(11)
