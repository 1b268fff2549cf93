"""OnnxEmbedder over the packaged model: every test here runs the real one."""

import json
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from agentmem.embedding import MultilingualEmbedder, OnnxEmbedder, resolve_embedder
from agentmem.embedding.session import ModelSession
from agentmem.embedding.tokenizer import packaged_tokenizer
from agentmem.embedding.weights import packaged_model
from agentmem.errors import InvalidInputError
from agentmem.protocols import Embedder, GivenEmbeddings

GOLDEN = json.loads((Path(__file__).parent / "test_embedding_tokens.json").read_text("utf-8"))
PYTHON = str(Path(__file__).parents[2] / "python")


@pytest.fixture(scope="module")
def embedder(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AGENTMEM_CACHE", str(tmp_path_factory.getbasetemp() / "models"))
        made = OnnxEmbedder()
        made.load()
        yield made


def assert_unit(rows):
    assert rows.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rows, axis=-1), 1.0, atol=1e-6)


def fresh_process(code, **environ):
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": PYTHON, **environ},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_rows_are_unit_float32_of_the_promised_shape(embedder):
    rows = embedder.embed(["Deploys go to Fly.io.", "ok"])
    assert rows.shape == (2, embedder.ndim) == (2, 384)
    assert_unit(rows)
    assert embedder.embed([]).shape == (0, 384)
    assert embedder.embed_chunks([]) == []
    assert isinstance(embedder, Embedder)


def test_meaning_decides(embedder):
    facts = [
        "We ship the service to Fly.io every Tuesday.",
        "Maria is allergic to peanuts.",
        "The cat sleeps on the radiator.",
    ]
    rows = embedder.embed(facts)
    asked = {
        "where do we deploy?": 0,
        "what must Maria not eat?": 1,
        "where is the pet?": 2,
    }
    for question, place in asked.items():
        assert int(np.argmax(rows @ embedder.embed_query(question))) == place


def test_agrees_with_the_packaged_graph_on_texts_it_was_not_tuned_on(embedder):
    packaged = ModelSession(packaged_model(), pooling="mean", name="packaged")
    tokenizer = packaged_tokenizer()
    texts = [
        " ".join(line.split())
        for part in (subprocess, json, threading, multiprocessing, os)
        for line in (part.__doc__ or "").split("\n\n")
        if line.strip()
    ]
    texts += [str(getattr(os, name).__doc__).split("\n")[0] for name in ("walk", "fork", "rename")]
    assert len(texts) > 10
    for text in texts:
        ids = tokenizer.wrap(tokenizer.ids(text)[:200])
        if len(tokenizer.ids(text)) <= 200:
            assert float(packaged.vector(ids) @ embedder.embed([text])[0]) >= 0.99, text


def test_a_vector_does_not_depend_on_its_batch(embedder):
    texts = [f"fact {n}: " + "the build is green and " * (n % 17) for n in range(50)]
    together = embedder.embed(texts)
    alone = np.stack([embedder.embed([text])[0] for text in texts])
    assert together.tobytes() == alone.tobytes()
    queries = np.stack([embedder.embed_query(text) for text in texts[:16]])
    assert queries.tobytes() == together[:16].tobytes()


def test_tokens_are_those_of_the_original_tokenizer():
    tokenizer = packaged_tokenizer()
    assert len(GOLDEN) > 50
    for text, ids in GOLDEN.items():
        assert tokenizer.wrap(tokenizer.ids(text)) == ids, text


@pytest.mark.parametrize(
    "text",
    ["", "   ", "\t\n\r", "\0", "\u200b\u200d", "🎉", "🎉🚀", "[SEP]", "\ud800", "用户喜欢咖啡"],
)
def test_a_text_without_a_known_token_has_no_vector(embedder, text):
    assert [rows.shape for rows in embedder.embed_chunks([text, "ok"])] == [(0, 384), (1, 384)]
    assert embedder.embed_query(text) is None
    assert embedder.embed_query(text) is None  # from the cache as well
    with pytest.raises(InvalidInputError, match=r"texts\[1\]"):
        embedder.embed(["ok", text])


