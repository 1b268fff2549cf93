"""A folder that keeps the payloads of archives, one file each."""

from __future__ import annotations

import contextlib
import os
import re
from hashlib import sha256
from pathlib import Path
from typing import Final

from agentmem.errors import ArchiveError, InvalidInputError
from agentmem.skills.steps import reach

__all__ = ["FolderArchiveStore"]

_KEY: Final = re.compile(r"[0-9a-f]{64}")


class FolderArchiveStore:
    """Payloads as files: written beside their place, synced, renamed, synced, read back.

    Args:
        path: The folder; it is made, with mode 0700, where it does not exist.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)

    def _file(self, key: str) -> Path:
        if not isinstance(key, str) or not _KEY.fullmatch(key):
            raise InvalidInputError(f"key: 64 hex digits are needed, {key!r} was given")
        return self.path / f"{key}.jsonl"

    def put(self, key: str, content: bytes) -> None:
        """Keep a payload, durable and read back when this returns.

        Raises:
            ArchiveError: It does not read back equal.
            OSError: No space, or the folder can't be written; no file of this name is left behind.
        """
        target = self._file(key)
        partial = target.with_name(f".{key}.{os.getpid()}.{os.urandom(4).hex()}.partial")
        try:
            descriptor = os.open(
                partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
            )
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                reach("blob written")
                os.fsync(file.fileno())
            reach("blob synced")
            partial.rename(target)
            reach("blob renamed")
        finally:
            with contextlib.suppress(OSError):
                partial.unlink(missing_ok=True)
        folder = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        if sha256(target.read_bytes()).hexdigest() != key:
            raise ArchiveError(f"{target} does not read back as it was written; archive it again")
        reach("blob verified")

    def get(self, key: str) -> bytes:
        """Return a payload.

        Raises:
            LookupError: There is none of this key.
            OSError: It can't be read now.
        """
        try:
            return self._file(key).read_bytes()
        except FileNotFoundError as error:
            raise LookupError(f"{self._file(key)} does not exist") from error

    def delete(self, key: str) -> None:
        """Remove a payload; one that is not there is no error."""
        self._file(key).unlink(missing_ok=True)

    def keys(self) -> set[str]:
        """Return the keys of all payloads in the folder."""
        return {path.stem for path in self.path.glob("*.jsonl") if _KEY.fullmatch(path.stem)}
