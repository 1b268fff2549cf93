"""Hold a candidate against the facts that are known: new, said before, or in another's place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agentmem._native import fold_text
from agentmem.models import Judgement, Trust

if TYPE_CHECKING:
    from agentmem.models import Candidate, Fact

__all__ = ["judge"]


def judge(
    candidate: Candidate,
    known: Sequence[Fact],
    *,
    trust: Trust = Trust.USER,
    cosines: Mapping[str, float] | None = None,
) -> Judgement:
    """Return what a candidate is to the current facts of its scope.

    Args:
        candidate: The fact that was read.
        known: Current facts that it may touch: those that fill a slot of its subject, and those
            most like it, in any order; what was read before it in the same piece included.
        trust: Where the candidate came from. It replaces nothing that is trusted more.
        cosines: The cosine of the candidate to a known fact by its id, where there is one.
    """
    del cosines
    folded = fold_text(candidate.text)
    same = [fact for fact in known if fold_text(fact.text) == folded]
    if same and not candidate.ends:
        return Judgement("duplicate", (same[0].id,))
    held = [fact for fact in known if fact.trust <= trust and _fills_slot(fact, candidate)]
    if candidate.ends and candidate.value is not None:
        held = [fact for fact in held if fact.value == candidate.value]
    if held:
        return Judgement("supersede", tuple(fact.id for fact in held))
    return Judgement("new")


def _fills_slot(fact: Fact, candidate: Candidate) -> bool:
    def slot(one: Any) -> tuple[str | None, str | None]:
        return (
            None if one.subject is None else fold_text(one.subject),
            None if one.attribute is None else fold_text(one.attribute),
        )

    return None not in slot(candidate) and slot(fact) == slot(candidate)
