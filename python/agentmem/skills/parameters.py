"""What varies between the runs of a procedure, found once and named once.

Each slot of each step has its values, one a run. Slots with the same values are one parameter; a
value that is built of others (``idx_orders_id`` of ``orders`` and ``id``) is written with them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from agentmem.skills.template import Slot, Template

__all__ = ["Pool", "Values", "name_for", "spell"]

_EDGES = re.compile(r"[^0-9A-Za-z]*")
_EDGE = re.compile(r"[^0-9A-Za-z]")
_LAST_WORD = re.compile(r"([A-Za-z][A-Za-z0-9_-]*)[^A-Za-z0-9]*$")
_SUFFIX = re.compile(
    r"\.(?:[chm]|cc|cpp|cs|css|csv|dart|db|dump|ex|exs|go|gz|html?|ini|ipynb|java|jsx?|json|jsonl|kt|lock"
    r"|log|lua|md|mdx|php|pdf|png|py|pyi|rb|rs|rst|scala|sh|sql|svg|swift|tar|tf|toml|tsx?|txt|vue|whl|xml"
    r"|ya?ml|zip|zst)$",
    re.IGNORECASE,
)
_PREFIX = re.compile(r"^(?:[A-Za-z]+[_.])+")
_MEANING = {
    "from": "table",
    "into": "table",
    "join": "table",
    "where": "column",
    "to": "target",
    "https": "host",
    "http": "host",
    "true": "value",
    "false": "value",
    "null": "value",
    "and": "value",
    "or": "value",
    "in": "value",
    "values": "name",
}
_KINDS = (
    ("date", re.compile(r"\d{4}-\d\d-\d\d(?:[T ].*)?")),
    ("version", re.compile(r"v\d+[\w.+-]*|\d+\.\d+\.[\w.+-]*")),
    ("number", re.compile(r"[+-]?\d+(?:[.,]\d+)?")),
    ("email", re.compile(r"[^\s@]+@[^\s@]+\.\w+")),
    ("url", re.compile(r"https?://\S+")),
    (
        "host",
        re.compile(
            r"(?:[a-z0-9-]+\.){2,}[a-z]{2,}"
            r"|[a-z0-9-]+\.(?:com|org|net|io|dev|app|test|local|internal|example|de|vn|cn|eu|uk)"
        ),
    ),
    ("path", re.compile(r"\S*/\S*")),
)
Values = tuple[str | None, ...]


def name_for(before: str, key: str, values: Iterable[str], taken: Iterable[str]) -> str:
    """Return a free name for a parameter: of the word before it, its kind, or its argument.

    Args:
        before: The constant text before the slot.
        key: The path of the argument it stands in.
        values: Its values, for its kind.
        taken: Names that are in use.
    """
    kind = next((k for k, pattern in _KINDS if all(pattern.fullmatch(v) for v in values)), "")
    own = re.sub(r"\[\d+\]", "", key).rpartition(".")[2]
    word = _LAST_WORD.search(before[-40:])
    if before and word:
        stem = _MEANING.get(word[1].casefold(), word[1])
    else:
        stem = (own if not before else "") or kind or own
    if kind in {"date", "version", "email", "host", "url"} and before:
        stem = kind
    if len(stem) == 1:
        stem = f"option_{stem}"
    name = re.sub(r"[^a-z0-9]+", "_", stem.casefold()).strip("_")[:24] or "value"
    if name[0].isdigit():
        name = f"value_{name}"
    used, number, free = set(taken), 2, name
    while free in used:
        free, number = f"{name}_{number}", number + 1
    return free


@dataclass
class Pool:
    """The parameters of one procedure while it is mined: the values of each, one a run.

    A run that lacks the step has None there.
    """

    values: dict[str, Values] = field(default_factory=dict)
    _spelled: dict[Values, Template] = field(default_factory=dict)

    def learn(self, slots: Iterable[tuple[Values, str, str]]) -> None:
        """Find the parameters behind all slots: values, the text before, the argument's path.

        Short values come first, so that longer ones can be written with them.
        """
        listed = list(slots)
        for values, before, key in sorted(
            listed, key=lambda s: max(len(v) for v in s[0] if v is not None)
        ):
            if values not in self._spelled:
                self._spelled[values] = _joined(self._slot(values, before, key))

    def template(self, parts: Sequence[str | None], slots: Sequence[Values]) -> Template:
        """Return the template of one argument, its slots named."""
        out: list[str | Slot] = []
        rest = iter(slots)
        for part in parts:
            if part is None:
                out.extend(self._spelled[next(rest)])
            else:
                out.append(part)
        return _joined(out)

    def of_run(self, run: int) -> dict[str, str]:
        """Return the values of one run."""
        return {n: v for n, values in self.values.items() if (v := values[run])}

    def _known(self, values: Values) -> str | None:
        return next((n for n, v in self.values.items() if _agree(v, values)), None)

    def _slot(self, values: Values, before: str, key: str) -> list[str | Slot]:
        known = self._known(values)
        if known is not None:
            return [Slot(known)]
        built = self._built(values, before, key)
        if built is not None:
            return built
        head, core, tail = _trimmed(values)
        known = self._known(core)
        if known is None:
            texts = [v for v in core if v is not None]
            known = name_for(before + head, key, texts, self.values)
            self.values[known] = core
        return [head, Slot(known), tail]

    def _built(self, values: Values, ahead: str, key: str) -> list[str | Slot] | None:
        """Return the values written with known parameters, the same way in every run."""
        present = [n for n, v in enumerate(values) if v is not None]
        names = [
            name
            for name, known in self.values.items()
            if all(
                (k := known[n]) and len(k) > 1 and k != values[n] and k in (values[n] or "")
                for n in present
            )
        ]
        if not names:
            return None
        rows = [
            spell(values[n] or "", {name: self.values[name][n] or "" for name in names})
            for n in present
        ]
        shape = [p.name if isinstance(p, Slot) else None for p in rows[0]]
        if len(shape) == 1 or any(
            [p.name if isinstance(p, Slot) else None for p in row] != shape for row in rows
        ):
            return None
        out: list[str | Slot] = []
        for at, pieces in enumerate(zip(*rows, strict=True)):
            if isinstance(pieces[0], Slot) or all(p == pieces[0] for p in pieces):
                out.append(pieces[0])
                continue
            texts = [str(p) for p in pieces]
            head = _EDGES.match(_prefix(texts))
            tail = _EDGES.match(_prefix([t[::-1] for t in texts]))
            start, end = len(head[0]) if head else 0, len(tail[0]) if tail else 0
            inner = [t[start : len(t) - end] for t in texts]
            if not all(inner):
                return None
            wide: list[str | None] = [None] * len(values)
            for n, text in zip(present, inner, strict=True):
                wide[n] = text
            if not _is_split(texts, start, end, at, len(shape)):
                return None
            before = (ahead if not out else "") + texts[0][:start]
            out.append(texts[0][:start])
            out.extend(self._slot(tuple(wide), before, key))
            out.append(texts[0][len(texts[0]) - end :])
        return out


def _prefix(texts: Sequence[str]) -> str:
    """Return what all the texts begin with."""
    low, high = min(texts), max(texts)
    return next((low[:i] for i, c in enumerate(low) if high[i : i + 1] != c), low)


def _is_split(texts: Sequence[str], start: int, end: int, place: int, width: int) -> bool:
    """Whether a varying piece stands off from its neighbours by more than a hyphen or a dot.

    Otherwise it only happens that a value begins or ends with another one: ``crm-0302`` is a name
    of its own, not ``{database}-0302``.
    """
    head, tail = texts[0][:start], texts[0][len(texts[0]) - end :]
    return (place == 0 or bool(re.search(r"[^\w.-]", head))) and (
        place == width - 1 or bool(re.search(r"[^\w.-]", tail))
    )


def _agree(one: Values, other: Values) -> bool:
    both = [(a, b) for a, b in zip(one, other, strict=True) if a is not None and b is not None]
    return bool(both) and all(a == b for a, b in both)


def spell(text: str, known: Mapping[str, str]) -> Template:
    """Return the text with each known value, longest first and on word edges, as a slot."""
    parts: list[str | Slot] = [text]
    for name, value in sorted(known.items(), key=lambda item: (-len(item[1]), item[0])):
        if not value:
            continue
        for place in range(len(parts) - 1, -1, -1):
            part = parts[place]
            if isinstance(part, str):
                parts[place : place + 1] = _split(part, value, name)
    return _joined(parts)


def _split(part: str, text: str, name: str) -> list[str | Slot]:
    out: list[str | Slot] = []
    start = search = 0
    while (at := part.find(text, search)) >= 0:
        end = at + len(text)
        opens = at == 0 or _EDGE.match(part[at - 1]) or not text[0].isalnum()
        closes = end == len(part) or _EDGE.match(part[end]) or not text[-1].isalnum()
        search = end if opens and closes else at + 1
        if opens and closes:
            out.extend([part[start:at], Slot(name)])
            start = end
    return [*out, part[start:]]


def _trimmed(values: Values) -> tuple[str, Values, str]:
    """Return a common prefix and suffix of the values that are words of their own, and the rest.

    Only a file's extension, a leading ``word_`` and a leading letter before a digit (``v1.2``)
    are taken off, and only where a word is left in every run.
    """
    head = tail = ""
    given = [v for v in values if v is not None]
    core = given
    if all(core) and not any(c.isspace() for v in core for c in v):
        suffix = _SUFFIX.search(core[0])
        if suffix and all(v.endswith(suffix[0]) and len(v) > len(suffix[0]) for v in core):
            rest = [v[: -len(suffix[0])] for v in core]
            if all(re.search(r"[A-Za-z]", v) for v in rest):
                tail, core = suffix[0], rest
        common = _prefix(core)
        prefix = _PREFIX.match(common)
        if prefix:
            rest = [v[len(prefix[0]) :] for v in core]
            if all(v and v[0].isalpha() for v in rest):
                head, core = prefix[0], rest
        elif re.match(r"[A-Za-z]\d", core[0]) and all(
            re.match(rf"{core[0][0]}\d+\.\d", v) for v in core
        ):
            head, core = core[0][0], [v[1:] for v in core]
    left = iter(core)
    return head, tuple(None if v is None else next(left) for v in values), tail


def _joined(parts: Sequence[str | Slot]) -> Template:
    out: list[str | Slot] = []
    for part in parts:
        if isinstance(part, str) and out and isinstance(out[-1], str):
            out[-1] += part
        elif part != "":
            out.append(part)
    return tuple(out)
