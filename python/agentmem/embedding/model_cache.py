"""Derived models in a cache folder: published whole, found damaged, never half read.

A folder holds a manifest, ``<name>.json``, and the files that it names by their digest:
``<name>-<digest>.onnx`` with the graph, ``<name>-<digest>.data`` with its matrices, which
onnxruntime maps instead of copying, and whatever else a model needs. A model is complete before a
manifest names it, each file arrives by rename and is never written again, and size and CRC-32 are
checked at each load: a reader sees a whole model or none, whatever other processes do or however
one died. The folder is as trusted as the program: whoever may write there may change the model.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

__all__ = ["ModelCache", "cache_directory", "write_whole"]

#: Bytes from which a constant is kept in the data file, and what its place there is a multiple of.
_LARGE: Final = 4096
_ALIGNMENT: Final = 4096


def cache_directory() -> Path:
    """Return the folder that derived models are kept in; it need not exist.

    ``AGENTMEM_CACHE`` where it is set, else ``agentmem`` in the user's cache folder:
    ``XDG_CACHE_HOME`` or ``~/.cache``, ``~/Library/Caches`` on macOS, ``LOCALAPPDATA`` on Windows.
    """
    chosen = os.environ.get("AGENTMEM_CACHE")
    if chosen:
        return Path(chosen)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "agentmem"
    variable = "LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME"
    base = os.environ.get(variable)
    # The XDG specification says to ignore a relative path.
    if base and Path(base).is_absolute():
        return Path(base) / "agentmem"
    return Path.home() / ".cache" / "agentmem"


@dataclass(frozen=True, slots=True)
class ModelCache:
    """Where one recipe's model is kept.

    Args:
        name: Names weights and recipe; files begin with it.
        extra: Suffixes of the files beside ``.onnx`` and ``.data``.
    """

    name: str
    extra: tuple[str, ...] = ()

    def find(self, folder: Path) -> Path | None:
        """Return the graph that a folder holds, or None where there is none or it is damaged.

        The model's other files have the same name with their own suffix.
        """
        found = self._manifest(folder)
        if found is None:
            return None
        for suffix, expected in found["files"].items():
            if _summary(folder / self._file_name(found["sha256"], suffix)) != expected:
                return None
        return folder / self._file_name(found["sha256"], ".onnx")

    def publish(
        self,
        folder: Path,
        content: bytes,
        extra: Mapping[str, bytes],
        notes: Mapping[str, object],
    ) -> Path:
        """Put a model into the folder, which is made if it is missing; return the graph's path.

        Args:
            folder: Where to keep it.
            content: The whole graph.
            extra: The other files by suffix.
            notes: What the manifest says besides.

        Raises:
            OSError: The folder can't be written.
        """
        import hashlib

        digest = hashlib.sha256(content)
        for suffix in self.extra:
            digest.update(hashlib.sha256(extra[suffix]).digest())
        name = digest.hexdigest()
        model, data = _split(content, self._file_name(name, ".data"))
        parts = {**extra, ".data": data, ".onnx": model}
        manifest = {
            "sha256": name,
            "files": {
                suffix: {"size_bytes": len(part), "crc32": zlib.crc32(part)}
                for suffix, part in parts.items()
            },
            **notes,
        }
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for suffix, part in parts.items():
            write_whole(folder / self._file_name(name, suffix), part)
        write_whole(folder / f"{self.name}.json", (json.dumps(manifest, indent=2) + "\n").encode())
        return folder / self._file_name(name, ".onnx")

    def _file_name(self, digest: str, suffix: str) -> str:
        return f"{self.name}-{digest[:16]}{suffix}"

    def _manifest(self, folder: Path) -> dict[str, Any] | None:
        """Return the folder's manifest, or None where there is none that can be used."""
        try:
            found = json.loads((folder / f"{self.name}.json").read_bytes())
        except (OSError, ValueError):
            return None
        if not isinstance(found, dict):
            return None
        digest, files = found.get("sha256"), found.get("files")
        # Names are made from the digest, so that a manifest can't point out of its folder.
        if not isinstance(digest, str) or not digest.isalnum() or not isinstance(files, dict):
            return None
        return found if files.keys() == {".onnx", ".data", *self.extra} else None


def _summary(path: Path) -> dict[str, int] | None:
    """Return what the manifest says of a file, or None where it can't be read."""
    import mmap

    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
            return {"size_bytes": len(view), "crc32": zlib.crc32(view)}
    except (OSError, ValueError):  # ValueError: an empty file can't be mapped
        return None


def _split(content: bytes, location: str) -> tuple[bytes, bytes]:
    """Return the model without its large constants, and those, to be kept in ``location``."""
    import onnx
    from onnx.external_data_helper import set_external_data

    model = onnx.load_model_from_string(content)
    data = bytearray()
    for constant in model.graph.initializer:
        if len(constant.raw_data) < _LARGE:
            continue
        data.extend(bytes(-len(data) % _ALIGNMENT))
        set_external_data(constant, location, offset=len(data), length=len(constant.raw_data))
        data.extend(constant.raw_data)
        constant.ClearField("raw_data")
    return model.SerializeToString(deterministic=True), bytes(data)


def write_whole(path: Path, content: bytes) -> None:
    """Put a file in its place whole, or leave the place as it was."""
    import tempfile

    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
