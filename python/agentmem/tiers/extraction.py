"""From L0 to L1: a session's new messages become facts, each held against what is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from agentmem import _native
from agentmem.models import Candidate, Fact, Trust, format_id, from_ms, to_ms
from agentmem.protocols import GivenEmbeddings
from agentmem.store import cursors, embeddings, facts, jobs, turns
from agentmem.store.index_rows import fact_index_rows
from agentmem.store.links import insert_spans
from agentmem.store.redactions import add_counts
from agentmem.tiers.candidates import Checked, check_candidates, run_extractor
from agentmem.tiers.conflict import judge
from agentmem.tiers.fact_input import NewFact
from agentmem.tiers.fact_rows import require_space
from agentmem.tiers.messages import read_piece
from agentmem.tiers.recall import RRF_K, WEIGHTS
from agentmem.tiers.remember import scope_digests
from agentmem.tiers.steps import Extracted, existing_scope
from agentmem.tiers.vectors import embed_texts

if TYPE_CHECKING:
    import apsw

    from agentmem.opened import Opened
    from agentmem.protocols import Extractor
    from agentmem.store.database import Transaction

__all__ = ["extract_session"]

STEP: Final = "extract"
NEIGHBOURS: Final = 8
NEIGHBOUR_DEPTH: Final = 50
NEIGHBOUR_CHARS: Final = 1_000
NUMBER_BITS: Final = (1 << 56) - 1
_WISHES: Final = ("persona", "instruction")


def extract_session(
    opened: Opened,
    scope: str,
    session: str,
    *,
    extractor: Extractor,
    timeout_s: float | None = None,
) -> Extracted:
    """Read what is new in a session, piece by piece, and write the facts that it states.

    Each piece is one transaction with the move of the cursor, see ``tiers.steps``. Two runs at once
    do no work twice: the one that comes second reads again from where the first one got to.

    Args:
        opened: The open folder.
        scope: The session's own scope.
        session: Its name.
        extractor: Who reads.
        timeout_s: How long one answer may take; None for the built-in one, which needs no limit.

    Raises:
        ExtractorError: The answer breaks a rule; the pieces before it are kept.
        TimeoutError: There was no answer in time.
    """
    total = Extracted()
    while True:
        with opened.database.read() as connection:
            scope_id = existing_scope(connection, scope)
            if scope_id is None:
                return total
            start = cursors.position(connection, scope_id, STEP, session)
            piece = read_piece(connection, scope_id, session, after=start)
        found: list[Checked] = []
        if piece is not None and piece.messages:
            given = run_extractor(extractor, piece.messages, piece.context, timeout_s=timeout_s)
            found = check_candidates(
                given, piece.messages, name=extractor.id, is_redacting=opened.redact
            )
        ready = _prepare(opened, scope, found)
        now_ms = opened.now_ms()
        end = start if piece is None else piece.end

        def operation(
            transaction: Transaction,
            scope_id: int = scope_id,
            span: tuple[int, int] = (start, end),
            ready: Sequence[_Ready] = ready,
            now_ms: int = now_ms,
        ) -> _Applying:
            applying = _Applying(
                transaction, opened, scope, scope_id, session, extractor.id, now_ms
            )
            return applying.run(*span, ready)

        try:
            done = opened.database.write(operation)
        except cursors.StaleCursorError:
            continue
        total = Extracted(
            messages=total.messages + (0 if piece is None else len(piece.messages)),
            facts=total.facts + done.written,
            duplicates=total.duplicates + done.duplicates,
            superseded=total.superseded + done.superseded,
        )
        if done.is_finished:
            return total


class _Ready(NamedTuple):
    """A candidate with what was made of it before the transaction."""

    candidate: Candidate
    item: NewFact
    digest: int
    vectors: bytes | None
    neighbours: dict[int, float | None]


def _prepare(opened: Opened, scope: str, found: Sequence[Checked]) -> list[_Ready]:
    """Embed the candidates and look for the facts of the scope that are most like each."""
    if not found:
        return []
    import numpy as np

    texts = [item.text for _, item in found]
    embedder = opened.embedder
    made: list[bytes | None] = [None] * len(texts)
    if not isinstance(embedder, GivenEmbeddings):
        made = list(embed_texts(embedder, texts))
    now_ms, width = opened.now_ms(), embedder.ndim * 4
    asked = _native.Asked(
        NEIGHBOURS, NEIGHBOUR_DEPTH, weights=WEIGHTS, rrf_k=RRF_K, scopes=[scope] if scope else []
    )
    ready = []
    for (candidate, item), digest, vectors in zip(
        found, scope_digests(scope, texts), made, strict=True
    ):
        vector = np.frombuffer(vectors[:width], np.float32) if vectors else None
        hits = opened.index.search(
            item.text[:NEIGHBOUR_CHARS], vector, asked, now_ms, space=embedder.id
        )
        near = {hit.key & NUMBER_BITS: hit.cosine for hit in hits if hit.scope == scope}
        ready.append(_Ready(candidate, item, digest, vectors, near))
    return ready


@dataclass
class _Applying:
    """One piece in its transaction; run again, it starts from nothing."""

    transaction: Transaction
    opened: Opened
    scope: str
    scope_id: int
    session: str
    extractor_id: str
    now_ms: int
    written: int = 0
    duplicates: int = 0
    superseded: int = 0
    is_finished: bool = True
    changed: dict[int, None] = field(default_factory=dict)
    # The facts of this piece, with their vectors.
    fresh: dict[int, bytes | None] = field(default_factory=dict)
    # Facts that were read in this transaction, with the rows that they were made of.
    known: dict[int, tuple[Fact, facts.FactRow]] = field(default_factory=dict)

    def run(self, start: int, end: int, found: Sequence[_Ready]) -> _Applying:
        """Write a piece; an empty one only settles the job.

        Raises:
            StaleCursorError: Another run was first.
        """
        connection = self.transaction.connection
        cursors.advance(connection, self.scope_id, STEP, self.session, expected=start, to=end)
        embedder = self.opened.embedder
        require_space(connection, (embedder.id, embedder.ndim))
        for one in found:
            self._apply(connection, one)
        ordered = sorted(self.changed)
        rows = fact_index_rows(connection, ordered)
        self.transaction.change_many("upsert", 1, dict(zip(ordered, rows, strict=True)))
        kinds = [kind for one in found for kind in one.item.redacted]
        if kinds:
            add_counts(connection, kinds)
        if self.changed:
            jobs.request(connection, self.scope_id, "cluster", now_ms=self.now_ms)
        self.is_finished = not turns.has_more(connection, self.scope_id, self.session, after=end)
        if self.is_finished:
            jobs.done(connection, self.scope_id, STEP, self.session)
            if end > start:
                # New turns belong to scenes too, whether or not they state a fact.
                jobs.request(connection, self.scope_id, "cluster", now_ms=self.now_ms)
                cursors.count_run(connection, self.scope_id, STEP, self.session)
        return self

    def _apply(self, connection: apsw.Connection, one: _Ready) -> None:
        ((_, turn),) = one.item.sources
        found = _turn(connection, turn)
        if found is None:
            # It was forgotten since it was read.
            return
        trust, event_ms = found
        candidate = one.candidate
        if candidate.valid_from is None and event_ms is not None:
            candidate = replace(candidate, valid_from=from_ms(event_ms))
        # Without a time of its own a message comes after all that was read before it, whatever the
        # clock said then or says now.
        known = self._known(connection, one)
        verdict = judge(
            candidate,
            [fact for fact, _ in known],
            trust=Trust(trust),
            cosines=self._cosines(one),
        )
        held = {fact.id: (fact, row) for fact, row in known}
        targets = [held[name] for name in verdict.facts if name in held]
        action = verdict.action
        if action == "duplicate" and targets:
            fact, row = targets[0]
            if fact.trust >= trust:
                insert_spans(connection, [(1, row.id, 0, turn, *one.candidate.span)])
                self.known.pop(row.id, None)
                self.changed[row.id] = None
                self.duplicates += 1
                return
            # The same words from who is trusted more: a version of its own.
            action, targets = "supersede", targets[:1]
        number = self._insert(connection, one, turn, trust)
        begins = self._begins(one.item)
        if action == "past" and targets:
            later = targets[0][1]
            ends = later.created_ms if later.valid_from_ms is None else later.valid_from_ms
            facts.supersede(
                connection, number, by=later.id, at_ms=self.now_ms, valid_to_ms=max(ends, begins)
            )
        elif action == "supersede":
            for fact, row in targets:
                if _may_replace(fact, candidate.kind, trust):
                    facts.supersede(
                        connection, row.id, by=number, at_ms=self.now_ms, valid_to_ms=begins
                    )
                    self.changed[row.id] = None
                    self.superseded += 1

    def _known(self, connection: apsw.Connection, one: _Ready) -> list[tuple[Fact, facts.FactRow]]:
        """Return the current facts that a candidate may touch, as the transaction sees them."""
        slots: Sequence[facts.FactRow] = ()
        if one.item.subject is not None and one.item.attribute is not None:
            slots = facts.by_slot(connection, self.scope_id, one.item.subject, one.item.attribute)
        found = (
            *facts.load(connection, sorted({*one.neighbours, *self.fresh})),
            *facts.by_digests(connection, [one.digest]).get(one.digest, ()),
            *slots,
        )
        rows = {
            row.id: row for row in found if row.superseded_ms is None and row.scope == self.scope
        }
        ordered = [rows[number] for number in sorted(rows)]
        new = [row for row in ordered if self.known.get(row.id, (None, None))[1] != row]
        for fact, row in zip(facts.to_fact(connection, new), new, strict=True):
            self.known[row.id] = fact, row
        known = []
        for fact, row in (self.known[row.id] for row in ordered):
            # A clock that ran ahead once must not make all that is said since the past.
            ran_ahead = row.valid_from_ms is not None and row.valid_from_ms > self.now_ms
            known.append((replace(fact, valid_from=None) if ran_ahead else fact, row))
        return known

    def _cosines(self, one: _Ready) -> dict[str, float]:
        """Return how alike a candidate is to the facts around it, by their ids."""
        import numpy as np

        found = {
            format_id(1, number): float(cosine)
            for number, cosine in one.neighbours.items()
            if cosine is not None
        }
        width = self.opened.embedder.ndim * 4
        if one.vectors:
            own = np.frombuffer(one.vectors[:width], np.float32)
            for number, vectors in self.fresh.items():
                if vectors:
                    other = np.frombuffer(vectors[:width], np.float32)
                    found[format_id(1, number)] = float(own @ other)
        return found

    def _begins(self, item: NewFact) -> int:
        """Return from when a fact holds: a clock that ran ahead hides nothing until later."""
        return self.now_ms if item.valid_from_ms is None else min(item.valid_from_ms, self.now_ms)

    def _insert(self, connection: apsw.Connection, one: _Ready, turn: int, trust: int) -> int:
        candidate, item = one.candidate, one.item
        number = facts.next_id(connection, "facts")
        facts.insert_many(
            connection,
            [(number, self.scope_id, one.digest, item.kind, None, item.session, item.subject,
              item.attribute, item.value, item.priority, trust, self.now_ms, self._begins(item),
              item.valid_to_ms, item.metadata, item.text)],
        )  # fmt: skip
        happened = candidate.event_time
        event_ms = None if happened is None else to_ms(happened, argument="event_time")
        facts.note_extracted(
            connection, [(event_ms, float(candidate.confidence), self.extractor_id, number)]
        )
        insert_spans(connection, [(1, number, 0, turn, *candidate.span)])
        key, width = embeddings.key_of(1, number), self.opened.embedder.ndim * 4
        if one.vectors is None:
            embeddings.add_pending(connection, [key], is_new=True)
        else:
            embeddings.insert_vectors(connection, key, one.vectors, width)
        self.changed[number] = None
        self.fresh[number] = one.vectors
        self.written += 1
        return number


def _turn(connection: apsw.Connection, number: int) -> tuple[int, int | None] | None:
    """Return the trust of a turn and its own time; None if it is not there any more."""
    rows: list[Any] = connection.execute(
        "SELECT trust, event_ms FROM turns WHERE id = ?", (number,)
    ).fetchall()
    return (int(rows[0][0]), rows[0][1]) if rows else None


def _may_replace(fact: Fact, kind: str, trust: int) -> bool:
    """Whether a new fact may take the place of an old one.

    What a host keeps under a key is its own to change. What a tool's text says never retires what
    somebody said; of what a user wants only the user has the last word.
    """
    if fact.key is not None:
        return False
    if trust < fact.trust and (trust <= Trust.IMPORTED or kind in _WISHES or fact.kind in _WISHES):
        return False
    return fact.is_current
