"""Find what fits a question: both signals, fused, filtered before they rank."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from agentmem.errors import EmbedderMismatchError, InvalidInputError
from agentmem.models import TIERS, TRUSTS, Hit, Ranking, from_ms, make_hit, to_ms
from agentmem.store.conditions import check_where
from agentmem.store.scopes import check_scope, join_scope
from agentmem.tiers.fact_input import whole_text
from agentmem.tiers.ranking import DEFAULT, RRF_K, explain_hit, native_ranking, share_of
from agentmem.tiers.vectors import embed_query, given_vector

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from agentmem.opened import Opened

P = ParamSpec("P")
T = TypeVar("T")

__all__ = ["RRF_K", "WEIGHTS", "recall", "recall_many", "search"]

# Every list of a signal is weighed by its signal's.
WEIGHTS = (1.0, 1.0)
MAX_K = 10_000
MAX_QUERY_BYTES = 1024 * 1024
TIER_BITS = {tier: 1 << number for number, tier in enumerate(TIERS)}
NUMBER_BITS = (1 << 56) - 1


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


def _strings(value: Iterable[str] | None, argument: str) -> list[str] | None:
    if value is None:
        return None
    if isinstance(value, str):
        return [value]
    found = list(value)
    if not all(isinstance(item, str) for item in found):
        raise InvalidInputError(f"{argument}: strings are needed, {found!r} was given")
    return found


def _tiers(value: Sequence[str] | str) -> int:
    bits = 0
    for tier in (value,) if isinstance(value, str) else value:
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
        several = _strings(scopes, "scopes") or []
        if not several:
            raise InvalidInputError("scopes: an empty list would match nothing; pass None for all")
        found["scopes"] = [
            join_scope(base, check_scope(path, argument="scopes")) for path in several
        ]
    elif base:
        found["scopes"] = [base]
    if kinds is not None:
        found["kinds"] = _strings(kinds, "kinds")
    if tags is not None:
        found["tags"] = _strings(tags, "tags")
    if any_tags is not None:
        found["any_tags"] = _strings(any_tags, "any_tags")
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


def to_hits(rows: Sequence[tuple[Any, ...]]) -> list[Hit]:
    """Return the public values of native hits."""
    hits = []
    for (
        key, score, bm25_rank, ann_rank, bm25_score, cosine, tier, kind, scope, session, position,
        text, subject, tags, metadata, sources, created_ms, event_ms, valid_from_ms, valid_to_ms,
        is_current, priority, trust, relevance, parts,
    ) in rows:  # fmt: skip
        explanation = None
        if parts is not None:
            explanation = explain_hit(parts, bm25_score=bm25_score, cosine=cosine)
        hits.append(
            make_hit(
                f"L{tier}:{key & NUMBER_BITS}",
                TIERS[tier],
                kind,
                text,
                score,
                bm25_rank,
                ann_rank,
                relevance,
                subject,
                tags,
                {} if metadata == "{}" else json.loads(metadata),
                sources,
                scope,
                session,
                position,
                from_ms(created_ms),
                None if event_ms is None else from_ms(event_ms),
                None if valid_from_ms is None else from_ms(valid_from_ms),
                None if valid_to_ms is None else from_ms(valid_to_ms),
                is_current,
                priority,
                TRUSTS[trust],
                explanation,
            )
        )
    return hits


def query_text(query: str) -> str:
    """Return the query if it is one: a string of at most 1 MiB; lone surrogates become U+FFFD."""
    if not isinstance(query, str):
        raise InvalidInputError(f"query: a string is needed, {query!r} was given")
    if len(query) * 4 > MAX_QUERY_BYTES and len(query.encode("utf-8", "replace")) > MAX_QUERY_BYTES:
        raise InvalidInputError(
            f"query: at most {MAX_QUERY_BYTES} bytes of UTF-8 are allowed; "
            f"{len(query)} characters were given"
        )
    return whole_text(query)


def _also_over_a_move(ask: Callable[P, T]) -> Callable[P, T]:
    """Ask once more, with the new embedder, where this handle's store was moved meanwhile."""

    @functools.wraps(ask)
    def asked(*args: P.args, **options: P.kwargs) -> T:
        opened = cast("Opened", args[0])
        before = opened.embedder
        try:
            return ask(*args, **options)
        except EmbedderMismatchError:
            with opened.move_lock:
                after = opened.embedder
            # A vector of the host's own stays in the space it was made for.
            is_given = any(options.get(name) is not None for name in ("embedding", "embeddings"))
            if after is before or is_given:
                raise
        return ask(*args, **options)

    return asked


def asked_of(
    opened: Opened,
    space: str,
    k: int,
    ranking: Ranking | None,
    conditions: dict[str, Any],
    *,
    explain: bool,
) -> dict[str, Any]:
    """Return what a native search in the space of an embedder needs beside text and vector.

    Raises:
        InvalidInputError: k or the ranking is none.
    """
    check_k(k)
    if ranking is None:
        ranking = DEFAULT
    elif not isinstance(ranking, Ranking):
        raise InvalidInputError(f"ranking: an agentmem.Ranking is needed, {ranking!r} was given")
    now_ms = opened.now_ms()
    asked = {
        "k": k,
        "depth": depth_of(k),
        "space": space,
        "ranking": native_ranking(ranking, space),
        "explain": explain,
        "now_ms": now_ms,
        **conditions,
    }
    if ranking.hints:
        asked["hints_at_ms"] = conditions.get("as_of_ms", now_ms)
    return asked


@_also_over_a_move
def recall(
    opened: Opened,
    scope: str,
    query: str,
    *,
    k: int,
    embedding: Any,
    explain: bool,
    ranking: Ranking | None = None,
    **conditions: Any,
) -> list[Hit]:
    """Return the k rows below a scope that fit a query best; see ``Memory.recall``."""
    opened.check()
    embedder = opened.embedder
    options = filters(scope, **conditions)
    asked = asked_of(opened, embedder.id, k, ranking, options, explain=explain)
    text = query_text(query)
    share = 1.0
    if embedding is not None:
        vector: npt.NDArray[np.float32] | None = given_vector(embedding, embedder.ndim)
    elif not text or text.isspace():
        return []
    else:
        vector = embed_query(embedder, text)
        share = share_of(embedder, text)
    bm25, ann = WEIGHTS
    return to_hits(opened.index.search(text, vector, weights=(bm25, ann * share), **asked))


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
    asked = asked_of(opened, space, k, None, filters(scope, **conditions), explain=False)
    bm25, ann = WEIGHTS
    return to_hits(opened.index.search(text, vector, weights=(bm25, ann * share), **asked))


@_also_over_a_move
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
    if isinstance(queries, str):
        raise InvalidInputError("queries: several texts are needed, one string was given")
    embedder = opened.embedder
    options = filters(scope, **conditions)
    asked = asked_of(opened, embedder.id, k, ranking, options, explain=explain)
    asked["weights"] = WEIGHTS
    texts = [query_text(query) for query in queries]
    if embeddings is not None and len(embeddings) != len(texts):
        raise InvalidInputError(
            f"embeddings: one a query is needed, {len(embeddings)} for {len(texts)} were given"
        )
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
                found[at] = to_hits(opened.index.search(text, None, **asked))
            else:
                vectors[at] = vector
                shares.append(share_of(embedder, text))
    several = opened.index.search_many(
        [texts[at] for at in vectors], list(vectors.values()), ann_shares=shares, **asked
    )
    for at, rows in zip(vectors, several, strict=True):
        found[at] = to_hits(rows)
    return found
