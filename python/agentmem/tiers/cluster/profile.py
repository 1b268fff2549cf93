"""What a scene is about, as the clusterer keeps it between two runs."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

__all__ = ["HALF_LIFE_MS", "Line", "Profile", "Vector"]

Vector = npt.NDArray[np.float32]

HALF_LIFE_MS: Final = 14 * 86_400_000
"""After this time what went on in a scene weighs half: two working weeks."""

MOST_TERMS: Final = 500
KEPT_TERMS: Final = 400
FIRST_LINES: Final = 3
LAST_LINES: Final = 5
_FORMAT: Final = 1


@dataclass(frozen=True, slots=True)
class Line:
    """Words that may name a scene: the beginning of a row's text.

    ``is_own`` tells what a user says, or a fact, from what an agent says.
    """

    tier: int
    number: int
    text: str
    is_own: bool


@dataclass(slots=True)
class Profile:
    """The terms and the direction of a scene's members, and the words that name it.

    Attributes:
        counts: For each term twice the number of openings with it, plus the replies with it.
        units: How many openings it holds: turns that began an exchange, and facts of their own.
        size: How many members were counted, of turns and of facts of their own.
        total: The sum of the openings' unit vectors, float32, shape ``(ndim,)``; None for none.
        vectors: How many vectors ``total`` sums.
        norm: The length of the weighted counts when a member last came.
        first_ms: The time of the earliest member.
        last_ms: The time of the latest member.
        weight: How much went on, halved every 14 days up to ``last_ms``.
        lines: Words of the first openings and of the latest ones.
        label: The name, as of the last milestone.
        refined: What a summarizer made of it: the rules' label then, its label, its summary.
        half: A copy taken when the scene was half full, where it is split if it fills up, with
            the last turn and fact of that time under ``"cut"``.
        is_dormant: Whether it is too cold to be joined.
    """

    counts: dict[str, int] = field(default_factory=dict)
    units: int = 0
    size: int = 0
    total: Vector | None = None
    vectors: int = 0
    norm: float = 0.0
    first_ms: int = 0
    last_ms: int = 0
    weight: float = 0.0
    lines: list[Line] = field(default_factory=list)
    label: str = ""
    refined: list[str] | None = None
    half: dict[str, Any] | None = None
    is_dormant: bool = False

    def add_terms(self, terms: Mapping[str, int], step: int) -> list[str]:
        """Count each of these terms once more, by ``step``; return terms dropped for room."""
        counts = self.counts
        for term in terms:
            counts[term] = counts.get(term, 0) + step
        if len(counts) > MOST_TERMS:
            order = sorted(counts, key=lambda term: (-counts[term], term))
            for term in order[KEPT_TERMS:]:
                del counts[term]
            return order[KEPT_TERMS:]
        return []

    def add_vector(self, vector: Vector | None) -> None:
        """Add the direction of an opening."""
        if vector is None:
            return
        self.total = vector.copy() if self.total is None else self.total + vector
        self.vectors += 1

    def add_time(self, time_ms: int) -> None:
        """Take in the time of a member, and its weight of 1."""
        if self.size == 0:
            self.first_ms = self.last_ms = time_ms
        self.first_ms = min(self.first_ms, time_ms)
        age = abs(time_ms - self.last_ms) / HALF_LIFE_MS
        if time_ms >= self.last_ms:
            self.weight = self.weight * 2.0**-age + 1.0
            self.last_ms = time_ms
        else:
            self.weight += 2.0**-age
        self.size += 1

    def add_line(self, line: Line) -> None:
        """Keep the words of an opening or a reply if they are among the first or the latest."""
        same = [one for one in self.lines if one.is_own == line.is_own]
        if len(same) >= FIRST_LINES + LAST_LINES:
            self.lines.remove(same[FIRST_LINES])
        self.lines.append(line)

    def heat(self) -> float:
        """Return the weight on a scale that compares scenes whatever the time is now."""
        return math.log2(max(self.weight, 1e-9)) + self.last_ms / HALF_LIFE_MS

    def absorb(self, other: Profile) -> None:
        """Take in all of another scene."""
        for term, count in other.counts.items():
            self.counts[term] = self.counts.get(term, 0) + count
        self.add_terms({}, 0)
        self.units += other.units
        if other.total is not None:
            self.total = other.total if self.total is None else self.total + other.total
        self.vectors += other.vectors
        newer, older = (self, other) if self.last_ms >= other.last_ms else (other, self)
        age = (newer.last_ms - older.last_ms) / HALF_LIFE_MS
        self.weight = newer.weight + older.weight * 2.0**-age
        self.first_ms = min(self.first_ms, other.first_ms)
        self.last_ms = max(self.last_ms, other.last_ms)
        self.size += other.size
        ordered = sorted([*self.lines, *other.lines], key=lambda one: (one.tier, one.number))
        self.lines = []
        for line in ordered:
            self.add_line(line)
        self.half = None

    def snapshot(self, cut: tuple[int, int]) -> None:
        """Note what it is now as its older half; ``cut`` are the last turn and fact in it."""
        self.half = {"cut": list(cut), "of": json.loads(self.dump())}

    def divide(self) -> Profile:
        """Keep the older half and return the newer one.

        Raises:
            ValueError: No half was noted.
        """
        if self.half is None:
            message = "a scene is divided where it was half full"
            raise ValueError(message)
        cut = self.half["cut"]
        older = Profile.load(self.half["of"])
        vectors = max(self.vectors - older.vectors, 0)
        total = self.total
        if total is not None and older.total is not None:
            total = total - older.total
        newer = Profile(
            counts={
                term: count - older.counts.get(term, 0)
                for term, count in self.counts.items()
                if count > older.counts.get(term, 0)
            },
            units=max(self.units - older.units, 0),
            size=max(self.size - older.size, 0),
            total=total if vectors else None,
            vectors=vectors,
            norm=self.norm,
            first_ms=older.last_ms,
            last_ms=self.last_ms,
            weight=self.weight,
            lines=[one for one in self.lines if one.number > cut[one.tier]],
            label=self.label,
        )  # fmt: skip
        for name in ("counts", "units", "size", "total", "vectors", "norm", "first_ms", "last_ms",
                     "weight", "lines"):  # fmt: skip
            setattr(self, name, getattr(older, name))
        self.half = None
        return newer

    def dump(self) -> str:
        """Return it as JSON; equal profiles give equal text."""
        total = None
        if self.total is not None:
            total = base64.b64encode(self.total.astype("<f4").tobytes()).decode()
        value = {
            "format": _FORMAT, "counts": self.counts, "units": self.units, "size": self.size,
            "total": total, "vectors": self.vectors, "norm": self.norm, "first_ms": self.first_ms,
            "last_ms": self.last_ms, "weight": self.weight, "label": self.label,
            "lines": [[one.tier, one.number, one.text, one.is_own] for one in self.lines],
            "refined": self.refined, "half": self.half, "is_dormant": self.is_dormant,
        }  # fmt: skip
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def load(cls, value: Mapping[str, Any]) -> Self:
        """Return the profile that ``dump`` wrote, parsed."""
        total = value["total"]
        return cls(
            counts=dict(value["counts"]), units=value["units"], size=value["size"],
            total=None if total is None
            else np.frombuffer(base64.b64decode(total), "<f4").astype(np.float32),
            vectors=value["vectors"], norm=value["norm"], first_ms=value["first_ms"],
            last_ms=value["last_ms"], weight=value["weight"], label=value["label"],
            lines=[Line(*one) for one in value["lines"]], refined=value["refined"], half=value["half"],
            is_dormant=value["is_dormant"],
        )  # fmt: skip

    @classmethod
    def parse(cls, state: str) -> Self | None:
        """Return the profile in a scene's state, None where there is none of this format."""
        value = json.loads(state)
        return cls.load(value) if value.get("format") == _FORMAT else None