@pytest.mark.parametrize(
    "text",
    [
        "a\0b",
        "half \ud83d of a pair",
        "joined \ud83d\ude00 pair",
        "شكرا جزيلا",
        "Người dùng thích cà phê",
        "中文很难",
        "((((((" * 2000,
        "ns:x OR y",
        "x" * 5000 + " word",
    ],
)
def test_odd_text_has_a_unit_vector(embedder, text):
    assert_unit(embedder.embed([text]))
    assert_unit(embedder.embed_query("ok " + text))


def test_vietnamese_in_both_normal_forms_is_one_vector(embedder):
    rows = embedder.embed(["Đà Nẵng đẹp", "Đa\u0300 Na\u0306\u0303ng đe\u0323p"])
    assert rows[0].tobytes() == rows[1].tobytes()


def test_a_long_text_has_several_vectors_and_each_part_is_found(embedder):
    filler = "The weather was mild and nothing of note happened on that day. "
    facts = ["The vault code is 4711.", "Anna breeds alpacas in Peru.", "Port 8443 serves metrics."]
    text = facts[0] + filler * 30 + facts[1] + filler * 30 + facts[2]
    (rows,) = embedder.embed_chunks([text])
    assert 3 <= len(rows) <= 8
    assert_unit(rows)
    nearest = [
        int(np.argmax(rows @ embedder.embed_query(question)))
        for question in ("vault code", "who breeds alpacas?", "metrics port")
    ]
    assert nearest[0] == 0
    assert 0 < nearest[1] < len(rows) - 1
    assert nearest[2] == len(rows) - 1
    mean = rows.mean(axis=0)
    np.testing.assert_allclose(
        embedder.embed([text])[0], mean / np.linalg.norm(mean), rtol=0, atol=1e-6
    )


def test_a_text_has_eight_vectors_at_most_and_more_text_changes_none(embedder):
    words = " ".join(f"word{n} means thing{n}" for n in range(1000))
    (rows,) = embedder.embed_chunks([words])
    (more,) = embedder.embed_chunks([words + " and a tail that nobody reads" * 50])
    assert len(rows) == 8
    assert rows.tobytes() == more.tobytes()


def test_white_space_does_not_use_up_a_text(embedder):
    (rows,) = embedder.embed_chunks([" " * 100_000 + "Anna breeds alpacas."])
    assert rows.tobytes() == embedder.embed(["Anna breeds alpacas."]).tobytes()


@pytest.mark.parametrize("unit", ["x", " ", "ab ", "用", "🎉", "\ud800"])
def test_ten_megabytes_take_bounded_time(embedder, unit):
    text = unit * (10_000_000 // len(unit))
    started = time.process_time()
    embedder.embed_chunks([text])
    embedder.embed_query(text)
    assert time.process_time() - started < 3.0


def test_a_query_is_cut_at_its_documented_length(embedder):
    head = ("deploy the billing service " * 200)[:4000]
    assert embedder.embed_query(head) is embedder.embed_query(head + " tail" * 1000)
    long = embedder.embed_query(" ".join(str(n) for n in range(2000)))
    assert_unit(long)


def test_a_repeated_query_is_the_same_read_only_array(embedder):
    first = embedder.embed_query("where do we deploy the service?")
    assert embedder.embed_query("where do we deploy the service?") is first
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 1.0
    query = "where do we deploy the service?"
    started = time.process_time()
    for _ in range(10_000):
        embedder.embed_query(query)
    assert (time.process_time() - started) / 10_000 < 10e-6


def test_two_threads_give_the_vectors_of_one(embedder):
    texts = [f"note {n} about topic {n * 7}" for n in range(40)]
    expected = embedder.embed(texts)
    got = [None] * 4
    errors = []

    def work(place):
        try:
            got[place] = embedder.embed(texts)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert all(rows.tobytes() == expected.tobytes() for rows in got)


def test_the_interpreter_runs_on_while_a_text_is_embedded(embedder, monkeypatch):
    session = embedder._load().session._session
    steps = 0
    during_each_run = []

    class Watched:
        def run(self, *arguments):
            before = steps
            output = session.run(*arguments)
            during_each_run.append(steps - before)
            return output

    monkeypatch.setattr(embedder._load().session, "_session", Watched())
    text = "the quick brown fox jumps over the lazy dog " * 20
    thread = threading.Thread(target=embedder.embed, args=([text] * 40,))
    thread.start()
    while thread.is_alive():
        steps += 1
    thread.join()
    # Were the interpreter's lock held, this thread would stand still through nearly all of them.
    assert np.median(during_each_run) > 10


def test_the_id_names_the_space_and_not_the_session(embedder):
    assert embedder.id == "all-minilm-l6-v2-8199be6f699a-r1-wordpiece1-mean-256"
    assert OnnxEmbedder().id == embedder.id
    others = {
        OnnxEmbedder(max_tokens=128).id,
        OnnxEmbedder(query_prefix="query: ").id,
        OnnxEmbedder(text_prefix="query: ").id,
    }
    assert len(others | {embedder.id}) == 4


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"max_tokens": 513}, "max_tokens"),
        ({"max_tokens": 2}, "max_tokens"),
        ({"pooling": "cls"}, "pooling"),
        ({"pooling": "max"}, "pooling"),
        ({"cache_size": -1}, "cache_size"),
    ],
)
def test_an_option_out_of_range_is_refused(options, named):
    with pytest.raises(InvalidInputError, match=named):
        OnnxEmbedder(**options)


