"""What an agent is handed: identities of all skills that fit, then bodies, within a budget.

Pure and deterministic: the same skills give the same text. The text is fenced, and no skill's
words can end the fence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final

from agentmem.errors import InvalidInputError
from agentmem.models.skills import Loadout, LoadoutEntry, SkillView

__all__ = ["arrange", "make_loadout"]

_OPEN: Final = "<available_skills>\n"
_CLOSE: Final = "</available_skills>\n"
_TAG = re.compile(r"<(?=\s*/?\s*(?:available_skills|skill)\b)", re.IGNORECASE)
_INVISIBLE = re.compile(
    "[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\x00-\x08\x0b-\x1f"
    "\ud800-\udfff\U000e0000-\U000e0fff]"
)
_MAX_LINE: Final = 1_200


def make_loadout(
    skills: Sequence[SkillView],
    *,
    budget_tokens: int,
    pin: str | None,
    count_tokens: Callable[[str], int],
) -> Loadout:
    """Return the loadout of skills whose ``relevance`` is filled; see :func:`arrange`."""
    scores = [skill.relevance or 0.0 for skill in skills]
    return arrange(
        skills, scores=scores, budget_tokens=budget_tokens, pin=pin, count_tokens=count_tokens
    )[0]


def arrange(
    skills: Sequence[SkillView],
    *,
    scores: Sequence[float] | None,
    budget_tokens: int,
    pin: str | None,
    count_tokens: Callable[[str], int],
) -> tuple[Loadout, list[int]]:
    """Return the loadout of the skills given, and the places of those in it, best first.

    Order: those that are not suspect before those that are; then by relevance, by outcomes
    (successes + 1) / (successes + failures + 2), by trust, those in use before stale ones, and by
    name. All identities come first; bodies follow in the same order, each whole or not at all.

    Args:
        skills: Approved ones.
        scores: How well each fits what is asked for, None if nothing is.
        budget_tokens: ``tokens`` of the result is never more.
        pin: The session whose pins chose the versions.
        count_tokens: Counts the tokens of a text.

    Raises:
        InvalidInputError: budget_tokens is negative, or the counter gives no count.
    """
    if budget_tokens < 0:
        raise InvalidInputError(f"budget_tokens must be at least 0, {budget_tokens} was given")
    count = count_tokens(_OPEN)
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        raise InvalidInputError(f"count_tokens: it must return a count of tokens, not {count!r}")
    order = _order(skills, scores)
    ranked = [skills[place] for place in order]
    lines: list[str] = []
    frame = count_tokens(_OPEN + _CLOSE)
    used = frame
    for skill in ranked:
        line = _identity(
            skill.name, skill.version, skill.description, skill.is_suspect, skill.is_stale
        )
        cost = count_tokens(line)
        if used + cost > budget_tokens:
            break
        used += cost
        lines.append(line)
    shown = len(lines)
    bodies: dict[int, str] = {}
    for place in range(shown):
        if used + len(ranked[place].body) // 12 > budget_tokens:
            continue
        block = _block(ranked[place])
        cost = count_tokens(block)
        if used + cost <= budget_tokens:
            used += cost
            bodies[place] = block
    # A tokenizer may count the whole a little higher than its parts.
    text = _text(lines[:shown], bodies)
    tokens = count_tokens(text) if text else 0
    while tokens > budget_tokens:
        if bodies:
            bodies.popitem()
        else:
            shown -= 1
        text = _text(lines[:shown], bodies)
        tokens = count_tokens(text) if text else 0
    loadout = Loadout(
        identities=tuple(
            LoadoutEntry(
                name=s.name,
                version=s.version,
                description=s.description,
                is_suspect=s.is_suspect,
                is_stale=s.is_stale,
                has_body=place in bodies,
            )
            for place, s in enumerate(ranked[:shown])
        ),
        bodies={ranked[place].name: ranked[place].body for place in bodies},
        tokens=tokens,
        text=text,
        pin=pin,
        left_out=len(ranked) - shown,
    )
    return loadout, order[:shown]


def _order(skills: Sequence[SkillView], scores: Sequence[float] | None) -> list[int]:
    """Return the places of the skills, best first."""

    def rank(place: int) -> tuple[bool, float, float, int, bool, str, int]:
        skill = skills[place]
        outcomes = (skill.successes + 1) / (skill.successes + skill.failures + 2)
        return (
            skill.is_suspect,
            0.0 if scores is None else -scores[place],
            -outcomes,
            -int(skill.trust),
            skill.is_stale,
            skill.name,
            skill.version,
        )

    return sorted(range(len(skills)), key=rank)


def _fenced(text: str) -> str:
    return _TAG.sub("&lt;", _INVISIBLE.sub("", text))


@lru_cache(maxsize=4_096)
def _identity(name: str, version: int, description: str, is_suspect: bool, is_stale: bool) -> str:
    flags = [f for f, on in (("suspect", is_suspect), ("stale", is_stale)) if on]
    mark = f" [{', '.join(flags)}: check before use]" if flags else ""
    description = " ".join(_fenced(description).split())[:_MAX_LINE]
    return f"- {_fenced(name)} (version {version}){mark}: {description}\n"


def _block(skill: SkillView) -> str:
    body = _fenced(skill.body).strip("\n")
    flag = ' suspect="true"' if skill.is_suspect else ""
    return (
        f'<skill name="{_fenced(skill.name)}" version="{skill.version}"{flag}>\n{body}\n</skill>\n'
    )


def _text(lines: Sequence[str], bodies: dict[int, str]) -> str:
    if not lines:
        return ""
    return _OPEN + "".join(lines) + "".join(bodies.values()) + _CLOSE
