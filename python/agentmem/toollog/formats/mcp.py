"""MCP sessions: JSON-RPC messages, raw or as ``{ts, dir, server, msg}`` lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agentmem.toollog.formats.parts import (
    RUN,
    Context,
    Part,
    Record,
    arguments_of,
    dumps_text,
    id_of,
    name_of,
    text_of,
    time_of,
)

_RESULT_KEYS = frozenset({"content", "structuredContent", "isError", "resultType", "toolResult"})


class MCP:
    """Reader of ``tools/call`` requests and their responses; it knows the ids that are open."""

    def __init__(self) -> None:
        self._calls: set[tuple[object, str | None]] = set()
        self._others: set[tuple[object, str | None]] = set()

    def matches(self, value: dict[str, Any]) -> bool:
        """Return True for a JSON-RPC message, wrapped or not."""
        message = value.get("msg")
        if isinstance(message, list):
            message = message[0] if message else None
        if isinstance(message, dict):
            return "jsonrpc" in message
        return "jsonrpc" in value and ("method" in value or "id" in value)

    def parts(self, record: Record, context: Context) -> Iterator[Part]:
        """Turn one message into a call or a result."""
        value = record.value
        message = value.get("msg", value)
        time = time_of(value.get("ts") or value.get("timestamp"))
        server = value.get("server")
        server = server if isinstance(server, str) else None
        for single in message if isinstance(message, list) else (message,):
            if isinstance(single, dict):
                yield from self._message(single, record, context, server, time)
            else:
                context.warn("a JSON-RPC message is not an object", record.line)

    def _message(
        self,
        message: dict[str, Any],
        record: Record,
        context: Context,
        server: str | None,
        time: Any,
    ) -> Iterator[Part]:
        common: dict[str, Any] = {"time": time, "speaker": server, "record": record}
        method = message.get("method")
        request_id = id_of(message.get("id"))
        # The two sides number their requests apart, so the direction is part of the key.
        key = (server, request_id)
        if method == "tools/call":
            params = message.get("params")
            params = params if isinstance(params, dict) else {}
            name = params.get("name")
            if not isinstance(name, str):
                context.warn('a call without a name is kept as "?"', record.line)
            self._calls.add(key)
            yield Part(
                "tool_call",
                name=name_of(name),
                call_id=request_id,
                arguments=arguments_of(params.get("arguments")),
                batch=RUN,
                key=("mcp", *key),
                **common,
            )
        elif method is None and ("result" in message or "error" in message):
            if key in self._calls and _answers_a_call(message, record.value):
                yield _result(message, request_id, ("mcp", *key), common)
            elif key in self._others or not _looks_like_tool_result(message):
                self._others.discard(key)
                if context.words:
                    yield Part("other", **common)
            else:
                yield _result(message, request_id, ("mcp", *key), common)
        else:
            if request_id is not None and isinstance(method, str):
                self._others.add(key)
            if context.words:
                yield Part("other", name=method if isinstance(method, str) else None, **common)


def _answers_a_call(message: dict[str, Any], line: dict[str, Any]) -> bool:
    """False for the client's answer to a request of the server that has the same id."""
    direction = line.get("dir")
    if isinstance(direction, str):
        return not direction.startswith(("client->", "client →", "out", "send"))
    result = message.get("result")
    return "error" in message or not isinstance(result, dict) or "role" not in result


def _looks_like_tool_result(message: dict[str, Any]) -> bool:
    result = message.get("result")
    return (
        isinstance(result, dict)
        and "role" not in result
        and (isinstance(result.get("content"), list) or not _RESULT_KEYS.isdisjoint(result))
    )


def _result(message: dict[str, Any], call_id: str | None, key: Any, common: dict[str, Any]) -> Part:
    error = message.get("error")
    result = message.get("result")
    is_error = False
    if error is not None:
        words = error.get("message") if isinstance(error, dict) else None
        text = words if isinstance(words, str) else text_of(error)
        if isinstance(words, str) and error.get("data") is not None:
            text = f"{text}\n{text_of(error['data'])}"
        is_error = True
    elif isinstance(result, dict):
        content = result.get("content")
        text = text_of(content)
        if not content and result.get("structuredContent") is not None:
            text = dumps_text(result["structuredContent"])
        elif content is None and "toolResult" in result:
            text = text_of(result["toolResult"])
        is_error = result.get("isError") is True
    else:
        text = text_of(result)
    return Part("tool_result", text, call_id=call_id, is_error=is_error, key=key, **common)
