"""AgentMemStore beyond LangGraph's own tests: durability, hostile input, decided semantics."""

import math
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("langgraph.store.base", reason="needs agentmem-tiers[langgraph]")

from langgraph.store.base import GetOp, InvalidNamespaceError, PutOp, SearchOp
from tests.integrations.langgraph_parts import INDEX, Hashed, keys

from agentmem import InvalidInputError
from agentmem.integrations.langgraph import AgentMemStore
from agentmem.integrations.langgraph.namespaces import to_namespace, to_scope


def test_what_was_put_is_there_after_a_reopen(tmp_path):
    value = {"text": "Alice prefers tabs.", "n": [1, 2.5, None, True, {"ă": "ế"}], "e": {}}
    with AgentMemStore(tmp_path / "s", index=INDEX) as store:
        store.put(("users", "alice"), "editor", value)
        before = store.get(("users", "alice"), "editor")
    with AgentMemStore(tmp_path / "s", index=INDEX) as store:
        assert store.get(("users", "alice"), "editor") == before
        assert before.value == value
        assert keys(store.search(("users",), query="tabs")) == ["editor"]
        assert store.memory.verify().ok


def test_words_and_vectors_both_find(tmp_path):
    class Blind(Hashed):
        """Knows nothing of names: each text has nearly the direction of every other."""

        def embed_documents(self, texts):
            return [[1.0, 0.01 * (len(text) % 7), 0, 0] for text in texts]

        def embed_query(self, text):
            return self.embed_documents([text])[0]

    with AgentMemStore(tmp_path / "s", index={**INDEX, "dims": 4, "embed": Blind()}) as store:
        names = ["".join("bcdfghjklm"[int(d)] for d in f"{n:04}") for n in range(200)]
        store.batch([PutOp(("parts",), f"p{n}", {"text": name}) for n, name in enumerate(names)])
        found = store.search(("parts",), query=names[137], limit=3)
        # The vector alone has it at place 137.
        assert "p137" in keys(found)[:2]
        scores = [item.score for item in found]
        assert scores == sorted(scores, reverse=True)


def test_a_put_replaces_and_keeps_the_first_time(store, clock):
    store.put(("a",), "k", {"text": "old words"})
    clock.advance(minutes=1)
    store.put(("a",), "k", {"text": "new words"})
    item = store.get(("a",), "k")
    assert item.created_at == datetime(2026, 1, 1, tzinfo=UTC)
    assert (item.updated_at - item.created_at).total_seconds() == 60
    assert [fact.text for fact in store.memory.facts()] == ["new words"]
    # Neither an old version nor its L0 turn stays; the trace of the new one ends in L0.
    assert store.memory.sql("SELECT count(*) FROM facts")[0][0] == 1
    assert store.memory.sql("SELECT text FROM turns") == [("new words",)]
    (fact,) = store.memory.facts()
    assert store.memory.trace(fact.id).evidence[0].text == "new words"
    assert store.search((), query="old")[0].value == {"text": "new words"}


def test_a_batch_reads_before_it_writes_and_the_last_put_counts(store):
    store.put(("a",), "k", {"text": "first"})
    results = store.batch(
        [
            PutOp(("a",), "k", {"text": "second"}),
            GetOp(("a",), "k"),
            SearchOp(("a",), query="first second third"),
            PutOp(("a",), "k", None),
            PutOp(("a",), "k", {"text": "third"}),
            GetOp(("a",), "absent"),
        ]
    )
    assert results[0] is results[3] is results[4] is results[5] is None
    assert results[1].value == {"text": "first"}
    assert keys(results[2]) == ["k"]
    assert store.get(("a",), "k").value == {"text": "third"}
    store.batch([PutOp(("a",), "k", {"text": "fourth"}), PutOp(("a",), "k", None)])
    assert store.get(("a",), "k") is None


