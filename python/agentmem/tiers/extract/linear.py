"""The linear model that says whether a sentence is worth remembering, and as which kind.

Two logistic regressions over the features of ``features.py``: worth it or not, and the kind. The
weights were learnt from the labelled training sets by ``benches/quality/train_linear.py``, are
kept as one signed byte each, and come with the package; the same sentence, the same answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import lru_cache
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Final

from agentmem.models import FACT_KINDS
from agentmem.tiers.extract.features import hashed
from agentmem.tiers.extract.verdict import Verdict

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt

    from agentmem.tiers.extract.segments import Language

__all__ = ["LANGUAGES", "LinearModel", "packaged_linear"]


@dataclass(frozen=True, slots=True)
class LinearModel:
    """Weights in memory; row 0 is of the worth, the others of each of ``FACT_KINDS``.

    Attributes:
        weights: Of each feature; int8, shape (rows, ``BUCKETS``).
        scales: What one step of ``weights`` is worth; float32, shape (rows,).
        biases: float32, shape (rows,).
        thresholds: The least worth that speaks, without a rule's finding and with one; float32,
            shape (languages, 2), in the order of ``LANGUAGES``.
    """

    weights: npt.NDArray[np.int8]
    scales: npt.NDArray[np.float32]
    biases: npt.NDArray[np.float32]
    thresholds: npt.NDArray[np.float32]

    @classmethod
    def read(cls, path: Path) -> LinearModel:
        """Return the model of a file that ``write`` made."""
        import numpy as np

        with np.load(path, allow_pickle=False) as file:
            return cls(**{one.name: file[one.name] for one in fields(cls)})

    def write(self, path: Path) -> None:
        """Write the model where ``read`` finds it; the same model, the same bytes."""
        import numpy as np

        np.savez_compressed(path, **{one.name: getattr(self, one.name) for one in fields(self)})

    def least(self, language: Language) -> tuple[float, float]:
        """Return the least worth that speaks, without a rule's finding and with one."""
        low, high = self.thresholds[LANGUAGES.index(language)].tolist()
        return low, high

    def judge(self, names: set[str]) -> Verdict:
        """Return what the model says of a sentence of these features."""
        buckets, signs = hashed(names)
        sums = self.weights[:, buckets] @ signs
        scores = self.biases + sums * self.scales * len(names) ** -0.25
        kind = int(scores[1:].argmax())
        worth = 1 / (1 + math.exp(-float(scores[0])))
        return Verdict(worth, FACT_KINDS[kind])


LANGUAGES: Final[tuple[Language, ...]] = ("vi", "zh")
_FILE: Final = "linear-1.npz"


@lru_cache(maxsize=1)
def packaged_linear() -> LinearModel:
    """Return the model that comes with the package, read once."""
    with as_file(files("agentmem.tiers.extract") / _FILE) as path:
        return LinearModel.read(path)
