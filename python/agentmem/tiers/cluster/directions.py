"""The directions of scenes: the means of their members' vectors, and how near one points."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from agentmem.tiers.cluster.profile import Profile, Vector

__all__ = ["Directions"]

_NONE = np.zeros((0, 0), np.float32)


class Directions:
    """The vectors of the scenes that have one, in the order in which the scenes came.

    The same scenes give the same numbers to the last bit, whatever others there were before.

    Args:
        scenes: The live scenes, in their order; read again after ``forget``.
    """

    def __init__(self, scenes: Mapping[int, Profile]) -> None:
        self.scenes: list[int] = []
        self._live = scenes
        self._place: dict[int, int] = {}
        self._totals: npt.NDArray[np.float32] = _NONE
        self._means: npt.NDArray[np.float32] = _NONE
        self._counts: npt.NDArray[np.float32] = np.zeros(0, np.float32)
        self._is_stale = True

    def forget(self, scenes: Mapping[int, Profile] | None = None) -> None:
        """Read the scenes again at the next question: one came or left, or their order is new."""
        if scenes is not None:
            self._live = scenes
        self._is_stale = True

    def update(self, scene: int, profile: Profile) -> None:
        """Take over the vector of one scene."""
        if self._is_stale or profile.total is None:
            return
        at = self._place.get(scene)
        if at is None:
            self._is_stale = True
            return
        self._totals[at] = profile.total
        self._counts[at] = profile.vectors
        self._means[at] = profile.total / np.float32(profile.vectors)

    def cosines(self, vector: Vector | None) -> npt.NDArray[np.float32]:
        """Return the cosine of a vector with each of ``scenes``, both taken from their mean.

        Returns:
            float32, shape ``(len(self.scenes),)``; empty without a vector.
        """
        if self._is_stale:
            self._read()
        if vector is None or not self.scenes:
            return np.zeros(0, np.float32)
        mean = self._totals.sum(axis=0) / self._counts.sum()
        centred = self._means - mean
        own = vector - mean
        norms = np.sqrt(np.einsum("ij,ij->i", centred, centred)) * np.sqrt(own @ own) + 1e-9
        found: npt.NDArray[np.float32] = (centred @ own) / norms
        return found

    def _read(self) -> None:
        seen = [(scene, one) for scene, one in self._live.items() if one.total is not None]
        self.scenes = [scene for scene, _ in seen]
        self._place = {scene: at for at, scene in enumerate(self.scenes)}
        self._counts = np.array([one.vectors for _, one in seen], np.float32)
        totals = [one.total for _, one in seen if one.total is not None]
        self._totals = np.stack(totals) if totals else _NONE
        self._means = self._totals / self._counts[:, None] if totals else _NONE
        self._is_stale = False
