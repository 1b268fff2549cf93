"""A procedure from one run, for a person who asks for it: parameters are guessed.

What names a thing of this one run becomes a parameter: paths, ids, hosts, versions, dates,
numbers, and words that the request itself uses. The verbs of commands and their options stay.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from agentmem.skills.calls import Call, is_command, is_content, verbs
from agentmem.skills.mining import Run

__all__ = ["twin"]

_CHUNK = re.compile(r"[^\s'\"`()\[\]{}<>,;=|&:]+")
_WORD = re.compile(r"[^\W_]+")
_LITERAL = re.compile(r"[\d/@\\]|\w[._-]\w|[a-z][A-Z]|[^\x00-\x7f]")
_MIN_WORD: Final = 3
_LETTERS_ONLY = re.compile(r"[a-z]+")
_OPTION = re.compile(r"(?:^|\s)--?[A-Za-z][\w-]*[ =]$")


def twin(run: Run) -> Run:
    """Return the run with every literal replaced by another one, the same way everywhere.

    The two of them are mined like any two runs: what was replaced is what varies.
    """
    names: dict[str, str] = {}
    asked = {w for w in _CHUNK.findall(run.request) if len(w) >= _MIN_WORD}
    asked |= {w for chunk in asked for w in _WORD.findall(chunk) if len(w) >= _MIN_WORD}
    things = {
        word
        for call in run.calls
        for text in call.leaves.values()
        for chunk in _CHUNK.findall(text)
        if chunk.casefold() not in _acts(text)
        for word in (chunk, *_WORD.findall(chunk))
        if word in asked
    }
    return replace(
        run,
        calls=tuple(_other(call, things, names) for call in run.calls),
        request=_CHUNK.sub(lambda m: names.get(m[0], m[0]), run.request),
        results=tuple(_CHUNK.sub(lambda m: names.get(m[0], m[0]), r) for r in run.results),
    )


def _acts(text: str) -> tuple[str, ...]:
    """Return the words of a command that say what is done; what follows is done to things."""
    return verbs(text)[:2] if " " in text.strip() else ()


def _other(call: Call, things: set[str], names: dict[str, str]) -> Call:
    leaves: dict[str, str] = {}
    for key, text in call.leaves.items():
        if is_content(key) or (" " in text.strip() and not is_command(key)):
            leaves[key] = names.setdefault(text, f"Zq{len(names)}z") if text.strip() else text
            continue

        def swap(found: re.Match[str], text: str = text) -> str:
            chunk = found[0]
            if found.start() == 0 and " " in text.strip() and not chunk[0].isdigit():
                return chunk
            if chunk.startswith("-") and not re.search(r"\d{2}", chunk):
                return chunk
            plain = _LETTERS_ONLY.fullmatch(chunk) is not None
            is_operand = _OPTION.search(found.string[max(found.start() - 40, 0) : found.start()])
            if chunk not in things and not is_operand and (plain or not _LITERAL.search(chunk)):
                return chunk
            return names.setdefault(chunk, f"Zq{len(names)}z")

        leaves[key] = _CHUNK.sub(swap, text)
    return replace(call, leaves=leaves)
