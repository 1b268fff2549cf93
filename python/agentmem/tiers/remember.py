"""Write L1: facts that a host states, durable and searchable when the call returns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from agentmem._native import digests, fold_text
from agentmem.errors import InvalidInputError, NotFoundError
from agentmem.models import Fact, Trust, format_id, from_ms
from agentmem.protocols import GivenEmbeddings
from agentmem.store import embeddings, facts, turns
from agentmem.store.index_rows import fact_index_rows
from agentmem.store.links import insert_sources, insert_tags, source_numbers, tags_of
from agentmem.store.redactions import add_counts
from agentmem.store.scopes import contains, obtain
from agentmem.tiers.fact_input import NewFact, checked
from agentmem.tiers.vectors import embed_texts, given_vectors

if TYPE_CHECKING:
    from agentmem.opened import Opened, Progress
    from agentmem.store.database import Database, Transaction

__all__ = ["remember", "scope_digests", "write_facts"]

CHUNK = 2_000
EMBED_CHUNK = 64


def scope_digests(scope: str, texts: Sequence[str]) -> list[int]:
    """Return, for each text, a signed 64-bit digest of the scope and the folded text."""
    salt = int.from_bytes(digests([scope])[0][:8], "big")
    half = 1 << 63
    return [(int.from_bytes(d[:8], "big") ^ salt) - half for d in digests(list(texts))]


class NewRow(NamedTuple):
    """What the store gave a new fact."""

    number: int
    trust: int
    sources: tuple[str, ...]


class NeedsVectorsError(Exception):
    """A text that looked like a duplicate is none any more; it must be embedded first."""


class _Chunk:
    """One atomic write of facts into one scope; run again, it starts from nothing."""

    def __init__(
        self,
        transaction: Transaction,
        scope: str,
        made_ms: int,
        trust: Trust,
        width: int,
    ) -> None:
        self.width = width
        self.transaction = transaction
        self.connection = transaction.connection
        self.scope = scope
        self.scope_id = obtain(self.connection, scope)
        self.made_ms = made_ms
        self.made = from_ms(made_ms)
        self.trust = trust
        self.next_fact = facts.next_id(self.connection, "facts")
        self.next_turn = facts.next_id(self.connection, "turns")
        self.rows: dict[int, tuple[Any, ...]] = {}
        self.turn_rows: list[tuple[Any, ...]] = []
        self.tag_rows: list[tuple[int, int, str]] = []
        self.source_rows: list[tuple[int, int, int, int]] = []
        self.vector_rows: list[tuple[int, bytes]] = []
        self.index_rows: dict[int, tuple[Any, ...]] = {}

    def flush(self) -> None:
        """Write what was gathered, so that a statement can see it."""
        connection = self.connection
        if self.turn_rows:
            turns.insert_many(connection, self.turn_rows)
        if self.rows:
            facts.insert_many(connection, self.rows.values())
        if self.tag_rows:
            insert_tags(connection, self.tag_rows)
        if self.source_rows:
            insert_sources(connection, self.source_rows)
        if self.vector_rows:
            embeddings.insert_many(connection, self.vector_rows)
        if self.index_rows:
            self.transaction.change_many("upsert", 1, self.index_rows)
        for gathered in (self.rows, self.index_rows):
            gathered.clear()
        for several in (self.turn_rows, self.tag_rows, self.source_rows, self.vector_rows):
            several.clear()

    def add(self, item: NewFact, digest: int, vectors: bytes | None) -> NewRow:
        """Gather one new fact."""
        number, self.next_fact = self.next_fact, self.next_fact + 1
        sources = item.sources
        trust = int(self.trust)
        if sources:
            trust = min(trust, self.check_sources(sources))
        else:
            turn, self.next_turn = self.next_turn, self.next_turn + 1
            self.turn_rows.append(
                (turn, self.scope_id, item.session, turn, "asserted", item.kind, None, trust,
                 self.made_ms, item.valid_from_ms, item.text)
            )  # fmt: skip
            sources = ((0, turn),)
        self.rows[number] = (
            number, self.scope_id, digest, item.kind, item.key, item.session, item.subject,
            item.attribute, item.value, item.priority, trust, self.made_ms, item.valid_from_ms,
            item.valid_to_ms, item.metadata, item.text,
        )  # fmt: skip
        for tag in item.tags:
            self.tag_rows.append((1, number, tag))
        for tier, source in sources:
            self.source_rows.append((1, number, tier, source))
        key = 1 << 56 | number
        if vectors is None:
            raise NeedsVectorsError
        if vectors:
            width = self.width
            for chunk in range(len(vectors) // width):
                self.vector_rows.append(
                    (key * 8 + chunk, vectors[chunk * width : (chunk + 1) * width])
                )
        names = tuple([format_id(tier, source) for tier, source in sources])
        self.index_rows[number] = (
            key, 1, item.kind, self.scope, item.session, number, item.text, self.made_ms,
            item.valid_from_ms, item.valid_from_ms, item.valid_to_ms, True, item.priority, trust,
            item.subject, item.tags, item.metadata,
            names, vectors or None,
        )  # fmt: skip
        return NewRow(number, trust, names)

    def check_sources(self, sources: Sequence[tuple[int, int]]) -> int:
        """Return the lowest trust among the sources; each must exist in this scope's reach."""
        self.flush()
        lowest = int(Trust.USER)
        for tier, number in sources:
            table = "turns" if tier == 0 else "facts"
            row = self.connection.execute(
                f"SELECT trust, scopes.path FROM {table} JOIN scopes ON scopes.id = scope_id "
                f"WHERE {table}.id = ?",
                (number,),
            ).fetchone()
            if row is None or not contains(self.scope, row[1]):
                raise NotFoundError(
                    f"sources: there is no {format_id(tier, number)} in scope {self.scope!r}"
                )
            lowest = min(lowest, row[0])
        return lowest

    def retire_keys(self, old: Sequence[int]) -> None:
        """Free the keys of facts that are about to be replaced, so that the new one may have one."""
        self.flush()
        self.connection.executemany(
            "UPDATE facts SET superseded_ms = ? WHERE id = ?",
            [(self.made_ms, number) for number in old],
        )

    def replace(self, old: Sequence[int], new: int, item: NewFact) -> None:
        """Mark facts as replaced by a new one; the index learns that they are past."""
        self.flush()
        end = item.valid_from_ms if item.valid_from_ms is not None else self.made_ms
        for number in old:
            facts.supersede(self.connection, number, by=new, at_ms=self.made_ms, valid_to_ms=end)
        ordered = sorted(old)
        for number, row in zip(ordered, fact_index_rows(self.connection, ordered), strict=True):
            self.transaction.change("upsert", 1, number, row)


