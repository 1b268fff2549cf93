"""Edges that a tester found: each broke once."""

from __future__ import annotations

import asyncio
import copy
import json
import os
import pickle
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

import agentmem
from agentmem import Memory


class Letters:
    """An embedder whose vectors come from the letters of a text."""

    id, ndim = "letters", 26

    def embed(self, texts):
        rows = np.array(
            [[text.lower().count(chr(97 + n)) + 0.01 for n in range(26)] for text in texts],
            np.float32,
        )
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


class Mirror(Letters):
    """Another space of the same length."""

    id = "mirror"

    def embed(self, texts):
        return -super().embed(texts)


@pytest.fixture
def memory(tmp_path):
    with Memory(tmp_path / "m", embedder=Letters()) as opened:
        yield opened


@pytest.mark.parametrize("number", [10**309, -(10**400)])
def test_a_number_beyond_every_float_is_refused_before_the_write(memory, number):
    for field in ({"metadata": {"n": [number]}}, {"value": number}):
        with pytest.raises(agentmem.InvalidInputError, match="JSON"):
            memory.remember("bad", **field)
    with pytest.raises(agentmem.InvalidInputError):
        memory.recall("bad", where={"n": number})
    assert memory.remember("good", metadata={"n": 2**80}).status == "new"
    assert memory.recall("good")[0].metadata == {"n": 2**80}


def test_redaction_never_changes_the_structure_of_json(memory):
    private = "-----BEGIN " + "PRIVATE KEY-----"
    fact = memory.remember(
        "k",
        metadata={
            "note": f"see {private} header", "owner": "alice",
            "doc": "-----END " + "PRIVATE KEY----- line", "x": 1, "password": 12345678,
            "list": [{"password": "h7Kq93xZt2"}],
        },
        value={"password": 'é\n\t"quoted" s3cretW0rd9'},
    )  # fmt: skip
    assert set(fact.metadata) == {"note", "owner", "doc", "x", "password", "list"}
    assert (fact.metadata["owner"], fact.metadata["x"]) == ("alice", 1)
    assert "h7Kq93xZt2" not in json.dumps(fact.metadata)
    assert memory.recall("k")[0].metadata == fact.metadata
    assert memory.verify().ok


def test_a_handle_with_the_old_embedder_writes_nothing_after_a_move(tmp_path):
    with (
        Memory(tmp_path / "m", embedder=Letters()) as one,
        Memory(tmp_path / "m", embedder=Letters()) as two,
    ):
        one.remember("one")
        one.reembed(Mirror())
        with pytest.raises(agentmem.EmbedderMismatchError, match="mirror"):
            two.remember("two words here")
        one.remember("two words here")
        hit = one.recall("two words here", explain=True)[0]
        assert hit.explanation["ann"]["score"] == pytest.approx(1.0, abs=1e-5)


def test_history_stays_in_its_scope(memory):
    alice, bob = memory.scoped("acme/alice"), memory.scoped("acme/bob")
    one, two = alice.remember("alice secret"), bob.remember("bob secret")
    memory.remember("merged by root", supersedes=[one.id, two.id])
    assert [fact.text for fact in alice.history(one.id)] == ["alice secret"]
    assert len(memory.history(one.id)) == 3


def test_an_expired_fact_can_be_stated_again(memory):
    ended = datetime(2025, 1, 1, tzinfo=UTC)
    memory.remember("The office is in Bonn.", valid_to=ended, valid_from=ended - timedelta(days=9))
    again = memory.remember("The office is in Bonn.")
    assert again.status == "superseded"
    assert [hit.id for hit in memory.recall("office Bonn")] == [again.id]


def test_hits_and_counts_are_plain_data(memory):
    memory.remember("a")
    (hit,) = memory.recall("a")
    assert json.dumps(hit.metadata) == "{}"
    assert pickle.loads(pickle.dumps(hit)) == copy.deepcopy(hit) == hit
    assert pickle.loads(pickle.dumps(memory.stats())) == memory.stats()


