"""Write what the core decided: scenes, members, links, changes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from agentmem.models import Trust, format_id
from agentmem.protocols import Embedder, GivenEmbeddings
from agentmem.store import embeddings, scenes
from agentmem.store.index_rows import scene_index_rows
from agentmem.store.scene_rows import (
    member_trusts,
    release_superseded,
    sizes,
    split_members,
)
from agentmem.tiers.cluster.labels import summarize

if TYPE_CHECKING:
    from agentmem.store.database import Transaction
    from agentmem.tiers.cluster.assign import Clusterer
    from agentmem.tiers.cluster.profile import Profile

__all__ = ["Written", "describe", "emit", "update_scenes", "write_scenes"]


class Written(NamedTuple):
    """How many scenes changed, the ids of new ones, and the states that were written."""

    changed: int
    numbers: dict[int, int]
    states: dict[int, str]


def write_scenes(
    transaction: Transaction,
    scope_id: int,
    clusterer: Clusterer,
    *,
    now_ms: int,
    space: Embedder | GivenEmbeddings,
) -> Written:
    """Apply the events in their order."""
    connection = transaction.connection
    numbers: dict[int, int] = {}

    def number_of(scene: int) -> int:
        return scene if scene > 0 else numbers[scene]

    def begin(scene: int) -> int:
        numbers[scene] = scenes.insert(
            connection, scope_id, label="", text="", session=None, trust=0, now_ms=now_ms,
            first_ms=0, last_ms=0,
        )  # fmt: skip
        return numbers[scene]

    changed: set[int] = set()
    placed: dict[tuple[int, int], int] = {}
    for event in clusterer.events:
        if event.action == "new":
            begin(event.scene)
            continue
        if event.action == "join":
            placed |= dict.fromkeys(event.rows, number_of(event.scene))
            continue
        changed |= scenes.assign(connection, placed)
        placed = {}
        if event.action == "merge":
            into = number_of(event.other)
            scenes.merge(connection, number_of(event.scene), into=into, now_ms=now_ms)
            _retire(transaction, number_of(event.scene), into=into, now_ms=now_ms)
            changed.add(number_of(event.scene))
        else:
            moved = split_members(connection, number_of(event.scene), event.cut)
            scenes.assign(connection, dict.fromkeys(moved, begin(event.other)))
    changed |= scenes.assign(connection, placed)
    profiles: Mapping[int, Profile] = clusterer.scenes | clusterer.cooled
    touched = {number_of(one): profiles[one] for one in clusterer.touched if one in profiles}
    updated = update_scenes(transaction, touched, now_ms=now_ms)
    if not isinstance(space, GivenEmbeddings):
        embeddings.add_pending(
            connection, [embeddings.key_of(2, number) for number in updated.reworded]
        )
    changed |= touched.keys()
    emit(transaction, changed)
    return Written(len(changed), numbers, updated.states)


def _retire(transaction: Transaction, number: int, *, into: int, now_ms: int) -> None:
    """Leave of a merged scene only that it is one: its words live on in the other."""
    connection = transaction.connection
    retired = scenes.SceneUpdate(
        label=f"merged into {format_id(2, into)}", text="", trust=int(Trust.TOOL),
        updated_ms=now_ms, first_ms=0, last_ms=0, weight=0.0, state="{}", metadata="{}", id=number,
    )  # fmt: skip
    scenes.update(connection, [retired])
    embeddings.delete(connection, [embeddings.key_of(2, number)])


class Updated(NamedTuple):
    """The states of scenes as they were written, and the scenes whose words changed."""

    states: dict[int, str]
    reworded: list[int]


def update_scenes(
    transaction: Transaction, profiles: Mapping[int, Profile], *, now_ms: int
) -> Updated:
    """Write what scenes say now, without the members that are no longer there."""
    connection = transaction.connection
    numbers = sorted(profiles)
    release_superseded(connection, numbers)
    trusts, counts = member_trusts(connection, numbers), sizes(connection, numbers)
    said = scenes.words(connection, numbers)
    rows = []
    for number in numbers:
        profile = profiles[number]
        label, text = describe(profile)
        rows.append(scenes.SceneUpdate(
            label=label, text=text, trust=trusts[number], updated_ms=now_ms,
            first_ms=profile.first_ms, last_ms=profile.last_ms, weight=profile.weight,
            state=profile.dump(), metadata=json.dumps({"members": counts.get(number, 0)}),
            id=number,
        ))  # fmt: skip
    scenes.update(connection, rows)
    reworded = [row.id for row in rows if said[row.id] != (row.label, row.text)]
    return Updated({row.id: row.state for row in rows}, reworded)


def describe(profile: Profile) -> tuple[str, str]:
    """Return the label and the summary of a scene: a summarizer's, if it is of this label."""
    if profile.refined is not None and profile.refined[0] == profile.label:
        return profile.refined[1], profile.refined[2]
    return profile.label, summarize(profile.lines)


def emit(transaction: Transaction, changed: Iterable[int]) -> None:
    """Tell the index and other processes of scenes that changed."""
    numbers = sorted(changed)
    rows = scene_index_rows(transaction.connection, numbers)
    if rows:
        transaction.change_many("upsert", 2, dict(zip(numbers, rows, strict=True)))
