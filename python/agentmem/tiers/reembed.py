"""Move a store to another embedder, beside its use; it can be stopped and taken up again.

The new vectors are made into tables of their own while the old ones answer. One transaction then
puts all of them in force, together with the name of their space, so that a store has vectors of one
space at any time. An open handle goes over to the new embedder in one step once its index is made
anew; until then it asks the old index with the old embedder. A handle of another process learns of
the move at its next use, by a change in the log, and raises from then on.
"""

from __future__ import annotations

import json
import threading
from functools import partial
from typing import TYPE_CHECKING, Any

from agentmem.embedding import resolve_embedder, space_of
from agentmem.errors import EmbeddingError, InvalidInputError
from agentmem.protocols import Embedder, GivenEmbeddings
from agentmem.store.index_rows import batches, read_rows
from agentmem.tiers.vectors import embed_texts

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    from agentmem.opened import Opened, Progress
    from agentmem.store.database import Database, Transaction

__all__ = ["Reembedding", "move_to"]

BATCH = 64
TARGET = "reembed_target"
# Where a row for the index holds its key and its text.
KEY_AT, TEXT_AT = 0, 6


class Reembedding:
    """A move to another embedder that was begun; in the background it goes on by itself.

    What was made is kept when it ends early, by ``stop``, by closing the memory or by a crash:
    ``Memory.reembed`` with the same embedder goes on from there.
    """

    def __init__(self, opened: Opened, embedder: Embedder, progress: Progress | None) -> None:
        self._opened = opened
        self._embedder = embedder
        self._progress = progress
        self._counts = (0, 0)
        self._stop = threading.Event()
        self._ended = threading.Event()
        self._error: Exception | None = None
        self._is_moved = False

    def __repr__(self) -> str:
        state = "moved" if self._is_moved else "running" if self.is_running else "ended"
        return f"<Reembedding to {self._embedder.id!r}: {state}, {self.done} of {self.total} rows>"

    @property
    def done(self) -> int:
        """How many rows have their new vectors."""
        return self._counts[0]

    @property
    def total(self) -> int:
        """How many rows there were when it was last looked."""
        return self._counts[1]

    @property
    def is_moved(self) -> bool:
        """Whether the store is of the new embedder now."""
        return self._is_moved

    @property
    def is_running(self) -> bool:
        """Whether work goes on."""
        return not self._ended.is_set()

    def stop(self) -> None:
        """Ask it to end after the rows at hand; what was made is kept."""
        self._stop.set()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for its end, at most so long, and return whether the store was moved.

        Raises:
            AgentMemError: What made it fail.
        """
        if self._ended.wait(timeout_s) and self._error is not None:
            raise self._error
        return self._is_moved

    def run(self) -> None:
        """Do the work and note how it ended; raises nothing."""
        database = self._opened.database
        try:
            _begin(database, self._embedder)
            while not self._stop.is_set():
                self._embed_missing(database)
                if not self._stop.is_set() and self._switched():
                    self._is_moved = True
                    return
        except Exception as error:  # noqa: BLE001
            self._error = error
        finally:
            self._ended.set()

    def _embed_missing(self, database: Database) -> None:
        """Make the vectors of the rows that have no new ones yet."""
        with database.read() as connection:
            made = {row[0] for row in connection.execute("SELECT key FROM embedded_next")}
            keys = _wanted(connection)
        missing = [key for key in keys if key not in made]
        self._counts = (len(keys) - len(missing), len(keys))
        width = self._embedder.ndim * 4
        for batch in batches(missing, BATCH):
            if self._stop.is_set():
                return
            with database.read() as connection:
                rows = read_rows(connection, batch)
            fresh = _made(self._embedder, batch, rows)
            database.write(partial(_store, target=_target(self._embedder), made=fresh, width=width))
            self._counts = (min(self.done + len(batch), len(keys)), len(keys))
            if self._progress is not None:
                self._progress(*self._counts)

    def _switched(self) -> bool:
        """Put the new vectors in force unless rows came in that have none; say whether it did."""
        opened, new = self._opened, self._embedder
        # Who meets the moved store through this handle waits here for the new embedder.
        with opened.move_lock, opened.index.moving(new.id):
            if not opened.database.write(partial(_switch, new=new)):
                return False
            opened.index.move(space=new.id, ndim=new.ndim)
            opened.embedder = new
        return True


def move_to(
    opened: Opened,
    embedder: Embedder | str | os.PathLike[str] | None,
    *,
    background: bool = False,
    progress: Progress | None = None,
) -> Reembedding:
    """Move an open folder to another embedder.

    Raises:
        InvalidInputError: The embedder can't make vectors itself, or a move is under way here.
        EmbeddingError: The embedder failed; what was made before is kept.
    """
    opened.check()
    new = resolve_embedder(embedder)
    if isinstance(new, GivenEmbeddings):
        raise InvalidInputError(
            "embedder: reembed makes the vectors itself, which GivenEmbeddings can't; pass an "
            "embedder, or remember the facts with embedding= in a folder of that space"
        )
    space_of(new)
    with opened.move_lock:
        if opened.move is not None and opened.move.is_running:
            raise InvalidInputError("reembed: a move is under way; wait() for it or stop() it")
        move = Reembedding(opened, new, progress)
        opened.move = move
    if background:
        threading.Thread(target=move.run, name="agentmem-reembed", daemon=True).start()
    else:
        move.run()
        move.wait()
    return move


def _target(new: Embedder) -> str:
    return json.dumps([new.id, new.ndim])


def _begin(database: Database, new: Embedder) -> None:
    """Make the tables of the new vectors, or keep what a former run for the same embedder made."""
    target = _target(new)

    def operation(transaction: Transaction) -> None:
        connection = transaction.connection
        connection.execute(
            "CREATE TABLE IF NOT EXISTS embeddings_next "
            "(id INTEGER PRIMARY KEY, vector BLOB NOT NULL) STRICT"
        )
        connection.execute(
            "CREATE TABLE IF NOT EXISTS embedded_next (key INTEGER PRIMARY KEY) STRICT"
        )
        if _read_target(connection) != target:
            connection.execute("DELETE FROM embeddings_next")
            connection.execute("DELETE FROM embedded_next")
            connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (TARGET, target))

    database.write(operation)


def _read_target(connection: Any) -> str | None:
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (TARGET,)).fetchone()
    return None if row is None else str(row[0])


def _require_target(connection: Any, target: str) -> None:
    if _read_target(connection) != target:
        raise EmbeddingError(
            "another handle of this store began or ended a move to another embedder meanwhile; "
            "call reembed again if this one is still wanted"
        )


def _wanted(connection: Any) -> list[int]:
    """Return the keys of the rows that are to have vectors: every fact, and what has some.

    What waits for its first vectors goes on waiting; they will be of the new embedder.
    """
    return [
        row[0]
        for row in connection.execute(
            "SELECT (1 << 56) | id FROM facts UNION SELECT id >> 3 FROM embeddings ORDER BY 1"
        )
    ]


def _made(embedder: Embedder, keys: Sequence[int], rows: Sequence[Any]) -> dict[int, bytes]:
    """Return the new vectors of rows by key; none for a row that is gone meanwhile."""
    vectors = embed_texts(embedder, [row[TEXT_AT] for row in rows])
    made = dict.fromkeys(keys, b"")
    made.update((row[KEY_AT], vector) for row, vector in zip(rows, vectors, strict=True))
    return made


def _store(transaction: Transaction, *, target: str, made: dict[int, bytes], width: int) -> None:
    connection = transaction.connection
    _require_target(connection, target)
    connection.executemany(
        "INSERT OR REPLACE INTO embedded_next VALUES (?)", [(key,) for key in made]
    )
    connection.executemany(
        "INSERT OR REPLACE INTO embeddings_next VALUES (?, ?)",
        [
            (key * 8 + chunk, vector[chunk * width : (chunk + 1) * width])
            for key, vector in made.items()
            for chunk in range(len(vector) // width)
        ],
    )


def _switch(transaction: Transaction, *, new: Embedder) -> bool:
    """Put the new vectors in force, unless many rows came in that have none yet.

    The vectors of a few are made here, while no one else writes: beside a host that never pauses
    the move would otherwise not end.
    """
    connection = transaction.connection
    _require_target(connection, _target(new))
    made = {row[0] for row in connection.execute("SELECT key FROM embedded_next")}
    keys = _wanted(connection)
    missing = [key for key in keys if key not in made]
    if len(missing) > BATCH:
        return False
    if missing:
        rows = read_rows(connection, missing)
        _store(transaction, target=_target(new), made=_made(new, missing, rows), width=new.ndim * 4)
        made.update(missing)
    connection.execute("DELETE FROM embeddings")
    gone = made.difference(keys)
    connection.executemany("DELETE FROM embedded_next WHERE key = ?", [(key,) for key in gone])
    connection.execute(
        "DELETE FROM pending_embeddings WHERE key IN (SELECT key FROM embedded_next)"
    )
    connection.execute(
        "INSERT INTO embeddings SELECT id, vector FROM embeddings_next "
        "WHERE id >> 3 IN (SELECT key FROM embedded_next)"
    )
    connection.execute("DROP TABLE embeddings_next")
    connection.execute("DROP TABLE embedded_next")
    connection.execute("DELETE FROM meta WHERE key = ?", (TARGET,))
    connection.executemany(
        "INSERT OR REPLACE INTO meta VALUES (?, ?)",
        [("embedder_id", new.id), ("ndim", str(new.ndim))],
    )
    # Of no row: it makes the handles of other processes look, who then find the other space.
    transaction.change("move", 1, 0)
    return True
