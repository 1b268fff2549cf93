"""Seeded corpora whose right answers are known.

A corpus is n facts of 14 words on average with one unit vector each, and queries that are made from
one fact, their target: some of its words between common ones, and its vector with noise. The words
are made up so that every analyzer leaves them alone (lower-case ASCII that no English stemmer
shortens, no stop words): text split at spaces is what each engine indexes, so one plain oracle
judges them all, and no engine wins by its stemmer.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["Corpus", "data_folder", "make_corpus", "make_words"]

WORDS_MIN, WORDS_MAX = 8, 20  # uniform, so 14 on average
VOCABULARY = 20_000
CLUSTER_SIZE = 40  # facts that lie near one centre
SPREAD = 0.8  # length of a fact's own part beside its unit centre
QUERY_NOISE = 1.8  # length of a query's noise beside its unit target: vectors alone miss some
WORDS_KEPT = 3  # words that a query takes from its target
WORDS_COMMON = 7  # further words, drawn as the text is: mostly frequent ones

# A stem of two open syllables and one of these consonants: no suffix rule of Snowball English ends
# in them.
FIRST = "bdfgklmnprtvz"
VOWELS = "aiou"
LAST = "bkpx"


@dataclass(frozen=True)
class Corpus:
    """Facts with vectors, and queries with the row of their target.

    ``vectors``: float32, shape (n, ndim), unit length, C-contiguous. ``query_vectors``: the same,
    shape (m, ndim). ``targets[i]`` is the row that query i was made from.
    """

    texts: list[str]
    vectors: npt.NDArray[np.float32]
    queries: list[str]
    query_vectors: npt.NDArray[np.float32]
    targets: list[int]

    @property
    def ndim(self) -> int:
        """The length of each vector."""
        return int(self.vectors.shape[1])

    def __len__(self) -> int:
        return len(self.texts)


def make_words(count: int, *, seed: int = 7) -> list[str]:
    """Return ``count`` different made-up words, in an order that the seed alone decides."""
    words = [
        first + vowel + middle + second + last
        for first in FIRST
        for vowel in VOWELS
        for middle in FIRST
        for second in VOWELS
        for last in LAST
    ]
    if count > len(words):
        words += [first + vowel + word for first in FIRST for vowel in VOWELS for word in words]
    if count > len(words):
        raise ValueError(f"at most {len(words)} words can be made, {count} were asked for")
    order = np.random.default_rng(seed).permutation(len(words))[:count]
    return [words[place] for place in order]


def unit(rows: npt.NDArray[np.floating]) -> npt.NDArray[np.float32]:
    """Return the rows at unit length, float32 and C-contiguous."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.ascontiguousarray(rows / lengths, dtype=np.float32)


class Directions:
    """Random unit vectors that fill space as embeddings do: unevenly.

    A trained model's vectors vary much along few axes and little along most; vectors from an even
    Gaussian would be nearly orthogonal, and every neighbour as far as the next. So axis j has the
    deviation 1 / (1 + j / 24), which leaves about 65 effective dimensions of any ndim, and a random
    rotation spreads them over all components.
    """

    def __init__(self, rng: np.random.Generator, ndim: int) -> None:
        self.rng = rng
        self.deviations = (1.0 / (1.0 + np.arange(ndim) / 24.0)).astype(np.float32)
        rotation, _ = np.linalg.qr(rng.standard_normal((ndim, ndim)))
        self.rotation = rotation.astype(np.float32)

    def draw(self, count: int, *, block: int = 20_000) -> npt.NDArray[np.float32]:
        """Return float32, shape (count, ndim), in blocks so that copies stay small."""
        rows = np.empty((count, len(self.deviations)), dtype=np.float32)
        for start in range(0, count, block):
            stop = min(start + block, count)
            even = self.rng.standard_normal((stop - start, rows.shape[1]), dtype=np.float32)
            rows[start:stop] = unit(even * self.deviations @ self.rotation)
        return rows


@cache
def make_corpus(n: int, *, ndim: int = 384, queries: int = 200, seed: int = 1) -> Corpus:
    """Return n facts and ``queries`` queries; the same arguments give the same corpus."""
    rng = np.random.default_rng([seed, n, ndim])
    words = make_words(VOCABULARY)
    odds = 1.0 / np.arange(1, VOCABULARY + 1)  # Zipf's law with exponent 1
    cumulative = np.cumsum(odds / odds.sum())

    lengths = rng.integers(WORDS_MIN, WORDS_MAX + 1, size=n)
    drawn = np.searchsorted(cumulative, rng.random(int(lengths.sum()))).clip(max=VOCABULARY - 1)
    ends = np.cumsum(lengths)
    tokens = [drawn[end - length : end] for end, length in zip(ends, lengths, strict=True)]
    texts = [" ".join(words[word] for word in row) for row in tokens]

    directions = Directions(rng, ndim)
    centres = directions.draw(max(1, n // CLUSTER_SIZE))
    member = rng.integers(0, len(centres), size=n)
    vectors = directions.draw(n)
    vectors *= np.float32(SPREAD)
    vectors += centres[member]
    vectors = unit(vectors)

    targets = rng.choice(n, size=min(queries, n), replace=False)
    noise = directions.draw(len(targets))
    query_vectors = unit(vectors[targets] + np.float32(QUERY_NOISE) * noise)
    query_texts = []
    for target in targets:
        own = np.unique(tokens[target])
        kept = rng.choice(own, size=min(WORDS_KEPT, len(own)), replace=False)
        common = np.searchsorted(cumulative, rng.random(WORDS_COMMON)).clip(max=VOCABULARY - 1)
        terms = list(dict.fromkeys([*kept.tolist(), *common.tolist()]))
        rng.shuffle(terms)
        query_texts.append(" ".join(words[term] for term in terms))
    return Corpus(texts, vectors, query_texts, query_vectors, [int(row) for row in targets])


def data_folder() -> Path | None:
    """Return the folder of real evaluation data, or None where there is none.

    The environment variable ``AGENTMEM_DATA`` names it; else ``../shared/data`` beside the
    repository is looked at.
    """
    named = os.environ.get("AGENTMEM_DATA")
    folder = (
        Path(named) if named else Path(__file__).resolve().parents[2].joinpath("shared", "data")
    )
    return folder if folder.is_dir() else None
