"""The same memory for an event loop: every call runs in a thread and never stalls the loop."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from agentmem.errors import ClosedError, InvalidInputError
from agentmem.memory import Memory
from agentmem.skills import Skills
from agentmem.tiers.documents import Documents

__all__ = ["AsyncDocuments", "AsyncMemory", "AsyncSkills"]

P = ParamSpec("P")
R = TypeVar("R")


def _awaitable(
    method: Callable[Concatenate[Memory, P], R], *, also: str = ""
) -> Callable[Concatenate[AsyncMemory, P], Coroutine[Any, Any, R]]:
    @wraps(method)
    async def call(self: AsyncMemory, /, *args: P.args, **kwargs: P.kwargs) -> R:
        # The threads of a closed or inherited executor never answer.
        self._check()
        # The first call opens the folder, in the thread too: the loop never waits for a disk.
        work = partial(_call, self, method, args, kwargs)
        return await asyncio.get_running_loop().run_in_executor(self.executor, work)

    if also:
        call.__doc__ = f"{method.__doc__}\n{also}"
    return call


def _call(
    handle: AsyncMemory, method: Callable[..., R], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> R:
    return method(handle.memory, *args, **kwargs)


def _skill(
    method: Callable[Concatenate[Skills, P], R],
) -> Callable[Concatenate[AsyncSkills, P], Coroutine[Any, Any, R]]:
    @wraps(method)
    async def call(self: AsyncSkills, /, *args: P.args, **kwargs: P.kwargs) -> R:
        handle = self._handle
        handle._check()  # noqa: SLF001 - one module, two halves
        work = partial(_call_skill, self, method, args, kwargs)
        return await asyncio.get_running_loop().run_in_executor(handle.executor, work)

    return call


def _call_skill(
    skills: AsyncSkills, method: Callable[..., R], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> R:
    handle = skills._handle.memory.skills.configure(**skills._changes)  # noqa: SLF001
    return method(handle, *args, **kwargs)


class AsyncSkills:
    """The :class:`~agentmem.skills.Skills` of an :class:`AsyncMemory`; its methods are awaited."""

    def __init__(self, handle: AsyncMemory, changes: dict[str, Any] | None = None) -> None:
        self._handle = handle
        self._changes = changes or {}

    def configure(self, **changes: Any) -> AsyncSkills:
        """Return a handle with other settings; they are checked at the first call."""
        return AsyncSkills(self._handle, self._changes | changes)

    add = _skill(Skills.add)
    archive = _skill(Skills.archive)
    archive_view = _skill(Skills.archive_view)
    sweep = _skill(Skills.sweep)
    review = _skill(Skills.review)
    queue = _skill(Skills.queue)
    requeue = _skill(Skills.requeue)
    get = _skill(Skills.get)
    list = _skill(Skills.list)
    versions = _skill(Skills.versions)
    diff = _skill(Skills.diff)
    create = _skill(Skills.create)
    update = _skill(Skills.update)
    approve = _skill(Skills.approve)
    reject = _skill(Skills.reject)
    retire = _skill(Skills.retire)
    rollback = _skill(Skills.rollback)
    report = _skill(Skills.report)
    loadout = _skill(Skills.loadout)
    export = _skill(Skills.export)
    import_ = _skill(Skills.import_)


def _document(
    method: Callable[Concatenate[Documents, P], R],
) -> Callable[Concatenate[AsyncDocuments, P], Coroutine[Any, Any, R]]:
    @wraps(method)
    async def call(self: AsyncDocuments, /, *args: P.args, **kwargs: P.kwargs) -> R:
        handle = self._handle
        handle._check()  # noqa: SLF001 - one module, two halves
        work = partial(_call_documents, handle, method, args, kwargs)
        return await asyncio.get_running_loop().run_in_executor(handle.executor, work)

    return call


def _call_documents(
    handle: AsyncMemory, method: Callable[..., R], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> R:
    return method(handle.memory.documents, *args, **kwargs)


class AsyncDocuments:
    """The :class:`~agentmem.tiers.documents.Documents` of an :class:`AsyncMemory`, awaited."""

    def __init__(self, handle: AsyncMemory) -> None:
        self._handle = handle

    write = _document(Documents.write)
    get_many = _document(Documents.get_many)
    scan = _document(Documents.scan)
    search = _document(Documents.search)
    scopes = _document(Documents.scopes)
    touch = _document(Documents.touch)
    sweep = _document(Documents.sweep)


CANCELLED_BATCH = """\
        A cancelled call acknowledges nothing, and the store holds all of the batch or none of it in
        the end: none if no thread had begun it, else all, once its thread is through. Only a close,
        a crash or an error before that leaves the pieces that were done: 2,000 facts each, 64 where
        the embedder makes the vectors. To be sure, make the call again: what is there already
        comes back as a duplicate.
