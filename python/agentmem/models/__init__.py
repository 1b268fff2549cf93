"""What comes back from a memory, and what its parts hand each other: plain, frozen values."""

from __future__ import annotations

from agentmem.models import context, documents, memory, ranking, skills, tiers
from agentmem.models.context import *  # noqa: F403
from agentmem.models.documents import *  # noqa: F403
from agentmem.models.memory import *  # noqa: F403
from agentmem.models.ranking import *  # noqa: F403
from agentmem.models.skills import *  # noqa: F403
from agentmem.models.tiers import *  # noqa: F403

__all__ = (
    context.__all__
    + documents.__all__
    + memory.__all__
    + ranking.__all__
    + skills.__all__
    + tiers.__all__
)
