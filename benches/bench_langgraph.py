"""LangGraph's stores beside ours in one run: the same items, embeddings and questions.

The SQLite store searches with sqlite-vec, for which Python's sqlite3 must load extensions; where it
was built without, the package pysqlite3-binary stands in. Our side does more: it also ranks by words.
Its puts are on disk when they return; those of the SQLite store are (a rollback journal, `synchronous`
FULL; ours is a WAL with the same), those of the in-memory one are not.
"""

from __future__ import annotations

import itertools
import sqlite3
import time
from typing import TYPE_CHECKING, Any

import pytest
from benches.measure import interleaved, no_collection

pytest.importorskip("langgraph.store.sqlite", reason="needs langgraph-checkpoint-sqlite")

import langgraph.store.sqlite.base as theirs
from langchain_core.embeddings import Embeddings
from langgraph.store.base import PutOp
from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore

from agentmem.integrations.langgraph import AgentMemStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from benches.conftest import Engines

NDIM = 384
K = 10
SEARCH_GATE = 3.0
OURS, SQLITE, IN_MEMORY = "agentmem", "SqliteStore", "InMemoryStore"


class Known(Embeddings):
    """Gives the corpus's own vectors, as lists of floats, at the cost of a look-up."""

    model = "corpus"

    def __init__(self) -> None:
        self.vectors: dict[str, list[float]] = {}

    def learn(self, texts: Any, vectors: Any) -> None:
        self.vectors.update(zip(texts, vectors.tolist(), strict=True))

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.vectors[text.partition(" #")[0]] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.vectors[text]


def connected(path: Path, index: Any) -> SqliteStore:
    """Return LangGraph's SQLite store as its `from_conn_string` makes it, or skip."""
    module: Any = sqlite3
    if not hasattr(sqlite3.Connection, "enable_load_extension"):
        module = pytest.importorskip(
            "pysqlite3", reason="this Python's sqlite3 loads no extensions, so no sqlite-vec"
        )
        theirs.sqlite3 = module
    connection = module.connect(str(path), check_same_thread=False, isolation_level=None)
    store = SqliteStore(connection, index=index)
    store.setup()
    return store


@pytest.fixture(scope="module")
def stores(
    engines: Engines, ours: type, timed: bool, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[dict[str, Any], Any, int]]:
    """The three stores with the same items, the corpus, and how many items there are."""
    del ours  # Refuses a debug build.
    n = 10_000 if timed else 500
    corpus = engines.corpus(n, NDIM)
    known = Known()
    known.learn(corpus.texts, corpus.vectors)
    known.learn(corpus.queries, corpus.query_vectors)
    index: Any = {"dims": NDIM, "embed": known, "fields": ["text"], "text_fields": ["text"]}
    folder = tmp_path_factory.mktemp("langgraph")
    made: dict[str, Any] = {
        OURS: AgentMemStore(folder / "agentmem", index=index),
        SQLITE: connected(folder / "store.db", index),
        IN_MEMORY: InMemoryStore(index=index),
    }
    for store in made.values():
        for start in range(0, n, 500):
            store.batch(
                [
                    PutOp(("docs", str(at % 10)), f"k{at}", {"text": corpus.texts[at], "n": at})
                    for at in range(start, min(start + 500, n))
                ]
            )
    if timed:
        made[OURS].memory._shared.index.fold(settle=True)
    yield made, corpus, n
    made[OURS].close()
    made[SQLITE].conn.close()


def summaries(benchmark: Any, timings: Any) -> dict[str, dict[str, float]]:
    found = {name: timing.summary() for name, timing in timings.items()}
    benchmark.extra_info["engines"] = found
    for name, info in found.items():
        print(f"{name}: {info}")
    return found


