"""Documents by scope and key: written, replaced, found, scanned, with their lives."""

import asyncio

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem import (
    AsyncMemory,
    ClosedError,
    DimensionError,
    Document,
    DocumentWrite,
    EmbeddingError,
    InvalidInputError,
    Memory,
)
from agentmem.protocols import GivenEmbeddings
from agentmem.store.conditions import matches
from agentmem.testing import (
    FakeClock,
    HashEmbedder,
    memory,  # noqa: F401
)
from agentmem.tiers.documents import Fields, grouped_texts


def write(key, value, scope="", texts=(), **rest):
    return DocumentWrite(key=key, value=value, scope=scope, texts=texts, **rest)


def names(found):
    return [one.key for one in found]


def test_a_write_is_read_by_key_by_words_and_in_order(memory):  # noqa: F811
    documents = memory.documents
    documents.write([write("a", {"n": 1}, "x", ["green tea"]), write("b", {"n": 2}, "x/y")])
    found, missing = documents.get_many([("x", "a"), ("x", "b")])
    assert (found.scope, found.key, found.value, found.expires) == ("x", "a", {"n": 1}, None)
    assert missing is None
    (hit,) = documents.search("tea")
    assert isinstance(hit, Document)
    assert (hit.id, hit.value) == (found.id, {"n": 1})
    assert 0 < hit.cosine <= 1
    assert names(documents.scan()) == ["b", "a"]
    assert documents.scopes() == ["x", "x/y"]
    assert memory.recall("tea")[0].metadata == {"n": 1}
    assert memory.trace(found.id).evidence[0].text == "green tea"


def test_a_handle_sees_its_own_scope(memory):  # noqa: F811
    inner = memory.scoped("tenant/one").documents
    inner.write([write("k", {"n": 1}, "deep", ["same words"])])
    memory.documents.write([write("k", {"n": 2}, "tenant/oneself", ["same words"])])
    assert inner.scopes() == ["deep"]
    assert [one.scope for one in inner.search("same words")] == ["deep"]
    assert memory.documents.scopes("tenant") == ["tenant/one/deep", "tenant/oneself"]
    assert memory.documents.get_many([("tenant/one/deep", "k")])[0].value == {"n": 1}


def test_they_can_be_awaited(tmp_path):
    async def work():
        clock = FakeClock()
        async with AsyncMemory(tmp_path / "m", embedder=HashEmbedder(), clock=clock) as waiting:
            documents = waiting.scoped("tenant").documents
            await documents.write(
                [write("a", {"n": 1}, texts=["green tea"]), write("b", {"n": 2}, "x", ttl_s=60)]
            )
            assert names(await documents.search("tea")) == ["a"]
            assert names(await documents.scan()) == ["b", "a"]
            assert await documents.scopes() == ["", "x"]
            assert await waiting.documents.scopes() == ["tenant", "tenant/x"]
            assert (await documents.get_many([("", "a")]))[0].value == {"n": 1}
            clock.advance(seconds=50)
            await documents.touch([("x", "b")])
            clock.advance(seconds=50)
            assert await documents.sweep() == 0
            clock.advance(seconds=50)
            assert await documents.sweep() == 1
        with pytest.raises(ClosedError):
            await documents.scan()

    asyncio.run(work())


def test_one_write_is_one_transaction(memory):  # noqa: F811
    documents = memory.documents
    documents.write([write("a", {"n": 1}, "x"), write("b", {"n": 1}, "y")])
    memory.scoped("y").remember("words", key="taken")
    with pytest.raises(InvalidInputError, match="'taken'"):
        documents.write([write("a", None, "x"), write("b", {"n": 2}, "y"), write("taken", {}, "y")])
    assert [one.value for one in documents.scan()] == [{"n": 1}, {"n": 1}]
    documents.write([write("a", None, "x"), write("absent", None, "x"), write("a", {"n": 3}, "x")])
    documents.write([])
    assert documents.get_many([("x", "a")])[0].value == {"n": 3}
    assert memory.verify().ok


def test_what_is_replaced_takes_along_what_rests_on_it_alone(memory):  # noqa: F811
    documents = memory.documents
    documents.write([write("a", {"n": 1}, texts=["The cat is ill."])])
    (old,) = memory.facts()
    lone = memory.remember("Somebody is ill.", sources=[old.id])
    other = memory.remember("The vet is open.")
    both = memory.remember("The cat can see the vet.", sources=[old.id, other.id])
    documents.write([write("a", {"n": 2}, texts=["The cat is well."])])
    left = {fact.id for fact in memory.facts()}
    assert lone.id not in left
    assert {other.id, both.id} <= left
    assert memory.get(both.id).sources == (other.id,)
    assert memory.verify().ok


