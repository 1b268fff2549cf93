"""Capture a session as it grows: only what came behind what was read before.

In the folder lies a small file for each session that says how far its files were read. It is a
cache: without it, or where the store has less than it says, the files are read whole, and what is
there already is left alone.
"""

from __future__ import annotations

import json
import os
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from agentmem.errors import InvalidInputError
from agentmem.integrations.claude_code.light import open_light
from agentmem.store import sessions
from agentmem.store.folder import HOSTS
from agentmem.tiers.capture import capture
from agentmem.toollog.formats.claude_code import SessionFiles

if TYPE_CHECKING:
    from agentmem.models import Captured

__all__ = ["capture_session"]

OVERLAP_BYTES: Final = 32 << 10
"""What is read again: calls of one message lie on several lines, and results find their calls."""


def capture_session(
    folder: Path, scope: str, *, transcript: str, session: str, is_end: bool = False
) -> Captured | None:
    """Write what is new of a session, its sub-agents with it; None if there is nothing to read.

    A sub-agent is read once the call that started it is known, at the latest at the end: under
    which call its work stands is decided when it is written.

    Args:
        folder: The memory; it is made if need be.
        scope: Where the session goes.
        transcript: The main file, as the host names it.
        session: The host's id of the session; the file's name where it has none.
        is_end: Whether nothing more will come.

    Raises:
        InvalidInputError: The transcript is no file.
    """
    main = Path(transcript)
    if not transcript or "\0" in transcript or not main.is_file():
        raise InvalidInputError(f"transcript_path: {transcript!r} is no file")
    name = session or main.stem
    with open_light(folder, create=True) as store:
        place = folder / HOSTS / f"claude-code-{_digest(scope, name)}.json"
        state = _State.load(place, _newest(store, scope, name))
        links = dict(state.links)
        files: list[tuple[Path | bytes, str | None]] = []
        grown = state.take(main, files, None)
        for agent_id, path in _agents(main):
            if is_end or agent_id in links or _names(files, agent_id):
                grown |= state.take(path, files, agent_id)
        if not grown:
            return None
        done = capture(
            store, scope, SessionFiles(files, links), session=name, format_="claude-code"
        )
        state.links = links
        state.save(place, _newest(store, scope, name))
        return done


def _newest(store: Any, scope: str, name: str) -> int:
    with store.database.read() as connection:
        for row in sessions.find(connection, scope, name):
            if row.scope == scope:
                return sessions.newest_record(connection, row.id)
    return 0


def _agents(main: Path) -> list[tuple[str, Path]]:
    folder = main.with_suffix("") / "subagents"
    if not folder.is_dir():
        return []
    found = sorted(folder.rglob("agent-*.jsonl"))
    return [(path.stem.removeprefix("agent-"), path) for path in found]


def _names(files: list[tuple[Path | bytes, str | None]], agent_id: str) -> bool:
    """Whether the new lines of the main agent name a sub-agent."""
    word = f'"agentId":"{agent_id}"'.encode()
    return any(agent is None and isinstance(data, bytes) and word in data for data, agent in files)


def _digest(*parts: str) -> str:
    hasher = blake2b(digest_size=16)
    for part in parts:
        hasher.update(part.encode("utf-8", "surrogatepass") + b"\0")
    return hasher.hexdigest()


class _State:
    """How far each file of a session was read, and which call started which sub-agent."""

    def __init__(self) -> None:
        self.offsets: dict[str, list[int]] = {}
        self.links: dict[str, str] = {}

    @classmethod
    def load(cls, place: Path, newest: int) -> _State:
        """Return what was noted; nothing if the store has less than was written then."""
        state = cls()
        try:
            noted = json.loads(place.read_bytes())
            if noted["newest"] <= newest and newest > 0:
                state.offsets = {
                    str(path): [int(one) for one in pair] for path, pair in noted["offsets"].items()
                }
                state.links = {str(agent): str(call) for agent, call in noted["links"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return cls()
        return state

    def save(self, place: Path, newest: int) -> None:
        """Write the state, whole or not at all."""
        place.parent.mkdir(mode=0o700, exist_ok=True)
        beside = place.with_suffix(f".{os.getpid()}")
        noted = {"newest": newest, "offsets": self.offsets, "links": self.links}
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(json.dumps(noted).encode())
        beside.replace(place)

    def take(
        self, path: Path, files: list[tuple[Path | bytes, str | None]], agent_id: str | None
    ) -> bool:
        """Add the whole lines behind what was read of a file, and some before; False for none.

        A last line without an end is still being written: it comes with the next event.
        """
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            inode, offset = self.offsets.get(str(path), (status.st_ino, 0))
            if inode != status.st_ino or status.st_size < offset:
                offset = 0
            start = max(offset - OVERLAP_BYTES, 0)
            file.seek(start)
            data = file.read()
        end = data.rfind(b"\n") + 1
        if start + end <= offset:
            return False
        begin = data.find(b"\n") + 1 if start else 0
        # Of a line longer than the overlap the end is no record.
        begin = begin if start + begin <= offset else offset - start
        files.append((data[begin:end], agent_id))
        self.offsets[str(path)] = [status.st_ino, start + end]
        return True
