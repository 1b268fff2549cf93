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

_FETCH = r"(?:curl|wget|fetch|iwr|irm|invoke-webrequest|invoke-restmethod|aria2c|http)\b"
_SHELL = r"(?:/\S*/)?(?:ba|z|da|k|c|fi|a)?sh\b"
_INTERPRETER = r"(?:/\S*/)?(?:python[\d.]*|perl|ruby|node|php|lua)(?=\s*(?:-(?!\w)|$|[`'\")\n;&|]))"
_PREFIX = r"(?:sudo\s+(?:-\S+\s+)*|env\s+(?:\S+=\S*\s+)*|nohup\s+|exec\s+)*"
_PIPE_TO_SHELL = re.compile(
    rf"{_FETCH}[^\n]{{0,400}}?\|\s*{_PREFIX}"
    rf"(?:{_SHELL}|{_INTERPRETER}|iex\b|invoke-expression\b|\$\{{?\w+)"
    rf"|(?:{_SHELL}|source|eval|(?<![\w.])\.)\s+[\"']?<\(\s*{_FETCH}"
    rf"|(?:eval|source|{_SHELL}\s+-c)\s+[\"'`]*(?:\$\(|`)\s*{_FETCH}"
    rf"|base(?:64|32)\s+(?:-d|-D|--decode|-di)\b[^\n]{{0,120}}?\|\s*{_PREFIX}(?:{_SHELL}|{_INTERPRETER})"
    r"|(?:xxd\s+-r|openssl\s+enc\s+-d|gunzip|zcat|tr\s)[^\n|]{0,120}\|\s*(?:sudo\s+)?(?:ba|z)?sh\b"
    r"|\b(?:exec|eval|system|popen|run|compile)\([^\n]{0,160}?"
    r"(?:urlopen|urlretrieve|requests\.get|httpx\.get|fetch\(|https?://|b64decode)"
    rf"|{_FETCH}[^\n]{{0,300}}?(?:-o|-O|--output|--output-document|>)[ =]*(?P<file>[^\s;&|`'\"]+)"
    r"[\s\S]{0,200}?(?:chmod\s+\S+\s+|(?:ba|z)?sh\s+|source\s+|python\d?\s+|[;&]\s*)(?:\./)?[\"']?(?P=file)"
    r"|downloadstring\(|(?:iwr|irm)\b[^\n]{0,200}\biex\b",
    re.IGNORECASE,
)
_WRITE = (
    r"(?:>>?|\btee\b|\bappend(?:s|ed)?\b|\badd(?:s|ed)?\b|\bwrite(?:s|n)?\b|\bcopy\b|\bcp\b|\bmv\b"
    r"|\bmove\b|\binstall\b|\bedit\b|\bset\b|\bmodify\b|\bupdate\b|\bcreate\b|\bput\b|\bln\b|\breplace\b"
    r"|\bchange\b|\binsert\b|\bsave\b|\bsed -i|\bchmod\b|\bpaste\b|\bvào\b|\bthêm\b|写入|添加)"
)
_CONFIG_FILE = (
    r"(?:(?:~|\$HOME|/root|/home/\w+)?/?\.(?:bashrc|bash_profile|bash_aliases|zshrc|zprofile|zshenv|profile"
    r"|gitconfig|npmrc|netrc|pypirc|vimrc|tmux\.conf|condarc)\b"
    r"|config\.fish\b|\.claude/[\w./-]+|\.cursor/[\w./-]+|\.vscode/(?:settings|tasks)\.json|\.codex/[\w./-]+"
    r"|\b(?:CLAUDE|AGENTS|GEMINI|SOUL)\.md\b|\.cursorrules\b|\.windsurfrules\b|copilot-instructions\.md"
    r"|\.?mcp(?:_settings|_config)?\.json\b|claude_desktop_config\.json|\.git/hooks/[\w-]+"
    r"|\bauthorized_keys\b|\.ssh/config\b|/etc/(?:sudoers|passwd|shadow|hosts|cron\S*|profile\S*|ld\.so\S*"
    r"|systemd/\S*|rc\.local)|LaunchAgents/|\.config/(?:systemd|autostart)/|\bsudoers\b)"
)
_CONFIGURATION = re.compile(
    rf"{_WRITE}[^\n]{{0,120}}?{_CONFIG_FILE}|{_CONFIG_FILE}[^\n]{{0,40}}?{_WRITE}"
    r"|git\s+config\s+[^\n]{0,40}(?:core\.hookspath|core\.fsmonitor|core\.sshcommand|core\.pager|alias\."
    r"|credential\.helper|url\.\S+\.insteadof|filter\.\S+\.(?:clean|smudge))"
    r"|\|\s*crontab\b|\bcrontab\s+(?:-\s|-$|-`|[\w/.]+$)|\bat\s+now\b|\bschtasks\s+/create"
    r"|\bsystemctl\s+(?:--user\s+)?enable\b|\blaunchctl\s+(?:load|bootstrap)"
    r"|reg\s+add\s+\S*\\(?:Run|RunOnce)\b"
    r"|bypassPermissions|dangerously-skip-permissions|[\"']?autoApprove[\"']?\s*[:=]|--yolo\b"
    r"|(?:set|export)\s+[^\n]{0,40}\b(?:AUTH|VERIFY|SSL_VERIFY|NODE_TLS_REJECT_UNAUTHORIZED)\w*=(?:off|0|false)\b"
    r"|\"mcpServers\"\s*:",
    re.IGNORECASE,
)
_PRIVATE_FILE = (
    r"(?:~|\$HOME|/root|/home/\w+)/\.(?:ssh|aws|gnupg|kube|docker|netrc|npmrc|pypirc|config/gcloud)[\w./-]*"
    r"|\bid_(?:rsa|ed25519|ecdsa)\b|\.aws/credentials|/etc/shadow|(?<![\w/])\.env\b(?!\.example)"
)
_SENDS = (
    r"(?:curl\b|wget\b|\bnc\b|\bncat\b|\bsocat\b|\bscp\b|\brsync\b|\bdig\b|\bnslookup\b|\bupload\b|\bpost\b"
    r"|\bsend\b|\bforward\b|\bemail\b|\bexfiltrat\w+|\bfetch\()"
)
_EXFILTRATION = re.compile(
    rf"(?:{_PRIVATE_FILE})[^\n]{{0,160}}?{_SENDS}|{_SENDS}[^\n]{{0,160}}?(?:{_PRIVATE_FILE})"
    r"|(?<![\w.-])(?:env|printenv|set)\s*\|\s*[^\n]{0,80}?(?:curl|wget|nc|base64|http)\b"
    rf"|{_SENDS}[^\n]{{0,120}}?(?:-d|--data\S*|-F|--form)\s*[\"']?@?(?:-|\$\((?:env|printenv|cat))"
    r"[^\n]{0,80}https?://(?!localhost|127\.)"
    r"|(?:dig|nslookup|host|ping)\s[^\n]{0,20}\$\([^\n]{0,120}\)\.\w"
    r"|\bnc(?:at)?\s+(?:-\S+\s+)*[\w.-]+\s+\d{2,5}\s*<"
    r"|/dev/tcp/|\bbash\s+-i\b[^\n]{0,20}>&"
    r"|\b(?:forward|send|copy|bcc)\b[^\n.]{0,40}\b(?:each|every|all)\b[^\n.]{0,40}\b[\w.+-]+@[\w.-]+\.\w+",
    re.IGNORECASE,
)
_FENCE = re.compile(
    r"</?\s*(?:available_skills|skills?|skill_tools|system|system-reminder|instructions|memory|user|assistant"
    r"|tool_result|function_results|s)\s*>|<\|(?:im_start|im_end|endoftext|system|user|assistant)\|>|\[/?INST\]",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(
    r"(?:x{4,}|X{4,}|\*{3,}|\.{3,}|<[^>]*>|your[-_ ]|example|placeholder|USER:PASS(?:WORD)?@|user:pass(?:word)?@"
    r"|changeme|\$\{?\w+|redacted)",
)
_RULES: Final = (
    ("pipe-to-shell", _PIPE_TO_SHELL),
    ("configuration", _CONFIGURATION),
    ("exfiltration", _EXFILTRATION),
    ("fence", _FENCE),
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
    return [
        found[0]
        for pattern in (_PIPE_TO_SHELL, _CONFIGURATION, _EXFILTRATION)
        for found in pattern.finditer(plain)
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
    return re.sub(r"\\\r?\n\s*", " ", text[:300_000])


def _findings(text: str) -> Iterator[tuple[str, str]]:
    plain = _plain(text)
    for kind, pattern in _RULES:
        found = pattern.search(plain)
        if found:
            yield kind, " ".join(found[0].split())[:80]
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
