"""Bytes, files and objects, as a stream of records.

A log may be JSONL, one JSON document, either of them gzipped, or objects in memory. A line
that can't be decoded is named in a warning and the rest is read; only a log without one
readable record is an error.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, is_dataclass
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

import orjson

from agentmem.errors import InvalidInputError, ToolLogError
from agentmem.toollog.formats.parts import WARNINGS_PER_LOG, Context, Record

Scan = Callable[[bytes, int], tuple[list[tuple[int, int, int, int]], int]]
"""Finds the lines of a text, from a byte on, that must be decoded, and counts all of them."""

_CHUNK_BYTES: Final = 1 << 20
_GZIP_MAGIC: Final = b"\x1f\x8b"
_MAX_PATH_CHARS: Final = 4096
_SHOWN_CHARS: Final = 80
_BOM: Final = b"\xef\xbb\xbf"
_NO_COPY: Final = b',"toolUseResult":{}}'
"""What stands for the copy of a result: that there is one."""
_UTF16_BOMS: Final = (b"\xff\xfe", b"\xfe\xff")


def as_path(messages: object) -> Path | None:
    """Return the path that the input names, None if it is the log itself.

    Raises:
        InvalidInputError: A text that is neither JSON nor an existing file or folder.
    """
    if isinstance(messages, os.PathLike):
        return Path(messages)
    if not isinstance(messages, str):
        return None
    text = messages.lstrip("\ufeff \t\r\n")
    if not text or text[0] in "{[" or "\n" in text:
        return None
    if len(messages) <= _MAX_PATH_CHARS and "\0" not in messages:
        try:
            path = Path(messages)
            if path.exists():
                return path
        except (OSError, ValueError):
            pass
    shown = messages if len(messages) <= _SHOWN_CHARS else messages[:_SHOWN_CHARS] + "…"
    raise InvalidInputError(
        f"messages is a text that is neither JSON nor JSONL nor an existing file: {shown!r}"
    )


def records(messages: object, context: Context, scan: Scan | None = None) -> Iterator[Record]:
    """Yield the records of a log.

    Args:
        messages: Objects, a document, JSON or JSONL as bytes or text, an open file, or a path.
        context: The reading pass; ``file`` is used in messages.
        scan: Finds the lines that must be decoded; records then come without their raw bytes.

    Raises:
        InvalidInputError: The input is none of these.
        ToolLogError: There is input, and not one record of it can be read.
        OSError: The file can't be opened.
    """
    path = as_path(messages)
    if path is not None:
        with path.open("rb") as file:
            yield from _decoded(_plain_chunks(file, context), context, scan)
        return
    chunks = _chunks(messages, context)
    if chunks is not None:
        yield from _decoded(chunks, context, scan)
    elif isinstance(messages, Mapping) or _is_model(messages):
        yield Record(1, plain(messages))
    elif isinstance(messages, Iterable):
        for number, value in enumerate(messages, 1):
            if isinstance(value, (bytes, str)):
                yield from _line(value, context, number)
            else:
                yield Record(number, plain(value))
    else:
        raise InvalidInputError(
            "messages must be a list of messages, a document, JSON or JSONL as bytes or text, "
            f"an open file or a path, not {type(messages).__name__}"
        )


def _chunks(messages: object, context: Context) -> Iterator[bytes] | None:
    """The bytes of a log given as text, bytes or an open file; None if it is given otherwise."""
    if isinstance(messages, (bytes, bytearray, memoryview)):
        data = bytes(messages)
        packed = data.startswith(_GZIP_MAGIC)
        return _plain_chunks(io.BytesIO(data), context) if packed else iter((data,))
    if isinstance(messages, io.TextIOBase):
        messages = messages.read()
    if isinstance(messages, str):
        return iter((messages.encode("utf-8", "surrogatepass"),))
    if callable(getattr(messages, "read", None)):
        return _plain_chunks(cast("BinaryIO", messages), context)
    return None


def _line(value: bytes | str, context: Context, number: int) -> Iterator[Record]:
    """Yield the record of one line of JSONL; a line that is none stays as the text it is."""
    line = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
    if line.strip():
        decoded, problem = _decode(line, context, number)
        yield Record(number, value if problem is not None else decoded, line)


def _is_model(value: object) -> bool:
    return (
        hasattr(value, "model_dump")
        or (is_dataclass(value) and not isinstance(value, type))
        or (hasattr(value, "__dict__") and not isinstance(value, type) and hasattr(value, "role"))
    )


def plain(value: object) -> Any:
    """Return a host's message object as plain data; other values as they are."""
    if isinstance(value, (dict, list, str, int, float, type(None))):
        return value
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, Mapping):
        return dict(value)
    dump = getattr(value, "model_dump", None)
    try:
        if callable(dump):
            return dump()
        if is_dataclass(value) and not isinstance(value, type):
            return asdict(value)
        return dict(vars(value))
    except Exception as error:  # a host's object may fail in any way
        raise InvalidInputError(
            f"a message of type {type(value).__name__} can't be read as a mapping: {error}"
        ) from error


