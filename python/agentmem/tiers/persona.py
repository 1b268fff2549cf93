"""Abstract a scope's facts and scenes into its persona (L3)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentmem.models import Persona, PersonaEntry, Trust, format_id, parse_id
from agentmem.protocols import GivenEmbeddings
from agentmem.store import embeddings, facts, jobs, personas, scenes
from agentmem.store.index_rows import persona_index_rows
from agentmem.store.scene_rows import change_mark, quoted_turns, scenes_of_facts
from agentmem.tiers.extract.names import BUILT_IN
from agentmem.tiers.persona_focus import read_focuses
from agentmem.tiers.persona_rules import Statement, compose
from agentmem.tiers.steps import Stepped, existing_scope

if TYPE_CHECKING:
    import apsw

    from agentmem.opened import Opened
    from agentmem.store.database import Transaction

__all__ = ["abstract_scope", "diff_personas", "persona_page"]

_TITLES = {
    "project_context": "Project",
    "work_style": "Style",
    "recent_focus": "Recent focus",
    "avoid_patterns": "Avoid",
}


def abstract_scope(opened: Opened, scope: str) -> Stepped:
    """Write a version if what facts and scenes say has changed; see ``tiers.steps``.

    A version is also written where a row that the last one cites is gone or superseded.
    """
    now_ms = opened.now_ms()
    with opened.database.read() as connection:
        scope_id = existing_scope(connection, scope)
        if scope_id is None:
            return Stepped()
        before = change_mark(connection)
        entries, read = read_entries(connection, scope_id, now_ms)
    is_searched = not isinstance(opened.embedder, GivenEmbeddings)

    def operation(transaction: Transaction) -> Stepped:
        connection = transaction.connection
        said, count = entries, read
        if change_mark(connection) != before:
            said, count = read_entries(connection, scope_id, now_ms)
        jobs.done(connection, scope_id, "abstract")
        old = personas.newest(connection, scope)
        if _is_same(connection, old, said):
            return Stepped(read=count)
        text = "\n".join(f"{_TITLES[entry.field]}: {entry.text}" for entry in said)
        number = personas.insert(
            connection, scope_id, said, text=text, trust=_trust(connection, said), now_ms=now_ms
        )
        changed = [number] if old is None else [old.id, number]
        if is_searched:
            embeddings.add_pending(connection, [embeddings.key_of(3, number)])
        index_rows = persona_index_rows(connection, changed)
        transaction.change_many("upsert", 3, dict(zip(changed, index_rows, strict=True)))
        return Stepped(read=count, written=1)

    return opened.database.write(operation)


def read_entries(
    connection: apsw.Connection, scope_id: int, now_ms: int
) -> tuple[list[PersonaEntry], int]:
    """Return what the facts and scenes of a scope say now, and how many facts were read.

    What begins to hold later is read by the first run after that.
    """
    rows = [row for row in facts.of_scope(connection, scope_id) if facts.has_begun(row, now_ms)]
    held = scenes_of_facts(connection, scope_id)
    orders = [row.id for row in rows if row.kind in ("instruction", "persona")]
    quoted = quoted_turns(connection, orders)
    statements = [
        Statement(
            id=format_id(1, row.id), kind=row.kind, text=row.text, trust=row.trust,
            subject=row.subject, attribute=row.attribute, priority=row.priority,
            confidence=1.0 if row.confidence is None else row.confidence, order=row.id,
            scene=format_id(2, held[row.id]) if row.id in held else None,
            is_read=(row.extractor or "").startswith(BUILT_IN), quoted=quoted.get(row.id, ""),
        )
        for row in rows
    ]  # fmt: skip
    entries = compose(statements, read_focuses(connection, scope_id))
    if all(one.startswith("L2:") for entry in entries for one in entry.sources):
        # A persona rests on facts: scenes alone, of which none is stated, make no version.
        return [], len(rows)
    return entries, len(rows)


def _is_same(
    connection: apsw.Connection, old: personas.PersonaRow | None, entries: Sequence[PersonaEntry]
) -> bool:
    if old is None:
        return not entries
    known = [(field, text) for field, text, _ in json.loads(old.entries)]
    if known != [(entry.field, entry.text) for entry in entries]:
        return False
    cited = {parse_id(one) for _, _, sources in json.loads(old.entries) for one in sources}
    wanted: dict[int, set[int]] = {1: set(), 2: set()}
    for tier, number in cited:
        wanted.setdefault(tier, set()).add(number)
    current = {
        row.id for row in facts.load(connection, sorted(wanted[1])) if row.superseded_ms is None
    }
    live = {
        row.id for row in scenes.load(connection, sorted(wanted[2])) if row.superseded_ms is None
    }
    return current == wanted[1] and live == wanted[2]


def _trust(connection: apsw.Connection, entries: Sequence[PersonaEntry]) -> int:
    """Return the lowest trust of what entries rest on."""
    cited = {parse_id(one) for entry in entries for one in entry.sources}
    of_facts = facts.load(connection, [number for tier, number in cited if tier == 1])
    of_scenes = scenes.load(connection, [number for tier, number in cited if tier == 2])  # noqa: PLR2004
    return min(
        (*(row.trust for row in of_facts), *(row.trust for row in of_scenes)),
        default=int(Trust.USER),
    )


def diff_personas(old: Persona, new: Persona) -> list[str]:
    """Return the lines that differ between two versions: ``- `` what went, ``+ `` what came."""
    before = [(entry.field, entry.text) for entry in old.entries]
    after = [(entry.field, entry.text) for entry in new.entries]
    lines = []
    for field, title in _TITLES.items():
        lines += [
            f"- {title}: {text}" for at, text in before if at == field and (at, text) not in after
        ]
        lines += [
            f"+ {title}: {text}" for at, text in after if at == field and (at, text) not in before
        ]
    return lines


def persona_page(persona: Persona) -> str:
    """Return a persona as a Markdown page: each entry with the ids that it rests on."""
    from agentmem.tiers.cluster.pages import one_line

    made = "" if persona.created is None else f", made {persona.created:%Y-%m-%d %H:%M} UTC"
    lines = [
        f"# Persona of {persona.scope or 'the whole store'}",
        "",
        f"Version {persona.version}{made}",
    ]
    for field, title in _TITLES.items():
        said = [entry for entry in persona.entries if entry.field == field]
        lines += ["", f"## {title}", ""]
        lines += [f"- {one_line(entry.text)} ({', '.join(entry.sources)})" for entry in said] or [
            "Nothing yet."
        ]
    return "\n".join(lines) + "\n"
