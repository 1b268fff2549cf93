"""What a memory hands a prompt, and what forgetting and purging leave as receipts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from agentmem.models.memory import Tier, Trust

__all__ = ["Context", "ContextItem"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextItem:
    """One row that a context shows.

    Attributes:
        id: The row.
        tier: Its tier; an L0 item is a quote.
        part: ``"stable"`` or ``"volatile"``.
        text: What is shown of it, before the fence's escapes.
        span: Of a quote, the half-open range of characters in the turn's text.
        sources: The rows that it rests on; of a quote the turn itself.
        trust: Where it came from.
    """

    id: str
    tier: Tier
    part: Literal["stable", "volatile"]
    text: str
    sources: tuple[str, ...]
    trust: Trust
    span: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What an agent should know for a question, as data between a pair of tags.

    Attributes:
        stable: Lasting rules by priority, persona, scene index. It is the same for every question
            until the memory changes, so it belongs in front of what changes; ``""`` if there is
            nothing to say.
        volatile: Scenes, facts and quotes for this question; ``""`` if nothing fits.
        items: What both parts show, in the order they show it.
        tokens: Tokens of ``text``, never more than the budget.
        omitted: Ids of what was to be shown and did not fit, the most important first.
        degraded: What could not be asked, and why, one sentence each; empty if all went well.
    """

    stable: str = ""
    volatile: str = ""
    items: tuple[ContextItem, ...] = ()
    tokens: int = 0
    omitted: tuple[str, ...] = ()
    degraded: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Both parts, the stable one first."""
        return "\n".join(part for part in (self.stable, self.volatile) if part)

    def __str__(self) -> str:
        return self.text
