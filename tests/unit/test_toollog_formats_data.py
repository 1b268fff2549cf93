"""Every real log, held to counts and texts that a plain walk over the JSON finds."""

from __future__ import annotations

import gzip
import json
import os
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from agentmem.toollog.formats import iter_tool_calls, read_messages, tool_calls

BESIDE = Path(__file__).resolve().parents[3] / "shared" / "data"
DATA = Path(os.environ.get("AGENTMEM_DATA", BESIDE)) / "toollogs"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="AGENTMEM_DATA names no evaluation data")

ALL = sorted(DATA.glob("*/*.gz")) if DATA.is_dir() else []


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines() if line]


def document(path: Path) -> Any:
    return json.loads(gzip.decompress(path.read_bytes()))


def plain_text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(block["text"] for block in content)
    return content or ""


def ids(paths: list[Path]) -> list[str]:
    return [path.name for path in paths]


CLAUDE = [path for path in ALL if path.parent.name == "claude-code"]
SWE = [path for path in ALL if path.parent.name == "swe-agent"]
MCP = [path for path in ALL if path.parent.name == "mcp"]
OPENHANDS = [path for path in ALL if path.parent.name == "openhands"]


@pytest.mark.parametrize("path", CLAUDE, ids=ids(CLAUDE))
def test_claude_code_calls_are_those_of_the_lines(path: Path) -> None:
    expected: list[list[Any]] = []
    results: dict[str, tuple[str, bool, str]] = {}
    batches: dict[str, set[str]] = {}
    for line in lines(path):
        message = line.get("message")
        if line["type"] not in ("user", "assistant") or not isinstance(message["content"], list):
            continue
        for block in message["content"]:
            if block["type"] == "tool_use":
                expected.append([block["name"], block["input"], block["id"], line["timestamp"]])
                batches.setdefault(message["id"], set()).add(block["id"])
            elif block["type"] == "tool_result":
                text = plain_text(block["content"])
                flag = block.get("is_error") is True
                results.setdefault(block["tool_use_id"], (text, flag, line["timestamp"]))
    calls = tool_calls(path)
    assert [(call.name, call.arguments, call.id) for call in calls] == [
        tuple(entry[:3]) for entry in expected
    ]
    assert {entry[2] for entry in expected} == set(results)
    for call, (*_, made) in zip(calls, expected, strict=True):
        text, flag, came = results[str(call.id)]
        assert (call.result, call.is_error) == (text, flag)
        assert call.started is not None
        assert call.ended is not None
        assert call.started.isoformat(timespec="milliseconds")[:23] == made[:23]
        assert call.ended.isoformat(timespec="milliseconds")[:23] == came[:23]
    found: dict[int | None, set[str]] = {}
    for call in calls:
        found.setdefault(call.batch, set()).add(str(call.id))
    assert sorted(map(sorted, found.values())) == sorted(map(sorted, batches.values()))


def test_airline_calls_are_those_of_the_episodes() -> None:
    path = DATA / "openai" / "airline-60.jsonl.gz"
    expected = []
    for episode in lines(path):
        open_calls: dict[str, list[Any]] = {}
        for message in episode["messages"]:
            for call in message.get("tool_calls") or []:
                function = call["function"]
                entry = [function["name"], json.loads(function["arguments"]), call["id"], None]
                open_calls[call["id"]] = entry
                expected.append(entry)
            if message["role"] == "tool":
                open_calls[message["tool_call_id"]][3] = message["content"]
    calls = tool_calls(path)
    assert len(calls) == 361
    assert [[call.name, call.arguments, call.id, call.result] for call in calls] == expected
    assert all(call.is_error == (call.result or "").startswith("Error") for call in calls)
    assert len({call.batch for call in calls}) == len(calls)


@pytest.mark.parametrize("path", MCP, ids=ids(MCP))
def test_mcp_calls_are_the_requests(path: Path) -> None:
    requests = []
    answers: dict[int, dict[str, Any]] = {}
    for line in lines(path):
        message = line["msg"]
        if message.get("method") == "tools/call":
            requests.append((message["id"], message["params"], line["ts"]))
        elif line["dir"] == "server->client":
            answers[message["id"]] = message["result"]
    calls = tool_calls(path)
    assert [(call.id, call.name, call.arguments) for call in calls] == [
        (str(number), params["name"], params["arguments"]) for number, params, _ in requests
    ]
    for call, (number, _, seconds) in zip(calls, requests, strict=True):
        answer = answers[number]
        assert call.result == plain_text(answer["content"])
        assert call.is_error == answer.get("isError", False)
        assert call.started is not None
        assert call.started.timestamp() == pytest.approx(seconds, abs=1e-5)
        assert call.ended is not None
        assert call.started < call.ended


@pytest.mark.parametrize("path", SWE, ids=ids(SWE))
def test_swe_agent_calls_are_the_steps(path: Path) -> None:
    run = document(path)
    calls = tool_calls(path)
    assert [call.result for call in calls] == [step["observation"] for step in run["trajectory"]]
    actions = [entry for entry in run["history"] if entry["role"] == "assistant"]
    for call, step, entry in zip(calls, run["trajectory"], actions, strict=True):
        if entry.get("tool_calls"):
            function = entry["tool_calls"][0]["function"]
            assert (call.name, call.id) == (function["name"], entry["tool_calls"][0]["id"])
            assert call.arguments == json.loads(function["arguments"])
        elif call.name == "bash":
            assert call.arguments == {"command": step["action"]}
        else:
            assert isinstance(call.arguments, str)
            joined = {f"{call.name}{call.arguments}", f"{call.name} {call.arguments}"}
            assert step["action"] in joined


