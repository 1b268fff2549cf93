"""The one shape that every host's records are turned into, and the conversions they share.

A host module turns one record into `Part`s. Parts of role ``"tool_call"`` and ``"tool_result"``
are paired into calls (pairing.py); all of them together are the messages of the log.
"""

from __future__ import annotations

import json
import math
import re
import warnings
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import MAXYEAR, MINYEAR, UTC, datetime
from typing import Any, Final, NamedTuple, Protocol

import orjson

from agentmem.toollog.models import Role, ToolLogWarning

UNKNOWN_TOOL: Final = "?"
"""Name of a call that only its result speaks of."""

RUN: Final = object()
"""Batch key of hosts without one: calls with nothing between them were made together."""

WARNINGS_PER_LOG: Final = 20
"""Warnings of one log before the rest is only counted: a binary file has a bad line per line."""

_MILLISECONDS_FROM: Final = 1e11
"""Numbers from here on are Unix milliseconds: as seconds they would be after the year 5000."""

_KILO: Final = 1000

_FAILURE = re.compile(r"\s*(?:Error\b(?!\.)|<tool_use_error>|Exit code (?!0\b)-?\d)")
_DATA_URL = re.compile(r"data:([\w.+/-]*)[^,]{0,80},")


class Record(NamedTuple):
    """One record of a host's log.

    Attributes:
        line: 1-based line of a JSONL file, or number of the record.
        value: The decoded JSON.
        raw: The bytes it was decoded from; None for a record given as an object.
    """

    line: int
    value: Any
    raw: bytes | None = None


@dataclass(slots=True)
class Part:
    """One part of one record: words, a call, or a result.

    Attributes:
        key: What a result shares with its call; ``call_id`` where None.
        batch: What the calls of one assistant message share; None for a call alone.
    """

    role: Role
    text: str = ""
    name: str | None = None
    call_id: str | None = None
    arguments: dict[str, Any] | str | None = None
    is_error: bool = False
    client_id: str | None = None
    time: datetime | None = None
    speaker: str | None = None
    parent_id: str | None = None
    batch: object = None
    key: Hashable = None
    record: Record | None = None


TURN: Final = Part("assistant")
"""Stands for a message without calls where words are not wanted."""


@dataclass(slots=True)
class Context:
    """What a reading pass shares with the host modules.

    Attributes:
        words: True if the words are wanted; otherwise texts may stay empty.
        file: The file that is read, for warnings.
        links: Sub-agent id to the id of the call that started it.
        parent_id: The call that started the sub-agent whose file is read.
        quiet: True if nothing is to be warned about.
        warned: Warnings so far.
        known: Records that a host module took.
        unknown: Records that none took, the first on line `first_unknown`.
    """

    words: bool = True
    file: str | None = None
    links: dict[str, str] = field(default_factory=dict)
    parent_id: str | None = None
    quiet: bool = False
    warned: int = 0
    known: int = 0
    unknown: int = 0
    first_unknown: int | None = None

    def warn(self, reason: str, line: int | None = None) -> None:
        """Say what was skipped or repaired, up to `WARNINGS_PER_LOG` times a log."""
        if self.quiet:
            return
        self.warned += 1
        if self.warned < WARNINGS_PER_LOG:
            warnings.warn(ToolLogWarning(reason, file=self.file, line=line), stacklevel=2)
        elif self.warned == WARNINGS_PER_LOG:
            more = f"{reason}; further warnings about this log are left out"
            warnings.warn(ToolLogWarning(more, file=self.file, line=line), stacklevel=2)


class HostFormat(Protocol):
    """What a host module offers; state lives for one log."""

    def matches(self, value: dict[str, Any]) -> bool:
        """Return True if the record can only be this host's."""
        ...

    def parts(self, record: Record, context: Context) -> Iterable[Part]:
        """Turn one record into its parts, in order."""
        ...


def kind_of(value: dict[str, Any]) -> str:
    """Return a record's or block's ``type``; ``""`` where it is no text."""
    kind = value.get("type")
    return kind if isinstance(kind, str) else ""


def id_of(value: object) -> str | None:
    """Return a host's id as text; None where there is none."""
    if value is None or isinstance(value, str):
        return value or None
    if isinstance(value, (int, float)):
        return str(value)
    return dumps_text(value)


def name_of(value: object) -> str:
    """Return a tool's name as the host wrote it; `UNKNOWN_TOOL` where there is none."""
    return value if isinstance(value, str) else UNKNOWN_TOOL


def arguments_of(value: object) -> dict[str, Any] | str:
    """Return arguments as a mapping; text that is not a JSON object stays as it is."""
    if isinstance(value, dict):
        return value
    if value is None:
        return {}
    if not isinstance(value, str):
        return dumps_text(value)
    if value.lstrip()[:1] != "{":
        return value
    try:
        # The standard decoder keeps integers of any size and lone surrogates.
        decoded = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return decoded if isinstance(decoded, dict) else value


def text_of(content: object) -> str:
    r"""Return the content of a message or result as text.

    Text blocks are joined by ``"\n"``; images, audio and other binary blocks become a short
    note such as ``[image 34 kB]``; anything else is written as JSON.
    """
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    if isinstance(content, list):
        return "\n".join([_block_text(block) for block in content])
    if isinstance(content, dict):
        return _block_text(content)
    return dumps_text(content)


