"""What a host may change about the ranking of a recall."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from agentmem.errors import InvalidInputError

__all__ = ["Ranking"]

FUSIONS = ("rrf", "score")
MOST = 1.0
# As milliseconds it still is a finite number.
MOST_DAYS = 1e300


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """How the two signals become one ranking. The defaults are what was measured to be best.

    ``recency`` and ``priority`` add at most their value, 0 to 1, times what the first place of one
    signal adds, so they order what fits about equally well and never outvote both signals. They are
    0 by default: on questions about a whole year they find less (docs/quality.md). How often a row
    was recalled is not stored, so there is no term for usage.

    Attributes:
        fusion: ``"rrf"`` adds reciprocal ranks, ``"score"`` scores brought to 0..1 (min-max).
        sessions: Let rows lend support to their neighbours in the session, and the session to all.
        hints: Let times that the question names ("in late February", "tuần trước", "上个月") lift
            rows of that time; nothing is left out.
        names: Let a name that the question holds lift the rows whose ``subject`` it is, such as the
            turns of a speaker; nothing is left out. Names are words in upper case and Chinese
            characters, spelled as the subject is.
        recency: Weight of ``2 ** (-age / half_life_days)``; the age counts from the event, else
            from the writing.
        half_life_days: Days after which recency is half, above 0 and at most 1e300.
        priority: Weight of ``priority / 100``.
        diversity: 0 for no limit, else the largest share of the k hits that one session may fill,
            rounded up; its other rows come after those of other sessions.

    Raises:
        InvalidInputError: A value is out of its range.
    """

    fusion: Literal["rrf", "score"] = "rrf"
    sessions: bool = True
    hints: bool = True
    names: bool = True
    recency: float = 0.0
    half_life_days: float = 30.0
    priority: float = 0.0
    diversity: float = 0.0

    def __post_init__(self) -> None:
        if self.fusion not in FUSIONS:
            raise InvalidInputError(
                f"fusion: {' or '.join(map(repr, FUSIONS))} is needed, {self.fusion!r} was given"
            )
        for name in ("sessions", "hints", "names"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidInputError(
                    f"{name}: True or False is needed, {getattr(self, name)!r} was given"
                )
        for name in ("recency", "priority", "diversity"):
            value = _number(getattr(self, name), name)
            if not 0.0 <= value <= MOST:
                raise InvalidInputError(f"{name}: 0 to 1 is allowed, {value!r} was given")
        if not 0.0 < _number(self.half_life_days, "half_life_days") <= MOST_DAYS:
            raise InvalidInputError(
                f"half_life_days: more than 0 and at most {MOST_DAYS:g} is allowed, "
                f"{self.half_life_days!r} was given"
            )


def _number(value: object, name: str) -> float:
    if not isinstance(value, bool) and isinstance(value, int | float):
        try:
            if math.isfinite(value):
                return value
        except OverflowError:  # a whole number that no float holds
            raise InvalidInputError(
                f"{name}: a finite number is needed, not one that huge"
            ) from None
    raise InvalidInputError(f"{name}: a finite number is needed, {value!r} was given")