def _same(row: facts.FactRow, item: NewFact, tags: tuple[str, ...]) -> bool:
    """Whether a write says nothing that the stored fact does not say already."""
    if item.key is None:
        # A field that the caller left at its default claims nothing.
        pairs = (
            (item.kind, row.kind, "fact"), (item.tags, tags, ()), (item.metadata, row.metadata, "{}"),
            (item.subject, row.subject, None), (item.attribute, row.attribute, None),
            (item.value, row.value, None), (item.valid_from_ms, row.valid_from_ms, None),
            (item.valid_to_ms, row.valid_to_ms, None), (item.priority, row.priority, 50),
        )  # fmt: skip
        return all(given in (stored, default) for given, stored, default in pairs)
    return (
        item.text, item.kind, item.tags, item.metadata, item.subject, item.attribute, item.value,
        item.valid_from_ms, item.valid_to_ms, item.priority,
    ) == (
        row.text, row.kind, tags, row.metadata, row.subject, row.attribute, row.value,
        row.valid_from_ms, row.valid_to_ms, row.priority,
    )  # fmt: skip


def write_facts(
    database: Database,
    scope: str,
    items: Sequence[NewFact],
    vectors: Sequence[bytes | None],
    *,
    made_ms: int,
    trust: Trust = Trust.USER,
    width: int,
) -> list[Fact]:
    """Write facts as one atomic operation and return what became of each.

    Args:
        database: The store.
        scope: Where the facts live.
        items: Checked facts, at most :data:`CHUNK`.
        vectors: For each, its float32 vectors one after the other; ``b""`` for a text without
            content; None for one that is expected to be a duplicate.
        made_ms: The time of the write.
        trust: The trust of what the host states itself.
        width: The bytes of one vector.

    Raises:
        NotFoundError: A source or a superseded fact does not exist in this scope.
        NeedsVectorsError: A vector that was thought unnecessary is needed.
    """
    marks = scope_digests(scope, [item.text for item in items])

    def operation(transaction: Transaction) -> list[Fact]:
        chunk = _Chunk(transaction, scope, made_ms, trust, width)
        written = _write(chunk, items, marks, vectors)
        chunk.flush()
        kinds = [kind for item in items for kind in item.redacted]
        if kinds:
            add_counts(transaction.connection, kinds)
        return written

    return database.write(operation)


