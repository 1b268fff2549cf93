"""The fast graph of all-MiniLM-L6-v2, derived once from the packaged weights and cached.

From the cache a load takes 17 ms instead of 46, and 17 MB less; checking it 7 ms.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agentmem.embedding.calibration import CALIBRATION_TEXTS, SELF_TEST_TEXTS
from agentmem.embedding.minilm import RECIPE, SOURCE_SHA256
from agentmem.embedding.model_cache import ModelCache, cache_directory
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
    "WEIGHT_TYPES",
    "activation_peaks",
    "derive_model",
    "find_prepared",
    "load_fast_graph",
    "prepare_model",
]

#: Lowest cosine to the packaged graph on any text of the self-test.
FLOOR: Final = 0.99

#: Where unsigned-by-signed products saturate, int8 fails the self-test and uint8 passes it.
WEIGHT_TYPES: Final[tuple[WeightType, ...]] = ("int8", "uint8")

_ANSWERS: Final = ("pooled", "scores")
_CACHE: Final = ModelCache(f"all-minilm-l6-v2-{SOURCE_SHA256[:12]}-r{RECIPE}")


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
    return _CACHE.find(folder)


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
    peaks = activation_peaks(float_graph(weights), tokenizer)
    packaged = ModelSession(source, pooling="mean", name="the packaged graph")
    cosine = -1.0
    for weight_type in WEIGHT_TYPES:
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


def activation_peaks(model: bytes, tokenizer: TextTokenizer) -> dict[str, Floats]:
    """Return the largest absolute value in each channel of each matrix's input.

    Args:
        model: What ``float_graph`` gave.
        tokenizer: The model's own.
    """
    import numpy as np
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    sites = [entry.name for entry in session.get_outputs() if entry.name not in _ANSWERS]
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


def _publish(folder: Path, content: bytes, cosine: float) -> Path:
    import onnxruntime

    notes = {
        "source_sha256": SOURCE_SHA256,
        "recipe": RECIPE,
        "self_test_cosine": round(cosine, 6),
        "onnxruntime": onnxruntime.__version__,
    }
    return _CACHE.publish(folder, content, {}, notes)
