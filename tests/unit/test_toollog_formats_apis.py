"""The shapes of model APIs: OpenAI chat and Responses, Codex, Anthropic, MCP."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from agentmem.toollog.formats import read_messages, tool_calls
from agentmem.toollog.models import ToolCall, ToolLogWarning


def row(call: ToolCall) -> tuple[Any, ...]:
    return (call.name, call.arguments, call.result, call.outcome, call.id)


def chat_call(name: str, arguments: Any, id_: str | None = "1") -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {
        "role": "assistant",
        "tool_calls": [{"id": id_, "type": "function", "function": function}],
    }


def tool(content: Any, id_: str | None = "1", **fields: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id_, "content": content, **fields}


# OpenAI chat


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ('{"a": 1}', {"a": 1}),
        ("{}", {}),
        ("", ""),
        ('{"a": ', '{"a": '),
        ("[1, 2]", "[1, 2]"),
        ("ls -la", "ls -la"),
        (None, {}),
        ({"a": 1}, {"a": 1}),
        ([1, 2], "[1,2]"),
        ('{"id": 123456789012345678901234567890}', {"id": 123456789012345678901234567890}),
        ('{"a": "\\ud83d"}', {"a": "\ud83d"}),
        ("{" * 100_000, "{" * 100_000),
    ],
)
def test_arguments_that_are_no_object_stay_text(written: Any, read: Any) -> None:
    assert tool_calls([chat_call("f", written)])[0].arguments == read


def test_openai_custom_tools_and_text_parts() -> None:
    custom = {"id": "1", "type": "custom", "custom": {"name": "sh", "input": "ls {x"}}
    log = [
        {"role": "assistant", "content": "I look.", "tool_calls": [custom]},
        tool([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]),
    ]
    assert row(tool_calls(log)[0]) == ("sh", "ls {x", "a\nb", "ok", "1")
    assert [message.role for message in read_messages(log)] == [
        "assistant",
        "tool_call",
        "tool_result",
    ]


def test_openai_function_call_pairs_by_name() -> None:
    def call(name: str) -> dict[str, Any]:
        return {"role": "assistant", "function_call": {"name": name, "arguments": "{}"}}

    log = [
        call("f"),
        {"role": "function", "name": "f", "content": "1"},
        call("g"),
        {"role": "function", "name": "g", "content": "2"},
    ]
    assert [row(entry)[:4] for entry in tool_calls(log)] == [
        ("f", {}, "1", "ok"),
        ("g", {}, "2", "ok"),
    ]


def test_openai_completion_document() -> None:
    document = {"id": "chatcmpl-1", "choices": [{"index": 0, "message": chat_call("f", "{}")}]}
    assert [call.name for call in tool_calls(document)] == ["f"]


def test_empty_tool_name_is_kept_and_a_missing_one_is_named() -> None:
    assert tool_calls([chat_call("", "{}")])[0].name == ""
    with pytest.warns(ToolLogWarning, match="without a name"):
        assert tool_calls([chat_call(None, "{}")])[0].name == "?"  # type: ignore[arg-type]


# OpenAI Responses and Codex

RESPONSES = [
    {"role": "user", "content": "look"},
    {"type": "reasoning", "id": "rs_1", "summary": []},
    {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": '{"a":1}'},
    {"type": "custom_tool_call", "call_id": "c2", "name": "patch", "input": "*** Begin"},
    {"type": "function_call_output", "call_id": "c1", "output": "one"},
    {
        "type": "custom_tool_call_output",
        "call_id": "c2",
        "output": [{"type": "input_text", "text": "two"}],
    },
    {"type": "local_shell_call", "call_id": "c3", "action": {"type": "exec", "command": ["ls"]}},
    {"type": "local_shell_call_output", "id": "c3", "output": "three"},
    {
        "type": "apply_patch_call",
        "call_id": "c4",
        "operation": {"type": "delete_file", "path": "a"},
    },
    {"type": "apply_patch_call_output", "call_id": "c4", "status": "failed", "output": "no file"},
    {"type": "shell_call", "call_id": "c5", "action": {"commands": ["false"]}},
    {
        "type": "shell_call_output",
        "call_id": "c5",
        "output": [{"stdout": "", "stderr": "bad", "outcome": {"type": "exit", "exit_code": 1}}],
    },
    {
        "type": "mcp_call",
        "id": "m1",
        "server_label": "s",
        "name": "g",
        "arguments": "{}",
        "output": "four",
    },
    {
        "type": "mcp_call",
        "id": "m2",
        "server_label": "s",
        "name": "g",
        "arguments": "{}",
        "error": "refused",
    },
    {"type": "web_search_call", "id": "w1", "status": "completed", "action": {"query": "x"}},
    {
        "type": "code_interpreter_call",
        "id": "i1",
        "code": "1",
        "outputs": [{"type": "logs", "logs": "1"}],
        "status": "completed",
    },
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]},
]
RESPONSES_CALLS = [
    ("f", {"a": 1}, "one", "ok", "c1"),
    ("patch", "*** Begin", "two", "ok", "c2"),
    ("local_shell", {"type": "exec", "command": ["ls"]}, "three", "ok", "c3"),
    ("apply_patch", {"type": "delete_file", "path": "a"}, "no file", "error", "c4"),
    ("shell", {"commands": ["false"]}, "bad", "error", "c5"),
    ("g", {}, "four", "ok", "m1"),
    ("g", {}, "refused", "error", "m2"),
    ("web_search", {"query": "x"}, "", "ok", "w1"),
    ("code_interpreter", {"code": "1"}, '{"type":"logs","logs":"1"}', "ok", "i1"),
]


@pytest.mark.parametrize(
    "log",
    [
        RESPONSES,
        {"id": "resp_1", "object": "response", "output": RESPONSES},
        [
            {"timestamp": "2026-01-01T00:00:00Z", "type": "session_meta", "payload": {"id": "x"}},
            *[
                {"timestamp": "2026-01-01T00:00:01Z", "type": "response_item", "payload": item}
                for item in RESPONSES
            ],
            {"timestamp": "2026-01-01T00:00:02Z", "type": "event_msg", "payload": {"type": "x"}},
        ],
    ],
    ids=["items", "response", "codex"],
)
def test_openai_responses(log: Any) -> None:
    calls = tool_calls(log)
    assert [row(call) for call in calls] == RESPONSES_CALLS
    # Two calls with nothing between them were made together.
    assert calls[0].batch == calls[1].batch
    assert len({call.batch for call in calls}) == len(calls) - 1
    assert tool_calls(log, format="codex") == calls


@pytest.mark.parametrize(
    ("output", "outcome"),
    [
        ('{"output":"x","metadata":{"exit_code":1}}', "error"),
        ('{"output":"Error: in a log","metadata":{"exit_code":0}}', "ok"),
        ({"content": "x", "success": False}, "error"),
        ("Error: x", "error"),
    ],
)
def test_codex_exit_code_decides(output: Any, outcome: str) -> None:
    log = [RESPONSES[2], {"type": "function_call_output", "call_id": "c1", "output": output}]
    assert tool_calls(log)[0].outcome == outcome


# Anthropic


def test_anthropic_server_and_mcp_tools() -> None:
    log = [
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm"},
                {
                    "type": "server_tool_use",
                    "id": "s1",
                    "name": "web_search",
                    "input": {"query": "x"},
                },
                {
                    "type": "web_search_tool_result",
                    "tool_use_id": "s1",
                    "content": {"type": "web_search_tool_result_error", "error_code": "max_uses"},
                },
                {"type": "mcp_tool_use", "id": "m1", "name": "f", "server_name": "s", "input": {}},
                {
                    "type": "mcp_tool_result",
                    "tool_use_id": "m1",
                    "is_error": False,
                    "content": [{"type": "text", "text": "x"}],
                },
            ],
        }
    ]
    calls = tool_calls(log)
    assert [(call.name, call.outcome, call.id) for call in calls] == [
        ("web_search", "error", "s1"),
        ("f", "ok", "m1"),
    ]
    assert next(message.role for message in read_messages(log)) == "other"


def test_binary_blocks_become_notes() -> None:
    data = base64.b64encode(bytes(34_000)).decode()
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
    linked = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
    other = {"type": "audio", "data": data, "mimeType": "audio/wav"}
    inline = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + data}}
    blocks = [{"type": "text", "text": "see"}, image, linked, other, inline]
    log = [
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "1", "name": "f", "input": {}}],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "1", "content": blocks}],
        },
    ]
    assert (tool_calls(log)[0].result or "").split("\n") == [
        "see",
        "[image 34 kB]",
        "[image https://example.org/a.png]",
        "[audio 34 kB]",
        "[image 34 kB]",
    ]


# MCP


def rpc(id_: Any, **fields: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, **fields}


def request(id_: Any, name: str) -> dict[str, Any]:
    return rpc(id_, method="tools/call", params={"name": name, "arguments": {"x": 1}})


def words(text: str, **fields: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], **fields}


def test_mcp_raw_messages() -> None:
    log = [
        rpc(0, method="initialize", params={}),
        rpc(0, result={"protocolVersion": "x"}),
        request(1, "a"),
        request("2", "b"),
        rpc(1, method="sampling/createMessage", params={}),
        rpc(1, result={"role": "assistant", "content": {"type": "text", "text": "not a result"}}),
        rpc("2", error={"code": -32602, "message": "unknown tool", "data": {"name": "b"}}),
        rpc(1, result=words("one")),
        request(3, "c"),
        rpc(3, result={"structuredContent": {"n": 1}}),
        request(4, "d"),
        rpc(4, result=words("bad", isError=True)),
        rpc(9, result=words("from before")),
    ]
    calls = tool_calls(log)
    assert [row(call) for call in calls] == [
        ("a", {"x": 1}, "one", "ok", "1"),
        ("b", {"x": 1}, 'unknown tool\n{"name":"b"}', "error", "2"),
        ("c", {"x": 1}, '{"n":1}', "ok", "3"),
        ("d", {"x": 1}, "bad", "error", "4"),
        ("?", {}, "from before", "ok", "9"),
    ]
    assert [call.batch for call in calls] == [0, 0, 1, 2, 3]


def test_mcp_ids_are_apart_by_server_and_direction() -> None:
    def line(server: str, direction: str, message: Any) -> dict[str, Any]:
        return {"ts": 1796071867.5, "dir": direction, "server": server, "msg": message}

    out, back = "client->server", "server->client"
    log = [
        line("s", out, request(1, "a")),
        line("t", out, request(1, "b")),
        line("s", back, rpc(1, method="sampling/createMessage")),
        line("s", out, rpc(1, result=words("not a result"))),
        line("t", back, rpc(1, result=words("B"))),
        line("s", back, rpc(1, result=words("A"))),
    ]
    assert [row(call)[:3] for call in tool_calls(log)] == [
        ("a", {"x": 1}, "A"),
        ("b", {"x": 1}, "B"),
    ]


def test_mcp_arguments_may_look_like_another_host() -> None:
    arguments = {"type": "progress", "data": {"type": "hook_progress"}, "message": {"role": "x"}}
    call = rpc(1, method="tools/call", params={"name": "f", "arguments": arguments})
    data = b"\n".join(
        json.dumps(m, separators=(",", ":")).encode() for m in (call, rpc(1, result=words("x")))
    )
    assert [row(entry)[:3] for entry in tool_calls(data)] == [("f", arguments, "x")]
