"""Local, layered memory for AI agents.

The names below are the whole public surface. They load at first use, so that ``import agentmem``
costs next to nothing in a process that runs many agents.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentmem._native import Hit, HybridIndex, SearchResult
    from agentmem.aio import AsyncMemory
    from agentmem.embedding import (
        MultilingualEmbedder,
        OnnxEmbedder,
        prepare_model,
        prepare_multilingual,
    )
    from agentmem.errors import (
        AgentMemError,
        ArchiveError,
        ClosedError,
        ConflictError,
        CorruptStoreError,
        DimensionError,
        EmbedderMismatchError,
        EmbeddingError,
        ExtractorError,
        ForkedError,
        IllegalMoveError,
        IndexBusyError,
        IndexCorruptError,
        InvalidInputError,
        MermaidParseError,
        ModelNotFoundError,
        NotAStoreError,
        NotFoundError,
        NotOwnerError,
        ReadOnlyStoreError,
        SchemaVersionError,
        SearchIndexError,
        SkillError,
        SkillExistsError,
        StorageFullError,
        StoreBusyError,
        StoreError,
        ToolLogError,
    )
    from agentmem.fusion import fuse
    from agentmem.memory import Memory
    from agentmem.models import (
        Archive,
        ArchiveCall,
        ArchiveMessage,
        ArchiveView,
        Buffered,
        Candidate,
        Captured,
        Compacted,
        Context,
        ContextItem,
        Decision,
        Document,
        DocumentWrite,
        Draft,
        Evidence,
        Fact,
        Fingerprint,
        Forgotten,
        Imported,
        Job,
        Judgement,
        Loadout,
        LoadoutEntry,
        Message,
        Omitted,
        Persona,
        PersonaEntry,
        Purged,
        Ranking,
        Report,
        Retention,
        Review,
        Scene,
        SkillVersion,
        SkillView,
        Stats,
        Task,
        Trace,
        TraceStep,
        Trust,
        Turn,
        Verification,
    )
    from agentmem.protocols import (
        ArchiveStore,
        Clock,
        Embedder,
        Extractor,
        GivenEmbeddings,
        Reviewer,
        Summarizer,
        TokenCounter,
    )
    from agentmem.tiers.documents import Documents
    from agentmem.tiers.reembed import Reembedding
    from agentmem.toollog import (
        Canvas,
        Step,
        ToolCall,
        compress,
        parse,
        skeleton,
        tool_calls,
    )
    from agentmem.toollog.formats import iter_tool_calls
    from agentmem.toollog.models import ToolLogWarning

__version__ = "0.1.0"

_HOMES = {
    "_native": ("Hit", "HybridIndex", "SearchResult"),
    "aio": ("AsyncMemory",),
    "embedding": (
        "MultilingualEmbedder",
        "OnnxEmbedder",
        "prepare_model",
        "prepare_multilingual",
    ),
    "errors": (
        "AgentMemError", "ArchiveError", "ClosedError", "ConflictError",
        "CorruptStoreError", "DimensionError", "EmbedderMismatchError", "EmbeddingError",
        "ExtractorError",
        "ForkedError", "IllegalMoveError", "IndexBusyError", "IndexCorruptError",
        "InvalidInputError", "MermaidParseError", "ModelNotFoundError", "NotAStoreError",
        "NotFoundError", "NotOwnerError", "ReadOnlyStoreError", "SchemaVersionError",
        "SearchIndexError", "SkillError", "SkillExistsError", "StorageFullError",
        "StoreBusyError", "StoreError", "ToolLogError",
    ),
    "fusion": ("fuse",),
    "memory": ("Memory",),
    "models": (
        "Archive", "ArchiveCall", "ArchiveMessage", "ArchiveView", "Buffered", "Candidate",
        "Captured", "Compacted", "Context", "ContextItem", "Decision", "Document",
        "DocumentWrite", "Draft",
        "Evidence", "Fact", "Fingerprint", "Forgotten", "Imported", "Job",
        "Judgement", "Loadout", "LoadoutEntry", "Message", "Omitted", "Persona",
        "PersonaEntry", "Purged", "Ranking", "Report",
        "Retention", "Review", "Scene", "SkillVersion", "SkillView", "Stats",
        "Task", "Trace", "TraceStep", "Trust", "Turn", "Verification",
    ),
    "protocols": (
        "ArchiveStore", "Clock", "Embedder", "Extractor", "GivenEmbeddings", "Reviewer",
        "Summarizer", "TokenCounter",
    ),
    "tiers.reembed": ("Reembedding",),
    "tiers.documents": ("Documents",),
    "toollog": ("Canvas", "Step", "ToolCall", "compress", "parse", "skeleton", "tool_calls"),
    "toollog.formats": ("iter_tool_calls",),
    "toollog.models": ("ToolLogWarning",),
}  # fmt: skip
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "AgentMemError",
    "Archive",
    "ArchiveCall",
    "ArchiveError",
    "ArchiveMessage",
    "ArchiveStore",
    "ArchiveView",
    "AsyncMemory",
    "Buffered",
    "Candidate",
    "Canvas",
    "Captured",
    "Clock",
    "ClosedError",
    "Compacted",
    "ConflictError",
    "Context",
    "ContextItem",
    "CorruptStoreError",
    "Decision",
    "DimensionError",
    "Document",
    "DocumentWrite",
    "Documents",
    "Draft",
    "Embedder",
    "EmbedderMismatchError",
    "EmbeddingError",
    "Evidence",
    "Extractor",
    "ExtractorError",
    "Fact",
    "Fingerprint",
    "Forgotten",
    "ForkedError",
    "GivenEmbeddings",
    "Hit",
    "HybridIndex",
    "IllegalMoveError",
    "Imported",
    "IndexBusyError",
    "IndexCorruptError",
    "InvalidInputError",
    "Job",
    "Judgement",
    "Loadout",
    "LoadoutEntry",
    "Memory",
    "MermaidParseError",
    "Message",
    "ModelNotFoundError",
    "MultilingualEmbedder",
    "NotAStoreError",
    "NotFoundError",
    "NotOwnerError",
    "Omitted",
    "OnnxEmbedder",
    "Persona",
    "PersonaEntry",
    "Purged",
    "Ranking",
    "ReadOnlyStoreError",
    "Reembedding",
    "Report",
    "Retention",
    "Review",
    "Reviewer",
    "Scene",
    "SchemaVersionError",
    "SearchIndexError",
    "SearchResult",
    "SkillError",
    "SkillExistsError",
    "SkillVersion",
    "SkillView",
    "Stats",
    "Step",
    "StorageFullError",
    "StoreBusyError",
    "StoreError",
    "Summarizer",
    "Task",
    "TokenCounter",
    "ToolCall",
    "ToolLogError",
    "ToolLogWarning",
    "Trace",
    "TraceStep",
    "Trust",
    "Turn",
    "Verification",
    "__version__",
    "compress",
    "fuse",
    "iter_tool_calls",
    "parse",
    "prepare_model",
    "prepare_multilingual",
    "skeleton",
    "tool_calls",
]


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'agentmem' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"agentmem.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
