"""A host's message list with old results offloaded to L0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from agentmem.arguments import check_function
from agentmem.errors import InvalidInputError
from agentmem.models import Compacted, parse_id
from agentmem.store import tool_calls
from agentmem.tiers.canvas import drawn_until, the_session
from agentmem.tiers.capture import capture_messages
from agentmem.tiers.fence import without_injected
from agentmem.toollog.canvas import estimate_tokens
from agentmem.toollog.compact import OldResult
from agentmem.toollog.compact import compact as compact_list
from agentmem.toollog.formats import holds_messages, read_messages

if TYPE_CHECKING:
    from agentmem.opened import Opened
    from agentmem.protocols import TokenCounter
    from agentmem.store.sessions import SessionRow
    from agentmem.store.tool_calls import CallRow
    from agentmem.toollog.canvas import Level

__all__ = ["compact"]


def compact(
    opened: Opened,
    scope: str,
    messages: Sequence[Any],
    *,
    budget_tokens: int,
    session: str,
    format_: str,
    count_tokens: TokenCounter | None,
) -> Compacted:
    """Capture a message list and return it with old results replaced by refs.

    Raises:
        InvalidInputError: The messages are no flat list, or another argument is wrong.
    """
    if isinstance(budget_tokens, bool) or not isinstance(budget_tokens, int) or budget_tokens < 1:
        raise InvalidInputError(f"budget_tokens: at least 1 is needed, {budget_tokens!r} was given")
    check_function(count_tokens, "count_tokens")
    if not isinstance(messages, Sequence) or isinstance(messages, (str, bytes, bytearray)):
        raise InvalidInputError(
            f"messages: a list of messages is needed, a {type(messages).__name__} was given"
        )
    for number, message in enumerate(messages):
        if holds_messages(message):
            raise InvalidInputError(
                f"messages: a flat list is needed, messages[{number}] holds messages of its own"
            )
        if isinstance(message, (str, bytes)) and not message.strip():
            raise InvalidInputError(f"messages: messages[{number}] is blank; leave it out")
    read = list(without_injected(read_messages(list(messages), format=format_)))
    captured = capture_messages(opened, scope, read, session=session)
    places: dict[int, tuple[int, int]] = {}
    count: dict[int, int] = {}
    for message, turn in zip(read, captured.ids, strict=True):
        if message.role == "tool_result":
            place = count.get(message.record, 0)
            count[message.record] = place + 1
            places[parse_id(turn)[1]] = (message.record, place)
    row: SessionRow | None = None
    calls: dict[int, CallRow] = {}
    if places:
        with opened.database.read() as connection:
            row = the_session(connection, scope, session)
            calls = tool_calls.by_results(connection, list(places))
    results = sorted(
        OldResult(*places[turn], call.ref, call.number, call.outcome == "error")
        for turn, call in calls.items()
    )

    def drawn(number: int, *, level: Level) -> str:
        return "" if row is None else drawn_until(opened, row, number, level)

    outcome = compact_list(
        messages,
        results,
        budget_tokens=budget_tokens,
        count_tokens=count_tokens or estimate_tokens,
        drawn=drawn,
    )
    return Compacted(
        outcome.messages,
        outcome.tokens_before,
        outcome.tokens_after,
        outcome.replaced,
        outcome.tokens_after <= budget_tokens,
        outcome.note,
    )
