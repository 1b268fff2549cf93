"""LangGraph's long-term memory on an agentmem folder: ``pip install agentmem-tiers[langgraph]``.

Example:
    >>> from agentmem.integrations.langgraph import AgentMemStore
    >>> with AgentMemStore("memory/", index={}) as store:
    ...     store.put(("users", "alice"), "editor", {"text": "Alice prefers tabs."})
    ...     store.search(("users",), query="tabs or spaces?")[0].key
    'editor'
"""

from __future__ import annotations

try:
    import langgraph.store.base  # noqa: F401
except ImportError as error:
    raise ImportError(
        "agentmem.integrations.langgraph needs LangGraph; "
        "install it with: pip install 'agentmem-tiers[langgraph]'"
    ) from error

from agentmem.integrations.langgraph.aio import AsyncAgentMemStore
from agentmem.integrations.langgraph.embedder import LangChainEmbedder
from agentmem.integrations.langgraph.store import AgentMemStore

__all__ = ["AgentMemStore", "AsyncAgentMemStore", "LangChainEmbedder"]
