"""The vectors of recent queries, least recently used out first."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from typing import TYPE_CHECKING

from agentmem.errors import InvalidInputError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["QueryCache"]


class QueryCache:
    """Maps a query to its read-only vector, or to None where the model knows none of its tokens.

    It has no lock, so that a child forked at any moment can go on with it: each step is one
    operation of the dictionary, and a step that comes too late does nothing.

    Args:
        size: Most entries; 0 keeps none. One takes 1.5 kB and the text.

    Raises:
        InvalidInputError: ``size`` is negative.
    """

    def __init__(self, size: int = 1024) -> None:
        if size < 0:
            raise InvalidInputError(f"cache_size must be at least 0, {size} was given")
        self._size = size
        self._entries: OrderedDict[str, npt.NDArray[np.float32] | None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, query: str) -> npt.NDArray[np.float32] | None:
        """Return what was put for the query.

        Raises:
            KeyError: Nothing was, or it has gone.
        """
        entry = self._entries[query]
        # Another thread may have evicted it just now; the entry is still right.
        with contextlib.suppress(KeyError):
            self._entries.move_to_end(query)
        return entry

    def put(self, query: str, vector: npt.NDArray[np.float32] | None) -> None:
        """Keep the vector, and let the least recently used one go where the cache is full."""
        if self._size == 0:
            return
        self._entries[query] = vector
        while len(self._entries) > self._size:
            try:
                self._entries.popitem(last=False)
            except KeyError:  # another thread emptied it meanwhile
                break