def _plain_chunks(file: BinaryIO, context: Context) -> Iterator[bytes]:
    """Yield a file's bytes, decompressed if it is gzip; what precedes damage is kept."""
    chunk = file.read(_CHUNK_BYTES)
    if not chunk.startswith(_GZIP_MAGIC):
        while chunk:
            yield chunk
            chunk = file.read(_CHUNK_BYTES)
        return
    if file.seekable():
        file.seek(-len(chunk), io.SEEK_CUR)
    else:
        file = io.BytesIO(chunk + file.read())
    stream = gzip.GzipFile(fileobj=file)
    while True:
        try:
            chunk = stream.read1(_CHUNK_BYTES)
        except (EOFError, OSError, zlib.error) as error:
            context.warn(f"the compressed data is damaged, what precedes it is read: {error}")
            return
        if not chunk:
            return
        yield chunk


def _decoded(chunks: Iterator[bytes], context: Context, scan: Scan | None) -> Iterator[Record]:
    """Yield the records of JSONL or of one document, whichever the bytes are."""
    pieces = []
    for chunk in chunks:
        pieces.append(chunk)
        if b"\n" in chunk.lstrip():
            break
    start = b"".join(pieces).removeprefix(_BOM)
    if start.startswith(_UTF16_BOMS):
        text = (start + b"".join(chunks)).decode("utf-16", "replace")
        start, chunks = text.encode("utf-8", "replace"), iter(())
    head = start.lstrip()
    if not head:
        return
    number = 1 + start.count(b"\n", 0, len(start) - len(head))
    newline = head.find(b"\n") + 1
    first = head[: newline - 1] if newline else head
    value, problem = _decode(first, context, number)
    if problem is None:
        yield Record(number, value, first)
        if newline:
            lines = _lines_of(head, newline, chunks, scan, first=number + 1)
            yield from _decode_lines(lines, context, readable=True)
        return
    # The first line alone is no JSON: one document over many lines, or a damaged line.
    data = head + b"".join(chunks)
    if newline:
        value, problem = _decode(data, context, number)
        if problem is None:
            yield Record(number, value, data)
            return
    if data.startswith(b"[") and not _is_json(data.split(b"\n", 2)[1:2]):
        yield from _torn_array(data, context, problem)
        return
    lines = _lines_of(data, 0, iter(()), scan, first=number)
    yield from _decode_lines(lines, context, readable=False)


def _is_json(lines: list[bytes]) -> bool:
    return bool(lines) and _decode(lines[0], Context(quiet=True), None)[1] is None


_Line = tuple[int, bytes | memoryview, bytes | tuple[bytes, int, int]]
"""A line to decode: its number, what of it need be decoded, its bytes, or where they are."""


