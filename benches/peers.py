"""The engines that agentmem is measured against, each doing the same work at its best settings.

All hold the same rows (text, kind, tags, time) and answer ``search`` with the k best rows, texts
included, by BM25 and vectors fused with RRF (k = 60). Statements are prepared once (apsw caches
them), queries to tantivy are built from terms without its parser, only the columns that a hit shows
are read, and one thread works. ``MissionCode`` alone is as its authors wrote it.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import apsw
import numkong
import numpy as np

# The wheels of usearch 2.26 and onnxruntime 1.32 clash: importing onnxruntime after usearch is a
# segmentation fault, the other way round works. So whoever loads the peers loads it first.
import onnxruntime  # noqa: F401
import sqlite_vec
import tantivy
from usearch.index import Index as UsearchIndex

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    Vector = npt.NDArray[np.float32]

__all__ = ["DEPTH", "PEERS", "BestPythonStack", "FtsAndVec", "HnswStack", "MissionCode", "Peer"]

DEPTH = 50  # candidates of each signal, as agentmem's own default for k = 10
ROWS = "SELECT id, content, kind, tags, ts FROM facts WHERE id IN ({})"


class Peer(Protocol):
    """An engine under test; its row ids are the places of the texts in the corpus."""

    name: str

    def add(self, texts: Sequence[str], vectors: Vector) -> None:
        """Store the rows, durable and searchable on return; ``vectors`` float32 (n, ndim)."""

    def search(self, text: str, vector: Vector, k: int) -> Sequence[Any]:
        """Return at most k hits in the engine's own shape, best first, texts included."""

    def rows(self, hits: Sequence[Any]) -> list[int]:
        """Return the corpus row of each hit; not part of what is timed."""

    def close(self) -> None:
        """Free what it holds."""


def fuse(rankings: Sequence[Sequence[int]], k: int) -> list[int]:
    """Return the k best ids by RRF, written for speed in plain Python."""
    scores: dict[int, float] = {}
    for ranking in rankings:
        for place, row in enumerate(ranking, start=61):
            scores[row] = scores.get(row, 0.0) + 1.0 / place
    return sorted(scores, key=scores.__getitem__, reverse=True)[:k]


def open_sqlite(path: Path, *, vec: bool = False) -> apsw.Connection:
    connection = apsw.Connection(str(path))
    if vec:
        connection.enable_load_extension(True)
        connection.load_extension(sqlite_vec.loadable_path())
        connection.enable_load_extension(False)
    return connection


