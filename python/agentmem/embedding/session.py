"""One onnxruntime session: token ids in, one unit vector out.

A text is run alone and unpadded. The range of a dynamically quantised activation is taken over the
whole input, so with any other text beside it a text's vector would change; and on one thread a
batch is no faster.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from agentmem.errors import EmbeddingError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["POOLINGS", "ModelSession", "open_session"]

POOLINGS: Final = ("mean", "cls")
_TOKEN_OUTPUTS = ("last_hidden_state", "token_embeddings")
_RANK_POOLED, _RANK_TOKENS = 2, 3


class ModelSession:
    """Runs one model on one thread; any number of threads may call it at once.

    Args:
        model: The model's bytes, or the path of a file (which may have data files beside it).
        pooling: ``"mean"`` over all tokens, or ``"cls"``, the first one. A model that gives one
            vector a text, shape ``(1, ndim)``, has pooled already.
        name: What errors call the model.

    Raises:
        EmbeddingError: onnxruntime can't load the model, or it asks for inputs we don't have.
    """

    def __init__(self, model: bytes | Path, *, pooling: str, name: str) -> None:
        self._session = open_session(model, name=name)
        self._name = name
        self._pooling = pooling
        self._inputs = [entry.name for entry in self._session.get_inputs()]
        unknown = set(self._inputs) - {"input_ids", "attention_mask", "token_type_ids"}
        if unknown or "input_ids" not in self._inputs:
            raise EmbeddingError(
                f"{name} takes the inputs {self._inputs}; input_ids is needed, "
                "attention_mask and token_type_ids are allowed"
            )
        outputs = [entry.name for entry in self._session.get_outputs()]
        self._output = next((found for found in _TOKEN_OUTPUTS if found in outputs), outputs[0])

    def vector(self, ids: Sequence[int]) -> npt.NDArray[np.float32]:
        """Return float32, shape ``(ndim,)``, unit length.

        Args:
            ids: Token ids with the special tokens, at most as many as the model has positions.

        Raises:
            EmbeddingError: The model fails, or what it gives is not a finite vector.
        """
        import numpy as np

        row = np.array([ids], dtype=np.int64)
        feed: dict[str, Any] = {"input_ids": row}
        if "attention_mask" in self._inputs:
            feed["attention_mask"] = np.ones_like(row)
        if "token_type_ids" in self._inputs:
            feed["token_type_ids"] = np.zeros_like(row)
        try:
            output = self._session.run([self._output], feed)[0]
        except Exception as error:  # the library's own classes derive from Exception alone
            raise EmbeddingError(
                f"{self._name} failed on {len(ids)} tokens: {error}; "
                "if the model has fewer positions, pass a smaller max_tokens"
            ) from error
        with np.errstate(over="ignore", invalid="ignore"):
            pooled = self._pool(output, len(ids))
            length = float(np.sqrt(np.dot(pooled, pooled)))
        if not (np.isfinite(length) and length > 0.0):
            raise EmbeddingError(f"{self._name} gave a vector of length {length}")
        unit: npt.NDArray[np.float32] = pooled / np.float32(length)
        return unit

    def _pool(self, output: Any, tokens: int) -> npt.NDArray[np.float32]:
        import numpy as np

        # A model may also give a list or a map, which have neither.
        shape: tuple[int, ...] = getattr(output, "shape", ())
        kind = getattr(getattr(output, "dtype", None), "kind", None)
        if kind == "f" and shape[:1] == (1,) and 0 not in shape:
            if len(shape) == _RANK_POOLED:
                return np.asarray(output[0], dtype=np.float32)
            if len(shape) == _RANK_TOKENS and shape[1] == tokens:
                rows = np.asarray(output[0], dtype=np.float32)
                mean: npt.NDArray[np.float32] = rows.mean(axis=0)
                return rows[0] if self._pooling == "cls" else mean
        raise EmbeddingError(
            f"{self._name} gave the output {self._output!r} of shape {shape} and kind {kind!r}; "
            f"floats of shape (1, {tokens}, ndim) or (1, ndim) are needed"
        )


def open_session(model: bytes | Path, *, name: str) -> Any:
    """Return an onnxruntime session on one thread that keeps no memory between runs.

    Args:
        model: The model's bytes, or the path of a file (which may have data files beside it).
        name: What errors call the model.

    Raises:
        EmbeddingError: onnxruntime can't load the model.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    # The arena keeps blocks of each length it has seen: memory would rise for long.
    options.enable_cpu_mem_arena = False
    options.enable_mem_pattern = False
    # What fails is raised; the library would print it to the host's stderr as well.
    options.log_severity_level = 4
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(
            model if isinstance(model, bytes) else str(model),
            options,
            providers=["CPUExecutionProvider"],
        )
    except Exception as error:  # the library's own classes derive from Exception alone
        raise EmbeddingError(f"onnxruntime can't load {name}: {error}") from error
