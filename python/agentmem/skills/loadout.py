"""What an agent is handed: identities of all skills that fit, then bodies, within a budget.

Pure and deterministic: the same skills give the same text. The text is fenced, and no skill's
words can end the fence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from agentmem.errors import InvalidInputError
from agentmem.models.skills import Loadout, LoadoutEntry, SkillView

__all__ = ["make_loadout"]

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
    """Return the loadout of the skills given.

    Order: those that are not suspect before those that are; then by relevance, by outcomes
    (successes + 1) / (successes + failures + 2), by trust, those in use before stale ones, and by
    name. All identities come first; bodies follow in the same order, each whole or not at all.

    Args:
        skills: Approved ones, ``relevance`` filled where there is a query.
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
    ranked = sorted(skills, key=_rank)
    lines: list[str] = []
    frame = count_tokens(_OPEN + _CLOSE)
    used = frame
    for skill in ranked:
        line = _identity(skill)
        cost = count_tokens(line)
        if used + cost > budget_tokens:
            break
        used += cost
        lines.append(line)
    shown = len(lines)
    bodies: dict[int, str] = {}
    for place in range(shown):
        block = _block(ranked[place])
        if used + len(block) // 12 > budget_tokens:
            continue
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
    return Loadout(
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


def _rank(skill: SkillView) -> tuple[bool, float, float, int, bool, str, int]:
    outcomes = (skill.successes + 1) / (skill.successes + skill.failures + 2)
    return (
        skill.is_suspect,
        -(skill.relevance or 0.0),
        -outcomes,
        -int(skill.trust),
        skill.is_stale,
        skill.name,
        skill.version,
    )


def _fenced(text: str) -> str:
    return _TAG.sub("&lt;", _INVISIBLE.sub("", text))


def _identity(skill: SkillView) -> str:
    flags = [f for f, on in (("suspect", skill.is_suspect), ("stale", skill.is_stale)) if on]
    mark = f" [{', '.join(flags)}: check before use]" if flags else ""
    description = " ".join(_fenced(skill.description).split())[:_MAX_LINE]
    return f"- {_fenced(skill.name)} (version {skill.version}){mark}: {description}\n"


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
