"""From a full buffer to an archive with its task: the payload first, then both rows at once."""

from __future__ import annotations

import errno
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from agentmem.errors import (
    ArchiveError,
    CorruptStoreError,
    InvalidInputError,
    NotFoundError,
    StorageFullError,
)
from agentmem.models import (
    Archive,
    ArchiveCall,
    ArchiveMessage,
    ArchiveReason,
    ArchiveView,
    Omitted,
    format_id,
    from_ms,
    parse_id,
)
from agentmem.skills.names import check_owner, check_text
from agentmem.skills.normalise import normalise
from agentmem.skills.options import MAX_PAYLOAD_BYTES
from agentmem.skills.payload import Item, Payload, Text, build, cut, read
from agentmem.skills.steps import reach
from agentmem.store import skill_archives, skill_buffers, skill_tasks, tool_calls, turns
from agentmem.store.guard import StoreWarning
from agentmem.store.scopes import contains

if TYPE_CHECKING:
    import apsw

    from agentmem.opened import Opened
    from agentmem.skills.options import SkillOptions
    from agentmem.store.skill_archives import ArchiveRow
    from agentmem.store.skill_buffers import BufferRow, Entry, Link
    from agentmem.store.writer import Transaction

__all__ = [
    "TASK_TIER",
    "archive_overfull",
    "due_reason",
    "force",
    "load_view",
    "make",
    "to_archive",
]

TASK_TIER: Final = 5
"""Stands for tasks in the log of changes: a new one raises the counter that workers watch."""

MAX_INTENT_CHARS: Final = 2_000
_LOAD_AT_ONCE: Final = 500
_FEW: Final = 200
_LATE_BYTES: Final = 2_048
_TRIES: Final = 20
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class _RacedError(Exception):
    """The buffer is not what it was when the payload was made."""


def due_reason(buffer: BufferRow, options: SkillOptions) -> ArchiveReason | None:
    """Return why a buffer is to be archived now; None for most."""
    if not buffer.messages:
        return None
    if buffer.size > options.oversize_bytes:
        return "oversize"
    if buffer.is_compressed:
        return "compressed"
    if buffer.calls >= options.archive_calls:
        return "tool_calls"
    return "bytes" if buffer.size >= options.archive_bytes else None


def force(
    opened: Opened,
    options: SkillOptions,
    scope: str,
    session: str,
    owner: str,
    *,
    intent: str | None,
    succeeded: bool | None,
) -> Archive:
    """Archive what a session's buffer holds, however little it is.

    Raises:
        InvalidInputError: An argument is wrong.
    """
    from agentmem.tiers.capture import check_session

    check_session(session)
    check_owner(owner)
    if intent is not None:
        check_text(intent, "intent", MAX_INTENT_CHARS)
    if succeeded is not None and not isinstance(succeeded, bool):
        raise InvalidInputError(f"succeeded: True, False or None, not {succeeded!r}")
    opened.check()
    with opened.database.read() as connection:
        buffer = skill_buffers.select(connection, scope, session, owner)
    made = None
    if buffer is not None:
        made = make(
            opened, options, buffer.id, lambda _: "forced", intent=intent, succeeded=succeeded
        )
    if made is None:
        return Archive(id=None, session=session, owner=owner, scope=scope, reason="empty")
    return made


def archive_overfull(opened: Opened, options: SkillOptions, scope: str) -> list[Archive]:
    """Archive the buffers that are over a threshold: a crash came between feeding and archiving.

    Warns:
        StoreWarning: The archive store takes nothing now.
    """
    with opened.database.read() as connection:
        found = skill_buffers.overfull(
            connection, scope, calls=options.archive_calls, size=options.archive_bytes
        )
    made = []
    for _, buffer in found:
        try:
            made.append(make(opened, options, buffer.id, lambda row: due_reason(row, options)))
        except OSError as error:
            # What waits for its review must not wait for an archive store that is full or away.
            message = f"a buffer stays unarchived until the next add or review: {error}"
            warnings.warn(message, StoreWarning, stacklevel=2)
    return [archive for archive in made if archive is not None]


