"""A second SQLite library in the process opens, reads and closes the store at any step."""

import collections
import random
import sqlite3
import threading
import warnings
from functools import partial

import apsw
import pytest
from recovery_model import acknowledged as acknowledged_rows
from recovery_model import check, start

from agentmem.errors import StoreError
from agentmem.store import Database, StoreWarning
from agentmem.store.hold import LockHold


@pytest.fixture
def guard_alone(monkeypatch):
    """Without the locks that keep the other library harmless, only the guard is left."""
    monkeypatch.setattr(LockHold, "is_wanted", False)


STEPS = ("locked", "begun", "written", "committed", "checked", "announced")


def foreign_visit(path):
    connection = sqlite3.connect(path)
    connection.execute("SELECT count(*) FROM changes").fetchall()
    connection.close()


def log_one(transaction, row):
    return transaction.change("add", 1, row)


def committed(path):
    """Read the rows as a new process would, with a connection that shares nothing with ours."""
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        return dict(connection.execute("SELECT seq, row_id FROM changes"))
    finally:
        connection.close()


@pytest.mark.usefixtures("guard_alone")
@pytest.mark.filterwarnings("ignore::agentmem.store.StoreWarning")
def test_the_guard_alone_loses_no_acknowledged_write(tmp_path):
    rng = random.Random(5)
    acknowledged = {}
    published = []
    tripped = collections.Counter()
    with Database(tmp_path / "store") as database:
        database.publish = published.extend
        for number in range(100):
            step = STEPS[number % len(STEPS)]
            pending = [step]

            def visit(name, pending=pending, path=database.path):
                if pending and name == pending[0]:
                    pending.clear()
                    foreign_visit(path)

            before = database.guard_trips
            database._step = visit
            row = rng.randrange(10**9)
            seq = database.write(lambda t, row=row: t.change("add", 1, row))
            database._step = None
            assert not pending
            acknowledged[seq] = row
            with database.read() as connection:
                rows = connection.execute("SELECT row_id FROM changes WHERE seq = ?", (seq,))
                assert rows.fetchall() == [(row,)], f"lost at {step}"
            tripped[step] += database.guard_trips - before
        assert {change.seq: change.id for change in published} == acknowledged
        assert len(published) == 100, "each change is published once"
        assert database.guard_trips == sum(tripped.values()) == 100
        assert all(tripped[step] for step in STEPS)
        assert database.integrity() == []
    assert committed(database.path) == acknowledged


def test_clean_writes_raise_no_alarm(tmp_path):
    with Database(tmp_path / "store") as database, Database(tmp_path / "store") as other:
        for number in range(100):
            database.write(lambda t, number=number: t.change("add", 1, number))
            if number % 10 == 0:
                database.checkpoint(truncate=number % 20 == 0)
                other.sql("SELECT 1")
                with Database(tmp_path / "store") as third:
                    third.write(lambda t: t.change("add", 1, 0))
        assert database.guard_trips == other.guard_trips == 0


@pytest.mark.usefixtures("guard_alone")
def test_it_warns_once_and_even_a_strict_filter_fails_no_write(tmp_path):
    with Database(tmp_path / "store") as database:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for number in range(3):
                foreign_visit(database.path)
                database.write(partial(log_one, row=number))
        assert [warning.category for warning in caught] == [StoreWarning]
        assert "another SQLite library" in str(caught[0].message)
    with warnings.catch_warnings(), Database(tmp_path / "other") as database:
        warnings.simplefilter("error")
        foreign_visit(database.path)
        assert database.write(lambda t: t.change("add", 1, 1)) == 1


@pytest.mark.usefixtures("guard_alone")
@pytest.mark.filterwarnings("ignore::agentmem.store.StoreWarning")
def test_an_operation_without_changes_is_run_once_more_only_if_it_was_lost(tmp_path):
    with Database(tmp_path / "store") as database:
        database.write(lambda t: t.connection.execute("CREATE TABLE tally (n INTEGER) STRICT"))
        database.write(lambda t: t.connection.execute("INSERT INTO tally VALUES (0)"))
        for number in range(len(STEPS) * 3):
            pending = [STEPS[number % len(STEPS)]]

            def visit(name, pending=pending, path=database.path):
                if pending and name == pending[0]:
                    pending.clear()
                    foreign_visit(path)

            database._step = visit
            database.write(lambda t: t.connection.execute("UPDATE tally SET n = n + 1"))
        database._step = None
        assert database.sql("SELECT n FROM tally") == [(len(STEPS) * 3,)]


