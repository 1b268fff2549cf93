"""From L0 to L1: a session's new messages become facts, each held against what is known."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from agentmem import _native
from agentmem.models import Candidate, Trust, format_id, from_ms, parse_id, to_ms
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
    from datetime import datetime

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


class _Held(NamedTuple):
    """A current fact as ``judge`` reads it, and what decides whether it may be replaced."""

    number: int
    id: str
    text: str
    kind: str
    key: str | None
    subject: str | None
    attribute: str | None
    value: Any
    trust: Trust
    event_time: datetime | None
    valid_from: datetime | None
    begins_ms: int

    @classmethod
    def of(cls, row: facts.FactRow, now_ms: int) -> _Held:
        """Return it from a row."""
        start = row.valid_from_ms
        # A clock that ran ahead once must not make all that is said since the past.
        ran_ahead = start is not None and now_ms < start <= row.created_ms
        return cls(
            row.id, format_id(1, row.id), row.text, row.kind, row.key, row.subject, row.attribute,
            None if row.value is None else json.loads(row.value), Trust(row.trust),
            None if row.event_ms is None else from_ms(row.event_ms),
            None if start is None or ran_ahead else from_ms(start),
            row.created_ms if start is None else start,
        )  # fmt: skip


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
    # Current facts that candidates of this piece may touch; the new ones with their vectors.
    held: dict[int, _Held] = field(default_factory=dict)
    fresh: dict[int, bytes | None] = field(default_factory=dict)
    by_digest: dict[int, list[int]] = field(default_factory=dict)
    by_slot: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    # Trust and own time of the turns that are still there.
    said: dict[int, tuple[int, int | None]] = field(default_factory=dict)
    # What is written at the end.
    rows: list[tuple[Any, ...]] = field(default_factory=list)
    notes: list[tuple[int | None, float, str, int]] = field(default_factory=list)
    spans: list[tuple[int, int, int, int, int, int]] = field(default_factory=list)
    replaced: list[facts.Replaced] = field(default_factory=list)
    # Of what came between: the fact behind it, and from when it holds.
    before: dict[int, tuple[int, int]] = field(default_factory=dict)

    def run(self, start: int, end: int, found: Sequence[_Ready]) -> _Applying:
        """Write a piece; an empty one only settles the job.

        Raises:
            StaleCursorError: Another run was first.
        """
        connection = self.transaction.connection
        cursors.advance(connection, self.scope_id, STEP, self.session, expected=start, to=end)
        embedder = self.opened.embedder
        require_space(connection, (embedder.id, embedder.ndim))
        if found:
            self._read(connection, found)
            number = facts.next_id(connection, "facts")
            for one in found:
                number += self._apply(one, number)
            self._write(connection)
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

    def _read(self, connection: apsw.Connection, found: Sequence[_Ready]) -> None:
        """Read the turns of the candidates, and the current facts that these may touch."""
        turn_of = [turn for one in found for _, turn in one.item.sources]
        self.said = turns.origins(connection, turn_of)
        same = facts.by_digests(connection, {one.digest for one in found})
        self.by_digest = {digest: [row.id for row in rows] for digest, rows in same.items()}
        slots = {
            (one.item.subject, one.item.attribute)
            for one in found
            if one.item.subject is not None and one.item.attribute is not None
        }
        filled = facts.by_slots(connection, self.scope_id, slots)
        for row in filled:
            self.by_slot.setdefault((row.subject or "", row.attribute or ""), []).append(row.id)
        near = facts.load(
            connection, sorted({number for one in found for number in one.neighbours})
        )
        for row in (*near, *filled, *(row for rows in same.values() for row in rows)):
            if row.superseded_ms is None and row.scope == self.scope and row.id not in self.held:
                self.held[row.id] = _Held.of(row, self.now_ms)

    def _apply(self, one: _Ready, number: int) -> bool:
        """Judge a candidate; return whether a fact of this number is written for it."""
        ((_, turn),) = one.item.sources
        said = self.said.get(turn)
        if said is None:
            # It was forgotten since it was read.
            return False
        trust, event_ms = said
        candidate = one.candidate
        # Without a time of its own a message comes after all that was said before it, whatever the
        # clock said then or says now.
        if candidate.valid_from is None and event_ms is not None:
            candidate = replace(candidate, valid_from=from_ms(event_ms))
        verdict = judge(candidate, self._known(one), trust=Trust(trust), cosines=self._cosines(one))
        targets = [self.held[parse_id(name)[1]] for name in verdict.facts]
        action = verdict.action
        if action == "duplicate" and targets:
            known = targets[0]
            if known.trust >= trust:
                self.spans.append((1, known.number, 0, turn, *one.candidate.span))
                self.changed[known.number] = None
                self.duplicates += 1
                return False
            # The same words from who is trusted more: a version of its own.
            action, targets = "supersede", targets[:1]
        new = self._insert(one, number, turn, trust)
        planned = [
            known for known in targets if known.valid_from and known.begins_ms > new.begins_ms
        ]
        if action == "supersede" and planned:
            # What is said of the time until then does not undo what was planned.
            action, targets = "past", planned
        if action == "past" and targets:
            later = targets[0]
            self._replace(new, by=later.number, ends_ms=max(later.begins_ms, new.begins_ms))
            self.before[new.number] = later.number, new.begins_ms
        elif action == "supersede":
            for known in targets:
                if _may_replace(known, candidate.kind, trust):
                    self._replace(known, by=number, ends_ms=new.begins_ms)
                    self.superseded += 1
        return True

    def _replace(self, fact: _Held, *, by: int, ends_ms: int) -> None:
        self.replaced.append(facts.Replaced(fact.number, by, self.now_ms, ends_ms))
        self.changed[fact.number] = None
        del self.held[fact.number]

    def _known(self, one: _Ready) -> list[_Held]:
        """Return the current facts that a candidate may touch, as they are by now."""
        slot = (one.item.subject or "", one.item.attribute or "")
        numbers = {
            *one.neighbours,
            *self.fresh,
            *self.by_digest.get(one.digest, ()),
            *self.by_slot.get(slot, ()),
        }
        return [self.held[number] for number in sorted(numbers) if number in self.held]

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

    def _begins(self, one: _Ready) -> int:
        """Return from when a fact holds: later than now only where it was said to begin later.

        A message's clock that runs ahead hides nothing. An event is known from when it is told.
        """
        start = one.item.valid_from_ms
        if start is None:
            return self.now_ms
        is_planned = one.candidate.valid_from is not None and one.item.kind != "event"
        return start if is_planned else min(start, self.now_ms)

    def _insert(self, one: _Ready, number: int, turn: int, trust: int) -> _Held:
        candidate, item = one.candidate, one.item
        begins_ms = self._begins(one)
        self.rows.append(
            (number, self.scope_id, one.digest, item.kind, None, item.session, item.subject,
             item.attribute, item.value, item.priority, trust, self.now_ms, begins_ms,
             item.valid_to_ms, item.metadata, item.text)
        )  # fmt: skip
        happened = candidate.event_time
        event_ms = None if happened is None else to_ms(happened, argument="event_time")
        self.notes.append((event_ms, float(candidate.confidence), self.extractor_id, number))
        self.spans.append((1, number, 0, turn, *candidate.span))
        self.changed[number] = None
        self.fresh[number] = one.vectors
        self.written += 1
        new = self.held[number] = _Held(
            number, format_id(1, number), item.text, item.kind, None, item.subject, item.attribute,
            None if item.value is None else json.loads(item.value), Trust(trust),
            None if event_ms is None else from_ms(event_ms), from_ms(begins_ms), begins_ms,
        )  # fmt: skip
        return new

    def _write(self, connection: apsw.Connection) -> None:
        facts.insert_many(connection, self.rows)
        facts.note_extracted(connection, self.notes)
        insert_spans(connection, self.spans)
        self.changed |= dict.fromkeys(facts.supersede(connection, self.replaced))
        for number, (later, begins_ms) in self.before.items():
            ended = facts.end_before(connection, number, later=later, at_ms=begins_ms)
            self.changed |= dict.fromkeys(ended)
        width = self.opened.embedder.ndim * 4
        bare = []
        for number, vectors in self.fresh.items():
            key = embeddings.key_of(1, number)
            if vectors is None:
                bare.append(key)
            else:
                embeddings.insert_vectors(connection, key, vectors, width)
        embeddings.add_pending(connection, bare, is_new=True)


def _may_replace(fact: _Held, kind: str, trust: int) -> bool:
    """Whether a new fact may take the place of an old one.

    What a host keeps under a key is its own to change. What a tool's text says never retires what
    somebody said; of what a user wants only the user has the last word.
    """
    if fact.key is not None:
        return False
    is_wish = kind in _WISHES or fact.kind in _WISHES
    return trust >= fact.trust or (trust > Trust.IMPORTED and not is_wish)
