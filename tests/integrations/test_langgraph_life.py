"""AgentMemStore over time: lives, sweeps, closing, threads, event loops, its memory's other users."""

import asyncio
import math
import threading
import time
from concurrent.futures import CancelledError

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("langgraph.store.base", reason="needs agentmem-tiers[langgraph]")

from langgraph.store.base import PutOp
from langgraph.store.memory import InMemoryStore
from tests.integrations.langgraph_parts import INDEX, Hashed, keys

from agentmem import AgentMemError, ClosedError, EmbedderMismatchError, InvalidInputError, Memory
from agentmem.integrations.langgraph import AgentMemStore, AsyncAgentMemStore
from agentmem.testing import HashEmbedder


def test_life_ends_at_once_for_every_read_and_the_sweep_removes_it(tmp_path, clock):
    ttl = {"default_ttl": 10, "refresh_on_read": True}
    with AgentMemStore(tmp_path / "s", index=INDEX, ttl=ttl, clock=clock) as store:
        store.put(("a",), "short", {"text": "short"}, ttl=1)
        store.put(("a",), "usual", {"text": "usual"})
        store.put(("b",), "for ever", {"text": "for ever"}, ttl=None)
        clock.advance(seconds=59)
        assert store.get(("a",), "short", refresh_ttl=False) is not None
        clock.advance(seconds=1)
        assert store.get(("a",), "short") is None
        assert keys(store.search((), query="short", refresh_ttl=False)) != ["short"]
        assert "short" not in keys(store.search((), refresh_ttl=False))
        assert store.sweep_ttl() == 1
        assert store.sweep_ttl() == 0
        clock.advance(minutes=8)
        assert keys(store.search(("a",), query="usual")) == ["usual"]
        clock.advance(minutes=8)
        assert store.get(("a",), "usual") is not None
        clock.advance(minutes=10)
        assert store.list_namespaces() == [("b",)]
        store.put(("a",), "usual", {"text": "anew"})
        assert store.get(("a",), "usual").created_at == clock()
        assert store.memory.verify().ok
        for wrong in (-1, math.nan, "1"):
            with pytest.raises(ValueError, match="ttl"):
                store.batch([PutOp(("a",), "k", {}, ttl=wrong)])


def test_a_read_that_moves_the_end_little_writes_nothing(tmp_path, clock):
    ttl = {"default_ttl": 100, "refresh_on_read": True}
    with AgentMemStore(tmp_path / "s", ttl=ttl, clock=clock) as store:
        store.put(("a",), "k", {})

        def last():
            return store.memory.sql("SELECT max(seq) FROM changes")[0][0]

        before = last()
        clock.advance(seconds=50)
        store.get(("a",), "k")
        assert last() == before
        clock.advance(seconds=50)
        store.get(("a",), "k")
        assert last() == before + 1


