"""Coefficients of relevance, made by ``python -m benches.quality.calibrate`` (docs/quality.md).

A model is a constant and a weight for each feature of a hit, all in 0..1 (``rust/hybrid/relevance.rs``):

1. its share of the BM25 score that the query could get at most;
2. its cosine;
3. the mean of the best share and the best cosine of any row;
4. 1 less the share of the query's weight in words that no row holds, times ``log(rows) / log(10,000)``,
   at most 1: in few rows a missing word says little;
5. how far its cosine stands out over the last candidate's.

``1 / (1 + exp(-sum))`` is the chance that the hit is evidence, where half of what is asked can be
answered. A best hit below 0.05 mostly means that nothing fits.
"""

from __future__ import annotations

from typing import Final

__all__ = ["MODELS", "UNKNOWN"]

Model = tuple[float, tuple[float, float, float, float, float]]

MODELS: Final[dict[str, Model]] = {
    "all-minilm-l6-v2-8199be6f699a": (-8.69, (1.42, 3.98, 2.65, 3.81, 6.63)),
}
"""By the beginning of the embedder's id. Fitted on LifeBench's user1 and user2 and on 52 facts."""
UNKNOWN: Final[Model] = (-7.0, (3.0, 0.0, 0.0, 3.5, 6.0))
"""For embedders that nobody calibrated: without absolute cosines, whose scale is each model's own."""
