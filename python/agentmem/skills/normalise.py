"""What of a conversation belongs to the skill path, and what is left out of it.

System prompts, reasoning and bookkeeping are left out whole; images, recalled memories and the
wrappers that hosts put around what people say are cut out of the words. A tool's text is left as
it is, but for images: it is data.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final, NamedTuple

__all__ = ["Normal", "byte_size", "normalise"]

_RECALLED: Final = frozenset(
    {
        "agentmem", "agentmem-context", "agentmem-memory", "agentmem-recall", "agentmem-skills",
        "available_skills", "memories", "memory", "memory-context", "memory_context",
        "recalled-memories", "recalled_memories", "relevant-memories", "relevant_memories",
        "skill_tools", "user_memories",
    }
)  # fmt: skip
_WRAPPERS: Final = frozenset(
    {
        "command-args", "command-message", "command-name", "environment_context",
        "environment_details", "ide_opened_file", "ide_selection", "local-command-stderr",
        "local-command-stdout", "permissions", "system-reminder", "system_reminder",
        "user_instructions",
    }
)  # fmt: skip
_OPENING: Final = re.compile(
    r"<(" + "|".join(sorted(map(re.escape, _RECALLED | _WRAPPERS), key=len, reverse=True)) + r")"
    r"(?:\s[^<>]{0,1000})?>"
)
_IMAGE: Final = re.compile(
    r"(?:\A|\n)\[(?:image|audio|video|file|binary) [^\[\]\n]{1,2000}\](?=\n|\Z)"
)
_REASONING: Final = frozenset({"reasoning", "thinking", "redacted_thinking", "thought"})


class Normal(NamedTuple):
    """What is kept of a turn: None if nothing is; and what was left out, by why."""

    text: str | None
    dropped: Counter[str]


def byte_size(text: str) -> int:
    """Return the UTF-8 bytes of any text; a lone surrogate has three."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def normalise(kind: str, speaker: str | None, text: str) -> Normal:
    """Return what the skill path keeps of an L0 turn.

    Args:
        kind: The turn's kind: who speaks.
        speaker: Its speaker; hosts' bookkeeping names its own kind there.
        text: Its text.
    """
    dropped: Counter[str] = Counter()
    if kind == "tool_call":
        return Normal(text, dropped)
    if kind == "tool_result":
        return Normal(_without_images(text, dropped), dropped)
    if kind in ("user", "assistant"):
        kept = _without_images(_without_blocks(text, dropped), dropped)
        if kept.strip():
            return Normal(kept, dropped)
        if not dropped:
            dropped["empty"] += 1
        return Normal(None, dropped)
    if kind == "system":
        dropped["system"] += 1
    elif speaker in _REASONING:
        dropped["reasoning"] += 1
    else:
        dropped["bookkeeping"] += 1
    return Normal(None, dropped)


def _without_images(text: str, dropped: Counter[str]) -> str:
    if "[" not in text:
        return text
    kept, count = _IMAGE.subn("", text)
    if count:
        dropped["image"] += count
        return kept
    return text


def _without_blocks(text: str, dropped: Counter[str]) -> str:
    """Cut out ``<tag …>…</tag>`` of the known tags; one that is never closed is left alone.

    Each tag that has no end from here on is looked for once only: the time is linear in the text.
    """
    if "<" not in text:
        return text
    kept: list[str] = []
    start = place = 0
    unclosed: set[str] = set()
    while (match := _OPENING.search(text, place)) is not None:
        tag = match[1]
        closing = f"</{tag}>"
        end = -1 if tag in unclosed else text.find(closing, match.end())
        if end < 0:
            unclosed.add(tag)
            place = match.end()
            continue
        kept.append(text[start : match.start()])
        start = place = end + len(closing)
        dropped["recalled" if tag in _RECALLED else "wrapper"] += 1
    if not start:
        return text
    kept.append(text[start:])
    return "".join(kept)