def test_a_batch_is_whole_or_not_at_all(store):
    with pytest.raises(InvalidInputError):
        store.batch([PutOp(("a",), "k1", {"text": "x"}), PutOp(("a",), "k2", {"bad": {1, 2}})])
    with pytest.raises(InvalidNamespaceError):
        store.batch([PutOp(("a",), "k1", {"text": "x"}), PutOp(("a.b",), "k2", {"text": "y"})])
    assert store.search(()) == []


@pytest.mark.parametrize(
    "label",
    ["a/b", "%", "a%2Fb", "_", "*", "ab", "a", "A", "\n", "\x7f", "đường", "du\u031bo\u031b\u0300ng", "🎈",
     "\u202eabc", "\ud800", "x" * 200],
)  # fmt: skip
def test_labels_are_never_mixed_up(store, label):
    others = [("a",), ("a", "b"), ("ab",), ("a", "b", "c"), ("%25",), ("a%2Fb", "c"), ("__",)]
    for namespace in {(label,), (label, "child"), *others}:
        store.put(namespace, "k", {"text": "the same words", "at": list(map(ascii, namespace))})
    found = store.search((label,), query="the same words", limit=100)
    listing = store.search((label,), limit=100)
    expected = {(label,), (label, "child")} | {other for other in others if other[0] == label}
    assert {item.namespace for item in found} == expected
    assert {item.namespace for item in listing} == expected
    assert set(store.list_namespaces(prefix=(label,))) == (
        expected if label != "*" else {(label,), (label, "child"), *others}
    )
    assert store.get((label,), "k").value["at"] == [ascii(label)]


LABELS = st.text(min_size=1, max_size=12).filter(lambda s: "." not in s and "\0" not in s)


@given(st.lists(LABELS, min_size=1, max_size=5))
def test_a_namespace_comes_back_from_its_scope(namespace):
    assert to_namespace(to_scope(tuple(namespace))) == tuple(namespace)


@pytest.mark.parametrize("namespace", [("a.b",), ("",), ("a", ""), (1,), ("a\0",), (None,)])
def test_labels_that_langgraph_refuses_are_refused(store, namespace):
    for call in (
        lambda: store.put(namespace, "k", {}),
        lambda: store.batch([GetOp(namespace, "k")]),
        lambda: store.search(namespace),
    ):
        with pytest.raises(InvalidNamespaceError):
            call()
    with pytest.raises(InvalidNamespaceError, match="1024"):
        store.put(("x" * 2000,), "k", {})


@pytest.mark.parametrize(
    "value",
    [{"a": {1}}, {"a": object()}, {1: "a"}, {"a": {2: "b"}}, {"a": float("nan")}, {"a": math.inf},
     {"a": [None, -math.inf]}, {"a": datetime(2026, 1, 1, tzinfo=UTC)}, {"a": b"bytes"}, ["a"],
     "text", {"a": 10**400}, {"text": "x" * 2_000_000}],
)  # fmt: skip
def test_values_that_are_no_json_are_refused_and_change_nothing(store, value):
    store.put(("a",), "k", {"text": "kept"})
    for index in (None, False, ["$"]):
        with pytest.raises(ValueError, match="value"):
            store.put(("a",), "k", value, index=index)
    assert store.get(("a",), "k").value == {"text": "kept"}


def test_deep_values_are_refused_without_a_crash(store):
    deep = {}
    for _ in range(100_000):
        deep = {"a": deep}
    with pytest.raises(ValueError, match="value"):
        store.put(("a",), "k", deep)
    assert store.get(("a",), "k") is None


@pytest.mark.parametrize(
    "value",
    [{}, {"text": ""}, {"text": " \n"}, {"text": None}, {"text": "\0 nul"}, {"": {"": [""]}},
     {"text": "a\ud800b"}, {"text": "今天 天气"}, {"text": "e\u0302\u0301"}, {"n": 2**70},
     {"text": "🎈" * 3000}, {"text": ["a", {"b": 1}]}, {"text": 5}],
)  # fmt: skip
def test_odd_values_are_ordinary(store, value):
    store.put(("a",), "k", value)
    expected = value if value != {"text": "a\ud800b"} else {"text": "a\ufffdb"}
    assert store.get(("a",), "k").value == expected
    assert [item.value for item in store.search(("a",), query="anything 今天")] == [expected]
    assert store.memory.verify().ok


