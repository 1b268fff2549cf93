"""The gates of speed: ratios in one run, and the mission's 50 ms.

``pytest benches/bench_gates.py --gate=floor`` judges by what holds on a busy machine (CI),
``--gate=goal`` by what the design asks for. Ratios are of CPU time at the median, calls of all
engines interleaved in one process; the mission's limit is wall time at p95.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from benches.bench_recall import (
    Embedded,
    assert_as_many_hits,
    assert_right,
    search_of,
    side_by_side,
    wall_times,
)
from benches.measure import (
    Timing,
    best_cpu_s,
    busy_thread,
    calls_per_second,
    interleaved,
    no_collection,
    steady_thread,
)
from benches.passages import questions
from benches.peers import PEERS, BestPythonStack, HnswStack, MissionCode
from benches.probe import probe

if TYPE_CHECKING:
    from benches.conftest import Engines

pytestmark = [pytest.mark.gate, pytest.mark.timeout(600)]
MISSION_LIMIT_MS = 50.0


@dataclass(frozen=True)
class Gate:
    """A bound with the design's goal and the floor that CI holds."""

    what: str
    goal: float
    floor: float
    unit: str
    at_least: bool = True

    def judge(self, value: float, level: str) -> None:
        """Print the value beside its bounds, and raise AssertionError where it is beyond them."""
        bound = self.goal if level == "goal" else self.floor
        sign = ">=" if self.at_least else "<="
        line = (
            f"{self.what}: {value:.3g}{self.unit} (goal {sign} {self.goal:g}{self.unit}, "
            f"CI floor {sign} {self.floor:g}{self.unit})"
        )
        print(line)
        assert value >= bound if self.at_least else value <= bound, line


# CI shares its two cores with strangers: the floors catch what got twice as slow, the goals are for a
# quiet machine.
RATIOS = {
    (10_000, HnswStack.name): Gate("10,000 facts, times the HNSW stack", 2.2, 1.3, "x"),
    (10_000, BestPythonStack.name): Gate("10,000 facts, times the best stack", 1.7, 1.1, "x"),
    (10_000, MissionCode.name): Gate("10,000 facts, times the mission's code", 40, 18, "x"),
    (100_000, HnswStack.name): Gate("100,000 facts, times the HNSW stack", 1.5, 1.0, "x"),
}
THREADS = Gate("two threads, times one", 1.7, 1.2, "x")
BUSY = Gate("p50 beside a busy Python thread", 8, 20, " ms", at_least=False)
INGEST = Gate("ingest, vectors given", 30_000, 15_000, " facts per CPU-second")
REMEMBER = Gate("remember at p50, CPU", 0.5, 1.2, " ms", at_least=False)
OPEN = {
    10_000: Gate("open to first result, 10,000, CPU", 10, 30, " ms", at_least=False),
    100_000: Gate("open to first result, 100,000, CPU", 50, 150, " ms", at_least=False),
}
RSS = {
    10_000: Gate("resident memory, 10,000", 40, 60, " MB", at_least=False),
    100_000: Gate("resident memory, 100,000", 150, 200, " MB", at_least=False),
}
IMPORT = Gate("import agentmem, CPU", 60, 180, " ms", at_least=False)
FROM_TEXT = {
    8: Gate("recall from text, about 12 tokens, CPU", 3.2, 7, " ms", at_least=False),
    24: Gate("recall from text, about 32 tokens, CPU", 6, 13, " ms", at_least=False),
}
REPEATED = Gate("recall of a repeated question, CPU", 0.4, 1.2, " ms", at_least=False)
MIXED = Gate("p99 beside 200 writes/s and a fold, times p50", 5, 60, "x", at_least=False)
SCOPED = Gate("recall in one of 1,000 scopes, CPU", 0.25, 0.8, " ms", at_least=False)
FIRST = Gate("first text recall in a fresh process, CPU", 400, 1_200, " ms", at_least=False)


@pytest.fixture
def level(request: pytest.FixtureRequest) -> str:
    return str(request.config.getoption("--gate"))


def judge_ratios(timings: dict[str, Timing], n: int, level: str) -> None:
    for name, timing in timings.items():
        print(f"  {name}: {timing.summary()}")
    own = timings["agentmem"].cpu_ms()
    for name, timing in timings.items():
        if (n, name) in RATIOS:
            RATIOS[n, name].judge(timing.cpu_ms() / own, level)


@pytest.mark.parametrize("ndim", [384, 768])
def test_recall_at_10_000(engines: Engines, ours: type, level: str, ndim: int) -> None:
    n = 10_000
    assert_right(engines, engines.get(ours, n, ndim), n, ndim)
    timings, found = side_by_side(engines, (ours, *PEERS), n, ndim, count=1_000)
    print(f"\nhit@10 at {ndim} dimensions: {found}")
    assert_as_many_hits(found)
    assert timings["agentmem"].wall_ms(95) < MISSION_LIMIT_MS
    judge_ratios(timings, n, level)


@pytest.mark.large
@pytest.mark.timeout(1800)
def test_recall_at_100_000(engines: Engines, ours: type, level: str) -> None:
    timings, _ = side_by_side(engines, (ours, HnswStack), 100_000, 384, count=400)
    judge_ratios(timings, 100_000, level)


