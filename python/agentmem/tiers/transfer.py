"""Take a memory out into one file.

The file is JSON lines: a header, then turns, then facts, each in the order of their ids. Vectors
are float32 little endian in base64. It holds every version of every fact; only derived files and
the log of changes are left out.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentmem.errors import InvalidInputError
from agentmem.store import embeddings, facts, turns
from agentmem.store.links import source_numbers, tags_of
from agentmem.store.scopes import subtree_clause
from agentmem.tiers.import_input import FORMAT, open_text

if TYPE_CHECKING:
    from agentmem.opened import Opened
    from agentmem.store.database import Database

__all__ = ["export", "export_jsonl", "make_private"]

BATCH = 500


def make_private(path: Path) -> None:
    """Make an empty file for its owner alone, as the store's files are."""
    path.unlink(missing_ok=True)
    path.touch(mode=0o600)


def _lines(database: Database, scope: str, header: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield header
    with database.read() as connection:
        clause, bindings = subtree_clause(scope)
        numbers: list[tuple[int]] = list(
            connection.execute(f"SELECT id FROM turns WHERE {clause} ORDER BY id", bindings)
        )
        for (first,) in numbers:
            for turn in turns.load(connection, [first]):
                yield {"turn": turn._asdict()}
        after = 0
        while rows := facts.page(connection, scope=scope, after=after, limit=BATCH, current=False):
            after = rows[-1].id
            ids = [row.id for row in rows]
            tags = tags_of(connection, 1, ids)
            vectors = embeddings.vectors_of(
                connection, [embeddings.key_of(1, number) for number in ids]
            )
            links: dict[int, list[list[int]]] = {}
            for number, tier, source in source_numbers(connection, 1, ids):
                links.setdefault(number, []).append([tier, source])
            for row in rows:
                vector = vectors.get(embeddings.key_of(1, row.id), b"")
                yield {
                    "fact": row._asdict(),
                    "tags": tags.get(row.id, ()),
                    "sources": links.get(row.id, []),
                    "vectors": base64.b64encode(vector).decode(),
                }


def export_jsonl(
    database: Database, scope: str, path: Path, *, embedder_id: str | None, ndim: int | None
) -> int:
    """Write everything of a scope and below; return the number of rows.

    The file appears whole or not at all. A name that ends in ``.gz`` is compressed.
    """
    header = {
        "agentmem": FORMAT,
        "epoch": database.epoch,
        "embedder": embedder_id,
        "ndim": ndim,
        "scope": scope,
    }
    count = -1
    partial = path.with_name(path.name + ".partial" + path.suffix)
    try:
        make_private(partial)
        with open_text(partial, "w") as file:
            for line in _lines(database, scope, header):
                file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")
                count += 1
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return count


def export(opened: Opened, scope: str, path: Path, *, format_: str) -> int:
    """Write a scope and what is below it into one file; return the number of rows.

    Raises:
        InvalidInputError: An unknown format, or a target inside the memory's own folder.
    """
    home = opened.path.resolve()
    # A target may be a link into the folder, or its folder may be one.
    for target in (path.resolve(), path.parent.resolve() / path.name):
        if target.is_relative_to(home):
            raise InvalidInputError(
                f"path: {path} lies inside the memory's own folder {opened.path}; "
                "export to another folder"
            )
    if format_ == "markdown":
        from agentmem.tiers.pages import export_markdown

        return export_markdown(opened.database, scope, path)
    if format_ != "jsonl":
        raise InvalidInputError(f"format: 'jsonl' or 'markdown', not {format_!r}")
    embedder = opened.embedder
    return export_jsonl(opened.database, scope, path, embedder_id=embedder.id, ndim=embedder.ndim)
