"""``python -m benches.quality.calibrate PATH PATH…``: fits ``tiers/calibrated.py`` and shows its AUC.

Each collection's own answerable questions are asked of its memory, and the questions of the others.
A hit that is evidence is what relevance is to find; every other hit, and every hit of a foreign
question, is not. Fitted on one memory, reported on the others; what is printed last is fitted on all.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from benches.quality.formats import Collection, Document, Question, load
from benches.quality.rankers import AgentMem, CachedEmbedder

from agentmem import _native

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

__all__ = ["Asked", "auc", "fit", "main", "relevance"]

FEATURES = 5
HITS = 10
RIDGE = 1e-2
# Below it the best hit says that nothing fits.
NOTHING = 0.05
STEPS = 60


@dataclass(frozen=True)
class Asked:
    """The hits of one question: features, shape (n, 5), and which of them are evidence."""

    features: Floats
    is_evidence: npt.NDArray[np.bool_]
    group: str
    memory: str


def relevance(model: Floats, features: Floats) -> Floats:
    """Return the chances, shape (n,), by a model of shape (6,): the constant and the weights."""
    return 1.0 / (1.0 + np.exp(-(model[0] + features @ model[1:])))


def fit(asked: Sequence[Asked]) -> Floats:
    """Return the logistic model, shape (6,), of greatest likelihood with a small ridge (Newton).

    Each memory weighs the same, and in it its own questions as much as all others together: the
    chances hold where half of what is asked can be answered.
    """
    sizes = Counter((one.memory, one.group == "own") for one in asked)
    share = {key: len(asked) / len(sizes) / size for key, size in sizes.items()}
    weights = np.concatenate(
        [np.full(len(one.features), share[one.memory, one.group == "own"]) for one in asked]
    )
    features = np.concatenate([one.features for one in asked])
    wanted = np.concatenate([one.is_evidence for one in asked]).astype(float)
    rows = np.hstack([np.ones((len(features), 1)), features])
    model = np.zeros(FEATURES + 1)
    ridge = RIDGE * len(rows) ** 0.5 * np.diag([0.0, *[1.0] * FEATURES])
    for _ in range(STEPS):
        chance = 1.0 / (1.0 + np.exp(-(rows @ model)))
        slope = rows.T @ (weights * (wanted - chance)) - ridge @ model
        curve = (rows * (weights * chance * (1 - chance))[:, None]).T @ rows + ridge
        step = np.linalg.solve(curve + 1e-9 * np.eye(len(model)), slope)
        model = model + step
        if np.abs(step).max() < 1e-9:
            break
    return model


def auc(higher: Sequence[float], lower: Sequence[float]) -> float:
    """Return how often one of ``higher`` is above one of ``lower``, a tie counting half."""
    if not len(higher) or not len(lower):
        return float("nan")
    a, b = np.asarray(higher)[:, None], np.asarray(lower)[None, :]
    return float(((a > b) + 0.5 * (a == b)).mean())


def features_of(
    memory: AgentMem, embedder: Any, question: Question, group: str, name: str
) -> Asked:
    """Return the features of the first hits, read out of the engine one by one."""
    shared = memory.memory._shared
    vector = embedder.embed_query(question.text)
    now_ms = int(question.when.timestamp() * 1000) if question.when else shared.now_ms()
    columns: list[list[float]] = []
    ids: list[str] = []
    for place in range(FEATURES):
        weights = tuple(float(at == place) for at in range(FEATURES))
        ranking = _native.Ranking(relevance=(0.0, weights))
        asked = _native.Asked(HITS, 50, hints=True, ranking=ranking)
        hits = shared.index.search(question.text, vector, asked, now_ms, space=embedder.id)
        chances = np.array([0.5 if hit.relevance is None else hit.relevance for hit in hits])
        columns.append(list(np.log(chances / (1 - chances))))
        ids = [hit.id for hit in hits]
    names = [memory.cited[memory.name_of[id]] for id in ids]
    wanted = set(question.evidence) if group == "own" else set()
    return Asked(
        np.array(columns).T.reshape(-1, FEATURES),
        np.array([one in wanted for one in names], dtype=bool),
        group,
        name,
    )


def ask_all(
    collection: Collection, others: Sequence[Collection], embedder: Any, folder: Path
) -> list[Asked]:
    """Return what a memory says to its own questions, to unanswerable and to foreign ones."""
    memory = AgentMem(collection, embedder, folder)
    asked = [
        features_of(
            memory,
            embedder,
            question,
            "own" if question.evidence else "unanswerable",
            collection.name,
        )
        for question in collection.questions
    ]
    for other in others:
        asked += [
            features_of(memory, embedder, question, "foreign", collection.name)
            for question in other.questions
        ]
    memory.close()
    return [one for one in asked if len(one.features)]


def report(model: Floats, asked: Sequence[Asked]) -> str:
    """Return a line: AUC of a question's best relevance, and what share stays below 0.1."""
    best: dict[str, list[float]] = {"own": [], "unanswerable": [], "foreign": []}
    for one in asked:
        best[one.group].append(float(relevance(model, one.features).max()))
    chance = np.concatenate([relevance(model, one.features) for one in asked if one.group == "own"])
    truth = np.concatenate([one.is_evidence for one in asked if one.group == "own"])
    low = {group: np.mean(np.array(values) < 0.1) for group, values in best.items() if values}
    return (
        f"AUC own against foreign {auc(best['own'], best['foreign']):.3f}, against unanswerable "
        f"{auc(best['own'], best['unanswerable']):.3f} (n = {len(best['unanswerable'])}); hits: mean "
        f"relevance {chance.mean():.3f}, evidence {truth.mean():.3f}, AUC "
        f"{auc(chance[truth].tolist(), chance[~truth].tolist()):.3f}; best below {NOTHING}: "
        + ", ".join(f"{group} {share:.2f}" for group, share in low.items())
    )


