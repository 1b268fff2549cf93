"""What taking in a log and shortening one return."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Captured", "Compacted"]


@dataclass(frozen=True, slots=True)
class Captured:
    """What a call of ``capture`` did.

    Attributes:
        ids: The L0 id of every part of the given messages, in order, whether new or there already.
        new: How many of them were written.
        duplicates: How many were there already.
        redacted: Secrets that were replaced in what was written, by kind.
    """

    ids: tuple[str, ...]
    new: int
    duplicates: int
    redacted: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Compacted:
    """A host's message list in which old tool results gave way to refs and the canvas.

    Attributes:
        messages: A new list; what did not change is the host's own object.
        tokens_before: Tokens of the messages that were given.
        tokens_after: Tokens of ``messages``, never more.
        replaced: Refs of the calls whose results are now placeholders, in order.
        fits: Whether ``tokens_after`` is within the budget.
        note: Why it does not fit; empty if it does.
    """

    messages: list[Any]
    tokens_before: int
    tokens_after: int
    replaced: tuple[str, ...]
    fits: bool
    note: str = ""
