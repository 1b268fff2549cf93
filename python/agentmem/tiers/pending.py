"""Make the vectors of rows that wait for them: turns, and what the pipeline wrote."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from agentmem.protocols import GivenEmbeddings
from agentmem.store import embeddings
from agentmem.store.index_rows import read_rows
from agentmem.tiers.fact_rows import require_space
from agentmem.tiers.vectors import embed_texts

if TYPE_CHECKING:
    from agentmem.opened import Opened
    from agentmem.store.database import Transaction

__all__ = ["embed_pending"]

BATCH: Final = 32
_TEXT: Final = 6
_NUMBER_BITS: Final = (1 << 56) - 1


def embed_pending(
    opened: Opened,
    *,
    limit: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Embed rows that wait, upper tiers first, and return how many.

    A store of the host's own vectors has none to make. Of two runs at once the second finds the
    vectors there and writes nothing.

    Args:
        opened: The open folder.
        limit: At most so many rows; None for all.
        progress: Called as ``progress(done, total)``.

    Raises:
        EmbeddingError: The embedder failed; what is done is kept.
    """
    embedder = opened.embedder
    if isinstance(embedder, GivenEmbeddings):
        return 0
    done = 0
    while limit is None or done < limit:
        size = BATCH if limit is None else min(BATCH, limit - done)
        with opened.database.read() as connection:
            total = done + embeddings.pending_count(connection)
            keys = embeddings.pending_keys(connection, size)
            rows = read_rows(connection, keys)
        if not keys:
            break
        made = embed_texts(embedder, [row[_TEXT] for row in rows])
        vectors = {row[0]: (row[_TEXT], one) for row, one in zip(rows, made, strict=True)}
        space = (embedder.id, embedder.ndim)

        def operation(
            transaction: Transaction,
            keys: Sequence[int] = keys,
            vectors: dict[int, tuple[str, bytes]] = vectors,
            space: tuple[str, int] = space,
        ) -> int:
            return _write(transaction, keys, vectors, space)

        done += opened.database.write(operation)
        if progress is not None:
            progress(min(done, total), total)
    return done


def _write(
    transaction: Transaction,
    keys: Sequence[int],
    vectors: dict[int, tuple[str, bytes]],
    space: tuple[str, int],
) -> int:
    connection = transaction.connection
    require_space(connection, space)
    width = space[1] * 4
    waiting = embeddings.still_pending(connection, keys)
    # A text that changed meanwhile keeps waiting; a row that is gone waits no more.
    now: dict[int, Any] = {row[0]: row for row in read_rows(connection, waiting)}
    ready = [key for key in waiting if key in now and now[key][_TEXT] == vectors[key][0]]
    settled = [key for key in waiting if key not in now] + ready
    embeddings.delete(connection, settled)
    for key in ready:
        embeddings.insert_vectors(connection, key, vectors[key][1], width)
    for tier in range(4):
        held = {
            key & _NUMBER_BITS: (*now[key][:-1], vectors[key][1] or None)
            for key in ready
            if key >> 56 == tier
        }
        transaction.change_many("upsert", tier, held)
    return len(settled)
