"""What a host may write as a document, checked and made ready before anything is written."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from agentmem import _native
from agentmem.errors import DimensionError, EmbeddingError, InvalidInputError
from agentmem.models import DocumentWrite
from agentmem.store.documents import SEARCHED, UNSEARCHED
from agentmem.store.embeddings import MAX_CHUNKS
from agentmem.store.scopes import check_scope, join_scope
from agentmem.tiers.fact_input import CHECKS, redact_value, whole_text

__all__ = ["NewDocument", "checked_documents", "unit_vectors"]

LONGEST_LIFE_MS = 1000 * 366 * 86_400_000
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


def dump_values(values: Iterable[object]) -> list[str]:
    """Return the JSON text of each document's value.

    Raises:
        InvalidInputError: One is no mapping, or holds something that JSON can't say.
    """
    given = list(values)
    plain = _native.plain_json([_encoded(value) for value in given])
    return [
        _dumped(value) if text is None else text for value, text in zip(given, plain, strict=True)
    ]


def _encoded(value: object) -> bytes:
    """Return the JSON of a plain value; empty where the careful way has to decide."""
    if type(value) is not dict:
        if not isinstance(value, Mapping):
            raise InvalidInputError(f"value: a JSON object is needed, {value!r:.80} was given")
        value = dict(value)
    try:
        return orjson.dumps(value, option=STRICT)
    except TypeError:
        # Lone surrogates, large integers, subclasses of str.
        return b""


def _dumped(value: object) -> str:
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
    try:
        return _native.unit_rows(arrays)
    except InvalidInputError as error:
        raise EmbeddingError("embeddings: a vector is not finite") from error


def _texts(value: Sequence[str]) -> tuple[str, ...]:
    found = []
    for text in value:
        if not isinstance(text, str):
            raise InvalidInputError(f"texts: strings are needed, {text!r:.80} was given")
        if text and not text.isspace():
            found.append(whole_text(text))
    return tuple(found)


def _ttl_ms(value: float) -> int:
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
    if not isinstance(writes, Iterable):
        raise InvalidInputError(f"writes: DocumentWrite are needed, {writes!r:.80} was given")
    for write in writes:
        if not isinstance(write, DocumentWrite):
            raise InvalidInputError(f"writes: a DocumentWrite is needed, {write!r:.80} was given")
        if not isinstance(write.texts, Sequence) or isinstance(write.texts, str):
            raise InvalidInputError(
                f"texts: several strings are needed, {write.texts!r:.80} was given"
            )
        path = paths.get(write.scope) if isinstance(write.scope, str) else None
        if path is None:
            path = check_scope(join_scope(base, check_scope(write.scope)))
            paths[write.scope] = path
        key = name(write.key)
        if key is None:
            raise InvalidInputError("key: None is no key")
        place = (path, key)
        if place in found:
            # It is not written, and wrong all the same where it is wrong.
            _all_checked({place: found.pop(place)}, ndim, is_redacting=False)
        found[place] = write
    return _all_checked(found, ndim, is_redacting=is_redacting)


def _all_checked(
    found: Mapping[tuple[str, str], DocumentWrite], ndim: int, *, is_redacting: bool
) -> list[NewDocument]:
    kept = [write for write in found.values() if write.value is not None]
    values = iter(dump_values([write.value for write in kept]))
    bringing = [write for write in kept if write.embeddings is not None and len(write.texts) > 0]
    given = iter(unit_vectors([write.embeddings for write in bringing], ndim))
    return [
        _checked(write, path, key, values, given, is_redacting=is_redacting)
        for (path, key), write in found.items()
    ]


def _checked(
    write: DocumentWrite,
    path: str,
    key: str,
    values: Iterator[str],
    given: Iterator[bytes],
    *,
    is_redacting: bool,
) -> NewDocument:
    """Return a write, with its JSON and its vectors taken from those of all, in their order."""
    if write.value is None:
        return NewDocument(path, key, None, "", "", (), None, None, ())
    metadata, texts = next(values), _texts(write.texts)
    vectors = next(given) if write.embeddings is not None and len(write.texts) > 0 else None
    kinds: list[str] = []
    if is_redacting:
        metadata = _redacted(metadata, kinds)
        texts = tuple([redact_value(text, []) for text in texts])
    ttl_ms = None if write.ttl_s is None else _ttl_ms(write.ttl_s)
    if not texts:
        text = key if not key.isspace() else NO_TEXT
        return NewDocument(path, key, metadata, UNSEARCHED, text, (), None, ttl_ms, tuple(kinds))
    text = texts[0] if len(texts) == 1 else "\n".join(texts)
    return NewDocument(path, key, metadata, SEARCHED, text, texts, vectors, ttl_ms, tuple(kinds))


def _redacted(metadata: str, kinds: list[str]) -> str:
    value = redact_value(json.loads(metadata), kinds)
    return dump_values([value])[0] if kinds else metadata
