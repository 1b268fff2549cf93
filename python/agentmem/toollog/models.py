"""What a tool log is made of: calls, and the messages that they stand in."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Final, Literal

from agentmem.errors import InvalidInputError

__all__ = ["Message", "Outcome", "Role", "ToolCall", "ToolLogWarning"]

Outcome = Literal["ok", "error", "pending"]
_BATCH_BOUND: Final = 1 << 63
Role = Literal["user", "assistant", "system", "tool_call", "tool_result", "other"]


class ToolLogWarning(UserWarning):
    """A record of a tool log was skipped or repaired; everything else was read.

    Attributes:
        reason: What was wrong and what was done about it.
        file: The file, None for a log given in memory.
        line: 1-based line (JSONL) or record number, None where neither is known.
    """

    def __init__(self, reason: str, *, file: str | None = None, line: int | None = None) -> None:
        place = "".join((f"{file}: " if file else "", f"line {line}: " if line else ""))
        super().__init__(place + reason)
        self.reason = reason
        self.file = file
        self.line = line


def _check_time(field: str, time: object) -> None:
    if not isinstance(time, datetime):
        raise InvalidInputError(f"{field} must be a datetime or None, not {type(time).__name__}")
    if time.tzinfo is None:
        raise InvalidInputError(f"{field} must be timezone-aware, {time!r} is not")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool and what came back.

    Attributes:
        name: The tool, as the host wrote it; ``"?"`` for a result whose call is unknown.
        arguments: The arguments as a mapping, or the raw text where they are not a JSON object.
        result: The result as text; None if none came. An empty result is ``""``.
        is_error: The host, or the result itself, says that the call failed. True with
            ``result=None`` means that the log went on and no result ever came.
        id: The host's id of the call; not always unique within a log.
        started: When the call was made, timezone-aware.
        ended: When the result came, timezone-aware.
        parent_id: The ``id`` of the call that started the sub-agent which made this call.
        batch: Calls of one assistant message share a number. None means that nothing is known,
            and the call stands alone.

    Raises:
        InvalidInputError: A field has the wrong type, or a time has no timezone.
    """

    name: str
    arguments: dict[str, Any] | str
    result: str | None
    is_error: bool = False
    id: str | None = None
    started: datetime | None = None
    ended: datetime | None = None
    parent_id: str | None = None
    batch: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise InvalidInputError(f"name must be a str, not {type(self.name).__name__}")
        if not isinstance(self.arguments, (dict, str)):
            raise InvalidInputError(
                f"arguments must be a dict or a str, not {type(self.arguments).__name__}"
            )
        if not (self.result is None or isinstance(self.result, str)):
            raise InvalidInputError(
                f"result must be a str or None, not {type(self.result).__name__}"
            )
        if not isinstance(self.is_error, bool):
            raise InvalidInputError(f"is_error must be a bool, not {type(self.is_error).__name__}")
        if not (self.id is None or isinstance(self.id, str)):
            raise InvalidInputError(f"id must be a str or None, not {type(self.id).__name__}")
        if not (self.parent_id is None or isinstance(self.parent_id, str)):
            found = type(self.parent_id).__name__
            raise InvalidInputError(f"parent_id must be a str or None, not {found}")
        if self.started is not None:
            _check_time("started", self.started)
        if self.ended is not None:
            _check_time("ended", self.ended)
        batch = self.batch
        if batch is not None:
            if not isinstance(batch, int) or isinstance(batch, bool):
                raise InvalidInputError(f"batch must be an int or None, not {type(batch).__name__}")
            if not -_BATCH_BOUND <= batch < _BATCH_BOUND:
                raise InvalidInputError(f"batch must fit into 64 bits, {batch!r} does not")

    @property
    def outcome(self) -> Outcome:
        """``"error"`` if the call failed, ``"pending"`` if no result came yet, else ``"ok"``."""
        if self.is_error:
            return "error"
        return "pending" if self.result is None else "ok"


_SETTERS: Final = tuple(getattr(ToolCall, field.name).__set__ for field in fields(ToolCall))


def call_of(*values: object) -> ToolCall:
    """Return a call of values whose types are settled: to check them takes longer than to read them.

    Args:
        values: The fields of `ToolCall`, all of them, in order.
    """
    call = object.__new__(ToolCall)
    for set_field, value in zip(_SETTERS, values, strict=True):
        set_field(call, value)
    return call


@dataclass(frozen=True, slots=True)
class Message:
    """One part of a host's log, the same for every host.

    A record with several parts (text and two calls, say) gives several messages that share
    ``record`` and ``raw``.

    Attributes:
        role: Who speaks; ``"other"`` for bookkeeping that is kept but says nothing.
        text: The words, the result of a tool, or the raw arguments where they are no object.
        name: The tool of a call, and of a result where the host names it.
        call_id: The host's id of the call that this part makes or answers.
        arguments: The arguments of a ``"tool_call"``; None otherwise.
        is_error: A ``"tool_result"`` that failed.
        client_id: The host's own id of the message.
        time: When it was written, timezone-aware.
        speaker: A name beyond the role, where the host gives one.
        parent_id: The id of the call that started the sub-agent which wrote this.
        batch: Number of the assistant message; calls made together share it.
        record: 0-based number of the host's record in the log.
        raw: The host's record as JSON bytes; the very bytes where the log was read from JSONL.
        pairing: What a result shares with its call, where that is not ``call_id``.
    """

    role: Role
    text: str
    name: str | None = None
    call_id: str | None = None
    arguments: dict[str, Any] | str | None = None
    is_error: bool = False
    client_id: str | None = None
    time: datetime | None = None
    speaker: str | None = None
    parent_id: str | None = None
    batch: int | None = None
    record: int = 0
    raw: bytes = b""
    pairing: str | None = None
