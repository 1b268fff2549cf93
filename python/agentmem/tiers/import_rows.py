"""Write what a checked export holds, each row once, beside the rows that are here already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from agentmem._native import fold_text
from agentmem.models import Imported, Trust
from agentmem.protocols import GivenEmbeddings
from agentmem.store import embeddings, facts, jobs, turns
from agentmem.store.index_rows import fact_index_rows, turn_index_rows
from agentmem.store.links import insert_sources, insert_tags, source_numbers, tags_of
from agentmem.store.redactions import add_counts
from agentmem.store.scopes import join_scope, obtain
from agentmem.tiers.fact_rows import is_same_matter, require_space
from agentmem.tiers.import_input import ExportFile, FactLine, TurnLine, read_export
from agentmem.tiers.import_redaction import redacted_facts, redacted_turns
from agentmem.tiers.remember import scope_digests
from agentmem.tiers.vectors import embed_texts

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem.opened import Opened, Progress
    from agentmem.store.database import Transaction

__all__ = ["import_"]

BATCH = 500
EMBED_CHUNK = 64
Key = tuple[int, int]  # tier and id in the file


def import_(
    opened: Opened, scope: str, path: Path, *, progress: Progress | None = None
) -> Imported:
    """Take in a file of ``export`` below a scope; a second run of the same file adds nothing.

    The whole file is checked, and vectors that are missing or of another embedder are made, before
    the first row is written. Imported rows have at most the trust ``IMPORTED``.

    Raises:
        InvalidInputError: The file is no export, or it needs vectors that only the host can make;
            nothing was written.
        EmbeddingError: The embedder failed; nothing was written.
    """
    opened.check()
    content = read_export(path, scope)
    if opened.redact:
        content = content._replace(
            turns=redacted_turns(content.turns), facts=redacted_facts(content.facts)
        )
    return _Import(opened, scope, content, progress).run()


class _Batch(NamedTuple):
    """What one write did; a write may run twice, so it changes nothing but the store."""

    new: int
    ids: dict[Key, int]


class _Import:
    """One file on its way in; ``here`` maps ids of the file to rows, also of an earlier run."""

    def __init__(
        self, opened: Opened, scope: str, content: ExportFile, progress: Progress | None
    ) -> None:
        self.opened = opened
        self.database = opened.database
        # The file's vectors and the ones made here are of this space, also if the store is moved.
        self.embedder = opened.embedder
        self.scope = scope
        self.content = content
        self.progress = progress
        self.done = self.total = 0
        # The same file may be taken in below several scopes.
        self.origin = f"{content.epoch}/{scope}" if scope else content.epoch
        with self.database.read() as connection:
            self.here: dict[Key, int] = {
                (tier, number): row
                for tier, number, row in connection.execute(
                    "SELECT tier, source_id, row_id FROM imports WHERE epoch = ?", (self.origin,)
                )
            }
        # A row that this file brought in is no reason to take another of its rows for a double.
        self.images = {row for (tier, _), row in self.here.items() if tier == 1}

    def run(self) -> Imported:
        """Write everything."""
        turn_lines, fact_lines = self.content.turns, self.content.facts
        self._drop_lost()
        missing = self._missing_vectors()
        self.total = len(missing) + len(turn_lines) + len(fact_lines)
        made: dict[int, bytes] = {}
        for start in range(0, len(missing), EMBED_CHUNK):
            piece = missing[start : start + EMBED_CHUNK]
            vectors = embed_texts(self.embedder, [one.row.text for one in piece])
            made.update((one.row.id, vector) for one, vector in zip(piece, vectors, strict=True))
            self._advance(len(piece))
        now_ms = self.opened.now_ms()
        bare = self._without_evidence()
        new = 0
        for start in range(0, len(turn_lines), BATCH):
            new += self._write_turns(turn_lines[start : start + BATCH])
        for start in range(0, len(fact_lines), BATCH):
            new += self._write_facts(fact_lines[start : start + BATCH], made, bare, now_ms)
        for start in range(0, len(fact_lines), BATCH):
            self._link(fact_lines[start : start + BATCH])
        return Imported(new, len(turn_lines) + len(fact_lines) - new)

    def _advance(self, count: int) -> None:
        self.done += count
        if self.progress is not None:
            self.progress(self.done, self.total)

    def _drop_lost(self) -> None:
        """Keep in ``here`` what still exists; rows of the store's own export are themselves."""
        is_own = self.content.epoch == self.database.epoch
        for tier, lines in ((0, self.content.turns), (1, self.content.facts)):
            load = turns.load if tier == 0 else facts.load
            for start in range(0, len(lines), BATCH):
                piece: Sequence[TurnLine | FactLine] = lines[start : start + BATCH]
                wanted = {one.row.id: self.here.get((tier, one.row.id)) for one in piece}
                asked = [row if row is not None else number for number, row in wanted.items()]
                with self.database.read() as connection:
                    found: dict[int, turns.TurnRow | facts.FactRow] = {
                        row.id: row for row in load(connection, asked)
                    }
                for one in piece:
                    key, row = (tier, one.row.id), wanted[one.row.id]
                    if row is not None:
                        if row not in found:
                            del self.here[key]
                    elif is_own and self._is_itself(one, found.get(one.row.id)):
                        self.here[key] = one.row.id

    def _is_itself(
        self, one: TurnLine | FactLine, stored: turns.TurnRow | facts.FactRow | None
    ) -> bool:
        return (
            stored is not None
            and stored.scope == join_scope(self.scope, one.row.scope)
            and (stored.created_ms, stored.kind) == (one.row.created_ms, one.row.kind)
            and stored.text in (one.original, one.row.text)
        )

    def _missing_vectors(self) -> list[FactLine]:
        """Return the new facts whose vectors the file does not have in this store's space."""
        embedder = self.embedder
        is_given = isinstance(embedder, GivenEmbeddings)
        is_same = (self.content.embedder, self.content.ndim) == (embedder.id, embedder.ndim)
        return [
            one
            for one in self.content.facts
            if (1, one.row.id) not in self.here
            and not (
                is_same and one.vectors and (is_given or one.original == one.row.text)
            )
        ]  # fmt: skip

    def _without_evidence(self) -> set[int]:
        """Return the facts from which no way leads down to a turn of the file."""
        above: dict[Key, list[int]] = {}
        for one in self.content.facts:
            for source in one.sources:
                above.setdefault(source, []).append(one.row.id)
        rest = {one.row.id for one in self.content.facts}
        level: list[Key] = [(0, one.row.id) for one in self.content.turns]
        while level:
            reached = {up for key in level for up in above.get(key, ())} & rest
            rest -= reached
            level = [(1, number) for number in reached]
        return rest

    def _note(self, transaction: Transaction, ids: dict[Key, int]) -> None:
        transaction.connection.executemany(
            "INSERT OR REPLACE INTO imports VALUES (?,?,?,?)",
            [(self.origin, tier, number, row) for (tier, number), row in ids.items()],
        )

    def _take(self, batch: _Batch, lines: int) -> int:
        self.here.update(batch.ids)
        self.images.update(row for (tier, _), row in batch.ids.items() if tier == 1)
        self._advance(lines)
        return batch.new

    def _write_turns(self, lines: Sequence[TurnLine]) -> int:
        def operation(transaction: Transaction) -> _Batch:
            connection = transaction.connection
            ids: dict[Key, int] = {}
            kinds: list[str] = []
            fresh: list[int] = []
            for one in lines:
                if (0, one.row.id) in self.here:
                    continue
                row = one.row
                number = facts.next_id(connection, "turns")
                turns.insert_any(
                    connection,
                    (number, obtain(connection, join_scope(self.scope, row.scope)), row.session,
                     row.position, "imported", row.kind, row.speaker,
                     min(row.trust, Trust.IMPORTED), row.created_ms, row.event_ms, row.text),
                )  # fmt: skip
                ids[0, row.id] = number
                fresh.append(number)
                kinds += one.redacted
            self._note(transaction, ids)
            add_counts(connection, kinds)
            rows = turn_index_rows(connection, fresh)
            transaction.change_many("upsert", 0, dict(zip(fresh, rows, strict=True)))
            return _Batch(len(ids), ids)

        return self._take(self.database.write(operation), len(lines))

    def _write_facts(
        self, lines: Sequence[FactLine], made: dict[int, bytes], bare: set[int], now_ms: int
    ) -> int:
        def operation(transaction: Transaction) -> _Batch:
            connection = transaction.connection
            require_space(connection, (self.embedder.id, self.embedder.ndim))
            ids: dict[Key, int] = {}
            changed: list[int] = []
            images = set(self.images)
            new = 0
            kinds: list[str] = []
            for one in lines:
                known = self.here.get((1, one.row.id))
                if known is not None:
                    if self._age(transaction, one, known):
                        changed.append(known)
                    continue
                twin, is_equal = self._twin(transaction, one, images)
                if twin is not None and is_equal:
                    ids[1, one.row.id] = twin.id
                    images.add(twin.id)
                    continue
                vectors = made.get(one.row.id, one.vectors)
                number = self._insert(transaction, one, vectors, twin, now_ms)
                if one.row.id in bare:
                    self._assert(transaction, one, number)
                ids[1, one.row.id] = number
                images.add(number)
                changed.append(number)
                kinds += one.redacted
                new += 1
            self._note(transaction, ids)
            add_counts(connection, kinds)
            _reindex(transaction, changed)
            return _Batch(new, ids)

        return self._take(self.database.write(operation), len(lines))

    def _age(self, transaction: Transaction, one: FactLine, known: int) -> bool:
        """Mark an imported fact as past if the file has a version after it; say whether it did.

        What the host of this store said itself stays current.
        """
        if one.row.superseded_ms is None:
            return False
        transaction.connection.execute(
            "UPDATE facts SET superseded_ms = ?, valid_to_ms = ? "
            "WHERE id = ? AND superseded_ms IS NULL AND trust <= ?",
            (one.row.superseded_ms, one.row.valid_to_ms, known, int(Trust.IMPORTED)),
        )
        return transaction.connection.changes() > 0

    def _twin(
        self, transaction: Transaction, one: FactLine, images: set[int]
    ) -> tuple[facts.FactRow | None, bool]:
        """Return the current fact in the place of this one, and whether it says the same."""
        row, connection = one.row, transaction.connection
        if row.superseded_ms is not None:
            return None, False
        scope = join_scope(self.scope, row.scope)
        if row.key is not None:
            held = facts.by_key(connection, obtain(connection, scope), row.key)
            candidates = [] if held is None else [held]
        else:
            (mark,) = scope_digests(scope, [row.text])
            folded = fold_text(row.text)
            candidates = [
                found
                for found in facts.by_digests(connection, [mark]).get(mark, [])
                if found.scope == scope
                and fold_text(found.text) == folded
                and is_same_matter(found, row)
                and found.id not in images
            ]
        tags = tags_of(connection, 1, [found.id for found in candidates])
        for found in candidates:
            if (
                found.id not in images
                and tags.get(found.id, ()) == tuple(sorted(one.tags))
                and _content(found) == _content(row)
            ):
                return found, True
        return (candidates[0], False) if candidates else (None, False)

    def _insert(
        self,
        transaction: Transaction,
        one: FactLine,
        vectors: bytes,
        successor: facts.FactRow | None,
        now_ms: int,
    ) -> int:
        """Insert a fact, as an older version if there is a successor for it here."""
        connection, row = transaction.connection, one.row
        scope = join_scope(self.scope, row.scope)
        (mark,) = scope_digests(scope, [row.text])
        number = facts.next_id(connection, "facts")
        jobs.request(connection, obtain(connection, scope), "cluster", now_ms=now_ms)
        facts.insert_many(
            connection,
            [(number, obtain(connection, scope), mark, row.kind, None, row.session, row.subject,
              row.attribute, row.value, row.priority, min(row.trust, Trust.IMPORTED),
              row.created_ms, row.valid_from_ms, row.valid_to_ms, row.metadata, row.text)],
        )  # fmt: skip
        if successor is not None:
            begins, made_ms = successor.valid_from_ms, successor.created_ms
            ends = made_ms if begins is None else begins
            facts.supersede(connection, [facts.Replaced(number, successor.id, now_ms, ends)])
        elif row.superseded_ms is not None:
            connection.execute(
                "UPDATE facts SET superseded_ms = ? WHERE id = ?", (row.superseded_ms, number)
            )
        connection.execute("UPDATE facts SET key = ? WHERE id = ?", (row.key, number))
        if row.extractor is not None:
            facts.note_extracted(
                connection, [(row.event_ms, row.confidence or 0.0, row.extractor, number)]
            )
        insert_tags(connection, [(1, number, tag) for tag in one.tags])
        first, width = embeddings.key_of(1, number) * 8, self.embedder.ndim * 4
        embeddings.insert_many(
            connection,
            [(first + chunk, vectors[chunk * width : (chunk + 1) * width])
             for chunk in range(len(vectors) // width)],
        )  # fmt: skip
        return number

    def _assert(self, transaction: Transaction, one: FactLine, number: int) -> None:
        """Give a fact that rests on no turn one of its own text, so that its trace ends in L0."""
        connection, row = transaction.connection, one.row
        turn = facts.next_id(connection, "turns")
        turns.insert_any(
            connection,
            (turn, obtain(connection, join_scope(self.scope, row.scope)), row.session, turn,
             "imported", row.kind, None, min(row.trust, Trust.IMPORTED), row.created_ms,
             row.valid_from_ms, row.text),
        )  # fmt: skip
        insert_sources(connection, [(1, number, 0, turn)])
        (index_row,) = turn_index_rows(connection, [turn])
        transaction.change("upsert", 0, turn, index_row)

    def _link(self, lines: Sequence[FactLine]) -> None:
        """Tie facts to their sources and successors, once all of them are here."""

        def operation(transaction: Transaction) -> None:
            connection = transaction.connection
            wanted = {
                (1, number, tier, source)
                for one in lines
                for tier, source_number in one.sources
                for number, source in [
                    (self.here[1, one.row.id], self.here[tier, source_number])
                ]
                if (tier, source) != (1, number)
            }  # fmt: skip
            there = source_numbers(connection, 1, sorted({number for _, number, _, _ in wanted}))
            fresh = sorted(wanted - {(1, *link) for link in there})
            insert_sources(connection, fresh)
            _reindex(transaction, [number for _, number, _, _ in fresh])
            for one in lines:
                number = self.here[1, one.row.id]
                successor = self.here.get((1, one.row.superseded_by or 0))
                if successor in (None, number, *facts.older_versions(connection, number)):
                    continue
                connection.execute(
                    "UPDATE facts SET superseded_by = ? WHERE id = ? "
                    "AND superseded_by IS NULL AND superseded_ms IS NOT NULL",
                    (successor, number),
                )

        self.database.write(operation)


def _content(row: facts.FactRow) -> tuple[object, ...]:
    """Return what a fact says, beside its tags: all but its ids, trust and times of writing."""
    return (
        row.text, row.kind, row.key, row.session, row.subject, row.attribute, row.value,
        row.priority, row.valid_from_ms, row.valid_to_ms, row.metadata,
    )  # fmt: skip


def _reindex(transaction: Transaction, ids: Sequence[int]) -> None:
    ordered = sorted(set(ids))
    rows = fact_index_rows(transaction.connection, ordered)
    if rows:
        transaction.change_many("upsert", 1, dict(zip(ordered, rows, strict=True)))
