"""A full disk, a failing one and one that can't be written: typed errors, and then on."""

import contextlib
import os
import resource
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from agentmem.errors import ReadOnlyStoreError, StorageFullError, StoreError
from agentmem.store import Database


@contextlib.contextmanager
def small_disk(folder, size="3m"):
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("no small file system can be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def add(number, size=4000):
    def operation(transaction):
        transaction.connection.execute("INSERT INTO note VALUES (?, ?)", (number, "x" * size))
        return transaction.change("add", 1, number)

    return operation


def fill(database, first=1):
    """Write until the disk is full; return the numbers acknowledged."""
    kept = []
    for number in range(first, first + 5000):
        try:
            database.write(add(number))
        except StorageFullError as error:
            if "free some space" not in str(error):
                raise
            return kept
        kept.append(number)
    pytest.fail("the disk never became full")


def numbers(database):
    with database.read() as connection:
        return [row[0] for row in connection.execute("SELECT number FROM note ORDER BY number")]


def test_a_full_disk_keeps_what_was_acknowledged_and_goes_on_when_space_returns(tmp_path):
    with small_disk(tmp_path / "disk") as disk:
        ballast = disk / "ballast"
        ballast.write_bytes(bytes(1 << 20))
        with Database(disk / "store") as database:
            database.write(
                lambda t: t.connection.execute("CREATE TABLE note (number INTEGER, text TEXT)")
            )
            kept = fill(database)
            assert len(kept) > 50
            assert numbers(database) == kept
            with pytest.raises(StorageFullError) as caught:
                database.write(add(9999))
            assert isinstance(caught.value, OSError)
            assert numbers(database) == kept
            ballast.unlink()
            more = fill(database, first=10_000)
            assert len(more) > 20, "writes go on without reopening"
            assert numbers(database) == kept + more
            assert database.counter.value == len(kept + more)
            assert database.guard_trips == 0
        with Database(disk / "store", read_only=True) as database:
            assert numbers(database) == kept + more
            assert database.integrity() == []


def test_a_store_that_does_not_fit_is_a_typed_error_and_can_be_made_later(tmp_path):
    with small_disk(tmp_path / "disk", size="64k") as disk:
        (disk / "ballast").write_bytes(bytes(48 << 10))
        with pytest.raises(StorageFullError):
            Database(disk / "store")
    with small_disk(tmp_path / "other") as disk:
        ballast = disk / "ballast"
        with contextlib.suppress(OSError):
            ballast.write_bytes(bytes(3 << 20))
        with pytest.raises(StorageFullError):
            Database(disk / "store")
        ballast.unlink()
        with Database(disk / "store") as database:
            assert database.write(lambda t: t.change("add", 1, 1)) == 1


def test_a_file_size_limit_is_a_typed_error_and_ends_with_the_limit(tmp_path):
    """Works without the right to mount: the write of the WAL fails in the middle."""
    code = f"""
import resource, signal
from pathlib import Path
from agentmem.errors import StoreError
from agentmem.store import Database
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
database = Database(Path({str(tmp_path / "store")!r}))
database.write(lambda t: t.connection.execute("CREATE TABLE note (text TEXT)"))
def add(t):
    t.connection.execute("INSERT INTO note VALUES (?)", ("x" * 4000,))
    t.change("add", 1, 1)
limits = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, limits[1]))
kept = 0
try:
    for _ in range(1000):
        database.write(add)
        kept += 1
except StoreError as error:
    print(type(error).__name__)  # noqa: T201
print(database.sql("SELECT count(*) FROM note") == [(kept,)], kept > 20)
resource.setrlimit(resource.RLIMIT_FSIZE, limits)
database.write(add)
print(database.sql("SELECT count(*) FROM note") == [(kept + 1,)], database.integrity())
"""
    child = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=100, check=False
    )
    assert child.returncode == 0, child.stderr
    error, *rest = child.stdout.splitlines()
    assert error in ("StorageFullError", "StoreError")
    assert rest == ["True True", "True []"]


