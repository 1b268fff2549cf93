"""OpenHands event streams: actions, and the observations that name their cause."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

from agentmem.toollog.formats.openhands_sdk import is_sdk_event, sdk_parts
from agentmem.toollog.formats.parts import (
    RUN,
    Context,
    Part,
    Record,
    arguments_of,
    id_of,
    says_failure,
    text_of,
    time_of,
)
from agentmem.toollog.models import Role

_NOT_TOOLS = frozenset(
    {
        "add_task",
        "change_agent_state",
        "condensation",
        "condensation_request",
        "init",
        "loading",
        "message",
        "modify_task",
        "null",
        "pause",
        "recall",
        "resume",
        "save_replay",
        "start",
        "stop",
        "system",
    }
)
"""Actions that run no tool, unless the model called one to make them."""

_NOT_ARGUMENTS = frozenset(
    {
        "blocking",
        "confirmation_state",
        "hidden",
        "impl_source",
        "is_input",
        "security_risk",
        "thought",
        "translated_ipython_code",
    }
)
"""Arguments that the host adds to an action."""


class OpenHands:
    """Reader of events; it knows which events were calls."""

    def __init__(self) -> None:
        self._calls: set[Hashable] = set()

    def matches(self, value: dict[str, Any]) -> bool:
        """Return True for an action or observation event."""
        if is_sdk_event(value):
            return True
        if "action" in value:
            return isinstance(value["action"], str) and ("args" in value or "source" in value)
        return isinstance(value.get("observation"), str) and (
            "content" in value or "extras" in value
        )

    def parts(self, record: Record, context: Context) -> Iterator[Part]:
        """Turn one event into words, a call or a result."""
        event = record.value
        if is_sdk_event(event):
            yield from sdk_parts(record, context)
            return
        metadata = event.get("tool_call_metadata")
        metadata = metadata if isinstance(metadata, dict) else {}
        common: dict[str, Any] = {
            "client_id": id_of(event.get("id")),
            "time": time_of(event.get("timestamp")),
            "record": record,
        }
        if "action" in event:
            yield from self._action(event, metadata, context, common)
        else:
            yield from self._observation(event, metadata, context, common)

    def _action(
        self,
        event: dict[str, Any],
        metadata: dict[str, Any],
        context: Context,
        common: dict[str, Any],
    ) -> Iterator[Part]:
        action = event.get("action")
        action = action if isinstance(action, str) else text_of(action)
        args = event.get("args")
        args = args if isinstance(args, dict) else {}
        source = event.get("source")
        from_agent = source == "agent"
        call_id = id_of(metadata.get("tool_call_id"))
        if call_id is None and (action in _NOT_TOOLS or not from_agent):
            if action == "message" and source in ("user", "agent"):
                text = args.get("content") if context.words else ""
                text = text if isinstance(text, str) else text_of(event.get("message"))
                yield Part("user" if source == "user" else "assistant", text, **common)
            elif context.words:
                text = args.get("content")
                role: Role = "system" if action == "system" else "other"
                text = text if isinstance(text, str) else ""
                yield Part(role, text, speaker=id_of(source), **common)
            return
        thought = args.get("thought")
        if context.words and isinstance(thought, str) and thought:
            yield Part("assistant", thought, **common)
        name = metadata.get("function_name")
        key = ("event", event.get("id")) if _is_id(event.get("id")) else ("call", call_id)
        self._calls.add(key)
        response = metadata.get("model_response")
        response_id = id_of(response.get("id")) if isinstance(response, dict) else None
        yield Part(
            "tool_call",
            name=name if isinstance(name, str) else action,
            call_id=call_id,
            arguments=_arguments(args, response, call_id),
            batch=("response", response_id) if response_id is not None else RUN,
            key=key,
            **common,
        )
        if action == "finish":
            # The host ends the run itself: no observation ever comes, and that is no failure.
            yield Part("tool_result", "", call_id=call_id, key=key, **common)

    def _observation(
        self,
        event: dict[str, Any],
        metadata: dict[str, Any],
        context: Context,
        common: dict[str, Any],
    ) -> Iterator[Part]:
        call_id = id_of(metadata.get("tool_call_id"))
        cause = event.get("cause")
        key: Hashable = ("event", cause) if _is_id(cause) else ("call", call_id)
        text = text_of(event.get("content"))
        if key not in self._calls and call_id is None:
            if context.words:
                kind = event.get("observation")
                yield Part("other", text, speaker=kind if isinstance(kind, str) else None, **common)
            return
        name = metadata.get("function_name")
        yield Part(
            "tool_result",
            text,
            name=name if isinstance(name, str) else None,
            call_id=call_id,
            is_error=_failed(event, text),
            key=key,
            **common,
        )


def _is_id(value: object) -> bool:
    return isinstance(value, (int, str)) and not isinstance(value, bool)


def _arguments(args: dict[str, Any], response: object, call_id: str | None) -> Any:
    """What the model wrote, where the event carries its response; else the action's own."""
    if isinstance(response, dict) and call_id is not None:
        choices = response.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            message = choice.get("message") if isinstance(choice, dict) else None
            calls = message.get("tool_calls") if isinstance(message, dict) else None
            for call in calls if isinstance(calls, list) else ():
                if isinstance(call, dict) and call.get("id") == call_id:
                    function = call.get("function")
                    if isinstance(function, dict) and "arguments" in function:
                        return arguments_of(function["arguments"])
    return {key: value for key, value in args.items() if key not in _NOT_ARGUMENTS}


def _failed(event: dict[str, Any], text: str) -> bool:
    if event.get("observation") == "error":
        return True
    extras = event.get("extras")
    extras = extras if isinstance(extras, dict) else {}
    metadata = extras.get("metadata")
    for holder in (metadata, extras):
        code = holder.get("exit_code") if isinstance(holder, dict) else None
        if isinstance(code, int) and not isinstance(code, bool):
            # -1 is a command that still runs.
            return code not in (0, -1)
    success = event.get("success")
    if isinstance(success, bool):
        return not success
    return text.startswith("ERROR:") or says_failure(text)