class MissionCode:
    """The mission's own TypeScript as written: sqlite-vec, LIKE over the whole query, RRF."""

    name = "mission's code"

    def __init__(self, folder: Path, ndim: int) -> None:
        self.db = open_sqlite(folder / "mission.db", vec=True)
        self.db.execute(
            f"CREATE VIRTUAL TABLE facts USING vec0(embedding float[{ndim}]);"
            "CREATE TABLE facts_meta(id INTEGER PRIMARY KEY, tier INTEGER, content TEXT, tags TEXT,"
            " ts INTEGER)"
        )

    def store_fact(self, content: str, embedding: Vector, tags: Sequence[str]) -> None:
        self.db.execute(
            "INSERT INTO facts_meta(tier,content,tags,ts) VALUES(1,?,?,?)",
            (content, ",".join(tags), time.time_ns() // 1_000_000),
        )
        self.db.execute(
            "INSERT INTO facts(rowid,embedding) VALUES(?,?)",
            (self.db.last_insert_rowid(), embedding.tobytes()),
        )

    def add(self, texts: Sequence[str], vectors: Vector) -> None:
        # One transaction around the inserts is kindness: as written each commits by itself.
        with self.db:
            for text, vector in zip(texts, vectors, strict=True):
                self.store_fact(text, vector, ())

    def search(self, text: str, vector: Vector, k: int) -> list[tuple[Any, ...]]:
        near = self.db.execute(
            "SELECT rowid, distance FROM facts WHERE embedding MATCH ? ORDER BY distance LIMIT ?",
            (vector.tobytes(), k * 2),
        ).fetchall()
        like = self.db.execute(
            "SELECT id FROM facts_meta WHERE content LIKE ? LIMIT ?", (f"%{text}%", k * 2)
        ).fetchall()
        scores: dict[int, float] = {}
        for place, (row, _) in enumerate(near):
            scores[row] = scores.get(row, 0.0) + 1 / (place + 61)
        for place, (row,) in enumerate(like):
            scores[row] = scores.get(row, 0.0) + 1 / (place + 61)
        best = sorted(scores.items(), key=lambda item: item[1], reverse=True)[:k]
        return [
            self.db.execute("SELECT * FROM facts_meta WHERE id=?", (row,)).fetchall()[0]
            for row, _ in best
        ]

    def rows(self, hits: Sequence[Any]) -> list[int]:
        return [hit[0] - 1 for hit in hits]

    def close(self) -> None:
        self.db.close()


class Rows:
    """The rows of a peer in SQLite, WAL with synchronous=FULL, read by id in one statement."""

    def __init__(self, path: Path, *, vec: bool = False) -> None:
        self.db = open_sqlite(path, vec=vec)
        self.db.execute(
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA mmap_size=1073741824;"
            "CREATE TABLE facts(id INTEGER PRIMARY KEY, content TEXT, kind TEXT, tags TEXT,"
            " ts INTEGER)"
        ).fetchall()

    def count(self) -> int:
        return int(self.db.execute("SELECT count(*) FROM facts").get)

    def insert(self, start: int, texts: Sequence[str]) -> None:
        now = time.time_ns() // 1_000_000
        self.db.executemany(
            "INSERT INTO facts VALUES(?,?,'fact','',?)",
            ((row, text, now) for row, text in enumerate(texts, start=start)),
        )

    def fetch(self, ids: Sequence[int]) -> list[tuple[Any, ...]]:
        """Return the rows in the order of the ids."""
        marks = ",".join("?" * len(ids))
        found = {row[0]: row for row in self.db.execute(ROWS.format(marks), ids)}
        return [found[row] for row in ids]


class FtsAndVec:
    """SQLite alone: FTS5's bm25() with the terms joined by OR, and sqlite-vec."""

    name = "FTS5 + sqlite-vec"

    def __init__(self, folder: Path, ndim: int) -> None:
        self.store = Rows(folder / "fts.db", vec=True)
        self.db = self.store.db
        self.db.execute(
            # With detail='none' or 'column' FTS5's bm25() sees no term counts: its ranks are wrong.
            "CREATE VIRTUAL TABLE words USING fts5(content, content='');"
            f"CREATE VIRTUAL TABLE vectors USING vec0(embedding float[{ndim}]"
            " distance_metric=cosine)"
        )

    def add(self, texts: Sequence[str], vectors: Vector) -> None:
        with self.db:
            start = self.store.count()
            self.store.insert(start, texts)
            rows = list(enumerate(texts, start=start))
            self.db.executemany("INSERT INTO words(rowid, content) VALUES(?,?)", rows)
            self.db.executemany(
                "INSERT INTO vectors(rowid, embedding) VALUES(?,?)",
                ((row, vector.tobytes()) for row, vector in enumerate(vectors, start=start)),
            )

    def search(self, text: str, vector: Vector, k: int) -> list[tuple[Any, ...]]:
        terms = " OR ".join(f'"{term}"' for term in text.split())
        lexical = self.db.execute(
            "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?", (terms, DEPTH)
        )
        near = self.db.execute(
            "SELECT rowid FROM vectors WHERE embedding MATCH ? AND k = ?",
            (vector.tobytes(), DEPTH),
        )
        rankings = [[row for (row,) in lexical], [row for (row,) in near]]
        return self.store.fetch(fuse(rankings, k))

    def rows(self, hits: Sequence[Any]) -> list[int]:
        return [hit[0] for hit in hits]

    def close(self) -> None:
        self.db.close()


class Words:
    """tantivy through its Python binding, with ids in a fast field and one segment when built."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        builder = tantivy.SchemaBuilder()
        builder.add_text_field("content", tokenizer_name="default", index_option="freq")
        builder.add_unsigned_field("id", fast=True)
        self.schema = builder.build()
        self.index = tantivy.Index(self.schema, path=str(folder))
        self.writer = self.index.writer(heap_size=128_000_000, num_threads=1)
        self.searcher = self.index.searcher()
        self.analyzer = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
        self.analyzer = self.analyzer.filter(tantivy.Filter.lowercase()).build()

    def add(self, start: int, texts: Sequence[str]) -> None:
        for row, text in enumerate(texts, start=start):
            document = tantivy.Document(content=text)
            document.add_unsigned("id", row)
            self.writer.add_document(document)
        self.writer.commit()
        self.index.reload()
        self.searcher = self.index.searcher()

    def search(self, text: str, depth: int) -> list[int]:
        should = tantivy.Occur.Should
        terms = dict.fromkeys(self.analyzer.analyze(text))
        query = tantivy.Query.boolean_query(
            [
                (should, tantivy.Query.term_query(self.schema, "content", term, "freq"))
                for term in terms
            ]
        )
        hits = self.searcher.search(query, limit=depth, count=False).hits
        return self.searcher.fast_field_values("id", [address for _, address in hits])

    def close(self) -> None:
        self.writer.wait_merging_threads()


class TextAndRows:
    """What both usearch stacks share: tantivy for words, SQLite for rows."""

    def __init__(self, folder: Path) -> None:
        self.store = Rows(folder / "rows.db")
        self.words = Words(folder / "words")

    def near(self, vector: Vector, depth: int) -> list[int]:
        raise NotImplementedError

    def add_vectors(self, start: int, vectors: Vector) -> None:
        raise NotImplementedError

    def add(self, texts: Sequence[str], vectors: Vector) -> None:
        with self.store.db:
            start = self.store.count()
            self.store.insert(start, texts)
        self.words.add(start, texts)
        self.add_vectors(start, vectors)

    def search(self, text: str, vector: Vector, k: int) -> list[tuple[Any, ...]]:
        rankings = [self.words.search(text, DEPTH), self.near(vector, DEPTH)]
        return self.store.fetch(fuse(rankings, k))

    def rows(self, hits: Sequence[Any]) -> list[int]:
        return [hit[0] for hit in hits]

    def close(self) -> None:
        self.words.close()
        self.store.db.close()


class HnswStack(TextAndRows):
    """usearch's HNSW graph (f16), tantivy and SQLite, glued in Python."""

    name = "usearch HNSW + tantivy + SQLite"

    def __init__(self, folder: Path, ndim: int) -> None:
        super().__init__(folder)
        # The defaults of usearch (connectivity 16, expansion 128 and 64) give recall@10 above
        # 0.97 here; more is slower, less falls below.
        self.graph = UsearchIndex(ndim=ndim, metric="ip", dtype="f16")

    def add_vectors(self, start: int, vectors: Vector) -> None:
        keys = np.arange(start, start + len(vectors), dtype=np.uint64)
        self.graph.add(keys, vectors, threads=1)

    def near(self, vector: Vector, depth: int) -> list[int]:
        return self.graph.search(vector, depth, threads=1).keys.tolist()


class BestPythonStack(TextAndRows):
    """Exact int8 scan by usearch's kernel library, tantivy and SQLite, glued in Python.

    Of what can be called from Python for 10,000 vectors, numkong's packed int8 product is the
    fastest (0.14 ms of CPU at 384 dimensions, against 0.33 for f16, 0.56 for numpy's float32 and
    1.0 for ``usearch.index.search(exact=True)`` over int8).
    """

    name = "exact int8 scan + tantivy + SQLite"

    def __init__(self, folder: Path, ndim: int) -> None:
        super().__init__(folder)
        self.codes = np.empty((0, ndim), dtype=np.int8)
        self.scale = np.float32(0)
        self.packed: numkong.PackedMatrix | None = None

    def add_vectors(self, start: int, vectors: Vector) -> None:
        if start == 0:
            # Unit vectors of clustered data: the largest component fills the range.
            self.scale = np.float32(127 / np.abs(vectors).max())
        self.codes = np.vstack([self.codes, self.encode(vectors)])
        self.packed = numkong.dots_pack(self.codes)

    def encode(self, vectors: Vector) -> npt.NDArray[np.int8]:
        return np.rint(vectors * self.scale).clip(-127, 127).astype(np.int8)

    def near(self, vector: Vector, depth: int) -> list[int]:
        scores = np.asarray(numkong.dots_packed(self.encode(vector)[None], self.packed))[0]
        if len(scores) > depth:
            best = np.argpartition(scores, len(scores) - depth)[-depth:]
        else:
            best = np.arange(len(scores))
        return best[np.argsort(-scores[best], kind="stable")].tolist()


PEERS: tuple[type[Peer], ...] = (MissionCode, FtsAndVec, HnswStack, BestPythonStack)
