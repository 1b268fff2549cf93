"""The bounded text of an archive: JSON lines, at most 80 kB of UTF-8 whatever came in.

Long texts give way first: to head and tail, ever shorter, so that the calls of a long session
stay. Only then are messages left out, in the middle, never one half of a call and its result; a
placeholder says what stood there. What failed stays longest.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from agentmem.errors import ArchiveError
from agentmem.models import ArchiveMessage, Omitted, Trust, format_id, from_ms
from agentmem.skills.normalise import byte_size
from agentmem.skills.options import MAX_PAYLOAD_BYTES

__all__ = ["Item", "Payload", "Text", "build", "cut", "read"]

_LIMITS: Final = (32_768, 8_192, 2_048, 1_024, 512, 256)
_LEAST_WORDS: Final = 1_024
_MAX_ID_BYTES: Final = 200
_GAP_BYTES: Final = 200  # of a placeholder's line, with room
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_ROLES: Final = {"user", "assistant", "tool_call", "tool_result", "omission"}
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class Text:
    """A text, whole or cut: ``size`` is the UTF-8 bytes of the whole."""

    head: str
    tail: str
    size: int

    @property
    def left_out(self) -> int:
        """Bytes that are in neither part."""
        return self.size - byte_size(self.head) - byte_size(self.tail)

    def __str__(self) -> str:
        if not self.left_out:
            return self.head + self.tail
        return f"{self.head}\n[... {self.left_out:,} bytes left out ...]\n{self.tail}"


def cut(text: str | Text, limit: int | None) -> Text:
    """Return a text with at most ``limit`` bytes of it, half from each end, cut between characters."""
    if isinstance(text, str):
        text = Text(text, "", byte_size(text))
    if limit is None or text.size <= limit:
        return text
    half = limit // 2
    # A text that was cut before has its end in the tail.
    end = text.tail if text.left_out else text.head + text.tail
    return Text(_first(text.head if text.left_out else end, half), _last(end, half), text.size)


def _first(text: str, size: int) -> str:
    raw = text[:size].encode("utf-8", "surrogatepass")
    while size and size < len(raw) and raw[size] & 0xC0 == 0x80:  # noqa: PLR2004 - within a character
        size -= 1
    return raw[:size].decode("utf-8", "surrogatepass")


def _last(text: str, size: int) -> str:
    raw = text[-size:].encode("utf-8", "surrogatepass")
    start = max(0, len(raw) - size)
    while start < len(raw) and raw[start] & 0xC0 == 0x80:  # noqa: PLR2004
        start += 1
    return raw[start:].decode("utf-8", "surrogatepass")


@dataclass(slots=True)
class Item:
    """A message on its way into a payload.

    Attributes:
        source: The number of its L0 turn.
        answers: Of a result, the number of the turn that made its call.
        is_compressed: It came in one large add: a long tool text is shortened in any case.
    """

    source: int
    role: str
    text: Text
    trust: int
    name: str | None = None
    call_id: str | None = None
    answers: int | None = None
    outcome: str | None = None
    is_object: bool = False
    is_error: bool = False
    batch: int | None = None
    parent_id: str | None = None
    event_ms: int | None = None
    is_compressed: bool = False

    @property
    def is_tool(self) -> bool:
        """Whether it is a call or a result."""
        return self.role in ("tool_call", "tool_result")


@dataclass(frozen=True, slots=True)
class Payload:
    """The finished text with its SHA-256 and what it leaves out."""

    content: bytes
    digest: bytes
    omitted: Omitted


def _id(value: str | None) -> str | None:
    """Return a host's id or name, cut to a bounded one that is as unique."""
    if value is None or byte_size(value) <= _MAX_ID_BYTES:
        return value
    unique = sha256(value.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{_first(value, _MAX_ID_BYTES - 67)}..{unique}"


def _line(fields: dict[str, Any]) -> bytes:
    told = {key: value for key, value in fields.items() if value is not None and value is not False}
    text = _encode(told)
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text).encode() + b"\n"


def _item_line(item: Item, text: Text) -> bytes:
    return _line(
        {
            "role": item.role, "text": str(text), "source": item.source, "trust": item.trust,
            "name": _id(item.name), "call_id": _id(item.call_id), "answers": item.answers,
            "outcome": item.outcome, "is_object": item.is_object, "is_error": item.is_error,
            "batch": item.batch, "parent_id": _id(item.parent_id), "time_ms": item.event_ms,
            "is_shortened": text.left_out > 0,
        }
    )  # fmt: skip


def _gap_line(items: Sequence[Item]) -> bytes:
    calls = sum(item.role == "tool_call" for item in items)
    failures = sum(item.is_error or item.outcome == "error" for item in items)
    size = sum(item.text.size for item in items)
    text = f"[{len(items):,} messages left out here: {size:,} bytes, {calls:,} calls, {failures:,} failures]"
    return _line({"role": "omission", "text": text})