@pytest.mark.benchmark(group="langgraph search")
@pytest.mark.parametrize("filtered", [False, True], ids=["plain", "filtered"])
def test_search(benchmark: Any, stores: Any, timed: bool, filtered: bool) -> None:
    made, corpus, n = stores
    options: dict[str, Any] = {"filter": {"n": {"$lt": n // 2}}} if filtered else {}

    def search(name: str) -> Any:
        return lambda at: made[name].search(
            ("docs",), query=corpus.queries[at % len(corpus.queries)], limit=K, **options
        )

    count = 60
    right = dict.fromkeys(made, 0)
    if not filtered:
        for name in made:
            for at in range(20):
                found = {item.key for item in search(name)(at)}
                right[name] += f"k{corpus.targets[at]}" in found
        benchmark.extra_info["found"] = right
        assert right[OURS] >= max(right.values())
    else:
        assert all(item.value["n"] < n // 2 for name in made for item in search(name)(0))
    benchmark.extra_info["correct"] = True
    if timed:
        found = summaries(benchmark, interleaved({name: search(name) for name in made}, count))
        ratio = found[SQLITE]["cpu_p50_ms"] / found[OURS]["cpu_p50_ms"]
        benchmark.extra_info["times_faster_than_sqlite"] = ratio
        assert ratio >= SEARCH_GATE
    benchmark.pedantic(search(OURS), args=(0,), rounds=30 if timed else 1)


@pytest.mark.benchmark(group="langgraph get")
def test_get(benchmark: Any, stores: Any, timed: bool) -> None:
    made, _, n = stores

    def get(name: str) -> Any:
        return lambda at: made[name].get(("docs", str(at % n % 10)), f"k{at % n}")

    assert len({str(get(name)(7).value) for name in made}) == 1
    if timed:
        summaries(benchmark, interleaved({name: get(name) for name in made}, 500))
    benchmark.pedantic(get(OURS), args=(0,), rounds=100 if timed else 1)


@pytest.mark.benchmark(group="langgraph put, by the wall clock")
@pytest.mark.parametrize("size", [1, 10, 100, 1000])
def test_put(benchmark: Any, stores: Any, timed: bool, size: int) -> None:
    """By the wall clock: what a durable put waits for is the disk.

    A large batch goes on into our index after the put has returned. Its CPU time is that of all of
    it, and the other stores' turns begin when it is done.
    """
    made, corpus, n = stores
    numbers = {name: itertools.count() for name in made}

    def put(name: str) -> None:
        at = next(numbers[name])
        made[name].batch(
            [
                PutOp(
                    ("put", str(size)),
                    f"{at}-{row}",
                    {"text": f"{corpus.texts[(at * size + row) % n]} #{row}", "n": row},
                )
                for row in range(size)
            ]
        )

    rounds = {1: 60, 10: 30, 100: 12, 1000: 5}[size] if timed else 1
    assert made[SQLITE].conn.execute("PRAGMA synchronous").fetchone() == (2,)
    seconds: dict[str, list[float]] = {name: [] for name in made}
    indexed: list[float] = []
    cpu: dict[str, list[float]] = {name: [] for name in made}
    with no_collection():
        for _ in range(rounds):
            for name in made:
                start, cpu_start = time.perf_counter(), time.process_time()
                put(name)
                seconds[name].append(time.perf_counter() - start)
                if name == OURS:
                    # Waits for what is on its way into the index.
                    assert made[OURS].memory._shared.index.native
                    indexed.append(time.perf_counter() - start)
                cpu[name].append(time.process_time() - cpu_start)
    last = f"{rounds - 1}-{size - 1}"
    assert len({str(store.get(("put", str(size)), last).value) for store in made.values()}) == 1
    benchmark.extra_info["correct"] = True
    seconds["agentmem, until indexed"] = indexed
    for kind, figures in (("wall", seconds), ("cpu", cpu)):
        for which, share in (("least", 0), ("median", 2)):
            benchmark.extra_info[f"{kind}_us_per_item, {which}"] = {
                name: round(sorted(times)[len(times) * share // 4] / size * 1e6, 2)
                for name, times in figures.items()
            }
    for name, figure in benchmark.extra_info.items():
        print(size, name, figure)
    benchmark.pedantic(put, args=(OURS,), rounds=1)
