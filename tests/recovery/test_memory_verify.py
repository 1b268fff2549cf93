"""What verify reports while others write is damage, and damage it reports all the same."""

import threading

import pytest
from memory_model import start
from memory_worker import SPACE, Worker, vector

from agentmem import Memory


class Quiet(Worker):
    def say(self, *_, **__):
        pass


def looked(memory, is_over):
    """Verify until others are done, and return what was reported and how often was looked."""
    problems, times = [], 0
    while not is_over() or times < 5:
        problems += memory.verify().problems
        times += 1
    return problems, times


def test_rows_in_flight_are_no_damage(tmp_path, request):
    is_long = request.config.getoption("--long")
    folder = tmp_path / "memory"
    with Memory(folder, embedder=SPACE, durability="normal") as memory:
        child = start(folder, seed=30, threads=2, durability="normal", seconds=60 if is_long else 8)
        said = []
        reader = threading.Thread(target=lambda: said.extend(child.communicate()))
        reader.start()
        over = threading.Event()
        failed = []

        def work():
            try:
                worker = Quiet(memory, "here", 31)
                while not over.is_set():
                    worker.step()
            except BaseException as error:
                failed.append(error)
                raise

        writer = threading.Thread(target=work)
        writer.start()
        try:
            problems, times = looked(memory, lambda: not reader.is_alive())
        finally:
            over.set()
            writer.join()
            reader.join()
        assert said[0].endswith("DONE\n"), said[1]
        assert not failed
        assert problems == [], f"{len(problems)} in {times} calls"
        assert times > 10
        print(f"{times} calls of verify beside 1 + 2 writers of 2 processes, nothing reported")


def lose_from_index(memory, number):
    native = memory._shared.index.native
    native.apply([], [(1 << 56) | number], native.applied)


def lose_from_store(memory, number):
    def operation(transaction):
        for statement in (
            "DELETE FROM embeddings WHERE id >> 3 = ? | (1 << 56)",
            "DELETE FROM sources WHERE tier = 1 AND row_id = ?",
            "DELETE FROM facts WHERE id = ?",
        ):
            transaction.connection.execute(statement, (number,))

    memory._shared.database.write(operation)


def lose_sources(memory, number):
    memory._shared.database.write(
        lambda transaction: transaction.connection.execute(
            "DELETE FROM sources WHERE tier = 1 AND row_id = ?", (number,)
        )
    )


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lose_from_index, "1 rows are missing from the index: L1:3"),
        (lose_from_store, "1 rows are only in the index: L1:3"),
        (lose_sources, "1 facts rest on no source"),
    ],
)
def test_damage_is_found_beside_a_writer(tmp_path, damage, said):
    with Memory(tmp_path / "memory", embedder=SPACE, durability="normal") as memory:
        for number in range(5):
            memory.remember(f"row{number}", embedding=vector(number))
        assert memory.verify().ok
        damage(memory, 3)
        over = threading.Event()

        def work():
            number = 5
            while not over.is_set():
                memory.remember(f"row{number}", embedding=vector(number))
                number += 1

        writer = threading.Thread(target=work)
        writer.start()
        try:
            for _ in range(5):
                assert memory.verify().problems == (said,)
        finally:
            over.set()
            writer.join()
        if damage is not lose_sources:
            memory.rebuild_index()
            assert memory.verify().ok


def test_a_gap_in_the_log_of_changes_is_reported_and_ends(tmp_path):
    folder = tmp_path / "memory"
    with Memory(folder, embedder=SPACE) as one, Memory(folder, embedder=SPACE) as two:
        one.remember("seen by both", embedding=vector(1))
        assert two.verify().ok
        one.remember("seen by one", embedding=vector(2))
        one._shared.database.write(
            lambda transaction: transaction.connection.execute("DELETE FROM changes")
        )
        assert one.verify().ok
        assert two.verify().problems == ("1 rows are missing from the index: L1:2",)
