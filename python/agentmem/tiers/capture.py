"""Write L0: a host's log, verbatim, each record once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from agentmem.errors import InvalidInputError
from agentmem.models import Captured, Trust, format_id
from agentmem.protocols import GivenEmbeddings
from agentmem.store import embeddings, facts, jobs, scopes, sessions, tool_calls, turns
from agentmem.store.index_rows import IndexRow, turn_index_row
from agentmem.store.payloads import Packed, encode_text, is_inline, obtain, pack
from agentmem.store.redactions import add_counts
from agentmem.tiers.alignment import Alignment
from agentmem.tiers.capture_input import Record, pieces, prepare
from agentmem.tiers.fence import without_injected
from agentmem.tiers.pairing import SessionCalls
from agentmem.toollog.formats import iter_messages
from agentmem.toollog.models import Message
from agentmem.toollog.placeholder import read_placeholder

if TYPE_CHECKING:
    import apsw

    from agentmem.opened import Opened
    from agentmem.store.writer import Transaction

__all__ = ["Also", "capture", "capture_messages", "check_session"]

Also: TypeAlias = "Callable[[Transaction, int, Sequence[int]], None]"

MAX_SESSION_CHARS: Final = 1_024
_PACK_AHEAD_BYTES: Final = 64 << 10

_TRUST: Final = {
    "user": Trust.USER,
    "assistant": Trust.ASSISTANT,
    "tool_call": Trust.ASSISTANT,
    "system": Trust.ASSISTANT,
}
"""By who speaks; what is not in it, results of tools above all, has the lowest."""


def check_session(session: str, *, argument: str = "session") -> str:
    """Return the name of a session if it is one.

    Raises:
        InvalidInputError: It is blank, too long, or no text that can be stored.
    """
    if not isinstance(session, str) or not session.strip():
        raise InvalidInputError(f"{argument}: a non-empty name is needed, {session!r} was given")
    if len(session) > MAX_SESSION_CHARS:
        raise InvalidInputError(
            f"{argument}: at most {MAX_SESSION_CHARS} characters are allowed, "
            f"{len(session)} were given"
        )
    try:
        session.encode()
    except UnicodeEncodeError as error:
        raise InvalidInputError(f"{argument}: {session!r} has a lone surrogate") from error
    return session


def capture(
    opened: Opened,
    scope: str,
    messages: Any,
    *,
    session: str,
    format_: str,
    also: Also | None = None,
) -> Captured:
    """Write a log; records that the session has already are left alone.

    ``also`` is called in each transaction, after its rows are written, with the session's number
    and the turns that the piece stands for; it may be called again if a commit failed.

    Raises:
        InvalidInputError: The session or the format is none, or the messages can't be read.
        ToolLogError: Nothing in the log can be read.
    """
    read = without_injected(iter_messages(messages, format=format_))
    return capture_messages(opened, scope, read, session=session, also=also)


def capture_messages(
    opened: Opened,
    scope: str,
    messages: Iterable[Message],
    *,
    session: str,
    also: Also | None = None,
) -> Captured:
    """Write messages; ``ids`` of the outcome has one id for each message that was given."""
    check_session(session)
    opened.check()
    writing = _Writing(opened, scope, session, also)
    ids: list[int] = []
    redacted: Counter[str] = Counter()
    new = 0
    for piece in pieces(messages):
        records = writing.prepared(piece)
        written = writing.write(records)
        ids += written.ids
        new += written.new
        redacted += written.redacted
    return Captured(
        tuple([format_id(0, number) for number in ids]), new, len(ids) - new, dict(redacted)
    )


class _Written(NamedTuple):
    ids: list[int]
    new: int
    redacted: Counter[str]
    alignment: Alignment
    batches: dict[int, int]


@dataclass
class _Writing:
    """One call of ``capture``, piece by piece."""

    opened: Opened
    scope: str
    session: str
    also: Also | None = None
    alignment: Alignment = field(default_factory=Alignment)
    batches: dict[int, int] = field(default_factory=dict)
    packed: dict[str | bytes, Packed] = field(default_factory=dict)

    def prepared(self, piece: Sequence[list[Message]]) -> list[Record]:
        """Return the records of a piece, without touching the store unless one refers to it."""
        return [
            prepare(group, is_redacting=self.opened.redact, original=self._original)
            for group in piece
        ]

    def _original(self, message: Message) -> tuple[str, bool] | None:
        """Return what a placeholder of ours stands for, if this session made it for that call."""
        ref = read_placeholder(message.text)
        if ref is None:
            return None
        with self.opened.database.read() as connection:
            for row in sessions.find(connection, self.scope, self.session):
                call = tool_calls.by_ref(connection, row.id, ref)
                if row.scope != self.scope or call is None or call.call_id != message.call_id:
                    continue
                (text,) = tool_calls.texts(
                    connection, row.id, after=call.number - 1, until=call.number
                )
                if text.result is not None:
                    return text.result, call.outcome == "error"
        return None

    def write(self, records: Sequence[Record]) -> _Written:
        """Write one piece as one atomic operation."""
        self.packed = {}
        if sum(len(record.raw) for record in records) > _PACK_AHEAD_BYTES:
            self._pack_ahead(records)
        made_ms = self.opened.now_ms()
        written = self.opened.database.write(
            lambda transaction: self._operation(transaction, records, made_ms)
        )
        self.alignment, self.batches = written.alignment, written.batches
        return written

    def _pack_ahead(self, records: Sequence[Record]) -> None:
        """Compress what looks new before the write lock is taken."""
        with self.opened.database.read() as connection:
            found: list[Any] = [None] * len(records)
            for row in sessions.find(connection, self.scope, self.session):
                if row.scope == self.scope:
                    found = list(self.alignment.copy().match(connection, row.id, records))
        for record, stored in zip(records, found, strict=True):
            if stored is None:
                self.packed[record.raw] = pack(record.raw)
                for part in record.parts:
                    if not is_inline(part.text):
                        self.packed[part.text] = pack(encode_text(part.text))

    def _payload(self, connection: apsw.Connection, content: str | bytes) -> int:
        ready = self.packed.get(content)
        if ready is None:
            ready = pack(encode_text(content) if isinstance(content, str) else content)
        return obtain(connection, ready)

    def _operation(
        self, transaction: Transaction, records: Sequence[Record], made_ms: int
    ) -> _Written:
        connection = transaction.connection
        alignment, batches = self.alignment.copy(), dict(self.batches)
        scope_id = scopes.obtain(connection, self.scope)
        session = sessions.obtain(connection, scope_id, self.session)
        matched = alignment.match(connection, session.id, records)
        calls = SessionCalls(connection, session, batches)
        next_turn = facts.next_id(connection, "turns")
        next_record = facts.next_id(connection, "records")
        ids: list[int] = []
        turn_rows: list[tuple[Any, ...]] = []
        record_rows: list[tuple[int, int, int, int, int, int | None]] = []
        searched: dict[int, IndexRow] = {}
        redacted: Counter[str] = Counter()
        for record, stored in zip(records, matched, strict=True):
            if stored is not None:
                calls.note_stored(record.parts, stored)
                ids += range(stored.first_turn, stored.first_turn + stored.turns)
                continue
            redacted += record.redacted
            number, next_record = next_record, next_record + 1
            raw_id = self._payload(connection, record.raw) if record.raw else None
            count = len(record.parts)
            record_rows.append((number, session.id, record.digest, next_turn, count, raw_id))
            for part in record.parts:
                turn, next_turn = next_turn, next_turn + 1
                text, text_id = part.text, None
                if not is_inline(text):
                    text, text_id = "", self._payload(connection, text)
                ids.append(turn)
                speaker = _plain(part.speaker or part.name)
                trust = int(_TRUST.get(part.kind, Trust.TOOL))
                turn_rows.append(
                    (turn, scope_id, self.session, turn, "captured", part.kind, speaker, trust,
                     made_ms, part.event_ms, text, _plain(record.client_id), number, text_id,
                     part.offset_min)
                )  # fmt: skip
                searched[turn] = turn_index_row(
                    turn, part.kind, self.scope, self.session, turn, part.text, made_ms,
                    part.event_ms, trust, speaker,
                )  # fmt: skip
                calls.add(part, turn, number)
        if record_rows:
            sessions.insert_records(connection, record_rows)
            turns.insert_captured(connection, turn_rows)
            calls.flush()
            sessions.update(
                connection,
                session._replace(
                    revision=session.revision + 1,
                    rewrites=session.rewrites + calls.is_rewriting,
                    calls=calls.calls,
                    top_calls=calls.top_calls,
                    batches=calls.next_batch,
                ),
            )
            if not isinstance(self.opened.embedder, GivenEmbeddings):
                words = [row[0] for row in turn_rows if row[5] in embeddings.EMBEDDED_TURNS]
                embeddings.add_pending(connection, words, is_new=True)
            # What people say sets the pace of the pipeline, not what tools answer.
            said = sum(row[5] == "user" for row in turn_rows)
            jobs.request(connection, scope_id, "extract", self.session, now_ms=made_ms, turns=said)
            transaction.change_many("upsert", 0, searched)
        if redacted:
            add_counts(connection, redacted.elements())
        if self.also is not None and ids:
            self.also(transaction, session.id, ids)
        return _Written(ids, len(turn_rows), redacted, alignment, batches)


def _plain(text: str | None) -> str | None:
    """Return a name as a column of text can hold it."""
    return None if text is None else text.encode("utf-8", "backslashreplace").decode()
