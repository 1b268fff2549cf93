"""OpenAI chat messages: ``tool_calls``, ``role: tool``, and the older ``function_call``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from agentmem.toollog.formats.parts import (
    TURN,
    Context,
    Part,
    Record,
    arguments_of,
    id_of,
    name_of,
    says_failure,
    text_of,
    time_of,
)
from agentmem.toollog.models import Role

_ROLES: dict[str, Role] = {
    "user": "user",
    "assistant": "assistant",
    "model": "assistant",
    "system": "system",
    "developer": "system",
}


class OpenAIChat:
    """Reader of chat messages; also of any record with no more than a role and a content."""

    def matches(self, value: dict[str, Any]) -> bool:
        """Return True for a message with calls, of a tool, or with a plain role."""
        return isinstance(value.get("role"), str)

    def parts(self, record: Record, context: Context) -> Iterable[Part]:
        """Turn one message into its words, then its calls; or into a result."""
        value = record.value
        role = value.get("role")
        if role in ("tool", "function"):
            return (_result(record),)
        calls = value.get("tool_calls") or ()
        legacy = value.get("function_call")
        if not context.words and not calls and not legacy:
            return (TURN,)
        return self._message(record, calls, legacy, context)

    def _message(
        self, record: Record, calls: object, legacy: object, context: Context
    ) -> Iterator[Part]:
        value = record.value
        role = value.get("role")
        common: dict[str, Any] = {
            "client_id": id_of(value.get("id")),
            "time": time_of(value.get("timestamp") or value.get("created_at")),
            "record": record,
        }
        if context.words:
            text = text_of(value.get("content"))
            if not text and isinstance(refusal := value.get("refusal"), str):
                text = refusal
            if text or not (calls or legacy):
                speaker = value.get("name")
                yield Part(
                    _ROLES.get(role, "other") if isinstance(role, str) else "other",
                    text,
                    speaker=speaker if isinstance(speaker, str) else None,
                    **common,
                )
        batch = ("message", record.line, id(value))
        for call in calls if isinstance(calls, (list, tuple)) else (calls,):
            yield _call(call, batch, context, common)
        if isinstance(legacy, dict):
            name = name_of(legacy.get("name"))
            yield Part(
                "tool_call",
                name=name,
                arguments=arguments_of(legacy.get("arguments")),
                key=("function", name),
                batch=batch,
                **common,
            )


def _call(call: object, batch: object, context: Context, common: dict[str, Any]) -> Part:
    if not isinstance(call, dict):
        context.warn("an entry of tool_calls is not an object", common["record"].line)
        return Part("tool_call", name=name_of(None), arguments=text_of(call), batch=batch, **common)
    body = call.get("function")
    arguments: object
    if isinstance(body, dict):
        arguments = body.get("arguments")
    elif isinstance(custom := call.get("custom"), dict):
        body, arguments = custom, custom.get("input")
        arguments = arguments if isinstance(arguments, str) else arguments_of(arguments)
    else:
        body, arguments = call, call.get("arguments", call.get("input", call.get("args")))
    name = body.get("name")
    if not isinstance(name, str):
        context.warn('a call without a name is kept as "?"', common["record"].line)
    return Part(
        "tool_call",
        name=name_of(name),
        call_id=id_of(call.get("id")),
        arguments=arguments_of(arguments),
        batch=batch,
        **common,
    )


def _result(record: Record) -> Part:
    value = record.value
    call_id = id_of(value.get("tool_call_id"))
    name = value.get("name")
    text = text_of(value.get("content"))
    status = value.get("is_error")
    legacy = value.get("role") == "function" and call_id is None
    return Part(
        "tool_result",
        text,
        name=name if isinstance(name, str) else None,
        call_id=call_id,
        is_error=status if isinstance(status, bool) else says_failure(text),
        client_id=id_of(value.get("id")),
        time=time_of(value.get("timestamp") or value.get("created_at")),
        key=("function", name_of(name)) if legacy else None,
        record=record,
    )
