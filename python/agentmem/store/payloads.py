"""Long texts and raw records: content-addressed, compressed, each kept once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from agentmem.errors import CorruptStoreError

if TYPE_CHECKING:
    import apsw

__all__ = [
    "INLINE_CHARS",
    "Packed",
    "decode_text",
    "delete_unused",
    "encode_text",
    "is_inline",
    "load",
    "obtain",
    "pack",
    "unpack",
]

INLINE_CHARS: Final = 1_000
"""Longer texts are payloads: from here on compression saves more than a second row costs."""

_LEVEL: Final = 3  # zstd's default: 300 MB/s, within a tenth of what slower levels save here
_SMALLEST: Final = 128


class Packed(NamedTuple):
    """A payload as its row holds it."""

    digest: bytes
    size: int
    is_compressed: bool
    content: bytes


def encode_text(text: str) -> bytes:
    """Return the bytes of any text; a lone surrogate keeps its three."""
    return text.encode("utf-8", "surrogatepass")


def decode_text(content: bytes) -> str:
    """Return the text that ``encode_text`` was given."""
    return content.decode("utf-8", "surrogatepass")


def is_inline(text: str) -> bool:
    """Whether a text goes into its own row: it is short and every SQLite can hold it."""
    if len(text) > INLINE_CHARS:
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def pack(content: bytes) -> Packed:
    """Compress a payload; one that would not shrink stays as it is."""
    from hashlib import sha256

    import zstandard

    digest = sha256(content).digest()
    if len(content) >= _SMALLEST:
        compressed = zstandard.ZstdCompressor(level=_LEVEL).compress(content)
        if len(compressed) < len(content):
            return Packed(digest, len(content), True, compressed)
    return Packed(digest, len(content), False, content)


def unpack(is_compressed: int, size: int, content: bytes) -> bytes:
    """Return the bytes that a payload holds.

    Raises:
        CorruptStoreError: They can't be decompressed to their size.
    """
    if is_compressed:
        import zstandard

        try:
            content = zstandard.ZstdDecompressor().decompress(content, max_output_size=size)
        except zstandard.ZstdError as error:
            raise CorruptStoreError(f"a payload of {size} bytes is damaged: {error}") from error
    if len(content) != size:
        raise CorruptStoreError(f"a payload has {len(content)} bytes, {size} were stored")
    return content


def obtain(connection: apsw.Connection, packed: Packed) -> int:
    """Return the id of a payload; it is inserted if it is not there yet."""
    row = connection.execute(
        "SELECT id FROM payloads WHERE digest = ?", (packed.digest,)
    ).fetchone()
    if row is not None:
        return int(row[0])
    connection.execute(
        "INSERT INTO payloads (digest, size, is_compressed, content) VALUES (?,?,?,?)",
        (packed.digest, packed.size, int(packed.is_compressed), packed.content),
    )
    return connection.last_insert_rowid()


def load(connection: apsw.Connection, number: int) -> bytes | None:
    """Return the bytes of a payload, None where there is none of this id."""
    row = connection.execute(
        "SELECT is_compressed, size, content FROM payloads WHERE id = ?", (number,)
    ).fetchone()
    return None if row is None else unpack(*row)


def delete_unused(connection: apsw.Connection, ids: Iterable[int]) -> None:
    """Delete those of these payloads that no turn and no record holds any more."""
    wanted: Sequence[int] = sorted(set(ids))
    connection.execute(
        "DELETE FROM payloads WHERE id IN (SELECT value FROM json_each(?)) "
        "AND NOT EXISTS (SELECT 1 FROM turns WHERE text_id = payloads.id) "
        "AND NOT EXISTS (SELECT 1 FROM records WHERE payload_id = payloads.id)",
        (json.dumps(wanted),),
    )
