"""Hosts' logs as `ToolCall`s and `Message`s: one module a host, and what they share."""

from __future__ import annotations

from agentmem.toollog.formats.reader import (
    FORMATS,
    check_format,
    holds_messages,
    iter_messages,
    iter_tool_calls,
    read_messages,
    tool_calls,
)

__all__ = [
    "FORMATS",
    "check_format",
    "holds_messages",
    "iter_messages",
    "iter_tool_calls",
    "read_messages",
    "tool_calls",
]
