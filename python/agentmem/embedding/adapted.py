"""The packaged encoder with a learnt change, which gives scores of each token instead of one vector.

The graph is derived once from the packaged weights and the change, and cached like the embedder's.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Final

from agentmem.embedding.minilm import RECIPE, SOURCE_SHA256
from agentmem.embedding.model_cache import ModelCache, cache_directory
from agentmem.errors import EmbeddingError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt

    from agentmem.embedding.change import Change

    Floats = npt.NDArray[np.float32]

__all__ = ["TokenScorer", "load_adapted", "prepare_adapted"]

#: Lowest correlation of the fast graph's scores with the float32 graph's over the self-test.
FLOOR: Final = 0.98


class TokenScorer:
    """Runs an adapted graph on one thread; any number of threads may call it at once.

    Args:
        model: The graph's bytes, or the path of its file.

    Raises:
        EmbeddingError: onnxruntime can't load the graph.
    """

    def __init__(self, model: bytes | Path) -> None:
        from agentmem.embedding.session import open_session

        self._session = open_session(model, name="the adapted graph")

    def scores(self, ids: Sequence[int]) -> Floats:
        """Return the scores of each token, float32 of shape (tokens, scores).

        Args:
            ids: Token ids with the special tokens, at most as many as the model has positions.

        Raises:
            EmbeddingError: The graph fails.
        """
        import numpy as np

        try:
            (output,) = self._session.run(["scores"], {"input_ids": np.array([ids], np.int64)})
        except Exception as error:  # the library's own classes derive from Exception alone
            raise EmbeddingError(
                f"the adapted graph failed on {len(ids)} tokens: {error}"
            ) from error
        scores: Floats = output[0]
        return scores


def load_adapted(change: Change) -> TokenScorer:
    """Return the adapted encoder: from the cache, else derived and, where that is possible, cached.

    Raises:
        ModelNotFoundError: It is not prepared, and the weights are not installed.
        EmbeddingError: The weights are not the expected ones, or the self-test failed.
    """
    folder = cache_directory()
    graph: Path | bytes | None = _cache(change).find(folder)
    if graph is None:
        graph = _derive(change)
        try:
            graph = _publish(change, folder, graph)
        except OSError as error:
            warnings.warn(
                f"the adapted graph {change.name} can't be kept in {folder} ({error}), so each "
                "process derives it again, which takes seconds; set AGENTMEM_CACHE to a folder "
                "that can be written, or to one that was filled by `agentmem init --model`",
                RuntimeWarning,
                stacklevel=2,
            )
    return TokenScorer(graph)


def prepare_adapted(change: Change) -> Path:
    """Derive the graph unless the cache holds it already, and return its path.

    Raises:
        ModelNotFoundError: The package with the weights is not installed.
        EmbeddingError: The weights are not the expected ones, or the self-test failed.
        OSError: The folder can't be written.
    """
    folder = cache_directory()
    return _cache(change).find(folder) or _publish(change, folder, _derive(change))


def _cache(change: Change) -> ModelCache:
    base = f"all-minilm-l6-v2-{SOURCE_SHA256[:12]}-r{RECIPE}"
    return ModelCache(f"{change.name}-{change.digest[:12]}-{base}")


def _publish(change: Change, folder: Path, content: bytes) -> Path:
    import onnxruntime

    notes = {
        "source_sha256": SOURCE_SHA256,
        "recipe": RECIPE,
        "change_sha256": change.digest,
        "onnxruntime": onnxruntime.__version__,
    }
    return _cache(change).publish(folder, content, {}, notes)


def _derive(change: Change) -> bytes:
    """Return the fast graph of the changed weights, checked against the float32 one."""
    import numpy as np

    from agentmem.embedding.calibration import SELF_TEST_TEXTS
    from agentmem.embedding.graph import fast_graph, float_graph
    from agentmem.embedding.prepared import WEIGHT_TYPES, activation_peaks
    from agentmem.embedding.tokenizer import packaged_tokenizer
    from agentmem.embedding.weights import packaged_model, read_weights

    weights, tokenizer = read_weights(packaged_model()), packaged_tokenizer()
    exact = float_graph(weights, change)
    peaks = activation_peaks(exact, tokenizer)
    runs = [tokenizer.wrap(tokenizer.ids(text)) for text in SELF_TEST_TEXTS]

    def scores(model: bytes) -> Floats:
        scorer = TokenScorer(model)
        return np.concatenate([scorer.scores(ids) for ids in runs]).ravel()

    expected, correlation = scores(exact), -1.0
    for weight_type in WEIGHT_TYPES:
        content = fast_graph(weights, peaks, weight_type, change)
        correlation = float(np.corrcoef(expected, scores(content))[0, 1])
        if correlation >= FLOOR:
            return content
    raise EmbeddingError(
        f"the graph derived for {change.name} agrees with its own weights to a correlation of "
        f"{correlation:.4f} only, {FLOOR} is needed; onnxruntime computes it wrongly on this "
        "machine: please report its version and the CPU, and try another version of it"
    )
