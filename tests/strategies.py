"""What Hypothesis draws from: texts of every script, unit vectors, scopes that look alike."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

WORDS = [
    "deploy", "Deploys", "staging", "auth.ts:42", "snake_case", "gpt-4o", "don't", "C++", "cà phê",
    "Đà Nẵng", "部署", "方案", "🚀", "مرحبا", "NEAR", "OR", '"', "(", "*", "%", "_", "\0", "naïve",
]  # fmt: skip
SCOPES = ["", "acme", "acme-corp", "acme/alice", "acme/al", "acme/alice_", "acme%", "a_me", "acme0"]


def texts() -> st.SearchStrategy[str]:
    """Texts that say something, of words that meet again in other texts."""
    return st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)


def unit_vectors(ndim: int) -> st.SearchStrategy[np.ndarray]:
    """Unit vectors, made from a seed so that they shrink."""
    return st.integers(0, 40).map(lambda seed: unit_vector(seed, ndim))


def unit_vector(seed: int, ndim: int) -> np.ndarray:
    """One unit vector; equal seeds give equal vectors."""
    vector = np.random.default_rng(seed).normal(size=ndim).astype(np.float32)
    return vector / np.linalg.norm(vector)
