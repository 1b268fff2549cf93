"""The store for one event loop, which runs what its tasks ask for at once as one batch."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Self

from langchain_core.embeddings import Embeddings
from langgraph.store.base import IndexConfig, Item, Op, Result, SearchItem, TTLConfig
from langgraph.store.base.batch import AsyncBatchedBaseStore

from agentmem.integrations.langgraph.namespaces import check_op
from agentmem.integrations.langgraph.store import AgentMemStore
from agentmem.memory import Memory

__all__ = ["AsyncAgentMemStore"]


class AsyncAgentMemStore(AsyncBatchedBaseStore):
    """An :class:`AgentMemStore` bound to the event loop in which it is made.

    Operations of one turn of the loop are one batch: equal reads are done once, of several puts of
    a key the last one counts, and the writes share one sync. The methods that are not awaited may
    be called from other threads; in the loop itself they raise ``asyncio.InvalidStateError``.

    Args:
        path: As for ``AgentMemStore``.
        **options: As for ``AgentMemStore``.

    Raises:
        RuntimeError: There is no running event loop.
    """

    supports_ttl = True

    def __init__(self, path: str | os.PathLike[str] | Memory = ":memory:", **options: Any) -> None:
        super().__init__()
        self._store = AgentMemStore(path, **options)
        self.ttl_config = self._store.ttl_config
        self._sweeping: asyncio.Task[None] | None = None

    @property
    def memory(self) -> Memory:
        """The memory underneath."""
        return self._store.memory

    @property
    def index_config(self) -> dict[str, Any] | None:
        """What is searched, as it was given."""
        return self._store.index_config

    @property
    def embeddings(self) -> Embeddings | None:
        """What makes the vectors, unless the packaged model does."""
        return self._store.embeddings

    @classmethod
    @asynccontextmanager
    async def from_conn_string(
        cls,
        conn_string: str,
        *,
        index: IndexConfig | Mapping[str, Any] | None = None,
        ttl: TTLConfig | None = None,
        **options: Any,
    ) -> AsyncIterator[Self]:
        """Open a store for an ``async with`` block and close it at the end.

        Args:
            conn_string: The path of the folder, or ``":memory:"``.
            index: As for ``AgentMemStore``.
            ttl: As for ``AgentMemStore``.
            **options: As for ``AgentMemStore``.
        """
        async with cls(conn_string, index=index, ttl=ttl, **options) as store:
            yield store

    async def setup(self) -> None:
        """Do nothing: the folder is ready once it is open. LangGraph's stores want this call."""
        self._store.setup()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Stop what runs and close the folder; again does nothing."""
        await self.stop_ttl_sweeper()
        if self._task is not None:
            self._task.cancel()
        await asyncio.to_thread(self._store.close)

    def _ensure_task(self) -> None:
        """Hold each call to the loop and to an open folder: nothing waits for what never comes."""
        if hasattr(self, "_store"):
            self._store.setup()
        if asyncio.get_running_loop() is not self._loop:
            raise asyncio.InvalidStateError(
                "this store belongs to another event loop; make one in each loop, or use "
                "AgentMemStore, which any loop may call"
            )
        super()._ensure_task()

    def _require_running(self) -> None:
        """Hold a call from another thread to a loop that can answer it."""
        self._store.setup()
        if not self._loop.is_running():
            raise asyncio.InvalidStateError(
                "the event loop of this store does not run, so nothing would answer; use "
                "AgentMemStore, which needs no loop"
            )

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations from another thread, as ``abatch`` does."""
        self._require_running()
        return super().batch(ops)

    def get(self, *args: Any, **options: Any) -> Item | None:
        """Do as ``aget``, from another thread."""
        self._require_running()
        return super().get(*args, **options)

    def search(self, *args: Any, **options: Any) -> list[SearchItem]:
        """Do as ``asearch``, from another thread."""
        self._require_running()
        return super().search(*args, **options)

    def put(self, *args: Any, **options: Any) -> None:
        """Do as ``aput``, from another thread."""
        self._require_running()
        super().put(*args, **options)

    def delete(self, *args: Any, **options: Any) -> None:
        """Do as ``adelete``, from another thread."""
        self._require_running()
        super().delete(*args, **options)

    def list_namespaces(self, *args: Any, **options: Any) -> list[tuple[str, ...]]:
        """Do as ``alist_namespaces``, from another thread."""
        self._require_running()
        return super().list_namespaces(*args, **options)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations as ``AgentMemStore.abatch`` does."""
        several = list(ops)
        for op in several:
            check_op(op)
        return await self._store.abatch(several)

    async def sweep_ttl(self) -> int:
        """Remove what has expired and return how many items."""
        return await asyncio.to_thread(self._store.sweep_ttl)

    async def start_ttl_sweeper(
        self, sweep_interval_minutes: float | None = None
    ) -> asyncio.Task[None]:
        """Sweep at intervals; the task ends with the sweeper, and to cancel it ends that."""
        if self._sweeping is None or self._sweeping.done():
            future = self._store.start_ttl_sweeper(sweep_interval_minutes)

            async def wait() -> None:
                await asyncio.wrap_future(future)

            self._sweeping = asyncio.create_task(wait(), name="agentmem-sweep")
        return self._sweeping

    async def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:  # noqa: ASYNC109
        """Stop the sweeper, and return whether it ended within ``timeout`` seconds."""
        return await asyncio.to_thread(self._store.stop_ttl_sweeper, timeout)
