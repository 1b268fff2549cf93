"""``python -m benches.quality.train_linear``: learn the weights of the linear model.

It judges Vietnamese and Chinese. Needs scikit-learn (``pip install scikit-learn``) and the data
folder (``AGENTMEM_DATA``). Learnt from the training sets of ``labels/`` alone. With ``--validate``
nothing is written: sessions (of the phone records: a person's months) are left out in turn, and
what is given of them is scored as ``extraction.py`` scores.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
from benches.corpus import data_folder
from benches.quality.examples import FOLDS, Example, examples, fold_of, summary
from benches.quality.extraction import Line, lines, score
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from agentmem.models import FACT_KINDS, Candidate, Message
from agentmem.tiers.extract import LearntExtractor
from agentmem.tiers.extract.features import BUCKETS, hashed
from agentmem.tiers.extract.linear import LANGUAGES, LinearModel

LABELS: Final = Path(__file__).parent / "labels"
LEARNT: Final = (
    "extraction-train-vi-zh.jsonl", "extraction-train-more.jsonl", "extraction-train-plain.jsonl"
)  # fmt: skip
MODEL: Final = Path("python/agentmem/tiers/extract/linear-1.npz")
# The least worth that speaks, without a rule's finding and with one. Chosen on the development set and the
# sets that were scored before, so that about one in twenty silent messages speaks.
THRESHOLDS: Final = {"vi": (0.7, 0.6), "zh": (0.6, 0.5)}
STRENGTH: Final = 0.5  # 1 / L2 penalty


def matrix(found: Sequence[Example]) -> sparse.csr_matrix:
    """Return the features, float32, shape (n, BUCKETS), as ``LinearModel.judge`` weighs them."""
    made = [hashed(one.heard.features()) for one in found]
    sizes = [len(signs) for _, signs in made]
    rows = np.repeat(np.arange(len(found)), sizes)
    columns = np.concatenate([buckets for buckets, _ in made])
    values = np.concatenate([signs * len(signs) ** -0.25 for _, signs in made])
    return sparse.csr_matrix((values, (rows, columns)), (len(found), BUCKETS), np.float32)


def learn(found: Sequence[Example]) -> LinearModel:
    """Return the model of these sentences."""
    weighed = matrix(found)
    judged = [at for at, one in enumerate(found) if one.worth is not None]
    binary = _fit(weighed[judged], np.array([bool(found[at].worth) for at in judged]))
    kinds = [
        (at, FACT_KINDS.index(kind), share)
        for at, one in enumerate(found)
        for kind, share in one.kinds.items()
    ]
    rows, places, shares = zip(*kinds, strict=True)
    many = _fit(weighed[list(rows)], np.array(places), np.array(shares), strength=2 * STRENGTH)
    weights, scales = _bytes(np.vstack([binary.coef_, many.coef_]))
    return LinearModel(
        weights,
        scales.astype(np.float32),
        np.concatenate([binary.intercept_, many.intercept_]).astype(np.float32),
        np.array([THRESHOLDS[one] for one in LANGUAGES], np.float32),
    )


def _bytes(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    # Few weights are as large as the largest: those beyond the 99.9th part are cut to it.
    scales = np.quantile(np.abs(weights), 0.999, axis=1) / 127
    return np.clip(np.round(weights / scales[:, None]), -127, 127).astype(np.int8), scales


def _fit(
    features: sparse.csr_matrix,
    truth: np.ndarray,
    weights: np.ndarray | None = None,
    strength: float = STRENGTH,
) -> LogisticRegression:
    return LogisticRegression(C=strength, max_iter=150, tol=1e-3).fit(features, truth, weights)


class _Held:
    """An extractor that reads each message with the model that did not learn from it."""

    id = "validation"

    def __init__(self, models: list[LinearModel], folds: dict[str, int]) -> None:
        self._read = [LearntExtractor(linear=model) for model in models]
        self._folds = folds

    def extract(
        self, messages: Sequence[Message], *, context: Sequence[Message] = ()
    ) -> list[Candidate]:
        del context
        return [f for one in messages for f in self._read[self._folds[one.id]].extract([one])]


def validate(found: Sequence[Example], labelled: Sequence[Line]) -> None:
    """Print what is found of messages that were left out, by thresholds and language."""
    folds = {line.label["id"]: fold_of(line) for line in labelled}
    models = [
        learn([one for one in found if folds[one.line.label["id"]] != fold])
        for fold in range(FOLDS)
    ]
    for pair in itertools.product((0.45, 0.5, 0.55, 0.6, 0.65), (0.3, 0.4, 0.5)):
        bound = np.full((len(LANGUAGES), 2), pair, np.float32)
        held = _Held([replace(one, thresholds=bound) for one in models], folds)
        for language, result in sorted(score(labelled, held).items()):
            print(f"{pair[0]:.2f} {pair[1]:.2f} {language}  {summary(result)}", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the model, or print how it does on what it did not see."""
    parser = argparse.ArgumentParser(prog="benches.quality.train_linear")
    parser.add_argument("--validate", action="store_true")
    options = parser.parse_args(arguments)
    folder = data_folder()
    if folder is None:
        parser.error("AGENTMEM_DATA is not set: most of the training sets point into it")
    labelled = [
        line
        for name in LEARNT
        for line in lines(LABELS / name, folder)
        if line.label["language"] in LANGUAGES
    ]
    found = [one for one in examples(labelled) if one.heard.setting.language in LANGUAGES]
    print(f"{len(found)} sentences of {len(labelled)} messages")
    if options.validate:
        validate(found, labelled)
    else:
        learn(found).write(MODEL)


if __name__ == "__main__":
    main()
