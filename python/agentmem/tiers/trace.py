"""Walk from any row down to the L0 turns that it rests on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from agentmem.errors import NotFoundError
from agentmem.models import Trace, TraceStep, format_id
from agentmem.store import facts, turns
from agentmem.store.links import source_numbers
from agentmem.store.scopes import contains

if TYPE_CHECKING:
    import apsw

__all__ = ["require", "trace"]


def require(connection: apsw.Connection, scope: str, tier: int, number: int) -> Any:
    """Return the row of an id that this scope may see.

    Raises:
        NotFoundError: It does not exist, or lies outside; the two can't be told apart.
    """
    rows: Sequence[Any] = ()
    if tier == 0:
        rows = turns.load(connection, [number])
    elif tier == 1:
        rows = facts.load(connection, [number])
    if not rows or not contains(scope, rows[0].scope):
        raise NotFoundError(f"there is no {format_id(tier, number)} in scope {scope!r}")
    return rows[0]


def trace(connection: apsw.Connection, scope: str, tier: int, number: int) -> Trace:
    """Return every row below one, each once, nearest first, and the turns at the bottom.

    Raises:
        NotFoundError: The row does not exist in this scope.
    """
    require(connection, scope, tier, number)
    path: list[TraceStep] = []
    evidence: dict[int, turns.TurnRow] = {}
    seen = {(tier, number)}
    level = [(tier, number)]
    while level:
        below: list[tuple[int, int]] = []
        for at_tier in sorted({at for at, _ in level}, reverse=True):
            ids = [one for at, one in level if at == at_tier]
            links: dict[int, list[tuple[int, int]]] = {}
            for upper, lower_tier, lower in source_numbers(connection, at_tier, ids):
                links.setdefault(upper, []).append((lower_tier, lower))
            loaded = turns.load(connection, ids) if at_tier == 0 else facts.load(connection, ids)
            for row in loaded:
                if isinstance(row, turns.TurnRow):
                    evidence[row.id] = row
                sources = links.get(row.id, [])
                path.append(
                    TraceStep(
                        format_id(at_tier, row.id),
                        f"L{at_tier}",  # type: ignore[arg-type]  # a tier of the table
                        row.text,
                        tuple(format_id(*source) for source in sources),
                    )
                )
                for source in sources:
                    if source not in seen:
                        seen.add(source)
                        below.append(source)
        level = below
    return Trace(
        format_id(tier, number),
        tuple(path),
        tuple(turns.to_turn(evidence[one]) for one in sorted(evidence)),
    )
