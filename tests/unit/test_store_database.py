import os
import stat
import threading
from pathlib import Path

import apsw
import pytest

from agentmem.errors import (
    ClosedError,
    InvalidInputError,
    ReadOnlyStoreError,
    StoreBusyError,
    StoreError,
)
from agentmem.store import Change, Database
from agentmem.store.migrations import MIGRATIONS


@pytest.fixture
def database(tmp_path):
    with Database(tmp_path / "store") as opened:
        opened.write(
            lambda t: t.connection.execute(
                "CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT) STRICT"
            )
        )
        yield opened


def add(text, *, tier=1):
    def operation(transaction):
        transaction.connection.execute("INSERT INTO note (text) VALUES (?)", (text,))
        row = transaction.connection.last_insert_rowid()
        transaction.change("add", tier, row, {"text": text})
        return row

    return operation


def texts(database):
    return [row[0] for row in database.sql("SELECT text FROM note ORDER BY id")]


def test_a_write_returns_its_result_after_publish_and_counter(database):
    published = []

    def publish(changes):
        assert database.counter.value == 0, "the counter is raised after publish"
        published.append(changes)

    database.publish = publish
    assert database.write(add("one")) == 1
    assert published == [[Change(1, "add", 1, 1, {"text": "one"})]]
    assert database.counter.value == 1
    assert texts(database) == ["one"]


def test_an_operation_that_raises_leaves_nothing_and_its_error_comes_out(database):
    class OwnError(Exception):
        pass

    def failing(transaction):
        add("lost")(transaction)
        raise OwnError("mine")

    with pytest.raises(OwnError, match="mine"):
        database.write(failing)
    assert texts(database) == []
    assert database.write(add("kept")) == 1
    assert database.counter.value == 1, "a rolled back change gives its seq back"


def test_an_error_of_sqlite_is_translated_with_its_cause(database):
    with pytest.raises(StoreError, match="no such table") as caught:
        database.write(lambda t: t.connection.execute("INSERT INTO nowhere VALUES (1)"))
    assert isinstance(caught.value.__cause__, apsw.SQLError)
    with pytest.raises(StoreError, match="no such table"), database.read() as connection:
        connection.execute("SELECT * FROM nowhere")


