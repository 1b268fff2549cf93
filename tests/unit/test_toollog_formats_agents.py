"""The shapes of agent frameworks: LangChain, Claude Code, SWE-agent, OpenHands, plain objects."""

from __future__ import annotations

import json
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from agentmem.errors import InvalidInputError
from agentmem.toollog.formats import read_messages, tool_calls
from agentmem.toollog.models import ToolCall


def row(call: ToolCall) -> tuple[Any, ...]:
    return (call.name, call.arguments, call.result, call.outcome, call.id)


# LangChain


def test_langchain_objects_and_dumps() -> None:
    messages = pytest.importorskip("langchain_core.messages")
    load = pytest.importorskip("langchain_core.load")
    invalid = {"name": "g", "args": "{", "id": "2", "error": "no JSON", "type": "invalid_tool_call"}
    log = [
        messages.SystemMessage("be brief"),
        messages.HumanMessage("hi"),
        messages.AIMessage(
            content=[{"type": "text", "text": "I look"}],
            tool_calls=[
                {"name": "f", "args": {"a": 1}, "id": "1"},
                {"name": "h", "args": {}, "id": "3"},
            ],
            invalid_tool_calls=[invalid],
        ),
        messages.ToolMessage("bad", tool_call_id="3", status="error"),
        messages.ToolMessage("good", tool_call_id="1"),
    ]
    expected = [
        ("f", {"a": 1}, "good", "ok", "1"),
        ("h", {}, "bad", "error", "3"),
        ("g", "{", "no JSON", "error", "2"),
    ]
    dumped: list[Any] = [
        log,
        {"messages": log},
        [message.model_dump() for message in log],
        [load.dumpd(message) for message in log],
        messages.messages_to_dict(log),
    ]
    for form in dumped:
        calls = tool_calls(form)
        assert [row(call) for call in calls] == expected
        assert {call.batch for call in calls} == {0}
        roles = [(message.role, message.text) for message in read_messages(form)][:3]
        assert roles == [("system", "be brief"), ("user", "hi"), ("assistant", "I look")]


def test_langchain_dicts_without_the_package() -> None:
    log = [
        {"type": "human", "data": {"content": "hi", "type": "human"}},
        {
            "type": "ai",
            "data": {"content": "", "tool_calls": [{"name": "f", "args": {}, "id": "1"}]},
        },
        {
            "lc": 1,
            "type": "constructor",
            "id": ["langchain", "schema", "messages", "ToolMessage"],
            "kwargs": {"content": "x", "tool_call_id": "1"},
        },
    ]
    assert [row(call) for call in tool_calls(log)] == [("f", {}, "x", "ok", "1")]


# Claude Code


def session(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, "uuid": fields.pop("uuid", "u"), "sessionId": "s", **fields}


def agent_call(id_: str, **arguments: Any) -> dict[str, Any]:
    return {
        "id": "m" + id_,
        "role": "assistant",
        "content": [{"type": "tool_use", "id": id_, "name": "Task", "input": arguments}],
    }


def agent_result(id_: str) -> dict[str, Any]:
    return {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": id_, "content": "r"}],
    }


def test_claude_code_sidechain_lines_know_their_call() -> None:
    side = {"isSidechain": True}
    log = [
        session("assistant", message=agent_call("t1", prompt="look around")),
        session(
            "user",
            uuid="a",
            parentUuid=None,
            message={"role": "user", "content": "look around"},
            **side,
        ),
        session("assistant", uuid="b", parentUuid="a", message=agent_call("i1"), **side),
        session("user", uuid="c", parentUuid="b", message=agent_result("i1"), **side),
        session("user", message=agent_result("t1")),
        session("assistant", message=agent_call("t2"), parent_tool_use_id="given"),
    ]
    assert [(call.id, call.parent_id) for call in tool_calls(log)] == [
        ("t1", None),
        ("i1", "t1"),
        ("t2", "given"),
    ]


