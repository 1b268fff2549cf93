"""A migration killed at any step goes on at the next open and loses no row."""

import hashlib
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agentmem.errors import ReadOnlyStoreError, SchemaVersionError, StoreError
from agentmem.store import Database, migrations
from agentmem.store.migrations import Migration


def split_text(connection):
    connection.execute("ALTER TABLE note ADD COLUMN size INTEGER NOT NULL DEFAULT 0")
    connection.execute("UPDATE note SET size = length(text)")


NOTES = Migration(
    2, "notes", "CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT"
)
SIZES = Migration(3, "sizes", split_text)
INDEX = Migration(4, "index of sizes", "CREATE INDEX note_size ON note (size)")


def use(monkeypatch, *more):
    first = [step for step in migrations.MIGRATIONS if step.number == 1]
    monkeypatch.setattr(migrations, "MIGRATIONS", (*first, *more))


def digest(database):
    rows = database.sql("SELECT id, text FROM note ORDER BY id")
    return hashlib.sha256(repr(rows).encode()).hexdigest()


def old_store(folder, monkeypatch, rows=300):
    use(monkeypatch, NOTES)
    with Database(folder) as database:

        def fill(transaction):
            for number in range(rows):
                transaction.connection.execute(
                    "INSERT INTO note (text) VALUES (?)", (f"note {number} " * 20,)
                )

        database.write(fill)
        return digest(database), database.epoch


def test_each_step_is_recorded_and_the_old_file_is_kept(tmp_path, monkeypatch):
    before, epoch = old_store(tmp_path / "store", monkeypatch)
    use(monkeypatch, NOTES, SIZES, INDEX)
    with pytest.raises(ReadOnlyStoreError, match="lacks migration 3"):
        Database(tmp_path / "store", read_only=True)
    with Database(tmp_path / "store") as database:
        assert digest(database) == before
        assert database.epoch == epoch
        assert database.sql("PRAGMA user_version") == [(4,)]
        assert database.sql("SELECT number, name FROM migrations") == [
            (1, migrations.MIGRATIONS[0].name),
            (2, "notes"),
            (3, "sizes"),
            (4, "index of sizes"),
        ]
        assert all(
            when > 1.7e12 and version
            for when, version in database.sql("SELECT applied_ms, library_version FROM migrations")
        )
        assert database.sql("SELECT min(size) > 100 FROM note") == [(1,)]
        assert database.integrity() == []
    backup = tmp_path / "store" / "store.amem.v2.backup"
    assert backup.stat().st_mode & 0o777 == 0o600
    restored = tmp_path / "restored"
    restored.mkdir()
    backup.rename(restored / "store.amem")
    use(monkeypatch, NOTES)
    with Database(restored) as database:
        assert digest(database) == before


def test_a_newer_file_is_left_alone(tmp_path, monkeypatch):
    folder = tmp_path / "store"
    use(monkeypatch, NOTES, SIZES)
    Database(folder).close()
    bytes_before = (folder / "store.amem").read_bytes()
    use(monkeypatch, NOTES)
    for read_only in (False, True):
        with pytest.raises(SchemaVersionError, match="schema 3"):
            Database(folder, read_only=read_only)
    assert (folder / "store.amem").read_bytes() == bytes_before


def test_a_step_that_fails_or_breaks_a_reference_is_rolled_back(tmp_path, monkeypatch):
    before, _ = old_store(tmp_path / "store", monkeypatch)

    def failing(connection):
        connection.execute("DELETE FROM note")
        raise RuntimeError("in the middle")

    use(monkeypatch, NOTES, Migration(3, "failing", failing))
    with pytest.raises(RuntimeError):
        Database(tmp_path / "store")
    broken = (
        "CREATE TABLE part (note INTEGER REFERENCES note (id)) STRICT;"
        "INSERT INTO part VALUES (999999)"
    )
    use(monkeypatch, NOTES, Migration(3, "broken", broken))
    with pytest.raises(StoreError, match="break a foreign key"):
        Database(tmp_path / "store")
    use(monkeypatch, NOTES)
    with Database(tmp_path / "store") as database:
        assert digest(database) == before
        assert database.sql("PRAGMA user_version") == [(2,)]
        assert database.write(lambda t: t.change("add", 1, 1)) == 1


def test_killed_at_every_write_it_resumes(scratch, monkeypatch, cut_shim, request):
    """The process is killed before each of its writes in turn, until one run comes through.

    Without ``--long`` before every fifth.
    """
    step = 1 if request.config.getoption("--long") else 5
    code = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import importlib.util
spec = importlib.util.spec_from_file_location("migration_steps", {__file__!r})
steps = importlib.util.module_from_spec(spec)
spec.loader.exec_module(steps)
from pathlib import Path
from agentmem.store import Database, migrations
migrations.MIGRATIONS = (migrations.MIGRATIONS[0], steps.NOTES, steps.SIZES, steps.INDEX)
Database(Path(sys.argv[1])).close()
"""
    kills = 0
    before, epoch = old_store(scratch / "old", monkeypatch, rows=60)
    use(monkeypatch, NOTES, SIZES, INDEX)
    for at in range(0, 400, step):
        root = scratch / f"root{at}"
        shutil.copytree(scratch / "old", root / "store")
        environment = os.environ | {
            "LD_PRELOAD": str(cut_shim),
            "CUT_ROOT": str(root),
            "CUT_AT": str(at),
        }
        child = subprocess.run(
            [sys.executable, "-c", code, str(root / "store")],
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert child.returncode in (0, -signal.SIGKILL), child.stderr
        with Database(root / "store") as database:
            assert digest(database) == before, f"killed at {at}"
            assert database.epoch == epoch
            assert database.sql("SELECT number FROM migrations") == [(1,), (2,), (3,), (4,)]
            assert database.integrity() == []
        assert not list((root / "store").glob("*.partial")), "a killed copy is cleared away"
        if child.returncode == 0:
            break
        kills += 1
    else:
        pytest.fail("never came through")
    assert kills > 5
    print(f"{kills} kills")
