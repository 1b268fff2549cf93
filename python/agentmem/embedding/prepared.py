"""The fast graph, derived once from the packaged weights and kept in a cache folder.

A folder holds a manifest, ``<recipe>.json``, and the model that it names by its digest:
``<recipe>-<digest>.onnx`` with the graph and ``<recipe>-<digest>.data`` with its matrices, which
onnxruntime maps instead of copying (a load of 17 ms instead of 46, and 17 MB less). A model is
complete before a manifest names it, each file arrives by rename and is never written again, and
size and CRC-32 are checked at each load (7 ms; a sha256 would take 18): a reader sees a whole graph
or none, whatever other processes do or however one died. The folder is as trusted as the program:
whoever may write there may change the model.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import warnings
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from agentmem.embedding.calibration import CALIBRATION_TEXTS, SELF_TEST_TEXTS
from agentmem.embedding.minilm import RECIPE, SOURCE_SHA256
from agentmem.embedding.session import ModelSession
from agentmem.embedding.weights import packaged_model, read_weights
from agentmem.errors import EmbeddingError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from agentmem.embedding.graph import WeightType
    from agentmem.embedding.tokenizer import TextTokenizer

    Floats = npt.NDArray[np.float32]

__all__ = [
    "FLOOR",
    "cache_directory",
    "derive_model",
    "find_prepared",
    "load_fast_graph",
    "prepare_model",
]

#: Lowest cosine to the packaged graph on any text of the self-test.
FLOOR: Final = 0.99

#: Bytes from which a constant is kept in the data file, and what its place there is a multiple of.
_LARGE: Final = 4096
_ALIGNMENT: Final = 4096
_NAME: Final = f"all-minilm-l6-v2-{SOURCE_SHA256[:12]}-r{RECIPE}"


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


def prepare_model(directory: str | os.PathLike[str] | None = None) -> Path:
    """Derive the fast graph unless the folder holds it already, and return the model's path.

    For images and read-only homes: prepare a folder while building, and set ``AGENTMEM_CACHE`` to
    it where agentmem runs. Several processes may do this at once. Takes about 2 s of CPU, once.

    Args:
        directory: Where to keep it; ``cache_directory()`` if None. It is made if it is missing.

    Raises:
        ModelNotFoundError: The package with the weights is not installed.
        EmbeddingError: The weights are not the expected ones, or the self-test failed; nothing
            is published.
        OSError: The folder can't be written.
    """
    folder = cache_directory() if directory is None else Path(directory)
    prepared = find_prepared(folder)
    if prepared is None:
        content, cosine = derive_model()
        prepared = _publish(folder, content, cosine)
    return prepared


def load_fast_graph() -> Path | bytes:
    """Return the fast graph: from the cache, else derived and, where that is possible, cached.

    It is a path where it is cached.

    Where the cache can't be written, the graph is derived for this process alone and a
    ``RuntimeWarning`` says so: the vectors are the same, each start takes longer.

    Raises:
        ModelNotFoundError: It is not prepared, and the weights are not installed.
        EmbeddingError: The weights are not the expected ones, or the self-test failed.
    """
    folder = cache_directory()
    prepared = find_prepared(folder)
    if prepared is not None:
        return prepared
    content, cosine = derive_model()
    try:
        return _publish(folder, content, cosine)
    except OSError as error:
        warnings.warn(
            f"the fast embedding graph can't be kept in {folder} ({error}), so each process "
            "derives it again, which takes seconds; set AGENTMEM_CACHE to a folder that can "
            "be written, or to one that was filled by `agentmem init --model`",
            RuntimeWarning,
            stacklevel=2,
        )
    return content


def find_prepared(folder: Path) -> Path | None:
    """Return the graph that a folder holds, or None where there is none or it is damaged."""
    found = _manifest(folder)
    if found is None:
        return None
    for suffix, expected in found["files"].items():
        if _summary(folder / _file_name(found["sha256"], suffix)) != expected:
            return None
    return folder / _file_name(found["sha256"], ".onnx")


def derive_model() -> tuple[bytes, float]:
    """Return the fast graph and its lowest cosine to the packaged one over the self-test.

    Raises:
        ModelNotFoundError: The package with the weights is not installed.
        EmbeddingError: The weights are not the expected ones, or the self-test failed.
    """
    from agentmem.embedding.graph import fast_graph, float_graph
    from agentmem.embedding.tokenizer import packaged_tokenizer

    source = packaged_model()
    weights = read_weights(source)
    tokenizer = packaged_tokenizer()
    peaks = _peaks(float_graph(weights), tokenizer)
    packaged = ModelSession(source, pooling="mean", name="the packaged graph")
    cosine = -1.0
    # Where unsigned-by-signed products saturate, int8 fails the self-test and uint8 passes it.
    candidates: tuple[WeightType, ...] = ("int8", "uint8")
    for weight_type in candidates:
        content = fast_graph(weights, peaks, weight_type)
        fast = ModelSession(content, pooling="mean", name="the derived graph")
        cosine = _agreement(packaged, fast, tokenizer)
        if cosine >= FLOOR:
            return content, cosine
    raise EmbeddingError(
        f"the derived graph agrees with the packaged one to a cosine of {cosine:.4f} only, {FLOOR} "
        "is needed; onnxruntime computes it wrongly on this machine: please report its version and "
        "the CPU, and try another version of it"
    )


def _peaks(model: bytes, tokenizer: TextTokenizer) -> dict[str, Floats]:
    """Return the largest absolute value in each channel of each matrix's input."""
    import numpy as np
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    sites = [entry.name for entry in session.get_outputs() if entry.name != "pooled"]
    peaks: dict[str, Floats] = {}
    for text in CALIBRATION_TEXTS:
        ids = np.array([tokenizer.wrap(tokenizer.ids(text))], dtype=np.int64)
        for site, value in zip(sites, session.run(sites, {"input_ids": ids}), strict=True):
            peak = np.abs(value[0]).max(axis=0)
            peaks[site] = np.maximum(peaks[site], peak) if site in peaks else peak
    return peaks


