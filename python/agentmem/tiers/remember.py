"""Write L1: facts that a host states, durable and searchable when the call returns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agentmem._native import digests, fold_text
from agentmem.arguments import check_function
from agentmem.errors import EmbedderMismatchError, InvalidInputError, NotFoundError
from agentmem.models import Fact, Trust, format_id
from agentmem.protocols import Embedder, GivenEmbeddings
from agentmem.store import facts
from agentmem.store.index_rows import fact_index_rows
from agentmem.store.links import insert_sources, rests_on, source_numbers, tags_of
from agentmem.store.redactions import add_counts
from agentmem.store.scopes import contains
from agentmem.tiers.fact_input import PLAIN, NewFact, checked
from agentmem.tiers.fact_rows import FactRows, NeedsVectorsError, Space, is_same_matter
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


# The fields in which a version may differ, as (in NewFact, in FactRow).
SAID = (
    ("kind", "kind"), ("metadata", "metadata"), ("subject", "subject"),
    ("attribute", "attribute"), ("value", "value"), ("valid_from_ms", "valid_from_ms"),
    ("valid_to_ms", "valid_to_ms"), ("priority", "priority"), ("session", "session"),
)  # fmt: skip


def _same(row: facts.FactRow, item: NewFact, tags: tuple[str, ...]) -> bool:
    """Whether a write says nothing that the stored fact does not say already.

    With a key the whole fact is stated; without one a field left at its default claims nothing.
    """
    if item.key is not None:
        return (item.text, item.tags) == (row.text, tags) and all(
            getattr(item, field) == getattr(row, column) for field, column in SAID
        )
    return item.tags in (tags, ()) and all(
        getattr(item, field) in (getattr(row, column), getattr(PLAIN, field))
        for field, column in SAID
    )


def _completed(row: facts.FactRow, item: NewFact, tags: tuple[str, ...]) -> NewFact:
    """Return a keyless version of a fact with what the call leaves unsaid taken from the fact."""
    unsaid = {
        field: getattr(row, column)
        for field, column in SAID
        if getattr(item, field) == getattr(PLAIN, field)
    }
    return item._replace(key=row.key, tags=item.tags or tags, **unsaid)


def write_facts(
    database: Database,
    scope: str,
    items: Sequence[NewFact],
    vectors: Sequence[bytes | None],
    *,
    made_ms: int,
    trust: Trust = Trust.USER,
    space: Space,
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
        space: The id and the length of the vectors' embedder.

    Raises:
        NotFoundError: A source or a superseded fact does not exist in this scope.
        EmbedderMismatchError: The store was moved to another embedder meanwhile.
        NeedsVectorsError: A vector that was thought unnecessary is needed.
    """
    marks = scope_digests(scope, [item.text for item in items])

    def operation(transaction: Transaction) -> list[Fact]:
        rows = FactRows(transaction, scope, made_ms, trust, space)
        written = _write(rows, items, marks, vectors)
        rows.flush()
        kinds = [kind for item in items if item.redacted for kind in item.redacted]
        if kinds:
            add_counts(transaction.connection, kinds)
        return written

    return database.write(operation)


def _write(
    rows: FactRows,
    items: Sequence[NewFact],
    marks: Sequence[int],
    vectors: Sequence[bytes | None],
) -> list[Fact]:
    connection = rows.connection
    stored = facts.by_digests(connection, marks)
    keyed = facts.keys_present(
        connection, rows.scope_id, [item.key for item in items if item.key is not None]
    )
    fresh_marks: set[int] = set()
    written: list[Fact] = []
    for item, mark, vector in zip(items, marks, vectors, strict=True):
        old: list[int] = list(item.supersedes)
        known: facts.FactRow | None = None
        if item.key is not None:
            if item.key in keyed:
                rows.flush()
                known = facts.by_key(connection, rows.scope_id, item.key)
            keyed.add(item.key)
        elif not old and (mark in stored or mark in fresh_marks):
            rows.flush()
            same = facts.by_digests(connection, [mark]).get(mark, ())
            known = _stated_before(same, rows.scope, item)
        if known is not None:
            tags = tags_of(connection, 1, [known.id]).get(known.id, ())
            # What has expired is not the case any more: to state it again is new.
            has_expired = known.valid_to_ms is not None and known.valid_to_ms <= rows.made_ms
            if not old and not has_expired and _same(known, item, tags):
                written.append(_duplicate(rows, known, item))
                continue
            old.append(known.id)
            if item.key is None and not has_expired:
                item = _completed(known, item, tags)  # noqa: PLW2901
        if old:
            old = sorted(set(old))
            _check_superseded(rows, old)
            rows.retire_keys(old)
        fact = rows.add(item, mark, vector, old)
        fresh_marks.add(mark)
        if old:
            rows.replace(old, int(fact.id[3:]), item)
        written.append(fact)
    return written