def test_a_hosts_own_vectors_are_taken_as_they_are(tmp_path):
    with Memory(tmp_path / "m", embedder=GivenEmbeddings("own", 3)) as own:
        documents = own.documents
        documents.write(
            [
                write("two", {}, texts=["x", "y"], embeddings=[[0, 3, 0], [0, 0, 2]]),
                write("zero", {}, texts=["z"], embeddings=np.zeros((1, 3))),
                write("one", {}, texts=["x"], embeddings=np.array([[1.0, 0, 0]])),
            ]
        )
        found = documents.search("", embedding=[0, 0.1, 1])
        assert names(found) == ["two", "one"]
        assert found[0].cosine == pytest.approx(1 / 1.01**0.5)
        # Found by its word alone, in a search that has a vector, and in one whose vector is zero.
        assert set(names(documents.search("z", embedding=[1, 0, 0]))) == {"one", "two", "zero"}
        assert names(documents.search("z", embedding=[0, 0, 0])) == ["zero"]
        with pytest.raises(InvalidInputError, match="own vectors"):
            documents.write([write("k", {}, texts=["x"])])
        with pytest.raises(DimensionError):
            documents.write([write("k", {}, texts=["x"], embeddings=[[1, 2]])])
        for wrong in ([1, 2, 3], [["a", "b", "c"]], [[np.nan, 0, 0]], np.ones((9, 3)), object()):
            with pytest.raises(EmbeddingError):
                documents.write([write("k", {}, texts=["x"], embeddings=wrong)])
        assert names(documents.scan()) == ["one", "zero", "two"]


def test_a_hit_that_only_words_found_has_its_exact_cosine(tmp_path):
    rng = np.random.default_rng(5)
    vectors = rng.normal(size=(300, 16)).astype(np.float32)
    with Memory(tmp_path / "m", embedder=GivenEmbeddings("own", 16)) as own:
        own.documents.write(
            [write(f"k{n}", {}, texts=[f"w{n}"], embeddings=vectors[[n]]) for n in range(300)]
        )
        query = -vectors[7]
        (hit,) = (one for one in own.documents.search("w7", embedding=query) if one.key == "k7")
        assert hit.cosine == pytest.approx(-1, abs=1e-5)


def test_long_texts_and_many_texts_keep_within_eight_vectors(tmp_path):
    with Memory(tmp_path / "m", embedder=HashEmbedder()) as own:
        own.documents.write([write("k", {}, texts=[f"part{n}" for n in range(100)])])
        assert own.sql("SELECT count(*) FROM embeddings")[0][0] == 8
        assert names(own.documents.search("part99")) == ["k"]
    assert grouped_texts(["a"] * 9) == ["a\na"] * 4 + ["a"]


def test_lives_end_and_begin_anew(tmp_path):
    clock = FakeClock()
    with Memory(tmp_path / "m", embedder=HashEmbedder(), clock=clock) as own:
        documents = own.documents
        documents.write(
            [
                write("short", {}, texts=["word"], ttl_s=10),
                write("long", {}, texts=["word"], ttl_s=100),
                write("zero", {}, ttl_s=0),
                write("huge", {}, ttl_s=1e300),
            ]
        )
        clock.advance(seconds=9)
        documents.touch([("", "short"), ("", "long"), ("", "absent"), ("", "zero")])
        clock.advance(seconds=9)
        assert set(names(documents.search("word"))) == {"short", "long"}
        clock.advance(seconds=1)
        assert names(documents.search("word")) == ["long"]
        assert documents.get_many([("", "short")]) == [None]
        assert documents.sweep() == 2
        assert set(names(documents.scan())) == {"long", "huge"}
        assert own.verify().ok
        for wrong in (-1, float("nan"), True, "1"):
            with pytest.raises(InvalidInputError, match="ttl"):
                documents.write([write("k", {}, ttl_s=wrong)])


