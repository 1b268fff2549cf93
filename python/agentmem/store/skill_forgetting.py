"""What forgotten turns leave in the skill path: nothing of their text, in any archive of the store."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from agentmem.errors import CorruptStoreError
from agentmem.store import skill_archives, skill_uses

if TYPE_CHECKING:
    import apsw

__all__ = ["forget_turns"]

_FORGOTTEN = b'{"role":"omission","text":"[%d messages were forgotten]"}\n'


def forget_turns(connection: apsw.Connection, turn_ids: Sequence[int]) -> None:
    """Take turns out of buffers and archives; call before the turns themselves are deleted.

    Fingerprints of the archives go, and answers of reviewers that are not applied yet: both may
    quote what was said. A payload in an external store is no longer referred to; the one that
    stays in the row says only that it was forgotten, and ``skills.sweep()`` removes the file.
    """
    from hashlib import sha256

    wanted = json.dumps(list(turn_ids))
    touched = skill_archives.taken_by(connection, turn_ids)
    gone = set(turn_ids)
    for number in touched:
        payload = _without(connection, number, gone)
        skill_archives.move_in(connection, number, payload, sha256(payload).digest())
    if touched:
        skill_uses.forget_archives(connection, touched)
    buffers: list[Any] = connection.execute(
        "DELETE FROM skill_buffered WHERE turn_id IN (SELECT value FROM json_each(?)) "
        "RETURNING buffer_id, archive_id IS NULL AND NOT is_dropped, calls, size",
        (wanted,),
    ).fetchall()
    connection.executemany(
        "UPDATE skill_buffers SET messages = messages - 1, calls = calls - ?, size = size - ? "
        "WHERE id = ?",
        [(calls, size, buffer) for buffer, is_waiting, calls, size in buffers if is_waiting],
    )


def _without(connection: apsw.Connection, number: int, gone: set[int]) -> bytes:
    try:
        content = skill_archives.content_of(connection, number)
    except CorruptStoreError:
        content = None
    if content is None:
        return _FORGOTTEN % len(gone)
    kept, left_out = [], 0
    for line in content.split(b"\n"):
        if not line:
            continue
        try:
            source = json.loads(line).get("source")
        except (ValueError, AttributeError):
            source = None
            left_out += 1
            continue
        if source in gone:
            left_out += 1
        else:
            kept.append(line + b"\n")
    return b"".join(kept) + (_FORGOTTEN % left_out if left_out else b"")
