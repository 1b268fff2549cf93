"""Embedding: the fast graph beside the packaged one, in CPU time, by ratio in one run.

``python benches/bench_embed.py`` prints the table; pytest runs each part once and holds the gates.
Times are process CPU, so that a busy machine blurs them less; each ratio is the median over pairs
measured in turn.
"""

import os
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from agentmem.embedding import OnnxEmbedder, prepare_model
from agentmem.embedding.session import ModelSession
from agentmem.embedding.tokenizer import packaged_tokenizer
from agentmem.embedding.weights import packaged_model

PYTHON = str(Path(__file__).parents[1] / "python")
QUESTION_12 = "where do we deploy the new billing service after a release?"
QUESTION_32 = (
    "after the last outage, which of the two on call engineers said that the staging database "
    "needs a full backup before we deploy the billing service to production again?"
)
FACTS = [
    f"In week {n} the team moved service {n * 7} to region {n % 5} and kept port {8000 + n} open."
    for n in range(60)
]


class PackagedEmbedder:
    """The packaged graph used as well as it can be: same session options, tokenizer, pooling."""

    def __init__(self):
        self.tokenizer = packaged_tokenizer()
        self.session = ModelSession(packaged_model(), pooling="mean", name="packaged")

    def embed_query(self, text):
        return self.session.vector(self.tokenizer.wrap(self.tokenizer.ids(text)[:254]))


def cpu_ms(call, *arguments):
    started = time.process_time()
    call(*arguments)
    return (time.process_time() - started) * 1e3


def paired(fast, packaged, text, rounds):
    """Return p50 of both in ms, and the median of the ratios of neighbouring runs."""
    assert float(fast.embed_query(text) @ packaged.embed_query(text)) >= 0.99
    pairs = [
        (cpu_ms(fast.embed_query, text), cpu_ms(packaged.embed_query, text)) for _ in range(rounds)
    ]
    return (
        statistics.median(pair[0] for pair in pairs),
        statistics.median(pair[1] for pair in pairs),
        statistics.median(pair[1] / pair[0] for pair in pairs),
    )


def ingest(fast, packaged):
    """Return facts per CPU-second of both, in interleaved slices."""
    spent = [0.0, 0.0]
    for start in range(0, len(FACTS), 10):
        part = FACTS[start : start + 10]
        spent[0] += cpu_ms(fast.embed_chunks, part)
        spent[1] += cpu_ms(lambda texts: [packaged.embed_query(text) for text in texts], part)
    return len(FACTS) / spent[0] * 1e3, len(FACTS) / spent[1] * 1e3


def first_embedding_ms():
    """Return the CPU time from a bare interpreter to the first vector, the model being derived."""
    code = (
        "import time; started = time.process_time()\n"
        "from agentmem.embedding import OnnxEmbedder\n"
        "OnnxEmbedder().embed_query('where do we deploy the billing service?')\n"
        "print((time.process_time() - started) * 1e3)"
    )
    environ = {**os.environ, "PYTHONPATH": PYTHON}
    runs = [
        float(subprocess.check_output([sys.executable, "-c", code], env=environ, timeout=120))
        for _ in range(3)
    ]
    return min(runs)


def two_threads(fast):
    """Return how many times the throughput of one thread two have, by wall clock."""
    texts = FACTS[:30]

    def wall(threads):
        started = time.perf_counter()
        running = [
            threading.Thread(target=fast.embed_chunks, args=(texts,)) for _ in range(threads)
        ]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
        return time.perf_counter() - started

    return 2 * min(wall(1) for _ in range(3)) / min(wall(2) for _ in range(3))


@pytest.fixture(scope="module")
def embedders(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AGENTMEM_CACHE", str(tmp_path_factory.getbasetemp() / "models"))
        prepare_model()
        fast = OnnxEmbedder(cache_size=0)
        fast.load()
        yield fast, PackagedEmbedder()


@pytest.mark.parametrize("question", [QUESTION_12, QUESTION_32], ids=["12", "32"])
def test_a_question_is_embedded_1_8_times_faster_than_by_the_packaged_graph(embedders, question):
    fast, packaged = embedders
    assert paired(fast, packaged, question, 30)[2] >= 1.8


def test_ingest_is_1_8_times_faster_than_by_the_packaged_graph(embedders):
    fast, packaged = ingest(*embedders)
    assert fast / packaged >= 1.8


@pytest.mark.parametrize("question", [QUESTION_12, QUESTION_32], ids=["12", "32"])
@pytest.mark.benchmark(group="embed", timer=time.process_time)
def test_embed_query(benchmark, embedders, question):
    fast, packaged = embedders
    vector = benchmark(fast.embed_query, question)
    agreement = float(vector @ packaged.embed_query(question))
    benchmark.extra_info["correct"] = agreement >= 0.99
    assert agreement >= 0.99


@pytest.mark.benchmark(group="embed")
def test_a_repeated_query(benchmark, embedders):
    cached = OnnxEmbedder()
    cached._loaded = embedders[0]._loaded
    expected = cached.embed_query(QUESTION_12)
    assert benchmark(cached.embed_query, QUESTION_12) is expected


def main():
    started = time.process_time()
    prepare_model()
    print(f"prepare_model                 {time.process_time() - started:8.2f} s of CPU")
    fast, packaged = OnnxEmbedder(cache_size=0), PackagedEmbedder()
    for text in (QUESTION_12, QUESTION_32):
        tokens = len(packaged.tokenizer.ids(text))
        p50, slow, ratio = paired(fast, packaged, text, 100)
        print(
            f"query, {tokens} tokens              {p50:8.2f} ms  packaged {slow:.2f}  {ratio:.2f} x"
        )
    quick, slow = ingest(fast, packaged)
    tokens = np.mean([len(packaged.tokenizer.ids(text)) for text in FACTS])
    print(
        f"ingest, {tokens:.0f} tokens a fact     {quick:8.0f} facts/CPU-s  packaged {slow:.0f}  "
        f"{quick / slow:.2f} x  {quick * tokens:.0f} tokens/CPU-s"
    )
    cached = OnnxEmbedder()
    cached.embed_query(QUESTION_12)
    repeated = cpu_ms(lambda: [cached.embed_query(QUESTION_12) for _ in range(10_000)]) / 10
    print(f"a repeated query              {repeated:8.2f} us")
    print(f"first vector, fresh process   {first_embedding_ms():8.0f} ms of CPU")
    print(f"two threads                   {two_threads(fast):8.2f} x one (wall clock)")


if __name__ == "__main__":
    main()
