"""What a model says of a sentence."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Verdict"]


class Verdict(NamedTuple):
    """How likely a sentence is worth remembering, from 0 to 1, and the likeliest kind of fact."""

    worth: float
    kind: str
