"""Whether two skills say nearly the same."""

from __future__ import annotations

import math
import re
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from agentmem.store import skills

if TYPE_CHECKING:
    import apsw

    from agentmem.models import Draft
    from agentmem.store.skills import SkillRow

__all__ = ["is_near", "near_duplicate", "numbers_of", "similarity"]

NEAR: Final = 0.9
_WORD: Final = re.compile(r"\w+")
_NUMBER: Final = re.compile(r"\d+")


def _shingles(text: str) -> set[tuple[str, ...]]:
    words = _WORD.findall(text.casefold())
    return {tuple(words[place : place + 3]) for place in range(max(1, len(words) - 2))}


def similarity(one: str, other: str) -> float:
    """Return the share of the runs of three words that two texts have in common, 0 to 1.

    Source: Broder: On the resemblance and containment of documents, 1997.
    """
    mine, theirs = _shingles(one), _shingles(other)
    return len(mine & theirs) / len(mine | theirs)


def is_near(one: str, other: str) -> bool:
    """Whether two bodies say nearly the same: nine tenths of their words, and the same numbers.

    Numbers decide: a procedure for port 80 is another one than that for port 443.
    """
    if one == other:
        return True
    # Bodies of which one is much longer can't have nine tenths in common.
    if not 0.8 * len(one) <= len(other) <= 1.25 * len(one):
        return False
    return (
        sorted(_NUMBER.findall(one)) == sorted(_NUMBER.findall(other))
        and similarity(one, other) >= NEAR
    )


def numbers_of(text: str) -> int:
    """Return 64 bits that stand for the numbers in a text, in whatever order."""
    found = " ".join(sorted(_NUMBER.findall(text)))
    digest = blake2b(found.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def near_duplicate(connection: apsw.Connection, scope: str, draft: Draft) -> SkillRow | None:
    """Return a live skill of this scope whose body says nearly what a draft says."""
    size = len(draft.body)
    lengths = int(size * 0.8), math.ceil(size * 1.25)
    for skill, body in skills.similar(connection, scope, numbers_of(draft.body), lengths):
        if skill.name != draft.name and is_near(body, draft.body):
            return skill
    return None
