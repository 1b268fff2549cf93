"""A memory as Markdown for people: one page a tier, made from rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agentmem.errors import InvalidInputError
from agentmem.models import format_id, from_ms
from agentmem.store import facts, personas, scenes, selection, turns
from agentmem.store.scopes import subtree_clause
from agentmem.tiers.cluster.pages import one_line, scene_page
from agentmem.tiers.persona import persona_page
from agentmem.tiers.transfer import make_private

if TYPE_CHECKING:
    import apsw

    from agentmem.store.database import Database

__all__ = ["export_markdown"]

BATCH: Final = 500
MOST_SCENES: Final = 1_000_000


def export_markdown(database: Database, scope: str, folder: Path) -> int:
    """Write the current rows of a scope and below as pages into a folder; return their number.

    Each page appears whole or not at all.

    Raises:
        InvalidInputError: The path is a file.
    """
    if folder.exists() and not folder.is_dir():
        raise InvalidInputError(f"path: a folder for the pages is needed, {folder} is a file")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    total = 0
    with database.read() as connection:
        for name, read in (
            ("L0-turns", _turns), ("L1-facts", _facts), ("L2-scenes", _scenes),
            ("L3-persona", _personas),
        ):  # fmt: skip
            partial = folder / f"{name}.md.partial"
            try:
                make_private(partial)
                with partial.open("w", encoding="utf-8", errors="backslashreplace") as file:
                    for count, text in read(connection, scope):
                        total += count
                        file.write(text)
                partial.replace(folder / f"{name}.md")
            finally:
                partial.unlink(missing_ok=True)
    return total


def _turns(connection: apsw.Connection, scope: str) -> Iterator[tuple[int, str]]:
    yield 0, "# Turns\n"
    ids = selection.turn_ids(connection, scope)
    last: tuple[str, str | None] | None = None
    for start in range(0, len(ids), BATCH):
        for row in turns.load(connection, ids[start : start + BATCH]):
            if row.origin == "asserted":
                # It is shown as its fact.
                continue
            if (row.scope, row.session) != last:
                last = (row.scope, row.session)
                place = one_line(row.session or "no session")
                yield 0, f"\n## {place}{f' ({one_line(row.scope)})' if row.scope else ''}\n\n"
            time = from_ms(row.created_ms if row.event_ms is None else row.event_ms)
            who = one_line(row.speaker or row.kind)
            words = row.text.replace("\n", "\n  > ")
            yield 1, f"- {format_id(0, row.id)} {time:%Y-%m-%d %H:%M} {who}:\n\n  > {words}\n\n"


def _facts(connection: apsw.Connection, scope: str) -> Iterator[tuple[int, str]]:
    by_scope: dict[str, dict[str, list[str]]] = {}
    count = after = 0
    while rows := facts.page(connection, scope=scope, after=after, limit=BATCH):
        after = rows[-1].id
        for fact in facts.to_fact(connection, rows):
            notes = [fact.id, fact.created.isoformat(timespec="seconds")]
            notes += [f"#{tag}" for tag in fact.tags]
            text = " ".join(fact.text.split())
            by_scope.setdefault(fact.scope, {}).setdefault(fact.kind, []).append(
                f"- {text} ({', '.join(notes)})"
            )
            count += 1
    yield count, f"# Memory\n\n{count} facts.\n"
    for name in sorted(by_scope):
        yield 0, f"\n## {name or 'root scope'}\n"
        for kind in sorted(by_scope[name]):
            yield 0, f"\n### {kind}\n\n" + "\n".join(by_scope[name][kind]) + "\n"


def _scenes(connection: apsw.Connection, scope: str) -> Iterator[tuple[int, str]]:
    held = scenes.page(connection, scope, MOST_SCENES)
    yield 0, f"{len(held)} scenes, the latest first.\n"
    for row in held:
        yield 1, "\n" + scene_page(connection, row)


def _personas(connection: apsw.Connection, scope: str) -> Iterator[tuple[int, str]]:
    clause, bindings = subtree_clause(scope, "id")
    paths: list[str] = [
        row[0]
        for row in connection.execute(
            f"SELECT path FROM scopes WHERE {clause} ORDER BY path", bindings
        )
    ]
    for path in paths:
        row = personas.newest(connection, path)
        if row is not None:
            yield 1, persona_page(personas.to_persona(row)) + "\n"