def _stated_before(
    found: Iterable[facts.FactRow], scope: str, item: NewFact
) -> facts.FactRow | None:
    """Return the stored fact of the same scope that a keyless write states again, if there is one.

    Of several it is the one that agrees in most, so that a replay meets what it wrote.
    """
    folded = fold_text(item.text)
    same = [
        row
        for row in found
        if row.scope == scope and fold_text(row.text) == folded and is_same_matter(row, item)
    ]
    return min(
        same,
        key=lambda row: (
            row.subject != item.subject, row.valid_from_ms != item.valid_from_ms, row.id
        ),
        default=None,
    )  # fmt: skip


def _duplicate(rows: FactRows, row: facts.FactRow, item: NewFact) -> Fact:
    """Return the fact that is there; sources that the caller adds are further evidence for it."""
    if item.sources:
        rows.check_sources(item.sources)
        if rests_on(rows.connection, item.sources, row.id):
            raise InvalidInputError("sources: a fact can't rest on itself, nor on what rests on it")
        known = set(source_numbers(rows.connection, 1, [row.id]))
        fresh = [(1, row.id, *source) for source in item.sources if (row.id, *source) not in known]
        if fresh:
            insert_sources(rows.connection, fresh)
            (index_row,) = fact_index_rows(rows.connection, [row.id])
            rows.transaction.change("upsert", 1, row.id, index_row)
    (fact,) = facts.to_fact(rows.connection, [row])
    return replace(fact, status="duplicate", redacted=item.redacted)


def _check_superseded(rows: FactRows, old: Sequence[int]) -> None:
    rows.flush()
    found = {row.id: row for row in facts.load(rows.connection, old)}
    for number in old:
        row = found.get(number)
        if row is None or not contains(rows.scope, row.scope):
            raise NotFoundError(
                f"supersedes: there is no {format_id(1, number)} in scope {rows.scope!r}"
            )
        if row.superseded_ms is not None:
            by = "" if row.superseded_by is None else f" by {format_id(1, row.superseded_by)}"
            raise InvalidInputError(
                f"supersedes: {format_id(1, number)} is superseded already{by}; "
                "name the current one"
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
    check_function(progress, "progress")
    facts_in = checked(items, is_redacting=opened.redact)
    embedder = opened.embedder
    ready = given_vectors(facts_in, embedder.ndim)
    is_given = isinstance(embedder, GivenEmbeddings)
    if is_given and None in ready:
        try:
            embed_texts(embedder, ())
        except InvalidInputError as error:
            raise InvalidInputError(f"facts[{ready.index(None)}]: {error}") from error
    # A model makes its vectors piece by piece, so that what is made is soon on disk.
    size = CHUNK if is_given or None not in ready else EMBED_CHUNK
    written: list[Fact] = []
    for start in range(0, len(facts_in), size):
        piece = slice(start, start + size)
        given = ready[piece]
        try:
            written += _write_piece(opened, embedder, scope, facts_in[piece], list(given))
        except EmbedderMismatchError:
            with opened.move_lock:
                moved_to = opened.embedder
            # A vector of the host's own stays in the space it was made for.
            if moved_to is embedder or any(vector is not None for vector in given):
                raise
            embedder = moved_to
            written += _write_piece(opened, embedder, scope, facts_in[piece], list(given))
        if progress is not None:
            progress(len(written), len(facts_in))
    return written


def _write_piece(
    opened: Opened,
    embedder: Embedder | GivenEmbeddings,
    scope: str,
    items: Sequence[NewFact],
    vectors: list[bytes | None],
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
        _embed_into(embedder, items, vectors, [at for at in needed if at not in likely])
    made_ms, space = opened.now_ms(), (embedder.id, embedder.ndim)
    try:
        return write_facts(opened.database, scope, items, vectors, made_ms=made_ms, space=space)
    except NeedsVectorsError:
        _embed_into(embedder, items, vectors, sorted(likely))
        return write_facts(opened.database, scope, items, vectors, made_ms=made_ms, space=space)


def _embed_into(
    embedder: Embedder | GivenEmbeddings,
    items: Sequence[NewFact],
    vectors: list[bytes | None],
    places: Sequence[int],
) -> None:
    if places:
        made = embed_texts(embedder, [items[at].text for at in places])
        for at, vector in zip(places, made, strict=True):
            vectors[at] = vector
