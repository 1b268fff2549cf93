"""The peers give right answers, so that what they are timed at is real work."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from benches.corpus import make_corpus
from benches.measure import Timing, interleaved
from benches.peers import DEPTH, PEERS, BestPythonStack, FtsAndVec, HnswStack, MissionCode
from benches.report import BEGIN, COLUMNS, END, put_into, report
from tests.reference import fuse, rank

if TYPE_CHECKING:
    from benches.conftest import Engines

N, NDIM, QUERIES = 2_000, 96, 40


def test_a_corpus_is_the_same_every_time_and_its_targets_can_be_found(engines: Engines) -> None:
    corpus = engines.corpus(N, NDIM)
    make_corpus.cache_clear()
    again = make_corpus(N, ndim=NDIM)
    assert again.texts == corpus.texts
    assert again.queries == corpus.queries
    assert np.array_equal(again.vectors, corpus.vectors)
    assert np.allclose(np.linalg.norm(corpus.vectors, axis=1), 1, atol=1e-6)
    assert len(set(corpus.texts)) == N
    assert 13 < np.mean([len(text.split()) for text in corpus.texts]) < 15
    found = [0, 0, 0]
    for query, target in enumerate(corpus.targets):
        lexical, cosines = engines.signals(N, NDIM, query)
        orders = [rank(lexical, DEPTH), rank(cosines, DEPTH)]
        orders.append([row for row, _ in fuse(orders)])
        found = [n + (target in order[:10]) for n, order in zip(found, orders, strict=True)]
    words, vectors, both = (n / len(corpus.targets) for n in found)
    # Neither signal alone is enough, both together nearly are: dropping one shows.
    assert words < 0.99
    assert vectors < 0.99
    assert both >= 0.97
    assert both > max(words, vectors)


def test_no_analyzer_changes_a_word_of_the_corpus() -> None:
    import tantivy

    corpus = make_corpus(500, ndim=8)
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    for token_filter in (
        tantivy.Filter.lowercase(),
        tantivy.Filter.stopword("english"),
        tantivy.Filter.stemmer("english"),
    ):
        builder = builder.filter(token_filter)
    analyzer = builder.build()
    for text in corpus.texts:
        assert analyzer.analyze(text) == text.split()


@pytest.mark.parametrize("kind", [FtsAndVec, HnswStack, BestPythonStack])
def test_hybrid_peers_agree_with_the_exact_answer(engines: Engines, kind: type) -> None:
    corpus = engines.corpus(N, NDIM)
    engine = engines.get(kind, N, NDIM)
    shared = 0
    for query in range(QUERIES):
        hits = engine.search(corpus.queries[query], corpus.query_vectors[query], 10)
        rows = engine.rows(hits)
        assert len(set(rows)) == 10
        assert [hit[1] for hit in hits] == [corpus.texts[row] for row in rows]
        orders = [rank(signal, DEPTH) for signal in engines.signals(N, NDIM, query)]
        shared += len(set(rows) & {row for row, _ in fuse(orders)[:10]})
    # FTS5's idf is another one, usearch's graph is approximate, and ties fall as they fall.
    assert shared / (10 * QUERIES) >= 0.85
    assert engines.hits(engine, N, NDIM, k=10, count=QUERIES) >= 0.95


def test_tantivy_ranks_as_the_oracle(engines: Engines) -> None:
    engine = engines.get(BestPythonStack, N, NDIM)
    corpus = engines.corpus(N, NDIM)
    for query in range(QUERIES):
        lexical, _ = engines.signals(N, NDIM, query)
        found = engine.words.search(corpus.queries[query], DEPTH)
        expected = [lexical[row] for row in rank(lexical, DEPTH)]
        assert np.allclose([lexical[row] for row in found], expected, rtol=2e-5)


@pytest.mark.parametrize(("kind", "recall"), [(HnswStack, 0.95), (BestPythonStack, 0.97)])
def test_vector_legs_recall_the_nearest(engines: Engines, kind: type, recall: float) -> None:
    engine = engines.get(kind, N, NDIM)
    corpus = engines.corpus(N, NDIM)
    shared = 0
    for query in range(QUERIES):
        _, cosines = engines.signals(N, NDIM, query)
        found = engine.near(corpus.query_vectors[query], DEPTH)
        assert len(found) == DEPTH
        shared += len(set(found[:10]) & set(rank(cosines, 10)))
    assert shared / (10 * QUERIES) >= recall


def test_the_missions_code_is_vectors_alone_because_like_matches_no_question(
    engines: Engines,
) -> None:
    engine = engines.get(MissionCode, N, NDIM)
    corpus = engines.corpus(N, NDIM)
    for query in range(10):
        _, cosines = engines.signals(N, NDIM, query)
        hits = engine.search(corpus.queries[query], corpus.query_vectors[query], 10)
        rows = engine.rows(hits)
        assert np.allclose(cosines[rows], cosines[rank(cosines, 10)], atol=2e-6)
    whole = engine.search(corpus.texts[7], corpus.query_vectors[0], 10)
    assert 7 in engine.rows(whole)


def test_a_peer_finds_what_was_added_later(tmp_path_factory: pytest.TempPathFactory) -> None:
    corpus = make_corpus(400, ndim=32)
    for kind in PEERS:
        engine = kind(tmp_path_factory.mktemp("peer"), 32)
        engine.add(corpus.texts[:399], corpus.vectors[:399])
        engine.add(corpus.texts[399:], corpus.vectors[399:])
        hits = engine.search(corpus.texts[399], corpus.vectors[399], 3)
        assert engine.rows(hits)[0] == 399
        engine.close()


def test_interleaved_times_every_call_equally() -> None:
    seen: dict[str, list[int]] = {"a": [], "b": []}
    timings = interleaved({name: calls.append for name, calls in seen.items()}, 25)
    assert seen["a"] == seen["b"] == [0, *range(25)]  # the first is the warm-up
    assert [len(timings[name].cpu_ns) for name in "ab"] == [25, 25]
    assert Timing(cpu_ns=[1_000_000, 3_000_000], wall_ns=[2_000_000]).cpu_ms(50) == 2.0


def test_the_report_shows_a_run_and_refuses_a_wrong_one() -> None:
    timing = {"cpu_p50_ms": 0.2, "cpu_p99_ms": 0.5, "hit_at_10": 1.0}
    slow = {**timing, "cpu_p50_ms": 9.0}
    info = {"n": 10_000, "ndim": 384, "engines": {"agentmem": timing, MissionCode.name: slow}}
    benches = [
        {"name": "test_recall_side_by_side[10000-384]", "extra_info": {"correct": True, **info}},
        {"name": "test_remember", "extra_info": {"correct": True, "cpu_p50_ms": 0.31}},
    ]
    machine = {"system": "Linux", "release": "6", "python_version": "3.11", "cpu": {"count": 2}}
    run = {"benchmarks": benches, "machine_info": machine, "datetime": "2026-01-02T03:04:05"}
    text = report(run)
    assert "384 dimensions | 0.200 ms | – | – | – | 9.000 ms |" in text
    assert "| `remember`, vector given, on disk and searchable | 0.31 ms | – | – | – | – |" in text
    assert "Date: 2026-01-02." in text
    benches[1]["extra_info"]["correct"] = False
    with pytest.raises(ValueError, match="test_remember"):
        report(run)


def test_the_report_has_a_column_for_every_peer() -> None:
    assert {(column.name, column.kind) for column in COLUMNS[1:]} == {
        (peer.name, peer.__name__) for peer in PEERS
    }


def test_the_report_goes_between_the_markers_of_a_page() -> None:
    page = put_into(f"before\n{BEGIN}\nold\n{END}\nafter\n", "new")
    assert page == f"before\n{BEGIN}\nnew\n{END}\nafter\n"
    with pytest.raises(ValueError, match="has no"):
        put_into("a page without them", "new")
