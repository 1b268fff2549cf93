"""From a host's messages to records that can be written: redacted, and with a digest each."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from agentmem._native import redact, redact_many
from agentmem.models import to_ms
from agentmem.store.payloads import encode_text
from agentmem.toollog.models import Message

__all__ = ["PIECE_ROWS", "Part", "Record", "arguments_text", "pieces", "prepare"]

PIECE_ROWS: Final = 2_000
_PIECE_BYTES: Final = 32 << 20

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str).encode


class Part(NamedTuple):
    """One turn that is to be."""

    kind: str
    text: str
    name: str | None
    call_id: str | None
    pairing: str | None
    is_object: bool
    is_error: bool
    parent_id: str | None
    batch: int | None
    speaker: str | None
    event_ms: int | None
    offset_min: int | None = None


class Record(NamedTuple):
    """One message of a host with its parts.

    ``digest`` stands for what the parts say, who said it and when, not for the host's bookkeeping
    around them: hosts move cache marks and add usage figures between two calls.
    """

    digest: int
    client_id: str | None
    parts: tuple[Part, ...]
    raw: bytes
    redacted: Counter[str]


def arguments_text(arguments: dict[str, Any] | str | None) -> str:
    """Return a call's arguments as text: compact JSON of an object, or the host's own text."""
    if isinstance(arguments, str):
        return arguments
    return _encode(arguments or {})


def pieces(messages: Iterable[Message]) -> Iterator[list[list[Message]]]:
    """Yield the messages by record, in pieces that are one write each."""
    piece: list[list[Message]] = []
    rows = size = 0
    last = None
    for message in messages:
        if message.record == last:
            piece[-1].append(message)
            rows += 1
            continue
        size += len(message.raw)
        if piece and (rows >= PIECE_ROWS or size > _PIECE_BYTES):
            yield piece
            piece, rows, size = [], 0, len(message.raw)
        piece.append([message])
        last = message.record
        rows += 1
    if piece:
        yield piece


def prepare(
    group: list[Message],
    *,
    is_redacting: bool,
    original: Callable[[Message], tuple[str, bool] | None],
) -> Record:
    """Return one record, redacted and digested.

    Args:
        group: The messages of one record of the host.
        is_redacting: Whether secrets are replaced.
        original: For a result that is a placeholder of ours, the text and error flag that it
            stands for; None for any other.
    """
    parts = [_part(message, original) for message in group]
    raw = group[0].raw
    found: Counter[str] = Counter()
    if is_redacting:
        parts, raw, found = _redacted(parts, raw)
    return Record(_digest(group[0].client_id, parts), group[0].client_id, tuple(parts), raw, found)


def _part(message: Message, original: Callable[[Message], tuple[str, bool] | None]) -> Part:
    text, is_error, is_object = message.text, message.is_error, False
    if message.role == "tool_call":
        text = arguments_text(message.arguments)
        is_object = not isinstance(message.arguments, str)
    elif message.role == "tool_result":
        stands_for = original(message)
        if stands_for is not None:
            text, is_error = stands_for
    pairing = message.pairing if message.pairing is not None else message.call_id
    return Part(
        message.role, text, message.name, message.call_id, pairing, is_object, is_error,
        message.parent_id, message.batch, message.speaker,
        None if message.time is None else to_ms(message.time, argument="time"),
        _offset(message.time),
    )  # fmt: skip


def _offset(time: datetime | None) -> int | None:
    """Return the zone of a time that is not UTC's, in minutes east."""
    if time is None or time.tzinfo is UTC:
        return None
    offset = time.utcoffset()
    return None if not offset else round(offset.total_seconds() / 60)


def _digest(client_id: str | None, parts: Iterable[Part]) -> int:
    from hashlib import blake2b

    hasher = blake2b(digest_size=8)
    fields: list[str | None] = [client_id]
    for part in parts:
        time = None if part.event_ms is None else str(part.event_ms)
        flag = "1" if part.is_error else ""
        fields += [part.kind, part.speaker, part.name, part.call_id, part.pairing, flag, time,
                   part.text]  # fmt: skip
    for value in fields:
        if value is None:
            hasher.update(b"\xff")
        else:
            content = encode_text(value)
            hasher.update(len(content).to_bytes(8, "little"))
            hasher.update(content)
    return int.from_bytes(hasher.digest(), "big", signed=True)


def _redacted(parts: list[Part], raw: bytes) -> tuple[list[Part], bytes, Counter[str]]:
    found: Counter[str] = Counter()
    record = raw.decode("utf-8", "surrogateescape")
    texts = [part.text for part in parts]
    hits = redact_many([*texts, record])
    if not hits and "PRIVATE KEY" not in record:
        return parts, raw, found
    for index, text, spans in hits:
        if index < len(parts):
            found.update(kind for _, _, kind in spans)
            part = parts[index]
            parts[index] = part._replace(
                text=_redacted_json(part.text)[0] if part.is_object else text
            )
    clean, more = _redacted_json(record)
    if not found:
        found.update(more)
    return (
        parts,
        clean.encode("utf-8", "surrogateescape" if clean == record else "surrogatepass"),
        found,
    )


def _redacted_json(text: str) -> tuple[str, list[str]]:
    """Redact each string of a JSON text, then the whole, which may show what a name gives away."""
    kinds: list[str] = []

    def walk(value: Any) -> Any:
        if isinstance(value, str):
            clean, spans = redact(value)
            kinds.extend(kind for _, _, kind in spans)
            return clean
        if isinstance(value, list):
            return [walk(item) for item in value]
        if isinstance(value, dict):
            return {walk(key): walk(item) for key, item in value.items()}
        return value

    try:
        value = json.loads(text)
        inner = walk(value)
    except (ValueError, RecursionError):
        clean, spans = redact(text)
        return clean, [kind for _, _, kind in spans]
    whole = _encode(inner) if kinds else text
    clean, spans = redact(whole)
    kinds += [kind for _, _, kind in spans]
    return clean, kinds