def test_waiting_writes_share_commits_and_a_bad_one_fails_alone(database):
    published = []
    database.publish = published.append
    gate = threading.Event()
    begun = threading.Event()

    def slow(transaction):
        begun.set()
        assert gate.wait(10)
        return add("first")(transaction)

    outcomes = {}

    def call(name, operation):
        try:
            outcomes[name] = database.write(operation)
        except ZeroDivisionError as error:
            outcomes[name] = error

    threads = [threading.Thread(target=call, args=("slow", slow))]
    threads[0].start()
    assert begun.wait(10)
    for number in range(100):
        operation = (lambda t: (add("bad")(t), 1 // 0)) if number == 50 else add(f"n{number}")
        threads.append(threading.Thread(target=call, args=(number, operation)))
        threads[-1].start()
    while len(database._writer._queue) < 100:
        threading.Event().wait(0.001)
    gate.set()
    for thread in threads:
        thread.join(20)
    assert [len(changes) for changes in published] == [1, 63, 36]
    assert isinstance(outcomes.pop(50), ZeroDivisionError)
    assert sorted(outcomes.values()) == list(range(1, 101))
    seqs = [change.seq for changes in published for change in changes]
    assert seqs == list(range(1, 101))
    assert "bad" not in texts(database)


def test_a_write_inside_an_operation_is_refused(database):
    with pytest.raises(StoreError, match="inside another write"):
        database.write(lambda _: database.write(add("inner")))
    assert database.write(add("after")) == 1


def test_an_operation_may_not_end_its_transaction(database):
    with pytest.raises(StoreError, match="ended its transaction"):
        database.write(lambda t: t.connection.execute("COMMIT"))
    assert database.write(add("after")) == 1


def test_a_read_block_is_one_snapshot_and_nests(database):
    database.write(add("one"))
    with database.read() as outer:
        assert outer.execute("SELECT count(*) FROM note").fetchall() == [(1,)]
        writer = threading.Thread(target=database.write, args=(add("two"),))
        writer.start()
        writer.join(10)
        with database.read() as inner:
            assert inner is outer
            assert inner.execute("SELECT count(*) FROM note").fetchall() == [(1,)]
        assert outer.execute("SELECT count(*) FROM note").fetchall() == [(1,)]
    with database.read() as later:
        assert later.execute("SELECT count(*) FROM note").fetchall() == [(2,)]


def test_a_reader_cannot_write(database):
    with pytest.raises(ReadOnlyStoreError), database.read() as connection:
        connection.execute("INSERT INTO note (text) VALUES ('x')")


@pytest.mark.parametrize(
    "query",
    [
        "INSERT INTO note (text) VALUES ('x')",
        "DELETE FROM note",
        "PRAGMA query_only = 0",
        "PRAGMA user_version = 9",
        "PRAGMA journal_mode = DELETE",
        "PRAGMA wal_checkpoint(TRUNCATE)",
        "ATTACH ':memory:' AS other",
        "VACUUM",
        "BEGIN IMMEDIATE",
        "SELECT load_extension('x')",
        "SELECT 1; DROP TABLE note",
        "CREATE TEMP TABLE t (x)",
    ],
)
def test_sql_refuses_to_do_more_than_read(database, query):
    database.write(add("kept"))
    with pytest.raises(InvalidInputError):
        database.sql(query)
    assert texts(database) == ["kept"]
    assert database.sql("PRAGMA user_version") == [(MIGRATIONS[-1].number,)]


@pytest.mark.parametrize(
    ("query", "parameters"),
    [
        ("SELEC 1", ()),
        ("SELECT ?", ()),
        ("SELECT ?", (1, 2)),
        ("SELECT ?", (object(),)),
        ("SELECT ?", (2**70,)),
        ("SELECT '\ud800'", ()),
        ("SELECT * FROM nowhere", ()),
        ("(" * 20_000, ()),
    ],
)
def test_sql_names_bad_input(database, query, parameters):
    with pytest.raises(InvalidInputError):
        database.sql(query, parameters)


def test_sql_reads_any_statement_and_blank_text(database):
    database.write(add("Đà Nẵng 部署 🙂 \0 end"))
    assert database.sql("SELECT text FROM note WHERE id = :id", {"id": 1}) == [
        ("Đà Nẵng 部署 🙂 \0 end",)
    ]
    assert database.sql(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n LIMIT 3) SELECT i FROM n"
    ) == [(1,), (2,), (3,)]
    assert database.sql("PRAGMA table_info(note)")[1][1] == "text"
    assert database.sql("") == []


def test_close_is_idempotent_and_later_use_is_refused(tmp_path):
    database = Database(tmp_path / "store")
    database.close()
    database.close()
    for use in (
        lambda: database.write(add("x")),
        lambda: database.read().__enter__(),
        lambda: database.sql("SELECT 1"),
        database.checkpoint,
        database.integrity,
        database.__enter__,
    ):
        with pytest.raises(ClosedError):
            use()


@pytest.mark.parametrize("mask", [0o000, 0o022])
def test_folder_and_files_are_private(tmp_path, mask):
    old = os.umask(mask)
    try:
        with Database(tmp_path / "store") as database:
            database.write(lambda t: t.change("add", 1, 1))
            database.backup(tmp_path / "copy.amem")
            modes = {
                path.name: stat.S_IMODE(path.stat().st_mode)
                for path in (tmp_path / "store").iterdir()
            }
    finally:
        os.umask(old)
    assert set(modes) == {"store.amem", "store.amem-wal", "store.amem-shm", "LOCK.write", "counter"}
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE((tmp_path / "store").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "copy.amem").stat().st_mode) == 0o600


def test_a_backup_is_whole_has_its_own_epoch_and_opens(database, tmp_path):
    for number in range(20):
        database.write(add(f"n{number}"))
    restored = tmp_path / "restored"
    restored.mkdir()
    database.backup(restored / "store.amem")
    with pytest.raises(FileExistsError):
        database.backup(restored / "store.amem")
    with Database(restored, create=False) as copy:
        assert texts(copy) == texts(database)
        assert copy.epoch != database.epoch
        assert copy.counter.value == database.counter.value == 20
        assert copy.integrity() == []
        assert copy.write(add("more")) == 21