def make(
    opened: Opened,
    options: SkillOptions,
    buffer_id: int,
    reason_of: Callable[[BufferRow], ArchiveReason | None],
    *,
    intent: str | None = None,
    succeeded: bool | None = None,
) -> Archive | None:
    """Archive a buffer and register its review; None if there is no reason to, or nothing in it.

    The payload is made, and put into an external store, outside any transaction. Archive, task
    and the clearing of the buffer are one transaction, in which the archive comes first; if the
    buffer is no longer what the payload was made of, all of it is tried again.
    """
    for _ in range(_TRIES):
        with opened.database.read() as connection:
            buffer = skill_buffers.load(connection, buffer_id)
            reason = None if buffer is None else reason_of(buffer)
            if buffer is None or reason is None:
                return None
            entries = skill_buffers.waiting(connection, buffer_id)
            if not entries:
                return None
            items = _items(connection, entries)
        payload = build(items, shorten_bytes=options.shorten_bytes)
        reach("payload made")
        location = None
        if options.archives is not None:
            location = payload.digest.hex()
            try:
                options.archives.put(location, payload.content)
            except OSError as error:
                if error.errno in (errno.ENOSPC, errno.EDQUOT):
                    raise StorageFullError(
                        error.errno, f"the archive store is full: {error}; the buffer is kept"
                    ) from error
                raise
            reach("payload put")
        if succeeded is None and buffer.succeeded is not None:
            succeeded = bool(buffer.succeeded)
        operation = _Registering(
            buffer,
            entries,
            payload,
            reason=reason,
            intent=intent,
            succeeded=succeeded,
            location=location,
            now_ms=opened.now_ms(),
        )
        try:
            number, task = opened.database.write(operation)
        except _RacedError:
            continue
        reach("archive committed")
        with opened.database.read() as connection:
            row = skill_archives.load(connection, number)
        if row is None:
            raise CorruptStoreError(f"archive:{number} was written and is not there")
        return to_archive(row, task)
    return None


class _Registering:
    """The transaction that makes a review visible."""

    def __init__(
        self,
        buffer: BufferRow,
        entries: Sequence[Entry],
        payload: Payload,
        *,
        reason: str,
        intent: str | None,
        succeeded: bool | None,
        location: str | None,
        now_ms: int,
    ) -> None:
        self._buffer = buffer
        self._entries = entries
        self._payload = payload
        self._fields: dict[str, Any] = {
            "buffer_id": buffer.id, "reason": reason, "intent": intent,
            "succeeded": None if succeeded is None else int(succeeded),
            "location": location, "created_ms": now_ms,
        }  # fmt: skip

    def __call__(self, transaction: Transaction) -> tuple[int, int]:
        connection = transaction.connection
        entries, payload, left = self._entries, self._payload, self._payload.omitted
        reach("archive begun")
        number = skill_archives.insert(
            connection,
            messages=len(entries),
            calls=sum(entry.calls for entry in entries),
            size=sum(entry.size for entry in entries),
            omitted=(left.messages, left.bytes, left.shortened),
            payload=payload.content,
            digest=payload.digest,
            **self._fields,
        )
        reach("archive inserted")
        task = skill_tasks.insert(connection, number, self._fields["created_ms"])
        reach("task inserted")
        wanted = [entry.turn_id for entry in entries]
        if not skill_buffers.take(connection, self._buffer.id, number, wanted):
            raise _RacedError
        reach("buffer cleared")
        transaction.change("task", TASK_TIER, task)
        return number, task


def _items(connection: apsw.Connection, entries: Sequence[Entry]) -> list[Item]:
    """Return the messages of buffered turns; of a long slice only what a payload can hold."""
    ids = [entry.turn_id for entry in entries]
    cap = None
    if sum(entry.size for entry in entries) > MAX_PAYLOAD_BYTES:
        cap = 32_768 if len(entries) <= _FEW else 2_048
    made: dict[int, Link] = {}
    answered: dict[int, Link] = {}
    for link in skill_buffers.links(connection, ids):
        if link.turn_id is not None:
            made[link.turn_id] = link
        if link.result_id is not None:
            answered[link.result_id] = link
    compressed = {entry.turn_id for entry in entries if entry.is_compressed}
    items = []
    for start in range(0, len(ids), _LOAD_AT_ONCE):
        for row in turns.load(connection, ids[start : start + _LOAD_AT_ONCE]):
            kept = normalise(row.kind, row.speaker, row.text).text
            text = kept or ""
            item = Item(
                row.id, row.kind, cut(text, cap), row.trust, event_ms=row.event_ms,
                is_compressed=row.id in compressed,
            )  # fmt: skip
            tied = made if row.kind == "tool_call" else answered
            tie = tied.get(row.id)
            if tie is not None:
                item.name, item.call_id, item.parent_id = tie.name, tie.call_id, tie.parent_id
            if tie is not None and row.kind == "tool_call":
                item.outcome, item.batch, item.is_object = tie.outcome, tie.batch, tie.is_object
            elif tie is not None:
                item.answers, item.is_error = tie.turn_id, tie.outcome == "error"
            items.append(item)
    return items


def to_archive(row: ArchiveRow, task: int | None) -> Archive:
    """Return the public value of a row."""
    return Archive(
        id=f"archive:{row.id}",
        session=row.session,
        owner=row.owner,
        scope=row.scope,
        reason=row.reason,  # type: ignore[arg-type]  # the table holds no other
        task=None if task is None else f"task:{task}",
        tool_calls=row.calls,
        messages=row.messages,
        bytes=row.size,
        payload_bytes=row.payload_size,
        omitted=_omitted(row),
        digest=row.digest.hex(),
        intent=row.intent,
        created=from_ms(row.created_ms),
    )


