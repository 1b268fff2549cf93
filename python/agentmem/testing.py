"""What a host's own tests need: a memory in a temporary folder, a clock, an embedder, a gate.

Nothing here is a stand-in for the memory: it is the real one, with an embedder that needs no model
and a clock that moves when it is told to.

Example:
    In ``conftest.py``::

        from agentmem.testing import memory  # a fixture

    In a test::

        def test_it_remembers(memory):
            memory.remember("Deploys go to Fly.io.")
            assert memory.recall("where do deploys go?")[0].text == "Deploys go to Fly.io."
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentmem.errors import InvalidInputError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from agentmem.memory import Memory

__all__ = ["FakeClock", "HashEmbedder", "gate_recall", "memory"]  # noqa: F822

WORD = re.compile(r"\w+")
START = datetime(2026, 1, 1, tzinfo=UTC)


class FakeClock:
    """A :class:`~agentmem.protocols.Clock` that stands still until it is moved.

    Args:
        start: What time it is first; timezone-aware.

    Example:
        >>> clock = FakeClock()
        >>> clock.advance(hours=1)
        >>> clock().isoformat()
        '2026-01-01T01:00:00+00:00'
    """

    def __init__(self, start: datetime = START) -> None:
        if start.tzinfo is None:
            raise InvalidInputError(f"start: a timezone-aware time is needed, {start!r} was given")
        self._now = start

    def __call__(self) -> datetime:
        """Return the time."""
        return self._now

    def advance(self, step: timedelta | None = None, **parts: float) -> None:
        """Move on by a step, or by the parts of one: ``advance(minutes=5)``.

        Raises:
            InvalidInputError: The step leads back.
        """
        by = timedelta(**parts) if step is None else step
        if by < timedelta():
            raise InvalidInputError(f"step: a clock does not go back, {by} was given")
        self._now += by


@lru_cache(maxsize=65_536)
def _direction(word: str, ndim: int) -> npt.NDArray[np.float32]:
    import numpy as np

    # From the hash alone: a generator of random numbers may change with its library.
    digest = hashlib.shake_256(word.encode("utf-8", "surrogatepass")).digest(2 * ndim)
    vector = np.frombuffer(digest, "<u2").astype(np.float32) - np.float32(32767.5)
    vector.flags.writeable = False
    return vector


class HashEmbedder:
    """A deterministic :class:`~agentmem.protocols.Embedder`: texts that share words lie close.

    Each word, whatever its case, has a direction that follows from its SHAKE-256 digest; a text has the
    direction of the sum over its distinct words. It knows no synonyms: use it where the model
    does not matter.

    Args:
        ndim: The length of the vectors, at least 1.
    """

    def __init__(self, ndim: int = 64) -> None:
        if isinstance(ndim, bool) or not isinstance(ndim, int) or ndim < 1:
            raise InvalidInputError(f"ndim: a whole number above 0 is needed, {ndim!r} was given")
        self._ndim = ndim

    @property
    def id(self) -> str:
        """The name of the vectors."""
        return f"agentmem-hash-1:{self._ndim}"

    @property
    def ndim(self) -> int:
        """The length of each vector."""
        return self._ndim

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return float32, shape ``(len(texts), ndim)``, each row of unit length."""
        import numpy as np

        rows = np.empty((len(texts), self._ndim), np.float32)
        for at, text in enumerate(texts):
            # A text without words has the direction of the empty word.
            words = sorted(set(WORD.findall(text.lower()))) or [""]
            rows[at] = sum(_direction(word, self._ndim) for word in words)
            rows[at] /= np.linalg.norm(rows[at])
        return rows


def gate_recall(
    benchmark: Any,
    memory: Memory,
    cases: Iterable[tuple[str, str | Iterable[str]]],
    *,
    k: int = 10,
    least: float = 0.9,
    **filters: Any,
) -> float:
    """Time ``memory.recall`` with pytest-benchmark, if it first finds what it must.

    Recall is checked whether times are taken or not, so a run with ``--benchmark-disable`` gates
    too. ``benchmark.extra_info`` gets ``recall``, ``k`` and ``cases``.

    Args:
        benchmark: The fixture of pytest-benchmark.
        memory: What is asked.
        cases: Questions, each with the id, or the ids, of which one must be among the k hits.
        k: Hits looked at.
        least: The least share of questions that must find theirs, 0 to 1.
        **filters: As for ``recall``.

    Returns:
        The share.

    Raises:
        AssertionError: The share is less than ``least``; the message names what was missed.
        InvalidInputError: There are no cases.
    """
    asked = [
        (question, {wanted} if isinstance(wanted, str) else set(wanted))
        for question, wanted in cases
    ]
    if not asked:
        raise InvalidInputError("cases: at least one is needed")
    missed = [
        question
        for question, wanted in asked
        if not wanted & {hit.id for hit in memory.recall(question, k=k, **filters)}
    ]
    share = 1 - len(missed) / len(asked)
    benchmark.extra_info.update(recall=share, k=k, cases=len(asked))
    if share < least:
        shown = ", ".join(map(repr, missed[:5]))
        raise AssertionError(
            f"recall@{k} is {share:.3f}, at least {least} is needed; missed: {shown}"
        )

    def ask_all() -> None:
        for question, _ in asked:
            memory.recall(question, k=k, **filters)

    benchmark(ask_all)
    return share


def _memory(tmp_path: Path) -> Iterator[Memory]:
    """A memory in a temporary folder, with a ``HashEmbedder`` and a ``FakeClock``."""
    from agentmem.memory import Memory

    with Memory(tmp_path / "memory", embedder=HashEmbedder(), clock=FakeClock()) as opened:
        yield opened


def __getattr__(name: str) -> Any:
    # The fixture is made at first use: the clock and the embedder need no pytest.
    if name != "memory":
        raise AttributeError(f"module 'agentmem.testing' has no attribute {name!r}")
    import pytest

    fixture: Callable[..., Any] = pytest.fixture(name="memory")(_memory)
    globals()[name] = fixture
    return fixture