def test_a_read_only_handle_can_be_backed_up(tmp_path):
    with Database(tmp_path / "store") as database:
        database.write(lambda t: t.change("add", 1, 1))
        with Database(tmp_path / "store", read_only=True) as reader:
            reader.backup(tmp_path / "copy.amem")
            database.write(lambda t: t.change("add", 1, 2))
            assert reader.counter.value == 2
            assert reader.sql("SELECT count(*) FROM changes") == [(2,)]
    folder = tmp_path / "restored"
    folder.mkdir()
    (tmp_path / "copy.amem").rename(folder / "store.amem")
    with Database(folder) as copy:
        assert copy.sql("SELECT count(*) FROM changes") == [(1,)]


def test_emptying_the_wal_lets_writers_go_on_while_a_reader_needs_it(tmp_path):
    with Database(tmp_path / "store", timeout_s=0.5) as database:
        database.write(lambda t: t.change("add", 1, 1))
        with database.read() as connection:
            connection.execute("SELECT count(*) FROM changes").fetchall()
            database.write(lambda t: t.change("add", 1, 2))
            outcome = []

            def empty():
                try:
                    database.checkpoint(truncate=True)
                except StoreBusyError as error:
                    outcome.append(error)

            thread = threading.Thread(target=empty)
            thread.start()
            written = 2
            while thread.is_alive():
                written = database.write(lambda t: t.change("add", 1, 1))
            thread.join(20)
            assert len(outcome) == 1
            assert written > 10
        database.checkpoint(truncate=True)
        assert database.path.with_name("store.amem-wal").stat().st_size == 0
        assert database.write(lambda t: t.change("add", 1, 1)) == written + 1


def test_an_older_file_put_into_the_folder_gets_a_new_epoch(tmp_path):
    folder = tmp_path / "store"
    with Database(folder) as database:
        epoch = database.epoch
        database.write(lambda t: t.change("add", 1, 1))
    old = (folder / "store.amem").read_bytes()
    with Database(folder) as database:
        assert database.epoch == epoch
        database.write(lambda t: t.change("add", 1, 2))
    (folder / "store.amem").write_bytes(old)
    with Database(folder) as database:
        assert database.counter.value == 1
        assert database.epoch != epoch


def test_two_handles_of_one_process_see_each_other(tmp_path):
    with Database(tmp_path / "store") as one, Database(tmp_path / "store") as two:
        assert one.epoch == two.epoch
        one.write(lambda t: t.change("add", 1, 1))
        assert two.counter.value == 1
        two.write(lambda t: t.change("add", 1, 2))
        assert one.counter.value == 2
        assert one.sql("SELECT seq, row_id FROM changes") == [(1, 1), (2, 2)]
        assert one.guard_trips == two.guard_trips == 0


def test_a_read_only_handle_reads_and_refuses_writes(tmp_path):
    folder = tmp_path / "store"
    with Database(folder) as database:
        database.write(lambda t: t.change("add", 1, 1))
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with Database(folder, read_only=True) as database:
        assert database.sql("SELECT count(*) FROM changes") == [(1,)]
        with pytest.raises(ReadOnlyStoreError):
            database.write(lambda t: t.change("add", 1, 2))
    assert {path.name: path.read_bytes() for path in folder.iterdir()}.keys() == before.keys()
    assert (folder / "store.amem").read_bytes() == before["store.amem"]


@pytest.mark.parametrize(
    "arguments", [{"durability": "none"}, {"timeout_s": -1}, {"timeout_s": float("nan")}]
)
def test_bad_arguments_are_named(tmp_path, arguments):
    with pytest.raises(InvalidInputError, match=next(iter(arguments))):
        Database(tmp_path / "store", **arguments)
    assert not Path(tmp_path / "store").exists()


def test_vacuum_leaves_no_removed_byte(database):
    folder = database.folder
    database.write(add("secret-" * 50))
    database.write(lambda t: t.connection.execute("DELETE FROM note"))
    database.vacuum()
    for path in folder.iterdir():
        assert b"secret-secret" not in path.read_bytes(), path.name