def _write(
    chunk: _Chunk,
    items: Sequence[NewFact],
    marks: Sequence[int],
    vectors: Sequence[bytes | None],
) -> list[Fact]:
    connection = chunk.connection
    stored = facts.by_digests(connection, marks)
    keyed = facts.keys_present(
        connection, chunk.scope_id, [item.key for item in items if item.key is not None]
    )
    fresh_marks: set[int] = set()
    written: list[Fact] = []
    for item, mark, vector in zip(items, marks, vectors, strict=True):
        old: list[int] = list(item.supersedes)
        if item.key is not None:
            if item.key in keyed:
                chunk.flush()
                row = facts.by_key(connection, chunk.scope_id, item.key)
                if row is not None:
                    if not old and _same(row, item, _tags_of(chunk, row)):
                        written.append(_duplicate(chunk, row, item))
                        continue
                    old.append(row.id)
            keyed.add(item.key)
        elif not old and (mark in stored or mark in fresh_marks):
            chunk.flush()
            row = _equal_text(facts.by_digests(connection, [mark]).get(mark, ()), chunk, item)
            if row is not None:
                if _same(row, item, _tags_of(chunk, row)):
                    written.append(_duplicate(chunk, row, item))
                    continue
                old.append(row.id)
                item = item._replace(key=row.key)  # noqa: PLW2901
        if old:
            old = sorted(set(old))
            _check_superseded(chunk, old)
            chunk.retire_keys(old)
        new = chunk.add(item, mark, vector)
        fresh_marks.add(mark)
        if old:
            chunk.replace(old, new.number, item)
        written.append(_fact(chunk, item, new, old))
    return written


def _tags_of(chunk: _Chunk, row: facts.FactRow) -> tuple[str, ...]:
    return tags_of(chunk.connection, 1, [row.id]).get(row.id, ())


def _equal_text(
    rows: Iterable[facts.FactRow], chunk: _Chunk, item: NewFact
) -> facts.FactRow | None:
    """Return the stored fact of the same scope whose folded text is the same, if there is one."""
    folded = fold_text(item.text)
    return next(
        (row for row in rows if row.scope == chunk.scope and fold_text(row.text) == folded), None
    )


def _duplicate(chunk: _Chunk, row: facts.FactRow, item: NewFact) -> Fact:
    """Return the fact that is there; sources that the caller adds are further evidence for it."""
    if item.sources:
        chunk.check_sources(item.sources)
        known = set(source_numbers(chunk.connection, 1, [row.id]))
        fresh = [(1, row.id, *source) for source in item.sources if (row.id, *source) not in known]
        if any(source == (1, row.id) for source in item.sources):
            raise InvalidInputError("sources: a fact can't rest on itself")
        if fresh:
            insert_sources(chunk.connection, fresh)
            (index_row,) = fact_index_rows(chunk.connection, [row.id])
            chunk.transaction.change("upsert", 1, row.id, index_row)
    (fact,) = facts.to_fact(chunk.connection, [row])
    return replace(fact, status="duplicate", redacted=item.redacted)


