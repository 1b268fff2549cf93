"""The folder of a store: whose it is, what may stand in it, and who may read it."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from agentmem.errors import NotAStoreError, ReadOnlyStoreError

__all__ = [
    "CONSOLIDATION",
    "COUNTER",
    "FILE_MODE",
    "HOSTS",
    "LOCK",
    "STORE",
    "folder_bytes",
    "protect_files",
    "resolve_folder",
]

STORE: Final = "store.amem"
LOCK: Final = "LOCK.write"
COUNTER: Final = "counter"
CONSOLIDATION: Final = "LOCK.consolidate"
HOSTS: Final = "hosts"
FILE_MODE: Final = 0o600
FOLDER_MODE: Final = 0o700
_OURS: Final = frozenset({LOCK, COUNTER, CONSOLIDATION, HOSTS, "index"})


def resolve_folder(folder: Path, *, create: bool) -> Path:
    """Return the folder's real path after making sure that it is, or may become, a store.

    Nothing is written into a folder that holds something else.

    Raises:
        NotAStoreError: It is no folder, a symlink of another user, or holds other things; or it
            holds no store and ``create`` is false.
        ReadOnlyStoreError: It can't be made here.
    """
    try:
        link = os.lstat(folder)
    except FileNotFoundError:
        return _make(folder, create=create)
    except NotADirectoryError as error:
        raise NotAStoreError(f"{folder} lies under a file; give a folder") from error
    except ValueError as error:
        raise NotAStoreError(f"{str(folder)!r} can't be a path: {error}") from error
    if stat.S_ISLNK(link.st_mode) and link.st_uid != os.geteuid():
        raise NotAStoreError(
            f"{folder} is a symlink that belongs to user {link.st_uid}; give the real path"
        )
    if not folder.is_dir():
        raise NotAStoreError(f"{folder} is not a folder; give the folder of the store")
    real = Path(os.path.realpath(folder))
    names = {path.name for path in real.iterdir()}
    if STORE in names:
        _check_store_file(real / STORE)
    elif not create:
        raise NotAStoreError(f"{folder} holds no store; open it with create=True to make one")
    else:
        foreign = sorted(name for name in names if not _is_ours(name))
        if foreign:
            raise NotAStoreError(
                f"{folder} holds {foreign[0]!r} and no store; give an empty or a new folder"
            )
    return real


def _make(folder: Path, *, create: bool) -> Path:
    if not create:
        raise NotAStoreError(f"{folder} does not exist; open it with create=True to make it")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=FOLDER_MODE, exist_ok=True)
    except PermissionError as error:
        raise ReadOnlyStoreError(f"{folder} can't be made: {error}") from error
    except (FileExistsError, NotADirectoryError) as error:
        raise NotAStoreError(f"{folder} lies under a file; give a folder") from error
    return Path(os.path.realpath(folder))


def _is_ours(name: str) -> bool:
    return name in _OURS or name.startswith(STORE)


def _check_store_file(path: Path) -> None:
    if not stat.S_ISREG(os.lstat(path).st_mode):
        raise NotAStoreError(f"{path} is not a regular file; a store is never a symlink")


def protect_files(folder: Path) -> None:
    """Give the folder mode 0700 and the store's files 0600, where they are ours to change.

    ``chmod`` opens nothing, so no POSIX lock is lost; symlinks are left alone.
    """
    _restrict(folder, FOLDER_MODE)
    for name in (STORE, f"{STORE}-wal", f"{STORE}-shm", LOCK, COUNTER):
        _restrict(folder / name, FILE_MODE)


def _restrict(path: Path, mode: int) -> None:
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return
    if stat.S_ISLNK(status.st_mode) or status.st_uid != os.geteuid():
        return
    if stat.S_IMODE(status.st_mode) != mode:
        path.chmod(mode)


def folder_bytes(folder: Path) -> int:
    """Return the size of every file of a folder, in bytes; what vanishes meanwhile counts 0."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                status = os.stat(os.path.join(parent, name), follow_symlinks=False)  # noqa: PTH116, PTH118
                total += status.st_size if stat.S_ISREG(status.st_mode) else 0
    return total
