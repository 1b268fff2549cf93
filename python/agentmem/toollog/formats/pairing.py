"""Calls and results, paired.

The rules:

- Calls keep the order of their call records; nothing is reordered by time.
- A result goes to the latest open call of its id; among calls of one message with the same id,
  to the first one.
- The first result of a call wins; a further one is named in a warning and adds no call.
- A result whose call is unknown so far is a call named ``"?"`` where it stands.
- A call without a result is pending if nothing follows; if the log went on it has failed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterator
from dataclasses import dataclass

from agentmem.toollog.formats.parts import RUN, UNKNOWN_TOOL, Context, Part
from agentmem.toollog.models import ToolCall, call_of

_NOTHING = object()


@dataclass(slots=True)
class _Stream:
    """The state of one agent: the main one, or one sub-agent."""

    turn: int = 0
    key: object = _NOTHING
    number: int = -1


@dataclass(slots=True)
class _Entry:
    call: Part
    batch: int
    stream: _Stream
    turn: int
    result: Part | None = None


class Batches:
    """Numbers the batches of a log: which calls were made together, and after which turn.

    Args:
        first: Number of the first batch.
    """

    def __init__(self, first: int = 0) -> None:
        self._streams: dict[str | None, _Stream] = {}
        self.next = first

    def note(self, part: Part) -> _Stream | None:
        """Take the next part; return the state of its agent, None if it changes nothing."""
        role = part.role
        if role in ("other", "system"):
            return None
        stream = self._streams.get(part.parent_id)
        if stream is None:
            stream = self._streams[part.parent_id] = _Stream()
        if role == "tool_call":
            if part.batch is None or part.batch != stream.key:
                stream.key = part.batch if part.batch is not None else _NOTHING
                self.alone(stream)
        elif role == "tool_result":
            if stream.key is RUN:
                stream.key = _NOTHING
        elif part.batch is None or part.batch != stream.key:
            stream.turn += 1
            stream.key = _NOTHING
        return stream

    def alone(self, stream: _Stream) -> int:
        """Start a batch; return its number."""
        stream.turn += 1
        stream.number = self.next
        self.next += 1
        return stream.number


class Pairing:
    """Pairs the parts of one log.

    Args:
        context: Where warnings go.
        batches: Numbers the batches of the whole input.
    """

    def __init__(self, context: Context, batches: Batches) -> None:
        self._context = context
        self._batches = batches
        self._entries: deque[_Entry] = deque()
        # By key, one queue for each batch that still waits, the latest last.
        self._open: dict[Hashable, deque[deque[_Entry]]] = {}
        self._closed: set[Hashable] = set()

    def feed(self, part: Part) -> None:
        """Take the next part of the log."""
        stream = self._batches.note(part)
        if stream is None:
            return
        if part.role == "tool_call":
            self._call(part, stream)
        elif part.role == "tool_result":
            self._result(part, stream)

    def _call(self, part: Part, stream: _Stream) -> None:
        # A waiting part must not hold its record: that is the whole line.
        part.record = None
        entry = _Entry(part, stream.number, stream, stream.turn)
        self._entries.append(entry)
        key = part.key if part.key is not None else part.call_id
        waiting = self._open.get(key)
        if waiting is None:
            self._open[key] = deque((deque((entry,)),))
        elif waiting[-1][0].batch == entry.batch:
            waiting[-1].append(entry)
        else:
            waiting.append(deque((entry,)))

    def _result(self, part: Part, stream: _Stream) -> None:
        line = part.record.line if part.record is not None else None
        part.record = None
        key = part.key if part.key is not None else part.call_id
        waiting = self._open.get(key)
        if not waiting:
            if key is not None and key in self._closed:
                self._context.warn(
                    f"a second result for the call {part.call_id!r} adds no call", line
                )
                return
            self._orphan(part, stream)
            return
        latest = waiting[-1]
        latest.popleft().result = part
        if not latest:
            waiting.pop()
            if not waiting:
                del self._open[key]
        if key is not None:
            self._closed.add(key)

    def _orphan(self, part: Part, stream: _Stream) -> None:
        call = Part(
            "tool_call",
            name=UNKNOWN_TOOL,
            call_id=part.call_id,
            arguments={},
            parent_id=part.parent_id,
        )
        number = self._batches.alone(stream)
        self._entries.append(_Entry(call, number, stream, stream.turn, part))
        key = part.key if part.key is not None else part.call_id
        if key is not None:
            self._closed.add(key)

    def ready(self, window: int) -> Iterator[ToolCall]:
        """Yield the calls at the front that are settled, or have waited behind `window` calls."""
        entries = self._entries
        while entries and (entries[0].result is not None or len(entries) > window):
            entry = entries.popleft()
            if entry.result is None:
                self._give_up(entry)
            yield _tool_call(entry)

    def _give_up(self, entry: _Entry) -> None:
        key = entry.call.key if entry.call.key is not None else entry.call.call_id
        # The oldest entry of all is the oldest that waits for its key.
        waiting = self._open[key]
        waiting[0].popleft()
        if not waiting[0]:
            waiting.popleft()
            if not waiting:
                del self._open[key]
        if key is not None:
            self._closed.add(key)

    def finish(self) -> Iterator[ToolCall]:
        """Yield every call that is left, in order."""
        while self._entries:
            yield _tool_call(self._entries.popleft())


def _tool_call(entry: _Entry) -> ToolCall:
    call, result = entry.call, entry.result
    arguments = call.arguments if call.arguments is not None else {}
    if result is None:
        return call_of(
            call.name or "",
            arguments,
            None,
            entry.stream.turn > entry.turn,
            call.call_id,
            call.time,
            None,
            call.parent_id,
            entry.batch,
        )
    return call_of(
        call.name or "",
        arguments,
        result.text,
        result.is_error,
        call.call_id,
        call.time,
        result.time,
        call.parent_id,
        entry.batch,
    )
