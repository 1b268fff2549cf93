"""Rows in bulk: few statements, and analysed beside the sync."""

import os
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apsw
import numpy as np
import pytest

from agentmem import DocumentWrite, GivenEmbeddings, Memory, index_ahead
from agentmem.index_ahead import Ahead
from agentmem.store.bulk import ROWS, insert_rows

SPACE = GivenEmbeddings(id="test", ndim=4)


@pytest.mark.parametrize("count", [0, 1, ROWS - 1, ROWS, ROWS + 1, 2 * ROWS, 3 * ROWS + 7])
def test_all_rows_go_in_once_and_in_their_order(count):
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, a, b)")
    rows = [(f"a{at}", at) for at in range(count)]
    insert_rows(connection, "INSERT INTO t (a, b)", iter(rows))
    assert list(connection.execute("SELECT a, b FROM t ORDER BY id")) == rows
    insert_rows(connection, "INSERT INTO t (b, a)", rows, values="{1}, {0} || {1} || 'x'")
    again = connection.execute("SELECT a, b FROM t WHERE id > ? ORDER BY id", (count,))
    assert list(again) == [(f"{a}{b}x", b) for a, b in rows]
    insert_rows(connection, "INSERT OR IGNORE INTO t (id, a)", [(at, "x") for at in range(1, 200)])
    assert list(connection.execute("SELECT a, b FROM t WHERE id <= ?", (count,))) == rows


def facts(count, start=0):
    vectors = np.random.default_rng(start).normal(size=(count, 4))
    return [
        {"text": f"word{start + at} said", "embedding": vector} for at, vector in enumerate(vectors)
    ]


def found(memory, number):
    hits = memory.recall(f"word{number}", k=50, embedding=[1, 0, 0, 0])
    return f"word{number} said" in [hit.text for hit in hits]


def test_a_large_commit_is_analysed_before_it_is_on_disk(tmp_path, monkeypatch):
    order = []
    analyse = Ahead.analyse
    monkeypatch.setattr(
        Ahead, "analyse", lambda self, *given: (order.append("analysed"), analyse(self, *given))
    )
    with Memory(tmp_path / "memory", embedder=SPACE) as memory:
        memory._shared.database._step = order.append
        memory.remember_many(facts(200))
        at = order.index("analysed")
        assert (order[at - 1], order[at + 1]) == ("written", "committed")
        assert found(memory, 150)
        del order[:]
        memory.remember_many(facts(3, start=1000))
        assert "analysed" not in order
        assert found(memory, 1002)


@pytest.fixture
def held(monkeypatch):
    """An event: what was handed over is applied when it is set."""
    apply, free = index_ahead._apply, threading.Event()

    def later(*given):
        assert free.wait(20)
        apply(*given)

    monkeypatch.setattr(index_ahead, "_apply", later)
    yield free
    free.set()


def test_a_write_does_not_wait_for_the_index_and_every_reader_does(tmp_path, held):
    with Memory(tmp_path / "memory", embedder=SPACE) as memory:
        native = memory._shared.index._native
        readers = (
            lambda: found(memory, 150),
            lambda: len(memory.documents.search("k150", embedding=[1, 0, 0, 0])) == 10,
            lambda: memory.stats().applied_seq == 600,
            lambda: memory.verify().ok,
            lambda: (memory._shared.index.fold(), native.tail_len == 0)[1],
            lambda: (memory.remember("one", embedding=[1, 0, 0, 0]), native.applied == 1201)[1],
        )
        for number, reads in enumerate(readers):
            held.clear()
            before = native.applied
            if number == 1:
                memory.documents.write(
                    DocumentWrite(
                        key=f"k{at}", value={}, texts=[f"k{at}"], embeddings=[[1, 0, 0, 0]]
                    )
                    for at in range(200)
                )
            else:
                memory.remember_many(facts(200, start=1_000 * number))
            assert native.applied == before
            threading.Timer(0.05, held.set).start()
            assert reads(), number


@pytest.mark.parametrize("fault", ["no thread", "analysis", "apply", "other index"])
def test_without_it_the_rows_are_applied_all_the_same(tmp_path, monkeypatch, fault):
    def broken(*_):
        raise ValueError("broken")

    def no_thread(*_):
        raise RuntimeError("can't start new thread")

    with Memory(tmp_path / "memory", embedder=SPACE) as memory:
        ahead = memory._shared.index._ahead
        if fault == "no thread":
            monkeypatch.setattr(ThreadPoolExecutor, "submit", no_thread)
        elif fault == "other index":
            analyse = Ahead.analyse
            monkeypatch.setattr(
                Ahead, "analyse", lambda self, _, changes: analyse(self, object(), changes)
            )
        else:
            monkeypatch.setattr(
                index_ahead, {"analysis": "_analyse", "apply": "_apply"}[fault], broken
            )
        memory.remember_many(facts(300))
        assert found(memory, 299)
        memory.remember_many(facts(300, start=1_000))
        memory.remember("last", embedding=[1, 0, 0, 0])
        assert found(memory, 1_299)
        assert memory.verify().ok
        assert (ahead._applied is None) == (fault in ("no thread", "other index"))


def test_its_thread_ends_with_the_memory(tmp_path):
    def threads():
        return [one for one in threading.enumerate() if one.name.startswith("agentmem-index")]

    with Memory(tmp_path / "memory", embedder=SPACE) as memory:
        assert not threads()
        memory.remember_many(facts(200))
        assert len(threads()) == 1
    assert not threads()


