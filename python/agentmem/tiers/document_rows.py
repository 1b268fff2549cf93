"""The rows that documents become, across scopes, in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentmem.errors import InvalidInputError
from agentmem.models import format_id
from agentmem.store import documents, embeddings, facts
from agentmem.store.documents import PRIORITY, TRUST
from agentmem.store.links import delete_links
from agentmem.store.redactions import add_counts
from agentmem.store.scopes import obtain
from agentmem.tiers.fact_rows import Space, require_space
from agentmem.tiers.forget import remove_rows

if TYPE_CHECKING:
    from agentmem.store.database import Database, Transaction
    from agentmem.tiers.document_input import NewDocument

__all__ = ["remove", "write_documents"]

TIER_BITS = 1 << 56


def write_documents(
    database: Database, checked: Sequence[NewDocument], *, made_ms: int, space: Space
) -> None:
    """Write and delete documents as one operation; each place occurs once.

    Raises:
        InvalidInputError: A fact of another kind has the key.
        EmbedderMismatchError: The store was moved to another embedder meanwhile.
    """

    def operation(transaction: Transaction) -> None:
        connection = transaction.connection
        require_space(connection, space)
        places = {path: obtain(connection, path) for path in dict.fromkeys(x.path for x in checked)}
        old, first = _held(transaction, checked, places, made_ms)
        remove(transaction, old)
        _insert(
            transaction,
            [item for item in checked if item.metadata is not None],
            places=places,
            first=first,
            made_ms=made_ms,
            width=space[1] * 4,
        )
        kinds = [kind for item in checked for kind in item.redacted]
        if kinds:
            add_counts(connection, kinds)

    database.write(operation)


def _held(
    transaction: Transaction,
    checked: Sequence[NewDocument],
    places: dict[str, int],
    made_ms: int,
) -> tuple[list[int], dict[tuple[str, str], int]]:
    """Return the ids of what is replaced or deleted, and when each key was first written."""
    by_path: dict[str, list[str]] = {}
    deleted: set[tuple[str, str]] = set()
    for path, key, metadata, _, _, _, _, _, _ in checked:
        by_path.setdefault(path, []).append(key)
        if metadata is None:
            deleted.add((path, key))
    old: list[int] = []
    first: dict[tuple[str, str], int] = {}
    for path, keys in by_path.items():
        for key, number, kind, first_ms, expires_ms in documents.holders(
            transaction.connection, places[path], keys
        ):
            if kind not in documents.KINDS:
                if (path, key) in deleted:
                    continue
                raise InvalidInputError(
                    f"key: {key!r} in scope {path!r} is that of {format_id(1, number)}, "
                    f"a fact of kind {kind!r}; a document needs another one"
                )
            old.append(number)
            if first_ms is not None and (expires_ms is None or expires_ms > made_ms):
                first[path, key] = min(first_ms, made_ms)
    return old, first


def remove(transaction: Transaction, ids: Sequence[int]) -> None:
    """Remove documents with their L0 turns and with what rests on them alone."""
    if not ids:
        return
    connection = transaction.connection
    lone = documents.lone_turns(connection, ids)
    if lone is None:
        remove_rows(transaction, [(1, number) for number in ids])
        return
    embeddings.delete(connection, [embeddings.key_of(1, number) for number in ids])
    delete_links(connection, 1, ids)
    facts.delete(connection, ids)
    connection.executemany("DELETE FROM turns WHERE id = ?", [(turn,) for turn in lone])
    transaction.change_many("remove", 1, dict.fromkeys(ids))


def _insert(
    transaction: Transaction,
    items: Sequence[NewDocument],
    *,
    places: dict[str, int],
    first: dict[tuple[str, str], int],
    made_ms: int,
    width: int,
) -> None:
    if not items:
        return
    connection = transaction.connection
    number, turn = facts.next_id(connection, "facts"), facts.next_id(connection, "turns")
    first_turn = turn
    rows, vector_rows, index_rows = [], [], {}
    for path, key, metadata, kind, text, _, vectors, ttl_ms, _ in items:
        created_ms = first.get((path, key), made_ms) if first else made_ms
        ends_ms = life = None
        if ttl_ms is not None:
            # A life that ends at once still ends after it began.
            ends_ms, life = max(made_ms + ttl_ms, created_ms + 1), f'{{"ttl_ms":{ttl_ms}}}'
        rows.append(
            (number, places[path], kind, key, life, made_ms, created_ms, ends_ms, metadata, text)
        )
        row_key = TIER_BITS | number
        if vectors is not None:
            chunk = row_key * embeddings.MAX_CHUNKS
            if len(vectors) == width:
                vector_rows.append((chunk, vectors))
            else:
                vector_rows += [
                    (chunk + at // width, vectors[at : at + width])
                    for at in range(0, len(vectors), width)
                ]
        index_rows[number] = (
            row_key, 1, kind, path, None, number, text, made_ms, created_ms, created_ms,
            ends_ms, True, PRIORITY, TRUST, key, (), metadata, (f"L0:{turn}",), vectors or None,
        )  # fmt: skip
        number, turn = number + 1, turn + 1
    documents.insert_many(connection, rows, turn=first_turn)
    embeddings.insert_many(connection, vector_rows)
    transaction.change_many("upsert", 1, index_rows)
