"""Take a memory out into one file, and take such a file in.

The file is JSON lines: a header, then turns, then facts, each in the order of their ids. Vectors
are float32 little endian in base64. It holds every version of every fact; only derived files and
the log of changes are left out.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from agentmem.errors import InvalidInputError
from agentmem.models import Imported, Trust
from agentmem.store import embeddings, facts, turns
from agentmem.store.index_rows import fact_index_rows
from agentmem.store.links import insert_sources, insert_tags, source_numbers, tags_of
from agentmem.store.scopes import check_scope, join_scope, obtain, subtree_clause
from agentmem.tiers.remember import scope_digests
from agentmem.tiers.vectors import embed_texts

if TYPE_CHECKING:
    from agentmem.opened import Opened
    from agentmem.store.database import Database, Transaction

__all__ = ["export", "export_jsonl", "export_markdown", "import_", "import_jsonl"]

FORMAT = 1
BATCH = 500
Progress = Callable[[int, int], None]


def _open(path: Path, mode: str) -> IO[str]:
    if path.suffix == ".gz":
        return cast(
            "IO[str]", gzip.open(path, mode + "t", encoding="utf-8", errors="surrogatepass")
        )
    return path.open(mode, encoding="utf-8", errors="surrogatepass")


def _make_private(path: Path) -> None:
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
        _make_private(partial)
        with _open(partial, "w") as file:
            for line in _lines(database, scope, header):
                file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")
                count += 1
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return count


def export_markdown(database: Database, scope: str, path: Path) -> int:
    """Write the current facts of a scope and below as one page for people; return their number."""
    by_scope: dict[str, dict[str, list[str]]] = {}
    count = 0
    with database.read() as connection:
        after = 0
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
    parts = [f"# Memory\n\n{count} facts.\n"]
    for name in sorted(by_scope):
        parts.append(f"\n## {name or 'root scope'}\n")
        parts += [
            f"\n### {kind}\n\n" + "\n".join(by_scope[name][kind]) + "\n"
            for kind in sorted(by_scope[name])
        ]
    partial = path.with_name(path.name + ".partial")
    try:
        _make_private(partial)
        partial.write_text("".join(parts), encoding="utf-8")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return count


def _read(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]], list[dict[str, Any]]]:
    """Return header, turns and facts of a whole file, or raise before anything is written."""
    header: dict[str, Any] | None = None
    parts: dict[str, list[dict[str, Any]]] = {"turn": [], "fact": []}
    fields = {"turn": set(turns.TurnRow._fields), "fact": set(facts.FactRow._fields)}
    try:
        with _open(path, "r") as file:
            for number, line in enumerate(file, 1):
                where = f"{path}: line {number}"
                try:
                    value = json.loads(line)
                except ValueError as error:
                    raise InvalidInputError(f"{where}: it is not JSON: {error}") from error
                if header is None:
                    if not isinstance(value, dict) or value.get("agentmem") != FORMAT:
                        raise InvalidInputError(
                            f"{where}: this is no export of agentmem, format {FORMAT}"
                        )
                    header = value
                    continue
                kind = next((name for name in parts if name in value), None)
                if kind is None or set(value[kind]) != fields[kind]:
                    raise InvalidInputError(
                        f"{where}: neither a turn nor a fact as export writes it"
                    )
                check_scope(value[kind]["scope"])
                parts[kind].append(value)
    except (OSError, EOFError, UnicodeDecodeError, AttributeError, TypeError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise InvalidInputError(f"{path}: it can't be read as an export: {error}") from error
    if header is None:
        raise InvalidInputError(f"{path}: it is empty")
    return header, parts["turn"], parts["fact"]


class _Import:
    """One file on its way in; ids of the file map to ids here, also from an earlier run."""

    def __init__(self, database: Database, scope: str, header: dict[str, Any]) -> None:
        self.database = database
        self.scope = scope
        self.epoch = str(header["epoch"])
        self.new = 0
        self.existing = 0

    def known(self, transaction: Transaction, tier: int, number: int) -> int | None:
        row = transaction.connection.execute(
            "SELECT row_id FROM imports WHERE epoch = ? AND tier = ? AND source_id = ?",
            (self.epoch, tier, number),
        ).fetchone()
        return None if row is None else int(row[0])

    def _learn(self, transaction: Transaction, tier: int, number: int, here: int) -> None:
        transaction.connection.execute(
            "INSERT OR REPLACE INTO imports VALUES (?,?,?,?)", (self.epoch, tier, number, here)
        )

    def turn_batch(self, batch: list[dict[str, Any]]) -> tuple[int, int]:
        def operation(transaction: Transaction) -> tuple[int, int]:
            connection = transaction.connection
            new = 0
            for line in batch:
                row = turns.TurnRow(**line["turn"])
                if self._present(transaction, 0, row.id):
                    continue
                here = facts.next_id(connection, "turns")
                scope_id = obtain(connection, join_scope(self.scope, row.scope))
                trust = min(row.trust, Trust.IMPORTED)
                turns.insert_any(
                    connection,
                    (here, scope_id, row.session, row.position, "imported", row.kind, row.speaker,
                      trust, row.created_ms, row.event_ms, row.text),
                )  # fmt: skip
                self._learn(transaction, 0, row.id, here)
                new += 1
            return new, len(batch) - new

        return self.database.write(operation)

    def _present(self, transaction: Transaction, tier: int, number: int) -> bool:
        here = self.known(transaction, tier, number)
        table = "turns" if tier == 0 else "facts"
        return (
            here is not None
            and transaction.connection.execute(
                f"SELECT 1 FROM {table} WHERE id = ?", (here,)
            ).fetchone()
            is not None
        )

    def fact_batch(self, batch: list[tuple[dict[str, Any], bytes]], width: int) -> tuple[int, int]:
        def operation(transaction: Transaction) -> tuple[int, int]:
            added = [
                here
                for line, vector in batch
                if (here := self._fact(transaction, line, vector, width)) is not None
            ]
            rows = fact_index_rows(transaction.connection, added)
            if rows:
                transaction.change_many("upsert", 1, dict(zip(added, rows, strict=True)))
            return len(added), len(batch) - len(added)

        return self.database.write(operation)

    def _fact(
        self, transaction: Transaction, line: dict[str, Any], vector: bytes, width: int
    ) -> int | None:
        connection = transaction.connection
        row = facts.FactRow(**line["fact"])
        if self._present(transaction, 1, row.id):
            return None
        scope = join_scope(self.scope, row.scope)
        scope_id = obtain(connection, scope)
        (mark,) = scope_digests(scope, [row.text])
        if row.superseded_ms is None:
            twin = (
                facts.by_key(connection, scope_id, row.key)
                if row.key is not None
                else next(
                    (found for found in facts.by_digests(connection, [mark]).get(mark, [])
                     if found.scope == scope and found.text == row.text),
                    None,
                )
            )  # fmt: skip
            if twin is not None:
                self._learn(transaction, 1, row.id, twin.id)
                return None
        here = facts.next_id(connection, "facts")
        facts.insert_many(
            connection,
            [(here, scope_id, mark, row.kind, None if row.superseded_ms else row.key, row.session,
              row.subject, row.attribute, row.value, row.priority, min(row.trust, Trust.IMPORTED),
              row.created_ms, row.valid_from_ms, row.valid_to_ms, row.metadata, row.text)],
        )  # fmt: skip
        connection.execute(
            "UPDATE facts SET superseded_ms = ?, key = ? WHERE id = ?",
            (row.superseded_ms, row.key, here),
        )
        insert_tags(connection, [(1, here, tag) for tag in line["tags"]])
        links = [
            (1, here, tier, source)
            for tier, number in line["sources"]
            if (source := self.known(transaction, tier, number)) is not None
        ]
        insert_sources(connection, links)
        key = embeddings.key_of(1, here)
        embeddings.insert_many(
            connection,
            [(key * 8 + chunk, vector[chunk * width : (chunk + 1) * width])
             for chunk in range(len(vector) // width)],
        )  # fmt: skip
        self._learn(transaction, 1, row.id, here)
        return here

    def link_versions(self, lines: list[dict[str, Any]]) -> None:
        """Tie each imported version to its successor, once both are here."""

        def operation(transaction: Transaction) -> None:
            for line in lines:
                row = facts.FactRow(**line["fact"])
                if row.superseded_by is None:
                    continue
                here = self.known(transaction, 1, row.id)
                successor = self.known(transaction, 1, row.superseded_by)
                transaction.connection.execute(
                    "UPDATE facts SET superseded_by = ? WHERE id = ? AND superseded_by IS NULL",
                    (successor, here),
                )

        self.database.write(operation)


def import_jsonl(
    database: Database,
    scope: str,
    path: Path,
    *,
    embedder_id: str,
    ndim: int,
    embed: Callable[[list[str]], list[bytes]],
    progress: Progress | None = None,
) -> Imported:
    """Take in a file of ``export``; a second run of the same file adds nothing.

    The whole file is checked before the first row is written. Imported rows have at most the trust
    ``IMPORTED``. Vectors of another embedder are made anew.

    Raises:
        InvalidInputError: The file is no export; the message names the line.
    """
    header, turn_lines, fact_lines = _read(path)
    job = _Import(database, scope, header)
    same_space = header.get("embedder") == embedder_id and header.get("ndim") == ndim
    total = len(turn_lines) + len(fact_lines)
    done = new = existing = 0
    for start in range(0, len(turn_lines), BATCH):
        added, there = job.turn_batch(turn_lines[start : start + BATCH])
        new, existing, done = new + added, existing + there, done + added + there
        if progress is not None:
            progress(done, total)
    for start in range(0, len(fact_lines), BATCH):
        lines = fact_lines[start : start + BATCH]
        if same_space:
            vectors = [base64.b64decode(line["vectors"]) for line in lines]
        else:
            vectors = embed([line["fact"]["text"] for line in lines])
        added, there = job.fact_batch(list(zip(lines, vectors, strict=True)), ndim * 4)
        new, existing, done = new + added, existing + there, done + added + there
        if progress is not None:
            progress(done, total)
    job.link_versions(fact_lines)
    return Imported(new, existing)


def export(opened: Opened, scope: str, path: Path, *, format_: str) -> int:
    """Write a scope and what is below it into one file; return the number of rows.

    Raises:
        InvalidInputError: An unknown format.
    """
    if format_ == "markdown":
        return export_markdown(opened.database, scope, path)
    if format_ != "jsonl":
        raise InvalidInputError(f"format: 'jsonl' or 'markdown', not {format_!r}")
    embedder = opened.embedder
    return export_jsonl(opened.database, scope, path, embedder_id=embedder.id, ndim=embedder.ndim)


def import_(
    opened: Opened, scope: str, path: Path, *, progress: Progress | None = None
) -> Imported:
    """Take in a file of ``export`` below a scope.

    Raises:
        InvalidInputError: The file is no export; nothing was written.
    """
    embedder = opened.embedder
    return import_jsonl(
        opened.database,
        scope,
        path,
        embedder_id=embedder.id,
        ndim=embedder.ndim,
        embed=lambda texts: embed_texts(embedder, texts),
        progress=progress,
    )
