"""Writing: one fact, many facts, opening what was written, memory; beside the peers."""

from __future__ import annotations

import itertools
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from benches.measure import best_cpu_s, interleaved, no_collection
from benches.passages import passages
from benches.peers import PEERS
from benches.probe import probe

if TYPE_CHECKING:
    from benches.conftest import Engines

NDIM = 384
LARGE = pytest.param(100_000, marks=[pytest.mark.large, pytest.mark.timeout(1200)])


@pytest.mark.benchmark(group="remember, durable and searchable, vector given")
def test_remember(benchmark: Any, engines: Engines, ours: type) -> None:
    corpus = engines.corpus(10_000, NDIM)
    extra = engines.corpus(4_000, NDIM)
    engine = ours(engines.folder("one"), NDIM)
    engine.add(corpus.texts, corpus.vectors)
    engine.settle()
    numbers = itertools.count()

    def remember(_: int = 0) -> Any:
        row = next(numbers)
        copy, row = divmod(row, len(extra))
        return engine.memory.remember(
            f"{extra.texts[row]} copy{copy}", embedding=extra.vectors[row]
        )

    fact = remember()
    hits = engine.memory.recall(extra.texts[0], k=1, embedding=extra.vectors[0])
    assert [hit.id for hit in hits] == [fact.id]
    benchmark.extra_info["correct"] = True
    if benchmark.enabled:
        timing = interleaved({"remember": remember}, 1_000)["remember"]
        benchmark.extra_info.update(timing.summary())
    benchmark.pedantic(remember, rounds=1_000 if benchmark.enabled else 1)
    engine.close()


@pytest.mark.benchmark(group="ingest, durable and searchable, vectors given")
@pytest.mark.parametrize("n", [10_000, LARGE])
@pytest.mark.parametrize("kind", ["agentmem", *PEERS], ids=lambda k: getattr(k, "__name__", k))
def test_ingest(
    benchmark: Any, engines: Engines, request: pytest.FixtureRequest, timed: bool, n: int, kind: Any
) -> None:
    if kind == "agentmem":
        kind = request.getfixturevalue("ours")
    if not timed:
        n = 500
    corpus = engines.corpus(n, NDIM)
    cpu: list[float] = []

    def ingest() -> None:
        folder = engines.folder("ingest")
        engine = kind(folder, NDIM)

        def add() -> None:
            engine.add(corpus.texts, corpus.vectors)
            hits = engine.search(corpus.queries[0], corpus.query_vectors[0], 10)
            assert len(hits) == 10

        cpu.append(best_cpu_s(add, rounds=1))
        hits = engine.search(corpus.texts[n - 1], corpus.vectors[n - 1], 1)
        assert engine.rows(hits) == [n - 1]
        engine.close()
        shutil.rmtree(folder)

    benchmark.pedantic(ingest, rounds=3 if timed and n <= 10_000 else 1)
    benchmark.extra_info.update(correct=True, facts_per_cpu_s=round(n / min(cpu)))


@pytest.mark.benchmark(group="ingest from text")
def test_ingest_from_text(benchmark: Any, engines: Engines, ours: type) -> None:
    from agentmem.embedding import OnnxEmbedder

    texts = passages(2_000)[-(200 if benchmark.enabled else 5) :]
    engine = ours(engines.folder("text"), 384, embedder=OnnxEmbedder())

    def add() -> None:
        engine.memory.remember_many(texts)

    cpu = best_cpu_s(add, rounds=1)  # the same texts again would be duplicates
    assert engine.memory.recall(texts[-1], k=1)[0].text == texts[-1]
    benchmark.extra_info.update(correct=True, facts_per_cpu_s=round(len(texts) / cpu, 1))
    benchmark.pedantic(engine.memory.recall, (texts[0],), rounds=1)
    engine.close()


@pytest.mark.parametrize("n", [10_000, LARGE])
def test_open_and_memory(benchmark: Any, engines: Engines, ours: type, timed: bool, n: int) -> None:
    corpus = engines.corpus(n if timed else 1_000, NDIM)
    engine = ours(engines.folder("open"), NDIM)
    engine.add(corpus.texts, corpus.vectors)
    engine.close()
    figures = [probe("open", engine.folder, NDIM) for _ in range(5 if timed else 1)]
    assert all(figure["hits"] == 10 for figure in figures)
    benchmark.extra_info.update(
        correct=True,
        open_cpu_ms=min(figure["open_cpu_ms"] for figure in figures),
        open_wall_ms=min(figure["open_wall_ms"] for figure in figures),
        rss_mb=max(figure["rss_mb"] for figure in figures),
    )

    def reopen() -> None:
        engine.settle()

    with no_collection():
        benchmark.pedantic(reopen, rounds=5 if timed else 1)
    engine.close()


def test_import_is_light(benchmark: Any) -> None:
    figure = benchmark.pedantic(probe, ("import",), rounds=1)
    assert figure["heavy"] == []
    benchmark.extra_info.update(correct=True, import_cpu_ms=figure["import_cpu_ms"])
