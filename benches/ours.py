"""agentmem behind the same three calls as the peers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import agentmem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt

    Vector = npt.NDArray[np.float32]

__all__ = ["KnownEmbedder", "Ours", "facts"]


def facts(texts: Sequence[str], vectors: Vector) -> Iterator[dict[str, Any]]:
    """Yield what ``remember_many`` takes, one mapping a row."""
    for text, vector in zip(texts, vectors, strict=True):
        yield {"text": text, "embedding": vector}


class Ours:
    """A ``Memory`` with vectors given by the host; its row ids are places in the corpus."""

    name = "agentmem"

    def __init__(self, folder: Path, ndim: int, *, embedder: Any = None) -> None:
        self.folder = folder / "memory"
        self.embedder = embedder or agentmem.GivenEmbeddings(id="bench", ndim=ndim)
        self.memory = agentmem.Memory(self.folder, embedder=self.embedder)
        self.row_of: dict[str, int] = {}

    def add(self, texts: Sequence[str], vectors: Vector) -> None:
        start = len(self.row_of)
        stored = self.memory.remember_many(list(facts(texts, vectors)))
        self.row_of.update((fact.id, row) for row, fact in enumerate(stored, start=start))

    def settle(self) -> None:
        """Close and open again, as a host that comes back later finds it."""
        self.memory.close()
        self.memory = agentmem.Memory(self.folder, embedder=self.embedder)

    def search(self, text: str, vector: Vector, k: int) -> list[Any]:
        return self.memory.recall(text, k=k, embedding=vector)

    def rows(self, hits: Sequence[Any]) -> list[int]:
        return [self.row_of[hit.id] for hit in hits]

    def ranked(self, hits: Sequence[Any]) -> list[tuple[int, int | None, int | None]]:
        """Return (row, rank by BM25, rank by vectors) of each hit, for the oracle."""
        return [(self.row_of[hit.id], hit.bm25_rank, hit.ann_rank) for hit in hits]

    def weights(self, text: str, vector: Vector) -> tuple[float, float]:
        """Return what each signal weighed for a query: words weigh less where they say little."""
        hits = self.memory.recall(text, k=100, embedding=vector, explain=True)
        found = [
            next((w for hit in hits if (w := hit.explanation[name].get("weight"))), 1.0)
            for name in ("bm25", "ann")
        ]
        return found[0], found[1]

    def close(self) -> None:
        self.memory.close()


class KnownEmbedder:
    """An embedder that knows the vectors of some texts already and asks another for the rest.

    So a store of thousands of facts is there at once, and a query still pays for the model.
    """

    def __init__(self, inner: Any, known: Mapping[str, Vector]) -> None:
        self.inner = inner
        self.known = known
        self.id: str = inner.id
        self.ndim: int = inner.ndim

    def embed(self, texts: Sequence[str]) -> Vector:
        rows = [self.known.get(text) for text in texts]
        missing = [text for text, row in zip(texts, rows, strict=True) if row is None]
        fresh = iter(self.inner.embed(missing) if missing else ())
        return np.stack([next(fresh) if row is None else row for row in rows])

    def embed_query(self, text: str) -> Vector | None:
        """Embed a question as the inner embedder does, its cache of questions included."""
        return self.inner.embed_query(text)