@pytest.mark.parametrize(
    ("key", "scope", "texts"),
    [("", "", ()), (None, "", ()), ("a\0", "", ()), ("x" * 1025, "", ()), (1, "", ()),
     ("k", "a//b", ()), ("k", 1, ()), ("k", "", "text"), ("k", "", [1])],
)  # fmt: skip
def test_wrong_writes_change_nothing(memory, key, scope, texts):  # noqa: F811
    with pytest.raises(InvalidInputError):
        memory.documents.write([write("fine", {}), write(key, {}, scope, texts)])
    assert memory.documents.scan() == []


def test_secrets_are_replaced_where_the_memory_redacts(memory):  # noqa: F811
    secret = "ghp_" + "a1B2" * 9
    memory.documents.write([write("k", {"token": secret}, texts=[f"token {secret}"])])
    assert secret not in str(memory.documents.scan())
    assert "redacted" in memory.documents.scan()[0].value["token"]
    assert secret not in memory.facts()[0].text


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from([0.5, 2.0, 1e300]),
    st.sampled_from(["", "a", "b", "1", "ế", 'q"', "z\0"]),
)  # fmt: skip
VALUES = st.dictionaries(
    st.sampled_from(["a", "b", "a.b", 'k"', "\\"]),
    st.one_of(SCALARS, st.lists(SCALARS, max_size=2), st.dictionaries(st.just("b"), SCALARS)),
    max_size=3,
)
ORDERED = st.one_of(st.integers(-3, 3), st.sampled_from(["a", "b", 0.5]))
WHERES = st.dictionaries(
    st.sampled_from(["a", "b", "a.b", 'k"', "\\"]),
    st.one_of(
        SCALARS,
        st.builds(lambda name, value: {name: value}, st.sampled_from(["$eq", "$ne"]), SCALARS),
        st.builds(
            lambda name, value: {name: value},
            st.sampled_from(["$gt", "$gte", "$lt", "$lte"]),
            ORDERED,
        ),
    ),
    max_size=2,
)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    with Memory(tmp_path_factory.mktemp("m") / "m", embedder=HashEmbedder(8)) as own:
        yield own.documents


@given(values=st.lists(VALUES, min_size=1, max_size=6), where=WHERES)
def test_a_scan_and_a_search_hold_the_same_conditions(shared, values, where):
    old = [write(one.key, None) for one in shared.scan(limit=1000)]
    new = [write(f"k{n}", value, texts=["word"]) for n, value in enumerate(values)]
    shared.write(old + new)
    expected = {
        f"k{n}"
        for n, value in enumerate(values)
        if not where or matches(where, Fields(value, "document", f"k{n}"))
    }
    assert set(names(shared.scan(where=where))) == expected
    assert set(names(shared.search("word", where=where))) == expected


WRONG_KEYS = [
    None, 5, object(), [None], [(1, 2)], [("a",)], "ab", [[]], [([], "k")], [("a", "\ud800")]
]  # fmt: skip
WRONG_ANY = [None, 5, object(), [None], [(1, 2)], {}, [[]]]


@pytest.mark.parametrize(
    ("call", "wrong", "names"),
    [
        (lambda documents, wrong: documents.get_many(wrong), WRONG_KEYS, "keys"),
        (lambda documents, wrong: documents.touch(wrong), WRONG_KEYS, "keys"),
        (lambda documents, wrong: documents.write(wrong), WRONG_KEYS, "writes"),
        (lambda documents, wrong: documents.scan(wrong), WRONG_ANY, "scope"),
        (lambda documents, wrong: documents.scopes(wrong), WRONG_ANY, "scope"),
        (lambda documents, wrong: documents.scan(accept=wrong), [5, "ab", [None]], "accept"),
        (lambda documents, wrong: documents.search("a", accept=wrong), [5, "ab"], "accept"),
        (lambda documents, wrong: documents.search("a", embedding=wrong), [[([], 1)]], "embedding"),
        (lambda documents, wrong: documents.search("a", fill=wrong), [5, np.ones(2)], "fill"),
        (
            lambda documents, wrong: documents.write([write("k", {}, texts=wrong)]),
            [None, 5],
            "texts",
        ),
    ],
    ids=[
        "get_many",
        "touch",
        "write",
        "scan",
        "scopes",
        "accept",
        "search",
        "embedding",
        "fill",
        "texts",
    ],
)
def test_wrong_arguments_are_named(shared, call, wrong, names):
    for one in wrong:
        with pytest.raises(InvalidInputError, match=names):
            call(shared, one)
