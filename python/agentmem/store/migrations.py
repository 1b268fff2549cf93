"""Numbered migrations: each in one transaction together with its own record.

``PRAGMA user_version`` is the number of the last migration applied. A process killed at any step
leaves a file of some whole number of migrations, and the next open goes on from there.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import apsw

from agentmem.errors import SchemaVersionError, StoreError
from agentmem.store.schema_1 import SCHEMA_1
from agentmem.store.schema_2 import SCHEMA_2
from agentmem.store.schema_3 import SCHEMA_3
from agentmem.store.schema_4 import SCHEMA_4

__all__ = ["MIGRATIONS", "Migration", "copy_into", "migrate", "pending", "schema_version"]


@dataclass(frozen=True, slots=True)
class Migration:
    """One step of the schema.

    Args:
        number: The ``user_version`` after it; steps are numbered from 1 without gaps.
        name: What it does, in a few words.
        change: SQL text, or a function that works on the connection. It runs inside a transaction
            with foreign keys off; they are checked before the commit.
    """

    number: int
    name: str
    change: str | Callable[[apsw.Connection], None]


MIGRATIONS: tuple[Migration, ...] = (
    Migration(1, "first schema", SCHEMA_1),
    Migration(2, "captured logs", SCHEMA_2),
    Migration(3, "upper tiers", SCHEMA_3),
    Migration(4, "skills", SCHEMA_4),
)

_RECORD: Final = """
CREATE TABLE IF NOT EXISTS migrations (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    applied_ms INTEGER NOT NULL,
    library_version TEXT NOT NULL
) STRICT
"""


def schema_version(connection: apsw.Connection) -> int:
    """Return the number of the last migration that the file has."""
    return int(connection.pragma("user_version"))


def pending(
    connection: apsw.Connection, migrations: Sequence[Migration] | None = None
) -> list[Migration]:
    """Return the migrations that the file lacks, in order.

    Raises:
        SchemaVersionError: The file has migrations that this library does not know.
    """
    known = MIGRATIONS if migrations is None else migrations
    version = schema_version(connection)
    newest = known[-1].number
    if version > newest:
        raise SchemaVersionError(
            f"{connection.filename} has schema {version}, this agentmem knows up to {newest}; "
            "use a newer agentmem, the file was left alone"
        )
    return [migration for migration in known if migration.number > version]


def migrate(connection: apsw.Connection, *, backup: Path | None, library_version: str) -> int:
    """Bring the file to the newest schema, and return how many migrations that took.

    Call while holding the write lock, with no other write connection open.

    Args:
        connection: A connection that may write, outside any transaction.
        backup: Where to keep a copy of the file as it was before the first step; None for a file
            that is only now being made.
        library_version: Goes into the record of each step.

    Raises:
        SchemaVersionError: The file is newer than this library.
        StoreError: A step left rows that break a foreign key; it was rolled back.
    """
    steps = pending(connection)
    if not steps:
        return 0
    if backup is not None:
        for leftover in backup.parent.glob(f"{backup.name}.*.partial*"):
            leftover.unlink()
        copy_into(connection, backup, replace=True)
    connection.pragma("foreign_keys", 0)
    try:
        for step in steps:
            _apply(connection, step, library_version)
    finally:
        connection.pragma("foreign_keys", 1)
    return len(steps)


def _apply(connection: apsw.Connection, step: Migration, library_version: str) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        if isinstance(step.change, str):
            connection.execute(step.change)
        else:
            step.change(connection)
        broken = connection.execute("PRAGMA foreign_key_check").fetchall()
        if broken:
            raise StoreError(
                f"migration {step.number} ({step.name}) would leave {len(broken)} rows that break "
                f"a foreign key, the first in table {broken[0][0]}; it was rolled back"
            )
        connection.execute(_RECORD)
        connection.execute(
            "INSERT INTO migrations VALUES (?, ?, ?, ?)",
            (step.number, step.name, time.time_ns() // 1_000_000, library_version),
        )
        connection.pragma("user_version", step.number)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def copy_into(
    connection: apsw.Connection,
    target: Path,
    *,
    replace: bool = False,
    finish: Callable[[Path], None] | None = None,
) -> None:
    """Write a consistent, compact copy of the store to ``target``, complete or not at all.

    Args:
        connection: Any connection to the store, outside a transaction.
        target: The file to make, with mode 0600.
        replace: Whether an existing file may be replaced.
        finish: Called with the path of the finished copy before it gets its name.

    Raises:
        FileExistsError: ``target`` exists and ``replace`` is false.
    """
    partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
    partial.unlink(missing_ok=True)
    try:
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_NOFOLLOW, 0o600))
        partial.chmod(0o600)
        connection.execute("VACUUM INTO ?", (str(partial),))
        if finish is not None:
            finish(partial)
        sync_path(partial)
        if replace:
            partial.replace(target)
        else:
            os.link(partial, target)
        sync_path(target.parent)
    finally:
        partial.unlink(missing_ok=True)


def sync_path(path: Path) -> None:
    """Make a file's bytes, or a folder's names, survive a power cut.

    Never call it on a file that a connection of this process has open: closing the descriptor
    would drop that connection's POSIX locks.
    """
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
