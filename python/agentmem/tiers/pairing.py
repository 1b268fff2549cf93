"""Tool calls of a session as its log grows: numbers, refs, batches, and results for calls.

The rules are those of :mod:`agentmem.toollog.formats.pairing`, held across any number of writes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agentmem.store import tool_calls
from agentmem.store.tool_calls import CallRow

if TYPE_CHECKING:
    import apsw

    from agentmem.store.sessions import RecordRow, SessionRow
    from agentmem.tiers.capture_input import Part

__all__ = ["SessionCalls"]

UNKNOWN_TOOL: Final = "?"
WINDOW: Final = 10_000
"""Calls without a result that a write still looks at, the newest."""
MAX_DEPTH: Final = 8
"""Runs of sub-agents nest this deep, as in the diagram."""


class SessionCalls:
    """The calls of one session while one write adds to them.

    Args:
        connection: The connection that writes.
        session: The session as it was before.
        batches: From the batch numbers of the given log to those of the session; it is added to.
    """

    def __init__(
        self, connection: apsw.Connection, session: SessionRow, batches: dict[int, int]
    ) -> None:
        self._connection = connection
        self._id = session.id
        self._batches = batches
        self.calls = session.calls
        self.top_calls = session.top_calls
        self.next_batch = session.batches
        self.is_rewriting = False
        self._new: dict[int, CallRow] = {}
        self._new_refs: dict[str, int] = {}
        self._new_pairings: set[str | None] = set()
        # Calls without a result: by number, by what a result would share with them, and, of those
        # that have not failed yet, by the agent that made them and the batch.
        self._waiting: dict[int, CallRow] = {}
        self._by_pairing: dict[str | None, list[int]] = {}
        self._pending: dict[str | None, dict[int, set[int]]] = {}
        for row in tool_calls.waiting(connection, session.id, WINDOW):
            self._wait(row)
        self._stored_waiting = set(self._waiting)
        self._children: dict[int, int] = {}
        self._latest: dict[str, CallRow] = {}
        self._last_record: dict[str | None, tuple[int, int]] = {}

    def note_stored(self, parts: tuple[Part, ...], record: RecordRow) -> None:
        """Learn from a record that is there already which batch its calls are of."""
        for place, part in enumerate(parts):
            if part.kind == "tool_call" and part.batch is not None:
                if part.batch not in self._batches:
                    row = tool_calls.by_turn(self._connection, record.first_turn + place)
                    if row is not None:
                        self._batches[part.batch] = row.batch
                return

    def add(self, part: Part, turn_id: int, record: int) -> None:
        """Take the next new turn of the log."""
        if part.kind == "tool_call":
            self._call(part, turn_id, record)
        elif part.kind == "tool_result":
            self._result(part, turn_id)
        elif part.kind in ("user", "assistant"):
            last = self._last_record.get(part.parent_id)
            # Words beside the calls of one message do not go on from them.
            if last is None or last[0] != record:
                self._go_on(part.parent_id, None)

    def _wait(self, row: CallRow) -> None:
        if row.number not in self._waiting:
            self._by_pairing.setdefault(row.pairing, []).append(row.number)
        self._waiting[row.number] = row
        if row.outcome == "pending":
            batches = self._pending.setdefault(row.parent_id, {})
            batches.setdefault(row.batch, set()).add(row.number)

    def _go_on(self, parent_id: str | None, batch: int | None) -> None:
        """The agent goes on: its calls of other batches that still wait have failed."""
        batches = self._pending.get(parent_id, {})
        for other in [one for one in batches if one != batch]:
            for number in sorted(batches.pop(other)):
                self._put(self._waiting[number]._replace(outcome="error"))
                self.is_rewriting |= number in self._stored_waiting

    def _put(self, row: CallRow) -> None:
        self._new[row.number] = row
        self._new_refs[row.ref] = row.number
        self._new_pairings.add(row.pairing)
        if not row.is_answered:
            self._wait(row)
        elif row.number in self._waiting:
            del self._waiting[row.number]
            self._by_pairing[row.pairing].remove(row.number)
            self._pending.get(row.parent_id, {}).get(row.batch, set()).discard(row.number)

    def _batch(self, given: int | None) -> int:
        if given is not None and given in self._batches:
            return self._batches[given]
        number, self.next_batch = self.next_batch, self.next_batch + 1
        if given is not None:
            self._batches[given] = number
        return number

    def _parent(self, parent_id: str | None) -> CallRow | None:
        if parent_id is None:
            return None
        found = self._latest.get(parent_id)
        if found is None:
            found = tool_calls.by_call_id(self._connection, self._id, parent_id)
        if found is not None and found.ref.count("_") >= MAX_DEPTH:
            above = found.ref.rpartition("_")[0]
            found = next((row for row in self._new.values() if row.ref == above), None)
            found = found or tool_calls.by_ref(self._connection, self._id, above)
        return found

    def _ref(self, parent_id: str | None) -> str:
        parent = self._parent(parent_id)
        if parent is None:
            self.top_calls += 1
            return f"c{self.top_calls}"
        count = self._children.get(parent.number, parent.children) + 1
        self._children[parent.number] = count
        return f"{parent.ref}_{count}"

    def _add_row(self, part: Part, turn_id: int | None, batch: int) -> CallRow:
        self.calls += 1
        row = CallRow(
            session_id=self._id, number=self.calls, ref=self._ref(part.parent_id),
            turn_id=turn_id, result_id=None,
            name=part.name or "" if turn_id is not None else UNKNOWN_TOOL,
            call_id=part.call_id, pairing=part.pairing, parent_id=part.parent_id,
            is_object=part.is_object or turn_id is None, batch=batch, outcome="pending",
            is_answered=False, children=0,
        )  # fmt: skip
        if part.call_id is not None:
            self._latest[part.call_id] = row
        return row

    def _call(self, part: Part, turn_id: int, record: int) -> None:
        batch = self._batch(part.batch)
        self._go_on(part.parent_id, batch)
        self._last_record[part.parent_id] = (record, batch)
        self._put(self._add_row(part, turn_id, batch))

    def _result(self, part: Part, turn_id: int) -> None:
        outcome = "error" if part.is_error else "ok"
        same = self._by_pairing.get(part.pairing)
        if same:
            # Of the latest batch that waits, the first call.
            row = self._waiting[same[-1]]
            for number in reversed(same):
                if self._waiting[number].batch != row.batch:
                    break
                row = self._waiting[number]
            self.is_rewriting |= row.number in self._stored_waiting and row.outcome != "pending"
            self._put(row._replace(result_id=turn_id, outcome=outcome, is_answered=True))
            return
        pairing = part.pairing
        if pairing is not None and (
            pairing in self._new_pairings
            or tool_calls.is_known(self._connection, self._id, pairing)
        ):
            return
        batch = self._batch(None)
        self._go_on(part.parent_id, batch)
        row = self._add_row(part, None, batch)
        self._put(row._replace(result_id=turn_id, outcome=outcome, is_answered=True))

    def flush(self) -> None:
        """Write what changed."""
        connection = self._connection
        rows = [self._new[number] for number in sorted(self._new)]
        stored = [row for row in rows if row.number in self._stored_waiting]
        fresh = [row for row in rows if row.number not in self._stored_waiting]
        numbers = {row.number for row in fresh}
        tool_calls.insert_many(
            connection,
            [row._replace(children=self._children.get(row.number, 0)) for row in fresh],
        )
        for row in stored:
            if row.result_id is not None:
                tool_calls.answer(connection, self._id, row.number, row.result_id, row.outcome)
        tool_calls.fail(
            connection, self._id, [row.number for row in stored if row.result_id is None]
        )
        tool_calls.set_children(
            connection,
            self._id,
            [(number, count) for number, count in self._children.items() if number not in numbers],
        )
