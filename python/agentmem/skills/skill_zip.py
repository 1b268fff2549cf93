"""Reads skills out of a zip file without unpacking anything to disk.

What a zip says of itself is not believed: names are checked as paths, sizes while reading.
"""

from __future__ import annotations

import stat
import zipfile
import zlib
from pathlib import Path
from typing import Final

from agentmem.errors import AgentMemError, InvalidInputError
from agentmem.skills.lint import MAX_FILE, MAX_FILES, MAX_TOTAL, check_resource_path

__all__ = ["read_zip"]

_MAX_SKILLS: Final = 64
_MAX_ZIP: Final = 64 << 20
_MAX_RATIO: Final = 100
_ANY_RATIO: Final = 4_096
_JUNK: Final = frozenset({".DS_Store", "Thumbs.db"})


def read_zip(path: Path) -> dict[str, dict[str, bytes]]:
    """Return the files of each skill by the name of its folder, then by path within it.

    Raises:
        InvalidInputError: No zip, an entry that is a link, encrypted, badly named or too big, or
            one that unpacks to more than a hundred times its size.
    """
    if path.stat().st_size > _MAX_ZIP:
        raise InvalidInputError(f"{path.name}: more than {_MAX_ZIP} bytes")
    found: dict[str, dict[str, bytes]] = {}
    total = 0
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            if len(entries) > _MAX_SKILLS * (MAX_FILES + 8):
                raise InvalidInputError(f"{path.name}: {len(entries)} entries are too many")
            for entry in entries:
                split = _placed(entry)
                if split is None:
                    continue
                folder, name = split
                content = _unpacked(archive, entry)
                total += len(content)
                files = found.setdefault(folder, {})
                if name in files:
                    raise InvalidInputError(f"{entry.filename[:120]!r}: it is there twice")
                files[name] = content
                if (
                    len(files) > MAX_FILES + 1
                    or len(found) > _MAX_SKILLS
                    or total > 8 * MAX_TOTAL
                    or sum(map(len, files.values())) > MAX_TOTAL + MAX_FILE
                ):
                    raise InvalidInputError(f"{path.name}: more than a skill may hold")
    except (
        zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, OSError, RuntimeError,
        ValueError,
    ) as error:  # fmt: skip
        if isinstance(error, AgentMemError):
            raise
        raise InvalidInputError(f"{path.name}: it is no zip file that can be read") from error
    if not found:
        raise InvalidInputError(f"{path.name}: there is no skill in it")
    return found


def _placed(entry: zipfile.ZipInfo) -> tuple[str, str] | None:
    """Return the folder and the path in it of an entry; None for folders and desktop litter."""
    name = getattr(entry, "orig_filename", entry.filename)
    mode = entry.external_attr >> 16
    if mode and not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_IFMT(mode) == 0):
        raise InvalidInputError(f"{name[:120]!r}: links and special files are not taken")
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise InvalidInputError(f"{name[:120]!r}: it is neither stored nor deflated")
    if entry.flag_bits & 1:
        raise InvalidInputError(f"{name[:120]!r}: it is encrypted")
    parts = name.split("/")
    if "\0" in name or "\\" in name or any(p in {"", ".", ".."} for p in parts[:-1]) or ":" in name:
        raise InvalidInputError(f"{name[:120]!r}: the path leaves the archive or is unsafe")
    if entry.is_dir() or parts[0] == "__MACOSX" or parts[-1] in _JUNK:
        return None
    folder, _, rest = name.partition("/")
    if not rest:
        raise InvalidInputError(f"{name[:120]!r}: skills lie in folders of their own")
    if rest != "SKILL.md":
        check_resource_path(rest)
    return folder, rest


def _unpacked(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    if entry.file_size > MAX_FILE:
        raise InvalidInputError(f"{entry.filename[:120]!r}: more than {MAX_FILE} bytes")
    if entry.file_size > _ANY_RATIO and entry.file_size > _MAX_RATIO * max(entry.compress_size, 1):
        raise InvalidInputError(f"{entry.filename[:120]!r}: it unpacks to over 100 times its size")
    with archive.open(entry) as file:
        content = file.read(MAX_FILE + 1)
    if len(content) > MAX_FILE:
        raise InvalidInputError(f"{entry.filename[:120]!r}: more than {MAX_FILE} bytes")
    return content
