"""Tool logs: calls to a Mermaid diagram, the diagram back to what it says of each call."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentmem.toollog.canvas import (
        Canvas,
        CanvasBuilder,
        ContextText,
        Step,
        canonical,
        compress,
        estimate_tokens,
        parse,
        skeleton,
    )
    from agentmem.toollog.formats import tool_calls
    from agentmem.toollog.models import ToolCall

__all__ = [
    "Canvas",
    "CanvasBuilder",
    "ContextText",
    "Step",
    "ToolCall",
    "canonical",
    "compress",
    "estimate_tokens",
    "parse",
    "skeleton",
    "tool_calls",
]

_ELSEWHERE = {"ToolCall": "models", "tool_calls": "formats"}


def __getattr__(name: str) -> Any:
    # What reads logs is wanted without what draws them where a process has to start quickly.
    if name not in __all__:
        raise AttributeError(f"module 'agentmem.toollog' has no attribute {name!r}")
    module = import_module(f"agentmem.toollog.{_ELSEWHERE.get(name, 'canvas')}")
    value = globals()[name] = getattr(module, name)
    return value
