"""``python -m benches.quality.analyzer PATH…``: BM25 alone with pieces of the analyzer left out.

Stemming and stop words are taken apart by tantivy's analyzer, the rest by dropping terms of ours.
With ``--facts`` questions without diacritics are asked of Vietnamese facts.
"""

from __future__ import annotations

import argparse
import json
import unicodedata
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from benches.quality.evaluate import Score, evaluate, mean, table
from benches.quality.formats import Collection, Document, Question, load

from agentmem import _native

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Analyze = Callable[[str], list[str]]

__all__ = ["TermBm25", "main", "variants"]

K1, B = 1.2, 0.75
FIRST_HAN = "\u3400"


class TermBm25:
    """BM25 over the terms that two functions give, for documents and for questions."""

    def __init__(self, collection: Collection, document: Analyze, question: Analyze) -> None:
        self.ids = [one.id for one in collection.documents]
        self.question = question
        postings: dict[str, list[tuple[int, int]]] = defaultdict(list)
        lengths = np.zeros(len(self.ids))
        for row, one in enumerate(collection.documents):
            counts = Counter(document(one.indexed))
            lengths[row] = counts.total()
            for term, count in counts.items():
                postings[term].append((row, count))
        self.postings = {term: np.array(found) for term, found in postings.items()}
        self.norms = K1 * (1 - B + B * lengths / max(lengths.mean(), 1e-9))

    def rank(self, question: str, depth: int) -> list[str]:
        scores = np.zeros(len(self.ids))
        for term in dict.fromkeys(self.question(question)):
            found = self.postings.get(term)
            if found is None:
                continue
            rows, counts = found[:, 0], found[:, 1]
            weight = np.log(1 + (len(self.ids) - len(rows) + 0.5) / (len(rows) + 0.5))
            scores[rows] += weight * counts / (counts + self.norms[rows])
        order = np.argsort(-scores, kind="stable")[:depth]
        return [self.ids[row] for row in order if scores[row] > 0]


def _tantivy(*, stem: bool, stop: bool) -> Analyze:
    import tantivy

    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    builder = builder.filter(tantivy.Filter.lowercase())
    if stop:
        builder = builder.filter(tantivy.Filter.stopword("english"))
    if stem:
        builder = builder.filter(tantivy.Filter.stemmer("english"))
    return builder.build().analyze


def _dropping(analyze: Analyze, drop: Callable[[str], bool]) -> Analyze:
    return lambda text: [term for term in analyze(text) if not drop(term)]


def _is_han(term: str, length: int) -> bool:
    return len(term) == length and term[0] >= FIRST_HAN


def _is_compound(term: str) -> bool:
    return term.isascii() and not term.isalnum()


def variants() -> dict[str, tuple[Analyze, Analyze]]:
    """Return the analyzers, for documents and questions, by what is left out."""
    document, question = _native.analyze, _native.analyze_query

    def both(drop: Callable[[str], bool]) -> tuple[Analyze, Analyze]:
        return _dropping(document, drop), _dropping(question, drop)

    found = {
        "ours": (document, question),
        "without stop words in questions": (document, document),
        "without whole identifiers": both(_is_compound),
        "without pairs of Han characters": both(lambda term: _is_han(term, 2)),
        "without single Han characters": both(lambda term: _is_han(term, 1)),
    }
    for stem in (False, True):
        for stop in (False, True):
            name = f"tantivy, {'stemmed' if stem else 'not stemmed'}, {'with' if stop else 'no'} stop words"
            found[name] = (analyze := _tantivy(stem=stem, stop=stop), analyze)
    return found


def _bare(text: str) -> str:
    decomposed = unicodedata.normalize("NFD", text).replace("đ", "d").replace("Đ", "D")
    return "".join(one for one in decomposed if not unicodedata.combining(one))


def vietnamese(path: Path, *, fold: bool) -> dict[str, Score]:
    """Return how often words of Vietnamese facts find their fact, spelt in three ways."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if row["language"] == "vi"]
    documents = tuple(
        Document(row["situation"], row["situation"], row["fact"], "", "", 0, "") for row in rows
    )
    spellings: dict[str, Callable[[str], str]] = {
        "NFC": lambda text: unicodedata.normalize("NFC", text),
        "NFD": lambda text: unicodedata.normalize("NFD", text),
        "no diacritics": _bare,
    }
    found = {}
    for name, spell in spellings.items():
        questions = tuple(
            Question(row["situation"], spell(row["words"]), "", (row["situation"],)) for row in rows
        )
        collection = Collection("vi", "vi", documents, questions)
        pair = (_native.analyze, _native.analyze_query)
        ranker = TermBm25(collection, *(pair if fold else (str.split, str.split)))
        scores = list(evaluate(ranker, collection).values())
        found[f"{'ours' if fold else 'words between spaces'}, {name}"] = mean(scores)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table a collection."""
    parser = argparse.ArgumentParser(prog="python -m benches.quality.analyzer", description=__doc__)
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument("--facts", type=Path, help="facts with their words, in JSON lines")
    given = parser.parse_args(arguments)
    for collection in [collection for path in given.paths for collection in load(path)]:
        rows = {}
        for name, (document, question) in variants().items():
            scores = list(evaluate(TermBm25(collection, document, question), collection).values())
            rows[name] = mean(scores)
        print(table(rows, title=f"BM25 on {collection.name}"), end="\n\n")
    if given.facts:
        rows = vietnamese(given.facts, fold=True) | vietnamese(given.facts, fold=False)
        print(table(rows, title="words of Vietnamese facts"))


if __name__ == "__main__":
    main()