def test_a_commit_that_fails_leaves_nothing_for_the_next_one(tmp_path):
    with Memory(tmp_path / "memory", embedder=SPACE) as memory:
        fail = [True]

        index = memory._shared.index
        database = memory._shared.database

        def prepare(changes):
            index.prepare(changes)
            if fail[0]:
                fail[0] = False
                raise OSError("the disk")

        database.prepare = prepare
        with pytest.raises(OSError, match="the disk"):
            memory.remember_many(facts(200))
        assert memory.stats().facts == 0
        memory.remember_many(facts(200, start=500))
        assert found(memory, 600)
        assert not found(memory, 100)
        assert memory.verify().ok


def test_prepared_rows_are_applied_once(tmp_path):
    from agentmem._native import StoreIndex
    from agentmem.errors import DimensionError, InvalidInputError

    options = {"epoch": "e", "space": "s"}
    index = StoreIndex.open(str(tmp_path / "a"), ndim=4, **options)
    other = StoreIndex.open(str(tmp_path / "b"), ndim=8, **options)
    row = (1, 1, "fact", "", None, 0, "said", 1, None, None, None, True, 50, 3, None, (), "{}", (),
           None)  # fmt: skip
    prepared = index.prepare([row])
    assert index.live_len == 0
    index.apply(prepared, [], 1)
    assert (index.live_len, index.applied) == (1, 1)
    with pytest.raises(InvalidInputError, match="applied already"):
        index.apply(prepared, [], 2)
    with pytest.raises(DimensionError):
        other.apply(index.prepare([row]), [], 1)
    with pytest.raises(InvalidInputError, match="fields"):
        index.prepare([row[:5]])
    assert (other.live_len, index.applied) == (0, 1)


def test_what_comes_late_brings_nothing_back(tmp_path):
    from agentmem._native import StoreIndex

    index = StoreIndex.open(str(tmp_path / "a"), ndim=4, epoch="e", space="s")
    row = (1, 1, "fact", "", None, 0, "said", 1, None, None, None, True, 50, 3, None, (), "{}", (),
           None)  # fmt: skip
    late = index.prepare([row])
    index.apply([row], [], 1)
    index.apply([], [1], 2)
    index.apply(late, [], 1)
    assert (index.live_len, index.applied) == (0, 2)


def test_many_facts_are_written_while_the_interpreter_ends(tmp_path):
    program = """
import atexit, sys
from agentmem import GivenEmbeddings, Memory
memory = Memory(sys.argv[1], embedder=GivenEmbeddings("late", 2))
memory.remember("first", embedding=[1, 0])
facts = [{"text": f"fact {n}", "embedding": [1, 0]} for n in range(100)]
atexit.register(lambda: memory.remember_many(facts))
"""
    folder = tmp_path / "memory"
    package = str(Path(index_ahead.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", program, str(folder)],
        env={**os.environ, "PYTHONPATH": package}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "Error" not in done.stderr
    with Memory(folder, embedder=GivenEmbeddings("late", 2)) as memory:
        assert memory.stats().facts == 101


def test_a_rebuilt_index_says_how_far_it_got(tmp_path, monkeypatch):
    """The last fold has rows to fold, however many there are."""
    monkeypatch.setattr("agentmem.index.CATCH_UP_BATCH", 50)
    monkeypatch.setattr("agentmem.index.REBUILD_FOLD", 100)
    folder = tmp_path / "memory"
    with Memory(folder, embedder=SPACE) as memory, Memory(folder, embedder=SPACE) as other:
        memory.remember_many(facts(200))
        memory.rebuild_index()
        report = other.verify()
        assert report.ok, report
    with Memory(folder, embedder=SPACE) as memory:
        assert memory._shared.index.native.tail_len == 0


def test_a_close_does_not_wait_for_the_end_of_a_bulk_write(tmp_path, monkeypatch):
    monkeypatch.setattr("agentmem.index.PAUSE_S", 60.0)
    memory = Memory(tmp_path / "memory", embedder=SPACE)
    memory.remember_many(facts(1_200))
    index = memory._shared.index
    began = time.monotonic()
    memory.close()
    assert time.monotonic() - began < 8
    assert not index._folder_thread.is_alive()
    # What was written is left in a segment, so that the next process has little to replay.
    assert index.native.tail_len == 0


def test_what_an_opening_catches_up_with_is_folded_at_once(tmp_path, monkeypatch):
    """Or each of many short processes would read the same rows again."""
    folder = tmp_path / "memory"
    with Memory(folder, embedder=SPACE) as memory:
        memory.remember_many(facts(1_200))
    shutil.rmtree(folder / "index")
    monkeypatch.setattr("agentmem.index.FOLD_AT_REST", 10**9)
    with Memory(folder, embedder=SPACE) as memory:
        memory._shared.index.fold()
        memory.remember_many(facts(1_200, start=5_000))
    monkeypatch.setattr("agentmem.index.PAUSE_S", 60.0)
    with Memory(folder, embedder=SPACE) as memory:
        index = memory._shared.index
        deadline = time.monotonic() + 20
        while index.native.tail_len and time.monotonic() < deadline:
            time.sleep(0.02)
        assert index.native.tail_len == 0
