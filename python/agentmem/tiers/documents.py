"""A host's JSON documents by scope and key: replaced when written, found by both signals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from agentmem import _native
from agentmem.arguments import check_flag, check_function
from agentmem.errors import InvalidInputError
from agentmem.models import Document, DocumentWrite, from_ms
from agentmem.protocols import Embedder, GivenEmbeddings
from agentmem.store import documents, embeddings
from agentmem.store.conditions import check_where, matches
from agentmem.store.index_rows import fact_index_rows
from agentmem.store.scopes import check_scope, join_scope
from agentmem.tiers.document_input import checked_documents
from agentmem.tiers.document_rows import remove, write_documents
from agentmem.tiers.recall import MAX_K, RRF_K, WEIGHTS, depth_of, query_text
from agentmem.tiers.vectors import embed_query, embed_texts, given_vector

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from agentmem._native import Hit
    from agentmem.opened import Opened
    from agentmem.store.database import Transaction
    from agentmem.tiers.document_input import NewDocument

__all__ = ["Documents"]

SWEEP = 1_000
# A read extends a life only if that moves its end by more than this part of it.
LEAST_MOVE = 0.01
Accept = Callable[[Mapping[str, Any]], bool]


class Fields(NamedTuple):
    """What a condition may ask of a document."""

    metadata: Mapping[str, Any]
    kind: str
    subject: str
    session: str | None = None
    tags: tuple[str, ...] = ()
    priority: int = documents.PRIORITY
    trust: int = documents.TRUST


class Documents:
    """JSON documents by scope and key, in a memory; see ``Memory.documents``.

    A write replaces what the key has, and no version of it stays. A document with ``texts`` is
    also a fact of kind ``document`` with an L0 turn of its own: ``recall`` and ``trace`` know it.
    One without is kept by its key alone, as kind ``value``. An expired document is not seen by any
    read; ``sweep`` removes it. Scopes are relative to the handle's.

    Args:
        opened: The open folder.
        scope: The scope of the handle.
    """

    def __init__(self, opened: Opened, scope: str) -> None:
        self._opened = opened
        self._base = scope

    def _path(self, scope: str) -> str:
        return _joined(self._base, scope if isinstance(scope, str) else check_scope(scope))

    def _below(self, path: str) -> str:
        return path[len(self._base) + 1 :] if self._base else path

    def write(self, writes: Iterable[DocumentWrite]) -> None:
        """Write and delete documents, all of them or none; on disk when it returns.

        Of several writes to one key the last one counts.

        Raises:
            InvalidInputError: A write is wrong, or a fact of another kind has its key.
            EmbeddingError: The embedder failed.
        """
        opened = self._opened
        opened.check()
        embedder = opened.embedder
        checked = checked_documents(
            writes, self._base, ndim=embedder.ndim, is_redacting=opened.redact
        )
        if not checked:
            return
        waiting = [at for at, one in enumerate(checked) if one.texts and one.vectors is None]
        if waiting:
            made = self._embedded([checked[at] for at in waiting])
            for at, vectors in zip(waiting, made, strict=True):
                checked[at] = checked[at]._replace(vectors=vectors)
        write_documents(
            opened.database,
            checked,
            made_ms=opened.now_ms(),
            space=(embedder.id, embedder.ndim),
        )

    def _embedded(self, several: Sequence[NewDocument]) -> list[bytes]:
        """Return the vectors of each: one a text first, then what long texts have besides."""
        embedder = self._opened.embedder
        if isinstance(embedder, GivenEmbeddings):
            embed_texts(embedder, ())
        width = embedder.ndim * 4
        groups = [grouped_texts(one.texts) for one in several]
        made = iter(embed_texts(embedder, [text for group in groups for text in group]))
        found = []
        for group in groups:
            chunks = [
                [row[at : at + width] for at in range(0, len(row), width)]
                for row in (next(made) for _ in group)
            ]
            first = [row[0] for row in chunks if row]
            rest = [chunk for row in chunks for chunk in row[1:]]
            found.append(b"".join((first + rest)[: embeddings.MAX_CHUNKS]))
        return found

    def get_many(self, keys: Sequence[tuple[str, str]]) -> list[Document | None]:
        """Return the document of each ``(scope, key)``, None where there is none; one snapshot.

        Raises:
            InvalidInputError: ``keys`` is not such pairs, or a scope is none.
        """
        self._opened.check()
        now_ms = self._opened.now_ms()
        places = [(self._path(scope), key) for scope, key in _pairs(keys)]
        with self._opened.database.read() as connection:
            return [
                None if row is None else self._document(row)
                for row in (
                    documents.get(connection, path, key, now_ms=now_ms) for path, key in places
                )
            ]

    def _document(self, row: documents.DocumentRow, value: Any = None) -> Document:
        written = from_ms(row.written_ms)
        return Document(
            f"L1:{row.id}",
            self._below(row.scope),
            row.key,
            orjson.loads(row.metadata) if value is None else value,
            written if row.first_ms is None else from_ms(row.first_ms),
            written,
            None if row.expires_ms is None else from_ms(row.expires_ms),
        )

    def scan(
        self,
        scope: str = "",
        *,
        where: Mapping[str, Any] | None = None,
        accept: Accept | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[Document]:
        """Return the documents of a scope and those below it, the last written first.

        Args:
            scope: Where to look.
            where: Conditions on values, as in ``recall``.
            accept: Says of a value whether it is wanted.
            limit: At most so many.
            offset: How many are left out at the beginning.
        """
        self._opened.check()
        check_where(where)
        check_function(accept, "accept")
        return self._newest(
            self._path(scope), documents.KINDS, where, accept, limit=limit, offset=offset
        )

    def _newest(
        self,
        path: str,
        kinds: Sequence[str],
        where: Mapping[str, Any] | None,
        accept: Accept | None,
        *,
        limit: int,
        offset: int,
    ) -> list[Document]:
        end = _page(limit, offset)
        found: list[Document] = []
        seen = 0
        if end == offset:
            return found
        with self._opened.database.read() as connection:
            for row in documents.newest(
                connection, path, now_ms=self._opened.now_ms(), kinds=kinds, where=where
            ):
                value = None
                if accept is not None or where:
                    value = orjson.loads(row.metadata)
                    if where and not matches(where, Fields(value, row.kind, row.key)):
                        continue
                    if accept is not None and not accept(value):
                        continue
                seen += 1
                if seen > offset:
                    found.append(self._document(row, value))
                    if seen == end:
                        break
        return found

    def search(
        self,
        query: str,
        scope: str = "",
        *,
        embedding: Any = None,
        where: Mapping[str, Any] | None = None,
        accept: Accept | None = None,
        fill: bool = False,
        limit: int = 10,
        offset: int = 0,
    ) -> list[Document]:
        """Return the documents that fit a question best: both signals, fused as in ``recall``.

        Args:
            query: Any text.
            scope: Where to look, with what is below it.
            embedding: The question's vector, ``ndim`` numbers, instead of embedding it; one of
                zeros leaves the words alone to decide.
            where: Conditions as in ``recall``; they hold before anything is ranked.
            accept: Says of a value whether it is wanted; more are ranked until enough are.
            fill: After all that can be ranked come those without texts, the last written first
                and without a cosine.
            limit: At most so many; ``offset + limit`` of more than 10,000 are cut to these.
            offset: How many are left out at the beginning.

        Raises:
            EmbeddingError: The embedder failed.
            EmbedderMismatchError: The memory moved to another embedder meanwhile; ask again.
        """
        opened = self._opened
        opened.check()
        check_function(accept, "accept")
        check_flag(fill, "fill")
        end = min(_page(limit, offset), MAX_K)
        text, path = query_text(query), self._path(scope)
        # One reading of it: vector and index must be of the same space.
        embedder = opened.embedder
        vector = _query_vector(embedder, text, embedding)
        now_ms, conditions = opened.now_ms(), check_where(where)
        if end <= offset:
            return []
        k = end if accept is None else min(2 * end + 20, MAX_K)
        while True:
            asked = _native.Asked(
                k, depth_of(k), weights=WEIGHTS, rrf_k=RRF_K, scopes=[path] if path else [],
                kinds=[documents.SEARCHED], where=conditions,
            )  # fmt: skip
            rows = opened.index.search(text, vector, asked, now_ms, space=embedder.id)
            if accept is None:
                break
            fit = [row for row in rows if accept(orjson.loads(row.metadata_json))]
            if len(fit) >= end or len(rows) < k or k == MAX_K:
                rows = fit
                break
            k = min(4 * k, MAX_K)
        hits = self._hits(rows[offset:end], vector)
        if fill and len(rows) < end:
            first = max(offset, len(rows))
            hits += self._newest(
                path,
                (documents.UNSEARCHED,),
                where,
                accept,
                limit=end - first,
                offset=first - len(rows),
            )
        return hits

    def _hits(self, hits: Sequence[Hit], vector: npt.NDArray[np.float32] | None) -> list[Document]:
        lost = [hit.key for hit in hits if hit.cosine is None] if vector is not None else []
        cosines = self._cosines(lost, vector) if vector is not None and lost else {}
        return [
            Document(
                hit.id,
                self._below(hit.scope),
                hit.subject or "",
                orjson.loads(hit.metadata_json),
                hit.valid_from or hit.created,
                hit.created,
                hit.valid_to,
                cosines.get(hit.key) if hit.cosine is None else hit.cosine,
            )
            for hit in hits
        ]

    def _cosines(
        self, keys: Sequence[int], vector: npt.NDArray[np.float32]
    ) -> dict[int, float | None]:
        """Return the cosines of rows that only the words found, from the stored vectors."""
        import numpy as np

        with self._opened.database.read() as connection:
            stored = embeddings.vectors_of(connection, keys)
        return {
            key: float((np.frombuffer(raw, np.float32).reshape(-1, len(vector)) @ vector).max())
            for key, raw in stored.items()
        }

    def scopes(self, scope: str = "") -> list[str]:
        """Return the scopes, of this one and those below it, that hold a document; in order."""
        self._opened.check()
        with self._opened.database.read() as connection:
            paths = documents.scopes_below(
                connection, self._path(scope), now_ms=self._opened.now_ms()
            )
        return [self._below(path) for path in paths]

    def touch(self, keys: Iterable[tuple[str, str]]) -> None:
        """Begin the lives of these documents anew; those without an end are left alone.

        Nothing is written where that moves the end by less than a hundredth of the life.
        """
        opened = self._opened
        opened.check()
        now_ms = opened.now_ms()
        lives: list[tuple[int, int]] = []
        with opened.database.read() as connection:
            for scope, key in dict.fromkeys(_pairs(keys)):
                row = documents.get(connection, self._path(scope), key, now_ms=now_ms)
                if row is None or row.ttl_ms is None or row.expires_ms is None:
                    continue
                if now_ms + row.ttl_ms - row.expires_ms > LEAST_MOVE * row.ttl_ms:
                    lives.append((row.id, now_ms + row.ttl_ms))
        if not lives:
            return

        def operation(transaction: Transaction) -> None:
            moved = sorted(documents.extend(transaction.connection, lives))
            rows = fact_index_rows(transaction.connection, moved)
            transaction.change_many("upsert", 1, dict(zip(moved, rows, strict=True)))

        opened.database.write(operation)

    def sweep(self) -> int:
        """Remove what has expired, in this scope and below, and return how many documents."""
        opened = self._opened
        opened.check()

        def operation(transaction: Transaction) -> int:
            ids = documents.expired(
                transaction.connection, self._base, now_ms=opened.now_ms(), limit=SWEEP
            )
            remove(transaction, ids)
            return len(ids)

        with opened.database.read() as connection:
            # Most sweeps find nothing, and then no writer waits for them.
            if not documents.expired(connection, self._base, now_ms=opened.now_ms(), limit=1):
                return 0
        return sum(_until_less(lambda: opened.database.write(operation)))


@lru_cache(maxsize=4096)
def _joined(base: str, scope: str) -> str:
    return check_scope(join_scope(base, check_scope(scope)))


def _until_less(sweep: Callable[[], int]) -> Iterator[int]:
    while True:
        count = sweep()
        yield count
        if count < SWEEP:
            return


def grouped_texts(texts: Sequence[str]) -> list[str]:
    """Return at most 8 texts, neighbours joined: a row has at most so many vectors."""
    if len(texts) <= embeddings.MAX_CHUNKS:
        return list(texts)
    size = -(-len(texts) // embeddings.MAX_CHUNKS)
    return ["\n".join(texts[at : at + size]) for at in range(0, len(texts), size)]


def _query_vector(
    embedder: Embedder | GivenEmbeddings, text: str, embedding: Any
) -> npt.NDArray[np.float32] | None:
    import numpy as np

    if embedding is None:
        return embed_query(embedder, text) if text and not text.isspace() else None
    try:
        is_zero = not np.any(np.asarray(embedding))
    except (TypeError, ValueError):
        is_zero = False  # what it is instead, `given_vector` says
    return None if is_zero else given_vector(embedding, embedder.ndim)


def _pairs(keys: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return scope and key of each place; whether a string is a scope is told later."""
    found = list(keys) if isinstance(keys, Iterable) else [keys]
    for pair in found:
        if not (
            isinstance(pair, Sequence)
            and len(pair) == 2  # noqa: PLR2004 - a scope and a key
            and all(isinstance(part, str) for part in pair)
        ):
            raise InvalidInputError(f"keys: pairs (scope, key) are needed, {pair!r:.80} was given")
        try:
            pair[1].encode()
        except UnicodeEncodeError as error:
            raise InvalidInputError(f"keys: {pair[1]!r:.80} holds a lone surrogate") from error
    return [(scope, key) for scope, key in found]


def _page(limit: int, offset: int) -> int:
    for name, value in (("limit", limit), ("offset", offset)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise InvalidInputError(
                f"{name}: a whole number of 0 or more is needed, {value!r} was given"
            )
    return limit + offset