DOCUMENTS = {
    "one": {"n": 1, "s": "b", "flag": True, "tags": ["x", "y"], "user": {"age": 30, "id": "u1"}},
    "two": {"n": 2.5, "s": "a", "flag": False, "tags": ["x"], "user": {"age": 40}},
    "three": {"n": "3", "s": None, "flag": 1, "tags": "x", "user.age": 50},
    "four": {},
}
FILTERS = [
    ({"n": 1}, {"one"}),
    ({"n": 1.0}, {"one"}),
    ({"flag": True}, {"one"}),
    ({"flag": 1}, {"three"}),
    ({"s": None}, {"three", "four"}),
    ({"s": {"$ne": None}}, {"one", "two"}),
    ({"s": {"$ne": "a"}}, {"one", "three", "four"}),
    ({"n": {"$gt": 1}}, {"two"}),
    ({"n": {"$gte": 1, "$lt": 2}}, {"one"}),
    ({"n": {"$lt": math.inf}}, {"one", "two"}),
    ({"n": {"$gt": -math.inf, "$ne": 1}}, {"two"}),
    ({"n": {"$eq": math.nan}}, set()),
    ({"n": {"$lt": 10**400}}, {"one", "two"}),
    ({"s": {"$gt": "a"}}, {"one"}),
    ({"s": {"$lte": "b"}}, {"one", "two"}),
    ({"tags": ["x"]}, {"two"}),
    ({"tags": "x"}, {"three"}),
    ({"tags": {"$eq": ["x", "y"]}}, {"one"}),
    ({"user": {"age": 30}}, {"one"}),
    ({"user": {"age": {"$gt": 30}}}, {"two"}),
    ({"user": {"$eq": {"age": 40}}}, {"two"}),
    ({"user.age": 40}, {"two"}),
    ({"user.age": {"$gte": 40}}, {"two", "three"}),
    ({"absent": {"$ne": 1}}, {"one", "two", "three", "four"}),
    ({"$kind": "document"}, set()),
    ({"n": {"$gt": 0}, "s": "a"}, {"two"}),
    ({}, {"one", "two", "three", "four"}),
    ({"s": "b\0"}, set()),
    ({"s": "\ud800"}, set()),
]


@pytest.mark.parametrize(("wanted", "expected"), FILTERS)
def test_filters_hold_in_listings_and_in_searches(store, wanted, expected):
    for key, value in DOCUMENTS.items():
        store.put(("f",), key, {**value, "text": "the same words"})
    assert set(keys(store.search(("f",), filter=wanted))) == expected
    assert set(keys(store.search(("f",), query="same words", filter=wanted))) == expected


@pytest.mark.parametrize(
    "wanted",
    [{"n": {"$in": [1]}}, {"n": {"$regex": "a"}}, {"n": {"$gt": [1]}}, {"n": {"$gt": None}},
     {"n": {"$lt": True}}, {"a": {"b": {"$x": 1}}}, {"a' OR 1": 2}, {"": 1}, {1: 2}, ["n"],
     {"n": {"$gt": 1, "x": 2}}],
)  # fmt: skip
def test_filters_that_say_nothing_are_refused(store, wanted):
    with pytest.raises(ValueError, match=r"filter"):
        store.search(("f",), filter=wanted)
    with pytest.raises(ValueError, match=r"filter"):
        store.search(("f",), query="x", filter=wanted)


def test_a_narrow_filter_and_an_offset_still_fill_the_page(store):
    store.batch(
        [PutOp(("f",), f"k{n}", {"text": f"word {n}", "n": n, "t": [n % 2]}) for n in range(400)]
    )
    # A list has no scalar to be pushed down: what is ranked is tested until enough fit.
    found = store.search(("f",), query="word", filter={"t": [1]}, limit=60, offset=100)
    assert len(found) == 60
    assert all(item.value["n"] % 2 for item in found)
    first = store.search(("f",), query="word", filter={"t": [1]}, limit=100)
    assert not set(keys(found)) & set(keys(first))
    assert len(store.search(("f",), query="word", limit=1000)) == 400
    assert store.search(("f",), limit=0) == store.search(("f",), query="word", limit=0) == []
    for wrong in ({"limit": -1}, {"offset": -1}, {"limit": "3"}):
        with pytest.raises(ValueError, match="whole number"):
            store.search(("f",), **wrong)


