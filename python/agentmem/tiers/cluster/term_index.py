"""Which terms the live scenes hold: how rare a term is, how near scenes are to terms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt

from agentmem import _native

__all__ = ["Floats", "TermIndex"]

Floats = npt.NDArray[np.float64]


class TermIndex:
    """The terms of the live scenes, by scene; the counting and summing is native.

    Scenes have slots: places in the arrays that this gives. The same history gives the same numbers
    to the last bit, whatever other scenes there are and whatever slot a scene is in.

    Args:
        identifier: Factor on the rarity of terms that name one thing.
    """

    def __init__(self, identifier: float) -> None:
        self.scene_at: dict[int, int] = {}
        self.slot_of: dict[int, int] = {}
        self._free: list[int] = []
        self._native = _native.TermIndex(identifier)

    @property
    def units(self) -> int:
        """How many openings all scenes hold; the caller counts them."""
        return self._native.units

    @units.setter
    def units(self, units: int) -> None:
        self._native.units = units

    def enter(self, scene: int, counts: dict[str, int], norm: float) -> None:
        """Take in a scene, with the length of its weighted counts as of its last member."""
        slot = self._free.pop() if self._free else len(self.slot_of)
        self.slot_of[scene] = slot
        self.scene_at[slot] = scene
        self._native.change(slot, counts)
        self._native.set_norm(slot, norm)

    def leave(self, scene: int) -> None:
        """Forget a scene."""
        slot = self.slot_of.pop(scene)
        del self.scene_at[slot]
        self._free.append(slot)
        self._native.leave(slot)

    def rename(self, numbers: Mapping[int, int]) -> None:
        """Give scenes other ids."""
        self.slot_of = {numbers.get(one, one): slot for one, slot in self.slot_of.items()}
        self.scene_at = {slot: one for one, slot in self.slot_of.items()}

    def change(self, scene: int, counts: dict[str, int], terms: Iterable[str]) -> None:
        """Take over the counts of these terms of a scene."""
        self._native.change(self.slot_of[scene], counts, list(terms))

    def norm(self, scene: int) -> float:
        """Return the length of the weighted counts of a scene as of now, and keep it."""
        return self._native.measure(self.slot_of[scene])

    def scores(self, terms: dict[str, int], *, factor: float, sibling: float) -> Floats:
        """Return how near each scene is to a text: a cosine times ``factor``.

        Args:
            terms: The text's terms and their counts.
            factor: What a cosine of 1 counts.
            sibling: Taken off where a scene knows a numbered sibling of an identifier, not itself.

        Returns:
            float64, shape ``(slots,)``; -inf where a scene has nothing in common with the text.
        """
        return self._native.scores(terms, factor=factor, sibling=sibling)

    def scores_with(self, scene: int) -> Floats:
        """Return how near each scene is to one of them, as ``scores`` does."""
        return self._native.scores_with(self.slot_of[scene])

    def frequencies(self, scene: int) -> dict[str, int]:
        """Return how often each term of a scene occurs in all of them."""
        return self._native.frequencies(self.slot_of[scene])
