"""Close a session: its facts, the scenes and the persona that follow from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem.models import Persona
from agentmem.store import personas
from agentmem.store.scopes import subtree_clause
from agentmem.tiers.capture import check_session
from agentmem.tiers.consolidate import consolidate

if TYPE_CHECKING:
    import apsw

    from agentmem.opened import Opened

__all__ = ["end_session"]


def end_session(opened: Opened, scope: str, session: str) -> Persona:
    """Do what is pending of a session and return the persona of the scope that it is in.

    Where the session is in this scope, or in several below and not in it, that is this scope's own.
    """
    check_session(session)
    consolidate(opened, scope, session=session, embed=False)
    with opened.database.read() as connection:
        homes = _homes(connection, scope, session)
        home = homes[0] if len(homes) == 1 else scope
        row = personas.newest(connection, home)
    return Persona(scope=home) if row is None else personas.to_persona(row)


def _homes(connection: apsw.Connection, scope: str, session: str) -> list[str]:
    clause, bindings = subtree_clause(scope, "scope_id")
    cursor = connection.execute(
        f"SELECT path FROM scopes WHERE id IN (SELECT scope_id FROM turns WHERE session = ? AND "
        f"{clause} UNION SELECT scope_id FROM facts WHERE session = ? AND {clause}) ORDER BY path",
        (session, *bindings, session, *bindings),
    )
    return [row[0] for row in cursor]
