"""A tool call as the miner sees it: flat arguments, what kind of act it is, how alike two are.

All of it is deterministic and reads names and arguments only; results decide nothing here.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

__all__ = [
    "ALIKE",
    "SLOT",
    "Call",
    "flatten",
    "is_check",
    "is_command",
    "is_content",
    "is_effect",
    "is_generic",
    "is_noise",
    "similarity",
    "verbs",
    "word_set",
]


def word_set(text: str) -> frozenset[str]:
    """Return the words of a list that is written as one text."""
    return frozenset(text.split())


ALIKE: Final = 0.55
"""From this likeness on two calls may be the same step: a command with the same verbs and all of
its operands changed scores 0.5 + 0.5 * (share of common words), the same tool with another verb
at most about 0.5."""

SLOT: Final = "\ufffc"
"""Stands for a parameter inside a text; no word, so it never counts as common."""

_MAX_LEAVES: Final = 48
_MAX_DEPTH: Final = 8
_MAX_VERBS: Final = 3
_MAX_TEXT: Final = 6_000
_CONTENT_KEY = re.compile(
    r"(?:^|[._])(?:old|new|content|contents|text|body|file_text|message|patch|diff|code"
    r"|description|old_str|new_str|old_string|new_string)$"
)
_LONE = re.compile("[\ud800-\udfff]")
_WORD = re.compile(r"\w+")
_PLAIN = re.compile(r"[a-z][a-z0-9]*")
_COMMAND = re.compile(r"(?:[.\w-]*/)*[A-Za-z][\w.+-]*")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=\S*")
_READ_VERBS: Final = word_set(
    "get read list ls ll dir search find grep rg ag cat head tail less more show view open "
    "print describe status stat fetch lookup query select explain scan info inspect history "
    "log logs diff which whereis pwd env printenv df du ps top uptime whoami date nproc id wc "
    "dig host nslookup ping version help glob browse goto scroll screenshot download pull "
    "count check think plan calculate todo summarize expand recall load tree uname free last"
)
_CHECK_WORDS: Final = word_set(
    "test tests pytest unittest tox nox jest vitest mocha rspec ctest check checks lint "
    "clippy mypy ruff flake8 eslint tsc typecheck vet validate verify verification credo "
    "dialyzer health healthz healthcheck smoke bench benchmark compile audit scan"
)
_WRITE_VERBS: Final = word_set(
    "insert update delete create drop alter merge truncate grant revoke replace upsert rm mv cp "
    "mkdir touch chmod chown ln kill tee install deploy push rsync scp patch"
)
_GENERIC: Final = word_set(
    "read write edit open create view bash shell sh run exec execute terminal grep glob ls "
    "find search cat file multiedit create_file read_file write_file edit_file find_file "
    "search_file search_dir str_replace_editor str_replace apply_patch submit finish goto "
    "scroll_down python ipython notebookedit list_files list_dir"
)
_NOISE: Final = word_set(
    "think todowrite todo_write todoread todo_read update_plan plan exit_plan_mode "
    "exitplanmode askuserquestion ask_user scratchpad calculate"
)
_COMMAND_KEYS: Final = word_set("command cmd args script query sql statement code input")


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a run.

    Attributes:
        tool: The tool's name.
        leaves: Text of each argument by its path, ``"body.login"``; ``""`` for arguments that are
            one text.
        failed: It did not work.
        place: 0-based place among the calls of its run.
        source: Its L0 id, if it has one.
        batch: Calls that were made together share it.
    """

    tool: str
    leaves: Mapping[str, str]
    failed: bool = False
    place: int = 0
    source: str | None = None
    batch: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return plain data that :meth:`from_json` reads back."""
        return {"tool": self.tool, "args": dict(self.leaves), "failed": self.failed}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], place: int = 0) -> Call:
        """Return the call of plain data; what is not text becomes text."""
        args = data.get("args")
        leaves = {str(k): str(v) for k, v in args.items()} if isinstance(args, Mapping) else {}
        return cls(str(data.get("tool", "")), leaves, data.get("failed") is True, place)


def flatten(arguments: Mapping[str, Any] | str) -> dict[str, str]:
    """Return each argument's text by path; at most 48 of at most 6,000 characters each."""
    leaves: dict[str, str] = {}
    for path, text in _walk("", arguments, 0):
        if len(leaves) == _MAX_LEAVES:
            break
        leaves[path] = _LONE.sub("\ufffd", text[:_MAX_TEXT])
    return leaves


def _walk(path: str, value: Any, depth: int) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping) and depth < _MAX_DEPTH:
        for key, item in value.items():
            yield from _walk(f"{path}.{key}" if path else str(key), item, depth + 1)
    elif isinstance(value, list) and value and depth < _MAX_DEPTH:
        for place, item in enumerate(value):
            yield from _walk(f"{path}[{place}]", item, depth + 1)
    else:
        yield path, json.dumps(value, ensure_ascii=False, default=str)


@lru_cache(maxsize=8_192)
def _words(text: str) -> Counter[str]:
    return Counter(_WORD.findall(text.casefold()))


def _dice(one: Counter[str], other: Counter[str]) -> float:
    total = one.total() + other.total()
    return 2 * (one & other).total() / total if total else 1.0


