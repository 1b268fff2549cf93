"""Make scenes again from the members that are left, after some were forgotten."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentmem.store import embeddings, facts, scenes, turns
from agentmem.store.links import delete_links, source_numbers
from agentmem.store.scene_rows import release_superseded
from agentmem.tiers.cluster.assign import replay
from agentmem.tiers.cluster.rows import fact_row, turn_row
from agentmem.tiers.cluster.write import emit, update_scenes

if TYPE_CHECKING:
    from agentmem.store.database import Transaction
    from agentmem.tiers.cluster.profile import Profile

__all__ = ["members_of", "rederive_scenes"]


def members_of(metadata: str) -> int:
    """Return how many members a scene had when it was written, -1 where that is not known."""
    value = json.loads(metadata).get("members", -1)
    return value if isinstance(value, int) else -1


def rederive_scenes(transaction: Transaction, numbers: Sequence[int], *, now_ms: int) -> list[int]:
    """Make each of these scenes again from its members; one without any is deleted.

    Nothing of what its words, terms and vectors were before is left. For whoever forgets rows, in
    the transaction that does, behind the deletion of the rows.

    Returns:
        The scenes that were deleted.
    """
    connection = transaction.connection
    empty: list[int] = []
    made: dict[int, Profile] = {}
    release_superseded(connection, numbers)
    for row in scenes.load(connection, numbers):
        held = scenes.members(connection, row.id)
        if not held:
            empty.append(row.id)
            continue
        turn_ids = [number for tier, number in held if tier == 0]
        fact_ids = [number for tier, number in held if tier == 1]
        inside = set(turn_ids)
        following = {
            number
            for number, tier, source in source_numbers(connection, 1, fact_ids)
            if tier == 0 and source in inside
        }
        rows = [turn_row(one) for one in turns.load(connection, turn_ids)]
        rows += [
            fact_row(one) for one in facts.load(connection, fact_ids) if one.id not in following
        ]
        made[row.id] = replay(rows)
    update_scenes(transaction, made, now_ms=now_ms)
    embeddings.add_pending(connection, [embeddings.key_of(2, number) for number in made])
    emit(transaction, made)
    if empty:
        embeddings.delete(connection, [embeddings.key_of(2, number) for number in empty])
        delete_links(connection, 2, empty)
        scenes.delete(connection, empty)
        transaction.change_many("remove", 2, dict.fromkeys(empty))
    return empty
