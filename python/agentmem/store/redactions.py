"""How many secrets of each kind were redacted before a write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import apsw

__all__ = ["add_counts", "counts"]


def add_counts(connection: apsw.Connection, kinds: Iterable[str]) -> None:
    """Count further redactions."""
    connection.executemany(
        "INSERT INTO redactions VALUES (?1, ?2) "
        "ON CONFLICT (kind) DO UPDATE SET count = count + excluded.count",
        list(Counter(kinds).items()),
    )


def counts(connection: apsw.Connection) -> dict[str, int]:
    """Return the redactions so far by kind."""
    return dict(connection.execute("SELECT kind, count FROM redactions ORDER BY kind"))
