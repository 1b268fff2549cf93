"""The files of the index: who may publish, what a publication writes, what of it is spare."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from agentmem.store.folder import folder_bytes

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["clear", "make_folder", "publishing", "spare_share"]

# Held over reload and fold together; the native index takes its own `LOCK` for a publication.
OUR_LOCK = "LOCK.process"
# What a publication writes. A rebuild deletes these and nothing else.
OUR_NAMES = ("MANIFEST.json", ".MANIFEST.json.*.tmp", "segment-*", "dead-*", "tmp-*")


def make_folder(folder: Path) -> None:
    """Make the index folder; what stands there and is no folder gives way."""
    if not folder.is_dir():
        folder.unlink(missing_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)


@contextmanager
def publishing(folder: Path, *, wait: bool) -> Iterator[bool]:
    """Hold the lock under which a process publishes a generation; the kernel frees it.

    Yields False, without ``wait``, while another holds it.
    """
    make_folder(folder)
    descriptor = os.open(
        folder / OUR_LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
    )
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
            return
        yield True
    finally:
        os.close(descriptor)


def clear(folder: Path) -> None:
    """Delete what publications wrote; hold the lock meanwhile."""
    import shutil

    for pattern in OUR_NAMES:
        for entry in folder.glob(pattern):
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink(missing_ok=True)


def spare_share(folder: Path) -> float:
    """Return which share of the folder's bytes the published segments do not need.

    The generation before is kept for handles that are just opening it.
    """
    total = folder_bytes(folder)
    manifest = folder / "MANIFEST.json"
    if not total or not manifest.is_file():
        return 0.0
    members = json.loads(manifest.read_text("utf-8"))["manifest"]["members"]
    needed: int = sum(
        file["bytes"]
        for member in members
        for file in (*member["segment"]["files"], *member["segment"]["vectors"])
    )
    return max(0.0, 1.0 - needed / total)
