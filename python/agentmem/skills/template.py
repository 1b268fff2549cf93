"""Texts of several runs, aligned into one text with slots; and back: a text bound to its slots.

A template is a tuple of parts, each a constant ``str`` or a :class:`Slot`. Constants are what the
runs have in common, counted in whole words: a path, a version or an id is never cut in half, but
at a slash, a quote or another mark that separates words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

__all__ = [
    "Slot",
    "Template",
    "align",
    "bind",
    "constants",
    "from_json",
    "generalised",
    "render",
    "slots_of",
    "to_json",
]

_TOKEN = re.compile(r"[^\s'\"`()\[\]{}<>,;=:|&/@?!#*+$\\]+|\s+|.", re.DOTALL)
_MAX_TOKENS: Final = 240
_STRONG: Final = frozenset("'\"`()[]{}<>=:|&;@?#*")
_MIN_SHARE: Final = 0.2
_WORD_WEIGHT: Final = 2.0
_WEAK_WEIGHT: Final = 0.5
_MIN_FRAME: Final = 4
_SHORT: Final = 2
_MAX_TRIES: Final = 2_000
_MIN_KEPT: Final = 0.6


@dataclass(frozen=True, slots=True)
class Slot:
    """A place that varies between runs, named by its parameter."""

    name: str


Template = tuple[str | Slot, ...]


def render(template: Template, mark: str = "{{{}}}") -> str:
    """Return the template as one text, each slot as ``{name}`` (or in another ``mark``)."""
    return "".join(p if isinstance(p, str) else mark.format(p.name) for p in template)


def slots_of(template: Template) -> tuple[str, ...]:
    """Return the names of the slots, in order, repeats included."""
    return tuple(p.name for p in template if isinstance(p, Slot))


def constants(template: Template) -> str:
    """Return the constant parts, joined by blanks."""
    return " ".join(p for p in template if isinstance(p, str))


def to_json(template: Template) -> list[Any]:
    """Return plain data that :func:`from_json` reads back."""
    return [p if isinstance(p, str) else {"slot": p.name} for p in template]


def from_json(data: Any) -> Template:
    """Return the template of plain data; what is neither text nor a slot is left out."""
    parts: list[str | Slot] = []
    for part in data if isinstance(data, list) else []:
        if isinstance(part, str):
            parts.append(part)
        elif isinstance(part, Mapping) and isinstance(part.get("slot"), str):
            parts.append(Slot(part["slot"]))
    return tuple(parts)


def _weight(token: str) -> float:
    if token[0].isspace():
        return 0.05
    if len(token) == 1 and not token.isalnum():
        return 0.6 if token in _STRONG else 0.2
    return _WORD_WEIGHT + min(len(token), 20) / 10


def _common(one: Sequence[str], other: Sequence[str]) -> list[tuple[int, int]]:
    """Return the heaviest common subsequence as pairs of places; earlier places win ties."""
    start = 0
    while start < min(len(one), len(other)) and one[start] == other[start]:
        start += 1
    ends = 0
    while ends < min(len(one), len(other)) - start and one[-1 - ends] == other[-1 - ends]:
        ends += 1
    middle = _heaviest(one[start : len(one) - ends], other[start : len(other) - ends])
    pairs = [(i, i) for i in range(start)]
    pairs += [(start + i, start + j) for i, j in middle]
    return [*pairs, *((len(one) - k, len(other) - k) for k in range(ends, 0, -1))]


def _heaviest(one: Sequence[str], other: Sequence[str]) -> list[tuple[int, int]]:
    width = len(other) + 1
    best = [0.0] * ((len(one) + 1) * width)
    for i in range(len(one) - 1, -1, -1):
        weight = _weight(one[i])
        for j in range(len(other) - 1, -1, -1):
            here = i * width + j
            value = max(best[here + width], best[here + 1])
            if one[i] == other[j]:
                value = max(value, weight + best[here + width + 1])
            best[here] = value
    pairs: list[tuple[int, int]] = []
    i = j = 0
    while i < len(one) and j < len(other):
        here = i * width + j
        if one[i] == other[j] and best[here] == _weight(one[i]) + best[here + width + 1]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[here] == best[here + width]:
            i += 1
        else:
            j += 1
    return pairs


def align(texts: Sequence[str]) -> tuple[list[str | None], list[tuple[str, ...]]]:
    """Align the texts of one argument over several runs.

    Returns:
        The parts in order, a constant text or None for a slot; and for each slot its values, one
        a run. Texts without a word in common are one slot.
    """
    if all(t == texts[0] for t in texts):
        return [texts[0]], []
    tokens = [_TOKEN.findall(t) for t in texts]
    if max(map(len, tokens)) > _MAX_TOKENS:
        return [None], [tuple(texts)]
    kept = tokens[0]
    for row in tokens[1:]:
        kept = [kept[i] for i, _ in _common(kept, row)]
    places = [[j for _, j in _common(kept, row)] for row in tokens]
    while weak := _weak(kept, tokens, places):
        left = [i for i in range(len(kept)) if i not in weak]
        kept = [kept[i] for i in left]
        places = [[p[i] for i in left] for p in places]
    content = sum(_weight(t) for t in kept if _weight(t) >= _WORD_WEIGHT)
    longest = max(sum(_weight(t) for t in row if _weight(t) >= _WORD_WEIGHT) for row in tokens)
    frame = [t for t in kept if t in _STRONG]
    framed = len(frame) >= _MIN_FRAME and all(
        [t for t in row if t in _STRONG] == frame for row in tokens
    )
    if not framed and (not content or content < _MIN_SHARE * longest):
        return [None], [tuple(texts)]
    return _cut(kept, tokens, places)


def _weak(
    kept: Sequence[str], tokens: Sequence[Sequence[str]], places: Sequence[Sequence[int]]
) -> set[int]:
    """Return those of the common tokens that only happen to lie between two slots.

    Blanks and slashes between two varying words hold nothing together; nor does a short word
    there, one of at most two letters.
    """

    def open_before(k: int) -> bool:
        return any(p[k] > (p[k - 1] + 1 if k else 0) for p in places)

    def open_after(k: int) -> bool:
        return any(
            p[k] + 1 < (p[k + 1] if k + 1 < len(p) else len(row))
            for p, row in zip(places, tokens, strict=True)
        )

    weak: set[int] = set()
    k = 0
    while k < len(kept):
        end = k
        while end + 1 < len(kept) and not open_after(end):
            end += 1
        if open_before(k) and open_after(end):
            block = [t for t in kept[k : end + 1] if not t.isspace()] or [" "]
            if all(_weight(t) < _WEAK_WEIGHT for t in block) or (
                len(block) == 1 and len(block[0]) < _SHORT + 1 and block[0].isalpha()
            ):
                weak.update(range(k, end + 1))
        k = end + 1
    return weak


def _cut(
    kept: Sequence[str], tokens: Sequence[Sequence[str]], places: Sequence[Sequence[int]]
) -> tuple[list[str | None], list[tuple[str, ...]]]:
    parts: list[str | None] = []
    values: list[tuple[str, ...]] = []
    for k in range(len(kept) + 1):
        between = tuple(
            "".join(row[(p[k - 1] + 1 if k else 0) : (p[k] if k < len(p) else len(row))])
            for p, row in zip(places, tokens, strict=True)
        )
        if any(between):
            parts.append(None)
            values.append(between)
        if k < len(kept):
            if parts and parts[-1] is not None:
                parts[-1] += kept[k]
            else:
                parts.append(kept[k])
    return parts, values


def bind(template: Template, text: str) -> dict[str, str] | None:
    """Return the value of each slot if the text is an instance of the template, else None.

    A slot that occurs twice has one value. Values are as short as the text allows, from the left;
    at most 2,000 places are tried, so that the matching stays cheap on any text.
    """
    values: dict[str, str] = {}
    return values if _fits(template, text, 0, 0, values=values, tries=[_MAX_TRIES]) else None


def _fits(
    template: Template,
    text: str,
    part: int,
    at: int,
    *,
    values: dict[str, str],
    tries: list[int],
) -> bool:
    while part < len(template):
        item = template[part]
        known = item if isinstance(item, str) else values.get(item.name)
        if known is None:
            break
        if not text.startswith(known, at):
            return False
        at += len(known)
        part += 1
    else:
        return at == len(text)
    slot = template[part]
    if not isinstance(slot, Slot):
        return False
    after = template[part + 1] if part + 1 < len(template) else None
    end = at
    while tries[0] > 0:
        tries[0] -= 1
        if after is None:
            end = len(text)
        else:
            ahead = after if isinstance(after, str) else values.get(after.name, "")
            end = text.find(ahead, end)
            if end < 0:
                return False
        values[slot.name] = text[at:end]
        if _fits(template, text, part + 1, end, values=values, tries=tries):
            return True
        for later in template[part:]:
            if isinstance(later, Slot) and all(
                not (isinstance(p, Slot) and p.name == later.name) for p in template[:part]
            ):
                values.pop(later.name, None)
        end += 1
        if after is None or end > len(text):
            return False
    return False


def generalised(template: Template, text: str, name: Callable[[str, str], str]) -> Template | None:
    """Return the template with slots where the text differs from its constants.

    Args:
        template: What was known.
        text: What it must fit now.
        name: Gives the name of a new slot, from the constant text before it and its value.

    Returns:
        None if less than 60 % of the template's words would be left.
    """
    tokens: list[str | Slot] = []
    for part in template:
        tokens.extend([part] if isinstance(part, Slot) else _TOKEN.findall(part))
    row = _TOKEN.findall(text)
    if len(tokens) > _MAX_TOKENS or len(row) > _MAX_TOKENS:
        return None
    fixed = [i for i, t in enumerate(tokens) if isinstance(t, str)]
    known = [t for t in tokens if isinstance(t, str)]
    pairs = _common(known, row)
    before_weight = sum(w for t in known if (w := _weight(t)) >= _WORD_WEIGHT)
    after_weight = sum(w for i, _ in pairs if (w := _weight(known[i])) >= _WORD_WEIGHT)
    if not before_weight or after_weight < _MIN_KEPT * before_weight:
        return None
    out: list[str | Slot] = []
    last_old = last_new = -1
    for i, j in [*((fixed[a], b) for a, b in pairs), (len(tokens), len(row))]:
        lost = tokens[last_old + 1 : i]
        value = "".join(row[last_new + 1 : j])
        if lost or value:
            slots = [t for t in lost if isinstance(t, Slot)]
            if len(lost) == 1 and slots and value:
                out.append(slots[0])
            elif not value:
                return None
            else:
                ahead = out[-1] if out and isinstance(out[-1], str) else ""
                out.append(Slot(name(ahead, value)))
        if i < len(tokens):
            token = row[j]
            if out and isinstance(out[-1], str):
                out[-1] += token
            else:
                out.append(token)
        last_old, last_new = i, j
    return tuple(out)
