"""What a call does, whatever tool or program does it: ``cat x`` and ``read_file`` are one act.

Only acts that many tools offer are known here. They help to know a procedure again that was done
by other means; they never make one, and no template is drawn from two tools.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import Final

from agentmem.skills.calls import SLOT, Call, is_command, word_set

__all__ = ["act_likeness", "bare", "is_reading"]

_MOST: Final = 0.9
"""By other means is never as alike as by the same."""

_PROGRAMS: Final = {
    "read": word_set("cat bat less more head tail nl read read_file open view open_file view_file"),
    "search": word_set("grep egrep rg ag ack search search_dir search_files find_in_files"),
    "edit": word_set("edit edit_file str_replace str_replace_editor apply_patch multiedit"),
    "write": word_set("write write_file create_file touch"),
    "copy": word_set("cp install copy_file"),
    "move": word_set("mv move_file rename_file"),
    "remove": word_set("rm unlink delete_file remove_file"),
    "list": word_set("ls dir tree list_dir list_files list_directory"),
    "fetch": word_set("curl wget http https fetch web_fetch http_get http_request get_url"),
}
_CHECKS: Final = {
    "test": word_set("test tests pytest unittest vitest jest mocha tox nox ctest rspec run_tests"),
    "lint": word_set("lint eslint ruff flake8 pylint clippy run_lint"),
    "types": word_set("typecheck mypy tsc pyright check_types"),
}
_VERSIONED: Final = word_set("git hg jj svn gh")
_WRAPPERS = re.compile(
    r"\s*(?:(?:cd|pushd)\s+[^\s;&|]+\s*(?:&&|;)"
    r"|(?:sudo|time|nohup|exec|command|env|npx|bunx)(?=\s)(?:\s+-{1,2}[a-zA-Z][\w-]*(?=\s))*"
    r"|(?:uv|poetry|pipenv|pdm|hatch|bundle|pnpm|yarn)\s+(?:run|exec)(?=\s)"
    r"|python[\d.]*\s+-m(?=\s)|[A-Za-z_]\w*=[^\s'\"]*(?=\s))\s*"
)
_WRITES = re.compile(
    r"(?:^|\s)(?:-X\s*|--request[ =])(?!GET|HEAD)[A-Z]+|\s(?:-d|--data\S*|-F|-T)\s"
)
_IN_PLACE = re.compile(r"\s-[a-zA-Z]*i|--in-place")
_STOP = re.compile(r"\s*(?:\|\||&&|[|;\n])\s*")
_WORD = re.compile(r"\w+")
_ECHOES: Final = word_set("echo printf true")


@lru_cache(maxsize=8_192)
def bare(command: str) -> str:
    """Return a command without what only says where and how it runs: ``cd x &&``, ``sudo``."""
    place = 0
    for _ in range(6):
        found = _WRAPPERS.match(command, place)
        if found is None or found.end() == len(command):
            break
        place = found.end()
    return command[place:]


def act_likeness(one: Call, other: Call) -> float:
    """Return 0 to 0.9, how likely two calls do the same thing by other means."""
    mine, its = _act(one), _act(other)
    if mine is None or its is None or mine[0] != its[0]:
        return 0.0
    kind, words = mine
    common = _dice(words, its[1])
    if kind in _CHECKS:
        return min(_MOST, 0.65 + 0.25 * common)
    return min(_MOST, 0.35 + 0.65 * common)


def is_reading(call: Call) -> bool:
    """Whether a call shows, lists or searches what files hold."""
    act = _act(call)
    return act is not None and act[0] in {"read", "list", "search"}


def _dice(one: Counter[str], other: Counter[str]) -> float:
    total = one.total() + other.total()
    return 2 * (one & other).total() / total if total else 0.0


def _act(call: Call) -> tuple[str, Counter[str]] | None:
    command = next((t for p, t in call.leaves.items() if is_command(p)), None)
    if command is not None:
        return _act_of_command(command[:400])
    name = call.tool.casefold()
    if call.leaves.get("method", "GET").upper() not in {"GET", "HEAD"}:
        return None
    texts = [t for t in call.leaves.values() if len(t) <= 400 and "\n" not in t]  # noqa: PLR2004
    for kinds in (_PROGRAMS, _CHECKS):
        for kind, names in kinds.items():
            if name in names:
                return kind, _operands(kind, " ".join(texts))
    return None


@lru_cache(maxsize=8_192)
def _act_of_command(command: str) -> tuple[str, Counter[str]] | None:
    parts = [p for p in _STOP.split(bare(command)) if p.strip()]
    kept = [p for p in parts if p.split()[0] not in _ECHOES]
    if not kept:
        return None
    words = bare(kept[0]).split()
    program = words[0].rpartition("/")[2].casefold()
    rest = " ".join(words[1:])
    if program in _VERSIONED:
        program, rest = (words[1], " ".join(words[2:])) if len(words) > 1 else ("", "")
        return ("move", _operands("move", rest)) if program == "mv" else None
    if program == "sed":
        kind = "edit" if _IN_PLACE.search(f" {rest}") else "read"
        return kind, _operands(kind, rest)
    for kind, names in _PROGRAMS.items():
        if program in names:
            return None if _WRITES.search(f" {rest} ") else (kind, _operands(kind, rest))
    heads = {w.casefold().partition(":")[0] for w in words[:3] if not w.startswith("-")}
    for kind, names in _CHECKS.items():
        if heads & names:
            return kind, _operands(kind, rest)
    return None


def _operands(kind: str, text: str) -> Counter[str]:
    """Return the words of paths and addresses; of all operands, for a check or a search."""
    pieces = [p for p in text.split() if not p.startswith("-")]
    if kind not in _CHECKS and kind != "search":
        pieces = [p for p in pieces if "/" in p or "." in p] or pieces
    return Counter(_WORD.findall(" ".join(pieces).replace(SLOT, " ").casefold()))
