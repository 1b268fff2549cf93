"""Which records of a given log are stored already, and which are its new tail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from agentmem.store import sessions

if TYPE_CHECKING:
    import apsw

    from agentmem.store.sessions import RecordRow
    from agentmem.tiers.capture_input import Record

__all__ = ["Alignment"]

_STARTS: Final = 16


@dataclass
class Alignment:
    """How far the records of one ``capture`` call agree with the session; pieces go in order.

    A log is given again and again as it grows: whole, as a window that ends with the newest, or as
    the newest alone. So the given records are laid against the stored ones at the place where
    they agree longest, up to the session's end or their own, the earliest of several such places;
    what comes behind is new. Where they
    agree nowhere, or part ways in the middle, the n-th record of a digest in the call is the n-th
    of that digest in the session. A record with the host's own id is known wherever it stands.
    """

    next_id: int | None = None
    is_started: bool = False
    is_past_end: bool = False
    seen: Counter[int] = field(default_factory=Counter)

    def copy(self) -> Alignment:
        """Return a state that can go on without changing this one."""
        other = copy(self)
        other.seen = self.seen.copy()
        return other

    def match(
        self, connection: apsw.Connection, session_id: int, records: Sequence[Record]
    ) -> list[RecordRow | None]:
        """Return the stored record of each given one, None for a new one; go on behind them."""
        found: list[RecordRow | None] = self._run(connection, session_id, records)
        rest = records[len(found) :]
        self.seen.update(record.digest for record in records[: len(found)])
        if not rest:
            return found
        stored = sessions.by_digests(connection, session_id, [record.digest for record in rest])
        for record in rest:
            self.seen[record.digest] += 1
            known = stored.get(record.digest, [])
            if record.client_id is not None:
                found.append(known[0] if known else None)
            elif self.is_past_end or self.seen[record.digest] > len(known):
                found.append(None)
            else:
                found.append(known[self.seen[record.digest] - 1])
        return found

    def _run(
        self, connection: apsw.Connection, session_id: int, records: Sequence[Record]
    ) -> list[RecordRow | None]:
        """Return the stored records that the given ones begin with, in step."""
        best: list[RecordRow] = []
        if not self.is_started:
            self.is_started = True
            first = records[0].digest
            for start in sessions.starts(connection, session_id, first, _STARTS):
                run, is_whole = self._compare(connection, session_id, start, records)
                if is_whole and len(run) >= len(best):
                    best = run
            if not best:
                return []
        elif self.next_id is None:
            return []
        else:
            best, is_whole = self._compare(connection, session_id, self.next_id, records)
            if not is_whole:
                self.next_id = None
                return list(best)
        self.is_past_end = len(best) < len(records)
        self.next_id = None if self.is_past_end else best[-1].id + 1
        return list(best)

    @staticmethod
    def _compare(
        connection: apsw.Connection, session_id: int, start: int, records: Sequence[Record]
    ) -> tuple[list[RecordRow], bool]:
        stored = sessions.run_from(connection, session_id, start, len(records))
        for place, (row, record) in enumerate(zip(stored, records, strict=False)):
            if row.digest != record.digest:
                return stored[:place], False
        return stored, True
