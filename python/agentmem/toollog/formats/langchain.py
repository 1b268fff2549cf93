"""LangChain messages: objects, ``model_dump``, ``{"type", "data"}`` and ``{"lc", "kwargs"}``."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

from agentmem.toollog.formats.parts import (
    Context,
    Part,
    Record,
    arguments_of,
    blocks,
    id_of,
    kind_of,
    name_of,
    says_failure,
    text_of,
)
from agentmem.toollog.models import Role

_KINDS: dict[str, str] = {
    "HumanMessage": "human",
    "HumanMessageChunk": "human",
    "AIMessage": "ai",
    "AIMessageChunk": "ai",
    "SystemMessage": "system",
    "SystemMessageChunk": "system",
    "ToolMessage": "tool",
    "ToolMessageChunk": "tool",
    "FunctionMessage": "function",
    "FunctionMessageChunk": "function",
    "ChatMessage": "chat",
    "ChatMessageChunk": "chat",
    "RemoveMessage": "remove",
}
_ROLES: dict[str, Role] = {"human": "user", "ai": "assistant", "system": "system", "chat": "other"}
_CHAT_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}
_TYPES = frozenset({*_KINDS.values(), *_KINDS})
_CALL_BLOCKS = frozenset({"tool_use", "tool_call", "tool_call_chunk", "function_call"})


class LangChain:
    """Reader of ``AIMessage``, ``ToolMessage`` and their kin in every dumped form."""

    def matches(self, value: dict[str, Any]) -> bool:
        """Return True for a message in one of the dumped forms."""
        if "lc" in value:
            return isinstance(value.get("kwargs"), dict)
        kind = kind_of(value)
        if kind not in _TYPES or ("role" in value and kind != "chat"):
            return False
        return "content" in value or isinstance(value.get("data"), dict)

    def parts(self, record: Record, context: Context) -> Iterator[Part]:
        """Turn one message into its words, then its calls; or into a result."""
        kind, value = _unwrapped(record.value)
        common: dict[str, Any] = {"client_id": id_of(value.get("id")), "record": record}
        content = value.get("content")
        if kind in ("tool", "function"):
            yield _result(kind, value, common)
            return
        calls = _calls(value)
        text = _words(content) if context.words else ""
        if text or not calls:
            role: Role = _ROLES.get(kind, "other")
            if kind == "chat":
                role = _CHAT_ROLES.get(str(value.get("role")).lower(), "other")
            name = value.get("name")
            yield Part(role, text, speaker=name if isinstance(name, str) else None, **common)
        batch = ("message", record.line, id(record.value))
        for call in calls:
            yield from _call(call, batch, context, common)


def _unwrapped(value: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The kind of a message and its fields, whatever it is wrapped in."""
    kind = kind_of(value)
    if isinstance(kwargs := value.get("kwargs"), dict) and "lc" in value:
        path = value.get("id")
        last = path[-1] if isinstance(path, list) and path else None
        kind = _KINDS.get(last, "") if isinstance(last, str) else ""
        value, kind = kwargs, kind or kind_of(kwargs)
    elif isinstance(data := value.get("data"), dict) and "content" not in value:
        value = data
    return _KINDS.get(kind, kind), value


def _calls(value: dict[str, Any]) -> list[Any]:
    """Parsed calls, then invalid ones; the provider's own record only where there are neither."""
    found: list[Any] = []
    for field in ("tool_calls", "invalid_tool_calls"):
        calls = value.get(field)
        if isinstance(calls, list):
            found += [(call, field == "invalid_tool_calls") for call in calls]
    if found:
        return found
    extra = value.get("additional_kwargs")
    if isinstance(extra, dict):
        calls = extra.get("tool_calls")
        if isinstance(calls, list):
            found += [(call, False) for call in calls]
        legacy = extra.get("function_call")
        if isinstance(legacy, dict) and not found:
            found.append(({"function": legacy, "legacy": True}, False))
    if not found and isinstance(value.get("content"), list):
        found = [
            (block, False)
            for block in value["content"]
            if isinstance(block, dict) and block.get("type") == "tool_use"
        ]
    return found


def _words(content: object) -> str:
    """The text of a content; calls that are repeated in it as blocks are left out."""
    if not isinstance(content, list):
        return text_of(content)
    return text_of([block for block in blocks(content) if kind_of(block) not in _CALL_BLOCKS])


def _call(
    entry: tuple[Any, bool], batch: object, context: Context, common: dict[str, Any]
) -> Iterator[Part]:
    call, invalid = entry
    if not isinstance(call, dict):
        context.warn("an entry of tool_calls is not an object", common["record"].line)
        call = {"args": text_of(call)}
    function = call.get("function")
    body = function if isinstance(function, dict) else call
    name = name_of(body.get("name"))
    call_id = id_of(call.get("id"))
    key: Hashable = ("function", name) if call.get("legacy") is True else None
    if invalid:
        key = ("invalid", call_id, id(call))
    yield Part(
        "tool_call",
        name=name,
        call_id=call_id,
        arguments=arguments_of(body.get("args", body.get("arguments", body.get("input")))),
        batch=batch,
        key=key,
        **common,
    )
    if invalid:
        error = text_of(call.get("error")) or "the arguments are not valid"
        yield Part("tool_result", error, call_id=call_id, is_error=True, key=key, **common)


def _result(kind: str, value: dict[str, Any], common: dict[str, Any]) -> Part:
    name = value.get("name")
    text = text_of(value.get("content"))
    status = value.get("status")
    call_id = id_of(value.get("tool_call_id"))
    # ``success`` is only the default of a ToolMessage, so the text is asked as well.
    is_error = status == "error" or says_failure(text)
    return Part(
        "tool_result",
        text,
        name=name if isinstance(name, str) else None,
        call_id=call_id,
        is_error=is_error,
        key=("function", name_of(name)) if kind == "function" and call_id is None else None,
        **common,
    )
