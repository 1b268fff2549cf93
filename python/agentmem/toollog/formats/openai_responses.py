"""OpenAI Responses items, alone or wrapped in the lines of a Codex rollout."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from agentmem.toollog.formats.parts import (
    RUN,
    Context,
    Part,
    Record,
    arguments_of,
    id_of,
    kind_of,
    name_of,
    says_failure,
    text_of,
    time_of,
)
from agentmem.toollog.models import Role

_ROLES: dict[str, Role] = {
    "user": "user",
    "assistant": "assistant",
    "system": "system",
    "developer": "system",
}
_ROLLOUT_TYPES = frozenset({"response_item", "event_msg", "session_meta", "turn_context"})
_OTHER_ITEMS = frozenset(
    {"reasoning", "mcp_list_tools", "item_reference", "compaction", "mcp_approval_request"}
)

_RUN_BY_PROVIDER: dict[str, tuple[str, ...]] = {
    "mcp_call": ("output",),
    "web_search_call": ("results",),
    "file_search_call": ("results",),
    "code_interpreter_call": ("outputs",),
    "image_generation_call": ("result",),
}
"""Items that hold call and result at once, and where the result is."""

_NOT_ARGUMENTS = frozenset({"type", "id", "call_id", "status", "name", "namespace"})


class OpenAIResponses:
    """Reader of items such as ``function_call`` and ``function_call_output``."""

    def matches(self, value: dict[str, Any]) -> bool:
        """Return True for an item or a rollout line."""
        kind = kind_of(value)
        if kind in _ROLLOUT_TYPES:
            return isinstance(value.get("payload"), dict)
        return (
            kind.endswith(("_call", "_call_output"))
            or (kind == "message" and "role" in value and _is_item_content(value.get("content")))
            or kind in _OTHER_ITEMS
        )

    def parts(self, record: Record, context: Context) -> Iterator[Part]:
        """Turn one item into at most a call and its result."""
        item = record.value
        time = time_of(item.get("timestamp"))
        kind = kind_of(item)
        if kind in _ROLLOUT_TYPES:
            payload = item.get("payload")
            if kind != "response_item" or not isinstance(payload, dict):
                if context.words:
                    yield Part("other", time=time, record=record)
                return
            item, kind = payload, kind_of(payload)
        common: dict[str, Any] = {
            "client_id": id_of(item.get("id")),
            "time": time,
            "record": record,
        }
        if kind.endswith("_call_output"):
            yield _output(item, common)
        elif kind in _RUN_BY_PROVIDER:
            yield from _self_contained(item, kind, common)
        elif kind.endswith("_call"):
            yield _call(item, kind, context, common)
        elif isinstance(role := item.get("role"), str):
            text = text_of(item.get("content")) if context.words else ""
            yield Part(_ROLES.get(role, "other"), text, **common)
        elif context.words:
            summary = item.get("summary")
            yield Part("other", text_of(summary), speaker=kind or None, **common)


def _is_item_content(content: object) -> bool:
    if isinstance(content, list):
        return any(
            isinstance(block, dict) and block.get("type") in ("input_text", "output_text")
            for block in content
        )
    return isinstance(content, str)


def _call(item: dict[str, Any], kind: str, context: Context, common: dict[str, Any]) -> Part:
    name: object = item.get("name")
    if kind in ("function_call", "custom_tool_call"):
        if not isinstance(name, str):
            context.warn('a call without a name is kept as "?"', common["record"].line)
            name = None
    elif not isinstance(name, str):
        name = kind.removesuffix("_call")
    return Part(
        "tool_call",
        name=name_of(name),
        call_id=id_of(item.get("call_id")) or id_of(item.get("id")),
        arguments=_arguments(item, kind),
        batch=RUN,
        **common,
    )


def _arguments(item: dict[str, Any], kind: str) -> dict[str, Any] | str:
    if kind == "custom_tool_call":
        given = item.get("input")
        return given if isinstance(given, str) else arguments_of(given)
    for key in ("arguments", "action", "operation", "input"):
        if key in item:
            return arguments_of(item[key])
    return {key: value for key, value in item.items() if key not in _NOT_ARGUMENTS}


def _output(item: dict[str, Any], common: dict[str, Any]) -> Part:
    output = item.get("output")
    text = text_of(_unwrapped(output))
    status = item.get("status")
    if status in ("failed", "incomplete"):
        is_error = True
    else:
        code = _exit_code(output)
        is_error = says_failure(text) if code is None else code
    return Part(
        "tool_result",
        text,
        call_id=id_of(item.get("call_id")) or id_of(item.get("id")),
        is_error=is_error,
        **common,
    )


def _unwrapped(output: object) -> object:
    """The text of ``{"content": …, "success": …}`` and of shell output chunks."""
    if isinstance(output, dict) and "content" in output:
        return output["content"]
    if isinstance(output, list) and output and all(_is_chunk(chunk) for chunk in output):
        return "".join([chunk["stdout"] + chunk["stderr"] for chunk in output])
    return output


def _is_chunk(chunk: object) -> bool:
    return (
        isinstance(chunk, dict)
        and isinstance(chunk.get("stdout"), str)
        and isinstance(chunk.get("stderr"), str)
    )


def _exit_code(output: object) -> bool | None:
    """True if the output names an exit code other than 0, False for 0, None if it names none."""
    if isinstance(output, list):
        codes = [_exit_code(chunk.get("outcome")) for chunk in output if isinstance(chunk, dict)]
        known = [code for code in codes if code is not None]
        return any(known) if known else None
    if isinstance(output, str) and output[:1] == "{" and '"exit_code"' in output:
        try:
            output = json.loads(output)
        except (ValueError, RecursionError):
            return None
    if not isinstance(output, dict):
        return None
    success = output.get("success")
    if isinstance(success, bool):
        return not success
    for holder in (output, output.get("metadata")):
        code = holder.get("exit_code") if isinstance(holder, dict) else None
        if isinstance(code, int):
            return code != 0
    return None


def _self_contained(item: dict[str, Any], kind: str, common: dict[str, Any]) -> Iterator[Part]:
    call_id = id_of(item.get("id"))
    name = item.get("name")
    key = ("item", call_id, common["record"].line)
    fields = (*_RUN_BY_PROVIDER[kind], "error", "server_label")
    if "arguments" in item or "action" in item:
        arguments = arguments_of(item.get("arguments", item.get("action")))
    else:
        hidden = _NOT_ARGUMENTS.union(fields)
        arguments = {key: value for key, value in item.items() if key not in hidden}
    yield Part(
        "tool_call",
        name=name if isinstance(name, str) else kind.removesuffix("_call"),
        call_id=call_id,
        arguments=arguments,
        key=key,
        **common,
    )
    status = item.get("status")
    error = item.get("error")
    if status in ("in_progress", "searching", "interpreting", "generating", "calling"):
        return
    text = text_of(error if error is not None else item.get(_RUN_BY_PROVIDER[kind][0]))
    if kind == "image_generation_call" and error is None and text:
        text = text_of({"type": "image", "data": text})
    yield Part(
        "tool_result",
        text,
        call_id=call_id,
        is_error=error is not None or status in ("failed", "incomplete"),
        key=key,
        **common,
    )
