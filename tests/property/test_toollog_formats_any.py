"""Laws of the readers: any input gives calls or a typed error, and nothing is lost."""

from __future__ import annotations

import copy
import json
import warnings
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentmem.errors import InvalidInputError, ToolLogError
from agentmem.toollog.formats import FORMATS, iter_tool_calls, read_messages, tool_calls
from agentmem.toollog.formats.parts import WARNINGS_PER_LOG
from agentmem.toollog.models import ToolLogWarning


def call(id_: str, name: str = "f", **arguments: Any) -> dict[str, Any]:
    block = {"type": "tool_use", "id": id_, "name": name, "input": arguments}
    return {"role": "assistant", "content": [block]}


def result(id_: str, content: Any = "x") -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": id_, "content": content}
    return {"role": "user", "content": [block]}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)
FIELDS = st.sampled_from(
    [
        "role",
        "content",
        "type",
        "id",
        "name",
        "input",
        "arguments",
        "tool_calls",
        "function",
        "function_call",
        "tool_call_id",
        "tool_use_id",
        "call_id",
        "output",
        "status",
        "error",
        "is_error",
        "message",
        "uuid",
        "parentUuid",
        "isSidechain",
        "sessionId",
        "toolUseResult",
        "agentId",
        "jsonrpc",
        "method",
        "params",
        "result",
        "msg",
        "dir",
        "server",
        "ts",
        "lc",
        "kwargs",
        "data",
        "args",
        "invalid_tool_calls",
        "additional_kwargs",
        "trajectory",
        "history",
        "action",
        "observation",
        "thought",
        "cause",
        "extras",
        "source",
        "tool_call_metadata",
        "model_response",
        "choices",
        "payload",
        "timestamp",
        "custom",
        "is_demo",
        "messages",
        "outputs",
        "metadata",
        "exit_code",
        "text",
        "image_url",
        "url",
        "resource",
        "blob",
        "isMeta",
        "parent_tool_use_id",
    ]
)
WORDS = st.sampled_from(
    [
        "user",
        "assistant",
        "tool",
        "function",
        "system",
        "developer",
        "tool_use",
        "tool_result",
        "text",
        "image",
        "message",
        "function_call",
        "function_call_output",
        "mcp_call",
        "shell_call_output",
        "response_item",
        "event_msg",
        "progress",
        "tools/call",
        "2.0",
        "human",
        "ai",
        "constructor",
        "hook_progress",
        "run",
        "finish",
        "agent",
        "web_search_call",
        "thinking",
        "1",
        "{}",
        '{"a":1}',
        '{"exit_code":1}',
        "Error",
        "client->server",
        "2026-01-01T00:00:00",
        "submit",
    ]
)
VALUE = st.recursive(
    WORDS | JSON,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(FIELDS, inner, max_size=7),
    max_leaves=25,
)


