"""Replace secrets in what an import takes in, as every write does."""

from __future__ import annotations

import json
from typing import Any

from agentmem._native import redact, redact_many
from agentmem.store.index_rows import dump_metadata
from agentmem.tiers.import_input import FactLine, TurnLine

__all__ = ["redacted_facts", "redacted_turns"]

NAMES = ("key", "session", "subject", "attribute")


def redacted_turns(lines: list[TurnLine]) -> list[TurnLine]:
    """Return the turns without secrets; arguments of a tool call stay the JSON that they are."""
    found = list(lines)
    strings: list[str] = []
    places: list[tuple[int, str]] = []
    for at, one in enumerate(lines):
        for field in ("text", "session", "speaker"):
            content = getattr(one.row, field)
            if content:
                strings.append(content)
                places.append((at, field))
    for nth, text, spans in redact_many(strings):
        at, field = places[nth]
        one = found[at]
        kinds = tuple(kind for _, _, kind in spans)
        clean: Any = text
        if field == "text" and one.row.kind == "tool_call":
            clean, kinds = _redacted_json(strings[nth])
        found[at] = one._replace(
            row=one.row._replace(**{field: clean}), redacted=one.redacted + kinds
        )
    return found


def redacted_facts(lines: list[FactLine]) -> list[FactLine]:
    """Return the facts without secrets in texts, names, tags and leaves of JSON."""
    found = list(lines)
    strings: list[str] = []
    places: list[tuple[int, str, int]] = []
    for at, one in enumerate(lines):
        strings.append(one.row.text)
        places.append((at, "text", 0))
        for field in NAMES:
            content = getattr(one.row, field)
            if content is not None:
                strings.append(content)
                places.append((at, field, 0))
        strings += one.tags
        places += [(at, "tags", nth) for nth in range(len(one.tags))]
        for field in ("metadata", "value"):
            content = getattr(one.row, field)
            if content is None or content == "{}":
                continue
            clean: Any
            clean, kinds = _redacted_json(content)
            if kinds:
                found[at] = found[at]._replace(
                    row=found[at].row._replace(**{field: clean}),
                    redacted=found[at].redacted + kinds,
                )
    text: Any
    for nth, text, spans in redact_many(strings):
        at, field, place = places[nth]
        one = found[at]
        kinds = tuple(kind for _, _, kind in spans)
        if field == "tags":
            tags = (*one.tags[:place], text, *one.tags[place + 1 :])
            found[at] = one._replace(tags=tags, redacted=one.redacted + kinds)
        else:
            found[at] = one._replace(
                row=one.row._replace(**{field: text}), redacted=one.redacted + kinds
            )
    return found


def _redacted_json(text: str) -> tuple[str, tuple[str, ...]]:
    """Redact each string of a JSON text, then what only the name beside it gives away."""
    kinds: list[str] = []

    def clean(value: Any) -> Any:
        if isinstance(value, str):
            without, spans = redact(value)
            kinds.extend(kind for _, _, kind in spans)
            return without
        if isinstance(value, list):
            return [clean(item) for item in value]
        if isinstance(value, dict):
            return {clean(key): clean(item) for key, item in value.items()}
        return value

    try:
        inner = clean(json.loads(text))
        whole = dump_metadata(inner) if kinds else text
    except (ValueError, RecursionError):
        without, spans = redact(text)
        return without, tuple(kind for _, _, kind in spans)
    without, spans = redact(whole)
    try:
        is_same_kind = type(json.loads(without)) is type(inner)
    except ValueError:
        is_same_kind = False
    if not spans or not is_same_kind:
        return whole, tuple(kinds)
    return without, (*kinds, *(kind for _, _, kind in spans))
