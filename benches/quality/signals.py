"""``python -m benches.quality.signals PATH…``: how often either signal decides who is in the first ten.

Each question is asked with its own words and vector, then with the vector of another question, then
with the words of another: the share of questions whose first ten hits change.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from benches.quality.formats import Collection, load
from benches.quality.rankers import AgentMem, CachedEmbedder

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["changed", "main"]

FIRST = 10


def changed(collection: Collection, embedder: Any, folder: Path) -> tuple[float, float]:
    """Return the shares of questions whose first ten change with other vectors, other words."""
    ranker = AgentMem(collection, embedder, folder)
    questions = [one for one in collection.questions if embedder.embed_query(one.text) is not None]
    other = np.random.default_rng(7).permutation(len(questions))
    counts = [0, 0]
    for place, question in enumerate(questions):
        foreign = questions[other[place] if other[place] != place else place - 1]
        ranker.now = question.when

        def first(words: str, meaning: str) -> set[str]:
            vector = embedder.embed_query(meaning)
            return {hit.id for hit in ranker.memory.recall(words, k=FIRST, embedding=vector)}

        own = first(question.text, question.text)
        counts[0] += own != first(question.text, foreign.text)
        counts[1] += own != first(foreign.text, question.text)
    ranker.close()
    return counts[0] / len(questions), counts[1] / len(questions)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line a collection."""
    parser = argparse.ArgumentParser(prog="python -m benches.quality.signals", description=__doc__)
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument(
        "--model", help="'multilingual', or a model folder, instead of the packaged one"
    )
    parser.add_argument("--cache", type=Path, help="keep document vectors in this folder")
    given = parser.parse_args(arguments)
    from agentmem.embedding import resolve_embedder

    embedder = CachedEmbedder(resolve_embedder(given.model), given.cache)
    for collection in [collection for path in given.paths for collection in load(path)]:
        with tempfile.TemporaryDirectory() as folder:
            vectors, words = changed(collection, embedder, Path(folder) / "m")
        print(
            f"{collection.name} ({collection.language}): first {FIRST} change with other vectors for "
            f"{vectors:.0%} of the questions, with other words for {words:.0%}"
        )


if __name__ == "__main__":
    main()
