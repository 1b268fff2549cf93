"""What facts say of the built-in extractors that read them; a change of what one finds is a new name."""

from __future__ import annotations

from typing import Final

__all__ = ["BUILT_IN", "LEARNT", "RULES"]

RULES: Final = "rules-1"
LEARNT: Final = "learnt-1"
#: How the names begin, those of earlier versions too.
BUILT_IN: Final = ("rules-", "linear-", "learnt-")
