"""A learnt change of an encoder: added exactly, derived once, cached like the embedder itself."""

import os
from dataclasses import fields, replace

import numpy as np
import pytest

from agentmem.embedding import adapted
from agentmem.embedding.adapted import TokenScorer, load_adapted, prepare_adapted
from agentmem.embedding.change import MATRICES, Change
from agentmem.embedding.graph import float_graph
from agentmem.embedding.per_process import PerProcess
from agentmem.embedding.session import ModelSession
from agentmem.embedding.tokenizer import packaged_tokenizer
from agentmem.embedding.weights import packaged_model, read_weights
from agentmem.errors import EmbeddingError

TEXT = "The rent went up to 950 euros, so we are moving to Ghent in May."
SCORES = 3


@pytest.fixture(scope="module")
def weights():
    return read_weights(packaged_model())


@pytest.fixture(scope="module")
def ids():
    tokenizer = packaged_tokenizer()
    return tokenizer.wrap(tokenizer.ids(TEXT))


def change(weights, *, size, rank=2, scores=SCORES, head=None):
    random = np.random.default_rng(7)
    arrays = {}

    def drawn(name, *shape):
        arrays[name] = (size * random.normal(size=shape)).astype(np.float16)

    for number, layer in enumerate(weights.layers):
        for one in fields(layer):
            value, name = getattr(layer, one.name), f"{number}.{one.name}"
            if one.name in MATRICES:
                drawn(f"{name}.in", value.shape[0], rank)
                drawn(f"{name}.out", rank, value.shape[1])
            else:
                drawn(name, *np.shape(value))
    arrays["head"] = (random.normal(size=(384, scores)) if head is None else head).astype("f2")
    arrays["head_bias"] = np.zeros(arrays["head"].shape[1], np.float16)
    return Change("task", "0" * 64, arrays)


def test_a_change_of_nothing_leaves_the_encoder_as_it_is(weights, ids):
    same = change(weights, size=0, head=np.eye(384))
    scores = TokenScorer(float_graph(weights, same)).scores(ids)
    assert scores.shape == (len(ids), 384)
    mean = scores.mean(0)
    plain = ModelSession(packaged_model(), pooling="mean", name="packaged").vector(ids)
    assert float(mean @ plain) / np.linalg.norm(mean) > 0.999


def test_the_change_is_the_product_of_the_narrow_pair(weights):
    drawn = change(weights, size=0.1)
    (first, *_), plain = drawn.added_to(weights.layers), weights.layers[0]
    pair = drawn.arrays["0.up.in"].astype("f4"), drawn.arrays["0.up.out"].astype("f4")
    np.testing.assert_allclose(first.up, plain.up + pair[0] @ pair[1], atol=1e-6)
    np.testing.assert_allclose(first.up_bias, plain.up_bias + drawn.arrays["0.up_bias"], atol=1e-6)
    norm = drawn.arrays["0.down_norm"]
    np.testing.assert_allclose(first.down_norm[1], plain.down_norm[1] + norm[1], atol=1e-6)


def test_the_fast_graph_gives_the_scores_of_the_float_graph(weights, ids, tmp_path, monkeypatch):
    monkeypatch.setenv("AGENTMEM_CACHE", str(tmp_path))
    drawn = change(weights, size=0.01)
    scorer = load_adapted(drawn)
    exact = TokenScorer(float_graph(weights, drawn)).scores(ids)
    given = scorer.scores(ids)
    assert given.shape == (len(ids), SCORES)
    assert np.corrcoef(exact.ravel(), given.ravel())[0, 1] > 0.98


def test_it_is_derived_once_for_each_change(weights, tmp_path, monkeypatch):
    monkeypatch.setenv("AGENTMEM_CACHE", str(tmp_path))
    drawn, calls = change(weights, size=0.01), []
    derive = adapted._derive
    monkeypatch.setattr(adapted, "_derive", lambda *given: calls.append(1) or derive(*given))
    path = prepare_adapted(drawn)
    assert path.parent == tmp_path
    load_adapted(drawn)
    assert prepare_adapted(drawn) == path
    assert calls == [1]
    other = replace(drawn, digest="1" * 64)
    assert prepare_adapted(other) != path
    assert calls == [1, 1]
    path.write_bytes(path.read_bytes()[:-1])
    assert prepare_adapted(drawn) == path
    assert calls == [1, 1, 1]


def test_where_the_cache_cant_be_written_a_process_derives_its_own(
    weights, tmp_path, monkeypatch, ids
):
    monkeypatch.setenv("AGENTMEM_CACHE", str(tmp_path / "file" / "cache"))
    (tmp_path / "file").write_text("no folder")
    drawn = change(weights, size=0.01)
    with pytest.warns(RuntimeWarning, match="AGENTMEM_CACHE"):
        scorer = load_adapted(drawn)
    assert scorer.scores(ids).shape == (len(ids), SCORES)
    with pytest.raises(OSError, match="file"):
        prepare_adapted(drawn)


def test_a_graph_that_computes_wrongly_is_not_published(weights, tmp_path, monkeypatch):
    monkeypatch.setenv("AGENTMEM_CACHE", str(tmp_path))
    monkeypatch.setattr(adapted, "FLOOR", 1.1)
    with pytest.raises(EmbeddingError, match=r"correlation of 0\.9"):
        prepare_adapted(change(weights, size=0.01))
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_fails_is_an_embedding_error(weights):
    scorer = TokenScorer(float_graph(weights, change(weights, size=0)))
    with pytest.raises(EmbeddingError, match="600 tokens"):
        scorer.scores([1] * 600)


def test_each_process_loads_its_own_and_a_failure_is_tried_again():
    made = []

    def make():
        if not made:
            made.append("failed")
            raise EmbeddingError("once")
        made.append(os.getpid())
        return object()

    held = PerProcess(make)
    with pytest.raises(EmbeddingError):
        held.get()
    value = held.get()
    assert held.get() is value
    assert made == ["failed", os.getpid()]
    child = os.fork()
    if not child:
        os._exit(0 if held.get() is not value and made[-1] == os.getpid() else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert held.get() is value
