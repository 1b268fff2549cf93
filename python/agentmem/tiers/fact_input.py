"""What a host may say of a fact, checked and redacted before anything is written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from agentmem._native import redact_many
from agentmem.errors import InvalidInputError
from agentmem.models import parse_id, to_ms
from agentmem.store.index_rows import dump_metadata

__all__ = ["FIELDS", "NewFact", "checked", "whole_text"]

MAX_TEXT = 64 * 1024 * 1024
MAX_NAME = 1_024
MAX_METADATA = 1024 * 1024
TOP_PRIORITY = 100

FIELDS = frozenset(
    {
        "text", "key", "session", "kind", "tags", "metadata", "subject", "attribute", "value",
        "valid_from", "valid_to", "priority", "sources", "supersedes", "embedding",
    }
)  # fmt: skip


class NewFact(NamedTuple):
    """A checked argument of ``remember``, in the store's own types."""

    text: str
    key: str | None
    session: str | None
    kind: str
    tags: tuple[str, ...]
    metadata: str
    subject: str | None
    attribute: str | None
    value: str | None
    valid_from_ms: int | None
    valid_to_ms: int | None
    priority: int
    sources: tuple[tuple[int, int], ...]
    supersedes: tuple[int, ...]
    embedding: Any
    redacted: tuple[str, ...]


def whole_text(value: str) -> str:
    """Return the text with each lone surrogate, which no encoding can hold, as U+FFFD."""
    if value.isascii():
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value


def _name(value: object, argument: str) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or not value or len(value) > MAX_NAME:
        raise InvalidInputError(
            f"{argument}: a string of 1 to {MAX_NAME} characters is needed, "
            f"{_shown(value)} was given"
        )
    if "\0" in value:
        raise InvalidInputError(f"{argument}: {_shown(value)} holds a NUL character")
    return whole_text(value)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}…"  # noqa: PLR2004


