"""Tool calls of captured sessions: which turn made each, which one answered it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from agentmem.store.payloads import decode_text, encode_text, unpack

if TYPE_CHECKING:
    import apsw

__all__ = [
    "CallRow",
    "CallText",
    "answer",
    "by_call_id",
    "by_number",
    "by_ref",
    "by_results",
    "by_turn",
    "fail",
    "insert_many",
    "is_known",
    "set_children",
    "texts",
    "waiting",
]


class CallRow(NamedTuple):
    """A row of the table."""

    session_id: int
    number: int
    ref: str
    turn_id: int | None
    result_id: int | None
    name: str
    call_id: str | None
    pairing: str | None
    parent_id: str | None
    is_object: bool
    batch: int
    outcome: str
    is_answered: bool
    children: int


class CallText(NamedTuple):
    """A call with its texts and times; ``result`` is None if none came."""

    row: CallRow
    arguments: str
    result: str | None
    started_ms: int | None
    ended_ms: int | None


_COLUMNS = (
    "tool_calls.session_id, number, ref, turn_id, result_id, name, call_id, pairing, parent_id, is_object, "
    "batch, outcome, is_answered, children"
)


def _outgoing(text: str | None) -> str | bytes | None:
    if text is None:
        return None
    try:
        text.encode()
    except UnicodeEncodeError:
        return encode_text(text)
    return text


def _incoming(value: str | bytes | None) -> str | None:
    return decode_text(value) if isinstance(value, bytes) else value


def _row(values: Sequence[Any]) -> CallRow:
    (session_id, number, ref, turn_id, result_id, name, call_id, pairing, parent_id, is_object, batch,
     outcome, is_answered, children) = values  # fmt: skip
    return CallRow(
        session_id, number, ref, turn_id, result_id, _incoming(name) or "", _incoming(call_id),
        _incoming(pairing), _incoming(parent_id), bool(is_object), batch, outcome, bool(is_answered), children,
    )  # fmt: skip


def insert_many(connection: apsw.Connection, rows: Iterable[CallRow]) -> None:
    """Insert rows."""
    connection.executemany(
        "INSERT INTO tool_calls (session_id, number, ref, turn_id, result_id, name, call_id, "
        "pairing, parent_id, is_object, batch, outcome, is_answered, children) "
        "VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
        [
            row._replace(
                name=_outgoing(row.name),  # type: ignore[arg-type]  # as the column holds it
                call_id=_outgoing(row.call_id),  # type: ignore[arg-type]
                pairing=_outgoing(row.pairing),  # type: ignore[arg-type]
                parent_id=_outgoing(row.parent_id),  # type: ignore[arg-type]
            )
            for row in rows
        ],
    )


def _select(connection: apsw.Connection, condition: str, bindings: Sequence[Any]) -> list[CallRow]:
    cursor = connection.execute(f"SELECT {_COLUMNS} FROM tool_calls WHERE {condition}", bindings)
    return [_row(row) for row in cursor]


def waiting(connection: apsw.Connection, session_id: int, limit: int) -> list[CallRow]:
    """Return the newest calls of a session without a result, in order."""
    condition = "session_id = ? AND is_answered = 0 ORDER BY number DESC LIMIT ?"
    return _select(connection, condition, (session_id, limit))[::-1]


def by_call_id(connection: apsw.Connection, session_id: int, call_id: str) -> CallRow | None:
    """Return the latest call of a host's id."""
    condition = "session_id = ? AND call_id = ? ORDER BY number DESC LIMIT 1"
    return next(iter(_select(connection, condition, (session_id, _outgoing(call_id)))), None)


def is_known(connection: apsw.Connection, session_id: int, pairing: str) -> bool:
    """Whether any call of a session has this pairing key."""
    return (
        connection.execute(
            "SELECT 1 FROM tool_calls WHERE session_id = ? AND pairing = ? LIMIT 1",
            (session_id, _outgoing(pairing)),
        ).fetchone()
        is not None
    )


def by_number(connection: apsw.Connection, session_id: int, number: int) -> CallRow | None:
    """Return a call by its place in the session."""
    return next(
        iter(_select(connection, "session_id = ? AND number = ?", (session_id, number))), None
    )


def by_ref(connection: apsw.Connection, session_id: int, ref: str) -> CallRow | None:
    """Return the call of a ref such as ``c7`` or ``c7_3``."""
    return next(iter(_select(connection, "session_id = ? AND ref = ?", (session_id, ref))), None)


def by_turn(connection: apsw.Connection, turn_id: int) -> CallRow | None:
    """Return the call that a turn made."""
    return next(iter(_select(connection, "turn_id = ?", (turn_id,))), None)


def by_results(connection: apsw.Connection, turn_ids: Sequence[int]) -> dict[int, CallRow]:
    """Return, by turn, the calls that these turns answered."""
    condition = "result_id IN (SELECT value FROM json_each(?))"
    rows = _select(connection, condition, (json.dumps(list(turn_ids)),))
    return {row.result_id: row for row in rows if row.result_id is not None}


def answer(
    connection: apsw.Connection, session_id: int, number: int, result_id: int, outcome: str
) -> None:
    """Give a call its result."""
    connection.execute(
        "UPDATE tool_calls SET result_id = ?, outcome = ?, is_answered = 1 "
        "WHERE session_id = ? AND number = ?",
        (result_id, outcome, session_id, number),
    )


def fail(connection: apsw.Connection, session_id: int, numbers: Iterable[int]) -> None:
    """Mark calls that the log went on without as failed."""
    connection.executemany(
        "UPDATE tool_calls SET outcome = 'error' WHERE session_id = ? AND number = ? "
        "AND is_answered = 0",
        [(session_id, number) for number in numbers],
    )


def set_children(
    connection: apsw.Connection, session_id: int, counts: Iterable[tuple[int, int]]
) -> None:
    """Write how many calls the sub-agents of calls have made: ``(number, count)``."""
    connection.executemany(
        "UPDATE tool_calls SET children = ? WHERE session_id = ? AND number = ?",
        [(count, session_id, number) for number, count in counts],
    )


def texts(
    connection: apsw.Connection, session_id: int, *, after: int, until: int
) -> list[CallText]:
    """Return the calls with numbers in ``after < number <= until``, with their texts."""
    cursor = connection.execute(
        f"SELECT {_COLUMNS}, made.text, made.event_ms, long.is_compressed, long.size, "
        "long.content, came.text, came.event_ms, wide.is_compressed, wide.size, wide.content "
        "FROM tool_calls LEFT JOIN turns AS made ON made.id = tool_calls.turn_id "
        "LEFT JOIN payloads AS long ON long.id = made.text_id "
        "LEFT JOIN turns AS came ON came.id = tool_calls.result_id "
        "LEFT JOIN payloads AS wide ON wide.id = came.text_id "
        "WHERE tool_calls.session_id = ? AND number > ? AND number <= ? ORDER BY number",
        (session_id, after, until),
    )
    found = []
    for values in cursor:
        row = _row(values[:14])
        arguments, started, *packed_arguments = values[14:19]
        result, ended, *packed_result = values[19:24]
        if packed_arguments[2] is not None:
            arguments = decode_text(unpack(*packed_arguments))
        if packed_result[2] is not None:
            result = decode_text(unpack(*packed_result))
        if result is None and row.is_answered:
            result = ""  # it was forgotten; that it came stays true
        found.append(CallText(row, arguments or "", result, started, ended))
    return found
