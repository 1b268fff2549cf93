"""A LangGraph store on an agentmem folder: durable, and searched by words and vectors at once."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Literal, Self

from langchain_core.embeddings import Embeddings
from langgraph.store.base import (
    BaseStore,
    IndexConfig,
    Item,
    ListNamespacesOp,
    Op,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
)
from langgraph.store.base.embed import ensure_embeddings

from agentmem.errors import InvalidInputError
from agentmem.integrations.langgraph.embedder import LangChainEmbedder, matrix
from agentmem.integrations.langgraph.filters import compiled
from agentmem.integrations.langgraph.namespaces import (
    common_prefix,
    listed,
    to_namespace,
    to_scope,
)
from agentmem.integrations.langgraph.plan import Plan, tokenized_fields
from agentmem.integrations.langgraph.sweeper import DEFAULT_MINUTES, Sweeper
from agentmem.memory import Memory
from agentmem.models import Document
from agentmem.protocols import Clock

__all__ = ["AgentMemStore"]


class AgentMemStore(BaseStore):
    """LangGraph's ``BaseStore`` on an agentmem folder, for threads and for any event loop.

    A write is on disk and found when it returns. ``search(query=…)`` ranks by BM25 and vectors
    fused; see docs/langgraph.md for what is decided where LangGraph's own stores differ.

    Args:
        path: The folder, ``":memory:"`` for one that is removed at the end, or an open
            :class:`~agentmem.memory.Memory`, which stays open.
        index: What is searched: ``fields`` (paths, default ``["$"]``, the whole value), ``embed``
            and ``dims``. Without ``embed`` the packaged model makes the vectors, so ``{}`` is
            enough. None: queries are ignored, as in LangGraph's own stores. ``id`` may name the
            vectors where ``embed`` has no name of its own.
        ttl: As in LangGraph; what has expired is never returned, swept or not.
        scope: All namespaces lie below this scope of the memory.
        durability: As in ``Memory``.
        redact: Whether secrets in values are replaced; a store gives back what was put, so not.
        clock: As in ``Memory``.
        max_workers: Threads that may work at once for event loops.

    Raises:
        NotAStoreError: The folder holds something else.
        EmbedderMismatchError: The folder's vectors were made by another model.
        ValueError: ``index`` is wrong.
    """

    supports_ttl = True

    def __init__(
        self,
        path: str | os.PathLike[str] | Memory = ":memory:",
        *,
        index: IndexConfig | Mapping[str, Any] | None = None,
        ttl: TTLConfig | None = None,
        scope: str = "",
        durability: Literal["full", "normal"] = "full",
        redact: bool = False,
        clock: Clock | None = None,
        max_workers: int = 4,
    ) -> None:
        super().__init__()
        self.ttl_config = ttl
        self.index_config: dict[str, Any] | None = None if index is None else dict(index)
        self.embeddings: Embeddings | None = None
        self._fields = tokenized_fields(self.index_config)
        self._sweeper: Sweeper | None = None
        self._executor: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()
        self._max_workers = max_workers
        self._temporary: weakref.finalize[Any, Any] | None = None
        embedder = self._make_embedder()
        self._owns = not isinstance(path, Memory)
        if isinstance(path, Memory):
            if embedder is not None and embedder.id != path.embedder.id:
                raise InvalidInputError(
                    f"index: the memory's vectors are those of {path.embedder.id!r}; "
                    "leave out 'embed' to use them"
                )
            self.memory = path.scoped(scope) if scope else path
        else:
            if path == ":memory:":
                path = tempfile.mkdtemp(prefix="agentmem-")
                self._temporary = weakref.finalize(self, shutil.rmtree, path, ignore_errors=True)
            self.memory = Memory(
                path, embedder=embedder, scope=scope, durability=durability, redact=redact,
                clock=clock,
            )  # fmt: skip
        self._documents = self.memory.documents

    def _make_embedder(self) -> LangChainEmbedder | None:
        config = self.index_config
        if config is None or config.get("embed") is None:
            return None
        distance = config.get("distance_type", "cosine")
        if distance != "cosine":
            raise InvalidInputError(f"index: distance_type is 'cosine', {distance!r} was given")
        if "dims" not in config:
            raise InvalidInputError(
                "index: 'dims' is missing, the length of the vectors of 'embed'"
            )
        self.embeddings = ensure_embeddings(config["embed"])
        return LangChainEmbedder(self.embeddings, config["dims"], id=config.get("id"))

    @classmethod
    @contextmanager
    def from_conn_string(
        cls,
        conn_string: str,
        *,
        index: IndexConfig | Mapping[str, Any] | None = None,
        ttl: TTLConfig | None = None,
        **options: Any,
    ) -> Iterator[Self]:
        """Open a store for a ``with`` block and close it at the end.

        Args:
            conn_string: The path of the folder, or ``":memory:"``.
            index: As for the class.
            ttl: As for the class.
            **options: As for the class.
        """
        with cls(conn_string, index=index, ttl=ttl, **options) as store:
            yield store

    def setup(self) -> None:
        """Do nothing: the folder is ready once it is open. LangGraph's stores want this call."""
        self._check()

    def _check(self) -> None:
        self.memory._shared.check()  # noqa: SLF001

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.close)

    def close(self) -> None:
        """Stop the sweeper and close the folder, unless it was given open; again does nothing."""
        self.stop_ttl_sweeper()
        with self._lock:
            executor, self._executor = self._executor, None
        if self._owns:
            self.memory.close()
        if executor is not None:
            executor.shutdown(wait=False)
        if self._temporary is not None:
            self._temporary()

    # -- operations

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations and return their results in order; reads see the state before the writes.

        Of several puts of one key the last one counts. The writes are one transaction.

        Raises:
            InvalidNamespaceError: A label is not allowed; nothing was run.
            InvalidInputError: An argument is wrong; nothing was written.
            ClosedError: The store was closed.
        """
        self._check()
        plan = Plan(ops, self._fields)
        documents: Any = []
        queries: Any = []
        if self.embeddings is not None:
            if plan.texts:
                documents = self.embeddings.embed_documents(list(plan.texts))
            queries = [self.embeddings.embed_query(query) for query in plan.queries]
        return self._run(plan, documents, queries)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do as ``batch``, on a thread: the loop is never stalled."""
        self._check()
        plan = Plan(ops, self._fields)
        documents: Any = []
        queries: Any = []
        if self.embeddings is not None:
            if plan.texts:
                documents = await self.embeddings.aembed_documents(list(plan.texts))
            queries = await asyncio.gather(*map(self.embeddings.aembed_query, plan.queries))
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads(), self._run, plan, documents, queries)

    def _threads(self) -> ThreadPoolExecutor:
        with self._lock:
            self._check()
            if self._executor is None:
                self._executor = ThreadPoolExecutor(
                    self._max_workers, thread_name_prefix="agentmem-store"
                )
            return self._executor

    def _run(self, plan: Plan, documents: Any, queries: Any) -> list[Result]:
        results: list[Result] = [None] * plan.count
        vectors: dict[str, Any] = {}
        if self.embeddings is not None:
            ndim = self.memory.embedder.ndim
            if plan.texts:
                plan.give_vectors(matrix(documents, len(plan.texts), ndim))
            if plan.queries:
                made = matrix(queries, len(plan.queries), ndim)
                vectors = dict(zip(plan.queries, made, strict=True))
        touched: list[tuple[str, str]] = []
        if plan.gets:
            found = self._documents.get_many(
                [(to_scope(tuple(op.namespace)), op.key) for _, op in plan.gets]
            )
            for (at, op), document in zip(plan.gets, found, strict=True):
                if document is not None:
                    results[at] = _item(document)
                    if op.refresh_ttl:
                        touched.append((document.scope, document.key))
        for at, search in plan.searches:
            hits = self._search(search, vectors)
            results[at] = _search_items(hits)
            if search.refresh_ttl:
                touched += [(document.scope, document.key) for document in hits]
        for at, op_list in plan.lists:
            results[at] = self._list(op_list)
        if touched and self.ttl_config and self.ttl_config.get("refresh_on_read", False):
            self._documents.touch(touched)
        if plan.puts:
            self._documents.write(plan.writes())
        return results

    def _search(self, op: SearchOp, vectors: Mapping[str, Any]) -> list[Document]:
        where, accept = compiled(op.filter)
        scope = to_scope(tuple(op.namespace_prefix))
        if not op.query or self.index_config is None:
            return self._documents.scan(
                scope, where=where, accept=accept, limit=op.limit, offset=op.offset
            )
        return self._documents.search(
            op.query, scope, embedding=vectors.get(op.query), where=where, accept=accept,
            fill=True, limit=op.limit, offset=op.offset,
        )  # fmt: skip

    def _list(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        scopes = self._documents.scopes(to_scope(common_prefix(op)))
        return listed(map(to_namespace, scopes), op)

    # -- expiry

    def sweep_ttl(self) -> int:
        """Remove what has expired and return how many items."""
        return self._documents.sweep()

    def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> Future[None]:
        """Sweep at intervals on a thread; the store may be collected all the same.

        Args:
            sweep_interval_minutes: By default that of ``ttl``, else 5.

        Returns:
            A future that is done when the sweeper ends; to cancel it ends it.
        """
        done: Future[None] = Future()
        if not self.ttl_config:
            done.set_result(None)
            return done
        self._check()
        minutes = sweep_interval_minutes or self.ttl_config.get("sweep_interval_minutes")
        reference = weakref.ref(self)

        def sweep() -> int | None:
            store = reference()
            return None if store is None else store.sweep_ttl()

        with self._lock:
            if self._sweeper is None or not self._sweeper.is_alive:
                self._sweeper = Sweeper(sweep, float(minutes or DEFAULT_MINUTES) * 60)
            return self._sweeper.future

    def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """Stop the sweeper, and return whether its thread ended within ``timeout`` seconds."""
        with self._lock:
            sweeper = self._sweeper
        if sweeper is None:
            return True
        return sweeper.stop(timeout)

    def __del__(self) -> None:
        sweeper = getattr(self, "_sweeper", None)
        if sweeper is not None:
            sweeper.stop(0)


def _item(document: Document) -> Item:
    return Item(
        value=document.value,
        key=document.key,
        namespace=to_namespace(document.scope),
        created_at=document.created,
        updated_at=document.updated,
    )


def _search_items(documents: Sequence[Document]) -> list[SearchItem]:
    """Return hits with scores that never rise along the list.

    A score is the cosine. Where the words put a hit above a nearer one, it has the nearer one's.
    """
    scores: list[float | None] = []
    best: float | None = None
    for document in reversed(documents):
        if document.cosine is not None:
            best = document.cosine if best is None else max(best, document.cosine)
        scores.append(best)
    return [
        SearchItem(
            namespace=to_namespace(document.scope),
            key=document.key,
            value=document.value,
            created_at=document.created,
            updated_at=document.updated,
            score=score,
        )
        for document, score in zip(documents, reversed(scores), strict=True)
    ]