def _json(value: object, argument: str) -> str:
    try:
        text = dump_metadata(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(f"{argument}: it must be JSON data: {error}") from error
    if len(text) > MAX_METADATA:
        raise InvalidInputError(
            f"{argument}: at most {MAX_METADATA} characters of JSON, {len(text)} were given"
        )
    return whole_text(text)


def _metadata(value: object) -> str:
    if value is None or value == {}:
        return "{}"
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise InvalidInputError(
            f"metadata: a mapping with string keys is needed, {_shown(value)} was given"
        )
    return _json(dict(value), "metadata")


def _tags(value: object) -> tuple[str, ...]:
    if value == ():
        return ()
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InvalidInputError(f"tags: several strings are needed, {_shown(value)} was given")
    found: dict[str, None] = {}
    for tag in value:
        name = _name(tag, "tags")
        if name is None:
            raise InvalidInputError("tags: None is no tag")
        found[name] = None
    return tuple(sorted(found))


def _ids(value: object, argument: str) -> tuple[tuple[int, int], ...]:
    if value is None or value == ():
        return ()
    several: Iterable[Any] = (value,) if isinstance(value, str) else value  # type: ignore[assignment]
    if not isinstance(several, Iterable):
        raise InvalidInputError(f"{argument}: ids are needed, {_shown(value)} was given")
    return tuple(dict.fromkeys(parse_id(item, argument=argument) for item in several))


def _time(value: datetime | None, argument: str) -> int | None:
    return None if value is None else to_ms(value, argument=argument)


def _check_text(text: object) -> str:
    if not isinstance(text, str):
        raise InvalidInputError(f"text: a string is needed, {_shown(text)} was given")
    if len(text) > MAX_TEXT:
        raise InvalidInputError(
            f"text: at most {MAX_TEXT} characters are allowed, {len(text)} were given"
        )
    if not text or text.isspace():
        raise InvalidInputError("text: it is empty; a fact says something")
    return whole_text(text)


def check_fact(item: Mapping[str, Any]) -> NewFact:
    """Return one mapping of ``remember``'s arguments, checked."""
    unknown = item.keys() - FIELDS
    if unknown:
        raise InvalidInputError(
            f"unknown field {min(unknown)!r}; known are {', '.join(sorted(FIELDS))}"
        )
    if "text" not in item:
        raise InvalidInputError("text: it is missing")
    get = item.get
    text = _check_text(item["text"])
    kind = _name(get("kind", "fact"), "kind")
    if kind is None:
        raise InvalidInputError("kind: None is no kind; the default is 'fact'")
    valid_from, valid_to = (
        _time(get("valid_from"), "valid_from"),
        _time(get("valid_to"), "valid_to"),
    )
    if valid_from is not None and valid_to is not None and valid_to <= valid_from:
        raise InvalidInputError("valid_to: it must lie after valid_from")
    priority = get("priority", 50)
    if (
        isinstance(priority, bool)
        or not isinstance(priority, int)
        or not 0 <= priority <= TOP_PRIORITY
    ):
        raise InvalidInputError(
            f"priority: a whole number from 0 to {TOP_PRIORITY} is needed, "
            f"{_shown(priority)} was given"
        )
    supersedes = _ids(get("supersedes"), "supersedes")
    if any(tier != 1 for tier, _ in supersedes):
        raise InvalidInputError("supersedes: only facts (L1) can be superseded by a fact")
    sources = _ids(get("sources", ()), "sources")
    if any(tier > 1 for tier, _ in sources):
        raise InvalidInputError("sources: a fact rests on L0 or L1 rows, never on a higher tier")
    value = get("value")
    return NewFact(
        text,
        _name(get("key"), "key"),
        _name(get("session"), "session"),
        kind,
        _tags(get("tags", ())),
        _metadata(get("metadata")),
        _name(get("subject"), "subject"),
        _name(get("attribute"), "attribute"),
        None if value is None else _json(value, "value"),
        valid_from,
        valid_to,
        priority,
        sources,
        tuple(number for _, number in supersedes),
        get("embedding"),
        (),
    )


PLAIN = NewFact(
    "", None, None, "fact", (), "{}", None, None, None, None, None, 50, (), (), None, ()
)


def checked(items: Iterable[str | Mapping[str, Any]], *, redact: bool) -> list[NewFact]:
    """Return every item, checked and redacted, or raise for the first that is wrong.

    Raises:
        InvalidInputError: Names the position of the item, the field and what is allowed.
    """
    found: list[NewFact] = []
    for position, item in enumerate(items):
        try:
            if isinstance(item, str):
                found.append(PLAIN._replace(text=_check_text(item)))
            elif isinstance(item, Mapping):
                found.append(check_fact(item))
            else:
                raise InvalidInputError(
                    f"a string or a mapping is needed, {_shown(item)} was given"
                )
        except InvalidInputError as error:
            raise InvalidInputError(f"facts[{position}]: {error}") from error
    return _redacted(found) if redact else found


def _redacted(items: list[NewFact]) -> list[NewFact]:
    """Replace secrets in every string that will be stored."""
    strings: list[str] = []
    places: list[tuple[int, str, int]] = []
    for at, item in enumerate(items):
        strings.append(item.text)
        places.append((at, "text", 0))
        if item is not PLAIN and item[1:14] != PLAIN[1:14]:
            for field in ("metadata", "value", "subject", "attribute", "key", "session"):
                value = getattr(item, field)
                if value is not None and value != "{}":
                    strings.append(value)
                    places.append((at, field, 0))
            for nth, tag in enumerate(item.tags):
                strings.append(tag)
                places.append((at, "tags", nth))
    for nth, text, spans in redact_many(strings):
        at, field, place = places[nth]
        item = items[at]
        value: Any = text
        if field == "tags":
            value = (*item.tags[:place], text, *item.tags[place + 1 :])
        kinds = tuple(kind for _, _, kind in spans)
        items[at] = item._replace(**{field: value, "redacted": item.redacted + kinds})
    return items
