"""What a call of forget is about: ids, a condition, a scope, a session, a source, words."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentmem._native import fold_text
from agentmem.errors import InvalidInputError
from agentmem.models import Trust, parse_id
from agentmem.store import facts, selection, turns
from agentmem.store.conditions import check_where, matches
from agentmem.store.links import dependants
from agentmem.store.scopes import check_scope, join_scope
from agentmem.tiers.trace import require

if TYPE_CHECKING:
    import apsw

__all__ = ["Selector", "make_selector", "select_facts"]

PAGE = 1_000
Row = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Selector:
    """What to forget: ``rows`` reads it from the store; ``scope`` is the one that goes as a whole."""

    op: str
    rows: Callable[[apsw.Connection, str], list[Row]]
    scope: str | None = None


def select_facts(connection: apsw.Connection, scope: str, where: Mapping[str, Any]) -> list[int]:
    """Return the ids of the current facts of a subtree that fulfil a condition."""
    found: list[int] = []
    after = 0
    while rows := facts.page(connection, scope=scope, after=after, limit=PAGE):
        after = rows[-1].id
        values = facts.to_fact(connection, rows)
        found += [row.id for row, value in zip(rows, values, strict=True) if matches(where, value)]
    return found


def make_selector(
    base: str,
    *,
    ids: str | Sequence[str] | None,
    where: Mapping[str, Any] | None,
    scope: str | None,
    session: str | None,
    source: str | Sequence[str] | None,
    query: str | None,
) -> Selector:
    """Return the selector of forget's arguments, of which exactly one is given.

    Raises:
        InvalidInputError: None or several are given, or the one given is wrong.
    """
    given = {
        "ids": ids, "where": where, "scope": scope, "session": session, "source": source,
        "query": query,
    }  # fmt: skip
    named = [name for name, value in given.items() if value is not None]
    if len(named) != 1:
        raise InvalidInputError(
            f"forget: pass either ids or where, scope, session, source or query: one of them; "
            f"{', '.join(named) or 'none'} was given"
        )
    if where is not None:
        if check_where(where) is None:
            raise InvalidInputError("where: an empty condition would forget everything; name one")
        condition = where
        return Selector(
            "where",
            lambda connection, base: [
                (1, number) for number in select_facts(connection, base, condition)
            ],
        )
    if scope is not None:
        whole = join_scope(base, check_scope(scope))
        return Selector("scope", lambda connection, _: selection.of_scope(connection, whole), whole)
    if session is not None:
        from agentmem.tiers.capture import check_session

        name = check_session(session)
        return Selector(
            "session", lambda connection, base: selection.of_session(connection, base, name)
        )
    if query is not None:
        return _by_words(query)
    if source is not None:
        return _by_source(source)
    if not isinstance(ids, Sequence):
        raise InvalidInputError(f"ids: one id or several are needed, {ids!r} was given")
    wanted = [parse_id(one, argument="ids") for one in ((ids,) if isinstance(ids, str) else ids)]
    return Selector("ids", lambda connection, base: _required(connection, base, wanted))


def _required(connection: apsw.Connection, base: str, wanted: Sequence[Row]) -> list[Row]:
    for tier, number in wanted:
        require(connection, base, tier, number)
    return list(wanted)


def _by_source(source: str | Sequence[str]) -> Selector:
    names = {trust.name.lower(): trust for trust in Trust}
    if isinstance(source, str) and source in names:
        trust = names[source]
        start: Callable[[apsw.Connection, str], list[Row]] = lambda connection, base: (  # noqa: E731
            selection.of_trust(connection, base, trust)
        )
    else:
        several = (source,) if isinstance(source, str) else source
        if not isinstance(several, Sequence):
            raise InvalidInputError(
                f"source: an id, several, or one of {', '.join(names)}; {source!r} was given"
            )
        wanted = [parse_id(one, argument="source") for one in several]
        start = lambda connection, base: _required(connection, base, wanted)  # noqa: E731

    def rows(connection: apsw.Connection, base: str) -> list[Row]:
        found = dict.fromkeys(start(connection, base))
        fresh = list(found)
        while fresh:
            above: dict[Row, None] = {}
            for tier in (0, 1):
                ids = [number for at, number in fresh if at == tier]
                above |= {
                    (at, number): None
                    for _, at, number in dependants(connection, tier, ids)
                    if at == 1 and (at, number) not in found
                }
            found |= above
            fresh = list(above)
        return list(found)

    return Selector("source", rows)


def _by_words(query: str) -> Selector:
    if not isinstance(query, str) or not query.strip():
        raise InvalidInputError(f"query: words are needed, {query!r} was given")
    words = _folded(query)
    if not words:
        raise InvalidInputError(f"query: {query!r} has no content that could be looked for")

    def rows(connection: apsw.Connection, base: str) -> list[Row]:
        found: dict[Row, None] = {}
        ids = selection.turn_ids(connection, base)
        for start in range(0, len(ids), PAGE):
            for turn in turns.load(connection, ids[start : start + PAGE]):
                if words in _folded(turn.text) or words in _folded(turn.speaker or ""):
                    found[0, turn.id] = None
        for held, raw in selection.raw_records(connection, base):
            if words in _folded(_strings(raw)):
                found |= {(0, number): None for number in held}
        after = 0
        while page := facts.page(connection, scope=base, after=after, limit=PAGE, current=False):
            after = page[-1].id
            for row in page:
                said = (row.text, row.subject, row.key, row.value, _strings(row.metadata.encode()))
                if any(words in _folded(one) for one in said if one):
                    found[1, row.id] = None
        return list(found)

    return Selector("query", rows)


def _folded(text: str) -> str:
    return fold_text(text.encode("utf-8", "replace").decode())


def _strings(raw: bytes) -> str:
    """Return every string of a JSON text, one a line; the text itself if it is none."""
    text = raw.decode("utf-8", "replace")
    found: list[str] = []

    def walk(value: Any) -> None:
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, list):
            for one in value:
                walk(one)
        elif isinstance(value, dict):
            for key, one in value.items():
                found.append(key)
                walk(one)

    try:
        walk(json.loads(text))
    except (ValueError, RecursionError):
        return text
    return "\n".join(found)
