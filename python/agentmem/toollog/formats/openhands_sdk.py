"""Events of the OpenHands SDK, told apart by ``kind``: ``ActionEvent``, ``ObservationEvent``, ...

The older events, told apart by ``action`` and ``observation``, are in openhands.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agentmem.toollog.formats.parts import (
    RUN,
    Context,
    Part,
    Record,
    arguments_of,
    failed,
    id_of,
    name_of,
    text_of,
    time_of,
)
from agentmem.toollog.models import Role

_RESULTS = frozenset({"ObservationEvent", "UserRejectObservation", "AgentErrorEvent"})
_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}


def is_sdk_event(value: dict[str, Any]) -> bool:
    """Return True for an event of the SDK."""
    kind = value.get("kind")
    return isinstance(kind, str) and (kind.endswith("Event") or kind in _RESULTS)


def sdk_parts(record: Record, context: Context) -> Iterator[Part]:
    """Turn one event into words, a call or a result."""
    event = record.value
    kind = event.get("kind")
    call_id = id_of(event.get("tool_call_id"))
    common: dict[str, Any] = {
        "client_id": id_of(event.get("id")),
        "time": time_of(event.get("timestamp")),
        "record": record,
    }
    if kind == "ActionEvent":
        if context.words and (thought := text_of(event.get("thought"))):
            yield Part("assistant", thought, **common)
        yield _call(event, call_id, context, common)
    elif kind in _RESULTS:
        if kind == "AgentErrorEvent" and call_id is None:
            yield Part("other", text_of(event.get("error")), **common)
        else:
            yield _result(event, call_id, common)
    elif kind == "MessageEvent":
        message = event.get("llm_message")
        message = message if isinstance(message, dict) else {}
        role = message.get("role")
        if not isinstance(role, str):
            role = "user" if event.get("source") == "user" else "assistant"
        text = text_of(message.get("content")) if context.words else ""
        yield Part(_ROLES.get(role, "other"), text, **common)
    elif context.words:
        prompt = event.get("system_prompt")
        system = kind == "SystemPromptEvent"
        yield Part("system" if system else "other", text_of(prompt), **common)


def _call(
    event: dict[str, Any], call_id: str | None, context: Context, common: dict[str, Any]
) -> Part:
    call = event.get("tool_call")
    call = call if isinstance(call, dict) else {}
    function = call.get("function")
    body = function if isinstance(function, dict) else call
    name = event.get("tool_name", body.get("name"))
    if not isinstance(name, str):
        context.warn('a call without a name is kept as "?"', common["record"].line)
    action = event.get("action")
    if "arguments" in body:
        arguments = arguments_of(body["arguments"])
    elif isinstance(action, dict):
        arguments = {key: value for key, value in action.items() if key != "kind"}
    else:
        arguments = arguments_of(action)
    response_id = id_of(event.get("llm_response_id"))
    return Part(
        "tool_call",
        name=name_of(name),
        call_id=call_id,
        arguments=arguments,
        batch=("response", response_id) if response_id is not None else RUN,
        key=_key(call_id, event.get("id")),
        **common,
    )


def _result(event: dict[str, Any], call_id: str | None, common: dict[str, Any]) -> Part:
    observation = event.get("observation")
    name = event.get("tool_name")
    if event.get("kind") == "UserRejectObservation":
        text, is_error = text_of(event.get("rejection_reason")), True
    elif event.get("kind") == "AgentErrorEvent":
        text, is_error = text_of(event.get("error")), True
    elif isinstance(observation, dict):
        content = observation.get("content")
        text = text_of(content if content is not None else observation.get("output"))
        code = observation.get("exit_code")
        is_error = failed(observation.get("is_error"), text)
        if isinstance(code, int) and not isinstance(code, bool):
            # -1 is a command that still runs.
            is_error = is_error or code not in (0, -1)
    else:
        text = text_of(observation)
        is_error = failed(None, text)
    return Part(
        "tool_result",
        text,
        name=name if isinstance(name, str) else None,
        call_id=call_id,
        is_error=is_error,
        key=_key(call_id, event.get("action_id")),
        **common,
    )


def _key(call_id: str | None, action_id: object) -> tuple[str, str | None]:
    return ("call", call_id) if call_id is not None else ("event", id_of(action_id))
