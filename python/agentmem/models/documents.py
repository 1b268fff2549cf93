"""A host's JSON documents: what is written, and what comes back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from agentmem.models.memory import maker

__all__ = ["Document", "DocumentWrite", "make_document_write"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentWrite:
    """One document to be written, or deleted.

    Attributes:
        key: The host's name for it, unique in its scope; 1 to 1,024 characters.
        value: A JSON object; None deletes what the key has.
        scope: Where it lives, below the scope of the handle.
        texts: What a search finds it by, each with a vector; none: it is kept and never searched.
        embeddings: The vectors of ``texts``, float32, shape ``(n, ndim)`` with n at most 8, instead
            of embedding them; a zero vector is left out.
        ttl_s: Seconds after which it is gone; None: never.
    """

    key: str
    value: Mapping[str, Any] | None
    scope: str = ""
    texts: Sequence[str] = ()
    embeddings: Any = None
    ttl_s: float | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """One document as it is stored.

    Attributes:
        id: The id of the fact that holds it; a new one for each write.
        scope: Where it lives, below the scope of the handle.
        key: The host's name for it.
        value: The JSON object.
        created: When the key was first written.
        updated: When this value was written.
        expires: When it is gone, if ever.
        cosine: Of the question and the nearest of its vectors; None without a question.
    """

    id: str
    scope: str
    key: str
    value: dict[str, Any]
    created: datetime
    updated: datetime
    expires: datetime | None = None
    cosine: float | None = None


# key, value, scope, texts, embeddings, ttl_s
make_document_write: Callable[..., DocumentWrite] = maker(DocumentWrite)
