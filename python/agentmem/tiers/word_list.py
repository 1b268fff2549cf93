"""Word lists written as one readable text."""

from __future__ import annotations

__all__ = ["words"]


def words(text: str) -> frozenset[str]:
    """Return the words between the spaces of a text."""
    return frozenset(text.split())
