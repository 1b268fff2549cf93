"""A store moves to another embedder beside its use, in steps that can be taken up again.

Two embedders of one length stand for two models: each puts a text's letters at other places, so a
question and a row of different spaces have another cosine than 1 with each other.
"""

import threading
import time

import numpy as np
import pytest

import agentmem
from agentmem import GivenEmbeddings, Memory
from agentmem.errors import EmbedderMismatchError, EmbeddingError, InvalidInputError

NDIM = 64


class Letters:
    """Counts letter pairs, at places that depend on ``seed``."""

    def __init__(self, seed, *, pause_s=0.0, fail_at=None):
        self.id = f"letters-{seed}"
        self.ndim = NDIM
        self.seed = seed
        self.pause_s = pause_s
        self.fail_at = fail_at
        self.embedded = []

    def embed(self, texts):
        if self.fail_at is not None and len(self.embedded) + len(texts) > self.fail_at:
            raise RuntimeError("out of memory")
        time.sleep(self.pause_s)
        self.embedded += texts
        rows = np.zeros((len(texts), NDIM), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for pair in zip(f" {text}", f"{text} ", strict=True):
                row[hash_of(pair, self.seed) % NDIM] += 1
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def hash_of(pair, seed):
    return (ord(pair[0]) * 7919 + ord(pair[1]) * 104729) * (2 * seed + 1) % 1_000_003 + seed


def text_of(number):
    return f"fact {number} about {'abcdefghij'[number % 10] * 3}{number * number}"


def cosine(memory, text):
    hit = memory.recall(text, k=1, explain=True)[0]
    assert hit.text == text
    return hit.explanation["ann"]["score"]


def vectors_of_store(memory):
    return {
        number: np.frombuffer(vector, np.float32)
        for number, vector in memory.sql("SELECT id, vector FROM embeddings")
    }


@pytest.fixture
def folder(tmp_path):
    with Memory(tmp_path / "m", embedder=Letters(1)) as memory:
        memory.remember_many([text_of(number) for number in range(300)])
    return tmp_path / "m"


def test_every_row_is_moved_and_the_old_model_is_refused(folder):
    seen = []
    with Memory(folder, embedder=Letters(1)) as memory:
        move = memory.reembed(Letters(2), progress=lambda *counts: seen.append(counts))
        assert move.is_moved
        assert not move.is_running
        assert (move.done, move.total) == (300, 300) == seen[-1]
        assert seen == sorted(seen)
        assert cosine(memory, text_of(7)) == pytest.approx(1, abs=1e-5)
        assert memory.verify().ok
        assert memory.stats().embedder_id == "letters-2"
        memory.remember("one more")
        assert cosine(memory, "one more") == pytest.approx(1, abs=1e-5)
        found = memory.sql("SELECT name FROM sqlite_schema WHERE name LIKE '%_next'")
        assert found == []
    with Memory(folder, embedder=Letters(2)) as memory:
        assert cosine(memory, text_of(299)) == pytest.approx(1, abs=1e-5)
    with pytest.raises(EmbedderMismatchError, match="letters-2"):
        Memory(folder, embedder=Letters(1))


def test_reads_and_writes_go_on_and_no_two_spaces_are_compared(folder):
    wrong, failures, counts = [], [], {"read": 0, "written": 0}
    with Memory(folder, embedder=Letters(1)) as memory:
        running = threading.Event()
        running.set()

        def read(start):
            number = start
            try:
                while running.is_set():
                    number = (number + 17) % 300
                    for hits in memory.recall_many([text_of(number)], k=1, explain=True):
                        score = hits[0].explanation["ann"]["score"]
                        if hits[0].text != text_of(number) or abs(score - 1) > 1e-4:
                            wrong.append((number, score))
                    if abs(cosine(memory, text_of(number)) - 1) > 1e-4:
                        wrong.append(number)
                    counts["read"] += 1
            except Exception as error:
                failures.append(error)

        def write():
            number = 1000
            try:
                while running.is_set():
                    number += 1
                    memory.remember(text_of(number))
                    counts["written"] += 1
                    time.sleep(0.002)
            except Exception as error:
                failures.append(error)

        threads = [threading.Thread(target=read, args=(at,)) for at in (0, 5)]
        threads.append(threading.Thread(target=write))
        for thread in threads:
            thread.start()
        for seed in (2, 3):
            move = memory.reembed(Letters(seed, pause_s=0.02), background=True)
            assert move.wait(60)
            time.sleep(0.1)
        running.clear()
        for thread in threads:
            thread.join(30)
        assert failures == []
        assert wrong == []
        assert counts["read"] > 5
        assert counts["written"] > 5
        assert memory.verify().ok
        # What lies in the store is of the last space, row by row.
        expected = Letters(3)
        for fact in memory.facts(limit=1000):
            (row,) = expected.embed([fact.text])
            stored = vectors_of_store(memory)[(1 << 56 | int(fact.id[3:])) * 8]
            np.testing.assert_allclose(stored, row, atol=1e-6)
            break
        assert len(vectors_of_store(memory)) == memory.stats().facts


def test_a_stopped_move_is_taken_up_where_it_was(folder):
    new = Letters(2, pause_s=0.05)
    with Memory(folder, embedder=Letters(1)) as memory:
        move = memory.reembed(new, background=True)
        while move.done == 0:
            time.sleep(0.01)
        move.stop()
        assert move.wait(30) is False
        assert 0 < move.done < move.total == 300
        assert "ended" in repr(move)
        # The old vectors are in force.
        assert cosine(memory, text_of(3)) == pytest.approx(1, abs=1e-5)
        made = set(new.embedded)
        memory.forget(memory.recall(min(made), k=1)[0].id)
    with Memory(folder, embedder=Letters(1)) as memory:
        again = Letters(2)
        assert memory.reembed(again).is_moved
        assert not made & set(again.embedded)
        assert len(made) + len(set(again.embedded)) == 300
        assert cosine(memory, sorted(made)[1]) == pytest.approx(1, abs=1e-5)
        assert memory.verify().ok
        assert len(vectors_of_store(memory)) == 299


def test_closing_the_memory_stops_a_move(folder):
    memory = Memory(folder, embedder=Letters(1))
    move = memory.reembed(Letters(2, pause_s=0.05), background=True)
    memory.close()
    with_error = None
    try:
        assert move.wait(30) is False
    except agentmem.ClosedError as error:
        with_error = error
    assert not move.is_running, with_error
    with Memory(folder, embedder=Letters(1)) as again:
        assert cosine(again, text_of(3)) == pytest.approx(1, abs=1e-5)


def test_a_failing_embedder_changes_nothing_and_keeps_what_was_made(folder):
    failing = Letters(2, fail_at=150)
    with Memory(folder, embedder=Letters(1)) as memory:
        with pytest.raises(EmbeddingError, match="out of memory"):
            memory.reembed(failing)
        assert cosine(memory, text_of(3)) == pytest.approx(1, abs=1e-5)
        move = memory.reembed(failing, background=True)
        with pytest.raises(EmbeddingError, match="out of memory"):
            move.wait(30)
        rest = Letters(2)
        memory.reembed(rest)
        assert set(rest.embedded).isdisjoint(failing.embedded)
        assert cosine(memory, text_of(3)) == pytest.approx(1, abs=1e-5)


def test_another_target_starts_from_nothing(folder):
    with Memory(folder, embedder=Letters(1)) as memory:
        with pytest.raises(EmbeddingError):
            memory.reembed(Letters(2, fail_at=150))
        third = Letters(3)
        memory.reembed(third)
        assert len(third.embedded) == 300
        assert cosine(memory, text_of(3)) == pytest.approx(1, abs=1e-5)


def test_one_move_at_a_time(folder):
    with Memory(folder, embedder=Letters(1)) as memory:
        move = memory.reembed(Letters(2, pause_s=0.05), background=True)
        with pytest.raises(InvalidInputError, match="under way"):
            memory.reembed(Letters(3))
        assert move.wait(60)


def test_another_handle_learns_of_the_move_and_compares_nothing(folder):
    with (
        Memory(folder, embedder=Letters(1)) as mover,
        Memory(folder, embedder=Letters(1)) as other,
    ):
        assert cosine(other, text_of(3)) == pytest.approx(1, abs=1e-5)
        mover.reembed(Letters(2))
        for use in (
            lambda: other.recall(text_of(3)),
            lambda: other.recall_many([text_of(3)]),
            lambda: other.remember("new"),
        ):
            with pytest.raises(EmbedderMismatchError, match="letters-2"):
                use()
        mover.remember("after the move")
        with pytest.raises(EmbedderMismatchError):
            other.recall("after the move")
        assert cosine(mover, "after the move") == pytest.approx(1, abs=1e-5)
        assert mover.verify().ok


def test_two_movers_of_one_store(folder):
    with (
        Memory(folder, embedder=Letters(1)) as one,
        Memory(folder, embedder=Letters(1)) as two,
    ):
        slow = one.reembed(Letters(2, pause_s=0.1), background=True)
        while slow.done == 0:
            time.sleep(0.01)
        two.reembed(Letters(3))
        with pytest.raises(EmbeddingError):
            slow.wait(30)
        assert cosine(two, text_of(3)) == pytest.approx(1, abs=1e-5)
        assert two.stats().embedder_id == "letters-3"


def test_from_the_hosts_own_vectors_to_a_model(tmp_path):
    given = GivenEmbeddings(id="mine", ndim=3)
    with Memory(tmp_path / "m", embedder=given) as memory:
        memory.remember_many(
            {"text": text_of(number), "embedding": [1, number, 2]} for number in range(90)
        )
        memory.reembed(Letters(1))
        assert cosine(memory, text_of(50)) == pytest.approx(1, abs=1e-5)
        with pytest.raises(agentmem.DimensionError):
            memory.recall("x", embedding=[1, 2, 3])


def test_a_given_vector_never_meets_another_space(folder):
    with (
        Memory(folder, embedder=Letters(1)) as mover,
        Memory(folder, embedder=Letters(1)) as other,
    ):
        mover.reembed(Letters(2))
        (vector,) = Letters(1).embed(["x"])
        with pytest.raises(EmbedderMismatchError):
            other.recall("x", embedding=vector)
        with pytest.raises(EmbedderMismatchError):
            other.remember("x", embedding=vector)


def test_texts_without_content_and_long_ones_move_too(tmp_path):
    class Chunks(Letters):
        def embed_chunks(self, texts):
            return [
                self.embed([text[at : at + 40] for at in range(0, len(text), 40)][:8])
                if text.strip("🎉")
                else np.empty((0, NDIM), np.float32)
                for text in texts
            ]

    texts = ["🎉🎉", "short", "long " * 60]
    with Memory(tmp_path / "m", embedder=Letters(1)) as memory:
        memory.remember_many(texts)
        memory.reembed(Chunks(2))
        assert len(vectors_of_store(memory)) == 1 + 8
        assert memory.verify().ok
        assert memory.recall("short", k=1)[0].text == "short"
        memory.reembed(Letters(1))
        assert len(vectors_of_store(memory)) == 3


def test_an_empty_store_moves(tmp_path):
    with Memory(tmp_path / "m", embedder=Letters(1)) as memory:
        assert memory.reembed(Letters(2)).is_moved
        memory.remember("first")
        assert cosine(memory, "first") == pytest.approx(1, abs=1e-5)


def test_an_import_during_a_move_writes_no_old_vector(folder, tmp_path):
    with Memory(tmp_path / "source", embedder=Letters(1)) as source:
        source.remember_many([f"imported {number}" for number in range(30)])
        source.export(tmp_path / "all.jsonl")
    with (
        Memory(folder, embedder=Letters(1)) as importer,
        Memory(folder, embedder=Letters(1)) as mover,
    ):
        mover.reembed(Letters(2))
        with pytest.raises(EmbedderMismatchError):
            importer.import_(tmp_path / "all.jsonl")
        assert mover.stats().facts == 300
        mover.import_(tmp_path / "all.jsonl")
        assert cosine(mover, "imported 4") == pytest.approx(1, abs=1e-5)


def test_every_tier_that_has_vectors_moves_and_what_waits_goes_on_waiting(folder):
    with Memory(folder, embedder=Letters(1)) as memory:
        messages = [
            {"role": "user", "content": "where is the red bicycle?"},
            {"role": "assistant", "content": "behind the green house"},
        ]
        captured = memory.capture(messages, session="s")
        waiting = memory.stats().pending_embeddings
        first = int(captured.ids[0][3:])
        (vector,) = Letters(1).embed([messages[0]["content"]])
        # As the worker does that makes the vectors of turns.
        memory._shared.database.write(
            lambda transaction: transaction.connection.execute(
                "INSERT INTO embeddings VALUES (?, ?)", (first * 8, vector.tobytes())
            )
        )
        memory.reembed(Letters(2))
        (expected,) = Letters(2).embed([messages[0]["content"]])
        stored = vectors_of_store(memory)
        np.testing.assert_allclose(stored[first * 8], expected, atol=1e-6)
        assert len(stored) == 301
        assert memory.stats().pending_embeddings in (waiting, waiting - 1)
        left = {key for (key,) in memory.sql("SELECT key FROM pending_embeddings")}
        assert first not in left
        assert memory.verify().ok