@pytest.mark.parametrize("path", OPENHANDS, ids=ids(OPENHANDS))
def test_openhands_calls_are_the_model_s(path: Path) -> None:
    events = document(path)
    expected = []
    for event in events:
        metadata = event.get("tool_call_metadata")
        if "action" not in event or metadata is None:
            continue
        (call,) = metadata["model_response"]["choices"][0]["message"]["tool_calls"]
        answers = [other for other in events if other.get("cause") == event["id"]]
        result = answers[0]["content"] if answers else ""
        arguments = json.loads(call["function"]["arguments"])
        expected.append((call["function"]["name"], arguments, call["id"], result))
    calls = tool_calls(path)
    assert [(call.name, call.arguments, call.id, call.result) for call in calls] == expected
    assert {call.outcome for call in calls} == {"ok"}


@pytest.mark.parametrize("path", ALL, ids=ids(ALL))
def test_every_way_in_gives_the_same_calls(path: Path) -> None:
    data = gzip.decompress(path.read_bytes())
    calls = tool_calls(path)
    assert tool_calls(str(path)) == calls
    assert tool_calls(path.read_bytes()) == calls
    assert tool_calls(data) == calls
    assert tool_calls(data.decode()) == calls
    assert list(iter_tool_calls(path)) == calls
    objects = document(path) if path.parent.name in ("swe-agent", "openhands") else lines(path)
    assert tool_calls(objects) == calls
    name = {"openai": "openai"}.get(path.parent.name, path.parent.name)
    assert tool_calls(path, format=name) == calls
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / path.name.removesuffix(".gz")
        plain.write_bytes(data)
        assert tool_calls(plain) == calls


@pytest.mark.parametrize("path", ALL, ids=ids(ALL))
def test_messages_hold_every_record_and_the_same_calls(path: Path) -> None:
    messages = read_messages(path)
    calls = tool_calls(path)
    made = [message for message in messages if message.role == "tool_call"]
    assert [(message.name, message.arguments, message.call_id) for message in made] == [
        (call.name, call.arguments, call.id) for call in calls
    ]
    by_batch = Counter(call.batch for call in calls)
    assert Counter(message.batch for message in made) == by_batch
    # Records rise one by one, and each has one raw form.
    raws: dict[int, bytes] = {}
    for message in messages:
        assert raws.setdefault(message.record, message.raw) == message.raw
    assert list(raws) == list(range(len(raws)))
    if path.parent.name in ("claude-code", "mcp"):
        written = gzip.decompress(path.read_bytes()).split(b"\n")
        assert list(raws.values()) == [line for line in written if line]
    elif path.parent.name == "openhands":
        assert [json.loads(raw) for raw in raws.values()] == document(path)
    elif path.parent.name == "swe-agent":
        run = document(path)
        kept = [json.loads(raw) for raw in raws.values()]
        steps = [record for record in kept if "observation" in record]
        assert steps == run.pop("trajectory")
        assert kept[-1] == run
    else:
        flat = []
        for episode in lines(path):
            flat += [*episode["messages"], {"reward": episode["reward"]}]
        assert [json.loads(raw) for raw in raws.values()] == flat


def test_words_of_an_episode_keep_their_speakers() -> None:
    episode = lines(DATA / "openai" / "airline-60.jsonl.gz")[0]["messages"]
    said = [
        (message.role, message.text)
        for message in read_messages(episode)
        if message.role in ("user", "assistant", "system")
    ]
    assert said == [
        (message["role"], message["content"])
        for message in episode
        if message["role"] != "tool" and message["content"]
    ]


def test_a_folder_of_a_session_nests_its_sub_agent(tmp_path: Path) -> None:
    """The sub-agent's real file, under the session that has a call for an agent of that id."""
    main = lines(DATA / "claude-code" / "session-a.jsonl.gz")
    agents = [
        (line["toolUseResult"]["agentId"], line["message"]["content"][0]["tool_use_id"])
        for line in main
        if isinstance(line.get("toolUseResult"), dict) and "agentId" in line["toolUseResult"]
    ]
    assert len(agents) == 1
    agent_id, call_id = agents[0]
    folder = tmp_path / "project"
    inner = folder / "session" / "subagents"
    inner.mkdir(parents=True)
    data = gzip.decompress((DATA / "claude-code" / "session-a.jsonl.gz").read_bytes())
    (folder / "session.jsonl").write_bytes(data)
    sub = gzip.decompress((DATA / "claude-code" / "subagent-a.jsonl.gz").read_bytes())
    (inner / f"agent-{agent_id}.jsonl").write_bytes(sub.replace(b"a7be2f0", agent_id.encode()))
    for root in (folder, folder / "session"):
        calls = tool_calls(root)
        assert len(calls) == 242 + 19
        place = [call.id for call in calls].index(call_id)
        assert {call.parent_id for call in calls[place + 1 : place + 20]} == {call_id}
        others = calls[: place + 1] + calls[place + 20 :]
        assert {call.parent_id for call in others} == {None}
        assert [call.id for call in others] == [call.id for call in tool_calls(data)]
