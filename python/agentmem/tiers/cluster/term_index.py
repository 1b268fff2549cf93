"""Which terms the live scenes hold, as arrays: how rare a term is, how near scenes are to terms."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from agentmem.tiers.cluster.terms import IDENTIFIER_MARK, family

__all__ = ["Floats", "TermIndex", "log_count"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]

_HALF: Final = 2
_ROOM: Final = 1_024
_LOGS: Final = [math.log1p(count / _HALF) for count in range(_ROOM)]


def log_count(count: int) -> float:
    """Return what a count of a scene weighs: the logarithm of 1 and half of it."""
    return _LOGS[count] if count < _ROOM else math.log1p(count / _HALF)


class TermIndex:
    """The terms of the live scenes, one entry for each term of each scene.

    Scenes have slots: places in the arrays that this gives, 0 to ``slots - 1``. Every sum over the
    terms of a scene runs in the order in which the scene came by them, whatever other scenes there
    are and in whatever slot it is: so the same history gives the same numbers to the last bit.

    Args:
        identifier: Factor on the rarity of terms that name one thing.
    """

    def __init__(self, identifier: float) -> None:
        self.units = 0
        self.slots = 8
        self.scene_at: dict[int, int] = {}
        self.slot_of: dict[int, int] = {}
        self.norms: Floats = np.ones(self.slots)
        self._identifier = identifier
        self._free: list[int] = list(range(self.slots - 1, -1, -1))
        self._numbers: dict[str, int] = {}
        # By the number of a term.
        self._frequency: Floats = np.zeros(_ROOM)
        self._factor: Floats = np.ones(_ROOM)
        self._weights: Floats = np.zeros(0)
        # By entry. An entry that is gone weighs nothing.
        self._term: Ints = np.zeros(_ROOM, np.intp)
        self._slot: Ints = np.zeros(_ROOM, np.intp)
        self._log: Floats = np.zeros(_ROOM)
        self._count: list[int] = []
        self._gone = 0
        self._entries: dict[int, dict[str, int]] = {}
        self._families: dict[str, dict[int, int]] = {}

    def enter(self, scene: int, counts: Mapping[str, int]) -> None:
        """Take in a scene."""
        if not self._free:
            self._free = list(range(2 * self.slots - 1, self.slots - 1, -1))
            self.norms = np.concatenate([self.norms, np.ones(self.slots)])
            self.slots *= 2
        slot = self._free.pop()
        self.slot_of[scene] = slot
        self.scene_at[slot] = scene
        self._entries[scene] = {}
        self.change(scene, counts, counts)

    def leave(self, scene: int) -> None:
        """Forget a scene."""
        self.change(scene, {}, list(self._entries[scene]))
        del self._entries[scene]
        slot = self.slot_of.pop(scene)
        del self.scene_at[slot]
        self._free.append(slot)

    def change(self, scene: int, counts: Mapping[str, int], terms: Collection[str]) -> None:
        """Take over the counts of these terms of a scene."""
        entries, slot = self._entries[scene], self.slot_of[scene]
        fresh: list[int] = []
        logs: list[float] = []
        numbers: list[int] = []
        gains: list[int] = []
        start = len(self._count)
        for term in terms:
            count = counts.get(term, 0)
            entry = entries.get(term)
            if entry is None:
                if not count:
                    continue
                number = self._number(term)
                entries[term] = start + len(fresh)
                self._count.append(count)
                fresh.append(number)
                logs.append(log_count(count))
                numbers.append(number)
                gains.append(count)
                if term[0] == IDENTIFIER_MARK:
                    self._relate(term, scene, 1)
                continue
            numbers.append(self._numbers[term])
            gains.append(count - self._count[entry])
            self._count[entry] = count
            self._log[entry] = log_count(count)
            if not count:
                del entries[term]
                self._gone += 1
                if term[0] == IDENTIFIER_MARK:
                    self._relate(term, scene, -1)
        if numbers:
            self._frequency[numbers] += gains
        if fresh:
            end = start + len(fresh)
            while end > len(self._term):
                self._term = np.concatenate([self._term, np.zeros_like(self._term)])
                self._slot = np.concatenate([self._slot, np.zeros_like(self._slot)])
                self._log = np.concatenate([self._log, np.zeros_like(self._log)])
            self._term[start:end] = fresh
            self._slot[start:end] = slot
            self._log[start:end] = logs
        if self._gone > max(_ROOM, len(self._count) // 2):
            self._compact()

    def numbers(self, terms: Iterable[str]) -> Ints:
        """Return the numbers of terms, whether or not a scene holds them."""
        return np.array([self._number(term) for term in terms], np.intp)

    def rarities(self, numbers: Ints) -> Floats:
        """Return the inverse frequency of terms over the openings of the scenes, by their numbers."""
        share = (self.units + 1) / (self._frequency[numbers] / _HALF + 0.5)
        rarity: Floats = np.log1p(share) * self._factor[numbers]
        return rarity

    def norm(self, scene: int) -> float:
        """Return the length of the weighted counts of a scene as of now, and keep it."""
        numbers, logs = self._of(scene)
        weights = logs * self.rarities(numbers)
        found = float(np.sqrt((weights * weights).sum()))
        self.norms[self.slot_of[scene]] = found or 1.0
        return found

    def dots(self, numbers: Ints, weights: Floats) -> Floats:
        """Return the sum of ``weights`` times the counts of each scene.

        Returns:
            float64, shape ``(slots,)``; 0 where a scene has none of these terms.
        """
        if len(self._weights) < len(self._frequency):
            self._weights = np.zeros(len(self._frequency))
        self._weights[numbers] = weights
        end = len(self._count)
        products = self._weights[self._term[:end]] * self._log[:end]
        self._weights[numbers] = 0.0
        # Without any entry numpy counts in whole numbers.
        sums: Floats = np.bincount(self._slot[:end], products, minlength=self.slots).astype(
            np.float64, copy=False
        )
        return sums

    def dots_with(self, scene: int) -> Floats:
        """Return the product of the weighted counts of a scene and those of each scene."""
        numbers, logs = self._of(scene)
        rarities = self.rarities(numbers)
        return self.dots(numbers, logs * (rarities * rarities))

    def siblings(self, terms: Iterable[str]) -> set[int]:
        """Return the scenes that know a numbered sibling of an identifier, but not itself."""
        found: set[int] = set()
        for term in terms:
            name = family(term)
            if name is not None:
                found.update(
                    one for one in self._families.get(name, ()) if term not in self._entries[one]
                )
        return found

    def frequencies(self, scene: int) -> dict[str, float]:
        """Return how often each term of a scene occurs in all of them."""
        numbers, _ = self._of(scene)
        return dict(zip(self._entries[scene], self._frequency[numbers].tolist(), strict=True))

    def _of(self, scene: int) -> tuple[Ints, Floats]:
        entries = self._entries[scene]
        at = np.fromiter(entries.values(), np.intp, len(entries))
        return self._term[at], self._log[at]

    def _number(self, term: str) -> int:
        number = self._numbers.get(term)
        if number is None:
            number = self._numbers[term] = len(self._numbers)
            if number >= len(self._frequency):
                self._frequency = np.concatenate([self._frequency, np.zeros(number)])
                self._factor = np.concatenate([self._factor, np.ones(number)])
            if term[0] == IDENTIFIER_MARK:
                self._factor[number] = self._identifier
        return number

    def _relate(self, term: str, scene: int, step: int) -> None:
        name = family(term)
        if name is None:
            return
        held = self._families.setdefault(name, {})
        held[scene] = held.get(scene, 0) + step
        if not held[scene]:
            del held[scene]

    def _compact(self) -> None:
        """Drop the entries that are gone; those of a scene keep their order."""
        kept = sorted(entry for entries in self._entries.values() for entry in entries.values())
        place = {entry: nth for nth, entry in enumerate(kept)}
        for entries in self._entries.values():
            for term, entry in entries.items():
                entries[term] = place[entry]
        room = max(_ROOM, 2 * len(kept))
        for name in ("_term", "_slot", "_log"):
            old = getattr(self, name)
            new = np.zeros(room, old.dtype)
            new[: len(kept)] = old[kept]
            setattr(self, name, new)
        self._count = [self._count[entry] for entry in kept]
        self._gone = 0