def build(items: Sequence[Item], *, shorten_bytes: int = 2_048) -> Payload:
    """Return the payload of a slice.

    Args:
        items: The messages in order; an omission is none of them.
        shorten_bytes: Tool texts over this, of items that are to be compressed, are shortened.
    """
    texts = [
        cut(item.text, shorten_bytes)
        if item.is_compressed and item.is_tool
        else cut(item.text, None)
        for item in items
    ]
    lines = [_item_line(item, text) for item, text in zip(items, texts, strict=True)]
    for limit in _LIMITS:
        if sum(map(len, lines)) <= MAX_PAYLOAD_BYTES:
            break
        for place, item in enumerate(items):
            most = limit if item.is_tool else max(limit, _LEAST_WORDS)
            if texts[place].size > most:
                texts[place] = cut(texts[place], most)
                lines[place] = _item_line(item, texts[place])
    kept = _fit(items, lines)
    content = b"".join(_with_gaps(items, lines, kept))
    shortened = [place for place in kept if texts[place].left_out]
    left = sum(item.text.size for item in items) - sum(
        texts[place].size - texts[place].left_out for place in kept
    )
    omitted = Omitted(messages=len(items) - len(kept), bytes=left, shortened=len(shortened))
    return Payload(content, sha256(content).digest(), omitted)


def _with_gaps(
    items: Sequence[Item], lines: Sequence[bytes], kept: Sequence[int]
) -> Iterable[bytes]:
    last = -1
    for place in (*kept, len(items)):
        if place > last + 1:
            yield _gap_line(items[last + 1 : place])
        if place < len(items):
            yield lines[place]
        last = place


def _units(items: Sequence[Item]) -> list[list[int]]:
    """Group the messages that only stay or go together: a call and its results."""
    units: list[list[int]] = []
    of_call: dict[int, list[int]] = {}
    for place, item in enumerate(items):
        unit = of_call.get(item.answers) if item.answers is not None else None
        if unit is None:
            unit = []
            units.append(unit)
        unit.append(place)
        if item.role == "tool_call":
            of_call[item.source] = unit
    return units


def _from_both_ends(units: Sequence[list[int]]) -> list[list[int]]:
    """Return the units as first, last, second, last but one and so on."""
    order = []
    for place in range((len(units) + 1) // 2):
        order.append(units[place])
        if place != len(units) - 1 - place:
            order.append(units[len(units) - 1 - place])
    return order


def _fit(items: Sequence[Item], lines: Sequence[bytes]) -> list[int]:
    """Return the places of the messages that stay, in order."""
    if sum(map(len, lines)) <= MAX_PAYLOAD_BYTES:
        return list(range(len(items)))
    units = _units(items)
    failures = [
        unit
        for unit in units
        if any(items[place].is_error or items[place].outcome == "error" for place in unit)
    ]
    calls = [unit for unit in units if any(items[place].is_tool for place in unit)]
    words = [unit for unit in units if not any(items[place].is_tool for place in unit)]
    chosen: dict[int, None] = {}
    used = 0
    # Shares of the whole: the ends first, then failures, calls, words; then whatever still fits.
    rounds = (
        ([*words[:1], units[-1]], 0.25),
        (failures[::-1], 0.5),
        (_from_both_ends(calls), 0.8),
        (_from_both_ends(words), 1.0),
        (failures[::-1], 1.0),
        (_from_both_ends(calls), 1.0),
    )
    for group, share in rounds:
        for unit in group:
            cost = sum(len(lines[place]) for place in unit) + _GAP_BYTES
            if unit[0] not in chosen and used + cost <= MAX_PAYLOAD_BYTES * share - _GAP_BYTES:
                used += cost
                chosen.update(dict.fromkeys(unit))
    return sorted(chosen)


def read(content: bytes) -> tuple[ArchiveMessage, ...]:
    """Return the messages of a payload.

    Raises:
        ArchiveError: It is no payload.
    """
    messages = []
    try:
        for line in content.decode().split("\n"):
            if not line:
                continue
            fields = json.loads(line)
            if fields["role"] not in _ROLES:
                raise ValueError(fields["role"])
            messages.append(_message(fields))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ArchiveError(f"an archive holds what is no message: {error}") from error
    return tuple(messages)


def _message(fields: dict[str, Any]) -> ArchiveMessage:
    source, answers, time_ms = fields.get("source"), fields.get("answers"), fields.get("time_ms")
    return ArchiveMessage(
        role=fields["role"],
        text=fields["text"],
        source=None if source is None else format_id(0, source),
        trust=Trust(fields.get("trust", Trust.TOOL)),
        name=fields.get("name"),
        call_id=fields.get("call_id"),
        answers=None if answers is None else format_id(0, answers),
        outcome=fields.get("outcome"),
        is_object=fields.get("is_object", False),
        is_error=fields.get("is_error", False),
        batch=fields.get("batch"),
        parent_id=fields.get("parent_id"),
        is_shortened=fields.get("is_shortened", False),
        time=None if time_ms is None else from_ms(time_ms),
    )
