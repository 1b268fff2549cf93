"""Rows of the store as the core reads them, with their vectors."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import numpy as np

from agentmem.errors import EmbeddingError
from agentmem.protocols import GivenEmbeddings
from agentmem.store import embeddings
from agentmem.tiers.cluster.assign import Row
from agentmem.tiers.fact_input import whole_text
from agentmem.tiers.vectors import embed_texts

if TYPE_CHECKING:
    import apsw

    from agentmem.opened import Opened
    from agentmem.store.facts import FactRow
    from agentmem.store.turns import TurnRow
    from agentmem.tiers.cluster.profile import Vector

__all__ = ["fact_row", "make_missing", "stored_vectors", "turn_row"]

HEAD_CHARS: Final = 1_200
"""Of a long opening the head is embedded: about the first chunk of the packaged model."""


def turn_row(row: TurnRow, vector: Vector | None = None) -> Row:
    """Return a turn for the core; its time is the speaker's own where it is known.

    L0 keeps lone surrogates, a scene's columns can't: it reads them as U+FFFD.
    """
    return Row(
        tier=0, number=row.id, kind=row.kind, session=row.session,
        time_ms=row.created_ms if row.event_ms is None else row.event_ms,
        text=whole_text(row.text), vector=vector,
    )  # fmt: skip


def fact_row(row: FactRow, vector: Vector | None = None) -> Row:
    """Return a fact for the core; its time is when it was stated, not when it will happen."""
    start = row.valid_from_ms
    time_ms = row.created_ms if start is None else min(start, row.created_ms)
    return Row(
        tier=1, number=row.id, kind="fact", session=row.session, time_ms=time_ms,
        text=row.text, vector=vector,
    )  # fmt: skip


def stored_vectors(
    connection: apsw.Connection, tier: int, numbers: Sequence[int], ndim: int
) -> dict[int, Vector]:
    """Return the vector of the head of each row that has one: float32, shape ``(ndim,)``."""
    keys = {embeddings.key_of(tier, number): number for number in numbers}
    found = embeddings.vectors_of(connection, list(keys))
    return {
        keys[key]: np.frombuffer(content, "<f4", count=ndim).astype(np.float32)
        for key, content in found.items()
        if len(content) >= ndim * 4
    }


def make_missing(
    opened: Opened, texts: dict[int, str], have: dict[int, Vector]
) -> dict[int, Vector]:
    """Embed the texts that have no vector yet, those with words in them.

    Where no model can be had scenes are made from terms alone.
    """
    embedder = opened.embedder
    wanted = [number for number, text in texts.items() if number not in have and text.strip()]
    if isinstance(embedder, GivenEmbeddings) or not wanted:
        return have
    made = dict(have)
    with suppress(EmbeddingError):
        contents = embed_texts(embedder, [texts[number][:HEAD_CHARS] for number in wanted])
        for number, content in zip(wanted, contents, strict=True):
            if content:
                head = np.frombuffer(content, np.float32, count=embedder.ndim)
                made[number] = head.astype(np.float32)
    return made
