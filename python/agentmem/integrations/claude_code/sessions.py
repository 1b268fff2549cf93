"""Which files below a folder make up which session of Claude Code."""

from __future__ import annotations

import gzip
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from agentmem.errors import InvalidInputError
from agentmem.toollog.formats.claude_code import SessionFiles

__all__ = ["Session", "default_folder", "find_sessions", "session_name"]

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_HEAD_BYTES: Final = 1 << 20
_HEAD_LINES: Final = 200
_AGENT: Final = "agent-"


@dataclass
class Session:
    """One session: its main files (several where it was copied) and those of its sub-agents."""

    name: str
    mains: list[Path] = field(default_factory=list)
    agents: list[tuple[Path, str]] = field(default_factory=list)

    @property
    def size_bytes(self) -> int:
        """How much there is to read."""
        paths = [*self.mains, *(path for path, _ in self.agents)]
        return sum(path.stat().st_size for path in paths if path.exists())

    def files(self) -> SessionFiles:
        """Return the files as one log."""
        return SessionFiles([*((path, None) for path in self.mains), *self.agents])


def default_folder() -> Path:
    """Return where Claude Code keeps the sessions of all projects."""
    base = os.environ.get("CLAUDE_CONFIG_DIR")
    return (Path(base) if base else Path.home() / ".claude") / "projects"


def find_sessions(folder: Path) -> list[Session]:
    """Return the sessions below a folder, or that of one file, by name.

    A session is named by its id: that of the file's name, else the one its lines give, else the
    name of the file. Sub-agents belong to the session whose folder they are in or that they name;
    one whose session is not there is a session by itself.

    Raises:
        InvalidInputError: There is no such folder, or no session below it.
    """
    if not folder.exists():
        raise InvalidInputError(f"{folder}: there is no such folder of Claude Code sessions")
    found: dict[str, Session] = {}
    for path in _files(folder):
        agent_id, name = _whose(path)
        session = found.setdefault(name, Session(name))
        if agent_id is None:
            session.mains.append(path)
        else:
            session.agents.append((path, agent_id))
    if not found:
        raise InvalidInputError(f"{folder}: it holds no session (*.jsonl)")
    return [found[name] for name in sorted(found)]


def _files(folder: Path) -> list[Path]:
    if folder.is_file():
        return [folder]
    return sorted(
        path
        for path in folder.rglob("*")
        if path.name.endswith((".jsonl", ".jsonl.gz")) and path.is_file()
    )


def _whose(path: Path) -> tuple[str | None, str]:
    """Return the sub-agent that wrote a file, None for the main one, and the session's name."""
    stem = path.name.removesuffix(".gz").removesuffix(".jsonl")
    head = _Head.of(path)
    if stem.startswith(_AGENT):
        return stem.removeprefix(_AGENT), head.session or _folder_session(path) or stem
    if head.is_sidechain and head.agent is not None:
        return head.agent, head.session or stem
    return None, session_name(stem, head.session)


def session_name(stem: str, given: str | None) -> str:
    """Return the name of the session of a file by the stem of its name and the id in its lines.

    Where a session was resumed its file may begin with lines of an older one: the file's name is
    the host's own id of it.
    """
    return stem if _UUID.fullmatch(stem) else given or stem


def _folder_session(path: Path) -> str | None:
    """Return the session in whose folder a sub-agent's file lies: ``SESSION/subagents/``."""
    return next((one.name for one in path.parents if _UUID.fullmatch(one.name)), None)


@dataclass
class _Head:
    """What the first lines of a file say of it."""

    session: str | None = None
    agent: str | None = None
    is_sidechain: bool = False

    @classmethod
    def of(cls, path: Path) -> _Head:
        """Read the head of a file; one that can't be read says nothing."""
        head = cls()
        for value in _lines(path):
            session = value.get("sessionId")
            if isinstance(session, str) and session.strip():
                head.session = session
                agent = value.get("agentId")
                head.agent = agent if isinstance(agent, str) and agent else None
                head.is_sidechain = value.get("isSidechain") is True
                break
        return head


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    try:
        with path.open("rb") as file:
            is_packed = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            if is_packed:
                with gzip.open(file) as unpacked:
                    head = unpacked.read(_HEAD_BYTES)
            else:
                head = file.read(_HEAD_BYTES)
    except (OSError, EOFError, ValueError):
        return
    for line in head.split(b"\n", _HEAD_LINES)[:_HEAD_LINES]:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value
