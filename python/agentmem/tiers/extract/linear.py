"""The linear model that says whether a sentence is worth remembering, and as which kind.

Two logistic regressions over the features of ``features.py``: worth it or not, and the kind. The
weights were learnt from the labelled training sets by ``benches/quality/train_extractor.py``, are
kept as one signed byte each, and come with the package; the same sentence, the same answer.

An English sentence is also weighed by the pieces of its words. Their weights were learnt as one
direction in the space of the embedder's own word vectors and multiplied out, so that a word which
no label holds counts as those like it do.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, fields
from functools import lru_cache
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem.models import FACT_KINDS
from agentmem.tiers.extract.features import hashed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt

    from agentmem.tiers.extract.segments import Language

__all__ = ["LANGUAGES", "LinearModel", "Verdict", "packaged_linear", "pieces_of"]


class Verdict(NamedTuple):
    """What the model says of a sentence: how likely it is worth it, and the likeliest kind."""

    worth: float
    kind: str


@dataclass(frozen=True, slots=True)
class LinearModel:
    """Weights in memory; row 0 is of the worth, the others of each of ``FACT_KINDS``.

    Attributes:
        weights: Of each feature; int8, shape (rows, ``BUCKETS``).
        words: Of each piece of an English word in the vocabulary; int8, shape (rows, pieces).
        scales: What one step of ``weights`` and of ``words`` is worth; float32, shape (2, rows).
        biases: float32, shape (rows,).
        thresholds: The least worth that speaks, without a rule's finding and with one; float32,
            shape (languages, 2), in the order of ``LANGUAGES``.
    """

    weights: npt.NDArray[np.int8]
    words: npt.NDArray[np.int8]
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

    def least(self, language: Language, *, is_found: bool) -> float:
        """Return the least worth that speaks; ``is_found`` where a rule finds a fact too."""
        return float(self.thresholds[LANGUAGES.index(language), int(is_found)])

    def judge(self, names: set[str], pieces: Sequence[int]) -> Verdict:
        """Return what the model says of a sentence.

        Args:
            names: Its features.
            pieces: ``pieces_of`` it where it is English, else none.
        """
        import numpy as np

        buckets, signs = hashed(names)
        sums = self.weights[:, buckets] @ signs
        scores = self.biases + sums * self.scales[0] * len(names) ** -0.25
        if pieces:
            sums = self.words[:, list(pieces)].sum(1, np.int32)
            scores += sums * self.scales[1] * len(pieces) ** -0.5
        kind = int(scores[1:].argmax())
        worth = 1 / (1 + math.exp(-float(scores[0])))
        return Verdict(worth, FACT_KINDS[kind])


LANGUAGES: Final[tuple[Language, ...]] = ("en", "vi", "zh")
_FILE: Final = "linear-1.npz"


_WORD: Final = re.compile(r"[a-z]+|\d+|[^\w\s]")
_LONGEST_PIECE: Final = 18
_MOST_PIECES: Final = 400


@lru_cache(maxsize=1)
def _vocabulary() -> dict[str, int]:
    text = (files("agentmem.embedding") / "data" / "vocab.txt").read_text(encoding="utf-8")
    return {piece: number for number, piece in enumerate(text.split("\n"))}


def pieces_of(text: str) -> list[int]:
    """Return the pieces of the words of an English text: at each place the longest that is known."""
    known = _vocabulary()
    found: list[int] = []
    for word in _WORD.findall(text.lower())[:_MOST_PIECES]:
        start = 0
        while start < len(word):
            lead = "##" if start else ""
            for end in range(min(len(word), start + _LONGEST_PIECE), start, -1):
                if (piece := known.get(f"{lead}{word[start:end]}")) is not None:
                    found.append(piece)
                    break
            else:
                break
            start = end
    return found


@lru_cache(maxsize=1)
def packaged_linear() -> LinearModel:
    """Return the model that comes with the package, read once."""
    with as_file(files("agentmem.tiers.extract") / _FILE) as path:
        return LinearModel.read(path)
