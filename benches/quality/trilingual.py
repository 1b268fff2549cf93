"""``python -m benches.quality.trilingual``: one language's question finds another's fact, or not.

Two sets of 52 situations (``labels/trilingual.jsonl`` and ``trilingual-second.jsonl``), each told as
a fact, a paraphrased question and a question of the fact's own words, in English, Vietnamese and
Chinese, made by hand for this. A question is asked of the 52 facts of one language; recall@1 is the
share whose first hit is the right one.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import agentmem
from agentmem.embedding import resolve_embedder

__all__ = [
    "CROSS",
    "LANGUAGES",
    "SETS",
    "SPELLINGS",
    "Item",
    "cross_mean",
    "hybrid_recall",
    "items",
    "lexical_recall",
    "main",
    "vector_recall",
]

LANGUAGES = ("en", "vi", "zh")
CROSS = tuple((asked, told) for asked in LANGUAGES for told in LANGUAGES if asked != told)
FOLDER = Path(__file__).parent / "labels"
#: The sets by name; the second was written by someone who knew neither the first nor the code.
SETS = {"first": FOLDER / "trilingual.jsonl", "second": FOLDER / "trilingual-second.jsonl"}

Table = dict[tuple[str, str], float]


@dataclass(frozen=True, slots=True)
class Item:
    """One situation in one language; ``words`` is a question of words that the fact holds."""

    situation: str
    language: str
    fact: str
    question: str
    words: str


def items(which: str = "first") -> list[Item]:
    """Return all 156 of a set, by situation, then language."""
    with SETS[which].open(encoding="utf-8") as lines:
        return [Item(**json.loads(line)) for line in lines]


def without_marks(text: str) -> str:
    """Return the text as people type it without diacritics, đ as d."""
    apart = unicodedata.normalize("NFD", text)
    bare = "".join(letter for letter in apart if not unicodedata.combining(letter))
    return unicodedata.normalize("NFC", bare.replace("đ", "d").replace("Đ", "D"))


#: The ways in which one and the same word is typed.
SPELLINGS: dict[str, Callable[[str], str]] = {
    "NFC": lambda text: unicodedata.normalize("NFC", text),
    "NFD": lambda text: unicodedata.normalize("NFD", text),
    "no diacritics": without_marks,
}


def vector_recall(embedder: Any, which: str = "first") -> Table:
    """Return recall@1 of the vectors alone by (language of the question, of the facts)."""
    by_language = _by_language(items(which))
    rows = {
        language: embedder.embed([item.fact for item in by_language[language]])
        for language in LANGUAGES
    }
    ask = getattr(embedder, "embed_query", None) or (lambda text: embedder.embed([text])[0])
    found: Table = {}
    for asked in LANGUAGES:
        queries = np.stack([ask(item.question) for item in by_language[asked]])
        for told in LANGUAGES:
            best = (queries @ rows[told].T).argmax(axis=1)
            found[asked, told] = float((best == np.arange(len(best))).mean())
    return found


def hybrid_recall(embedder: Any, folder: Path, which: str = "first") -> Table:
    """Return recall@1 of ``Memory.recall`` by (language of the question, of the facts)."""
    by_language = _by_language(items(which))
    found: Table = {}
    with agentmem.Memory(folder, embedder=embedder) as memory:
        ids = {
            language: [
                fact.id
                for fact in memory.scoped(language).remember_many(
                    item.fact for item in by_language[language]
                )
            ]
            for language in LANGUAGES
        }
        for asked in LANGUAGES:
            for told in LANGUAGES:
                questions = [item.question for item in by_language[asked]]
                hits = memory.scoped(told).recall_many(questions, k=1)
                found[asked, told] = _share(
                    bool(first) and first[0].id == right
                    for first, right in zip(hits, ids[told], strict=True)
                )
    return found


def lexical_recall(
    folder: Path, which: str = "first", *, k: int = 1
) -> dict[tuple[str, str, str], float]:
    """Return how often BM25 alone has the right fact among its first k for its own words.

    Facts are stored in NFC and in NFD. By (language, spelling of the facts, of the question).
    """
    by_language = _by_language(items(which))
    found = {}
    for stored in ("NFC", "NFD"):
        with agentmem.Memory(folder / stored) as memory:
            for language in LANGUAGES:
                scoped = memory.scoped(language)
                facts = [SPELLINGS[stored](item.fact) for item in by_language[language]]
                ids = [fact.id for fact in scoped.remember_many(facts)]
                for spelling, spell in SPELLINGS.items():
                    ranks = []
                    for item, right in zip(by_language[language], ids, strict=True):
                        hits = scoped.recall(spell(item.words), k=len(facts))
                        ranks.append(next(hit.bm25_rank for hit in hits if hit.id == right))
                    found[language, stored, spelling] = _share(
                        rank is not None and rank <= k for rank in ranks
                    )
    return found


def _by_language(everything: Iterable[Item]) -> dict[str, list[Item]]:
    found: dict[str, list[Item]] = {language: [] for language in LANGUAGES}
    for item in everything:
        found[item.language].append(item)
    return found


def _share(claims: Iterable[bool]) -> float:
    return float(np.mean(list(claims)))


def cross_mean(table: Table) -> float:
    """Return the mean over the six pairs of two languages."""
    return float(np.mean([table[pair] for pair in CROSS]))


def _line(name: str, table: Table) -> str:
    same = " | ".join(f"{table[language, language]:.3f}" for language in LANGUAGES)
    pairs = " ".join(f"{asked}>{told} {table[asked, told]:.2f}" for asked, told in CROSS)
    return f"| {name} | {same} | {cross_mean(table):.3f} | {pairs} |"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--embedder", action="append", help="'default', 'multilingual', or a model folder"
    )
    parser.add_argument(
        "--set", action="append", choices=SETS, dest="sets", help="one of the sets; else both"
    )
    given = parser.parse_args()
    for which in given.sets or SETS:
        _report(which, given.embedder or ["default", "multilingual"])


def _report(which: str, names: list[str]) -> None:
    print(f"recall@1 on the {which} set, question language > fact language\n")
    print("| system | en | vi | zh | mean of six cross pairs | the six |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            embedder = resolve_embedder(None if name == "default" else name)
            print(_line(f"{name}, vectors alone", vector_recall(embedder, which)))
            found = hybrid_recall(embedder, Path(folder) / name, which)
            print(_line(f"{name}, recall", found))
        print("\nBM25 alone, questions of the fact's own words, recall@1\n")
        print("| language | facts in | question in | recall@1 |\n|---|---|---|---|")
        for (language, stored, spelling), share in lexical_recall(Path(folder), which).items():
            print(f"| {language} | {stored} | {spelling} | {share:.3f} |")
        print()


if __name__ == "__main__":
    main()
