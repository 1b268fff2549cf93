"""A batch of operations, checked and sorted, with the texts whose vectors it needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from langgraph.store.base import GetOp, ListNamespacesOp, Op, PutOp, SearchOp
from langgraph.store.base.embed import get_text_at_path, tokenize_path

from agentmem.errors import InvalidInputError
from agentmem.integrations.langgraph.namespaces import check_op, to_scope
from agentmem.models import DocumentWrite, make_document_write
from agentmem.tiers.documents import grouped_texts

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["Plan", "tokenized_fields"]

Path = str | list[str]


def _tokenized(path: object) -> Path:
    if not isinstance(path, str):
        raise InvalidInputError(f"index: a field is a path, {path!r} was given")
    return path if path == "$" else tokenize_path(path)


def _texts_at(value: Any, path: Path) -> list[str]:
    """Return what ``get_text_at_path`` does; a string under a plain name needs no walk."""
    if type(value) is dict and type(path) is list and len(path) == 1 and path[0].isidentifier():
        text = value.get(path[0])
        if type(text) is str:
            return [text]
    return get_text_at_path(value, path)


def tokenized_fields(config: Mapping[str, Any] | None) -> list[Path] | None:
    """Return the paths that a configuration names, ready for use; None without one.

    Raises:
        InvalidInputError: They are no list of strings.
    """
    if config is None:
        return None
    # LangGraph's SQLite store calls them `text_fields`.
    fields = config.get("fields") or config.get("text_fields") or ["$"]
    if isinstance(fields, str):
        fields = [fields]
    if not isinstance(fields, list | tuple):
        raise InvalidInputError(f"index: 'fields' is a list of paths, {fields!r} was given")
    return [_tokenized(path) for path in fields]


class Plan:
    """What a batch asks for.

    Args:
        ops: The operations, in order.
        fields: The paths that are searched by default; None where nothing is.

    Attributes:
        count: How many operations there are.
        gets: Reads by key, each with its place in the batch.
        searches: Searches, each with its place.
        lists: Listings of namespaces, each with its place.
        puts: The last write of each scope and key.
        texts: What needs a vector, each once, with its place among the vectors.
        queries: What is asked, each once.

    Raises:
        InvalidNamespaceError: A label is not allowed.
        InvalidInputError: A value or an ``index`` is wrong.
    """

    def __init__(self, ops: Iterable[Op], fields: list[Path] | None) -> None:
        self.count = 0
        self.gets: list[tuple[int, GetOp]] = []
        self.searches: list[tuple[int, SearchOp]] = []
        self.lists: list[tuple[int, ListNamespacesOp]] = []
        self.puts: dict[tuple[str, str], PutOp] = {}
        self.texts: dict[str, int] = {}
        self.queries: dict[str, None] = {}
        self._texts: dict[tuple[str, str], list[str]] = {}
        self._vectors: npt.NDArray[np.float32] | None = None
        puts, wanted = self.puts, self.texts
        scopes: dict[tuple[str, ...], str] = {}
        for at, op in enumerate(ops):
            self.count = at + 1
            if isinstance(op, PutOp):
                namespace = tuple(op.namespace)
                scope = scopes.get(namespace)
                if scope is None:
                    # Once a namespace: a batch has many puts and few of these.
                    check_op(op)
                    scope = scopes[namespace] = to_scope(namespace)
                puts.pop((scope, op.key), None)
                puts[scope, op.key] = op
                continue
            check_op(op)
            if isinstance(op, GetOp):
                self.gets.append((at, op))
            elif isinstance(op, SearchOp):
                self.searches.append((at, op))
                if op.query and fields is not None:
                    self.queries[op.query] = None
            else:
                self.lists.append((at, op))
        for place, put in puts.items():
            texts = self._texts[place] = self._searched(put, fields)
            for text in grouped_texts(texts):
                wanted.setdefault(text, len(wanted))

    @staticmethod
    def _searched(op: PutOp, fields: list[Path] | None) -> list[str]:
        """Return the texts by which a put is found."""
        value = op.value
        if type(value) is not dict and value is not None and not isinstance(value, Mapping):
            raise InvalidInputError(f"value: a mapping is needed, {value!r:.80} was given")
        if value is None or fields is None or op.index is False:
            return []
        if op.index is None:
            paths = fields
        elif isinstance(op.index, list | tuple):
            paths = [_tokenized(path) for path in op.index]
        else:
            raise InvalidInputError(
                f"index: False, None or a list of paths is allowed, {op.index!r} was given"
            )
        found: dict[str, None] = {}
        try:
            for path in paths:
                for text in _texts_at(value, path):
                    if text and not text.isspace():
                        found[text] = None
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidInputError(f"value: it must be JSON data: {error}") from error
        return list(found)

    def give_vectors(self, vectors: npt.NDArray[np.float32]) -> None:
        """Take the vectors of ``texts``, shape ``(len(texts), ndim)``."""
        self._vectors = vectors

    def writes(self) -> Iterator[DocumentWrite]:
        """Yield the last write of each scope and key, with the vectors that were given."""
        for place, op in self.puts.items():
            texts = self._texts[place]
            rows = None
            if texts and self._vectors is not None:
                if len(texts) == 1:
                    first = self.texts[texts[0]]
                    rows = self._vectors[first : first + 1]
                else:
                    rows = self._vectors[[self.texts[text] for text in grouped_texts(texts)]]
            ttl_s = None if op.ttl is None else op.ttl * 60
            yield make_document_write(place[1], op.value, place[0], texts, rows, ttl_s)
