"""From what a host passes as ``embedder=`` to an embedder."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Collection
from typing import TYPE_CHECKING, TypeGuard, overload

from agentmem.errors import InvalidInputError
from agentmem.protocols import Embedder, GivenEmbeddings

if TYPE_CHECKING:
    from agentmem.embedding.onnx_embedder import MultilingualEmbedder, OnnxEmbedder

__all__ = ["resolve_embedder", "space_of"]


@functools.cache
def _packaged() -> OnnxEmbedder:
    """Return the packaged model's embedder; all memories of a process share its session."""
    from agentmem.embedding.onnx_embedder import OnnxEmbedder

    return OnnxEmbedder()


@functools.cache
def _multilingual() -> MultilingualEmbedder:
    """Return the multilingual model's embedder; it too is shared."""
    from agentmem.embedding.onnx_embedder import MultilingualEmbedder

    return MultilingualEmbedder()


def _is_embedder(spec: object) -> TypeGuard[Embedder]:
    """Say whether an object has the parts of an Embedder, without reading its properties.

    Reading ``ndim`` may load a model, and ``isinstance`` with a protocol reads it on Python 3.11.
    """
    missing = object()
    parts = ("id", "ndim", "embed")
    return not isinstance(spec, type) and all(
        inspect.getattr_static(spec, part, missing) is not missing for part in parts
    )


@overload
def resolve_embedder(spec: str | os.PathLike[str] | None) -> OnnxEmbedder: ...
@overload
def resolve_embedder(spec: GivenEmbeddings) -> GivenEmbeddings: ...
@overload
def resolve_embedder(
    spec: Embedder | GivenEmbeddings | str | os.PathLike[str] | None,
) -> Embedder | GivenEmbeddings: ...
def resolve_embedder(
    spec: Embedder | GivenEmbeddings | str | os.PathLike[str] | None,
) -> Embedder | GivenEmbeddings:
    """Return the embedder that is meant; no model is loaded yet.

    Args:
        spec: None for the packaged all-MiniLM-L6-v2, ``"multilingual"`` for multilingual-e5-small
            (a folder of that name is meant by ``"./multilingual"``), the path of a model folder,
            an embedder, or ``GivenEmbeddings`` where the host brings its own vectors.

    Raises:
        ModelNotFoundError: The folder or one of its files is missing.
        InvalidInputError: It is none of these.
    """
    if spec is None:
        return _packaged()
    if isinstance(spec, GivenEmbeddings):
        return spec
    if isinstance(spec, str) and spec == "multilingual":
        return _multilingual()
    if isinstance(spec, (str, os.PathLike)):
        from agentmem.embedding.onnx_embedder import OnnxEmbedder

        return OnnxEmbedder(spec)
    if _is_embedder(spec):
        return spec
    raise InvalidInputError(
        "embedder must be None, a model folder, GivenEmbeddings or an object with id, ndim and "
        f"embed(texts); {type(spec).__name__} was given"
    )


def space_of(embedder: Embedder | GivenEmbeddings) -> tuple[str, int]:
    """Return the id and the length of an embedder's vectors; a folder's model may be loaded.

    Raises:
        InvalidInputError: The id is no text, ndim no whole number of at least 1, or languages is
            something other than codes.
    """
    found, ndim = embedder.id, embedder.ndim
    name = type(embedder).__name__
    if not isinstance(found, str) or not found.strip():
        raise InvalidInputError(
            f"embedder: the id of {name} must be a text that names its vector space, "
            f"{found!r} was given"
        )
    if isinstance(ndim, bool) or not isinstance(ndim, int) or ndim < 1:
        raise InvalidInputError(
            f"embedder: the ndim of {name} must be a whole number of at least 1, {ndim!r} was given"
        )
    languages = getattr(embedder, "languages", None)
    if languages is not None and (
        isinstance(languages, str)
        or not isinstance(languages, Collection)
        or not all(isinstance(code, str) for code in languages)
    ):
        raise InvalidInputError(
            f"embedder: the languages of {name} must be None or a collection of ISO 639-1 codes, "
            f"{languages!r} was given"
        )
    return found, ndim
