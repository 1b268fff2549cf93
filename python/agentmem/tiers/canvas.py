"""The canvas of a captured session, and the way back from it to every byte."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from agentmem.errors import InvalidInputError, NotFoundError
from agentmem.models import from_ms, parse_id
from agentmem.store import sessions, tool_calls, turns
from agentmem.tiers.capture import check_session
from agentmem.tiers.trace import require
from agentmem.toollog.canvas import Canvas, CanvasBuilder
from agentmem.toollog.expand import Lines, check_cut, cut
from agentmem.toollog.models import ToolCall

if TYPE_CHECKING:
    import apsw

    from agentmem.opened import Opened
    from agentmem.store.sessions import SessionRow
    from agentmem.store.tool_calls import CallRow, CallText
    from agentmem.toollog.canvas import Level

__all__ = ["Part", "canvas", "drawn_until", "expand", "the_session"]

Part = Literal["result", "arguments", "record"]
PARTS: Final = ("result", "arguments", "record")
SHOWN: Final = 10
KEPT: Final = 8
"""Sessions whose canvas is kept ready in a process."""

_REF = re.compile(r"c[1-9][0-9]{0,9}(?:_[1-9][0-9]{0,9})*")


@dataclass
class _Ready:
    """What a process remembers of a session: its settled calls, read once."""

    rewrites: int
    revision: int = -1
    builder: CanvasBuilder = field(default_factory=CanvasBuilder)
    calls: list[ToolCall] = field(default_factory=list)
    canvas: Canvas | None = None


def the_session(connection: apsw.Connection, scope: str, name: str) -> SessionRow:
    """Return the session of a name: this scope's own, else the only one below it.

    Raises:
        NotFoundError: There is none.
        InvalidInputError: There are several below, none here.
    """
    found = sessions.find(connection, scope, check_session(name))
    if not found:
        known = sessions.names(connection, scope, SHOWN)
        hint = f"; the latest are {', '.join(map(repr, known))}" if known else ""
        raise NotFoundError(f"there is no captured session {name!r} in scope {scope!r}{hint}")
    if found[0].scope == scope or len(found) == 1:
        return found[0]
    places = ", ".join(repr(row.scope) for row in found[:SHOWN])
    raise InvalidInputError(
        f"session: {name!r} exists in the scopes {places}; use memory.scoped() for one of them"
    )


def tool_call(text: CallText) -> ToolCall:
    """Return a stored call as the host made it."""
    arguments: dict[str, Any] | str = text.arguments
    if text.row.is_object:
        try:
            arguments = json.loads(text.arguments) if text.arguments else {}
        except ValueError:
            arguments = text.arguments
    row = text.row
    return ToolCall(
        row.name,
        arguments if isinstance(arguments, dict) else text.arguments,
        text.result,
        row.outcome == "error",
        row.call_id,
        None if text.started_ms is None else from_ms(text.started_ms),
        None if text.ended_ms is None else from_ms(text.ended_ms),
        row.parent_id,
        row.batch,
    )


def _is_settled(row: CallRow) -> bool:
    return row.is_answered or row.outcome == "error"


def _ready(opened: Opened, kind: str, session: SessionRow) -> _Ready:
    """Return what is known of a session; nothing if a call that was read has changed since."""
    cache = opened.cache
    key = (kind, session.id)
    ready = cache.pop(key, None)
    if not isinstance(ready, _Ready) or ready.rewrites != session.rewrites:
        ready = _Ready(session.rewrites)
    cache[key] = ready
    while len(cache) > KEPT:
        cache.pop(next(iter(cache)))
    return ready


def _append(ready: _Ready, texts: Iterable[CallText]) -> list[ToolCall]:
    """Read settled calls into the builder, up to the first that still waits; return the rest."""
    rest: list[ToolCall] = []
    settled: list[ToolCall] = []
    for text in texts:
        (rest if rest or not _is_settled(text.row) else settled).append(tool_call(text))
    ready.builder.append(settled)
    ready.calls += settled
    return rest


def canvas(opened: Opened, scope: str, session: str) -> Canvas:
    """Return the canvas of all calls of a session.

    Raises:
        NotFoundError: There is no such session.
    """
    opened.check()
    with opened.cache_lock:
        with opened.database.read() as connection:
            row = the_session(connection, scope, session)
            ready = _ready(opened, "canvas", row)
            if ready.canvas is not None and ready.revision == row.revision:
                return ready.canvas
            texts = tool_calls.texts(connection, row.id, after=len(ready.calls), until=row.calls)
        rest = _append(ready, texts)
        builder = ready.builder
        if rest:
            # Calls without a result yet: the next canvas has to read them again.
            builder = builder.copy()
            builder.append(rest)
        ready.canvas, ready.revision = builder.canvas(), row.revision
        return ready.canvas


def drawn_until(opened: Opened, session: SessionRow, number: int, level: Level) -> str:
    """Return the diagram of a session's first calls, without what the calls in a prompt say."""
    with opened.cache_lock:
        ready = _ready(opened, "compact", session)
        if len(ready.calls) > number:
            ready = _Ready(session.rewrites)
        with opened.database.read() as connection:
            texts = tool_calls.texts(connection, session.id, after=len(ready.calls), until=number)
        rest = _append(ready, texts)
        builder = ready.builder
        if rest:
            builder = builder.copy()
            builder.append(rest)
        return builder.canvas(level=level, with_arguments=False).text


