"""What is compared: BM25 alone, vectors alone, plain RRF over whole lists, and agentmem."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy.typing as npt
    from benches.quality.formats import Collection, Question

    from agentmem import Hit

    Vectors = npt.NDArray[np.float32]

__all__ = [
    "AgentMem",
    "CachedEmbedder",
    "ExactVectors",
    "Native",
    "PlainRrf",
    "Ranker",
    "TantivyBm25",
]


class Ranker(Protocol):
    """Ranks the documents of one collection."""

    def rank(self, question: str, depth: int) -> list[str]:
        """Return the ids of at most ``depth`` documents, best first."""


class CachedEmbedder:
    """An embedder whose vectors of documents are kept in a folder between runs.

    Args:
        inner: What embeds; its ``id`` is part of the cache's names.
        folder: Where the vectors lie, or None to keep none.
    """

    def __init__(self, inner: Any, folder: Path | None) -> None:
        self.inner = inner
        self.id: str = inner.id
        self.ndim: int = inner.ndim
        self.languages = getattr(inner, "languages", None)
        self.folder = folder
        self.known: dict[str, Vectors] = {}

    def embed(self, texts: Sequence[str]) -> Vectors:
        return self.inner.embed(texts)

    def embed_query(self, text: str) -> Vectors | None:
        as_query = getattr(self.inner, "embed_query", None)
        return as_query(text) if as_query else self.inner.embed([text])[0]

    def embed_chunks(self, texts: Sequence[str]) -> list[Vectors]:
        """Return the chunk vectors of each text, each (n_chunks, ndim), n_chunks from 0 to 8."""
        missing = list(dict.fromkeys(text for text in texts if text not in self.known))
        if missing:
            self.known.update(zip(missing, self._kept(missing), strict=True))
        return [self.known[text] for text in texts]

    def _kept(self, texts: list[str]) -> list[Vectors]:
        digest = hashlib.sha256("\0".join([self.id, *texts]).encode("utf-8", "surrogatepass"))
        path = self.folder / f"{digest.hexdigest()[:32]}.npz" if self.folder else None
        if path is not None and path.exists():
            with np.load(path, allow_pickle=False) as kept:
                return np.split(kept["vectors"], kept["ends"][:-1])
        in_chunks = getattr(self.inner, "embed_chunks", None)
        if in_chunks:
            found = [
                np.asarray(chunks, dtype=np.float32).reshape(-1, self.ndim)
                for chunks in in_chunks(texts)
            ]
        else:
            found = list(self.inner.embed(texts)[:, None, :])
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            ends = np.cumsum([len(chunks) for chunks in found])
            np.savez(path, vectors=np.concatenate(found), ends=ends)
        return found


class TantivyBm25:
    """BM25 by tantivy with English stemming and stop words: what a careful host would set up."""

    def __init__(self, collection: Collection, *, dated: bool = False) -> None:
        import tantivy

        self.tantivy = tantivy
        self.ids = [document.id for document in collection.documents]
        builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
        for token_filter in (
            tantivy.Filter.lowercase(),
            tantivy.Filter.stopword("english"),
            tantivy.Filter.stemmer("english"),
        ):
            builder = builder.filter(token_filter)
        self.analyzer = builder.build()
        schema = tantivy.SchemaBuilder()
        schema.add_text_field("text", tokenizer_name="stemmed", index_option="freq")
        schema.add_unsigned_field("row", fast=True)
        self.schema = schema.build()
        index = tantivy.Index(self.schema)
        index.register_tokenizer("stemmed", self.analyzer)
        writer = index.writer(num_threads=1)
        for row, document in enumerate(collection.documents):
            entry = tantivy.Document(text=document.dated if dated else document.indexed)
            entry.add_unsigned("row", row)
            writer.add_document(entry)
        writer.commit()
        writer.wait_merging_threads()
        index.reload()
        self.searcher = index.searcher()

    def rank(self, question: str, depth: int) -> list[str]:
        query = self.tantivy.Query
        terms = [
            (self.tantivy.Occur.Should, query.term_query(self.schema, "text", term, "freq"))
            for term in dict.fromkeys(self.analyzer.analyze(question))
        ]
        if not terms or not depth:
            return []
        hits = self.searcher.search(query.boolean_query(terms), limit=depth, count=False).hits
        rows = self.searcher.fast_field_values("row", [address for _, address in hits])
        return [self.ids[row] for row in rows]


class ExactVectors:
    """Cosine over all documents, the best chunk of each counts."""

    def __init__(self, collection: Collection, embedder: Any, *, dated: bool = False) -> None:
        self.ids = [document.id for document in collection.documents]
        self.embedder = embedder
        texts = [doc.dated if dated else doc.indexed for doc in collection.documents]
        chunks = embedder.embed_chunks(texts)
        self.vectors = np.concatenate(chunks)
        self.owner = np.repeat(np.arange(len(chunks)), [len(rows) for rows in chunks])

    def rank(self, question: str, depth: int) -> list[str]:
        vector = self.embedder.embed_query(question)
        if vector is None:
            return []
        best = np.full(len(self.ids), -np.inf, dtype=np.float32)
        np.maximum.at(best, self.owner, self.vectors @ vector)
        order = np.argsort(-best, kind="stable")[:depth]
        return [self.ids[row] for row in order if np.isfinite(best[row])]


class PlainRrf:
    """Reciprocal Rank Fusion, k = 60, equal weights, over the whole list of each ranker."""

    def __init__(self, rankers: Sequence[Ranker], size: int) -> None:
        self.rankers = rankers
        self.size = size

    def rank(self, question: str, depth: int) -> list[str]:
        scores: dict[str, float] = {}
        for ranker in self.rankers:
            for place, name in enumerate(ranker.rank(question, self.size), start=61):
                scores[name] = scores.get(name, 0.0) + 1.0 / place
        return sorted(scores, key=lambda name: -scores[name])[:depth]


class Native:
    """A signal of this build by itself, through ``HybridIndex``: its BM25, or its vectors."""

    def __init__(
        self, collection: Collection, embedder: Any, *, signal: str, dated: bool = False
    ) -> None:
        import agentmem

        self.ids = [document.id for document in collection.documents]
        self.embedder = embedder
        self.signal = signal
        texts = [doc.dated if dated else doc.indexed for doc in collection.documents]
        vectors = np.zeros((len(texts), embedder.ndim), dtype=np.float32)
        vectors[:, 0] = 1  # the lexical signal alone is asked; no vector counts
        if signal == "ann":
            vectors = np.ascontiguousarray(embedder.embed(texts), dtype=np.float32)
        self.index = agentmem.HybridIndex(embedder.ndim)
        self.index.add(np.arange(len(texts), dtype=np.uint64), texts, vectors)

    def rank(self, question: str, depth: int) -> list[str]:
        if self.signal == "bm25":
            found = self.index.search(question, None, depth, depth)
        else:
            vector = self.embedder.embed_query(question)
            if vector is None:
                return []
            found = self.index.search("", vector, depth, depth)
        return [self.ids[int(row)] for row in found.ids]


class AgentMem:
    """Ours, end to end: a ``Memory`` that remembers each document in its session.

    A document's session and time are given as the host knows them, its text without a header; its
    clock says when each question was asked, where the data tells.
    """

    def __init__(
        self,
        collection: Collection,
        embedder: Any,
        folder: Path,
        *,
        ranking: Any = None,
        sessions: bool = True,
        times: bool = True,
    ) -> None:
        import agentmem

        self.now: datetime | None = None
        self.cited = {doc.id: doc.evidence_id for doc in collection.documents}
        self.ranking = ranking
        self.memory = agentmem.Memory(
            folder, embedder=embedder, redact=False, clock=lambda: self.now or datetime.now(UTC)
        )
        if isinstance(embedder, CachedEmbedder):
            embedder.embed_chunks([doc.indexed for doc in collection.documents])
        # A key makes equal texts two facts, as they are two documents for the other rankers.
        facts = self.memory.remember_many(
            [
                {
                    "text": doc.indexed,
                    "key": doc.id,
                    "subject": doc.speaker or None,
                    "session": (doc.session or None) if sessions else None,
                    "valid_from": doc.when if times else None,
                }
                for doc in collection.documents
            ]
        )
        self.name_of = {
            fact.id: doc.id for fact, doc in zip(facts, collection.documents, strict=True)
        }

    def rank(self, question: str, depth: int) -> list[str]:
        return [self.name_of[hit.id] for hit in self.hits(question, None, depth)]

    def ask(self, question: Question, depth: int) -> list[str]:
        found = self.hits(question.text, question.when, depth)
        return [self.name_of[hit.id] for hit in found]

    def hits(self, question: str, asked: datetime | None, depth: int) -> list[Hit]:
        self.now = asked
        return self.memory.recall(question, k=depth, ranking=self.ranking)

    def close(self) -> None:
        self.memory.close()