def read_any(data: Any, name: str) -> None:
    """Whatever comes in, only the two typed errors come out, and calls are well formed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ToolLogWarning)
        outcomes = []
        for read in (tool_calls, read_messages):
            try:
                found = read(data, format=name)
            except (ToolLogError, InvalidInputError) as error:
                outcomes.append(type(error))
                continue
            outcomes.append(
                len([x for x in found if getattr(x, "role", "tool_call") == "tool_call"])
            )
            for entry in found:
                json.dumps(entry.arguments, default=str)
                assert hash(getattr(entry, "outcome", "ok")) is not None
        # Orphans and second results make the counts differ; that one fails and the other not
        # must not happen.
        assert isinstance(outcomes[0], type) == isinstance(outcomes[1], type)


NAMES = st.sampled_from(["auto", "auto", *FORMATS])


@settings(max_examples=150, deadline=None)
@given(st.lists(VALUE, max_size=6) | VALUE, NAMES)
def test_any_objects_give_calls_or_a_typed_error(data: Any, name: str) -> None:
    if isinstance(data, (list, dict, str)):
        read_any(data, name)


@settings(max_examples=100, deadline=None)
@given(st.lists(VALUE, max_size=5), NAMES, st.integers(0, 400), st.binary(max_size=6))
def test_any_damage_to_jsonl_gives_calls_or_a_typed_error(
    data: list[Any], name: str, place: int, noise: bytes
) -> None:
    raw = b"\n".join(json.dumps(value).encode() for value in data)
    read_any(raw[:place] + noise + raw[place + len(noise) :], name)
    read_any(raw[:place], name)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200), NAMES)
def test_any_bytes_give_calls_or_a_typed_error(data: bytes, name: str) -> None:
    read_any(data, name)
    read_any(b"\x1f\x8b" + data, name)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abcr"), st.integers(0, 3)), max_size=30))
def test_no_call_and_no_result_is_lost(history: list[tuple[str, int]]) -> None:
    """Any interleaving of calls and results over four ids, with each text its own."""
    log = [
        result(str(id_), f"r{place}") if kind == "r" else call(str(id_), kind, place=place)
        for place, (kind, id_) in enumerate(history)
    ]
    if not log:
        return
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        calls = tool_calls(log)
        streamed = list(iter_tool_calls(iter(log)))
    assert streamed == calls
    named = [entry for entry in calls if entry.name != "?"]
    assert [entry.arguments for entry in named] == [
        {"place": place} for place, (kind, _) in enumerate(history) if kind != "r"
    ]
    told = [entry.result for entry in calls if entry.result is not None]
    assert len(told) == len(set(told))
    results = sum(kind == "r" for kind, _ in history)
    doubles = sum("second result" in str(warning.message) for warning in caught) // 2
    if doubles < WARNINGS_PER_LOG:
        assert len(told) + doubles == results


# One small log a host; damage to a true shape reaches further than anything made up.
USE = {"type": "tool_use", "id": "1", "name": "f", "input": {"prompt": "p"}}
ANSWER = {"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "x"}]}
FUNCTION = {"name": "f", "arguments": '{"a": 1}'}
SHAPES: list[Any] = [
    [
        {"role": "system", "content": "s", "name": "n"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "function": FUNCTION}]},
        {"role": "tool", "tool_call_id": "1", "content": "x"},
        {"role": "assistant", "function_call": FUNCTION},
        {"role": "function", "name": "f", "content": "x"},
    ],
    [
        {"type": "response_item", "payload": {"type": "function_call", "call_id": "1", **FUNCTION}},
        {"type": "function_call_output", "call_id": "1", "output": '{"metadata":{"exit_code":1}}'},
        {"type": "shell_call", "call_id": "2", "action": {"commands": ["ls"]}},
        {"type": "shell_call_output", "call_id": "2", "output": [{"stdout": "", "stderr": "x"}]},
        {"type": "mcp_call", "id": "3", "name": "f", "arguments": "{}", "output": "x"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "x"}]},
    ],
    [{"role": "assistant", "content": [USE]}, {"role": "user", "content": [ANSWER]}],
    [
        {"ts": 1.5, "dir": "client->server", "server": "s", "msg": {
            "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "f"}}},
        {"ts": 1.6, "dir": "server->client", "server": "s", "msg": {
            "jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "x"}]}}},
        {"jsonrpc": "2.0", "id": 2, "error": {"code": 1, "message": "x", "data": 1}},
    ],
    [
        {"type": "ai", "content": [{"type": "text", "text": "x"}], "id": "m",
         "tool_calls": [{"name": "f", "args": {}, "id": "1"}],
         "invalid_tool_calls": [{"name": "f", "args": "{", "id": "2", "error": "x"}],
         "additional_kwargs": {"tool_calls": [{"id": "1", "function": FUNCTION}]}},
        {"lc": 1, "type": "constructor", "id": ["a", "ToolMessage"],
         "kwargs": {"content": "x", "tool_call_id": "1", "status": "error"}},
        {"type": "human", "data": {"content": "x"}},
    ],
    [
        {"type": "assistant", "uuid": "a", "sessionId": "s", "timestamp": "2026-01-01T00:00:00Z",
         "message": {"id": "m", "role": "assistant", "content": [USE]}},
        {"type": "user", "uuid": "b", "parentUuid": None, "sessionId": "s", "isSidechain": True,
         "message": {"role": "user", "content": "p"}},
        {"type": "user", "uuid": "c", "sessionId": "s", "toolUseResult": {"agentId": "z"},
         "message": {"role": "user", "content": [ANSWER]}},
        {"type": "progress", "uuid": "d", "parentToolUseID": "1", "data": {"agentId": "z"}},
    ],
    {
        "trajectory": [{"action": "open a", "observation": "x", "thought": "t"}],
        "history": [
            {"role": "user", "content": "go", "is_demo": True},
            {"role": "assistant", "content": "t", "thought": "t", "action": "open a",
             "tool_calls": [{"id": "1", "function": FUNCTION}]},
        ],
    },
    [
        {"id": 0, "source": "user", "action": "message", "args": {"content": "go"}},
        {"id": 1, "source": "agent", "action": "run", "args": {"command": "ls", "thought": "t"},
         "tool_call_metadata": {"function_name": "f", "tool_call_id": "1", "model_response": {
             "id": "r",
             "choices": [{"message": {"tool_calls": [{"id": "1", "function": FUNCTION}]}}]}}},
        {"id": 2, "cause": 1, "observation": "run", "content": "x",
         "extras": {"metadata": {"exit_code": 1}}},
        {"kind": "ActionEvent", "id": "a", "tool_name": "f", "tool_call_id": "c", "thought": [],
         "action": {"kind": "A"}, "tool_call": FUNCTION, "llm_response_id": "r"},
        {"kind": "ObservationEvent", "tool_call_id": "c", "action_id": "a",
         "observation": {"content": [{"type": "text", "text": "x"}], "exit_code": 0}},
        {"kind": "MessageEvent", "llm_message": {"role": "user", "content": "x"}},
    ],
]  # fmt: skip
JUNK: list[Any] = [
    None, True, 0, -1, 1.5, float("nan"), 10**30, "", "x", "\0", "\ud83d", [], {}, [[]], {"a": 1},
    ["x", None], {"type": "text"}, {"role": "user"}, "tool_use", "{}", '{"exit_code": 2}',
]  # fmt: skip


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container of a value with each of its keys."""
    keys = list(value) if isinstance(value, dict) else range(len(value))
    for key in keys:
        yield value, key
        if isinstance(value[key], (dict, list)):
            yield from places(value[key])


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(SHAPES), st.randoms(use_true_random=False), st.integers(1, 4), NAMES)
def test_any_damage_to_a_true_log_gives_calls_or_a_typed_error(
    shape: Any, random: Random, count: int, name: str
) -> None:
    log = copy.deepcopy(shape)
    for _ in range(count):
        holder, key = random.choice(list(places(log)) or [([None], 0)])
        if random.random() < 0.3:
            del holder[key]
        else:
            holder[key] = copy.deepcopy(random.choice(JUNK))
    read_any(log, name)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_undamaged_shapes_are_read(shape: Any) -> None:
    calls = tool_calls(shape)
    assert calls
    assert all(entry.result is not None for entry in calls)
    read_any(shape, "auto")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["auto", *FORMATS])
def test_every_single_damage_gives_calls_or_a_typed_error(shape: Any, name: str) -> None:
    """Each value of each shape in turn, replaced by each kind of JSON or taken out."""
    for number in range(len(list(places(shape)))):
        for junk in (None, True, 7, "x", [], [[]], {}, {"a": {}}, "gone"):
            log = copy.deepcopy(shape)
            holder, key = list(places(log))[number]
            if junk == "gone":
                del holder[key]
            else:
                holder[key] = junk
            read_any(log, name)
