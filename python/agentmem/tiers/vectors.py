"""The vectors of what is written and asked: given by the host, or made by the embedder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from agentmem.errors import DimensionError, EmbeddingError, InvalidInputError
from agentmem.protocols import Embedder, GivenEmbeddings
from agentmem.store.embeddings import MAX_CHUNKS

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from agentmem.tiers.fact_input import NewFact

__all__ = ["embed_query", "embed_texts", "given_vector", "given_vectors"]

BLOCK = 256
# Below it a norm may have lost its digits to underflow.
LEAST_NORM = 1e-15
# Float32 can't tell such a length from 1.
UNIT_TOLERANCE = 1e-6
# How far an embedder's vector may be from unit length: float16 models stay within it.
LENGTH_TOLERANCE = 1e-2
# Kinds of arrays that may hold real numbers; objects are fractions and large whole numbers.
NUMERIC = "fiubO"


def given_vector(
    embedding: Any, ndim: int, *, argument: str = "embedding"
) -> npt.NDArray[np.float32]:
    """Return one embedding of the host as a unit vector: float32, shape ``(ndim,)``.

    An array that is one already comes back as it is: copy it before you keep it.

    Raises:
        DimensionError: It has another length.
        InvalidInputError: It is not numeric, not finite, or all zeros. Any other has a direction,
            however large or small its numbers are.
    """
    import numpy as np

    if (
        type(embedding) is np.ndarray
        and embedding.dtype.str == "<f4"
        and embedding.shape == (ndim,)
    ):
        with np.errstate(over="ignore"):
            square = embedding.dot(embedding)
        # False for NaN too.
        if abs(square - 1.0) <= UNIT_TOLERANCE:
            return embedding
    # Float64 and the largest number first: then no square of what float32 or float64 can say
    # overflows, nor do all of them vanish.
    try:
        with np.errstate(over="ignore"):
            given = np.asarray(embedding)
            vector = given.astype(np.float64) if given.dtype.kind in NUMERIC else None
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInputError(f"{argument}: numbers are needed: {error}") from error
    if vector is None:
        raise InvalidInputError(f"{argument}: numbers are needed, {given.dtype} was given")
    if vector.ndim != 1:
        raise InvalidInputError(
            f"{argument}: one vector is needed, an array of shape {vector.shape} was given"
        )
    if vector.shape[0] != ndim:
        raise DimensionError(ndim, vector.shape[0], argument)
    peak = float(np.abs(vector).max())
    if not np.isfinite(peak):
        raise InvalidInputError(f"{argument}: it holds NaN or an infinite value")
    if peak == 0.0:
        raise InvalidInputError(
            f"{argument}: a zero vector has no direction and can't be compared; "
            "give the vector that the model makes of the text"
        )
    vector /= peak
    vector /= float(np.dot(vector, vector)) ** 0.5
    return vector.astype(np.float32)


def given_vectors(items: Sequence[NewFact], ndim: int) -> list[bytes | None]:
    """Return the unit vector of each fact that brings one, None for the others.

    What is of unit length already is kept bit for bit.
    """
    found: list[bytes | None] = [None] * len(items)
    at = [place for place, item in enumerate(items) if item.embedding is not None]
    # A block fits a core's cache, so that a bulk of vectors is read from memory once.
    for start in range(0, len(at), BLOCK):
        places = at[start : start + BLOCK]
        for place, vector in zip(places, _unit_block(items, places, ndim), strict=True):
            found[place] = vector
    return found


def _unit_block(items: Sequence[NewFact], places: Sequence[int], ndim: int) -> list[bytes]:
    import numpy as np

    try:
        given = np.array([items[place].embedding for place in places])
    except (TypeError, ValueError, OverflowError):
        given = np.empty(0)
    if given.shape == (len(places), ndim) and given.dtype.kind == "f":
        # What float32 can't hold, or not square, becomes infinite here and is taken by itself.
        with np.errstate(over="ignore"):
            matrix = given.astype(np.float32, copy=False)
            norms = np.sqrt(np.einsum("ij,ij->i", matrix, matrix))
        if bool(np.isfinite(norms).all()) and float(norms.min()) > LEAST_NORM:
            off = np.abs(norms - 1) > UNIT_TOLERANCE
            if off.any():
                matrix[off] /= norms[off, None]
            raw, width = matrix.tobytes(), ndim * 4
            return [raw[nth * width : (nth + 1) * width] for nth in range(len(places))]
    return [
        given_vector(items[place].embedding, ndim, argument=f"facts[{place}]: embedding").tobytes()
        for place in places
    ]


def _checked(vectors: Any, ndim: int, embedder: Embedder) -> npt.NDArray[np.float32]:
    """Return the embedder's answer, float32, shape ``(n, ndim)``, if it is what it promises.

    Other floats than float32 are converted.

    Raises:
        EmbeddingError: It has another shape, is not of floats, or a row is not of unit length.
    """
    import numpy as np

    given = np.asarray(vectors)
    if given.ndim != 2 or given.shape[1] != ndim:  # noqa: PLR2004
        raise EmbeddingError(
            f"embedder {embedder.id!r} gave an array of shape {given.shape}, (n, {ndim}) is needed"
        )
    if given.dtype.kind != "f":
        raise EmbeddingError(
            f"embedder {embedder.id!r} gave an array of {given.dtype}, float32 is needed"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        array = np.ascontiguousarray(given, dtype=np.float32)
        norms = np.sqrt(np.einsum("ij,ij->i", array, array))
    if not np.isfinite(norms).all():
        raise EmbeddingError(f"embedder {embedder.id!r} gave a vector that is not finite")
    off = np.abs(norms - 1)
    if off.max(initial=0) > LENGTH_TOLERANCE:
        row = int(off.argmax())
        raise EmbeddingError(
            f"embedder {embedder.id!r} gave a vector of length {norms[row]:.6g} (row {row}); "
            "unit length is needed: divide each vector by its length"
        )
    return array


def _none_given(embedder: GivenEmbeddings) -> InvalidInputError:
    return InvalidInputError(
        f"embedding: this memory holds the host's own vectors ({embedder.id!r}); "
        f"pass embedding= with {embedder.ndim} numbers"
    )


def embed_texts(embedder: Embedder | GivenEmbeddings, texts: Sequence[str]) -> list[bytes]:
    """Return the vectors of each text, its chunks one after the other; ``b""`` without content.

    Raises:
        InvalidInputError: The store's vectors come from the host and none was given.
        EmbeddingError: The embedder failed.
    """
    if isinstance(embedder, GivenEmbeddings):
        raise _none_given(embedder)
    in_chunks = getattr(embedder, "embed_chunks", None)
    try:
        if in_chunks is None:
            rows = _checked(embedder.embed(texts), embedder.ndim, embedder)
            if len(rows) != len(texts):
                raise EmbeddingError(
                    f"embedder {embedder.id!r} gave {len(rows)} vectors for {len(texts)} texts"
                )
            return [row.tobytes() for row in rows]
        by_text = [
            _checked(chunks, embedder.ndim, embedder)[:MAX_CHUNKS].tobytes() if len(chunks) else b""
            for chunks in in_chunks(texts)
        ]
    except EmbeddingError:
        raise
    except Exception as error:
        raise EmbeddingError(f"embedder {embedder.id!r} failed: {error}") from error
    if len(by_text) != len(texts):
        raise EmbeddingError(
            f"embedder {embedder.id!r} gave the chunks of {len(by_text)} texts for {len(texts)}"
        )
    return by_text


def embed_query(embedder: Embedder | GivenEmbeddings, text: str) -> npt.NDArray[np.float32] | None:
    """Return the vector of a question, None for one without content.

    Raises:
        InvalidInputError: The store's vectors come from the host and none was given.
        EmbeddingError: The embedder failed; BM25 alone is not an answer.
    """
    if isinstance(embedder, GivenEmbeddings):
        raise _none_given(embedder)
    as_query = getattr(embedder, "embed_query", None)
    vector: npt.NDArray[np.float32] | None
    try:
        if as_query is not None:
            vector = as_query(text)
            if vector is not None:
                vector = _checked([vector], embedder.ndim, embedder)[0]
        else:
            rows = _checked(embedder.embed([text]), embedder.ndim, embedder)
            if len(rows) != 1:
                raise EmbeddingError(
                    f"embedder {embedder.id!r} gave {len(rows)} vectors for 1 text"
                )
            vector = rows[0]
    except EmbeddingError:
        raise
    except Exception as error:
        raise EmbeddingError(f"embedder {embedder.id!r} failed: {error}") from error
    return vector
