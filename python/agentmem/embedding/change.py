"""What training adds to an encoder: low-rank changes of its matrices, and a head that gives scores.

The change of a matrix is the product of two narrow ones, so a file of a megabyte turns an
encoder that is installed anyway into one that was trained for another task.
Source: Hu, Shen, Wallis, Allen-Zhu, Li, Wang, Wang, Chen: LoRA, ICLR 2022 (equation 3).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final

from agentmem.embedding.encoder import Layer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]

__all__ = ["MATRICES", "Change"]

#: The matrices of a layer.
MATRICES: Final = ("attention", "projection", "up", "down")


@dataclass(frozen=True, slots=True)
class Change:
    """A learnt change.

    Attributes:
        name: Names the task and the version; with the digest it names the derived graph.
        digest: Hex digits of the file's SHA-256.
        arrays: float16, by the number of the layer and the part: ``0.up.in`` of shape (inputs,
            rank) and ``0.up.out`` of shape (rank, outputs) for each matrix, ``0.up_bias`` and
            ``0.down_norm`` what is added to these, ``head`` of shape (ndim, scores) and
            ``head_bias``; and whatever else belongs to the task.
    """

    name: str
    digest: str
    arrays: Mapping[str, npt.NDArray[np.float16]]

    @classmethod
    def read(cls, path: Path) -> Change:
        """Return the change that a file holds."""
        import hashlib
        import io

        import numpy as np

        content = path.read_bytes()
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        return cls(path.stem, hashlib.sha256(content).hexdigest(), arrays)

    def head(self) -> tuple[Floats, Floats]:
        """Return the matrix, float32 (ndim, scores), and the bias, float32 (scores,)."""
        return self._part("head"), self._part("head_bias")

    def added_to(self, layers: Sequence[Layer[Floats]]) -> tuple[Layer[Floats], ...]:
        """Return the layers with the change added."""
        return tuple(self._layer(number, layer) for number, layer in enumerate(layers))

    def _layer(self, number: int, layer: Layer[Floats]) -> Layer[Floats]:
        changed: dict[str, Any] = {}
        for one in fields(layer):
            value, name = getattr(layer, one.name), f"{number}.{one.name}"
            if one.name in MATRICES:
                changed[one.name] = value + self._part(f"{name}.in") @ self._part(f"{name}.out")
            elif isinstance(value, tuple):
                scale, shift = self._part(name)
                changed[one.name] = (value[0] + scale, value[1] + shift)
            else:
                changed[one.name] = value + self._part(name)
        return Layer(**changed)

    def _part(self, name: str) -> Floats:
        import numpy as np

        return self.arrays[name].astype(np.float32)
