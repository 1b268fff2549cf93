"""The rows that new facts become, gathered and written table by table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from agentmem.errors import EmbedderMismatchError, NotFoundError
from agentmem.models import TRUSTS, Fact, Trust, format_id, from_ms, make_fact
from agentmem.store import documents, embeddings, facts, jobs, turns
from agentmem.store.index_rows import fact_index_rows
from agentmem.store.links import insert_sources, insert_tags
from agentmem.store.scopes import contains, obtain

if TYPE_CHECKING:
    import apsw

    from agentmem.store.database import Transaction
    from agentmem.tiers.fact_input import NewFact

__all__ = ["FactRows", "NeedsVectorsError", "Space", "is_same_matter", "require_space"]

# An embedder's id and the length of its vectors.
Space = tuple[str, int]
# number, turn or None, what the host said, digest, trust, source ids, vectors
Fresh = tuple[int, int | None, "NewFact", int, int, tuple[str, ...], bytes]


class Stated(Protocol):
    """What tells two facts of one text apart."""

    @property
    def subject(self) -> str | None:
        """Whom or what it is about."""

    @property
    def kind(self) -> str:
        """Its kind."""

    @property
    def valid_from_ms(self) -> int | None:
        """When it begins; of an event, when it happens."""


def is_same_matter(one: Stated, other: Stated) -> bool:
    """Whether two facts of one text may be one: no other subject, and no other event.

    A subject or a time that one of them does not say claims nothing. Of what is no event another
    time is another version.
    """
    if None not in (one.subject, other.subject) and one.subject != other.subject:
        return False
    times = one.valid_from_ms, other.valid_from_ms
    return "event" not in (one.kind, other.kind) or None in times or times[0] == times[1]


class NeedsVectorsError(Exception):
    """A text that looked like a duplicate is none any more; it must be embedded first."""


def require_space(connection: apsw.Connection, space: Space) -> None:
    """Raise unless the store's vectors are of this space now: another handle may have moved it.

    Raises:
        EmbedderMismatchError: They are of another embedder.
    """
    stored = connection.execute(
        "SELECT id.value, ndim.value FROM meta AS id, meta AS ndim "
        "WHERE id.key = 'embedder_id' AND ndim.key = 'ndim'"
    ).fetchone()
    if stored is not None and stored != (space[0], str(space[1])):
        raise EmbedderMismatchError(
            f"{stored[0]} ({stored[1]} dimensions)", f"{space[0]} ({space[1]} dimensions)"
        )


class FactRows:
    """One atomic write of facts into one scope; run again, it starts from nothing.

    New facts are only gathered; ``flush`` writes them, and comes before any statement that must
    see them.
    """

    def __init__(
        self, transaction: Transaction, scope: str, made_ms: int, trust: Trust, space: Space
    ) -> None:
        require_space(transaction.connection, space)
        self.width = space[1] * 4
        self.transaction = transaction
        self.connection = transaction.connection
        self.scope = scope
        self.scope_id = obtain(self.connection, scope)
        self.made_ms = made_ms
        self.made = from_ms(made_ms)
        self.trust = int(trust)
        self.next_fact = facts.next_id(self.connection, "facts")
        self.next_turn = facts.next_id(self.connection, "turns")
        self.fresh: list[Fresh] = []

    def add(self, item: NewFact, digest: int, vectors: bytes | None, old: Sequence[int]) -> Fact:
        """Gather one new fact that replaces ``old``, and return what the host gets of it."""
        if vectors is None:
            raise NeedsVectorsError
        number, self.next_fact = self.next_fact, self.next_fact + 1
        trust = self.trust
        turn = None
        if item.sources:
            trust = min(trust, self.check_sources(item.sources))
            names = tuple([format_id(tier, source) for tier, source in item.sources])
        else:
            turn, self.next_turn = self.next_turn, self.next_turn + 1
            names = (f"L0:{turn}",)
        self.fresh.append((number, turn, item, digest, trust, names, vectors))
        (
            text, key, session, kind, tags, metadata, subject, attribute, value, valid_from_ms,
            valid_to_ms, priority, _, _, _, redacted,
        ) = item  # fmt: skip
        return make_fact(
            f"L1:{number}",
            text,
            kind,
            self.scope,
            key,
            session,
            tags,
            {} if metadata == "{}" else json.loads(metadata),
            subject,
            attribute,
            None if value is None else json.loads(value),
            priority,
            TRUSTS[trust],
            self.made,
            None if valid_from_ms is None else from_ms(valid_from_ms),
            None if valid_to_ms is None else from_ms(valid_to_ms),
            names,
            None,
            True,
            "superseded" if old else "new",
            tuple([format_id(1, one) for one in old]) if old else (),
            redacted,
        )

    def flush(self) -> None:
        """Write what was gathered."""
        fresh, self.fresh = self.fresh, []
        if not fresh:
            return
        connection, scope_id, made_ms = self.connection, self.scope_id, self.made_ms
        turns.insert_many(
            connection,
            [
                (turn, scope_id, item.session, turn, "asserted", item.kind, None, trust, made_ms,
                 item.valid_from_ms, item.text)
                for _, turn, item, _, trust, _, _ in fresh
                if turn is not None
            ],
        )  # fmt: skip
        facts.insert_many(
            connection,
            [
                (number, scope_id, digest, kind, key, session, subject, attribute, value, priority,
                 trust, made_ms, valid_from_ms, valid_to_ms, metadata, text)
                for number, _, (
                    text, key, session, kind, _, metadata, subject, attribute, value, valid_from_ms,
                    valid_to_ms, priority, _, _, _, _,
                ), digest, trust, _, _ in fresh
            ],
        )  # fmt: skip
        insert_tags(
            connection, [(1, number, tag) for number, _, item, *_ in fresh for tag in item.tags]
        )
        insert_sources(
            connection,
            [
                (1, number, tier, source)
                for number, turn, item, *_ in fresh
                for tier, source in (item.sources if turn is None else ((0, turn),))
            ],
        )
        embeddings.insert_many(connection, self._vector_rows(fresh))
        # A host's documents are its data, not what went on: no scene is made of them.
        if any(item.kind != documents.SEARCHED for _, _, item, *_ in fresh):
            jobs.request(connection, scope_id, "cluster", now_ms=made_ms)
        scope, tier_bits = self.scope, 1 << 56
        self.transaction.change_many(
            "upsert",
            1,
            {
                number: (
                    tier_bits | number, 1, kind, scope, session, number, text, made_ms,
                    valid_from_ms, valid_from_ms, valid_to_ms, True, priority, trust, subject, tags,
                    metadata, names, vectors or None,
                )
                for number, _, (
                    text, _, session, kind, tags, metadata, subject, _, _, valid_from_ms,
                    valid_to_ms, priority, _, _, _, _,
                ), _, trust, names, vectors in fresh
            },
        )  # fmt: skip

    def _vector_rows(self, fresh: Iterable[Fresh]) -> list[tuple[int, bytes]]:
        width = self.width
        rows: list[tuple[int, bytes]] = []
        for number, *_, vectors in fresh:
            first = embeddings.key_of(1, number) * embeddings.MAX_CHUNKS
            if len(vectors) == width:
                rows.append((first, vectors))
                continue
            rows += [
                (first + place, vectors[place * width : (place + 1) * width])
                for place in range(len(vectors) // width)
            ]
        return rows

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
        moved = facts.supersede(
            self.connection, [facts.Replaced(number, new, self.made_ms, end) for number in old]
        )
        ordered = sorted({*old, *moved})
        for number, row in zip(ordered, fact_index_rows(self.connection, ordered), strict=True):
            self.transaction.change("upsert", 1, number, row)
