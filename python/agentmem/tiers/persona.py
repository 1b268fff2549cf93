"""Abstract a scope's facts into its persona (L3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentmem.models import PersonaEntry, Trust, format_id
from agentmem.store import embeddings, facts, jobs, personas, scenes
from agentmem.store.index_rows import persona_index_rows
from agentmem.tiers.steps import Stepped, existing_scope

if TYPE_CHECKING:
    import apsw

    from agentmem.opened import Opened
    from agentmem.store.database import Transaction

__all__ = ["abstract_scope"]

MOST_ENTRIES = 5


def abstract_scope(opened: Opened, scope: str) -> Stepped:
    """Write a version if what the facts say has changed; see ``tiers.steps`` for the contract."""
    now_ms = opened.now_ms()

    def operation(transaction: Transaction) -> Stepped:
        connection = transaction.connection
        scope_id = existing_scope(connection, scope)
        if scope_id is None:
            return Stepped()
        rows = facts.of_scope(connection, scope_id)
        jobs.done(connection, scope_id, "abstract")
        entries = _entries(connection, scope_id, rows)
        old = personas.newest(connection, scope)
        if personas.dump_entries(entries) == ("[]" if old is None else old.entries):
            return Stepped(read=len(rows))
        trusts = {format_id(1, row.id): row.trust for row in rows}
        trust = min(
            (trusts.get(one, Trust.USER) for entry in entries for one in entry.sources),
            default=int(Trust.USER),
        )
        text = "\n".join(f"{entry.field}: {entry.text}" for entry in entries)
        number = personas.insert(
            connection, scope_id, entries, text=text, trust=trust, now_ms=now_ms
        )
        changed = [number] if old is None else [old.id, number]
        embeddings.add_pending(connection, [embeddings.key_of(3, number)])
        index_rows = persona_index_rows(connection, changed)
        transaction.change_many("upsert", 3, dict(zip(changed, index_rows, strict=True)))
        return Stepped(read=len(rows), written=1)

    return opened.database.write(operation)


def _entries(
    connection: apsw.Connection, scope_id: int, rows: list[facts.FactRow]
) -> list[PersonaEntry]:
    rows = [row for row in rows if row.trust > Trust.TOOL]
    style = [row for row in rows if row.kind == "persona"][-MOST_ENTRIES:]
    avoid = [row for row in rows if row.kind == "instruction"][-MOST_ENTRIES:]
    entries = [PersonaEntry("work_style", row.text, (format_id(1, row.id),)) for row in style]
    for row in scenes.current(connection, scope_id)[:MOST_ENTRIES]:
        held = tuple(format_id(*one) for one in scenes.members(connection, row.id) if one[0] == 1)
        if held:
            sources = (format_id(2, row.id), *held[:MOST_ENTRIES])
            entries.append(PersonaEntry("recent_focus", row.label, sources))
    entries += [PersonaEntry("avoid_patterns", row.text, (format_id(1, row.id),)) for row in avoid]
    return entries
