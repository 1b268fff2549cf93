"""``python -m benches.quality.train_extractor``: learn the weights of the linear extractor.

Needs scikit-learn (``pip install scikit-learn``) and the data folder (``AGENTMEM_DATA``). Learnt from:
the training sets and the development set of ``labels/``. A sentence is worth it if a labelled fact
that is not optional lies in it; sentences of optional facts alone are left out.

With ``--validate`` nothing is written: sessions (of the phone records: a person's months) are left
out in turn, and what is given of them is scored as ``extraction.py`` scores.
"""

from __future__ import annotations

import argparse
import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from zlib import crc32

import numpy as np
from benches.corpus import data_folder
from benches.quality.extraction import Line, Score, lines, score
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from agentmem.embedding.weights import packaged_model, read_weights
from agentmem.models import FACT_KINDS, Candidate, Message
from agentmem.tiers.extract import LinearExtractor
from agentmem.tiers.extract.extractor import Heard, heard
from agentmem.tiers.extract.features import BUCKETS, hashed
from agentmem.tiers.extract.linear import LANGUAGES, LinearModel

LABELS = Path(__file__).parent / "labels"
LEARNT = ("extraction-train-en.jsonl", "extraction-train-vi-zh.jsonl", "extraction.jsonl")
MODEL = Path("python/agentmem/tiers/extract/linear-1.npz")
FOLDS = 5
# The least worth that speaks, without a rule's finding and with one. Chosen by ``--validate`` so that
# about one in twenty silent messages speaks.
THRESHOLDS = {"en": (0.7, 0.4), "vi": (0.6, 0.5), "zh": (0.65, 0.5)}
STRENGTH = 0.5  # 1 / L2 penalty
# The rules were written on the development set, where they are right more often than anywhere else.
DEVELOPMENT = 0.5


@dataclass
class Example:
    """A sentence with what is said of it; ``worth`` is None where nobody judges."""

    line: Line
    heard: Heard
    names: set[str]
    pieces: list[int]
    worth: bool | None
    kinds: dict[str, float]

    @property
    def text(self) -> str:
        """The sentence."""
        return self.heard.text[self.heard.start : self.heard.end]


def examples(labelled: Sequence[Line]) -> list[Example]:
    """Return the sentences of people's messages with what the labels say of each."""
    found = []
    for line in labelled:
        if line.label["role"] != "user":
            continue
        for one in heard(line.message):
            inside = [fact for fact in line.label["facts"] if _lies(fact["span"], one)]
            needed = [fact for fact in inside if not fact.get("optional")]
            kinds: Counter[str] = Counter()
            for fact in needed:
                kinds[fact["kind"]] += 2
                kinds.update(fact.get("alt_kinds") or ())
            whole = sum(kinds.values())
            worth = True if needed else None if inside else False
            shares = {kind: count / whole for kind, count in kinds.items()}
            found.append(Example(line, one, one.features(), one.pieces(), worth, shares))
    return found


def _lies(span: Sequence[int], one: Heard) -> bool:
    shared = min(span[1], one.end) - max(span[0], one.start)
    return shared > 0 and 2 * shared >= min(span[1] - span[0], one.end - one.start)


def _fold_of(line: Line) -> int:
    session = line.label["session"]
    if session.split("/")[0] in {"user1", "user2", "user3", "u1", "u2", "u3"}:
        session += line.label["time"][:7]
    return crc32(session.encode()) % FOLDS


def matrix(found: Sequence[Example]) -> sparse.csr_matrix:
    """Return the features, float32, shape (n, BUCKETS), as ``LinearModel.judge`` weighs them."""
    made = [hashed(one.names) for one in found]
    sizes = [len(signs) for _, signs in made]
    rows = np.repeat(np.arange(len(found)), sizes)
    columns = np.concatenate([buckets for buckets, _ in made])
    values = np.concatenate([signs * len(signs) ** -0.25 for _, signs in made])
    return sparse.csr_matrix((values, (rows, columns)), (len(found), BUCKETS), np.float32)


