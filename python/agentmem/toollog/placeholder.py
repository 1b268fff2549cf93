"""What stands where an old tool result stood: one line with the ref, and once the canvas.

The texts are part of hosts' prompts: a change of them costs every host its prompt cache.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["CANVAS_INTRO", "canvas_text", "is_canvas_text", "placeholder", "read_placeholder"]

CANVAS_INTRO: Final = (
    "Tool calls so far, as a diagram. A result shown as [agentmem REF] is kept in full: "
    "expand(REF) returns it."
)

_PLACEHOLDER = re.compile(r"\[agentmem (c[0-9]+(?:_[0-9]+)*)( FAIL)?\]")


def placeholder(ref: str, *, is_error: bool) -> str:
    """Return the line that stands for a result."""
    return f"[agentmem {ref}{' FAIL' if is_error else ''}]"


def canvas_text(line: str, diagram: str) -> str:
    """Return the placeholder that also carries the canvas."""
    return f"{line}\n{CANVAS_INTRO}\n```mermaid\n{diagram}```"


def read_placeholder(text: str) -> str | None:
    """Return the ref that a placeholder names; None if the text is none."""
    match = _PLACEHOLDER.match(text)
    if match is None:
        return None
    rest = text[match.end() :]
    if not rest or rest.startswith(f"\n{CANVAS_INTRO}\n```mermaid\n"):
        return match[1]
    return None


def is_canvas_text(text: str) -> bool:
    """Whether a placeholder carries the canvas."""
    return "\n" in text