def test_the_sweeper_sweeps_stops_and_lets_its_store_go(tmp_path):
    ttl = {"default_ttl": 0.0005, "sweep_interval_minutes": 0.0005}
    store = AgentMemStore(tmp_path / "s", ttl=ttl)
    future = store.start_ttl_sweeper()
    assert store.start_ttl_sweeper() is future
    store.put(("a",), "k", {})
    deadline = time.monotonic() + 10
    while store.memory.sql("SELECT count(*) FROM facts") != [(0,)]:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert store.stop_ttl_sweeper(timeout=5)
    assert future.done()
    again = store.start_ttl_sweeper(sweep_interval_minutes=60)
    again.cancel()
    deadline = time.monotonic() + 10
    while any(thread.name == "agentmem-sweep" for thread in threading.enumerate()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    with pytest.raises(CancelledError):
        again.result()
    store.start_ttl_sweeper(sweep_interval_minutes=60)
    store.close()
    store.close()
    assert not [t for t in threading.enumerate() if t.name == "agentmem-sweep"]
    with AgentMemStore(tmp_path / "other") as without:
        assert without.start_ttl_sweeper().done()


def test_a_closed_store_says_so(tmp_path):
    store = AgentMemStore(tmp_path / "s")
    store.put(("a",), "k", {})
    store.close()
    for call in (
        lambda: store.get(("a",), "k"),
        lambda: store.put(("a",), "k", {}),
        lambda: store.search(()),
        store.list_namespaces,
        store.sweep_ttl,
        lambda: asyncio.run(store.aget(("a",), "k")),
        lambda: asyncio.run(store.aput(("a",), "k", {})),
    ):
        with pytest.raises(ClosedError):
            call()


def test_a_temporary_store_leaves_no_folder():
    with AgentMemStore.from_conn_string(":memory:") as store:
        store.put(("a",), "k", {"text": "x"})
        folder = store.memory.path
        assert folder.is_dir()
    assert not folder.exists()


def test_a_folder_that_is_none_is_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    with (
        pytest.raises((AgentMemError, OSError)),
        AgentMemStore.from_conn_string(str(tmp_path / "file")),
    ):
        pass


@pytest.mark.parametrize(
    "index",
    [{"embed": Hashed()}, {"embed": Hashed(), "dims": 0}, {"fields": [1]}, {"fields": {"a": 1}},
     {"embed": Hashed(), "dims": 64, "distance_type": "l2"}],
)  # fmt: skip
def test_a_wrong_index_is_refused(tmp_path, index):
    with pytest.raises(ValueError, match=r"index|dims"):
        AgentMemStore(tmp_path / "s", index=index)


def test_another_model_is_refused(tmp_path):
    with AgentMemStore(tmp_path / "s", index=INDEX) as store:
        store.put(("a",), "k", {"text": "x"})
    with pytest.raises(EmbedderMismatchError):
        AgentMemStore(tmp_path / "s", index={**INDEX, "embed": Hashed(model="other")})
    with AgentMemStore(tmp_path / "t", index={**INDEX, "dims": 32}) as wrong:
        with pytest.raises(ValueError, match="32"):
            wrong.put(("a",), "k", {"text": "x"})
        assert wrong.get(("a",), "k") is None


def test_one_memory_for_a_graph_and_for_its_host(tmp_path):
    with Memory(tmp_path / "m", embedder=HashEmbedder()) as memory:
        with AgentMemStore(memory, index={"fields": ["text"]}, scope="agents") as store:
            store.put(("users", "alice"), "k", {"text": "likes tea"})
        # The store did not open it, so it does not close it.
        (hit,) = memory.scoped("agents/users").recall("tea")
        assert (hit.scope, hit.kind, hit.metadata) == (
            "agents/users/alice", "document", {"text": "likes tea"},
        )  # fmt: skip
        said = memory.scoped("agents/users/alice").remember("likes tea", key="host")
        assert said.status == "new"
        store = AgentMemStore(memory, index={}, scope="agents")
        with pytest.raises(InvalidInputError, match="a fact of kind 'fact'"):
            store.put(("users", "alice"), "host", {"text": "x"})
        store.delete(("users", "alice"), "host")
        assert memory.get(said.id).is_current
        # What rests on an item alone goes with it.
        item = next(fact for fact in memory.facts() if fact.kind == "document")
        derived = memory.scoped("agents/users/alice").remember("is British", sources=[item.id])
        store.delete(("users", "alice"), "k")
        assert store.get(("users", "alice"), "k") is None
        assert derived.id not in {fact.id for fact in memory.facts()}
        assert memory.verify().ok


def test_items_move_with_an_export(tmp_path, store):
    store.put(("a", "b"), "k", {"text": "exported words"})
    store.put(("a",), "kept", {"n": 1}, index=False)
    store.memory.export(tmp_path / "all.jsonl")
    with AgentMemStore(tmp_path / "copy", index=INDEX, clock=store.memory._shared.clock) as copy:
        copy.memory.import_(tmp_path / "all.jsonl")
        assert copy.get(("a", "b"), "k").value == {"text": "exported words"}
        assert copy.get(("a",), "kept").value == {"n": 1}
        assert keys(copy.search((), query="exported", limit=1)) == ["k"]
        copy.put(("a", "b"), "k", {"text": "changed"})
        copy.delete(("a",), "kept")
        assert keys(copy.search(())) == ["k"]
        assert copy.memory.verify().ok


def test_items_move_to_another_model(store):
    store.put(("a",), "k", {"text": "some words"})
    store.put(("a",), "kept", {"n": 1}, index=False)
    store.memory.reembed(HashEmbedder(32))
    assert [fact.kind for fact in store.memory.facts()] == ["document", "value"]
    assert store.memory.recall("words", k=1)[0].ann_rank == 1
    assert store.memory.verify().ok


def test_threads_lose_nothing(store):
    def work(worker):
        for n in range(25):
            store.put(("t", str(worker)), f"k{n}", {"text": f"worker {worker} item {n}"})
            assert store.get(("t", str(worker)), f"k{n}") is not None

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store.search(("t",), limit=1000)) == 100
    assert len(store.search(("t",), query="worker item", limit=1000)) == 100


