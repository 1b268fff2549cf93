"""Whether two skills say nearly the same."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from agentmem.store import skills

if TYPE_CHECKING:
    import apsw

    from agentmem.models import Draft
    from agentmem.store.skills import SkillRow

__all__ = ["near_duplicate", "similarity"]

NEAR: Final = 0.9
_WORD: Final = re.compile(r"\w+")
_LIVE: Final = ("proposed", "approved")


def _shingles(text: str) -> set[tuple[str, ...]]:
    words = _WORD.findall(text.casefold())
    return {tuple(words[place : place + 3]) for place in range(max(1, len(words) - 2))}


def similarity(one: str, other: str) -> float:
    """Return the share of the runs of three words that two texts have in common, 0 to 1.

    Source: Broder: On the resemblance and containment of documents, 1997.
    """
    mine, theirs = _shingles(one), _shingles(other)
    return len(mine & theirs) / len(mine | theirs)


def near_duplicate(
    connection: apsw.Connection, scope: str, draft: Draft, *, owner: str | None = None
) -> SkillRow | None:
    """Return a live skill of this scope whose body says nearly what a draft says."""
    size = len(draft.body)
    for skill, head in skills.heads(connection, scope, owner=owner):
        if skill.scope != scope or head.state not in _LIVE or skill.name == draft.name:
            continue
        # Bodies of which one is much longer can't have nine tenths in common.
        if 0.8 * size <= len(head.body) <= 1.25 * size and (
            head.body == draft.body or similarity(head.body, draft.body) >= NEAR
        ):
            return skill
    return None
