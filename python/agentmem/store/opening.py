"""What is looked at, made or brought up to date before a store is used."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import apsw

from agentmem.errors import (
    CorruptStoreError,
    NotAStoreError,
    ReadOnlyStoreError,
)
from agentmem.store.connection import (
    APPLICATION_ID,
    HEADER_BYTES,
    open_writer,
    read_header,
)
from agentmem.store.migrations import migrate, pending, schema_version, sync_path

__all__ = [
    "check_schema",
    "last_seq",
    "prepare",
    "probe",
    "read_epoch",
    "read_meta",
    "renew_epoch",
    "renew_epoch_of_copy",
]

_BUSY_MS: Final = 10_000
# Source: SQLite's "Database File Format", section "The Database Header".
_MAGIC: Final = b"SQLite format 3\0"
_APPLICATION_ID_AT: Final = 68
_SET_EPOCH: Final = "INSERT OR REPLACE INTO meta (key, value) VALUES ('epoch', ?)"


def probe(path: Path) -> None:
    """Make sure, without writing or creating anything, that a file is one of our stores.

    Raises:
        NotAStoreError: It is no SQLite file, or one of another program.
        CorruptStoreError: It is empty.
    """
    size_bytes = path.stat().st_size
    if size_bytes == 0:
        raise CorruptStoreError(f"{path} is empty; restore a backup")
    header = read_header(path) if size_bytes >= HEADER_BYTES else b""
    if not header.startswith(_MAGIC):
        raise NotAStoreError(
            f"{path} is not an SQLite file, or its head is damaged; "
            "give the folder of an agentmem store, or restore a backup"
        )
    application_id = int.from_bytes(header[_APPLICATION_ID_AT : _APPLICATION_ID_AT + 4], "big")
    if application_id != APPLICATION_ID:
        raise NotAStoreError(
            f"{path} is an SQLite file of another program (application id {application_id:#x}); "
            "give the folder of an agentmem store"
        )


def prepare(path: Path) -> None:
    """Make the store if there is none, else check it and bring its schema up to date.

    Call while holding the write lock.
    """
    if not path.exists():
        _make(path)
        return
    probe(path)
    connection = open_writer(path, durability="full", busy_ms=_BUSY_MS)
    try:
        # A backup is in rollback mode until it is opened as a store.
        if connection.pragma("journal_mode") != "wal":
            connection.pragma("journal_mode", "wal")
        if pending(connection):
            backup = path.with_name(f"{path.name}.v{schema_version(connection)}.backup")
            migrate(connection, backup=backup, library_version=_library_version())
    finally:
        connection.close()


def _make(path: Path) -> None:
    """Build a complete store beside its name, then give it the name."""
    for leftover in path.parent.glob(f"{path.name}.new*"):
        leftover.unlink()
    new = path.with_name(f"{path.name}.new")
    os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_NOFOLLOW, 0o600))
    new.chmod(0o600)
    connection = apsw.Connection(
        str(new), flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW
    )
    try:
        connection.pragma("application_id", APPLICATION_ID)
        migrate(connection, backup=None, library_version=_library_version())
        renew_epoch(connection)
        connection.pragma("journal_mode", "wal")
    finally:
        connection.close()
    sync_path(new)
    new.rename(path)
    sync_path(path.parent)


def _library_version() -> str:
    from importlib import metadata

    try:
        return metadata.version("agentmem-tiers")
    except metadata.PackageNotFoundError:
        return "0+unknown"


def check_schema(connection: apsw.Connection) -> None:
    """Refuse a file that a reader can't use as it is.

    Raises:
        SchemaVersionError: It is newer than this library.
        ReadOnlyStoreError: It is older and must be migrated first.
    """
    steps = pending(connection)
    if steps:
        raise ReadOnlyStoreError(
            f"{connection.filename} lacks migration {steps[0].number} ({steps[0].name}); "
            "open it once without read_only"
        )


def read_epoch(connection: apsw.Connection) -> str:
    """Return the file's epoch, the row that every whole store has.

    Raises:
        CorruptStoreError: It is missing.
    """
    try:
        rows = connection.execute("SELECT value FROM meta WHERE key = 'epoch'").fetchall()
    except apsw.SQLError as error:
        raise CorruptStoreError(f"{connection.filename}: {error}; restore a backup") from error
    if len(rows) != 1 or not rows[0][0]:
        raise CorruptStoreError(f"{connection.filename} has lost its epoch; restore a backup")
    return str(rows[0][0])


def read_meta(connection: apsw.Connection, key: str) -> str | None:
    """Return a value of the store's own notes, None where there is none of this key."""
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return None if row is None else str(row[0])


def last_seq(connection: apsw.Connection) -> int:
    """Return the ``seq`` of the last change ever committed to this file, 0 if there is none.

    It is read from the sequence, which stays when old changes are pruned.
    """
    rows = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'changes'").fetchall()
    return int(str(rows[0][0])) if rows else 0


def renew_epoch(connection: apsw.Connection) -> None:
    """Give the file a new random epoch: what was derived from its past no longer fits."""
    connection.execute(_SET_EPOCH, (os.urandom(16).hex(),))


def renew_epoch_of_copy(path: Path) -> None:
    """Give a finished copy an epoch of its own."""
    connection = apsw.Connection(
        str(path), flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW
    )
    try:
        renew_epoch(connection)
    finally:
        connection.close()