def _block_text(block: object) -> str:
    if isinstance(block, str):
        return block
    if not isinstance(block, dict):
        return dumps_text(block)
    for key in ("text", "refusal", "input_text", "output_text"):
        text = block.get(key)
        if isinstance(text, str):
            return text
    kind = block.get("type")
    kind = kind if isinstance(kind, str) else ""
    note = _binary_note(kind, block)
    if note is not None:
        return note
    resource = block.get("resource")
    if isinstance(resource, dict):
        return _block_text(resource)
    inner = block.get("content")
    if kind != "" and isinstance(inner, (str, list)):
        return inner if isinstance(inner, str) else "\n".join(map(_flat_text, inner))
    return dumps_text(block)


def _flat_text(block: object) -> str:
    """The text of a block inside a block; goes no deeper, so depth is bounded."""
    text = block.get("text") if isinstance(block, dict) else block
    return text if isinstance(text, str) else dumps_text(block)


def _binary_note(kind: str, block: dict[str, Any]) -> str | None:
    source = block.get("source")
    holder = source if isinstance(source, dict) else block
    for key in ("data", "blob", "base64", "image_url", "url", "file_data"):
        data = holder.get(key)
        if isinstance(data, dict):
            data = data.get("url") or data.get("data")
        if not isinstance(data, str):
            continue
        label = _binary_label(kind, holder, data)
        if label is None:
            continue
        if key in ("url", "image_url") and not data.startswith("data:"):
            return f"[{label} {data}]"
        start = _DATA_URL.match(data)
        size = (len(data) - (start.end() if start else 0)) * 3 // 4
        return f"[{label} {size_text(size)}]"
    return None


def _binary_label(kind: str, holder: dict[str, Any], data: str) -> str | None:
    media = holder.get("media_type") or holder.get("mimeType") or holder.get("mime_type")
    start = _DATA_URL.match(data)
    media = media if isinstance(media, str) else (start.group(1) if start else "")
    for word in ("image", "audio", "video", "screenshot"):
        if word in kind or media.startswith(word):
            return "image" if word == "screenshot" else word
    if "file" in kind or "document" in kind:
        return "file"
    return "binary" if media or "blob" in holder else None


def size_text(size_bytes: int) -> str:
    """Return a size for people: ``"512 B"``, ``"34 kB"``, ``"2 MB"``."""
    if size_bytes < _KILO:
        return f"{size_bytes} B"
    if size_bytes < _KILO**2:
        return f"{round(size_bytes / _KILO)} kB"
    return f"{round(size_bytes / _KILO**2)} MB"


def says_failure(text: str) -> bool:
    """Return True if a result without a flag says itself that the call failed.

    It does where it starts with ``Error``, ``<tool_use_error>`` or ``Exit code N``, N not 0.
    """
    return _FAILURE.match(text) is not None


def failed(flag: object, text: str) -> bool:
    """Return the host's error flag; where it gives none, what the text says."""
    return flag if isinstance(flag, bool) else says_failure(text)


def time_of(value: object) -> datetime | None:
    """Return a host's time, timezone-aware; None if it is not one.

    ISO 8601 text without a zone is taken as UTC. Numbers are Unix seconds, or milliseconds. What
    lies before the year 1 or after the year 9999 in UTC is no time.
    """
    try:
        if isinstance(value, str):
            return _in_calendar(datetime.fromisoformat(value))
        if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
            seconds = value / 1000 if abs(value) >= _MILLISECONDS_FROM else value
            return datetime.fromtimestamp(seconds, UTC)
        if isinstance(value, datetime):
            return _in_calendar(value)
    except (ValueError, OverflowError, OSError):
        pass
    return None


def _in_calendar(value: datetime) -> datetime:
    """Return a time with its zone; an OverflowError says that UTC has no such time."""
    time = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
    if not MINYEAR < time.year < MAXYEAR:
        time.astimezone(UTC)
    return time


def dumps_text(value: object) -> str:
    """Return any value as compact JSON text."""
    return dumps(value).decode("utf-8")


def dumps(value: object) -> bytes:
    """Return any value as compact JSON bytes; what JSON can't hold is written by ``str``."""
    try:
        return orjson.dumps(value)
    except (TypeError, ValueError, RecursionError):
        pass
    try:
        # Lone surrogates and integers beyond 64 bits: only the standard encoder writes these.
        return json.dumps(value, separators=(",", ":"), default=str, skipkeys=True).encode()
    except (TypeError, ValueError, RecursionError):
        return orjson.dumps(f"<{type(value).__name__} that JSON can't hold>")


def blocks(content: object) -> Iterator[dict[str, Any]]:
    """Yield the content blocks of a message; text and stray strings come as text blocks."""
    if isinstance(content, str):
        if content:
            yield {"type": "text", "text": content}
    elif isinstance(content, list):
        for block in content:
            if isinstance(block, dict):
                yield block
            elif block is not None:
                yield {"type": "text", "text": text_of(block)}
    elif isinstance(content, dict):
        yield content