@pytest.mark.skipif(not os.access("/usr/bin/strace", os.X_OK), reason="no strace here")
@pytest.mark.parametrize(
    "fault", ["fdatasync:error=EIO", "pwrite64:error=EIO", "pwrite64:error=ENOSPC"]
)
def test_a_failing_disk_is_a_typed_error_and_the_store_goes_on(tmp_path, fault):
    folder = tmp_path / "store"
    code = """
import os, sys
from pathlib import Path
from agentmem.errors import AgentMemError
from agentmem.store import Database
try:
    database = Database(Path(sys.argv[1]))
except AgentMemError as error:
    os.write(1, b"%s\\n" % type(error).__name__.encode())
    database = Database(Path(sys.argv[1]))
for number in range(30):
    try:
        os.write(1, b"%d\\n" % database.write(lambda t: t.change("add", 1, number)))
    except AgentMemError as error:
        os.write(1, b"%s\\n" % type(error).__name__.encode())
"""
    with Database(folder):
        pass
    for when in (1, 4, 9, 20):
        call = fault.split(":")[0]
        command = [
            "strace",
            "-f",
            "-qq",
            "-o",
            "/dev/null",
            "-e",
            f"trace={call}",
            "-e",
            f"inject={fault}:when={when}",
        ]
        child = subprocess.run(
            [*command, sys.executable, "-c", code, str(folder)],
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        assert child.returncode == 0, child.stderr
        lines = child.stdout.split()
        seqs = [int(line) for line in lines if line.isdigit()]
        assert set(lines) - set(map(str, seqs)) <= {"StoreError", "StorageFullError"}
        assert len(lines) - len(seqs) <= 1, "one fault fails at most one write"
        with Database(folder) as database:
            there = {row[0] for row in database.sql("SELECT seq FROM changes")}
            assert there >= set(seqs)
            assert database.integrity() == []


@pytest.mark.skipif(os.geteuid() != 0, reason="needs the right to mount")
def test_a_read_only_disk_opens_for_reading_only(tmp_path):
    with small_disk(tmp_path / "disk") as disk:
        with Database(disk / "store") as database:
            database.write(lambda t: t.change("add", 1, 1))
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        with pytest.raises(ReadOnlyStoreError):
            Database(disk / "store")
        with Database(disk / "store", read_only=True) as database:
            assert database.sql("SELECT count(*) FROM changes") == [(1,)]
            assert database.counter.value == 1
            with pytest.raises(ReadOnlyStoreError):
                database.write(lambda t: t.change("add", 1, 2))


@pytest.mark.skipif(os.geteuid() != 0, reason="needs the right to become another user")
def test_a_folder_of_another_user_is_a_typed_error(tmp_path):
    folder = tmp_path / "store"
    with Database(folder) as database:
        database.write(lambda t: t.change("add", 1, 1))
    for path in (tmp_path, *tmp_path.parents):
        if path.stat().st_uid == os.geteuid() and path.is_relative_to("/tmp/pytest-of-root"):
            path.chmod(0o755)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    answers = []
    for folder_mode, file_mode in ((0o755, 0o644), (0o777, 0o644), (0o755, 0o666)):
        folder.chmod(folder_mode)
        for path in folder.iterdir():
            path.chmod(file_mode)
        pid = os.fork()
        if pid == 0:
            code = 9
            try:
                os.setuid(65534)
                Database(folder)
            except ReadOnlyStoreError:
                code = 7
            except BaseException:
                code = 8
            finally:
                os._exit(code)
        answers.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    assert answers == [7, 7, 7]
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_few_descriptors_are_a_typed_error(tmp_path):
    with Database(tmp_path / "store") as database:
        database.write(lambda t: t.change("add", 1, 1))
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        used = max(int(path.name) for path in Path("/proc/self/fd").iterdir())
        resource.setrlimit(resource.RLIMIT_NOFILE, (used, limits[1]))
        held = []
        try:
            with contextlib.suppress(OSError):
                while True:
                    held.append(os.open(os.devnull, os.O_RDONLY))
            with pytest.raises(StoreError):
                database.sql("SELECT 1")
            assert database.write(lambda t: t.change("add", 1, 2)) == 2
        finally:
            for fd in held:
                os.close(fd)
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        assert database.sql("SELECT count(*) FROM changes") == [(2,)]


def test_the_wal_stays_bounded_beside_readers_and_after_them(tmp_path):
    with Database(tmp_path / "store", durability="normal") as database:
        database.write(
            lambda t: t.connection.execute("CREATE TABLE note (number INTEGER, text TEXT)")
        )
        wal = database.path.with_name("store.amem-wal")
        with database.read() as connection:
            connection.execute("SELECT count(*) FROM note").fetchall()
            for number in range(3000):
                database.write(add(number))
            pinned = wal.stat().st_size
            assert pinned > 4000 * 4096
        sizes = []
        for first in (3000, 9000):
            for number in range(first, first + 6000):
                database.write(add(number))
            sizes.append(wal.stat().st_size)
        assert database._checkpointer.runs, database._checkpointer.last_error
        # 6,000 writes are some 120 MB: a WAL that is never written from its start grows by those.
        assert sizes[1] - sizes[0] < pinned, "the WAL is written from its start again"
        checked = apsw.Connection(str(database.path), flags=apsw.SQLITE_OPEN_READONLY)
        assert checked.execute("SELECT count(*) FROM note").fetchall() == [(15000,)]
        checked.close()
    assert wal.stat().st_size == 0