def word_vectors() -> np.ndarray:
    """Return the unit vector of each piece, what all share taken off; float32, shape (pieces, 384)."""
    weights = read_weights(packaged_model())
    vectors = weights.words.astype(np.float32) * weights.word_scales
    vectors -= vectors.mean(0)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def learn(found: Sequence[Example], vectors: np.ndarray) -> LinearModel:
    """Return the model of these sentences.

    Args:
        found: The sentences.
        vectors: ``word_vectors()``.
    """
    sums = [vectors[one.pieces].sum(0) / max(len(one.pieces), 1) ** 0.5 for one in found]
    weighed = sparse.hstack([matrix(found), sparse.csr_matrix(np.array(sums))]).tocsr()
    judged = [at for at, one in enumerate(found) if one.worth is not None]
    worth = np.array([bool(found[at].worth) for at in judged])
    trust = np.array([DEVELOPMENT if _is_development(found[at].line) else 1 for at in judged])
    binary = _fit(weighed[judged], worth, trust)
    kinds = [
        (at, FACT_KINDS.index(kind), share)
        for at, one in enumerate(found)
        for kind, share in one.kinds.items()
    ]
    rows, places, shares = zip(*kinds, strict=True)
    many = _fit(weighed[list(rows)], np.array(places), np.array(shares), strength=2 * STRENGTH)
    weights = np.vstack([binary.coef_, many.coef_])
    named, named_scales = _bytes(weights[:, :BUCKETS])
    pieces, piece_scales = _bytes(weights[:, BUCKETS:] @ vectors.T)
    biases = np.concatenate([binary.intercept_, many.intercept_])
    return LinearModel(
        named,
        pieces,
        np.array([named_scales, piece_scales], np.float32),
        biases.astype(np.float32),
        np.array([THRESHOLDS[one] for one in LANGUAGES], np.float32),
    )


def _bytes(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    # Few weights are as large as the largest: those beyond the 99.9th part are cut to it.
    scales = np.quantile(np.abs(weights), 0.999, axis=1) / 127
    return np.clip(np.round(weights / scales[:, None]), -127, 127).astype(np.int8), scales


def _is_development(line: Line) -> bool:
    return not line.label["id"].startswith("t-")


def _fit(
    features: sparse.csr_matrix, truth: np.ndarray, weights: np.ndarray, strength: float = STRENGTH
) -> LogisticRegression:
    return LogisticRegression(C=strength, max_iter=150, tol=1e-3).fit(features, truth, weights)


class _Held:
    """An extractor that reads each message with the model that did not learn from it."""

    id = "validation"

    def __init__(self, models: list[LinearModel], folds: dict[str, int]) -> None:
        self._read = [LinearExtractor(model) for model in models]
        self._folds = folds

    def extract(
        self, messages: Sequence[Message], *, context: Sequence[Message] = ()
    ) -> list[Candidate]:
        del context
        return [f for one in messages for f in self._read[self._folds[one.id]].extract([one])]


def validate(found: Sequence[Example], labelled: Sequence[Line]) -> None:
    """Print what is found of messages that were left out, by threshold, set and language."""
    folds = {line.label["id"]: _fold_of(line) for line in labelled}
    vectors = word_vectors()
    models = [
        learn([one for one in found if folds[one.line.label["id"]] != fold], vectors)
        for fold in range(FOLDS)
    ]
    train = [line for line in labelled if not _is_development(line)]
    development = [line for line in labelled if _is_development(line)]
    for pair in itertools.product((0.6, 0.65, 0.7, 0.75), (0.4, 0.5, 0.6)):
        bound = np.full((len(LANGUAGES), 2), pair, np.float32)
        held = _Held([replace(one, thresholds=bound) for one in models], folds)
        for name, part in (("train", train), ("dev", development)):
            for language, result in sorted(score(part, held).items()):
                print(
                    f"{pair[0]:.2f} {pair[1]:.2f} {name:5} {language}  {_summary(result)}",
                    flush=True,
                )


def _summary(result: Score) -> str:
    counts = result.counts
    return (
        f"precision {result.share('found', 'false'):.3f}  recall {result.share('found', 'missed'):.3f}"
        f"  speak {counts['speaks']}/{counts['speaks'] + counts['silent']}"
        f"  dates {counts['dates right']}/{counts['dates right'] + counts['dates wrong']}"
        f"  replaced {counts['replaced']}/{counts['replaced'] + counts['not replaced']}"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the model, or print how it does on what it did not see."""
    parser = argparse.ArgumentParser(prog="benches.quality.train_extractor")
    parser.add_argument("--validate", action="store_true")
    options = parser.parse_args(arguments)
    folder = data_folder()
    if folder is None:
        parser.error("AGENTMEM_DATA is not set: most of the training sets point into it")
    labelled = [line for name in LEARNT for line in lines(LABELS / name, folder)]
    found = examples(labelled)
    print(f"{len(found)} sentences of {len(labelled)} messages")
    if options.validate:
        validate(found, labelled)
    else:
        learn(found, word_vectors()).write(MODEL)


if __name__ == "__main__":
    main()
