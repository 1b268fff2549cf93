"""What comes back from a memory, and what its parts hand each other: plain, frozen values.

The parts load when a name of theirs is first asked for: a process that has to start quickly makes
only the classes that it needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentmem.models import (
        captures,
        context,
        documents,
        extraction,
        memory,
        ranking,
        results,
        skills,
        tiers,
    )
    from agentmem.models.captures import *  # noqa: F403
    from agentmem.models.context import *  # noqa: F403
    from agentmem.models.documents import *  # noqa: F403
    from agentmem.models.extraction import *  # noqa: F403
    from agentmem.models.memory import *  # noqa: F403
    from agentmem.models.ranking import *  # noqa: F403
    from agentmem.models.results import *  # noqa: F403
    from agentmem.models.skills import *  # noqa: F403
    from agentmem.models.tiers import *  # noqa: F403

    __all__ = (
        captures.__all__
        + context.__all__
        + documents.__all__
        + extraction.__all__
        + memory.__all__
        + ranking.__all__
        + results.__all__
        + skills.__all__
        + tiers.__all__
    )

# A hook's events make few of these classes, and each of them takes a third of a millisecond.
_HOMES = {
    "memory": (
        "TIERS", "TRUSTS", "Fact", "Tier", "Trust", "Turn", "format_id", "from_ms",
        "make_fact", "maker", "parse_id", "to_ms",
    ),
    "tiers": ("FACT_KINDS", "PERSONA_FIELDS", "Persona", "PersonaEntry", "Scene"),
    "context": ("Context", "ContextItem"),
    "ranking": ("Ranking",),
    "extraction": ("Candidate", "Job", "Judgement", "Message", "Report"),
    "captures": ("Captured", "Compacted"),
    "results": (
        "Forgotten", "Imported", "Purged", "Retention", "Stats", "Trace", "TraceStep",
        "Verification",
    ),
    "documents": ("Document", "DocumentWrite", "make_document_write"),
    "skills": (
        "REASONS", "Archive", "ArchiveCall", "ArchiveMessage", "ArchiveReason", "ArchiveView",
        "Buffered", "Decision", "Draft", "Evidence", "Fingerprint", "Loadout", "LoadoutEntry",
        "Omitted", "Review", "SkillState", "SkillVersion", "SkillView", "Task", "TaskState",
    ),
}  # fmt: skip
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return sorted(_HOME_OF)
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'agentmem.models' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"agentmem.models.{home}"), name)
    return value
