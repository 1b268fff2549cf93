"""What comes back from a memory, and what its parts hand each other: plain, frozen values.

The parts load when a name of theirs is first asked for: a process that has to start quickly makes
only the classes that it needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentmem.models import (
        context,
        documents,
        extraction,
        memory,
        ranking,
        results,
        skills,
        tiers,
    )
    from agentmem.models.context import *  # noqa: F403
    from agentmem.models.documents import *  # noqa: F403
    from agentmem.models.extraction import *  # noqa: F403
    from agentmem.models.memory import *  # noqa: F403
    from agentmem.models.ranking import *  # noqa: F403
    from agentmem.models.results import *  # noqa: F403
    from agentmem.models.skills import *  # noqa: F403
    from agentmem.models.tiers import *  # noqa: F403

    __all__ = (
        context.__all__
        + documents.__all__
        + extraction.__all__
        + memory.__all__
        + ranking.__all__
        + results.__all__
        + skills.__all__
        + tiers.__all__
    )

# In the order in which they are most often asked. A hook's prompt needs the first four.
_HOMES = ("memory", "tiers", "context", "ranking", "extraction", "results", "documents", "skills")


def __getattr__(name: str) -> Any:
    if name == "__all__":
        names: list[str] = []
        for home in _HOMES:
            names += import_module(f"agentmem.models.{home}").__all__
        return sorted(names)
    if not name.startswith("_") and name not in _HOMES:
        for home in _HOMES:
            module = import_module(f"agentmem.models.{home}")
            if name in module.__all__:
                value = globals()[name] = getattr(module, name)
                return value
    raise AttributeError(f"module 'agentmem.models' has no attribute {name!r}")
