"""A procedure from one run, for a person who asks for it: parameters are guessed.

What names a thing of this one run becomes a parameter: paths, ids, hosts, versions, dates,
numbers, and words that the request itself uses. The verbs of commands and their options stay.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from agentmem.skills.calls import Call, verbs
from agentmem.skills.mining import Run

__all__ = ["twin"]

_CHUNK = re.compile(r"[^\s'\"`()\[\]{}<>,;=|&:]+")
_WORD = re.compile(r"[^\W_]+")
_LITERAL = re.compile(r"[\d/@\\]|\w[._-]\w|[a-z][A-Z]|[^\x00-\x7f]")
_MIN_WORD: Final = 3
_LETTERS_ONLY = re.compile(r"[a-z]+(?:-[a-z]+)*")


def twin(run: Run) -> Run:
    """Return the run with every literal replaced by another one, the same way everywhere.

    The two of them are mined like any two runs: what was replaced is what varies.
    """
    names: dict[str, str] = {}
    asked = {w for w in _CHUNK.findall(run.request) if len(w) >= _MIN_WORD}
    asked |= {w for chunk in asked for w in _WORD.findall(chunk) if len(w) >= _MIN_WORD}
    return replace(
        run,
        calls=tuple(_other(call, asked, names) for call in run.calls),
        request=_CHUNK.sub(lambda m: names.get(m[0], m[0]), run.request),
        results=tuple(_CHUNK.sub(lambda m: names.get(m[0], m[0]), r) for r in run.results),
    )


def _other(call: Call, asked: set[str], names: dict[str, str]) -> Call:
    leaves: dict[str, str] = {}
    for key, text in call.leaves.items():
        kept = set(verbs(text)) if " " in text.strip() else set()

        def swap(found: re.Match[str], kept: set[str] = kept) -> str:
            chunk = found[0]
            if chunk.startswith("-") and not re.search(r"\d{2}", chunk):
                return chunk
            is_said = chunk in asked and chunk.casefold() not in kept
            plain = _LETTERS_ONLY.fullmatch(chunk) is not None
            if not is_said and (plain or not _LITERAL.search(chunk)):
                return chunk
            return names.setdefault(chunk, f"Zq{len(names)}z")

        leaves[key] = _CHUNK.sub(swap, text)
    return replace(call, leaves=leaves)