def test_two_threads(engines: Engines, ours: type, level: str) -> None:
    call = search_of(engines, engines.get(ours, 10_000, 384), 10_000, 384)
    ratios = []
    for _ in range(5):
        one = calls_per_second(call, threads=1, count=2_000)
        ratios.append(calls_per_second(call, threads=2, count=2_000) / one)
    THREADS.judge(max(ratios), level)


def test_beside_a_busy_python_thread(engines: Engines, ours: type, level: str) -> None:
    call = search_of(engines, engines.get(ours, 10_000, 384), 10_000, 384)
    with busy_thread():
        timing = wall_times(call, 200)
    BUSY.judge(timing.wall_ms(), level)


def test_ingest(engines: Engines, ours: type, level: str) -> None:
    corpus = engines.corpus(10_000, 384)
    rates = []
    for _ in range(3):
        engine = ours(engines.folder("ingest"), 384)

        def add(engine: Any = engine) -> None:
            engine.add(corpus.texts, corpus.vectors)
            engine.search(corpus.queries[0], corpus.query_vectors[0], 10)

        rates.append(len(corpus) / best_cpu_s(add, rounds=1))
        engine.close()
    INGEST.judge(max(rates), level)


def test_remember(engines: Engines, ours: type, level: str) -> None:
    corpus = engines.corpus(10_000, 384)
    extra = engines.corpus(1_000, 384)
    engine = ours(engines.folder("one"), 384)
    engine.add(corpus.texts, corpus.vectors)
    engine.settle()

    def remember(row: int) -> None:
        # The first argument is asked twice (warm-up), so the texts differ by more than the row.
        text = f"{extra.texts[row]} {len(engine.row_of)}"
        fact = engine.memory.remember(text, embedding=extra.vectors[row])
        engine.row_of[fact.id] = len(engine.row_of)

    timing = interleaved({"remember": remember}, 900)["remember"]
    engine.close()
    REMEMBER.judge(timing.cpu_ms(), level)


@pytest.mark.parametrize("n", [10_000, pytest.param(100_000, marks=pytest.mark.large)])
def test_open_and_memory(engines: Engines, ours: type, level: str, n: int) -> None:
    corpus = engines.corpus(n, 384)
    engine = ours(engines.folder("open"), 384)
    engine.add(corpus.texts, corpus.vectors)
    engine.close()
    figures = [probe("open", engine.folder, 384) for _ in range(5)]
    assert all(figure["hits"] == 10 for figure in figures)
    OPEN[n].judge(min(figure["open_cpu_ms"] for figure in figures), level)
    RSS[n].judge(min(figure["rss_mb"] for figure in figures), level)


def test_import(level: str) -> None:
    figures = [probe("import") for _ in range(5)]
    assert all(figure["heavy"] == [] for figure in figures)
    IMPORT.judge(min(figure["import_cpu_ms"] for figure in figures), level)


def test_from_text(engines: Engines, ours: type, level: str) -> None:
    embedded = Embedded(engines, ours)
    for words, gate in FROM_TEXT.items():
        asked = [question for _, question in questions(embedded.texts, words=words, count=200)]
        timing = interleaved({"text": lambda i, asked=asked: embedded.recall(asked[i])}, 200)
        gate.judge(timing["text"].cpu_ms(), level)
    question = questions(embedded.texts, words=8, count=1)[0][1]
    timing = interleaved({"again": lambda _: embedded.recall(question)}, 500)
    REPEATED.judge(timing["again"].cpu_ms(), level)
    embedded.engine.close()
    figures = [probe("text", embedded.engine.folder) for _ in range(3)]
    FIRST.judge(min(figure["text_cpu_ms"] for figure in figures), level)


def test_beside_writes_and_a_fold(engines: Engines, ours: type, level: str) -> None:
    corpus, added = engines.corpus(10_000, 384), engines.corpus(2_000, 384)
    ratios = []
    for _ in range(3):
        engine = ours(engines.folder("mixed"), 384)
        engine.add(corpus.texts, corpus.vectors)
        engine.settle()
        call = search_of(engines, engine, 10_000, 384)

        def write(row: int, engine: Any = engine) -> None:
            engine.memory.remember(f"{added.texts[row]} w{row}", embedding=added.vectors[row])

        beside, query = Timing(), 0
        with steady_thread(write, per_second=200) as done, no_collection():
            while len(done) < 1_300:
                beside.time(call, query)
                query += 1
        assert engine.memory.stats().segments > 1
        ratios.append(beside.wall_ms(99) / beside.wall_ms(50))
        engine.close()
    MIXED.judge(min(ratios), level)


@pytest.mark.large
def test_one_scope_of_a_thousand(engines: Engines, ours: type, level: str) -> None:
    corpus = engines.corpus(100_000, 384)
    engine = ours(engines.folder("scopes"), 384)
    for number in range(1_000):
        rows = slice(number * 100, number * 100 + 100)
        engine.memory.scoped(f"s{number}").remember_many(
            {"text": text, "embedding": vector}
            for text, vector in zip(corpus.texts[rows], corpus.vectors[rows], strict=True)
        )
    engine.settle()
    handles = [engine.memory.scoped(f"s{number}") for number in range(1_000)]
    count = len(corpus.queries)

    def recall(query: int) -> Any:
        return handles[query * 7 % 1_000].recall(
            corpus.queries[query % count], k=10, embedding=corpus.query_vectors[query % count]
        )

    assert all(hit.scope == "s7" for hit in recall(1))
    timing = interleaved({"scoped": recall}, 1_000)["scoped"]
    engine.close()
    SCOPED.judge(timing.cpu_ms(), level)
