"""Read a file of ``export`` and check all of it, so that an import writes only what can be kept."""

from __future__ import annotations

import base64
import gzip
import json
import math
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any, Final, NamedTuple, cast

import numpy as np

from agentmem.errors import InvalidInputError
from agentmem.store.embeddings import MAX_CHUNKS
from agentmem.store.facts import FactRow
from agentmem.store.index_rows import dump_metadata
from agentmem.store.scopes import check_scope, join_scope
from agentmem.store.turns import TurnRow
from agentmem.tiers.vectors import UNIT_TOLERANCE, given_vector

__all__ = ["FORMAT", "ExportFile", "FactLine", "TurnLine", "open_text", "read_export"]

FORMAT: Final = 1
MAX_TEXT: Final = 64 * 1024 * 1024
MAX_NAME: Final = 1_024
MAX_JSON: Final = 1024 * 1024
MAX_DEPTH: Final = 64
MAX_NDIM: Final = 65_536
TOP_PRIORITY: Final = 100
TOP_TRUST: Final = 4
TOP_ID: Final = (1 << 56) - 1
"""The tier lies above 56 bits in a row's key."""
INT64: Final = (-(1 << 63), (1 << 63) - 1)
TIMES_MS: Final = (-62_135_596_800_000, 253_402_300_799_999)
"""The years 1 to 9999, which a datetime can hold."""
ORIGINS: Final = ("captured", "asserted", "imported")


class TurnLine(NamedTuple):
    """A checked turn; ``original`` is its text as the file has it, ``redacted`` kinds of secrets."""

    line: int
    row: TurnRow
    original: str
    redacted: tuple[str, ...] = ()


class FactLine(NamedTuple):
    """A checked fact; ``vectors`` are unit vectors one after the other, ``b""`` for none."""

    line: int
    row: FactRow
    original: str
    tags: tuple[str, ...]
    sources: tuple[tuple[int, int], ...]
    vectors: bytes
    redacted: tuple[str, ...] = ()


class ExportFile(NamedTuple):
    """What a whole file holds. Scopes are those of the file, not yet below the importing one."""

    epoch: str
    embedder: str | None
    ndim: int | None
    turns: list[TurnLine]
    facts: list[FactLine]


def open_text(path: Path, mode: str) -> IO[str]:
    """Open an export for text; a name that ends in ``.gz`` is compressed."""
    if path.suffix == ".gz":
        return cast(
            "IO[str]", gzip.open(path, mode + "t", encoding="utf-8", errors="surrogatepass")
        )
    return path.open(mode, encoding="utf-8", errors="surrogatepass")


def read_export(path: Path, scope: str) -> ExportFile:
    """Return the checked content of a file that is to be taken in below ``scope``.

    Raises:
        InvalidInputError: Something in it can't be kept; the message names the line and the field.
        FileNotFoundError: There is no such file.
    """
    found: ExportFile | None = None
    number = 0
    try:
        with open_text(path, "r") as file:
            for number, text in enumerate(file, 1):
                value = json.loads(text)
                if found is None:
                    found = _header(value)
                else:
                    _add_line(found, number, value, scope)
        if found is not None:
            number = _check_whole(found)
    except FileNotFoundError:
        raise
    except _LineError as error:
        raise InvalidInputError(f"{path}: line {error.line}: {error}") from error
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: line {number}: {error}") from error
    except RecursionError as error:
        raise InvalidInputError(f"{path}: line {number}: it is nested too deeply") from error
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{path}: after line {number}: no UTF-8: {error}") from error
    except ValueError as error:
        raise InvalidInputError(f"{path}: line {number}: it is not JSON: {error}") from error
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidInputError(
            f"{path}: after line {number}: it can't be read as an export: {error}"
        ) from error
    if found is None:
        raise InvalidInputError(f"{path}: it is empty")
    return found