def expand(
    opened: Opened,
    scope: str,
    ref: str,
    *,
    session: str | None,
    part: Part,
    lines: Lines | None,
    grep: str | None,
    max_tokens: int | None,
) -> str:
    """Return what a ref of a canvas, or an L0 id, stands for.

    Raises:
        InvalidInputError: The ref is none, or it is of several sessions and none is named.
        NotFoundError: It does not exist in this scope.
    """
    opened.check()
    check_cut(lines, grep, max_tokens)
    if part not in PARTS:
        raise InvalidInputError(f"part: {', '.join(PARTS)} are allowed, not {part!r}")
    if isinstance(ref, str) and ref.startswith("L0:"):
        _, number = parse_id(ref, argument="ref")
        with opened.database.read() as connection:
            text = _of_turn(connection, scope, number, part)
    elif isinstance(ref, str) and _REF.fullmatch(ref):
        with opened.database.read() as connection:
            text = _of_call(connection, _one_session(connection, scope, session), ref, part)
    else:
        raise InvalidInputError(
            f"ref: a ref of a canvas such as 'c31' or 'c7_3', or an id such as 'L0:12', is needed, "
            f"{ref!r} was given"
        )
    return cut(text, lines=lines, grep=grep, max_tokens=max_tokens)


def _of_turn(connection: apsw.Connection, scope: str, number: int, part: Part) -> str:
    turn = require(connection, scope, 0, number)
    if part == "record":
        return _record(connection, number)
    return str(turn.text)


def _record(connection: apsw.Connection, turn_id: int) -> str:
    raw = turns.record_bytes(connection, turn_id)
    if raw is None:
        raise NotFoundError(f"L0:{turn_id} has no record of a host: it was not captured from one")
    return raw.decode("utf-8", "surrogateescape")


def _one_session(connection: apsw.Connection, scope: str, name: str | None) -> SessionRow:
    if name is not None:
        return the_session(connection, scope, name)
    found = [row for row in sessions.find(connection, scope, None) if row.calls]
    if len(found) == 1:
        return found[0]
    if not found:
        raise NotFoundError(f"there is no captured session with tool calls in scope {scope!r}")
    known: Sequence[str] = sessions.names(connection, scope, SHOWN)
    more = ", …" if len(found) > len(known) else ""
    raise InvalidInputError(
        f"session: there are {len(found)} with tool calls, name one: "
        f"{', '.join(map(repr, known))}{more}"
    )


def _of_call(connection: apsw.Connection, session: SessionRow, ref: str, part: Part) -> str:
    call = tool_calls.by_ref(connection, session.id, ref)
    if call is None:
        raise NotFoundError(
            f"session {session.name!r} has no call {ref}; it has {session.calls} calls, the "
            f"top ones c1 to c{session.top_calls}"
        )
    if part == "record":
        turn = call.result_id if call.result_id is not None else call.turn_id
        if turn is None:
            raise NotFoundError(f"{ref} of session {session.name!r} was forgotten")
        return _record(connection, turn)
    is_gone = call.turn_id is None if part == "arguments" else call.result_id is None
    if is_gone and (part == "arguments" or call.is_answered):
        raise NotFoundError(f"the {part} of {ref} of session {session.name!r} was forgotten")
    (text,) = tool_calls.texts(connection, session.id, after=call.number - 1, until=call.number)
    return text.arguments if part == "arguments" else text.result or ""
