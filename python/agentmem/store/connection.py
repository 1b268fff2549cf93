"""Opens SQLite connections with the settings the store relies on, and names their errors.

This package is the only one that imports ``apsw``. No error of SQLite leaves it untranslated.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal

import apsw

from agentmem.errors import (
    AgentMemError,
    CorruptStoreError,
    NotAStoreError,
    ReadOnlyStoreError,
    StorageFullError,
    StoreBusyError,
    StoreError,
)

__all__ = [
    "APPLICATION_ID",
    "HEADER_BYTES",
    "Durability",
    "check_sqlite_version",
    "is_damaging",
    "open_reader",
    "open_writer",
    "read_header",
    "translate",
    "translated",
]

Durability = Literal["full", "normal"]

# "amem" in ASCII; bytes 68 to 71 of the file, where file(1) looks for it.
APPLICATION_ID: Final = 0x616D656D

# Versions 3.7.0 to 3.51.2 can lose acknowledged WAL writes when a checkpoint and a WAL reset meet.
OLDEST_SQLITE: Final = (3, 51, 3)

HEADER_BYTES: Final = 100

_SYNCHRONOUS: Final = {"full": "FULL", "normal": "NORMAL"}
_CACHED_STATEMENTS: Final = 256


def check_sqlite_version() -> None:
    """Refuse an SQLite library that can lose acknowledged writes.

    Raises:
        StoreError: The library is older than 3.51.3.
    """
    version = apsw.sqlite_lib_version()
    if tuple(int(part) for part in version.split(".")[:3]) < OLDEST_SQLITE:
        oldest = ".".join(map(str, OLDEST_SQLITE))
        raise StoreError(
            f"apsw carries SQLite {version}, which can lose acknowledged writes; "
            f"install an apsw with SQLite {oldest} or newer"
        )


def open_writer(path: Path, *, durability: Durability, busy_ms: int) -> apsw.Connection:
    """Return a connection that may write ``path``, which must exist and be in WAL mode."""
    connection = _open(path, apsw.SQLITE_OPEN_READWRITE, busy_ms)
    connection.pragma("synchronous", _SYNCHRONOUS[durability])
    connection.pragma("foreign_keys", 1)
    # A piece of 2,000 facts dirties some 6 MB; a smaller cache would write them out twice.
    connection.pragma("cache_size", -16_000)
    # Checkpoints never run inside a commit; the checkpointer has a connection of its own.
    connection.wal_autocheckpoint(0)
    _settle(connection)
    return connection


def open_reader(path: Path, *, busy_ms: int, read_only: bool = False) -> apsw.Connection:
    """Return a connection that can't write ``path``.

    With ``read_only`` the file itself is opened for reading, as on a read-only disk; an unwritable
    folder with nothing in its WAL is read as immutable, because SQLite can't make its ``-shm``.
    """
    if not read_only:
        connection = _open(path, apsw.SQLITE_OPEN_READWRITE, busy_ms)
        connection.pragma("query_only", 1)
        _settle(connection)
        return connection
    connection = _open(path, apsw.SQLITE_OPEN_READONLY, busy_ms)
    try:
        _settle(connection)
    except (apsw.CantOpenError, apsw.ReadOnlyError):
        connection.close()
        wal = path.with_name(path.name + "-wal")
        if wal.exists() and wal.stat().st_size > 0:
            raise
        connection = _open_immutable(path)
        _settle(connection)
    return connection


def read_header(path: Path) -> bytes:
    """Return the first 100 bytes of the main file; nothing is locked, recovered or created.

    Unlike a plain ``open`` and ``close`` of the file this keeps the POSIX locks that other
    connections of this process hold, because SQLite's own file layer defers the close while they
    do. What the pager would say of the file is worth nothing before it has read the WAL: after a
    kill in the middle of a checkpoint the main file alone looks damaged.
    """
    flags = apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_NOFOLLOW
    file = apsw.VFSFile("", str(path), [flags, 0])
    try:
        return file.xRead(HEADER_BYTES, 0)
    finally:
        file.xClose()


def _open_immutable(path: Path) -> apsw.Connection:
    from urllib.parse import quote

    uri = f"file:{quote(str(path))}?immutable=1"
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI | apsw.SQLITE_OPEN_NOFOLLOW
    return apsw.Connection(uri, flags=flags)


def _open(path: Path, flags: int, busy_ms: int) -> apsw.Connection:
    connection = apsw.Connection(
        str(path),
        flags=flags | apsw.SQLITE_OPEN_NOFOLLOW,
        statementcachesize=_CACHED_STATEMENTS,
    )
    connection.set_busy_timeout(busy_ms)
    # A connection whose WAL was unlinked under it must not copy that WAL into the file when it
    # closes; and sidecars that are never unlinked keep their inodes, which the guard compares.
    connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    # Names in a hostile file's schema must not reach functions with side effects.
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    return connection


def _settle(connection: apsw.Connection) -> None:
    """Open the sidecars now, so that their inodes are known before the first write."""
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()


def is_damaging(error: BaseException) -> bool:
    """Say whether a connection that met this error must be opened anew before it writes again."""
    return isinstance(
        error, (apsw.IOError, apsw.CorruptError, apsw.NotADBError, apsw.CantOpenError)
    )


def _says_damage(error: apsw.Error) -> bool:
    """Whether a statement of ours failed because the schema in the file is not what we wrote."""
    signs = ("unsupported file format", "no such table", "no such column", "malformed")
    return isinstance(error, apsw.SQLError) and any(sign in str(error) for sign in signs)


def translate(error: apsw.Error, path: Path) -> AgentMemError:
    """Return the typed error for what SQLite reported about the store at ``path``."""
    detail = f"{path}: {error}"
    if isinstance(error, apsw.FullError):
        return StorageFullError(
            errno.ENOSPC,
            f"{detail}; nothing of this write was kept, free some space and write it again",
        )
    if isinstance(error, (apsw.BusyError, apsw.LockedError)):
        return StoreBusyError(
            f"{detail}; another connection holds the store, write again later or raise timeout_s"
        )
    if isinstance(error, apsw.NotADBError):
        return NotAStoreError(f"{detail}; give the folder of an agentmem store")
    if isinstance(error, apsw.CorruptError) or _says_damage(error):
        return CorruptStoreError(f"{detail}; restore a backup, nothing was repaired or removed")
    if isinstance(error, (apsw.ReadOnlyError, apsw.PermissionsError, apsw.AuthError)):
        return ReadOnlyStoreError(f"{detail}; make the folder and its files writable")
    if isinstance(error, apsw.IOError):
        return StoreError(
            f"{detail}; whether this write was kept is unknown, look before writing it again"
        )
    return StoreError(detail)


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Raise the typed error in place of any error of SQLite, or of a full or read-only disk."""
    try:
        yield
    except apsw.Error as error:
        raise translate(error, path) from error
    except OSError as error:
        typed = _translate_os(error, path)
        if typed is None:
            raise
        raise typed from error


def _translate_os(error: OSError, path: Path) -> AgentMemError | None:
    if isinstance(error, AgentMemError):
        return None
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return StorageFullError(errno.ENOSPC, f"{path}: {error}; free some space and try again")
    if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS}:
        return ReadOnlyStoreError(f"{path}: {error}; make the folder and its files writable")
    return None