def test_claude_code_injected_lines_are_no_turns() -> None:
    log = [
        session("assistant", message=agent_call("1")),
        session("user", isMeta=True, message={"role": "user", "content": "injected"}),
        session("user", isCompactSummary=True, message={"role": "user", "content": "summary"}),
        session("progress", data={"type": "hook_progress"}),
    ]
    assert tool_calls(log)[0].outcome == "pending"
    assert [message.role for message in read_messages(log)] == [
        "tool_call",
        "other",
        "other",
        "other",
    ]


def test_claude_code_folder_nests_agents_of_agents(tmp_path: Any) -> None:
    def write(path: Any, *records: Any) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(map(json.dumps, records)))

    def linked(id_: str, agent: str) -> dict[str, Any]:
        return session("user", message=agent_result(id_), toolUseResult={"agentId": agent})

    write(
        tmp_path / "s.jsonl",
        session("assistant", message=agent_call("t1")),
        linked("t1", "zz"),
        session("assistant", message=agent_call("t2")),
    )
    agents = tmp_path / "s" / "subagents"
    # The inner agent's file comes first by name.
    write(agents / "agent-aa.jsonl", session("assistant", agentId="aa", message=agent_call("i2")))
    write(
        agents / "agent-zz.jsonl",
        session("assistant", agentId="zz", message=agent_call("i1")),
        linked("i1", "aa"),
    )
    write(agents / "agent-stray.jsonl", session("assistant", message=agent_call("i3")))
    assert [(call.id, call.parent_id) for call in tool_calls(tmp_path)] == [
        ("t1", None),
        ("i1", "t1"),
        ("i2", "i1"),
        ("t2", None),
        ("i3", None),
    ]
    (tmp_path / "none").mkdir()
    with pytest.raises(InvalidInputError, match="no session"):
        tool_calls(tmp_path / "none")


# SWE-agent


def test_swe_agent_history_alone() -> None:
    history = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "demo", "is_demo": True},
        {"role": "user", "content": "fix it"},
        {"role": "assistant", "content": "look", "thought": "look", "action": "open a.py\n"},
        {"role": "user", "content": "[File: a.py]"},
        {"role": "assistant", "content": "x", "thought": "x", "action": "python a.py"},
        {"role": "user", "content": "Traceback (most recent call last)\n…"},
        {"role": "assistant", "content": "no command", "action": ""},
        {"role": "user", "content": "Your output was not formatted correctly."},
    ]
    for log in ({"history": history, "trajectory": []}, {"history": history}):
        assert [row(call)[:4] for call in tool_calls(log)] == [
            ("open", "a.py\n", "[File: a.py]", "ok"),
            ("bash", {"command": "python a.py"}, "Traceback (most recent call last)\n…", "error"),
        ]


# OpenHands


def test_openhands_events_without_metadata() -> None:
    log = [
        {"id": 0, "source": "user", "action": "message", "args": {"content": "go"}},
        {"id": 1, "source": "agent", "action": "run", "args": {"command": "ls", "thought": "look"}},
        {"id": 2, "source": "agent", "action": "run", "args": {"command": "false"}},
        {"id": 3, "cause": 2, "observation": "run", "content": "", "extras": {"exit_code": 1}},
        {
            "id": 4,
            "cause": 1,
            "observation": "run",
            "content": "a",
            "extras": {"metadata": {"exit_code": 0}},
        },
        {
            "id": 5,
            "source": "environment",
            "observation": "agent_state_changed",
            "content": "",
            "extras": {},
        },
        {"id": 6, "source": "agent", "action": "browse", "args": {"url": "x"}},
        {"id": 7, "cause": 6, "observation": "error", "content": "unreachable", "extras": {}},
        {"id": 8, "source": "agent", "action": "finish", "args": {"outputs": {}}},
        {"id": 9, "source": "user", "action": "message", "args": {"content": "thanks"}},
    ]
    calls = tool_calls(log)
    assert [row(call)[:4] for call in calls] == [
        ("run", {"command": "ls"}, "a", "ok"),
        ("run", {"command": "false"}, "", "error"),
        ("browse", {"url": "x"}, "unreachable", "error"),
        ("finish", {"outputs": {}}, "", "ok"),
    ]
    assert calls[0].batch == calls[1].batch


