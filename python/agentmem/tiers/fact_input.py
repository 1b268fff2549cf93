"""What a host may say of a fact, checked and redacted before anything is written."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from agentmem._native import redact, redact_many
from agentmem.errors import InvalidInputError
from agentmem.models import parse_id, to_ms
from agentmem.store.index_rows import dump_metadata

__all__ = ["PLAIN", "NewFact", "checked", "redact_value", "whole_text"]

MAX_TEXT = 64 * 1024 * 1024
MAX_NAME = 1_024
MAX_METADATA = 1024 * 1024
MAX_DEPTH = 64
TOP_PRIORITY = 100


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
        for number in _numbers(value):
            float(number)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InvalidInputError(f"{argument}: it must be JSON data: {error}") from error
    if len(text) > MAX_METADATA:
        raise InvalidInputError(
            f"{argument}: at most {MAX_METADATA} characters of JSON, {len(text)} were given"
        )
    if _depth(text) > MAX_DEPTH:
        raise InvalidInputError(f"{argument}: at most {MAX_DEPTH} levels of nesting are allowed")
    return whole_text(text)


def _numbers(value: object) -> Iterator[int]:
    """Yield the integers in JSON data; one that no float reaches can't be compared or indexed."""
    if isinstance(value, Mapping):
        for item in value.values():
            yield from _numbers(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _numbers(item)
    elif isinstance(value, int):
        yield value


def _metadata(value: object) -> str:
    if value is None:
        return "{}"
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise InvalidInputError(
            f"metadata: a mapping with string keys is needed, {_shown(value)} was given"
        )
    return _json(dict(value), "metadata")


def _depth(text: str) -> int:
    """Return an upper bound of a JSON text's nesting."""
    opened = text.count("[") + text.count("{")
    if opened <= MAX_DEPTH:
        return opened
    deepest = depth = 0
    in_string = escaped = False
    for character in text:
        if in_string:
            in_string = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character == '"':
            in_string = True
        elif character in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "]}":
            depth -= 1
    return deepest


def _tags(value: object) -> tuple[str, ...]:
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
    if value is None:
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


PLAIN = NewFact(
    "", None, None, "fact", (), "{}", None, None, None, None, None, 50, (), (), None, ()
)


def _kind(value: object) -> str:
    kind = _name(value, "kind")
    if kind is None:
        raise InvalidInputError("kind: None is no kind; the default is 'fact'")
    return kind


def _priority(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= TOP_PRIORITY:
        raise InvalidInputError(
            f"priority: a whole number from 0 to {TOP_PRIORITY} is needed, {_shown(value)} was given"
        )
    return value


def _sources(value: object) -> tuple[tuple[int, int], ...]:
    sources = _ids(value, "sources")
    if any(tier > 1 for tier, _ in sources):
        raise InvalidInputError("sources: a fact rests on L0 or L1 rows, never on a higher tier")
    return sources


def _supersedes(value: object) -> tuple[int, ...]:
    superseded = _ids(value, "supersedes")
    if any(tier != 1 for tier, _ in superseded):
        raise InvalidInputError("supersedes: only facts (L1) can be superseded by a fact")
    return tuple(number for _, number in superseded)


# What each argument becomes, at its place in NewFact. A field at its default costs nothing.
CHECKS: Mapping[str, tuple[int, Callable[[Any], Any]]] = {
    name: (NewFact._fields.index(field), check)
    for name, field, check in (
        ("text", "text", _check_text),
        ("key", "key", lambda value: _name(value, "key")),
        ("session", "session", lambda value: _name(value, "session")),
        ("kind", "kind", _kind),
        ("tags", "tags", _tags),
        ("metadata", "metadata", _metadata),
        ("subject", "subject", lambda value: _name(value, "subject")),
        ("attribute", "attribute", lambda value: _name(value, "attribute")),
        ("value", "value", lambda value: None if value is None else _json(value, "value")),
        ("valid_from", "valid_from_ms", lambda value: _time(value, "valid_from")),
        ("valid_to", "valid_to_ms", lambda value: _time(value, "valid_to")),
        ("priority", "priority", _priority),
        ("sources", "sources", _sources),
        ("supersedes", "supersedes", _supersedes),
        ("embedding", "embedding", lambda value: value),
    )
}


def check_fact(item: Mapping[str, Any]) -> NewFact:
    """Return one mapping of ``remember``'s arguments, checked."""
    values: list[Any] = list(PLAIN)
    for name, value in item.items():
        known = CHECKS.get(name)
        if known is None:
            raise InvalidInputError(
                f"unknown field {name!r}; known are {', '.join(sorted(CHECKS))}"
            )
        place, check = known
        values[place] = check(value)
    if not values[0]:
        raise InvalidInputError("text: it is missing")
    fact = NewFact._make(values)
    begins, ends = fact.valid_from_ms, fact.valid_to_ms
    if begins is not None and ends is not None and ends <= begins:
        raise InvalidInputError("valid_to: it must lie after valid_from")
    return fact


def checked(items: Iterable[str | Mapping[str, Any]], *, is_redacting: bool) -> list[NewFact]:
    """Return every item, checked and redacted, or raise for the first that is wrong.

    Raises:
        InvalidInputError: Names the position of the item, the field and what is allowed.
    """
    if isinstance(items, str | Mapping) or not isinstance(items, Iterable):
        raise InvalidInputError(
            f"facts: several texts or mappings are needed, {_shown(items)} was given"
        )
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
    return _redacted(found) if is_redacting else found


def _redacted(items: list[NewFact]) -> list[NewFact]:
    """Replace secrets in every string that will be stored."""
    strings: list[str] = []
    places: list[tuple[int, str, int]] = []
    for at, item in enumerate(items):
        strings.append(item.text)
        places.append((at, "text", 0))
        if item is not PLAIN and item[1:14] != PLAIN[1:14]:
            for field in ("metadata", "value"):
                content = getattr(item, field)
                if content is not None and content != "{}":
                    items[at] = _redacted_json(items[at], field, content)
            for field in ("kind", "subject", "attribute", "key", "session"):
                content = getattr(item, field)
                if content is not None:
                    strings.append(content)
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


def _redacted_json(item: NewFact, field: str, text: str) -> NewFact:
    kinds: list[str] = []
    value = redact_value(json.loads(text), kinds)
    if not kinds:
        return item
    changed: dict[str, Any] = {field: dump_metadata(value), "redacted": (*item.redacted, *kinds)}
    return item._replace(**changed)


def redact_value(value: Any, kinds: list[str], name: str = "") -> Any:
    """Return JSON data without secrets; the kinds of those found are added to ``kinds``.

    A scalar is looked at beside the name it stands under, as in ``password: …``, so that what only
    its name makes a secret is found; the structure around it never changes.
    """
    if isinstance(value, dict):
        return {
            _redacted_leaf(key, kinds): redact_value(item, kinds, key)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [redact_value(item, kinds, name) for item in value]
    if isinstance(value, str):
        return _redacted_leaf(value, kinds, name)
    if isinstance(value, int | float) and not isinstance(value, bool) and name:
        shown = _redacted_leaf(str(value), kinds, name)
        return value if shown == str(value) else shown
    return value


def _redacted_leaf(text: str, kinds: list[str], name: str = "") -> str:
    found, spans = redact(text)
    if spans:
        kinds += [kind for _, _, kind in spans]
        return found
    if name:
        # Without what would end an assigned value early; the whole leaf goes if any part is secret.
        _, spans = redact(f"{name}={''.join(text.split())}")
        named = [kind for start, _, kind in spans if start > len(name)]
        if named:
            kinds.append(named[0])
            return f"[redacted:{named[0]}]"
    return text
