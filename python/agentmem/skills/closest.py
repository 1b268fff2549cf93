"""Which skills a conversation is about: by words, and by meaning where an embedder can tell."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from agentmem._native import fuse
from agentmem.errors import EmbeddingError
from agentmem.protocols import GivenEmbeddings
from agentmem.store.guard import StoreWarning

if TYPE_CHECKING:
    from agentmem.models import SkillView
    from agentmem.opened import Opened

__all__ = ["closest"]

_MAX_EMBEDDED: Final = 1_000
_EMBED_AT_ONCE: Final = 32


def closest(
    opened: Opened, views: Sequence[SkillView], scores: Sequence[float], query: str
) -> list[int]:
    """Return the places of all skills, those closest to a query first.

    The ranks by words (those that share one) and by the cosine of name and description are fused,
    both with the same weight. Vectors are kept in the process, so a skill is embedded once. Where
    the store's vectors come from the host, words alone decide; and where the embedder fails, with
    a ``StoreWarning``.

    Source: Cormack, Clarke, Büttcher: Reciprocal Rank Fusion, SIGIR 2009.

    Args:
        opened: The open folder; its embedder makes the vectors.
        views: The skills.
        scores: How well each fits by its words.
        query: What the conversation is about.
    """
    by_words = sorted(range(len(views)), key=lambda place: (-scores[place], views[place].name))
    if len(views) <= 1 or not query.strip() or isinstance(opened.embedder, GivenEmbeddings):
        return by_words
    chosen = by_words[:_MAX_EMBEDDED]
    try:
        cosines = _cosines(opened, [views[place] for place in chosen], query)
    except EmbeddingError as error:
        warnings.warn(f"skills are compared by words alone: {error}", StoreWarning, stacklevel=2)
        return by_words
    if cosines is None:
        return by_words
    ranked = sorted(range(len(chosen)), key=lambda i: (-cosines[i], views[chosen[i]].name))
    by_meaning = [chosen[i] for i in ranked]
    matching = [place for place in by_words if scores[place] > 0]
    fused = [place for place, _ in fuse([matching, by_meaning])]
    return [*fused, *(place for place in by_words if place not in set(fused))]


def _cosines(opened: Opened, views: Sequence[SkillView], query: str) -> list[float] | None:
    """Return the cosine of each skill with a query, None if the query has no content.

    Raises:
        EmbeddingError: The embedder failed.
    """
    import numpy as np

    from agentmem.tiers.vectors import embed_query, embed_texts

    vector = embed_query(opened.embedder, query)
    if vector is None:
        return None
    key: Any = ("skill vectors", opened.embedder.id)
    texts = [f"{view.name.replace('-', ' ')}: {view.description}" for view in views]
    with opened.cache_lock:
        known = dict(opened.cache.get(key, {}))
    missing = [text for text in dict.fromkeys(texts) if text not in known]
    for start in range(0, len(missing), _EMBED_AT_ONCE):
        part = missing[start : start + _EMBED_AT_ONCE]
        known.update(zip(part, embed_texts(opened.embedder, part), strict=True))
    if missing:
        with opened.cache_lock:
            opened.cache[key] = {text: known[text] for text in texts}
    # A long description has several chunks: the best one counts. One without content is far away.
    return [
        max(
            (
                np.frombuffer(known[text], dtype=np.float32).reshape(-1, len(vector)) @ vector
            ).tolist(),
            default=-1.0,
        )
        for text in texts
    ]