"""


class AsyncMemory:
    """A :class:`~agentmem.memory.Memory` whose methods are awaited.

    To cancel an awaited call, by ``task.cancel()`` or a timeout, ends the waiting and acknowledges
    nothing. A call that no thread has begun is never made. One that was begun can't be stopped: it
    goes on to its end in its thread, and what it writes is there then as if it had not been
    cancelled. The memory stays usable meanwhile.

    Args:
        path: The folder.
        max_workers: Threads that may work at once.
        **options: As for :class:`~agentmem.memory.Memory`.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, max_workers: int = 4, **options: Any
    ) -> None:
        self._open: Callable[[], Memory] = partial(Memory, path, **options)
        self._memory: Memory | None = None
        self._owns = True
        self._is_closed = False
        self._opening = threading.Lock()
        if isinstance(max_workers, bool) or not isinstance(max_workers, int) or max_workers < 1:
            raise InvalidInputError(f"max_workers: at least 1 is needed, {max_workers!r} was given")
        self.executor = ThreadPoolExecutor(max_workers, thread_name_prefix="agentmem")

    @property
    def memory(self) -> Memory:
        """The memory underneath; it is opened at first need."""
        with self._opening:
            if self._memory is None:
                if self._is_closed:
                    raise ClosedError("this memory was closed; open it again")
                self._memory = self._open()
            return self._memory

    def _check(self) -> None:
        if self._memory is not None:
            self._memory._shared.check()  # noqa: SLF001
        elif self._is_closed:
            raise ClosedError("this memory was closed; open it again")

    async def __aenter__(self) -> Self:
        self._check()
        await asyncio.get_running_loop().run_in_executor(self.executor, lambda: self.memory)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the memory and its threads; a second call does nothing."""
        if self._owns:
            self._is_closed = True
            if self._memory is not None and not self._memory._shared.database.is_closed:  # noqa: SLF001
                loop = asyncio.get_running_loop()
                await loop.run_in_executor(self.executor, self._memory.close)
            self.executor.shutdown(wait=False)

    @property
    def skills(self) -> AsyncSkills:
        """The skills of this memory, awaited."""
        return AsyncSkills(self)

    @property
    def documents(self) -> AsyncDocuments:
        """The documents of this memory, awaited."""
        return AsyncDocuments(self)

    def scoped(self, scope: str) -> AsyncMemory:
        """Return a handle of the same store, bound to a scope below this one's."""
        handle = copy(self)
        handle._memory = self.memory.scoped(scope)  # noqa: SLF001
        handle._owns = False  # noqa: SLF001
        return handle

    remember = _awaitable(Memory.remember)
    remember_many = _awaitable(Memory.remember_many, also=CANCELLED_BATCH)
    capture = _awaitable(Memory.capture)
    canvas = _awaitable(Memory.canvas)
    expand = _awaitable(Memory.expand)
    compact = _awaitable(Memory.compact)
    recall = _awaitable(Memory.recall)
    recall_many = _awaitable(Memory.recall_many)
    facts = _awaitable(Memory.facts)
    get = _awaitable(Memory.get)
    history = _awaitable(Memory.history)
    trace = _awaitable(Memory.trace)
    context = _awaitable(Memory.context)
    consolidate = _awaitable(Memory.consolidate)
    end_session = _awaitable(Memory.end_session)
    scenes = _awaitable(Memory.scenes)
    persona = _awaitable(Memory.persona)
    start_consolidation = _awaitable(Memory.start_consolidation)
    stop_consolidation = _awaitable(Memory.stop_consolidation)
    forget = _awaitable(Memory.forget)
    purge = _awaitable(Memory.purge)
    set_retention = _awaitable(Memory.set_retention)
    retention = _awaitable(Memory.retention)
    apply_retention = _awaitable(Memory.apply_retention)
    reembed = _awaitable(Memory.reembed)
    sql = _awaitable(Memory.sql)
    stats = _awaitable(Memory.stats)
    verify = _awaitable(Memory.verify)
    rebuild_index = _awaitable(Memory.rebuild_index)
    export = _awaitable(Memory.export)
    import_ = _awaitable(Memory.import_)
    backup = _awaitable(Memory.backup)
