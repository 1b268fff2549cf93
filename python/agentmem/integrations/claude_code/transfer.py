"""Take in the sessions of Claude Code that are on this machine already."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from agentmem.errors import InvalidInputError, ToolLogError
from agentmem.integrations.claude_code.sessions import default_folder, find_sessions

if TYPE_CHECKING:
    from agentmem.memory import Memory

__all__ = ["SessionsImported", "import_sessions"]


@dataclass(frozen=True, slots=True)
class SessionsImported:
    """What an import of sessions did.

    Attributes:
        sessions: How many were read, sub-agents with them.
        new: Turns that were written.
        existing: Turns that were there already.
        redacted: Secrets that were replaced in what was written, by kind.
        failed: Why a session could not be read, by its name; what could be read of it is kept.
    """

    sessions: int
    new: int
    existing: int
    redacted: Mapping[str, int] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)


def import_sessions(
    memory: Memory,
    folder: Path | None = None,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> SessionsImported:
    """Capture every session below a folder, each under its own id, with its sub-agents.

    It is idempotent: what is there already is left alone, so that a run that was killed goes on
    at the next one, and a session that has grown gets its new turns.

    Args:
        memory: Where the sessions go; its scope is theirs.
        folder: A folder of sessions, of projects with sessions, or one file; None for where
            Claude Code keeps them.
        progress: Called as ``progress(done, total)`` in bytes read, after each session.

    Raises:
        InvalidInputError: There is no session.
    """
    found = find_sessions(folder if folder is not None else default_folder())
    sizes = [session.size_bytes for session in found]
    new = existing = done = 0
    redacted: Counter[str] = Counter()
    failed: dict[str, str] = {}
    for session, size in zip(found, sizes, strict=True):
        try:
            captured = memory.capture(session.files(), session=session.name, format="auto")
            new += captured.new
            existing += captured.duplicates
            redacted.update(captured.redacted)
        except (ToolLogError, InvalidInputError, FileNotFoundError, PermissionError) as error:
            failed[session.name] = str(error)
        done += size
        if progress is not None:
            progress(done, sum(sizes))
    return SessionsImported(len(found) - len(failed), new, existing, dict(redacted), failed)
