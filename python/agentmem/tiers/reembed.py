"""Move a store to another embedder; it can be stopped and taken up again."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from agentmem.embedding import resolve_embedder
from agentmem.errors import InvalidInputError
from agentmem.protocols import Embedder, GivenEmbeddings
from agentmem.store import embeddings, facts
from agentmem.store.index_rows import all_keys, batches
from agentmem.tiers.vectors import embed_texts

if TYPE_CHECKING:
    import os

    from agentmem.opened import Opened, Progress
    from agentmem.store.database import Database, Transaction

__all__ = ["move_to", "reembed"]

BATCH = 64
NUMBER_BITS = (1 << 56) - 1
TARGET = "reembed_target"


def move_to(
    opened: Opened,
    embedder: Embedder | str | os.PathLike[str] | None,
    *,
    progress: Progress | None = None,
) -> None:
    """Move an open folder to another embedder.

    Raises:
        InvalidInputError: The embedder can't make vectors itself.
    """
    new = resolve_embedder(embedder)
    if isinstance(new, GivenEmbeddings):
        raise InvalidInputError("embedder: given embeddings can't be made here; pass an embedder")
    reembed(
        opened.database,
        embedder_id=new.id,
        ndim=new.ndim,
        embed=lambda texts: embed_texts(new, texts),
        progress=progress,
    )
    opened.embedder = new
    opened.index.move(space=new.id, ndim=new.ndim)


def reembed(
    database: Database,
    *,
    embedder_id: str,
    ndim: int,
    embed: Callable[[list[str]], list[bytes]],
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Make every vector anew, beside the old ones, then put the new ones in force at once.

    Until the last step the old vectors answer. A run that was stopped is taken up where it was,
    if it is asked for the same embedder.
    """

    def begin(transaction: Transaction) -> None:
        connection = transaction.connection
        row = connection.execute("SELECT value FROM meta WHERE key = ?", (TARGET,)).fetchone()
        target = json.dumps([embedder_id, ndim])
        connection.execute(
            "CREATE TABLE IF NOT EXISTS embeddings_next "
            "(id INTEGER PRIMARY KEY, vector BLOB NOT NULL) STRICT"
        )
        connection.execute(
            "CREATE TABLE IF NOT EXISTS embedded_next (key INTEGER PRIMARY KEY) STRICT"
        )
        if row is None or row[0] != target:
            connection.execute("DELETE FROM embeddings_next")
            connection.execute("DELETE FROM embedded_next")
            connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (TARGET, target))

    database.write(begin)
    while True:
        with database.read() as connection:
            done = {row[0] for row in connection.execute("SELECT key FROM embedded_next")}
            keys = all_keys(connection)
        missing = [key for key in keys if key not in done]
        if not missing:
            if database.write(lambda transaction: _switch(transaction, embedder_id, ndim)):
                return
            continue
        made_before = len(keys) - len(missing)
        for nth, batch in enumerate(batches(missing, BATCH), 1):
            with database.read() as connection:
                rows = facts.load(connection, [key & NUMBER_BITS for key in batch])
            vectors = embed([row.text for row in rows])
            made = [
                (embeddings.key_of(1, row.id), vector)
                for row, vector in zip(rows, vectors, strict=True)
            ]
            database.write(partial(_store, made=made, width=ndim * 4))
            if progress is not None:
                progress(min(made_before + nth * BATCH, len(keys)), len(keys))


def _store(transaction: Transaction, *, made: list[tuple[int, bytes]], width: int) -> None:
    connection = transaction.connection
    for key, vector in made:
        connection.execute("INSERT OR REPLACE INTO embedded_next VALUES (?)", (key,))
        connection.executemany(
            "INSERT OR REPLACE INTO embeddings_next VALUES (?, ?)",
            [
                (key * 8 + chunk, vector[chunk * width : (chunk + 1) * width])
                for chunk in range(len(vector) // width)
            ],
        )


def _switch(transaction: Transaction, embedder_id: str, ndim: int) -> bool:
    """Put the new vectors in force, unless rows came in that have none yet."""
    connection = transaction.connection
    (waiting,) = next(
        connection.execute(
            "SELECT count(*) FROM facts WHERE (1 << 56 | id) NOT IN (SELECT key FROM embedded_next)"
        )
    )
    if waiting:
        return False
    connection.execute("DELETE FROM embeddings")
    connection.execute(
        "INSERT INTO embeddings SELECT id, vector FROM embeddings_next "
        "WHERE (id >> 3) & ((1 << 56) - 1) IN (SELECT id FROM facts)"
    )
    connection.execute("DROP TABLE embeddings_next")
    connection.execute("DROP TABLE embedded_next")
    connection.execute("DELETE FROM meta WHERE key = ?", (TARGET,))
    connection.execute("INSERT OR REPLACE INTO meta VALUES ('embedder_id', ?)", (embedder_id,))
    connection.execute("INSERT OR REPLACE INTO meta VALUES ('ndim', ?)", (str(ndim),))
    return True
