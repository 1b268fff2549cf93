"""A store opened for one event of a hook: without an index where none is asked, and never a model.

What :class:`agentmem.memory.Memory` loads to be ready for everything takes longer than the host
should wait.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NoReturn

from agentmem.errors import EmbeddingError
from agentmem.store.database import Database
from agentmem.store.folder import STORE

__all__ = ["LightStore", "fitting_context", "open_light", "stable_context"]

LOCK_TIMEOUT_S: Final = 3.0
"""Another process writes for milliseconds; a folder that is locked for longer is left alone."""
LEG_TIMEOUT_S: Final = 2.0


class _NoModel:
    """Stands for the store's embedder, whose model is not loaded: questions go by their words."""

    def __init__(self, id: str, ndim: int) -> None:
        self.id = id
        self.ndim = ndim

    def embed(self, texts: Any) -> NoReturn:
        """Refuse: a model takes longer to load than a hook may run."""
        del texts
        raise EmbeddingError("a hook loads no model; the question is asked by its words alone")


class LightStore:
    """What the verbs of the tiers need of an open folder, without index and embedder."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.embedder = _NoModel("none", 1)
        self.redact = True
        self.worker = None
        self.clock = None
        self.cache: dict[tuple[str, int], Any] = {}
        self.cache_lock = threading.RLock()

    def now_ms(self) -> int:
        """Return the present in Unix milliseconds."""
        return time.time_ns() // 1_000_000

    def check(self) -> None:
        """Raise if the store was closed."""
        self.database.check()


@contextmanager
def open_light(folder: Path, *, create: bool = False) -> Iterator[Any]:
    """Open a folder for one event."""
    database = Database(folder, timeout_s=LOCK_TIMEOUT_S, create=create)
    try:
        yield LightStore(database)
    finally:
        database.close()


def stable_context(folder: Path, scope: str, budget: int) -> str:
    """Return what always holds: rules, persona, activities; ``""`` where there is no memory."""
    if not (folder / STORE).exists():
        return ""
    from agentmem.tiers.context import context

    with open_light(folder) as store:
        return context(store, scope, "", budget_tokens=budget, deadline_s=LEG_TIMEOUT_S).stable


def fitting_context(folder: Path, scope: str, prompt: str, budget: int) -> str:
    """Return what fits a prompt by its words; ``""`` where nothing does or there is no memory."""
    if not (folder / STORE).exists():
        return ""
    with open_light(folder) as store, store.database.read() as connection:
        meta = dict(
            connection.execute("SELECT key, value FROM meta WHERE key IN ('embedder_id', 'ndim')")
        )
    from agentmem.opened import Opened
    from agentmem.tiers.context import context

    if "embedder_id" not in meta:
        # Only hooks wrote into it so far: it is going to be the packaged model's.
        from agentmem.embedding import resolve_embedder

        packaged = resolve_embedder(None)
        meta = {"embedder_id": packaged.id, "ndim": str(packaged.ndim)}
    embedder: Any = _NoModel(meta["embedder_id"], int(meta["ndim"]))
    opened = Opened(folder, embedder, None, "full", "auto", redact=True)
    try:
        return context(
            opened, scope, prompt, budget_tokens=budget, deadline_s=LEG_TIMEOUT_S
        ).volatile
    finally:
        opened.close()