def _agreement(packaged: ModelSession, fast: ModelSession, tokenizer: TextTokenizer) -> float:
    """Return the lowest cosine between the two over the self-test."""
    cosines = []
    for text in SELF_TEST_TEXTS:
        ids = tokenizer.wrap(tokenizer.ids(text))
        cosines.append(float(packaged.vector(ids) @ fast.vector(ids)))
    return min(cosines)


def _file_name(digest: str, suffix: str) -> str:
    return f"{_NAME}-{digest[:16]}{suffix}"


def _manifest(folder: Path) -> dict[str, Any] | None:
    """Return the folder's manifest, or None where there is none that can be used."""
    try:
        found = json.loads((folder / f"{_NAME}.json").read_bytes())
    except (OSError, ValueError):
        return None
    if not isinstance(found, dict):
        return None
    digest, files = found.get("sha256"), found.get("files")
    # Names are made from the digest, so that a manifest can't point out of its folder.
    if not isinstance(digest, str) or not digest.isalnum() or not isinstance(files, dict):
        return None
    return found if files.keys() == {".onnx", ".data"} else None


def _summary(path: Path) -> dict[str, int] | None:
    """Return what the manifest says of a file, or None where it can't be read."""
    import mmap

    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
            return {"size_bytes": len(view), "crc32": zlib.crc32(view)}
    except (OSError, ValueError):  # ValueError: an empty file can't be mapped
        return None


def _publish(folder: Path, content: bytes, cosine: float) -> Path:
    import hashlib

    import onnxruntime

    digest = hashlib.sha256(content).hexdigest()
    model, data = _split(content, _file_name(digest, ".data"))
    parts = {".data": data, ".onnx": model}
    manifest = {
        "sha256": digest,
        "files": {
            suffix: {"size_bytes": len(part), "crc32": zlib.crc32(part)}
            for suffix, part in parts.items()
        },
        "source_sha256": SOURCE_SHA256,
        "recipe": RECIPE,
        "self_test_cosine": round(cosine, 6),
        "onnxruntime": onnxruntime.__version__,
    }
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for suffix, part in parts.items():
        _write(folder / _file_name(digest, suffix), part)
    _write(folder / f"{_NAME}.json", (json.dumps(manifest, indent=2) + "\n").encode())
    return folder / _file_name(digest, ".onnx")


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


def _write(path: Path, content: bytes) -> None:
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
