import os
import sqlite3
import struct
import threading
from pathlib import Path

import apsw
import pytest

from agentmem.errors import (
    CorruptStoreError,
    NotAStoreError,
    ReadOnlyStoreError,
    StorageFullError,
    StoreBusyError,
    StoreError,
)
from agentmem.store import Database, connection
from agentmem.store.connection import translate
from agentmem.store.counter import ChangeCounter


def snapshot(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


def make(folder, rows=50):
    with Database(folder) as database:
        database.write(lambda t: t.connection.execute("CREATE TABLE note (text TEXT)"))
        for number in range(rows):
            database.write(
                lambda t, n=number: (
                    t.connection.execute("INSERT INTO note VALUES (?)", (f"note {n} " * 100,)),
                    t.change("add", 1, n),
                )
            )
    return folder / "store.amem"


def foreign_sqlite(folder):
    other = sqlite3.connect(folder / "store.amem")
    other.execute("CREATE TABLE theirs (x)")
    other.commit()
    other.close()


FOREIGN = {
    "other files": lambda folder: (folder / "thesis.txt").write_text("mine"),
    "text of that name": lambda folder: (folder / "store.amem").write_text("hello " * 100),
    "short file": lambda folder: (folder / "store.amem").write_text("x"),
    "SQLite of another program": foreign_sqlite,
    "folder of that name": lambda folder: (folder / "store.amem").mkdir(),
    "symlink of that name": lambda folder: (folder / "store.amem").symlink_to("/etc/hostname"),
    "lock is a pipe": lambda folder: os.mkfifo(folder / "LOCK.write"),
    "counter is a folder's child": lambda folder: os.mkfifo(folder / "counter"),
}


@pytest.mark.parametrize("what", FOREIGN)
def test_a_folder_that_is_not_ours_is_refused_and_left_alone(tmp_path, what):
    folder = tmp_path / "theirs"
    folder.mkdir()
    FOREIGN[what](folder)
    before = {name: content for name, content in snapshot(folder).items() if content is not None}
    with pytest.raises(NotAStoreError, match=str(folder)):
        Database(folder)
    after = snapshot(folder)
    assert {name: after[name] for name in before} == before
    assert set(after) - set(before) <= {"store.amem", "LOCK.write", "counter"}
    assert not (folder / "store.amem-wal").exists()


@pytest.mark.parametrize("what", ["file", "under a file", "NUL", "dangling link"])
def test_a_path_that_can_be_no_folder_is_refused(tmp_path, what):
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "gone")
    path = {
        "file": tmp_path / "file",
        "under a file": tmp_path / "file" / "store",
        "NUL": f"{tmp_path}/a\0b",
        "dangling link": tmp_path / "link",
    }[what]
    with pytest.raises(NotAStoreError):
        Database(path)


def test_nothing_is_made_unless_asked(tmp_path):
    with pytest.raises(NotAStoreError, match="create=True"):
        Database(tmp_path / "none", create=False)
    with pytest.raises(NotAStoreError):
        Database(tmp_path / "none", read_only=True)
    assert not (tmp_path / "none").exists()


def test_a_symlink_of_our_own_is_followed_and_of_another_user_is_not(tmp_path):
    make(tmp_path / "real")
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "real")
    with Database(link) as database:
        assert database.folder == tmp_path / "real"
    if os.geteuid() != 0:
        pytest.skip("only root can give a link away")
    os.lchown(link, 12345, 12345)
    with pytest.raises(NotAStoreError, match="12345"):
        Database(link)


@pytest.mark.parametrize("name", ["LOCK.write", "counter", "store.amem", "store.amem-wal"])
def test_a_planted_symlink_is_not_followed(tmp_path, name):
    folder = tmp_path / "store"
    make(folder)
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    victim.chmod(0o644)
    (folder / name).unlink()
    (folder / name).symlink_to(victim)
    with pytest.raises((StoreError, OSError)):
        Database(folder)
    assert victim.read_bytes() == b"precious"
    assert victim.stat().st_mode & 0o777 == 0o644