@pytest.mark.parametrize(
    "where",
    [
        {"b": {"$exists": False}}, {"b": {"$exists": True}}, {"a.b": 1}, {"b.c": 1},
        {"b": {"$ne": 1}}, {"a.b": {"$exists": False}}, {"b": {"$nin": [1, "x"]}},
    ],
)  # fmt: skip
def test_where_means_the_same_in_recall_and_in_facts(memory, where):
    for n, metadata in enumerate(
        [{"b": []}, {"b": {"c": 1}}, {"b": [[1]]}, {"a.b": 1}, {"a": {"b": 1}}, {}, {"b": [1, "x"]},
         {"b": [{}]}, {"b": None}, {"b": {}}],
    ):  # fmt: skip
        memory.remember(f"row {n}", metadata=metadata)
    found = {hit.text for hit in memory.recall("row", k=50, where=where)}
    assert found == {fact.text for fact in memory.facts(where=where)}


@pytest.mark.parametrize(
    "where", [{"a": {"$gt": None}}, {"a": {"$lt": True}}, {"a": {"$in": [1] * 300}}]
)
def test_where_is_refused_alike(memory, where):
    for call in (lambda: memory.recall("x", where=where), lambda: memory.facts(where=where)):
        with pytest.raises(agentmem.InvalidInputError, match="where"):
            call()


@pytest.mark.parametrize("items", ["abc", {"text": "x"}, None, 5])
def test_remember_many_takes_several_facts(memory, items):
    with pytest.raises(agentmem.InvalidInputError, match="several"):
        memory.remember_many(items)
    assert memory.stats().facts == 0


def test_a_relative_path_survives_a_change_of_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Memory("m", embedder=Letters()) as memory:
        memory.remember("a")
        os.chdir("/")
        memory.rebuild_index()
        memory.purge()
        assert memory.stats().store_bytes > 0


def test_sources_never_form_a_circle(memory):
    one = memory.remember("one")
    two = memory.remember("two", sources=[one.id])
    with pytest.raises(agentmem.InvalidInputError, match="rest on itself"):
        memory.remember("one", sources=[two.id])


def test_a_version_keeps_what_the_call_leaves_unsaid(memory):
    memory.remember("a", metadata={"x": 1}, priority=90, session="s1")
    second = memory.remember("a", tags=["y"])
    assert (second.status, second.metadata, second.priority, second.session) == (
        "superseded", {"x": 1}, 90, "s1",
    )  # fmt: skip
    third = memory.remember("a", session="s2")
    assert (third.status, third.tags) == ("superseded", ("y",))
    assert [hit.id for hit in memory.recall("a", session="s2")] == [third.id]


def test_a_joined_scope_is_bounded_too(memory):
    with pytest.raises(agentmem.InvalidInputError, match="1024 characters"):
        memory.scoped("x" * 1000).scoped("y" * 1000)


def test_async_memory_opens_in_its_thread_and_says_that_it_is_closed(tmp_path):
    async def work():
        memory = agentmem.AsyncMemory(tmp_path / "m", embedder=Letters())
        await memory.remember("a")
        await memory.close()
        with pytest.raises(agentmem.ClosedError):
            await memory.recall("a")
        never = agentmem.AsyncMemory(tmp_path / "n", embedder=Letters())
        await never.close()
        with pytest.raises(agentmem.ClosedError):
            await never.recall("a")
        with pytest.raises(agentmem.ClosedError):
            async with never:
                pass
        assert not (tmp_path / "n").exists()

    asyncio.run(work())


def test_nothing_is_published_beside_changes_that_only_a_tail_holds(tmp_path):
    one = Memory(tmp_path / "m", embedder=Letters())
    two = Memory(tmp_path / "m", embedder=Letters())
    one.remember("deploy", key="a")
    one._shared.index.fold()
    one.scoped("acme").remember("deploy", key="a")
    # Both changes reach the second handle at once; it then takes over the published first one.
    assert two.verify().ok
    one.close()
    two.close()
    with Memory(tmp_path / "m", embedder=Letters()) as last:
        assert last.verify().ok
        assert len(last.recall("deploy")) == 2


def test_an_empty_store_whose_index_was_made_anew_is_whole(tmp_path):
    with (
        Memory(tmp_path / "m", embedder=Letters()) as one,
        Memory(tmp_path / "m", embedder=Letters()) as two,
    ):
        fact = one.remember("deploy")
        two.rebuild_index()
        two.forget(fact.id)
        one.rebuild_index()
        assert two.verify().ok
        assert one.verify().ok