def test_a_prefix_that_leaves_no_room_is_refused():
    tight = OnnxEmbedder(max_tokens=16, text_prefix="a b c d e f g h i j k l m n o p q")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("agentmem.embedding.prepared.load_fast_graph", packaged_model)
        with pytest.raises(InvalidInputError, match="no room"):
            tight.embed(["hello"])


@pytest.mark.parametrize("texts", ["bare", b"bytes", [1], ["ok", None], [b"ok"]])
def test_what_is_not_a_list_of_texts_is_refused(embedder, texts):
    with pytest.raises(InvalidInputError, match="str"):
        embedder.embed(texts)
    with pytest.raises(InvalidInputError, match="str"):
        embedder.embed_chunks(texts)
    with pytest.raises(InvalidInputError, match="str"):
        embedder.embed_query(None)


def test_importing_and_making_one_loads_nothing_heavy():
    code = (
        "import sys, agentmem.embedding as e; from agentmem.embedding import OnnxEmbedder; "
        "e.resolve_embedder(None).id; "
        "print(sorted({'numpy','onnx','onnxruntime','tokenizers','apsw'} & set(sys.modules)))"
    )
    assert fresh_process(code).strip() == "[]"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_embeds_the_same(tmp_path_factory):
    code = (
        "import os, sys\n"
        "from agentmem.embedding import OnnxEmbedder\n"
        "e = OnnxEmbedder(cache_size=0)\n"
        "text = 'where do we deploy?'\n"
        "before = e.embed_query(text).tobytes()\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    os._exit(0 if e.embed_query(text).tobytes() == before else 3)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    cache = str(tmp_path_factory.getbasetemp() / "models")
    assert fresh_process(code, AGENTMEM_CACHE=cache).strip() == "0"


def test_resolve(embedder, tmp_path):
    assert resolve_embedder(None) is resolve_embedder(None)
    assert resolve_embedder(None).id == embedder.id
    assert resolve_embedder(embedder) is embedder
    given = GivenEmbeddings(id="mine", ndim=7)
    assert resolve_embedder(given) is given
    assert isinstance(resolve_embedder("multilingual"), MultilingualEmbedder)
    with pytest.raises(FileNotFoundError, match=r"model\.onnx"):
        resolve_embedder(tmp_path)
    with pytest.raises(InvalidInputError, match="int"):
        resolve_embedder(3)
    with pytest.raises(InvalidInputError, match="type"):
        resolve_embedder(OnnxEmbedder)


def test_resolve_reads_no_property_of_an_embedder():
    class Lazy:
        id = "lazy"

        @property
        def ndim(self):
            raise AssertionError("the model was loaded")

        def embed(self, texts):
            raise NotImplementedError

    lazy = Lazy()
    assert resolve_embedder(lazy) is lazy
