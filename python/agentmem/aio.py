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

__all__ = ["AsyncMemory"]

P = ParamSpec("P")
R = TypeVar("R")


def _awaitable(
    method: Callable[Concatenate[Memory, P], R],
) -> Callable[Concatenate[AsyncMemory, P], Coroutine[Any, Any, R]]:
    @wraps(method)
    async def call(self: AsyncMemory, /, *args: P.args, **kwargs: P.kwargs) -> R:
        # The threads of a closed or inherited executor never answer.
        self._check()
        # The first call opens the folder, in the thread too: the loop never waits for a disk.
        work = partial(_call, self, method, args, kwargs)
        return await asyncio.get_running_loop().run_in_executor(self.executor, work)

    return call


def _call(
    handle: AsyncMemory, method: Callable[..., R], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> R:
    return method(handle.memory, *args, **kwargs)


class AsyncMemory:
    """A :class:`~agentmem.memory.Memory` whose methods are awaited.

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

    def scoped(self, scope: str) -> AsyncMemory:
        """Return a handle of the same store, bound to a scope below this one's."""
        handle = copy(self)
        handle._memory = self.memory.scoped(scope)  # noqa: SLF001
        handle._owns = False  # noqa: SLF001
        return handle

    remember = _awaitable(Memory.remember)
    remember_many = _awaitable(Memory.remember_many)
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
    consolidate = _awaitable(Memory.consolidate)
    end_session = _awaitable(Memory.end_session)
    scenes = _awaitable(Memory.scenes)
    persona = _awaitable(Memory.persona)
    start_consolidation = _awaitable(Memory.start_consolidation)
    stop_consolidation = _awaitable(Memory.stop_consolidation)
    forget = _awaitable(Memory.forget)
    purge = _awaitable(Memory.purge)
    reembed = _awaitable(Memory.reembed)
    sql = _awaitable(Memory.sql)
    stats = _awaitable(Memory.stats)
    verify = _awaitable(Memory.verify)
    rebuild_index = _awaitable(Memory.rebuild_index)
    export = _awaitable(Memory.export)
    import_ = _awaitable(Memory.import_)
    backup = _awaitable(Memory.backup)
