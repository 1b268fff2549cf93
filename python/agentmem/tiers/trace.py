"""Walk from any row down to the L0 turns that it rests on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agentmem.errors import NotFoundError
from agentmem.models import TIERS, Trace, TraceStep, format_id
from agentmem.store import facts, personas, scenes, turns
from agentmem.store.index_rows import scene_text
from agentmem.store.links import source_numbers, spans_of
from agentmem.store.scopes import contains

if TYPE_CHECKING:
    import apsw

__all__ = ["require", "trace"]


LOADERS: Mapping[int, Callable[[apsw.Connection, Sequence[int]], Sequence[Any]]] = {
    0: turns.load,
    1: facts.load,
    2: scenes.load,
    3: personas.load,
}


def require(connection: apsw.Connection, scope: str, tier: int, number: int) -> Any:
    """Return the row of an id that this scope may see.

    Raises:
        NotFoundError: It does not exist, or lies outside; the two can't be told apart.
    """
    rows = LOADERS[tier](connection, [number])
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
            spans = spans_of(connection, at_tier, ids)
            for row in LOADERS[at_tier](connection, ids):
                if isinstance(row, turns.TurnRow):
                    evidence[row.id] = row
                sources = links.get(row.id, [])
                path.append(
                    TraceStep(
                        format_id(at_tier, row.id),
                        TIERS[at_tier],
                        scene_text(row) if isinstance(row, scenes.SceneRow) else row.text,
                        tuple(format_id(*source) for source in sources),
                        {
                            format_id(*source): spans[row.id, *source]
                            for source in sources
                            if (row.id, *source) in spans
                        },
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
