"""What is suspicious in a skill, found by rules; and what makes a draft no skill at all.

A flag is a hint for the person who approves, never a proof; the lint executes nothing and looks
at every text of the skill, the description and all resources included.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from agentmem._native import redact
from agentmem.errors import InvalidInputError
from agentmem.models.skills import Draft
from agentmem.skills.injection import find_orders
from agentmem.skills.lint_rules import RULES
from agentmem.skills.near import first, folded

__all__ = [
    "MAX_BODY",
    "MAX_DESCRIPTION",
    "MAX_FILE",
    "MAX_FILES",
    "MAX_NAME",
    "MAX_TOTAL",
    "check_draft",
    "check_resource_path",
    "dangers",
    "lint",
]

MAX_NAME: Final = 64
MAX_DESCRIPTION: Final = 1_024
MAX_BODY: Final = 100_000
"""Characters; the specification asks for less than 5,000 tokens and sets no limit."""

MAX_FILE: Final = 1 << 20
MAX_FILES: Final = 256
MAX_TOTAL: Final = 8 << 20

_MAX_PATH: Final = 255
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_ROOTS: Final = ("scripts", "references", "assets")
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)

_PLACEHOLDER = re.compile(
    r"(?:x{4,}|X{4,}|\*{3,}|\.{3,}|<[^>]*>|your[-_ ]|example|placeholder|USER:PASS(?:WORD)?@|user:pass(?:word)?@"
    r"|changeme|\$\{?\w+|redacted)",
)


def check_resource_path(path: str) -> None:
    """Raise InvalidInputError unless a path may be a resource's.

    It is relative, below ``scripts/``, ``references/`` or ``assets/``, in the form that every
    system writes the same: no ``.``, ``..`` or empty part, no backslash, colon, control character,
    leading dash or reserved name.
    """
    parts = path.split("/")
    bad = (
        not path
        or len(path.encode("utf-8", "replace")) > _MAX_PATH
        or len(parts) == 1
        or parts[0] not in _ROOTS
        or any(p in {"", ".", ".."} or p.startswith("-") or p != p.strip() for p in parts)
        or any(p.endswith(".") or _RESERVED.fullmatch(p) for p in parts)
        or any(
            c in '\\:*?"<>|' or unicodedata.category(c) in {"Cc", "Cf", "Cs", "Co"} for c in path
        )
        or unicodedata.normalize("NFC", path) != path
    )
    if bad:
        raise InvalidInputError(
            f"resource {path[:120]!r}: a path lies below scripts/, references/ or assets/ and is made "
            "of plain names"
        )


def check_draft(draft: Draft) -> None:
    """Raise InvalidInputError unless a draft is a skill as the specification has it.

    Sections are not asked for. Names that hold a vendor's mark and descriptions with angle
    brackets are allowed by the specification, so they are here.
    """
    if not isinstance(draft.name, str) or not _NAME.fullmatch(draft.name):
        raise InvalidInputError(
            f"name {str(draft.name)[:80]!r}: a-z, 0-9 and single hyphens between them"
        )
    if len(draft.name) > MAX_NAME:
        raise InvalidInputError(f"name: {len(draft.name)} characters, at most {MAX_NAME}")
    if not isinstance(draft.description, str) or not draft.description.strip():
        raise InvalidInputError("description: it must say what the skill does and when to use it")
    if len(draft.description) > MAX_DESCRIPTION:
        raise InvalidInputError(
            f"description: {len(draft.description)} characters, at most {MAX_DESCRIPTION}"
        )
    if not isinstance(draft.body, str) or len(draft.body) > MAX_BODY:
        raise InvalidInputError(f"body: text of at most {MAX_BODY} characters is needed")
    for text, what in ((draft.description, "description"), (draft.body, "body")):
        if any("\ud800" <= c <= "\udfff" or c == "\0" for c in text):
            raise InvalidInputError(f"{what}: it holds NUL or half of a surrogate pair")
    if len(draft.resources) > MAX_FILES:
        raise InvalidInputError(f"resources: {len(draft.resources)} files, at most {MAX_FILES}")
    total = 0
    folded: dict[str, str] = {}
    for path, content in draft.resources.items():
        check_resource_path(path)
        if not isinstance(content, bytes):
            raise InvalidInputError(f"resource {path!r}: bytes are needed")
        if len(content) > MAX_FILE:
            raise InvalidInputError(f"resource {path!r}: {len(content)} bytes, at most {MAX_FILE}")
        total += len(content)
        other = folded.setdefault(path.casefold(), path)
        if other != path:
            raise InvalidInputError(f"resources {other!r} and {path!r} differ in case only")
    if total > MAX_TOTAL:
        raise InvalidInputError(f"resources: {total} bytes, at most {MAX_TOTAL}")


def lint(draft: Draft) -> tuple[str, ...]:
    """Return what is suspicious, each as ``kind: where: what``; nothing for a clean skill.

    Kinds: ``pipe-to-shell``, ``configuration``, ``exfiltration``, ``fence``, ``hidden-unicode``,
    ``secret``, ``injection``, ``binary``.
    """
    flags: list[str] = []
    for where, text in _texts(draft):
        flags += [f"{kind}: {where}: {what}" for kind, what in _findings(text)]
    for path, content in draft.resources.items():
        if content[:4] in {b"\x7fELF", b"MZ\x90\x00", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe"}:
            flags.append(f"binary: {path}: a program")
        if path.rpartition("/")[2].startswith("."):
            flags.append(f"configuration: {path}: a hidden file")
    return tuple(dict.fromkeys(flags))


def dangers(text: str) -> list[str]:
    """Return the parts of a text that fetch and run code or change configuration."""
    plain = _plain(text)
    small = folded(plain)
    return [
        plain[start:end]
        for kind, finders in RULES
        if kind != "fence"
        for finder in finders
        for start, end in finder.spans(small)
    ]


def _texts(draft: Draft) -> Iterator[tuple[str, str]]:
    yield "name", draft.name
    yield "description", draft.description
    yield "body", draft.body
    for key, value in draft.metadata.items():
        if isinstance(value, str):
            yield f"metadata {key}", value
    for path, content in draft.resources.items():
        yield path, content.decode("utf-8", "replace")


def _plain(text: str) -> str:
    """Return the text with shell line continuations joined."""
    return re.sub(r"\\\r?\n\s*", " ", text)


def _findings(text: str) -> Iterator[tuple[str, str]]:
    plain = _plain(text)
    small = folded(plain)
    for kind, finders in RULES:
        span = first(finders, small)
        if span is not None:
            yield kind, " ".join(plain[slice(*span)].split())[:80]
    hidden = _hidden(text)
    if hidden is not None:
        yield "hidden-unicode", hidden
    secret = _secret(text)
    if secret is not None:
        yield "secret", secret
    orders = find_orders(plain)
    if orders is not None:
        yield "injection", orders


def _secret(text: str) -> str | None:
    _, spans = redact(text.encode("utf-8", "replace").decode("utf-8"))
    for start, end, kind in spans:
        if not _PLACEHOLDER.search(text[max(start - 24, 0) : end + 8]) or kind in {
            "aws",
            "aws-key",
        }:
            return kind
    return None


_JOINERS: Final = "\u200c\u200d"
_MARKS: Final = "\u200e\u200f\ufe0e\ufe0f\u061c"
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u2064"
    "\u2066-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]"
)
_FLAG_TAGS = re.compile("\U0001f3f4[\U000e0061-\U000e007a\U000e0030-\U000e0039]{2,6}\U000e007f")


def _hidden(text: str) -> str | None:
    """Return the code point of a character that hides something.

    Emoji and the scripts that need joiners keep theirs.
    """
    text = _FLAG_TAGS.sub("", text.removeprefix("\ufeff"))
    for found in _INVISIBLE.finditer(text):
        char = found[0]
        before = text[found.start() - 1] if found.start() else ""
        after = text[found.end()] if found.end() < len(text) else ""
        if not _is_needed(char, before, after):
            return f"U+{ord(char):04X}"
    return None


def _is_needed(char: str, before: str, after: str) -> bool:
    """Whether writing needs an invisible character between its two neighbours."""
    if char in _JOINERS:
        return not (before.isascii() and after.isascii() and (before + after).strip())
    if char in _MARKS:
        return not (before.isascii() and before.isalpha() and after.isalpha())
    if char == "\u200b":
        return _is_unspaced(before) and _is_unspaced(after)
    if "\ufe00" <= char <= "\ufe0d":
        return bool(before) and not before.isascii()
    ideographic = "\U000e0100" <= char <= "\U000e01ef"
    return ideographic and unicodedata.category(before or " ") == "Lo"


def _is_unspaced(char: str) -> bool:
    """Whether the character's script puts no blanks between words: Thai, Lao, Burmese, Khmer."""
    return bool(char) and (
        "\u0e00" <= char <= "\u0eff" or "\u1000" <= char <= "\u109f" or "\u1780" <= char <= "\u17ff"
    )
