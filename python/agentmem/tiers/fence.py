"""Recalled text as data between tags that nothing in it can close, and its way back.

Between the tags there is no ``<``: content is escaped as in XML, so the first closing tag behind an
opening one is ours. Characters that reorder or hide text, and those that end a line without looking
like it, are shown as references. A line of content is indented where it is not an item's first, so
no content can look like another item.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from agentmem.toollog.models import Message

__all__ = ["CLOSE", "OPEN", "escape", "fenced", "strip_fenced", "without_injected"]

OPEN: Final = "<agentmem-memory>"
CLOSE: Final = "</agentmem-memory>"
_NAME: Final = b"agentmem-memory"
# C0 but tab and line feed, DEL, C1, soft hyphen, the Arabic letter mark, zero-width and bidi
# controls but the joiners and the two plain marks (emoji and right-to-left words need these), other
# line ends, the byte order mark, interlinear marks, look-alikes of "<", lone surrogates, tags and the
# supplementary variation selectors.
_HIDDEN: Final = re.compile(
    "[&<\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b\u2028-\u202e\u2060-\u206f\ufe64\ufeff"
    "\ufff9-\ufffb\uff1c\ud800-\udfff\U000e0000-\U000e01ef]"
)
_NAMED: Final = {"&": "&amp;", "<": "&lt;"}


def escape(text: str) -> str:
    """Return a text as it stands between the tags; ``html.unescape`` gives it back."""

    def shown(match: re.Match[str]) -> str:
        one = match[0]
        return _NAMED.get(one) or f"&#x{ord(one):X};"

    return _HIDDEN.sub(shown, text.replace("\r\n", "\n")).replace("\n", "\n  ")


def fenced(lines: Iterable[str]) -> str:
    """Return lines, escaped already, between the tags."""
    return "\n".join((OPEN, *lines, CLOSE))


def strip_fenced(text: str) -> str:
    """Return a text without what stands between our tags; other texts come back as they are."""
    start = text.find(OPEN)
    if start < 0:
        return text
    kept: list[str] = []
    at = 0
    while start >= 0:
        end = text.find(CLOSE, start)
        if end < 0:
            break
        kept.append(text[at:start])
        at = end + len(CLOSE)
        start = text.find(OPEN, at)
    if not kept:
        return text
    kept.append(text[at:])
    return "\n".join(piece for piece in (part.strip("\r\n") for part in kept) if piece)


def _stripped(value: Any) -> Any:
    if isinstance(value, str):
        return strip_fenced(value)
    if isinstance(value, list):
        return [_stripped(one) for one in value]
    if isinstance(value, dict):
        return {_stripped(key): _stripped(one) for key, one in value.items()}
    return value


def _record(raw: bytes) -> bytes:
    text = raw.decode("utf-8", "surrogateescape")
    try:
        value = json.loads(text)
        clean = _stripped(value)
    except (ValueError, RecursionError):
        return strip_fenced(text).encode("utf-8", "surrogateescape")
    if clean == value:
        return raw
    return json.dumps(clean, ensure_ascii=False, separators=(",", ":")).encode(
        "utf-8", "surrogatepass"
    )


def without_injected(messages: Iterable[Message]) -> Iterator[Message]:
    """Yield the messages of a log without what a context put into them.

    What a user, an agent or a host said that was nothing but a context is left out.
    """
    for message in messages:
        if _NAME not in message.raw and OPEN not in message.text:
            yield message
            continue
        text = strip_fenced(message.text)
        is_said = message.role in ("user", "assistant", "system")
        if is_said and text != message.text and not text.strip():
            continue
        yield replace(
            message, text=text, arguments=_stripped(message.arguments), raw=_record(message.raw)
        )
