"""What a host's embedder may get wrong is said in typed errors; nothing of it reaches the store."""

import numpy as np
import pytest

import agentmem
from agentmem import GivenEmbeddings, Memory
from agentmem.errors import EmbeddingError, InvalidInputError


class Host:
    """An embedder that answers what a test wants, else good unit vectors."""

    def __init__(self, answer=None, *, id="host", ndim=4, query=None):
        self.id = id
        self.ndim = ndim
        self.answer = answer
        if query is not None:
            self.embed_query = lambda _: query

    def embed(self, texts):
        good = np.zeros((len(texts), 4), np.float32)
        good[:, 0] = 1
        return good if self.answer is None else self.answer(good)


def scaled(factor):
    return lambda good: good * np.float32(factor)


def with_nan(good):
    good[0, 1] = np.nan
    return good


def with_infinity(good):
    good[0, 1] = np.inf
    return good


WRONG = {
    "too narrow": lambda good: good[:, :3],
    "one row too few": lambda good: good[:-1],
    "one row too many": lambda good: np.concatenate([good, good[:1]]),
    "flat": lambda good: good.reshape(-1),
    "deep": lambda good: good[np.newaxis],
    "NaN": with_nan,
    "infinite": with_infinity,
    "zero": scaled(0),
    "not of unit length": scaled(3.7),
    "complex": lambda good: good.astype(np.complex64),
    "whole numbers": lambda good: good.astype(np.int64),
    "texts": lambda good: good.astype(str),
    "objects": lambda good: good.astype(object),
    "ragged": lambda _: [[1.0], [1.0, 2.0, 3.0, 4.0]],
    "None": lambda _: None,
    "a scalar": lambda _: 1.0,
}


@pytest.mark.parametrize("answer", WRONG.values(), ids=WRONG.keys())
def test_a_wrong_answer_is_an_embedding_error_and_writes_nothing(tmp_path, answer):
    with Memory(tmp_path / "m", embedder=Host(answer)) as memory:
        with pytest.raises(EmbeddingError, match="'host'"):
            memory.remember_many(["one", "two"])
        with pytest.raises(EmbeddingError, match="'host'"):
            memory.recall("one")
        assert memory.facts() == []
        assert memory.verify().ok


@pytest.mark.parametrize(
    "query",
    [
        np.ones(3, np.float32), np.ones((1, 4), np.float32), np.full(4, np.nan, np.float32),
        np.zeros(4, np.float32), np.full(4, 2, np.float32), np.array(["a"] * 4), 3,
    ],
    ids=["narrow", "deep", "NaN", "zero", "not unit", "texts", "scalar"],
)  # fmt: skip
def test_a_wrong_query_vector_is_an_embedding_error(tmp_path, query):
    with Memory(tmp_path / "m", embedder=Host(query=query)) as memory:
        memory.remember("one")
        with pytest.raises(EmbeddingError, match="'host'"):
            memory.recall("one")
        with pytest.raises(EmbeddingError, match="'host'"):
            memory.recall_many(["one", "two"])


def test_other_floats_are_converted(tmp_path):
    for kind in (np.float16, np.float64):
        host = Host(lambda good, kind=kind: good.astype(kind), id=f"host-{kind.__name__}")
        with Memory(tmp_path / kind.__name__, embedder=host) as memory:
            memory.remember("one")
            assert memory.recall("one")[0].ann_rank == 1


def test_what_raises_is_an_embedding_error_with_its_cause(tmp_path):
    def fail(_):
        raise RuntimeError("no licence")

    with Memory(tmp_path / "m", embedder=Host(fail)) as memory:
        with pytest.raises(EmbeddingError, match="no licence") as caught:
            memory.remember("one")
        assert isinstance(caught.value.__cause__, RuntimeError)


@pytest.mark.parametrize("make", [GivenEmbeddings, Host])
@pytest.mark.parametrize(
    ("id", "ndim"),
    [
        (None, 4), (7, 4), ("", 4), (" ", 4), (b"x", 4), ("x", "4"), ("x", 0), ("x", -1),
        ("x", 4.0), ("x", None), ("x", True),
    ],
)  # fmt: skip
def test_an_embedder_without_a_right_id_and_ndim_is_refused(tmp_path, make, id, ndim):
    with pytest.raises(InvalidInputError, match="embedder"):
        Memory(tmp_path / "m", embedder=make(id=id, ndim=ndim))
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("languages", ["en", b"en", 42, ["en", None], object(), iter(["en"])])
def test_an_embedder_whose_languages_are_no_codes_is_refused(tmp_path, languages):
    embedder = Host()
    embedder.languages = languages
    with pytest.raises(InvalidInputError, match="languages"):
        Memory(tmp_path / "m", embedder=embedder)
    assert not (tmp_path / "m").exists()


def test_reembed_checks_its_embedder_first(tmp_path):
    with Memory(tmp_path / "m", embedder=Host()) as memory:
        memory.remember("one")
        with pytest.raises(InvalidInputError, match="ndim"):
            memory.reembed(Host(ndim="4"))
        with pytest.raises(InvalidInputError, match="GivenEmbeddings"):
            memory.reembed(GivenEmbeddings(id="mine", ndim=4))
        assert memory.recall("one")[0].ann_rank == 1


def test_mismatches_name_a_way_out_that_exists(tmp_path):
    with Memory(tmp_path / "m", embedder=Host()) as memory:
        memory.remember("one")
    with pytest.raises(agentmem.EmbedderMismatchError, match="never to given ones"):
        Memory(tmp_path / "m", embedder=GivenEmbeddings(id="mine", ndim=4))
    with pytest.raises(agentmem.EmbedderMismatchError, match=r"Memory\.reembed\(embedder\)"):
        Memory(tmp_path / "m", embedder=Host(id="other"))
    # The way that both name: the stored id stands for the model that is gone.
    with Memory(tmp_path / "m", embedder=GivenEmbeddings(id="host", ndim=4)) as memory:
        memory.reembed(Host(id="other"))
    with Memory(tmp_path / "m", embedder=Host(id="other")) as memory:
        assert memory.recall("one")[0].ann_rank == 1
