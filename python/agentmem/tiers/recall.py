"""Find what fits a question: both signals, fused, filtered before they rank."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from agentmem import _native
from agentmem.arguments import check_flag, check_strings
from agentmem.errors import EmbedderMismatchError, InvalidInputError
from agentmem.models import TIERS, Ranking, to_ms
from agentmem.store.conditions import check_where
from agentmem.store.scopes import check_scope, join_scope
from agentmem.tiers.fact_input import whole_text
from agentmem.tiers.ranking import DEFAULT, RRF_K, explain_hit, native_ranking, share_of
from agentmem.tiers.vectors import embed_query, given_vector

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from agentmem._native import Hit
    from agentmem.opened import Opened
    from agentmem.protocols import Embedder, GivenEmbeddings

__all__ = ["RRF_K", "WEIGHTS", "recall", "recall_many", "search"]

# Every list of a signal is weighed by its signal's.
WEIGHTS = (1.0, 1.0)
MAX_K = 10_000
MAX_QUERY_BYTES = 1024 * 1024
TIER_BITS = {tier: 1 << number for number, tier in enumerate(TIERS)}


def check_k(k: int) -> int:
    """Return k if it is a number of hits that can be asked for.

    Raises:
        InvalidInputError: It is no whole number from 1 to 10,000.
    """
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= MAX_K:
        raise InvalidInputError(f"k: a whole number from 1 to {MAX_K} is needed, {k!r} was given")
    return k


def depth_of(k: int) -> int:
    """Return how many candidates each signal gives for k hits."""
    return max(4 * k, 50)


def _tiers(value: Sequence[str] | str) -> int:
    bits = 0
    for tier in check_strings(value, "tiers"):
        if tier not in TIER_BITS:
            raise InvalidInputError(f"tiers: {tier!r} is none of {', '.join(TIERS)}")
        bits |= TIER_BITS[tier]
    if not bits:
        raise InvalidInputError("tiers: an empty list would match nothing; name one or several")
    return bits


def filters(
    base: str,
    *,
    tiers: Sequence[str] = ("L1",),
    kinds: Iterable[str] | None = None,
    tags: Iterable[str] | None = None,
    any_tags: Iterable[str] | None = None,
    where: Mapping[str, Any] | None = None,
    scopes: Iterable[str] | None = None,
    session: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    as_of: datetime | None = None,
) -> dict[str, Any]:
    """Return the native filter of recall's arguments; ``scopes`` are below the memory's own.

    Raises:
        InvalidInputError: An argument is wrong.
    """
    found: dict[str, Any] = {}
    if tiers != ("L1",):
        found["tiers"] = _tiers(tiers)
    if scopes is not None:
        several = check_strings(scopes, "scopes")
        if not several:
            raise InvalidInputError("scopes: an empty list would match nothing; pass None for all")
        found["scopes"] = [
            join_scope(base, check_scope(path, argument="scopes")) for path in several
        ]
    elif base:
        found["scopes"] = [base]
    if kinds is not None:
        found["kinds"] = check_strings(kinds, "kinds")
    if tags is not None:
        found["tags"] = check_strings(tags, "tags")
    if any_tags is not None:
        found["any_tags"] = check_strings(any_tags, "any_tags")
    if where is not None:
        found["where"] = check_where(where)
    if session is not None:
        if not isinstance(session, str):
            raise InvalidInputError(f"session: a string is needed, {session!r} was given")
        found["session"] = session
    if since is not None:
        found["since_ms"] = to_ms(since, argument="since")
    if until is not None:
        found["until_ms"] = to_ms(until, argument="until")
    if as_of is not None:
        found["as_of_ms"] = to_ms(as_of, argument="as_of")
    return found


FILTERS = frozenset(inspect.signature(filters).parameters) - {"base"}


def query_text(query: str, *, argument: str = "query") -> str:
    """Return the query if it is one: a string of at most 1 MiB; lone surrogates become U+FFFD."""
    if not isinstance(query, str):
        raise InvalidInputError(f"{argument}: a string is needed, {query!r:.80} was given")
    if len(query) * 4 > MAX_QUERY_BYTES and len(query.encode("utf-8", "replace")) > MAX_QUERY_BYTES:
        raise InvalidInputError(
            f"query: at most {MAX_QUERY_BYTES} bytes of UTF-8 are allowed; "
            f"{len(query)} characters were given"
        )
    return whole_text(query)


@lru_cache(maxsize=256)
def _unfiltered(scope: str, space: str, k: int, *, explain: bool) -> _native.Asked:
    """Return what most recalls ask: the measured ranking over every fact of a scope that holds now."""
    return asked_of(space, k, filters(scope), explain=explain)


def asked_of(
    space: str,
    k: int,
    conditions: Mapping[str, Any],
    *,
    ranking: Ranking | None = None,
    explain: bool = False,
) -> _native.Asked:
    """Return what a native search in the space of an embedder needs beside text and vector.

    Raises:
        InvalidInputError: k or the ranking is none.
    """
    check_k(k)
    if ranking is None:
        ranking = DEFAULT
    elif not isinstance(ranking, Ranking):
        raise InvalidInputError(f"ranking: an agentmem.Ranking is needed, {ranking!r} was given")
    return _native.Asked(
        k,
        depth_of(k),
        weights=WEIGHTS,
        ranking=native_ranking(ranking, space),
        hints=ranking.hints,
        explain=explain_hit if explain else None,
        **conditions,
    )


def _ask_again(opened: Opened, before: Any, given: Any) -> bool:
    """Say whether a query fell into a move of this handle's store, and can be asked once more.

    A vector of the host's own stays in the space it was made for.
    """
    with opened.move_lock:
        return opened.embedder is not before and given is None


def recall(
    opened: Opened,
    scope: str,
    query: str,
    *,
    k: int,
    embedding: Any = None,
    explain: bool = False,
    ranking: Ranking | None = None,
    conditions: Mapping[str, Any] | None = None,
) -> list[Hit]:
    """Return the k rows below a scope that fit a query best; see ``Memory.recall``.

    ``conditions`` are the arguments of ``filters``; None asks for every fact that holds now.
    """
    opened.check()
    text = query_text(query)
    if explain is not False:
        check_flag(explain, "explain")
    is_plain = conditions is None and ranking is None
    options = {} if is_plain else filters(scope, **(conditions or {}))
    share = 1.0
    while True:
        embedder = opened.embedder
        space = embedder.id
        if is_plain:
            asked = _unfiltered(scope, space, check_k(k), explain=explain)
        else:
            asked = asked_of(space, k, options, ranking=ranking, explain=explain)
        if embedding is not None:
            vector: npt.NDArray[np.float32] | None = given_vector(embedding, embedder.ndim)
        elif not text or text.isspace():
            return []
        else:
            vector = embed_query(embedder, text)
            share = share_of(embedder, text)
        try:
            now_ms = opened.now_ms()
            return opened.index.search(text, vector, asked, now_ms, space=space, share=share)
        except EmbedderMismatchError:
            if not _ask_again(opened, embedder, embedding):
                raise


def search(
    opened: Opened,
    scope: str,
    text: str,
    vector: npt.NDArray[np.float32] | None,
    *,
    space: str,
    k: int,
    share: float = 1.0,
    **conditions: Any,
) -> list[Hit]:
    """Return the hits of a text with its vector; without one the lexical signal alone is asked.

    ``space`` is the id of the embedder that made the vector, ``share`` the weight it deserves.
    """
    asked = asked_of(space, k, filters(scope, **conditions))
    return opened.index.search(text, vector, asked, opened.now_ms(), space=space, share=share)


def recall_many(
    opened: Opened,
    scope: str,
    queries: Sequence[str],
    *,
    k: int,
    embeddings: Any,
    explain: bool,
    ranking: Ranking | None = None,
    **conditions: Any,
) -> list[list[Hit]]:
    """Return the hits of several queries in one native call; see ``Memory.recall_many``."""
    opened.check()
    check_flag(explain, "explain")
    if isinstance(queries, str) or not isinstance(queries, Iterable):
        raise InvalidInputError(
            f"queries: several texts are needed, one {type(queries).__name__} was given"
        )
    texts = [query_text(query, argument=f"queries[{at}]") for at, query in enumerate(queries)]
    for name in conditions:
        if name not in FILTERS:
            raise InvalidInputError(
                f"filters: {name!r} is unknown; known are {', '.join(sorted(FILTERS))}"
            )
    options = filters(scope, **conditions)
    while True:
        embedder = opened.embedder
        asked = asked_of(embedder.id, k, options, ranking=ranking, explain=explain)
        try:
            return _recall_many(opened, embedder, texts, embeddings, asked)
        except EmbedderMismatchError:
            if not _ask_again(opened, embedder, embeddings):
                raise


def _recall_many(
    opened: Opened,
    embedder: Embedder | GivenEmbeddings,
    texts: Sequence[str],
    embeddings: Any,
    asked: _native.Asked,
) -> list[list[Hit]]:
    if embeddings is not None:
        # An array without a dimension has a length only in name.
        is_several = isinstance(embeddings, Sequence) or bool(getattr(embeddings, "ndim", 0))
        if not is_several or isinstance(embeddings, str | bytes):
            raise InvalidInputError(
                f"embeddings: one vector a query is needed, {embeddings!r:.80} was given"
            )
        if len(embeddings) != len(texts):
            raise InvalidInputError(
                f"embeddings: one a query is needed, {len(embeddings)} for {len(texts)} were given"
            )
    space, now_ms = embedder.id, opened.now_ms()
    found: list[list[Hit]] = [[] for _ in texts]
    vectors: dict[int, npt.NDArray[np.float32]] = {}
    shares: list[float] = []
    for at, text in enumerate(texts):
        if embeddings is not None:
            vectors[at] = given_vector(embeddings[at], embedder.ndim, argument=f"embeddings[{at}]")
            shares.append(1.0)
        elif text and not text.isspace():
            vector = embed_query(embedder, text)
            if vector is None:
                found[at] = opened.index.search(text, None, asked, now_ms, space=space)
            else:
                vectors[at] = vector
                shares.append(share_of(embedder, text))
    several = opened.index.search_many(
        [texts[at] for at in vectors], list(vectors.values()), asked, now_ms, space=space,
        shares=shares,
    )  # fmt: skip
    for at, hits in zip(vectors, several, strict=True):
        found[at] = hits
    return found
