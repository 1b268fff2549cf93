"""What a host may write as a document, checked and made ready before anything is written."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, chain, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from agentmem.errors import DimensionError, EmbeddingError, InvalidInputError
from agentmem.models import DocumentWrite
from agentmem.store.documents import SEARCHED, UNSEARCHED
from agentmem.store.embeddings import MAX_CHUNKS
from agentmem.store.scopes import check_scope, join_scope
from agentmem.tiers.fact_input import CHECKS, redact_value, whole_text

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["NewDocument", "checked_documents", "unit_vectors"]

LONGEST_LIFE_MS = 1000 * 366 * 86_400_000
LEAST_NORM = 1e-12
# What orjson would turn into something else is refused instead.
STRICT = (
    orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_SUBCLASS
)
NO_TEXT = "(no text)"


class NewDocument(NamedTuple):
    """A checked write, in the store's own types; without metadata it is a deletion."""

    path: str
    key: str
    metadata: str | None
    kind: str
    text: str
    texts: tuple[str, ...]
    vectors: bytes | None
    ttl_ms: int | None
    redacted: tuple[str, ...]


def _plain_json(value: object) -> None:
    """Raise unless this is JSON data with finite numbers and names that are strings."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            if not isinstance(name, str):
                raise InvalidInputError(f"value: names are strings, {name!r} was given")
            _plain_json(item)
    elif isinstance(value, list | tuple):
        for item in value:
            _plain_json(item)
    elif isinstance(value, float) and not math.isfinite(value):
        raise InvalidInputError(f"value: {value!r} is no JSON number")


def dump_value(value: object) -> str:
    """Return the JSON text of a document's value.

    Raises:
        InvalidInputError: It is no mapping, or holds something that JSON can't say.
    """
    if type(value) is not dict and not isinstance(value, Mapping):
        raise InvalidInputError(f"value: a JSON object is needed, {value!r:.80} was given")
    try:
        encoded = orjson.dumps(value if type(value) is dict else dict(value), option=STRICT)
    except TypeError:
        # Lone surrogates, large integers, subclasses of str: the careful way decides.
        pass
    else:
        if b"null" not in encoded and len(encoded) <= 16_384:  # noqa: PLR2004
            text = encoded.decode()
            if text.count("{") + text.count("[") <= 64:  # noqa: PLR2004
                return text
    try:
        _plain_json(value)
    except RecursionError as error:
        raise InvalidInputError("value: it is nested too deep") from error
    try:
        checked: str = CHECKS["metadata"][1](value)
    except InvalidInputError as error:
        raise InvalidInputError(str(error).replace("metadata:", "value:", 1)) from error
    return checked


def unit_vectors(several: Sequence[Any], ndim: int) -> list[bytes]:
    """Return, for each array of vectors, these scaled to unit length, one after the other.

    A vector without direction is left out.

    Raises:
        DimensionError: They have another length.
        EmbeddingError: They are no finite numbers, or more than 8.
    """
    import numpy as np

    if not several:
        return []
    try:
        arrays = [np.asarray(vectors, dtype=np.float32) for vectors in several]
    except (TypeError, ValueError) as error:
        raise EmbeddingError(f"embeddings: vectors of numbers are needed: {error}") from error
    for shape in {array.shape for array in arrays}:
        if len(shape) != 2 or shape[0] > MAX_CHUNKS:  # noqa: PLR2004
            raise EmbeddingError(
                f"embeddings: an array of at most {MAX_CHUNKS} rows is needed, the shape is {shape}"
            )
        if shape[1] != ndim:
            raise DimensionError(ndim, shape[1], "embeddings")
    matrix: npt.NDArray[np.float32] = np.concatenate(arrays)
    norms = np.sqrt(np.einsum("ij,ij->i", matrix, matrix))
    if not np.isfinite(norms).all():
        raise EmbeddingError("embeddings: a vector is not finite")
    has_direction = norms > LEAST_NORM
    matrix /= np.where(has_direction, norms, np.float32(1))[:, None]
    raw, width, found, row = matrix.tobytes(), ndim * 4, [], 0
    if has_direction.all():
        ends = accumulate(map(len, arrays))
        return [raw[first * width : end * width] for first, end in pairwise(chain((0,), ends))]
    for array in arrays:
        end = row + len(array)
        found.append(matrix[row:end][has_direction[row:end]].tobytes())
        row = end
    return found


def _texts(value: Sequence[str]) -> tuple[str, ...]:
    if isinstance(value, str):
        raise InvalidInputError("texts: several strings are needed, one was given")
    found = []
    for text in value:
        if not isinstance(text, str):
            raise InvalidInputError(f"texts: strings are needed, {text!r:.80} was given")
        if text and not text.isspace():
            found.append(whole_text(text))
    return tuple(found)


def _ttl_ms(value: float | None) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        raise InvalidInputError(f"ttl: a number of 0 or more is needed, {value!r} was given")
    return round(min(value * 1000, LONGEST_LIFE_MS))


def checked_documents(
    writes: Iterable[DocumentWrite], base: str, *, ndim: int, is_redacting: bool
) -> list[NewDocument]:
    """Return every write checked, the last one of each key in place of those before it.

    Raises:
        InvalidInputError: Something is wrong with one; nothing was written.
    """
    found: dict[tuple[str, str], DocumentWrite] = {}
    paths: dict[str, str] = {}
    name: Any = CHECKS["key"][1]
    for write in writes:
        path = paths.get(write.scope)
        if path is None:
            path = check_scope(join_scope(base, check_scope(write.scope)))
            paths[write.scope] = path
        key = name(write.key)
        if key is None:
            raise InvalidInputError("key: None is no key")
        before = found.pop((path, key), None)
        if before is not None:
            # It is not written, and wrong all the same where it is wrong.
            _all_checked({(path, key): before}, ndim, is_redacting=False)
        found[path, key] = write
    return _all_checked(found, ndim, is_redacting=is_redacting)


def _all_checked(
    found: Mapping[tuple[str, str], DocumentWrite], ndim: int, *, is_redacting: bool
) -> list[NewDocument]:
    bringing = [write.embeddings for write in found.values() if _brings_vectors(write)]
    given = iter(unit_vectors(bringing, ndim))
    return [
        _checked(
            write, path, key, next(given) if _brings_vectors(write) else None,
            is_redacting=is_redacting,
        )
        for (path, key), write in found.items()
    ]  # fmt: skip


def _brings_vectors(write: DocumentWrite) -> bool:
    return write.embeddings is not None and write.value is not None and len(write.texts) > 0


def _checked(
    write: DocumentWrite, path: str, key: str, vectors: bytes | None, *, is_redacting: bool
) -> NewDocument:
    if write.value is None:
        return NewDocument(path, key, None, "", "", (), None, None, ())
    metadata, texts = dump_value(write.value), _texts(write.texts)
    kinds: list[str] = []
    if is_redacting:
        metadata = _redacted(metadata, kinds)
        texts = tuple([redact_value(text, []) for text in texts])
    if not texts:
        text = key if not key.isspace() else NO_TEXT
        ttl_ms = _ttl_ms(write.ttl_s)
        return NewDocument(path, key, metadata, UNSEARCHED, text, (), None, ttl_ms, tuple(kinds))
    text = texts[0] if len(texts) == 1 else "\n".join(texts)
    return NewDocument(
        path, key, metadata, SEARCHED, text, texts, vectors,
        None if write.ttl_s is None else _ttl_ms(write.ttl_s), tuple(kinds),
    )  # fmt: skip


def _redacted(metadata: str, kinds: list[str]) -> str:
    value = redact_value(json.loads(metadata), kinds)
    return dump_value(value) if kinds else metadata