def test_openhands_sdk_events() -> None:
    def event(kind: str, id_: str, **fields: Any) -> dict[str, Any]:
        return {"kind": kind, "id": id_, "timestamp": "2026-02-26T09:53:26.650830", **fields}

    def action(id_: str, response: str, arguments: str) -> dict[str, Any]:
        call = {"id": "c" + id_, "name": "terminal", "arguments": arguments, "origin": "completion"}
        return event(
            "ActionEvent",
            id_,
            thought=[{"type": "text", "text": "I look."}] if id_ == "1" else [],
            action={"kind": "TerminalAction", "command": "ls"},
            tool_name="terminal",
            tool_call_id="c" + id_,
            tool_call=call,
            llm_response_id=response,
        )

    def seen(id_: str, text: str, **fields: Any) -> dict[str, Any]:
        content = [{"type": "text", "text": text}]
        return event(
            "ObservationEvent",
            "o" + id_,
            tool_name="terminal",
            tool_call_id="c" + id_,
            action_id=id_,
            observation={"kind": "TerminalObservation", "content": content, **fields},
        )

    log = [
        event("SystemPromptEvent", "s", system_prompt={"type": "text", "text": "be brief"}),
        event(
            "MessageEvent",
            "m",
            llm_message={"role": "user", "content": [{"type": "text", "text": "go"}]},
        ),
        action("1", "r1", '{"command": "ls"}'),
        action("2", "r1", '{"command": "false"}'),
        seen("2", "", exit_code=1, is_error=False),
        seen("1", "a", exit_code=0, is_error=False),
        action("3", "r2", "{"),
        event("AgentErrorEvent", "e", error="no JSON", tool_name="terminal", tool_call_id="c3"),
        action("4", "r3", "{}"),
        event(
            "UserRejectObservation", "u", rejection_reason="no", tool_call_id="c4", action_id="4"
        ),
        event("ConversationStateUpdateEvent", "x", key="k", value=1),
        event("ActionEvent", "5", tool_name="terminal", action={"kind": "A", "command": "pwd"}),
        event("ObservationEvent", "o5", action_id="5", observation={"output": "/", "exit_code": 0}),
    ]
    calls = tool_calls(log)
    assert [row(call)[1:] for call in calls] == [
        ({"command": "ls"}, "a", "ok", "c1"),
        ({"command": "false"}, "", "error", "c2"),
        ("{", "no JSON", "error", "c3"),
        ({}, "no", "error", "c4"),
        ({"command": "pwd"}, "/", "ok", None),
    ]
    assert [call.batch for call in calls] == [0, 0, 1, 2, 3]
    assert [(message.role, message.text) for message in read_messages(log)][:3] == [
        ("system", "be brief"),
        ("user", "go"),
        ("assistant", "I look."),
    ]


# Any host's objects


def test_objects_with_attributes_and_dataclasses() -> None:
    @dataclass
    class Turn:
        role: str
        content: Any

    use = {"type": "tool_use", "id": "1", "name": "f", "input": {}}
    log: list[Any] = [
        Turn("assistant", [use]),
        SimpleNamespace(
            role="user", content=[{"type": "tool_result", "tool_use_id": "1", "content": "x"}]
        ),
    ]
    assert [row(call) for call in tool_calls(log)] == [("f", {}, "x", "ok", "1")]


@pytest.mark.parametrize("name", ["", "opnai", "OpenAI", None, 3, ["openai"]])
def test_unknown_format_names_the_known(name: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"format must be one of auto, claude-code.*codex"):
        tool_calls([], format=name)
