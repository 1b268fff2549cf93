"""Which records of a given log are stored already, and which are its new tail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
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
    what comes behind is new. Where they agree nowhere so, or part ways in the middle (a host has
    changed its first message, or dropped some), a record is known if it stands beside its stored
    neighbour; one that only says the same as an earlier one is new, and a stored record is known
    once. A record with the host's own id is known wherever it stands.
    """

    next_id: int | None = None
    last_id: int | None = None
    newest_id: int | None = None
    is_past_end: bool = False
    beside: set[int] = field(default_factory=set)
    """Stored records that were known by their neighbour."""

    def copy(self) -> Alignment:
        """Return a state that can go on without changing this one."""
        return replace(self, beside=set(self.beside))

    def match(
        self, connection: apsw.Connection, session_id: int, records: Sequence[Record]
    ) -> list[RecordRow | None]:
        """Return the stored record of each given one, None for a new one; go on behind them."""
        found: list[RecordRow | None] = self._run(connection, session_id, records)
        if found and found[-1] is not None:
            self.last_id = found[-1].id
        rest = records[len(found) :]
        if not rest:
            return found
        digests = [record.digest for record in rest]
        stored = sessions.by_digests(connection, session_id, digests, self.newest_id)
        for place, record in enumerate(rest):
            known = stored.get(record.digest, ())
            row = None
            if known and record.client_id is not None:
                row = known[0]
            elif known and not self.is_past_end:
                row = self._beside(connection, session_id, known, rest[place : place + 2])
                if row is not None:
                    self.beside.add(row.id)
            self.last_id = None if row is None else row.id
            found.append(row)
        return found

    def _was_there(self, row: RecordRow) -> bool:
        """Whether a record is older than this call, which is not held against itself."""
        return self.newest_id is not None and row.id <= self.newest_id

    def _is_free(self, row: RecordRow) -> bool:
        return self._was_there(row) and row.id not in self.beside

    def _beside(
        self,
        connection: apsw.Connection,
        session_id: int,
        known: Sequence[RecordRow],
        pair: Sequence[Record],
    ) -> RecordRow | None:
        """Return the stored record of the first of a pair, if the one before or behind agrees."""
        if self.last_id is not None:
            after = sessions.run_from(connection, session_id, self.last_id + 1, 1)
            if after and after[0].digest == pair[0].digest and self._is_free(after[0]):
                return after[0]
        if len(pair) > 1:
            for row in (*known[:1], *known[-_STARTS:]):
                if row.id in self.beside:
                    continue
                after = sessions.run_from(connection, session_id, row.id + 1, 1)
                if after and after[0].digest == pair[1].digest:
                    return row
        return None

    def _run(
        self, connection: apsw.Connection, session_id: int, records: Sequence[Record]
    ) -> list[RecordRow | None]:
        """Return the stored records that the given ones begin with, in step."""
        best: list[RecordRow] = []
        if self.newest_id is None:
            self.newest_id = sessions.newest_record(connection, session_id)
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

    def _compare(
        self, connection: apsw.Connection, session_id: int, start: int, records: Sequence[Record]
    ) -> tuple[list[RecordRow], bool]:
        run = sessions.run_from(connection, session_id, start, len(records))
        stored = [row for row in run if self._was_there(row)]
        for place, (row, record) in enumerate(zip(stored, records, strict=False)):
            if row.digest != record.digest:
                return stored[:place], False
        return stored, True
