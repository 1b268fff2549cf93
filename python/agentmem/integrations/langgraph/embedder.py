"""LangChain's embeddings as an embedder of a memory."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from agentmem.errors import DimensionError, EmbeddingError, InvalidInputError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from langchain_core.embeddings import Embeddings

__all__ = ["LangChainEmbedder"]


def _space_id(embeddings: Any, ndim: int) -> str:
    """Return a name for the vectors of these embeddings that the next process gives too."""
    source = getattr(embeddings, "func", None) or getattr(embeddings, "afunc", None) or embeddings
    kind = source if hasattr(source, "__qualname__") else type(source)
    name = f"{kind.__module__}.{kind.__qualname__}"
    model = next(
        (
            value
            for field in ("model", "model_name", "model_id", "deployment")
            if isinstance(value := getattr(source, field, None), str) and value
        ),
        "",
    )
    return f"langchain:{name}{':' if model else ''}{model}:{ndim}"


class LangChainEmbedder:
    """An :class:`~agentmem.protocols.Embedder` over LangChain's ``Embeddings``.

    Args:
        embeddings: What makes the vectors.
        ndim: Their length.
        id: Names the vectors; by default the class, its model's name and the length. Two models
            must not share one: their vectors would be compared.
    """

    def __init__(self, embeddings: Embeddings, ndim: int, *, id: str | None = None) -> None:
        if isinstance(ndim, bool) or not isinstance(ndim, int) or ndim < 1:
            raise InvalidInputError(f"dims: a whole number above 0 is needed, {ndim!r} was given")
        self._embeddings = embeddings
        self._ndim = ndim
        self._id = id or _space_id(embeddings, ndim)

    @property
    def id(self) -> str:
        """The name of the vectors."""
        return self._id

    @property
    def ndim(self) -> int:
        """The length of each vector."""
        return self._ndim

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return float32, shape ``(len(texts), ndim)``, each row of unit length."""
        found = matrix(self._embeddings.embed_documents(list(texts)), len(texts), self._ndim)
        return _unit(found)

    def embed_query(self, text: str) -> npt.NDArray[np.float32] | None:
        """Return float32, shape ``(ndim,)``, of unit length; None for a vector of zeros."""
        found = matrix([self._embeddings.embed_query(text)], 1, self._ndim)
        return _unit(found)[0] if found.any() else None


def _unit(vectors: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    import numpy as np

    norms: npt.NDArray[np.float32] = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / norms


def _packed(vectors: Any, ndim: int) -> npt.NDArray[np.float32] | None:
    """Return lists of floats as an array in half of numpy's time; None where they are others."""
    import numpy as np

    if type(vectors) is not list or set(map(type, vectors)) != {list}:
        return None
    pack = struct.Struct(f"{ndim}f").pack
    try:
        raw = b"".join([pack(*row) for row in vectors])
    except (struct.error, OverflowError):
        return None
    return np.frombuffer(raw, np.float32).reshape(-1, ndim)


def matrix(vectors: Any, count: int, ndim: int) -> npt.NDArray[np.float32]:
    """Return what embeddings gave as float32, shape ``(count, ndim)``.

    Raises:
        EmbeddingError: These are not ``count`` vectors of finite numbers.
        DimensionError: They have another length.
    """
    import numpy as np

    try:
        found = _packed(vectors, ndim)
        if found is None:
            found = np.asarray(vectors, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise EmbeddingError(f"the embeddings gave no vectors of numbers: {error}") from error
    if count == 0:
        return np.empty((0, ndim), np.float32)
    if found.ndim != 2 or len(found) != count:  # noqa: PLR2004
        raise EmbeddingError(
            f"the embeddings gave an array of shape {found.shape} for {count} texts"
        )
    if found.shape[1] != ndim:
        raise DimensionError(ndim, found.shape[1], "dims")
    if not np.isfinite(found).all():
        raise EmbeddingError("the embeddings gave a vector that is not finite")
    return found
