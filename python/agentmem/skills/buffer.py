"""Feed a conversation to the skill path: into L0 and into the owner's buffer at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from agentmem.errors import InvalidInputError
from agentmem.models import Archive, Buffered
from agentmem.skills.archive import due_reason, make
from agentmem.skills.names import check_owner
from agentmem.skills.normalise import byte_size, normalise
from agentmem.skills.steps import reach
from agentmem.store import skill_buffers, turns
from agentmem.store.skill_buffers import BufferRow, Entry

if TYPE_CHECKING:
    import apsw

    from agentmem.opened import Opened
    from agentmem.skills.options import SkillOptions
    from agentmem.store.writer import Transaction

__all__ = ["add"]

_LOAD_AT_ONCE = 500


def add(
    opened: Opened,
    options: SkillOptions,
    scope: str,
    messages: Any,
    *,
    session: str,
    owner: str,
    format_: str,
    succeeded: bool | None,
) -> Buffered:
    """Capture messages to L0 and buffer what of them belongs to the skill path.

    Raises:
        InvalidInputError: An argument is wrong.
        ToolLogError: Nothing in the log can be read.
    """
    from agentmem.tiers.capture import capture, check_session

    check_session(session)
    check_owner(owner)
    if succeeded is not None and not isinstance(succeeded, bool):
        raise InvalidInputError(f"succeeded: True, False or None, not {succeeded!r}")
    opened.check()
    feeding = _Feeding(options, owner, succeeded)
    captured = capture(opened, scope, messages, session=session, format_=format_, also=feeding)
    reach("buffered")
    buffer = feeding.buffer
    if buffer is None:
        with opened.database.read() as connection:
            buffer = skill_buffers.select(connection, scope, session, owner)
    archived: Archive | None = None
    if buffer is not None and due_reason(buffer, options) is not None:
        archived = make(opened, options, buffer.id, lambda row: due_reason(row, options))
        with opened.database.read() as connection:
            buffer = skill_buffers.load(connection, buffer.id)
    return Buffered(
        tool_calls=0 if buffer is None else buffer.calls,
        bytes=0 if buffer is None else buffer.size,
        messages=0 if buffer is None else buffer.messages,
        dropped=dict(sorted(feeding.dropped.items())),
        archived=archived,
        ids=captured.ids,
        redacted=captured.redacted,
    )


class _Feeding:
    """What one ``add`` does beside each write of its capture, in the same transaction.

    A write may be run again after a failed commit, so what it counts is kept by its first turn.
    """

    def __init__(self, options: SkillOptions, owner: str, succeeded: bool | None) -> None:
        self._options = options
        self._owner = owner
        self._succeeded = succeeded
        self._pieces: dict[int, tuple[Counter[str], list[Entry]]] = {}
        self._start: int | None = None
        self.buffer: BufferRow | None = None

    @property
    def dropped(self) -> Counter[str]:
        """What was left out, by why."""
        return sum((dropped for dropped, _ in self._pieces.values()), Counter())

    def __call__(self, transaction: Transaction, session_id: int, turn_ids: Sequence[int]) -> None:
        connection = transaction.connection
        buffer = skill_buffers.obtain(connection, session_id, self._owner)
        known = skill_buffers.known(connection, buffer.id, turn_ids)
        fresh = [turn for turn in dict.fromkeys(turn_ids) if turn not in known]
        if self._start is None and fresh:
            self._start = min(fresh)
        entries, dropped = _entries(connection, buffer, fresh, start=self._start or 0)
        replayed = len(turn_ids) - len(fresh)
        if replayed:
            dropped["replayed"] += replayed
        skill_buffers.add(connection, buffer.id, entries)
        self._pieces[turn_ids[0]] = dropped, entries
        self._note_size(connection, buffer.id)
        if self._succeeded is not None:
            skill_buffers.note_success(connection, buffer.id, self._succeeded)
        self.buffer = skill_buffers.load(connection, buffer.id)

    def _note_size(self, connection: apsw.Connection, buffer_id: int) -> None:
        """Mark a large add, if it has a long tool text that is to be shortened."""
        kept = [
            entry for _, piece in self._pieces.values() for entry in piece if not entry.is_dropped
        ]
        if sum(entry.size for entry in kept) < self._options.archive_bytes:
            return
        long = [entry.turn_id for entry in kept if entry.size > self._options.shorten_bytes]
        if any(row.kind in ("tool_call", "tool_result") for row in turns.load(connection, long)):
            skill_buffers.mark_compressed(connection, buffer_id, [entry.turn_id for entry in kept])


def _entries(
    connection: apsw.Connection, buffer: BufferRow, turn_ids: Sequence[int], *, start: int
) -> tuple[list[Entry], Counter[str]]:
    """Return a row for each turn that the buffer has not seen, and what is left out of them."""
    dropped: Counter[str] = Counter()
    answered = {
        link.result_id: link
        for link in skill_buffers.links(connection, turn_ids)
        if link.result_id is not None
    }
    orphans_of = {link.turn_id for link in answered.values() if link.turn_id is not None}
    repeated = skill_buffers.same_calls(
        connection, buffer.id, buffer.session_id, turn_ids, start=start
    )
    ignored = {
        turn
        for turn, is_dropped in skill_buffers.known(
            connection, buffer.id, sorted(orphans_of)
        ).items()
        if is_dropped
    }
    entries = []
    for place in range(0, len(turn_ids), _LOAD_AT_ONCE):
        for row in turns.load(connection, turn_ids[place : place + _LOAD_AT_ONCE]):
            kept, left_out = normalise(row.kind, row.speaker, row.text)
            link = answered.get(row.id)
            is_repeated = row.id in repeated or (
                row.kind == "tool_result"
                and (link is None or link.turn_id in repeated or link.turn_id in ignored)
            )
            if is_repeated:
                dropped["replayed"] += 1
            else:
                dropped += left_out
            is_dropped = kept is None or is_repeated
            size = 0 if is_dropped or kept is None else byte_size(kept)
            calls = int(row.kind == "tool_call" and not is_dropped)
            if calls:
                size += byte_size(row.speaker or "")
            entries.append(Entry(row.id, size, calls, is_dropped))
    return entries, dropped
