"""multilingual-e5-small as a graph over the packaged 4-bit weights, which stay as they are.

A product takes the activation in blocks of 32 as int8 (``accuracy_level`` 4), as the package's own
engine does. A block belongs to one token, so nothing depends on what else is in the text's run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agentmem.embedding.e5 import HEADS, NDIM
from agentmem.embedding.e5_weights import BLOCK, BlockMatrix, E5Weights
from agentmem.embedding.encoder import FUSED, GraphBuilder, Layer, encode_layers
from agentmem.embedding.graph import FloatProducts

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]

__all__ = ["e5_float_graph", "e5_graph"]

# The first version with 4-bit tensors.
_IR_VERSION: Final = 10
_INT8_ACTIVATIONS: Final = 4
# The top bit of each half flipped: 0..15 around 8 become -8..7 in two's complement.
_TO_SIGNED: Final = 0x88


def e5_graph(weights: E5Weights) -> bytes:
    """Return the graph, from ``input_ids`` to ``pooled``."""
    graph = GraphBuilder("multilingual-e5-small")
    _words(graph, weights.words)
    products = _BlockProducts(graph)
    encode_layers(
        graph,
        "words",
        positions=weights.positions,
        norm=weights.norm,
        layers=weights.layers,
        products=products,
    )
    return graph.model(["pooled"], ir_version=_IR_VERSION)


def e5_float_graph(weights: E5Weights) -> bytes:
    """Return the same with the matrices multiplied out and products in float32, to compare with."""
    graph = GraphBuilder("multilingual-e5-small-float")
    _words(graph, weights.words)
    layers = [_multiplied_layer(layer) for layer in weights.layers]
    products = FloatProducts(graph)
    encode_layers(
        graph,
        "words",
        positions=weights.positions,
        norm=weights.norm,
        layers=layers,
        products=products,
    )
    return graph.model(["pooled"], ir_version=_IR_VERSION)


def _multiplied_layer(layer: Layer[BlockMatrix]) -> Layer[Floats]:
    return Layer(
        attention=_multiplied(layer.attention),
        attention_bias=layer.attention_bias,
        projection=_multiplied(layer.projection),
        projection_bias=layer.projection_bias,
        projection_norm=layer.projection_norm,
        up=_multiplied(layer.up),
        up_bias=layer.up_bias,
        down=_multiplied(layer.down),
        down_bias=layer.down_bias,
        down_norm=layer.down_norm,
    )


def _multiplied(matrix: BlockMatrix) -> Floats:
    """Return the matrix as float32, shape ``(inputs, outputs)``."""
    import numpy as np

    halves = np.stack([matrix.levels & 0x0F, matrix.levels >> 4], axis=-1)
    outputs, blocks = matrix.scales.shape
    levels = halves.reshape(outputs, blocks, BLOCK).astype(np.float32) - np.float32(8)
    return (levels * matrix.scales[..., None]).reshape(outputs, blocks * BLOCK).T


def _words(graph: GraphBuilder, words: BlockMatrix) -> None:
    """Add the embedding of the words from their ids."""
    from onnx import TensorProto, helper

    graph.tensor(
        helper.make_tensor(
            "words.weight",
            TensorProto.INT4,
            [len(words.levels), NDIM],
            (words.levels ^ _TO_SIGNED).tobytes(),
            raw=True,
        )
    )
    graph.constant("words.scale", words.scales)
    graph.node(
        "GatherBlockQuantized",
        ["words.weight", "input_ids", "words.scale"],
        "words",
        domain=FUSED,
        gather_axis=0,
        quantize_axis=1,
        block_size=BLOCK,
    )


class _BlockProducts:
    """Attention and matrix products of int8 activations and 4-bit matrices."""

    def __init__(self, graph: GraphBuilder) -> None:
        self._graph = graph

    def attention(self, source: str, layer: Layer[BlockMatrix], output: str) -> str:
        parts = [f"{output}.{part}" for part in ("query", "key", "value")]
        together = self.product(source, layer.attention, layer.attention_bias, output + ".heads")
        self._graph.node("Split", [together], *parts, axis=2)
        return self._graph.node("MultiHeadAttention", parts, output, domain=FUSED, num_heads=HEADS)

    def product(self, source: str, matrix: BlockMatrix, bias: Floats, output: str) -> str:
        outputs, blocks, _ = matrix.levels.shape
        graph = self._graph
        inputs = [
            source,
            graph.constant(output + ".weight", matrix.levels),
            graph.constant(output + ".scale", matrix.scales.reshape(-1)),
            "",
            "",
            graph.constant(output + ".bias", bias),
        ]
        return graph.node(
            "MatMulNBits",
            inputs,
            output,
            domain=FUSED,
            K=blocks * BLOCK,
            N=outputs,
            bits=4,
            block_size=BLOCK,
            accuracy_level=_INT8_ACTIVATIONS,
        )