@pytest.mark.usefixtures("guard_alone")
@pytest.mark.filterwarnings("ignore::agentmem.store.StoreWarning")
def test_a_reader_that_notices_first_sees_what_is_in_the_new_files(tmp_path):
    with Database(tmp_path / "store") as database, Database(tmp_path / "store") as other:
        database.write(lambda t: t.change("add", 1, 1))
        with other.read() as connection:
            connection.execute("SELECT 1 FROM meta").fetchall()
        foreign_visit(database.path)
        with other.read() as connection:
            assert connection.execute("SELECT count(*) FROM changes").fetchall() == [(1,)]
        assert database.write(lambda t: t.change("add", 1, 2)) == 2
        assert other.sql("SELECT count(*) FROM changes") == [(2,)]
        assert (database.guard_trips, other.guard_trips) == (0, 1)


def test_a_visit_at_each_step_changes_nothing(tmp_path):
    visits = 0
    with Database(tmp_path / "store") as database:

        def visit(_):
            nonlocal visits
            visits += 1
            foreign_visit(database.path)
            for name in ("store.amem", "store.amem-wal", "store.amem-shm"):
                (database.folder / name).read_bytes()

        database._step = visit
        for number in range(1, 101):
            assert database.write(lambda t, number=number: t.change("add", 1, number)) == number
        database._step = None
        assert visits == 100 * len(STEPS)
        assert database.guard_trips == 0
        assert committed(database.path) == {number: number for number in range(1, 101)}
        assert database.integrity() == []


def test_threads_that_read_and_write_survive_many_visits(tmp_path):
    acknowledged = []
    failures = []
    stop = threading.Event()
    with Database(tmp_path / "store") as database:

        def write(base):
            try:
                for row in range(base, base + 60):
                    seq = database.write(partial(log_one, row=row))
                    acknowledged.append((seq, row))
            except Exception as error:
                failures.append(error)

        def read():
            last = 0
            while not stop.is_set():
                try:
                    with database.read() as connection:
                        (count,) = connection.execute("SELECT count(*) FROM changes").fetchall()[0]
                except StoreError as error:
                    failures.append(error)
                    return
                assert count >= last
                last = count

        threads = [threading.Thread(target=write, args=(base,)) for base in (0, 1000, 2000)]
        reader = threading.Thread(target=read)
        for thread in [*threads, reader]:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            foreign_visit(database.path)
            stop.wait(0.02)
        stop.set()
        reader.join(20)
        for thread in threads:
            thread.join(20)
        assert not failures
        assert database.guard_trips == 0
        assert dict(database.sql("SELECT seq, row_id FROM changes")) == dict(acknowledged)
        assert len(acknowledged) == 180
        assert database.integrity() == []
    assert committed(database.path) == dict(acknowledged)


def test_visits_here_while_another_process_writes_lose_nothing_on_either_side(tmp_path):
    folder = tmp_path / "store"
    own = {}
    with Database(folder) as database:
        # So many that even on a fast disk it writes for longer than some visits take.
        child = start(folder, "full", 3, 500, 4)
        assert child.stdout.readline() == "READY\n"
        number = 0
        while child.poll() is None:
            number += 1
            foreign_visit(database.path)
            own[database.write(partial(log_one, row=-number))] = -number
        out, err = child.communicate(timeout=60)
        assert child.returncode == 0, err
        assert database.guard_trips == 0
    assert number > 5
    lost, wrong = check(folder, acknowledged_rows(out.splitlines()), in_flight=0, others=own)
    assert not lost
    assert not wrong
    assert own.items() <= committed(database.path).items()


def test_a_store_that_was_removed_is_a_typed_error(tmp_path):
    with Database(tmp_path / "store") as database:
        database.write(lambda t: t.change("add", 1, 1))
        database.path.rename(tmp_path / "elsewhere")
        with pytest.raises(StoreError, match="was removed"):
            database.write(lambda t: t.change("add", 1, 2))
        with pytest.raises(StoreError, match="was removed"):
            database.sql("SELECT 1")
        assert not database.path.exists()


@pytest.mark.usefixtures("guard_alone")
def test_the_guards_are_what_saves_it(tmp_path):
    """Without them the same visit loses the write: this keeps the tests above honest."""
    with Database(tmp_path / "store") as database:
        database._pool.shared.guard.changed = lambda: False
        database._step = lambda name: foreign_visit(database.path) if name == "written" else None
        seq = database.write(lambda t: t.change("add", 1, 1))
        database._step = None
        fresh = apsw.Connection(
            f"file:{database.path}?immutable=1",
            flags=apsw.SQLITE_OPEN_URI | apsw.SQLITE_OPEN_READONLY,
        )
        assert seq == 1
        assert fresh.execute("SELECT count(*) FROM changes").fetchall() == [(0,)]
        assert not database.path.with_name("store.amem-wal").exists()