def test_any_loop_may_use_the_store(store):
    async def use(n):
        await asyncio.gather(*(store.aput(("a",), f"{n}-{m}", {"text": f"{m}"}) for m in range(5)))
        return len(await store.asearch(("a",), query="1", limit=100))

    assert [asyncio.run(use(n)) for n in range(2)] == [5, 10]


def test_an_async_model_is_awaited(tmp_path):
    async def embed(texts):
        await asyncio.sleep(0)
        return HashEmbedder(16).embed(texts).tolist()

    async def use():
        index = {"dims": 16, "embed": embed, "fields": ["text"]}
        async with AgentMemStore(tmp_path / "s", index=index) as store:
            await store.aput(("a",), "k", {"text": "some words"})
            return await store.asearch(("a",), query="words")

    assert keys(asyncio.run(use())) == ["k"]


def test_the_store_of_one_loop_batches_and_refuses_others(tmp_path):
    async def use():
        async with AsyncAgentMemStore.from_conn_string(str(tmp_path / "s"), index=INDEX) as store:
            await store.setup()
            before = store.memory.sql("SELECT count(*) FROM changes")[0][0]
            await asyncio.gather(*(store.aput(("a",), "k", {"text": f"v{n}"}) for n in range(9)))
            assert store.memory.sql("SELECT count(*) FROM changes")[0][0] == before + 1
            assert (await store.aget(("a",), "k")).value == {"text": "v8"}
            # From another thread the plain methods wait for the loop.
            assert (await asyncio.to_thread(store.get, ("a",), "k")).value == {"text": "v8"}
            with pytest.raises(asyncio.InvalidStateError):
                store.get(("a",), "k")

            def elsewhere():
                return asyncio.run(store.aget(("a",), "k"))

            with pytest.raises(asyncio.InvalidStateError, match="another event loop"):
                await asyncio.to_thread(elsewhere)
            return store

    store = asyncio.run(asyncio.wait_for(use(), 60))
    with pytest.raises(ClosedError):
        store.get(("a",), "k")
    with pytest.raises(ClosedError):
        asyncio.run(asyncio.wait_for(store.aget(("a",), "k"), 10))


def test_a_loop_that_stopped_is_never_waited_for(tmp_path):
    loop = asyncio.new_event_loop()

    async def make():
        return AsyncAgentMemStore(tmp_path / "s")

    store = loop.run_until_complete(make())
    with pytest.raises(asyncio.InvalidStateError, match="does not run"):
        store.put(("a",), "k", {})
    loop.run_until_complete(store.close())
    loop.close()


OPS = st.lists(
    st.tuples(
        st.sampled_from(["put", "delete", "get", "list", "names"]),
        st.sampled_from([("a",), ("a", "b"), ("ab",), ("c", "d", "e")]),
        st.sampled_from(["k1", "k2", "k3"]),
        st.dictionaries(st.sampled_from(["x", "y"]), st.integers(0, 3), max_size=2),
    ),
    max_size=25,
)


@given(OPS)
def test_it_agrees_with_the_in_memory_store(ops):
    theirs = InMemoryStore()
    with AgentMemStore(":memory:") as ours:
        for verb, namespace, key, value in ops:
            if verb == "put":
                for store in (ours, theirs):
                    store.put(namespace, key, value)
            elif verb == "delete":
                for store in (ours, theirs):
                    store.delete(namespace, key)
            elif verb == "get":
                a, b = (store.get(namespace, key) for store in (ours, theirs))
                assert (a and a.value) == (b and b.value)
            elif verb == "list":
                a, b = (
                    {(i.namespace, i.key, str(i.value)) for i in s.search(namespace, filter=value)}
                    for s in (ours, theirs)
                )
                assert a == b
            else:
                # Theirs also lists namespaces that are empty by now.
                found = ours.list_namespaces(prefix=namespace[:1], max_depth=2)
                assert set(found) == {
                    item.namespace[:2] for item in theirs.search(namespace[:1], limit=100)
                }
