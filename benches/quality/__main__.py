"""``python -m benches.quality PATH…``: one table a collection, all systems side by side.

PATH is a folder of LifeBench files, one ``*.records.jsonl[.gz]``, or LoCoMo's JSON.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benches.corpus import data_folder
from benches.quality.charts import draw
from benches.quality.evaluate import Score, by_group, evaluate, mean, table
from benches.quality.formats import Collection, load, load_turns, merge
from benches.quality.generated import conversations
from benches.quality.rankers import (
    AgentMem,
    CachedEmbedder,
    ExactVectors,
    Native,
    PlainRrf,
    Ranker,
    TantivyBm25,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["compare", "main", "rankers"]

SYSTEMS = ("tantivy", "bm25", "vectors", "rrf", "agentmem")
# Ours with something left out or added, for the tables that say what each part is worth.
VARIANTS: dict[str, dict[str, Any]] = {
    "no-hints": {"hints": False},
    "no-names": {"names": False},
    "no-sessions": {"sessions": False},
    "signals-only": {"hints": False, "names": False, "sessions": False},
    "score": {"fusion": "score"},
    "recency": {"recency": 0.5},
    "priority": {"priority": 0.5},
    "diversity": {"diversity": 0.5},
}


def rankers(
    collection: Collection, embedder: Any, systems: Sequence[str], folder: Path, *, dated: bool
) -> dict[str, Ranker]:
    """Return the systems asked for, each over the same texts; ``rrf`` fuses bm25 and vectors."""
    built: dict[str, Ranker] = {}
    if "tantivy" in systems:
        built["BM25, tantivy (stem, stop)"] = TantivyBm25(collection, dated=dated)
    lexical: Ranker | None = None
    if {"bm25", "rrf"} & set(systems):
        try:
            lexical = Native(collection, embedder, signal="bm25", dated=dated)
            name = "BM25 alone (this build)"
        except (ImportError, AttributeError):
            if "agentmem" in systems:
                raise
            lexical = TantivyBm25(collection, dated=dated)
            name = "BM25 alone (tantivy)"
        if "bm25" in systems:
            built[name] = lexical
    if {"vectors", "rrf"} & set(systems):
        near = ExactVectors(collection, embedder, dated=dated)
        if "vectors" in systems:
            built["vectors alone"] = near
        if "rrf" in systems and lexical is not None:
            built["plain RRF, k = 60"] = PlainRrf([lexical, near], len(collection.documents))
    if "agentmem" in systems:
        built["agentmem"] = AgentMem(collection, embedder, folder / "memory")
    for name in [name for name in systems if name in VARIANTS]:
        import agentmem

        built[f"agentmem, {name}"] = AgentMem(
            collection, embedder, folder / name, ranking=agentmem.Ranking(**VARIANTS[name])
        )
    return built


def compare(
    collections: list[Collection],
    embedder: Any,
    systems: Sequence[str] = SYSTEMS,
    *,
    dated: bool = False,
) -> dict[str, dict[str, dict[str, Score]]]:
    """Return scores by collection, group (``"all"`` or a question type) and system."""
    found: dict[str, dict[str, dict[str, Score]]] = {}
    for collection in collections:
        groups: dict[str, dict[str, Score]] = {}
        with tempfile.TemporaryDirectory() as folder:
            built = rankers(collection, embedder, systems, Path(folder), dated=dated)
            for name, ranker in built.items():
                scores = evaluate(ranker, collection)
                grouped = by_group(scores, collection.questions, lambda question: question.type)
                for group, score in grouped.items():
                    groups.setdefault(group, {})[name] = score
                close = getattr(ranker, "close", None)
                if close is not None:
                    close()
        found[collection.name] = groups
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables, and write the charts where a folder is given."""
    parser = argparse.ArgumentParser(prog="python -m benches.quality", description=__doc__)
    parser.add_argument("paths", nargs="*", type=Path, help="default: the LifeBench data beside")
    parser.add_argument(
        "--systems",
        default=",".join(SYSTEMS),
        help=f"comma-separated; also {', '.join(VARIANTS)}",
    )
    parser.add_argument(
        "--model", help="'multilingual', or a model folder, instead of the packaged one"
    )
    parser.add_argument("--cache", type=Path, help="keep document vectors in this folder")
    parser.add_argument("--charts", type=Path, help="write PNG files into this folder")
    parser.add_argument("--dated", action="store_true", help="the others' texts with their dates")
    parser.add_argument("--types", action="store_true", help="also a table a question type")
    parser.add_argument(
        "--turns", action="store_true", help="only LifeBench's conversations, a document a turn"
    )
    parser.add_argument("--generated", action="store_true", help="conversations made by rule")
    parser.add_argument("--merge", action="store_true", help="all collections in one index too")
    given = parser.parse_args(arguments)
    systems = given.systems.split(",")
    if unknown := set(systems) - {*SYSTEMS, *VARIANTS}:
        known = ", ".join((*SYSTEMS, *VARIANTS))
        parser.error(f"unknown systems {sorted(unknown)}; there are {known}")
    paths = given.paths
    if not paths and not given.generated:
        folder = data_folder()
        if folder is None:
            parser.error("no path was given and AGENTMEM_DATA names no folder")
        paths = [folder / "lifebench"]
    if given.generated:
        collections = [conversations()]
    elif given.turns:
        files = [file for path in paths for file in sorted(path.glob("*.records.jsonl*"))]
        turns = [load_turns(file) for file in files or paths]
        collections = [collection for collection in turns if collection.answerable]
    else:
        collections = [collection for path in paths for collection in load(path)]
    if given.merge:
        collections.append(merge(collections, "all in one index"))

    from agentmem.embedding import resolve_embedder

    embedder = CachedEmbedder(resolve_embedder(given.model), given.cache)
    found = compare(collections, embedder, systems, dated=given.dated)
    languages: dict[str, dict[str, list[Score]]] = {}
    merged = collections[-1].name if given.merge else None
    for collection in collections:
        groups = found[collection.name]
        shown = groups if given.types else {"all": groups["all"]}
        for group, rows in shown.items():
            title = f"{collection.name} ({collection.language}), {group}"
            print(table(rows, title=title), end="\n\n")
        if given.charts:
            path = given.charts / f"{collection.name.replace(' ', '-').replace('/', '-')}.png"
            draw(groups["all"], title=collection.name, path=path)
        if collection.name == merged:
            continue  # its questions are counted in their own collections already
        for name, score in groups["all"].items():
            languages.setdefault(collection.language, {}).setdefault(name, []).append(score)
    for language, rows in languages.items():
        means = {name: mean(scores) for name, scores in rows.items()}
        print(table(means, title=f"all questions in {language}"), end="\n\n")


if __name__ == "__main__":
    main()
