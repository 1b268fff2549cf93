"""Tool logs: calls to a Mermaid diagram, the diagram back to what it says of each call."""

from __future__ import annotations

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
