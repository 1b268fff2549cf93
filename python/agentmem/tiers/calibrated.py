"""Coefficients of relevance, made by ``python -m benches.quality.calibrate`` (docs/quality.md).

A model is a constant and a weight for each feature of a hit, all in 0..1: its share of the query's
possible BM25 score; its cosine; the mean of the best share and the best cosine of any row; the share
of the query's weight in words that any row holds; how far its cosine stands out over the last
candidate's. ``1 / (1 + exp(-sum))`` is the chance that the hit
is evidence for the question.
"""

from __future__ import annotations

from typing import Final

__all__ = ["MODELS", "UNKNOWN"]

Model = tuple[float, tuple[float, float, float, float, float]]

MODELS: Final[dict[str, Model]] = {}
UNKNOWN: Final[Model] = (-6.0, (4.0, 3.0, 3.0, 1.0, 3.0))
"""For embedders that nobody calibrated: the packaged one's, with less said by the cosine."""
