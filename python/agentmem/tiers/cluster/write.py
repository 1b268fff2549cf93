"""Write what the core decided: scenes, members, links, changes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from agentmem.models import Trust, format_id
from agentmem.protocols import Embedder, GivenEmbeddings
from agentmem.store import embeddings, scenes
from agentmem.store.index_rows import scene_index_rows
from agentmem.store.scene_rows import member_trust, release_superseded, split_members
from agentmem.tiers.cluster.labels import summarize

if TYPE_CHECKING:
    from agentmem.store.database import Transaction
    from agentmem.tiers.cluster.assign import Clusterer
    from agentmem.tiers.cluster.profile import Profile

__all__ = ["describe", "update_scene", "write_scenes"]


def write_scenes(
    transaction: Transaction,
    scope_id: int,
    clusterer: Clusterer,
    *,
    now_ms: int,
    space: Embedder | GivenEmbeddings,
) -> int:
    """Apply the events in their order and return how many scenes were written or changed."""
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
    for event in clusterer.events:
        if event.action == "new":
            begin(event.scene)
        elif event.action == "join":
            changed |= scenes.assign(connection, number_of(event.scene), event.rows)
        elif event.action == "merge":
            into = number_of(event.other)
            scenes.merge(connection, number_of(event.scene), into=into, now_ms=now_ms)
            _retire(transaction, number_of(event.scene), into=into, now_ms=now_ms)
            changed.add(number_of(event.scene))
        else:
            moved = split_members(connection, number_of(event.scene), event.cut)
            scenes.assign(connection, begin(event.other), moved)
    profiles: Mapping[int, Profile] = clusterer.scenes | clusterer.cooled
    new_text: list[int] = []
    for scene in sorted(clusterer.touched, key=lambda one: (one < 0, abs(one))):
        profile = profiles.get(scene)
        if profile is None:
            continue
        number = number_of(scene)
        if update_scene(transaction, number, profile, now_ms=now_ms):
            new_text.append(number)
        changed.add(number)
    if not isinstance(space, GivenEmbeddings):
        embeddings.add_pending(
            connection, [embeddings.key_of(2, number) for number in sorted(new_text)]
        )
    emit(transaction, changed)
    return len(changed)


def _retire(transaction: Transaction, number: int, *, into: int, now_ms: int) -> None:
    """Leave of a merged scene only that it is one: its words live on in the other."""
    connection = transaction.connection
    scenes.update(
        connection, number, label=f"merged into {format_id(2, into)}", text="",
        trust=int(Trust.TOOL), now_ms=now_ms, first_ms=0, last_ms=0, weight=0.0, state="{}",
    )  # fmt: skip
    embeddings.delete(connection, [embeddings.key_of(2, number)])


def update_scene(transaction: Transaction, number: int, profile: Profile, *, now_ms: int) -> bool:
    """Write what a scene says now, and return whether its words changed."""
    connection = transaction.connection
    release_superseded(connection, number)
    old = scenes.load(connection, [number])[0]
    label, text = describe(profile)
    metadata = json.dumps({"members": len(scenes.members(connection, number))})
    scenes.update(
        connection, number, label=label, text=text, trust=member_trust(connection, number),
        now_ms=now_ms, first_ms=profile.first_ms, last_ms=profile.last_ms, weight=profile.weight,
        state=profile.dump(), metadata=metadata,
    )  # fmt: skip
    return (old.label, old.text) != (label, text)


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
