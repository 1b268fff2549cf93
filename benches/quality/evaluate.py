"""Evidence recall and hit rate at 5, 10, 20 and 50, and tuning that never sees what it reports."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benches.quality.formats import Collection, Question
    from benches.quality.rankers import Ranker

__all__ = ["DEPTHS", "Score", "by_group", "evaluate", "half", "mean", "table", "two_fold"]

DEPTHS = (5, 10, 20, 50)
T = TypeVar("T")


@dataclass(frozen=True)
class Score:
    """Evidence recall and hit rate at each depth, over ``count`` questions."""

    count: int
    recall: tuple[float, ...]
    hit: tuple[float, ...]


def score_one(ranking: Sequence[str], evidence: Sequence[str]) -> Score:
    """Return one question's score: the share of its evidence in the top k, and whether any is."""
    wanted = set(evidence)
    found = [len(wanted & set(ranking[:depth])) for depth in DEPTHS]
    return Score(1, tuple(n / len(wanted) for n in found), tuple(float(n > 0) for n in found))


def mean(scores: Sequence[Score]) -> Score:
    """Return the mean over all questions, each with the same weight."""
    count = sum(score.count for score in scores)
    if not count:
        return Score(0, (0.0,) * len(DEPTHS), (0.0,) * len(DEPTHS))

    def weigh(name: str) -> tuple[float, ...]:
        return tuple(
            sum(getattr(score, name)[place] * score.count for score in scores) / count
            for place in range(len(DEPTHS))
        )

    return Score(count, weigh("recall"), weigh("hit"))


def evaluate(ranker: Ranker, collection: Collection) -> dict[str, Score]:
    """Return the score of each question that has evidence, by its id."""
    cited = {document.id: document.evidence_id for document in collection.documents}
    scores = {}
    ask = getattr(ranker, "ask", None)
    for question in collection.answerable:
        names = (
            ask(question, DEPTHS[-1]) if ask is not None else ranker.rank(question.text, DEPTHS[-1])
        )
        ranking = [cited[name] for name in names]
        scores[question.id] = score_one(ranking, question.evidence)
    return scores


def by_group(
    scores: dict[str, Score], questions: Sequence[Question], key: Callable[[Question], str]
) -> dict[str, Score]:
    """Return the mean of each group of questions, and of all under ``"all"``."""
    groups: dict[str, list[Score]] = defaultdict(list)
    for question in questions:
        if question.id in scores:
            groups[key(question)].append(scores[question.id])
    found = {name: mean(group) for name, group in sorted(groups.items())}
    return {**found, "all": mean(list(scores.values()))}


def half(name: str) -> int:
    """Return the fold, 0 or 1, that a question belongs to; its name alone decides."""
    return hashlib.sha256(name.encode()).digest()[0] & 1


def two_fold(
    names: Sequence[str], candidates: Sequence[T], value: Callable[[T, Sequence[str]], float]
) -> tuple[list[T], float]:
    """Tune on one half of the questions, report on the other, both ways.

    Args:
        names: The questions (or conversations, where their questions hang together).
        candidates: The settings to choose from; the first wins a tie.
        value: The mean measure of one setting over some of the names; more is better.

    Returns:
        The setting chosen for each half by the other one, and the measure over all names, each
        measured with the setting that its own half had no say in.
    """
    folds = [[name for name in names if half(name) == side] for side in (0, 1)]
    if not all(folds):
        raise ValueError(f"{len(names)} names do not fill two folds")
    chosen = [max(candidates, key=lambda one: value(one, folds[1 - side])) for side in (0, 1)]
    total = sum(value(chosen[side], folds[side]) * len(folds[side]) for side in (0, 1))
    return chosen, total / len(names)


def table(rows: dict[str, Score], *, title: str) -> str:
    """Return a Markdown table: one row a system, recall and hit rate at each depth."""
    depths = " | ".join([*(f"R@{depth}" for depth in DEPTHS), *(f"hit@{d}" for d in DEPTHS)])
    lines = [f"| {title} | n | {depths} |", "|---" * (2 + 2 * len(DEPTHS)) + "|"]
    for name, score in rows.items():
        figures = " | ".join(f"{value:.3f}" for value in (*score.recall, *score.hit))
        lines.append(f"| {name} | {score.count} | {figures} |")
    return "\n".join(lines)
