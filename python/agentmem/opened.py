"""An open folder: the parts that every handle of it shares."""

from __future__ import annotations

import atexit
import os
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from agentmem.errors import EmbedderMismatchError
from agentmem.index import SearchIndex
from agentmem.models import to_ms
from agentmem.protocols import Clock, Embedder, Extractor, GivenEmbeddings, Summarizer
from agentmem.store.database import Database

if TYPE_CHECKING:
    from agentmem.tiers.reembed import Reembedding
    from agentmem.worker import Worker

__all__ = ["Opened", "Progress"]

Progress = Callable[[int, int], None]


class Opened:
    """Store, index, embedder, extractor and clock of one folder.

    ``extractor`` is None where the host gave none: the built-in rules read then. So it is with
    ``summarizer``: the rules name scenes.

    ``cache`` holds what verbs keep ready between calls, by kind and row, under ``cache_lock``.
    """

    def __init__(
        self,
        path: Path,
        embedder: Embedder | GivenEmbeddings | str | os.PathLike[str] | None,
        clock: Clock | None,
        durability: Literal["full", "normal"],
        ann: Literal["auto", "exact", "hnsw"],
        *,
        redact: bool,
        extractor: Extractor | None = None,
        extractor_timeout_s: float = 60.0,
        summarizer: Summarizer | None = None,
    ) -> None:
        from agentmem.embedding import resolve_embedder, space_of

        self.embedder = resolve_embedder(embedder)
        # What was given, and what it became: another one may take its place later.
        self.given_embedder = (embedder, self.embedder)
        space_of(self.embedder)
        self.extractor = extractor
        self.extractor_timeout_s = extractor_timeout_s
        self.summarizer = summarizer
        self.worker: Worker | None = None
        self.clock = clock
        self.durability = durability
        self.redact = redact
        self.ann = ann
        self.path = path
        self._pid = os.getpid()
        self._close_lock = threading.Lock()
        # Held while the store goes over to another embedder.
        self.move_lock = threading.Lock()
        self.move: Reembedding | None = None
        self.cache: dict[tuple[str, int], Any] = {}
        self.cache_lock = threading.RLock()
        self.database = Database(path, durability=durability)
        try:
            self._agree_on_embedder()
            self.index = SearchIndex(
                self.database,
                path / "index",
                space=self.embedder.id,
                ndim=self.embedder.ndim,
                ann=ann,
            )
        except BaseException:
            self.database.close()
            raise
        _opened.add(self)

    def _agree_on_embedder(self) -> None:
        """Hold the embedder against the one whose vectors the store has; the first one is noted."""
        given, ndim = self.embedder.id, self.embedder.ndim
        with self.database.read() as connection:
            stored: dict[str, str] = dict(
                connection.execute(
                    "SELECT key, value FROM meta WHERE key IN ('embedder_id', 'ndim', 'purge')"
                )
            )
            has_vectors = connection.execute("SELECT 1 FROM embeddings LIMIT 1").fetchone()
        self.is_purge_due = stored.pop("purge", None) is not None
        if stored.get("embedder_id") == given and stored.get("ndim") == str(ndim):
            return
        if stored and has_vectors:
            raise EmbedderMismatchError(
                f"{stored['embedder_id']} ({stored['ndim']} dimensions)",
                f"{given} ({ndim} dimensions)",
                is_given=isinstance(self.embedder, GivenEmbeddings),
            )
        self.database.write(
            lambda transaction: transaction.connection.executemany(
                "INSERT OR REPLACE INTO meta VALUES (?, ?)",
                [("embedder_id", given), ("ndim", str(ndim))],
            )
        )

    def now_ms(self) -> int:
        """Return the present in Unix milliseconds."""
        if self.clock is None:
            return time.time_ns() // 1_000_000
        return to_ms(self.clock(), argument="clock")

    def check(self) -> None:
        """Raise if the folder was closed or the handle inherited over a fork."""
        self.database.check()

    def close(self) -> None:
        """Close the index, then the store; a second call does nothing.

        In a forked child it does nothing: the locks of what was inherited may be held for ever.
        """
        if os.getpid() != self._pid:
            return
        with self._close_lock:
            if self.database.is_closed:
                return
            if self.move is not None:
                self.move.stop()
            if self.worker is not None:
                self.worker.stop()
            try:
                self.index.close()
            finally:
                self.database.close()


_opened: weakref.WeakSet[Opened] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    # A background fold that outlives the interpreter's end would stop it with a signal.
    for opened in list(_opened):
        with suppress(Exception):
            opened.close()