def _check_superseded(chunk: _Chunk, old: Sequence[int]) -> None:
    chunk.flush()
    rows = {row.id: row for row in facts.load(chunk.connection, old)}
    for number in old:
        row = rows.get(number)
        if row is None or not contains(chunk.scope, row.scope):
            raise NotFoundError(
                f"supersedes: there is no {format_id(1, number)} in scope {chunk.scope!r}"
            )
        if row.superseded_ms is not None:
            by = "" if row.superseded_by is None else f" by {format_id(1, row.superseded_by)}"
            raise InvalidInputError(
                f"supersedes: {format_id(1, number)} is superseded already{by}; name the current one"
            )


def _fact(chunk: _Chunk, item: NewFact, new: NewRow, old: Sequence[int]) -> Fact:
    return Fact(
        id=format_id(1, new.number),
        text=item.text,
        kind=item.kind,
        scope=chunk.scope,
        key=item.key,
        session=item.session,
        tags=item.tags,
        metadata={} if item.metadata == "{}" else json.loads(item.metadata),
        subject=item.subject,
        attribute=item.attribute,
        value=None if item.value is None else json.loads(item.value),
        priority=item.priority,
        trust=Trust(new.trust),
        created=chunk.made,
        valid_from=None if item.valid_from_ms is None else from_ms(item.valid_from_ms),
        valid_to=None if item.valid_to_ms is None else from_ms(item.valid_to_ms),
        sources=new.sources,
        superseded_by=None,
        is_current=True,
        status="superseded" if old else "new",
        supersedes=tuple(format_id(1, number) for number in old),
        redacted=item.redacted,
    )


def remember(
    opened: Opened,
    scope: str,
    items: Iterable[str | Mapping[str, Any]],
    *,
    progress: Progress | None = None,
) -> list[Fact]:
    """Check every item, then write them in atomic pieces; return what became of each.

    Raises:
        InvalidInputError: An item is wrong; the message names its position, nothing was written.
    """
    opened.check()
    facts_in = checked(items, redact=opened.redact)
    ready = given_vectors(facts_in, opened.embedder.ndim)
    is_given = isinstance(opened.embedder, GivenEmbeddings)
    if is_given and None in ready:
        try:
            embed_texts(opened.embedder, ())
        except InvalidInputError as error:
            raise InvalidInputError(f"facts[{ready.index(None)}]: {error}") from error
    # A model makes its vectors piece by piece, so that what is made is soon on disk.
    size = CHUNK if is_given or None not in ready else EMBED_CHUNK
    written: list[Fact] = []
    for start in range(0, len(facts_in), size):
        piece = slice(start, start + size)
        written += _write_piece(opened, scope, facts_in[piece], ready[piece])
        if progress is not None:
            progress(len(written), len(facts_in))
    return written


def _write_piece(
    opened: Opened, scope: str, items: Sequence[NewFact], vectors: list[bytes | None]
) -> list[Fact]:
    needed = [at for at, vector in enumerate(vectors) if vector is None]
    likely: set[int] = set()
    if needed:
        marks = scope_digests(scope, [items[at].text for at in needed])
        with opened.database.read() as connection:
            known = facts.by_digests(connection, marks)
        # What looks like a duplicate is not embedded; the write says so if it is none.
        likely = {
            at
            for at, mark in zip(needed, marks, strict=True)
            if mark in known and items[at].key is None and not items[at].supersedes
        }
        _embed_into(opened, items, vectors, [at for at in needed if at not in likely])
    made_ms, width = opened.now_ms(), opened.embedder.ndim * 4
    try:
        return write_facts(opened.database, scope, items, vectors, made_ms=made_ms, width=width)
    except NeedsVectorsError:
        _embed_into(opened, items, vectors, sorted(likely))
        return write_facts(opened.database, scope, items, vectors, made_ms=made_ms, width=width)


def _embed_into(
    opened: Opened, items: Sequence[NewFact], vectors: list[bytes | None], places: Sequence[int]
) -> None:
    if places:
        made = embed_texts(opened.embedder, [items[at].text for at in places])
        for at, vector in zip(places, made, strict=True):
            vectors[at] = vector