def test_unsearched_items_come_last_and_without_a_score(store):
    store.put(("a",), "plain", {"text": "alpha beta"}, index=False)
    store.put(("a",), "found", {"text": "alpha beta"})
    store.put(("a",), "other", {"note": "alpha beta"}, index=["note"])
    items = store.search(("a",), query="alpha beta")
    assert keys(items)[2] == "plain"
    assert items[2].score is None
    assert set(keys(items)[:2]) == {"found", "other"}
    assert keys(store.search(("a",), query="alpha beta", limit=2, offset=2)) == ["plain"]
    assert keys(store.search(("a",), query="alpha beta", limit=2)) == keys(items)[:2]
    assert store.memory.recall("alpha beta", kinds=["value"]) == []


def test_listings_are_newest_first(store, clock):
    for n in range(5):
        clock.advance(seconds=1)
        store.put(("a", str(n % 2)), f"k{n}", {"text": f"{n}"})
    store.put(("a", "1"), "k1", {"text": "again"})
    assert keys(store.search(("a",))) == ["k1", "k4", "k3", "k2", "k0"]
    assert keys(store.search(("a",), limit=2, offset=1)) == ["k4", "k3"]


def test_each_of_several_fields_has_its_vector_and_many_share_eight(tmp_path):
    embed = Hashed()
    index = {"dims": 64, "embed": embed, "fields": ["title", "parts[*].text"]}
    with AgentMemStore(tmp_path / "s", index=index) as store:
        store.put(("d",), "few", {"title": "north", "parts": [{"text": "east"}, {"text": "west"}]})
        assert embed.asked == ["north", "east", "west"]
        assert store.search(("d",), query="west")[0].score == pytest.approx(1, abs=1e-5)
        many = {"title": "t", "parts": [{"text": f"needle{n} hay"} for n in range(40)]}
        store.put(("d",), "many", many)
        assert store.memory.sql("SELECT count(*) FROM embeddings")[0][0] == 3 + 7
        assert keys(store.search(("d",), query="needle39", limit=1)) == ["many"]


def test_without_an_index_a_query_is_ignored(tmp_path):
    with AgentMemStore(tmp_path / "s") as store:
        store.put(("a",), "k", {"text": "x"})
        assert keys(store.search(("a",), query="nothing like it")) == ["k"]
        assert store.memory.sql("SELECT count(*) FROM embeddings") == [(0,)]


def test_the_packaged_model_needs_no_configuration(tmp_path):
    with AgentMemStore(tmp_path / "s", index={"fields": ["text"]}) as store:
        store.put(("u",), "a", {"text": "The cat sleeps on the sofa."})
        store.put(("u",), "b", {"text": "Interest rates rose again."})
        assert store.search(("u",), query="a pet is resting", limit=1)[0].key == "a"


@pytest.mark.parametrize("path", ["a", "a.b", "*", "[0]", "{a,b}", "c", "d[*]", "$", "x y"])
def test_the_texts_of_a_path_are_those_that_langgraph_finds(path):
    from langgraph.store.base.embed import get_text_at_path, tokenize_path

    from agentmem.integrations.langgraph.plan import _texts_at

    value = {"a": "one", "c": {"b": "two"}, "d": ["x", "y"], "*": "star", "[0]": "first",
             "{a,b}": "both", "x y": "spaced", "n": 3}  # fmt: skip
    tokens = path if path == "$" else tokenize_path(path)
    for one in (value, {}, {"a": None}, {"a": 5}, {"a": ["x"]}, {"a": {"b": "deep"}}):
        assert _texts_at(one, tokens) == get_text_at_path(one, tokens)
