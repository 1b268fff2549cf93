"""A BERT encoder as an ONNX graph of fused operators, whatever its matrices are stored as.

The graph takes ``input_ids`` of shape ``(1, tokens)``, unpadded, and gives ``pooled``, the mean
over the tokens of the last layer, shape ``(1, ndim)``, not yet of unit length. Attention, layer
normalisation and GELU are one operator each (domain ``com.microsoft``, which onnxruntime brings
along). The operators that fuse a residual with the normalisation, or a bias with GELU, are not
used: on a CPU they cost 4 times what they fuse, and the graph takes 1.3 times as long with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]

__all__ = ["FUSED", "GraphBuilder", "Layer", "Products", "encode_layers"]

#: The domain of the operators that onnxruntime adds.
FUSED: Final = "com.microsoft"
_OPSET: Final = 17
_EPSILON: Final = 1e-12

#: What a matrix is stored as.
Matrix = TypeVar("Matrix")


@dataclass(frozen=True, slots=True)
class Layer(Generic[Matrix]):
    """One layer of the encoder; biases are float32, shape ``(outputs,)``."""

    attention: Matrix  # query, key and value side by side
    attention_bias: Floats
    projection: Matrix
    projection_bias: Floats
    projection_norm: tuple[Floats, Floats]  # scale, shift
    up: Matrix
    up_bias: Floats
    down: Matrix
    down_bias: Floats
    down_norm: tuple[Floats, Floats]


_Stored_contra = TypeVar("_Stored_contra", contravariant=True)


class Products(Protocol[_Stored_contra]):
    """Adds what multiplies with a matrix; both give the name of the output."""

    def attention(self, source: str, layer: Layer[Any], output: str) -> str:
        """Add self-attention with the layer's query, key and value."""

    def product(self, source: str, matrix: _Stored_contra, bias: Floats, output: str) -> str:
        """Add the product with a matrix, plus the bias."""


class GraphBuilder:
    """Collects nodes and constants; a node's name is that of its first output."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self.sites: list[str] = []

    def constant(self, name: str, value: npt.NDArray[Any]) -> str:
        """Add an array."""
        import numpy as np
        from onnx import numpy_helper

        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def tensor(self, tensor: Any) -> str:
        """Add a constant of a type that numpy does not have."""
        self._constants.append(tensor)
        name: str = tensor.name
        return name

    def node(
        self, operator: str, inputs: list[str], output: str, *more: str, domain: str = "", **kw: Any
    ) -> str:
        """Add an operator and return the name of its first output."""
        from onnx import helper

        made = helper.make_node(operator, inputs, [output, *more], name=output, domain=domain, **kw)
        self._nodes.append(made)
        return output

    def model(self, outputs: list[str], *, ir_version: int = 8) -> bytes:
        """Return the model that gives these outputs; equal graphs give equal bytes."""
        from onnx import TensorProto, helper

        graph = helper.make_graph(
            self._nodes,
            self._name,
            [helper.make_tensor_value_info("input_ids", TensorProto.INT64, [1, "tokens"])],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
            self._constants,
        )
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(FUSED, 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=ir_version)
        content: bytes = model.SerializeToString(deterministic=True)
        return content


def encode_layers(
    graph: GraphBuilder,
    words: str,
    *,
    positions: Floats,
    norm: tuple[Floats, Floats],
    layers: Sequence[Layer[Matrix]],
    products: Products[Matrix],
) -> str:
    """Add everything from the embedded words to ``pooled``; return the name of the last layer.

    Args:
        graph: Where to add it.
        words: The name of the embedded words, shape ``(1, tokens, ndim)``.
        positions: The vector of each position with that of token type 0, shape ``(n, ndim)``.
        norm: Scale and shift of the first normalisation.
        layers: The layers, first to last.
        products: Adds what multiplies with a matrix.
    """
    import numpy as np

    def normalised(name: str, terms: list[str], scale_and_shift: tuple[Floats, Floats]) -> str:
        total = graph.node("Add", terms, name + ".sum")
        scale = graph.constant(name + ".scale", scale_and_shift[0])
        shift = graph.constant(name + ".shift", scale_and_shift[1])
        return graph.node("LayerNormalization", [total, scale, shift], name, epsilon=_EPSILON)

    graph.constant("positions.weight", positions[np.newaxis])
    graph.node("Shape", ["input_ids"], "tokens", start=1, end=2)
    start = graph.constant("start", np.array([0], dtype=np.int64))
    axis = graph.constant("axis", np.array([1], dtype=np.int64))
    graph.node("Slice", ["positions.weight", start, "tokens", axis], "positions")
    hidden = normalised("hidden0", [words, "positions"], norm)
    for number, layer in enumerate(layers):
        context = products.attention(hidden, layer, f"context{number}")
        projected = products.product(
            context, layer.projection, layer.projection_bias, f"projected{number}"
        )
        attended = normalised(f"attended{number}", [projected, hidden], layer.projection_norm)
        widened = products.product(attended, layer.up, layer.up_bias, f"widened{number}")
        activated = graph.node("Gelu", [widened], f"activated{number}", domain=FUSED)
        narrowed = products.product(activated, layer.down, layer.down_bias, f"narrowed{number}")
        hidden = normalised(f"hidden{number + 1}", [narrowed, attended], layer.down_norm)
    graph.node("ReduceMean", [hidden], "pooled", axes=[1], keepdims=0)
    return hidden
