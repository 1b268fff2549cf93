"""The standard sqlite3 opens, reads and closes the store while a memory writes from threads."""

import sqlite3
import threading

from memory_model import Expected, start
from memory_worker import SPACE, vector

from agentmem import Memory


def visit(path):
    connection = sqlite3.connect(path)
    connection.execute("SELECT count(*) FROM facts").fetchall()
    connection.close()


def test_visits_beside_writing_threads_lose_no_row(tmp_path):
    folder = tmp_path / "memory"
    acknowledged = {}
    failures = []
    with Memory(folder, embedder=SPACE) as memory:

        def write(thread):
            try:
                for turn in range(40):
                    text = f"thread{thread} turn{turn}"
                    fact = memory.remember(text, embedding=vector(thread * 1000 + turn))
                    acknowledged[fact.id] = text
                    hits = memory.recall(text, k=3, embedding=vector(thread * 1000 + turn))
                    if acknowledged[fact.id] != text or fact.id not in {hit.id for hit in hits}:
                        failures.append(f"{fact.id} is not found")
                    if turn % 10 == 9:
                        memory._shared.index.fold()
            except Exception as error:
                failures.append(error)

        threads = [threading.Thread(target=write, args=(thread,)) for thread in range(4)]
        for thread in threads:
            thread.start()
        visits = 0
        while any(thread.is_alive() for thread in threads):
            visit(folder / "store.amem")
            visits += 1
            threads[0].join(0.01)
        for thread in threads:
            thread.join(60)
        assert not failures
        assert len(acknowledged) == 160
        assert visits > 5
        assert memory.stats().guard_trips == 0
        assert {fact.id: fact.text for fact in memory.facts(limit=1000)} == acknowledged
        assert memory.verify().ok
    with Memory(folder, embedder=SPACE) as memory:
        assert {fact.id: fact.text for fact in memory.facts(limit=1000)} == acknowledged
        assert memory.verify().ok


def test_visits_here_while_another_process_works(tmp_path):
    folder = tmp_path / "memory"
    with Memory(folder, embedder=SPACE) as memory:
        child = start(folder, seed=31, count=30, threads=2)
        assert child.stdout.readline() == "READY\n"
        own, lines = [], []
        # Read beside the visits: a full pipe would stop the child.
        reader = threading.Thread(target=lambda: lines.extend(child.stdout))
        reader.start()
        while child.poll() is None:
            visit(folder / "store.amem")
            text = f"ownrow{len(own)} of this process"
            own.append((memory.remember(text, embedding=vector(len(own))).id, text))
        reader.join(60)
        with child:
            assert child.returncode == 0, child.stderr.read()
    expected = Expected()
    expected.read(lines)
    expected.current.update((id, (text, at)) for at, (id, text) in enumerate(own))
    lost, wrong = expected.check(folder)
    assert not lost
    assert not wrong