def damage(path, kind):
    content = bytearray(path.read_bytes())
    if kind == "empty":
        content.clear()
    elif kind == "cut in half":
        del content[len(content) // 2 // 4096 * 4096 :]
    elif kind == "schema page":
        content[100:2000] = bytes(1900)
    elif kind == "epoch":
        content = bytearray(bytes(content).replace(b"epoch", b"xxxxx"))
    path.write_bytes(content)


@pytest.mark.parametrize("kind", ["empty", "cut in half", "schema page", "epoch"])
def test_damage_is_noticed_at_open_and_left_as_it_is(tmp_path, kind):
    path = make(tmp_path / "store")
    damage(path, kind)
    before = path.read_bytes()
    with pytest.raises(CorruptStoreError, match="restore a backup"):
        Database(path.parent)
    assert path.read_bytes() == before


def test_damage_inside_is_found_by_integrity(tmp_path):
    path = make(tmp_path / "store")
    content = bytearray(path.read_bytes())
    content[-3 * 4096 :] = os.urandom(3 * 4096)
    path.write_bytes(content)
    with Database(path.parent) as database:
        assert database.integrity()
        with pytest.raises(CorruptStoreError):
            database.sql("SELECT text FROM note")


def test_two_threads_that_make_one_store_share_it(tmp_path):
    opened, failures = [], []

    def run():
        try:
            opened.append(Database(tmp_path / "store"))
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not failures
    assert len({database.epoch for database in opened}) == 1
    for number, database in enumerate(opened, 1):
        assert database.write(lambda t, n=number: t.change("add", 1, n)) == number
    assert sum(database.guard_trips for database in opened) == 0
    for database in opened:
        database.close()


def test_an_old_sqlite_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: "3.51.2")
    with pytest.raises(StoreError, match=r"3\.51\.3"):
        Database(tmp_path / "store")
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: "3.51.3")
    connection.check_sqlite_version()


def test_an_interrupted_making_is_made_anew(tmp_path):
    folder = tmp_path / "store"
    folder.mkdir()
    (folder / "store.amem.new").write_bytes(b"half")
    (folder / "store.amem.new-journal").write_bytes(b"half")
    with Database(folder) as database:
        assert database.write(lambda t: t.change("add", 1, 1)) == 1
    assert not list(folder.glob("*.new*"))


@pytest.mark.parametrize("content", [b"", b"abc", struct.pack("=Q", 2**63), b"x" * 100])
def test_a_wrong_counter_is_set_from_the_rows(tmp_path, content):
    folder = tmp_path / "store"
    make(folder, rows=3)
    (folder / "counter").write_bytes(content)
    with Database(folder) as database:
        assert database.counter.value == 3
        assert database.write(lambda t: t.change("add", 1, 1)) == 4


def test_the_counter_is_shared_and_only_rises(tmp_path):
    one, two = ChangeCounter(tmp_path / "counter"), ChangeCounter(tmp_path / "counter")
    one.raise_to(7)
    two.raise_to(5)
    assert one.value == two.value == 7
    one.close()
    two.raise_to(2**40)
    assert (one.value, two.value) == (7, 2**40)
    two.close()
    assert ChangeCounter(tmp_path / "missing", read_only=True).value == 0
    assert not (tmp_path / "missing").exists()


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (apsw.FullError, StorageFullError),
        (apsw.BusyError, StoreBusyError),
        (apsw.LockedError, StoreBusyError),
        (apsw.NotADBError, NotAStoreError),
        (apsw.CorruptError, CorruptStoreError),
        (apsw.ReadOnlyError, ReadOnlyStoreError),
        (apsw.PermissionsError, ReadOnlyStoreError),
        (apsw.IOError, StoreError),
        (apsw.CantOpenError, StoreError),
        (apsw.ConstraintError, StoreError),
    ],
)
def test_each_error_of_sqlite_has_one_type(tmp_path, error, kind):
    assert type(translate(error("detail"), tmp_path)) is kind


def test_readers_of_ended_threads_and_queries_leave_no_descriptor(tmp_path):
    with Database(tmp_path / "store") as database:

        def read():
            with database.read() as connection:
                connection.execute("SELECT count(*) FROM changes").fetchall()
            database.sql("SELECT 1")

        def rounds(count):
            for _ in range(count):
                thread = threading.Thread(target=read)
                thread.start()
                thread.join(20)
            return len(list(Path("/proc/self/fd").iterdir()))

        first = rounds(10)
        assert rounds(100) <= first + 4
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(20):
        Database(tmp_path / "store").close()
    assert len(list(Path("/proc/self/fd").iterdir())) <= before


def test_close_does_not_wait_for_ever_for_a_reader(tmp_path):
    database = Database(tmp_path / "store")
    entered, leave = threading.Event(), threading.Event()
    outcome = []

    def read():
        try:
            with database.read() as connection:
                connection.execute("SELECT count(*) FROM changes").fetchall()
                entered.set()
                leave.wait(60)
                connection.execute("SELECT count(*) FROM changes").fetchall()
        except StoreError as error:
            outcome.append(error)

    thread = threading.Thread(target=read)
    thread.start()
    assert entered.wait(20)
    closer = threading.Thread(target=database.close)
    closer.start()
    closer.join(20)
    assert not closer.is_alive()
    leave.set()
    thread.join(20)
    assert len(outcome) == 1, "the reader gets a typed error"