@lru_cache(maxsize=8_192)
def verbs(text: str) -> tuple[str, ...]:
    """Return up to three plain words that say what a command does.

    Options, assignments, paths, ids and ``sudo`` are passed over: ``terraform -chdir=x plan``
    gives ``("terraform", "plan")``.
    """
    found: list[str] = []
    for place, piece in enumerate(text[:400].split()):
        if place == 0 and _COMMAND.fullmatch(piece):
            found.append(piece.rpartition("/")[2].casefold())
            continue
        if piece.startswith("-") or _ASSIGNMENT.fullmatch(piece) or piece == "sudo":
            continue
        word = piece.casefold().strip("\"'();,")
        if _PLAIN.fullmatch(word) and not (len(found) > 1 and any(c.isdigit() for c in word)):
            found.append(word)
        if len(found) == _MAX_VERBS:
            break
    return tuple(found)


def _leaf_likeness(path: str, one: str, other: str) -> float:
    if one == other:
        return 1.0
    if SLOT in (one.strip(), other.strip()):
        return 0.6
    common = _dice(_words(one), _words(other))
    if is_content(path):
        return 0.5 + 0.5 * common
    first, second = one.split(), other.split()
    if len(first) > 1 or len(second) > 1:
        mine, its = verbs(one), verbs(other)
        if not mine and not its:
            return common
        return 0.5 * _dice(Counter(mine), Counter(its)) + 0.5 * common
    if _PLAIN.fullmatch(one.casefold()) and _PLAIN.fullmatch(other.casefold()):
        return 0.0 if path.rpartition(".")[2] in {"method", "action", "op", "verb"} else 0.6
    if any(mark in one + other for mark in "/."):
        return 0.45 + 0.55 * common
    return 0.6


@lru_cache(maxsize=65_536)
def _weight(path: str, *, long: bool) -> float:
    return 0.3 if long or is_content(path) else 1.0


def is_command(path: str) -> bool:
    """Whether an argument of this path is a command, a query or code."""
    return path == "" or path.rpartition(".")[2].casefold() in _COMMAND_KEYS


def is_content(path: str) -> bool:
    """Whether an argument of this path is a piece of a document, not what names the act."""
    return _CONTENT_KEY.search(path) is not None


def similarity(one: Call, other: Call) -> float:
    """Return 0 to 1, how likely two calls are the same step with other arguments."""
    if one.tool != other.tool:
        return 0.0
    if one.leaves == other.leaves:
        return 1.0
    total = score = 0.0
    for path in one.leaves.keys() | other.leaves.keys():
        mine, its = one.leaves.get(path), other.leaves.get(path)
        if mine is None or its is None:
            total += 0.2
            continue
        weight = _weight(path, long="\n" in mine.strip() or "\n" in its.strip())
        total += weight
        score += weight * _leaf_likeness(path, mine, its)
    return score / total if total else 1.0


def _act(call: Call) -> list[str]:
    """Return the words that name what a call does: of the tool, and of a command if it has one."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", call.tool)
    words = [w for w in re.split(r"[^a-z0-9]+", spaced.casefold()) if w]
    for path, text in call.leaves.items():
        if is_command(path):
            words.extend(verbs(text))
        elif path.rpartition(".")[2].casefold() in {"method", "command", "action"}:
            words.append(text.strip().casefold())
    return words


def is_noise(call: Call) -> bool:
    """Whether the call only thinks or keeps a list; it is never a step."""
    return call.tool.casefold() in _NOISE


def is_generic(call: Call) -> bool:
    """Whether the tool says nothing of the work: any session reads, edits and runs commands."""
    return call.tool.casefold() in _GENERIC


def is_check(call: Call) -> bool:
    """Whether the call checks something: tests, a lint, a health endpoint."""
    words = set(_act(call))
    for path, text in call.leaves.items():
        if is_command(path):
            head = [t for t in text[:200].split()[:5] if not re.search(r"^-|[/.]", t)]
            words.update(_WORD.findall(" ".join(head[:4]).casefold()))
    if words & _CHECK_WORDS and not words & {"commit", "add", "grep", "rg", "find"}:
        return True
    texts = " ".join(t[:300] for t in call.leaves.values()).casefold()
    url = re.search(r"https?://\S+", texts)
    return bool(url and set(_WORD.findall(url[0])) & {"health", "healthz", "status", "ping"})


def is_effect(call: Call) -> bool:
    """Whether the call changes something; look-ups and checks do not."""
    words = _act(call)
    if is_noise(call) or not words:
        return False
    method = call.leaves.get("method", "").upper()
    if method in {"GET", "HEAD", "OPTIONS"}:
        return False
    if method in {"POST", "PUT", "PATCH", "DELETE"}:
        return True
    name_words = [w for w in re.split(r"[^a-z0-9]+", call.tool.casefold()) if w]
    command = next((t for p, t in call.leaves.items() if is_command(p)), "")
    if command and (is_generic(call) or len(name_words) == 1):
        said = verbs(command)
        if re.search(r"(?:^|\s)-{1,2}version\b|--help\b", command):
            return False
        if said and said[0] in _WRITE_VERBS:
            return True
        acts = said[:1] if said and said[0] in _READ_VERBS else said[1:3] or said
        return not (set(acts) & (_READ_VERBS | _CHECK_WORDS))
    return not (set(words) & _READ_VERBS) and not (set(name_words) & _CHECK_WORDS)