def _lines_of(
    head: bytes, start: int, chunks: Iterator[bytes], scan: Scan | None, *, first: int
) -> Iterator[_Line]:
    """Yield the lines of a text from a byte on; one line may be longer than any chunk.

    Args:
        head: The first chunk.
        start: The first byte in it that counts.
        chunks: The rest.
        scan: Chooses lines; None for all of them.
        first: The number of the first line.
    """
    number = first
    pieces: list[bytes] = []
    for block in chain(_blocks(head, chunks, pieces), pieces):
        if scan is None:
            for line in block[start:].split(b"\n") if start else block.split(b"\n"):
                yield number, line, line
                number += 1
        else:
            found, count = scan(block, start)
            view = memoryview(block)
            for place, begin, end, copy in found:
                needed = view[begin:end] if copy < 0 else b"".join((view[begin:copy], _NO_COPY))
                yield number + place, needed, (block, begin, end)
            number += count
        start = 0


def _blocks(head: bytes, chunks: Iterator[bytes], pieces: list[bytes]) -> Iterator[bytes]:
    """Yield blocks of whole lines without the last newline; leave the rest in ``pieces``."""
    held = [head]
    for chunk in chunks:
        end = chunk.rfind(b"\n")
        if end < 0:
            held.append(chunk)
            continue
        yield b"".join((*held, chunk[:end]))
        held = [chunk[end + 1 :]]
    pieces.append(held[0] if len(held) == 1 else b"".join(held))


def _decode_lines(lines: Iterable[_Line], context: Context, *, readable: bool) -> Iterator[Record]:
    """Yield the records of JSONL; a line that is no JSON is named in a warning.

    Until one line is readable the warnings wait: a log without any is an error instead.
    """
    bad: list[tuple[str, int]] = []
    loads = orjson.loads
    for number, needed, whole in lines:
        if not needed:
            continue
        try:
            value = loads(needed)
        except orjson.JSONDecodeError:
            data = whole if isinstance(whole, bytes) else whole[0][whole[1] : whole[2]]
            value, problem = _decode(data, context, number)
            if problem is not None:
                if data.strip() and len(bad) <= WARNINGS_PER_LOG:
                    bad.append((problem, number))
                if readable:
                    _tell(bad, context)
                continue
        if not readable:
            readable = True
            _tell(bad, context)
        yield Record(number, value, whole if isinstance(whole, bytes) else None)
    if bad:
        problem, place = bad[0]
        message = f"no line of the log can be read; it is not JSON: {problem}"
        raise ToolLogError(message, file=context.file, line=place)


def _tell(bad: list[tuple[str, int]], context: Context) -> None:
    """Warn about the lines that can't be read, and forget them."""
    for problem, number in bad:
        context.warn(f"the line is not JSON and is left out: {problem}", number)
    bad.clear()


def _decode(data: bytes, context: Context, line: int | None) -> tuple[Any, str | None]:
    """Decode JSON; return the value, and what is wrong with it or None.

    The fast decoder refuses lone surrogates, NaN, control characters, bytes that are not UTF-8
    and deep nesting; the standard one decides about these.
    """
    try:
        return orjson.loads(data), None
    except orjson.JSONDecodeError:
        pass
    replaced = False
    try:
        text = data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
        replaced = True
    try:
        value = json.loads(text, strict=False)
    except RecursionError:
        return None, "it is nested too deeply"
    except ValueError as error:
        return None, str(error)
    if replaced:
        context.warn("bytes that are not UTF-8 are read as U+FFFD", line)
    return value, None


def _torn_array(data: bytes, context: Context, problem: str | None) -> Iterator[Record]:
    """Yield the whole elements of an array that breaks off or is damaged further on."""
    text = data.decode("utf-8", "replace")
    decoder = json.JSONDecoder(strict=False)
    position = text.index("[") + 1
    number = 0
    while True:
        while position < len(text) and text[position] in " \t\r\n,":
            position += 1
        try:
            value, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            break
        number += 1
        yield Record(number, value)
    line = text.count("\n", 0, position) + 1
    if number == 0:
        raise ToolLogError(f"the document is not JSON: {problem}", file=context.file, line=line)
    context.warn(f"the array is damaged after element {number}, the rest is left out", line)