def _omitted(row: ArchiveRow) -> Omitted:
    return Omitted(messages=row.omitted_messages, bytes=row.omitted_bytes, shortened=row.shortened)


def load_view(opened: Opened, options: SkillOptions, scope: str, number: int) -> ArchiveView:
    """Return an archive as a reviewer reads it, checked against its digest.

    Raises:
        NotFoundError: No such archive in this scope.
        ArchiveError: The payload is missing or damaged, or its store is not at hand.
    """
    with opened.database.read() as connection:
        row = skill_archives.load(connection, number)
        if row is None or not contains(scope, row.scope):
            raise NotFoundError(f"archive:{number} does not exist in this scope")
        content = _content(connection, row, options)
        messages = tuple(map(_in_utf8, read(content)))
        calls = _calls(connection, messages)
    return ArchiveView(
        id=f"archive:{row.id}",
        session=row.session,
        owner=row.owner,
        scope=row.scope,
        reason=row.reason,  # type: ignore[arg-type]
        messages=messages,
        calls=calls,
        succeeded=None if row.succeeded is None else bool(row.succeeded),
        intent=row.intent,
        omitted=_omitted(row),
        created=from_ms(row.created_ms),
    )


def _in_utf8(message: ArchiveMessage) -> ArchiveMessage:
    """Return a message that any reviewer can encode: U+FFFD stands for each lone surrogate."""
    texts: dict[str, Any] = {
        name: _SURROGATE.sub("\ufffd", value)
        for name in ("text", "name", "call_id", "parent_id")
        if (value := getattr(message, name)) is not None
    }
    return replace(message, **texts)


def _content(connection: apsw.Connection, row: ArchiveRow, options: SkillOptions) -> bytes:
    name = f"archive:{row.id}"
    if row.location is None:
        try:
            content = skill_archives.content_of(connection, row.id)
        except CorruptStoreError as error:
            raise ArchiveError(f"{name} is damaged: {error}; restore a backup") from error
    elif options.archives is None:
        raise ArchiveError(
            f"{name} lies in an external archive store; open the skills with configure(archives=…)"
        )
    else:
        try:
            content = options.archives.get(row.location)
        except Exception as error:
            raise ArchiveError(
                f"{name} can't be read from its archive store: {error!r}; put {row.location} back"
            ) from error
    if not isinstance(content, bytes) or sha256(content).digest() != row.digest:
        raise ArchiveError(
            f"{name} is damaged: its payload is not what was archived; restore it from a backup"
        )
    return content


def _calls(
    connection: apsw.Connection, messages: Sequence[ArchiveMessage]
) -> tuple[ArchiveCall, ...]:
    """Pair the calls of a payload with their results; those that came later are read from L0."""
    results: dict[str, ArchiveMessage] = {}
    for message in messages:
        if message.role == "tool_result" and message.answers is not None:
            results.setdefault(message.answers, message)
    calls = []
    for place, message in enumerate(messages):
        if message.role != "tool_call":
            continue
        result = results.get(message.source or "")
        call = ArchiveCall(
            name=message.name or "",
            arguments=_arguments(message),
            result=None if result is None else result.text,
            outcome=message.outcome or "pending",
            place=place,
            source=message.source,
            result_source=None if result is None else result.source,
            call_id=message.call_id,
            batch=message.batch,
            parent_id=message.parent_id,
        )
        calls.append(call if result is not None else _late(connection, call))
    return tuple(calls)


def _arguments(message: ArchiveMessage) -> dict[str, Any] | str:
    import json

    if message.is_object and not message.is_shortened:
        try:
            value = json.loads(message.text)
            if "\\u" in message.text:
                plain = json.dumps(value, ensure_ascii=False)
                value = json.loads(_SURROGATE.sub("\ufffd", plain))
        except (ValueError, RecursionError):
            return message.text
        if isinstance(value, dict):
            return value
    return message.text


def _late(connection: apsw.Connection, call: ArchiveCall) -> ArchiveCall:
    """Complete a call whose result was not there yet when the archive was made."""
    if call.source is None:
        return call
    row = tool_calls.by_turn(connection, parse_id(call.source)[1])
    if row is None or row.result_id is None:
        return call
    outcome: Any = row.outcome
    for turn in turns.load(connection, [row.result_id]):
        kept: Text = cut(normalise(turn.kind, turn.speaker, turn.text).text or "", _LATE_BYTES)
        text = _SURROGATE.sub("\ufffd", str(kept))
        return replace(call, result=text, outcome=outcome, result_source=format_id(0, turn.id))
    return call