class _LineError(Exception):
    """A line that is wrong only beside the others."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line


def _header(value: object) -> ExportFile:
    if (
        not isinstance(value, dict)
        or type(value.get("agentmem")) is not int
        or value["agentmem"] != FORMAT
    ):
        raise InvalidInputError(f"this is no export of agentmem, format {FORMAT}")
    epoch = value.get("epoch")
    embedder = value.get("embedder")
    ndim = value.get("ndim")
    _name(epoch, "epoch")
    if embedder is not None:
        _name(embedder, "embedder")
    if ndim is not None:
        _whole(ndim, "ndim", 1, MAX_NDIM)
    return ExportFile(cast("str", epoch), embedder, ndim, [], [])


def _add_line(found: ExportFile, number: int, value: object, scope: str) -> None:
    if isinstance(value, dict) and set(value) == {"turn"}:
        found.turns.append(_turn(number, value["turn"], scope))
    elif isinstance(value, dict) and set(value) == {"fact", "tags", "sources", "vectors"}:
        found.facts.append(_fact(number, value, scope, found.ndim))
    else:
        raise InvalidInputError("neither a turn nor a fact as export writes it")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}…"  # noqa: PLR2004


def _whole(value: object, field: str, low: int, high: int) -> None:
    if type(value) is not int or not low <= value <= high:
        raise InvalidInputError(
            f"{field}: a whole number from {low} to {high} is needed, {_shown(value)} was given"
        )


def _time(value: object, field: str) -> None:
    _whole(value, field, *TIMES_MS)


def _text(value: object, field: str) -> None:
    if not isinstance(value, str) or len(value) > MAX_TEXT:
        raise InvalidInputError(
            f"{field}: a string of at most {MAX_TEXT} characters is needed, "
            f"{_shown(value)} was given"
        )


def _unicode(value: object, field: str) -> None:
    _text(value, field)
    try:
        cast("str", value).encode()
    except UnicodeEncodeError as error:
        raise InvalidInputError(f"{field}: {_shown(value)} holds a lone surrogate") from error


def _name(value: object, field: str) -> None:
    _unicode(value, field)
    name = cast("str", value)
    if not 0 < len(name) <= MAX_NAME or "\0" in name:
        raise InvalidInputError(
            f"{field}: a string of 1 to {MAX_NAME} characters without NUL is needed, "
            f"{_shown(value)} was given"
        )


MOST_OFFSET: Final = 24 * 60
UNEXTRACTED: Final = dict.fromkeys(("event_ms", "confidence", "extractor"))


def _fields(value: object, names: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(value, dict) or set(value) != set(names):
        raise InvalidInputError(f"the fields {', '.join(names)} are needed, no more and no fewer")
    return value


def _check_scope(value: object, scope: str) -> None:
    check_scope(join_scope(scope, check_scope(cast("str", value))))


def _turn(number: int, value: object, scope: str) -> TurnLine:
    # Files from before zones were kept say nothing of them.
    fields = _fields(
        {"offset_min": None, **value} if isinstance(value, dict) else value, TurnRow._fields
    )
    _whole(fields["id"], "id", 1, TOP_ID)
    _check_scope(fields["scope"], scope)
    _whole(fields["position"], "position", *INT64)
    if fields["origin"] not in ORIGINS:
        raise InvalidInputError(f"origin: one of {', '.join(ORIGINS)} is needed")
    _name(fields["kind"], "kind")
    # A captured log may say anything here, and a captured text may be cut inside a character.
    for name in ("session", "speaker"):
        if fields[name] is not None:
            _unicode(fields[name], name)
    _whole(fields["trust"], "trust", 1, TOP_TRUST)
    _time(fields["created_ms"], "created_ms")
    if fields["event_ms"] is not None:
        _time(fields["event_ms"], "event_ms")
    if fields["offset_min"] is not None:
        _whole(fields["offset_min"], "offset_min", -MOST_OFFSET, MOST_OFFSET)
    _text(fields["text"], "text")
    row = TurnRow(**fields)
    return TurnLine(number, row, row.text)


def _fact(number: int, value: Mapping[str, Any], scope: str, ndim: int | None) -> FactLine:
    given = value["fact"]
    # Files from before facts were extracted say nothing of it.
    fields = dict(
        _fields({**UNEXTRACTED, **given} if isinstance(given, dict) else given, FactRow._fields)
    )
    _whole(fields["id"], "id", 1, TOP_ID)
    _check_scope(fields["scope"], scope)
    _name(fields["kind"], "kind")
    for name in ("key", "session", "subject", "attribute"):
        if fields[name] is not None:
            _name(fields[name], name)
    if fields["value"] is not None:
        fields["value"] = _json(fields["value"], "value")
    _whole(fields["priority"], "priority", 0, TOP_PRIORITY)
    _whole(fields["trust"], "trust", 1, TOP_TRUST)
    _time(fields["created_ms"], "created_ms")
    for name in ("valid_from_ms", "valid_to_ms", "superseded_ms", "event_ms"):
        if fields[name] is not None:
            _time(fields[name], name)
    if fields["extractor"] is not None:
        _name(fields["extractor"], "extractor")
    sure = fields["confidence"]
    if sure is not None and (isinstance(sure, bool) or not isinstance(sure, int | float)
                             or not 0 <= sure <= 1):  # fmt: skip
        raise InvalidInputError(f"confidence: 0 to 1 is needed, {_shown(sure)} was given")
    if fields["superseded_by"] is not None:
        _whole(fields["superseded_by"], "superseded_by", 1, TOP_ID)
        if fields["superseded_ms"] is None:
            raise InvalidInputError("superseded_by: a current fact has no successor")
    fields["metadata"] = _json(fields["metadata"], "metadata")
    if not fields["metadata"].startswith("{"):
        raise InvalidInputError("metadata: the text of a JSON object is needed")
    _unicode(fields["text"], "text")
    if not fields["text"].strip():
        raise InvalidInputError("text: it is empty; a fact says something")
    row = FactRow(**fields)
    return FactLine(
        number, row, row.text, _tags(value["tags"]), _sources(value["sources"], row.id),
        _vectors(value["vectors"], ndim),
    )  # fmt: skip


def _tags(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise InvalidInputError(f"tags: a list of strings is needed, {_shown(value)} was given")
    for tag in value:
        _name(tag, "tags")
    return tuple(sorted(set(value)))


def _sources(value: object, number: int) -> tuple[tuple[int, int], ...]:
    if not isinstance(value, list):
        raise InvalidInputError(f"sources: a list of pairs is needed, {_shown(value)} was given")
    for source in value:
        if not isinstance(source, list) or len(source) != 2:  # noqa: PLR2004
            raise InvalidInputError(f"sources: a pair is needed, {_shown(source)} was given")
        _whole(source[0], "sources: tier", 0, 1)
        _whole(source[1], "sources: id", 1, TOP_ID)
        if source == [1, number]:
            raise InvalidInputError("sources: a fact can't rest on itself")
    return tuple((tier, one) for tier, one in value)


def _vectors(value: object, ndim: int | None) -> bytes:
    if not isinstance(value, str):
        raise InvalidInputError(f"vectors: base64 is needed, {_shown(value)} was given")
    try:
        raw = base64.b64decode(value, validate=True)
    except ValueError as error:
        raise InvalidInputError(f"vectors: it is not base64: {error}") from error
    if not raw:
        return raw
    if ndim is None or len(raw) % (ndim * 4) or len(raw) > ndim * 4 * MAX_CHUNKS:
        raise InvalidInputError(
            f"vectors: 1 to {MAX_CHUNKS} float32 vectors of {ndim} numbers are needed, "
            f"{len(raw)} bytes were given"
        )
    matrix = np.frombuffer(raw, "<f4").reshape(-1, ndim).astype(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        norms = np.sqrt(np.einsum("ij,ij->i", matrix, matrix))
        if bool((np.abs(norms - 1) <= UNIT_TOLERANCE).all()):
            return raw
        return b"".join(given_vector(row, ndim, argument="vectors").tobytes() for row in matrix)


def _constant(text: str) -> None:
    raise InvalidInputError(f"{text} is not JSON")


def _float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise InvalidInputError(f"{_shown(text)} lies beyond the numbers of JSON readers")
    return number


def _int(text: str) -> int:
    _float(text)
    return int(text)


def _json(value: object, field: str) -> str:
    """Return a JSON text in the one form in which it is stored."""
    if not isinstance(value, str) or len(value) > MAX_JSON:
        raise InvalidInputError(
            f"{field}: JSON text of at most {MAX_JSON} characters is needed, "
            f"{_shown(value)} was given"
        )
    try:
        content = json.loads(value, parse_constant=_constant, parse_float=_float, parse_int=_int)
        text = dump_metadata(content)
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInputError(f"{field}: it holds a lone surrogate") from error
    except (InvalidInputError, ValueError) as error:
        raise InvalidInputError(f"{field}: it is no JSON text: {error}") from error
    except RecursionError as error:
        raise InvalidInputError(f"{field}: it is nested too deeply") from error
    level: list[Any] = [content]
    for _ in range(MAX_DEPTH + 1):
        level = [one for one in level if isinstance(one, dict | list)]
        if not level:
            return text
        level = [
            inner for one in level for inner in (one.values() if isinstance(one, dict) else one)
        ]
    raise InvalidInputError(f"{field}: at most {MAX_DEPTH} levels of nesting are allowed")


def _check_whole(found: ExportFile) -> int:
    """Check what no line shows alone: ids and keys once, sources there, versions without a ring."""
    ids: dict[tuple[int, int], int] = {}
    keys: set[tuple[str, str]] = set()
    lines: Iterable[tuple[int, TurnLine | FactLine]] = [
        *((0, turn) for turn in found.turns),
        *((1, fact) for fact in found.facts),
    ]
    for tier, one in lines:
        if ids.setdefault((tier, one.row.id), one.line) != one.line:
            raise _LineError(one.line, f"id: L{tier}:{one.row.id} is in the file twice")
    successors: dict[int, int] = {}
    for fact in found.facts:
        row = fact.row
        if row.key is not None and row.superseded_ms is None:
            if (row.scope, row.key) in keys:
                raise _LineError(fact.line, f"key: {row.key!r} has two current facts in its scope")
            keys.add((row.scope, row.key))
        for tier, number in fact.sources:
            if (tier, number) not in ids:
                raise _LineError(fact.line, f"sources: L{tier}:{number} is not in the file")
        if row.superseded_by is not None:
            successors[row.id] = row.superseded_by
    settled: set[int] = set()
    for fact in found.facts:
        at: int | None = fact.row.id
        passed: set[int] = set()
        while at is not None and at not in settled:
            if at in passed:
                raise _LineError(fact.line, "superseded_by: the versions go round in a ring")
            passed.add(at)
            at = successors.get(at)
        settled |= passed
    return 0
