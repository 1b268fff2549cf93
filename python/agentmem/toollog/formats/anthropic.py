"""Anthropic messages: ``tool_use`` and ``tool_result`` blocks, server and MCP tools included."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from agentmem.toollog.formats.parts import (
    Context,
    Part,
    Record,
    arguments_of,
    blocks,
    failed,
    id_of,
    kind_of,
    name_of,
    text_of,
    time_of,
)
from agentmem.toollog.models import Role

_HIDDEN = frozenset({"thinking", "redacted_thinking", "reasoning"})


class Anthropic:
    """Reader of messages whose content is a list of blocks."""

    def matches(self, value: dict[str, Any]) -> bool:
        """Return True for a message that holds a ``tool_use`` or ``tool_result`` block."""
        content = value.get("content")
        if not isinstance(content, list) or not isinstance(value.get("role"), str):
            return False
        return any(
            isinstance(block, dict) and is_tool_block(block.get("type")) for block in content
        )

    def parts(self, record: Record, context: Context) -> Iterable[Part]:
        """Turn one message into its parts, block by block."""
        value = record.value
        return message_parts(
            value,
            record,
            context,
            batch=("message", record.line, id(value)),
            client_id=id_of(value.get("id")),
            time=value.get("timestamp") or value.get("created_at"),
        )


def is_tool_block(kind: object) -> bool:
    """Return True for the type of a block that is a call or a result."""
    return isinstance(kind, str) and kind.endswith(("tool_use", "tool_result"))


def message_parts(
    message: dict[str, Any],
    record: Record,
    context: Context,
    *,
    batch: object,
    client_id: str | None = None,
    time: object = None,
    parent_id: str | None = None,
    unflagged: bool | None = None,
) -> list[Part]:
    """Return the parts of one message.

    Args:
        message: Role and content.
        record: The record that holds the message.
        context: The reading pass.
        batch: What the calls of this message share.
        client_id: The host's id of the message.
        time: When it was written, as the host says it.
        parent_id: The call that started the sub-agent which wrote it.
        unflagged: What a result without ``is_error`` is; None asks its text.
    """
    role = message.get("role")
    speaker: Role = role if role in ("user", "assistant", "system") else "other"
    content = message.get("content")
    parts: list[Part] = []
    words = context.words
    moment = time_of(time) if words else None
    for block in content if isinstance(content, list) else blocks(content):
        if not isinstance(block, dict):
            block = {"type": "text", "text": text_of(block)}  # noqa: PLW2901 - made regular
        kind = kind_of(block)
        if kind.endswith("tool_use"):
            part = _call(block, record, context)
        elif kind.endswith("tool_result"):
            part = _result(block, unflagged)
        elif not words:
            # One part is enough to say that there was a turn.
            if not parts and kind not in _HIDDEN:
                parts.append(Part(speaker, parent_id=parent_id, batch=batch))
            continue
        elif kind in _HIDDEN:
            thought = block.get("thinking")
            part = Part("other", thought if isinstance(thought, str) else "", speaker=kind)
        else:
            part = Part(speaker, text_of(block))
        part.record = record
        part.client_id = client_id
        part.time = moment if words else time_of(time)
        part.parent_id = parent_id
        part.batch = batch
        parts.append(part)
    return parts


def _call(block: dict[str, Any], record: Record, context: Context) -> Part:
    name = block.get("name")
    if not isinstance(name, str):
        context.warn('a call without a name is kept as "?"', record.line)
    return Part(
        "tool_call",
        "",
        name_of(name),
        id_of(block.get("id")),
        arguments_of(block.get("input")),
    )


def _result(block: dict[str, Any], unflagged: bool | None) -> Part:
    content = block.get("content")
    flag = block.get("is_error")
    if isinstance(content, dict) and str(content.get("type", "")).endswith("_error"):
        flag = True
    text = text_of(content)
    is_error = failed(unflagged if flag is None else flag, text)
    return Part("tool_result", text, None, id_of(block.get("tool_use_id")), None, is_error)