def halves(path: Path, language: str) -> list[Collection]:
    """Read facts with their questions (JSON lines) as two memories, each foreign to the other."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if row["language"] == language]
    found = []
    for half in (0, 1):
        documents, questions = [], []
        for place, row in enumerate(rows[half::2]):
            name = f"{row['situation']}-{place}"
            documents.append(Document(name, name, row["fact"], "", "", 0, ""))
            questions.append(Question(name, row["question"], "fact", (name,)))
        name = f"facts {half + 1} ({language})"
        found.append(Collection(name, language, tuple(documents), tuple(questions)))
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Fit, report on what was not fitted, print the coefficients."""
    parser = argparse.ArgumentParser(
        prog="python -m benches.quality.calibrate", description=__doc__
    )
    parser.add_argument("paths", nargs="+", type=Path, help="collections of one language")
    parser.add_argument("--facts", type=Path, help="facts with questions, in JSON lines")
    parser.add_argument("--language", default="en", help="of --facts")
    parser.add_argument("--cache", type=Path, help="keep document vectors in this folder")
    given = parser.parse_args(arguments)
    from agentmem.embedding import OnnxEmbedder

    embedder = CachedEmbedder(OnnxEmbedder(), given.cache)
    collections = [collection for path in given.paths for collection in load(path)]
    if given.facts:
        collections += halves(given.facts, given.language)
    asked: dict[str, list[Asked]] = {}
    for collection in collections:
        others = [other for other in collections if other is not collection]
        with tempfile.TemporaryDirectory() as folder:
            asked[collection.name] = ask_all(collection, others, embedder, Path(folder) / "m")
    for name, own in asked.items():
        rest = [one for other, found in asked.items() if other != name for one in found]
        # The halves of the facts are of one hand: neither stands for the other.
        if "facts" in name:
            rest = [
                one for other, found in asked.items() if "facts" not in other for one in found
            ] or rest
        if rest:
            print(f"{name}, fitted on the others: {report(fit(rest), own)}")
    model = fit([one for found in asked.values() for one in found])
    for name, own in asked.items():
        print(f"{name}, fitted on all: {report(model, own)}")
    print(
        f"{embedder.id}: ({model[0]:.2f}, ({', '.join(f'{weight:.2f}' for weight in model[1:])}))"
    )


if __name__ == "__main__":
    main()
