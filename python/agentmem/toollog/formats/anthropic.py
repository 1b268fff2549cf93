"""Anthropic messages: ``tool_use`` and ``tool_result`` blocks, server and MCP tools included."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agentmem.toollog.formats.parts import (
    Context,
    Part,
    Record,
    arguments_of,
    blocks,
    failed,
    id_of,
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

    def parts(self, record: Record, context: Context) -> Iterator[Part]:
        """Turn one message into its parts, block by block."""
        value = record.value
        common: dict[str, Any] = {
            "client_id": id_of(value.get("id")),
            "time": time_of(value.get("timestamp") or value.get("created_at")),
            "record": record,
        }
        batch = ("message", record.line, id(value))
        yield from message_parts(value, batch, context, common)


def is_tool_block(kind: object) -> bool:
    """Return True for the type of a block that is a call or a result."""
    return isinstance(kind, str) and kind.endswith(("tool_use", "tool_result"))


def message_parts(
    message: dict[str, Any],
    batch: object,
    context: Context,
    common: dict[str, Any],
    *,
    unflagged: bool | None = None,
) -> Iterator[Part]:
    """Yield the parts of one message.

    Args:
        message: Role and content.
        batch: What the calls of this message share.
        context: The reading pass.
        common: Fields of every part.
        unflagged: What a result without ``is_error`` is; None asks its text.
    """
    role = message.get("role")
    speaker: Role = "other"
    if role in ("user", "assistant", "system"):
        speaker = role
    spoke = False
    for block in blocks(message.get("content")):
        kind = block.get("type")
        if kind == "text":
            # Without words one part says that there was a turn.
            if context.words or not spoke:
                spoke = True
                text = text_of(block) if context.words else ""
                yield Part(speaker, text, batch=batch, **common)
        elif not isinstance(kind, str):
            yield Part(speaker, text_of(block) if context.words else "", batch=batch, **common)
        elif kind.endswith("tool_use"):
            name = block.get("name")
            if not isinstance(name, str):
                context.warn('a call without a name is kept as "?"', common["record"].line)
            yield Part(
                "tool_call",
                name=name_of(name),
                call_id=id_of(block.get("id")),
                arguments=arguments_of(block.get("input")),
                batch=batch,
                **common,
            )
        elif kind.endswith("tool_result"):
            yield _result(block, unflagged, common)
        elif context.words and kind in _HIDDEN:
            thought = block.get("thinking")
            yield Part(
                "other",
                thought if isinstance(thought, str) else "",
                speaker=kind,
                **common,
            )
        elif context.words:
            yield Part(speaker, text_of(block), batch=batch, **common)


def _result(block: dict[str, Any], unflagged: bool | None, common: dict[str, Any]) -> Part:
    content = block.get("content")
    flag = block.get("is_error")
    if isinstance(content, dict) and str(content.get("type", "")).endswith("_error"):
        flag = True
    text = text_of(content)
    return Part(
        "tool_result",
        text,
        call_id=id_of(block.get("tool_use_id")),
        is_error=failed(unflagged if flag is None else flag, text),
        **common,
    )
