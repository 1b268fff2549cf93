"""The ports where a host plugs in its own parts.

Each port has a deterministic default that needs no language model and no network.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from agentmem.models import (
        ArchiveView,
        Candidate,
        Decision,
        Fingerprint,
        Message,
        SkillView,
    )

__all__ = [
    "ArchiveStore",
    "Clock",
    "Embedder",
    "Extractor",
    "GivenEmbeddings",
    "Reviewer",
    "Summarizer",
    "TokenCounter",
]


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into unit vectors.

    ``embed`` gives one row a text. An embedder whose window is shorter than a text may also offer
    ``embed_chunks(texts) -> list of float32 arrays, each (n_chunks, ndim)``, at most 8 a text; and
    one that treats questions differently ``embed_query(text) -> float32 (ndim,)``, or None for a
    question without content. One that does not read every language may say which, by ``languages``,
    a collection of ISO 639-1 codes: recall trusts its vectors less for questions in others.
    """

    @property
    def id(self) -> str:
        """Names the vector space: two embedders with one id give comparable vectors."""

    @property
    def ndim(self) -> int:
        """The length of each vector."""

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return float32, shape ``(len(texts), ndim)``, each row of unit length."""


@dataclass(frozen=True, slots=True)
class GivenEmbeddings:
    """Stands for a host that brings its own vectors: each write and query passes ``embedding=``.

    Args:
        id: The name of the host's model; stores of different ids never mix.
        ndim: The length of each vector, at least 1.
    """

    id: str
    ndim: int


class Clock(Protocol):
    """Says what time it is; a fake one makes tests and replays deterministic."""

    def __call__(self) -> datetime:
        """Return the present as a timezone-aware datetime."""


class TokenCounter(Protocol):
    """Counts the tokens that a model would see in a text."""

    def __call__(self, text: str) -> int:
        """Return the number of tokens, never negative."""


class Extractor(Protocol):
    """Reads messages and says which facts they state.

    What it gives is checked before anything is written: the kind is a known one, ``source`` is one
    of the messages given, ``span`` lies within its text. A call that raises, or gives anything
    else, leaves the messages pending; the job stays visible and is tried again.
    """

    @property
    def id(self) -> str:
        """Names the extractor and its version."""

    def extract(
        self, messages: Sequence[Message], *, context: Sequence[Message] = ()
    ) -> Sequence[Candidate]:
        """Return the facts of ``messages``, in their order.

        Args:
            messages: Messages of one session in order, none of them read before.
            context: The ones just before, already read, for pronouns and answers.
        """


class Reviewer(Protocol):
    """Reads an archived conversation and says whether a skill is to be made of it.

    A language model may stand behind it. What it gives is checked before anything is written: an
    update names a skill and the version that it was shown, evidence lies in the archive, or in
    the fingerprints given, the draft is a well-formed skill, and what a tool said is data. A call
    that raises leaves the task in the queue; after some failures it is parked with its error.

    One that looks at every skill it is shown, whatever their order, may say so by an attribute
    ``compares_all = True``: the skills are then ordered by their words alone, without the embedder.
    """

    @property
    def id(self) -> str:
        """Names the reviewer and its version; it is the author of what it makes."""

    def review(
        self,
        archive: ArchiveView,
        existing: Sequence[SkillView],
        fingerprints: Sequence[Fingerprint],
    ) -> Decision:
        """Return what is to be made of one archive; no store is open to it.

        Args:
            archive: The conversation.
            existing: The live skills of the scope that may cover it already, closest first.
            fingerprints: What earlier one-offs of the same scope and owner left behind.
        """


class ArchiveStore(Protocol):
    """Keeps the payloads of archives outside the store's own file.

    A payload is put, and is durable and whole, before the row that makes its review visible is
    written; so a review never meets an archive that is still on its way.
    """

    def put(self, key: str, content: bytes) -> None:
        """Keep a payload; when this returns it survives a power cut and reads back equal.

        Args:
            key: Hex digits, the SHA-256 of ``content``; putting the same again changes nothing.
            content: At most 80 kB.
        """

    def get(self, key: str) -> bytes:
        """Return a payload.

        Raises:
            LookupError: There is none of this key.
            OSError: It can't be read now.
        """

    def delete(self, key: str) -> None:
        """Remove a payload; one that is not there is no error."""


class Summarizer(Protocol):
    """Rewrites what a scene is called and its summary.

    What it gives is checked before anything is written: a label is one line of at most 140
    characters, a summary has at most 1,000, and most of their words occur in the texts given. A call
    that raises, or gives anything else, changes nothing: the scene keeps the words of the rules.
    """

    @property
    def id(self) -> str:
        """Names the summarizer and its version."""

    def summarize(self, label: str, texts: Sequence[str]) -> tuple[str, str]:
        """Return the label and the summary of a scene.

        Args:
            label: What the rules call it.
            texts: The beginnings of what was said in it, in order.
        """
