"""The MCP server as the official client sees it, over stdio and over HTTP."""

import http.client
import json
import subprocess
import sys
from urllib.parse import urlsplit

import pytest

pytest.importorskip("mcp", reason="needs agentmem-tiers[mcp]")
import anyio
from tests.integrations.mcp_parts import (
    TOKEN,
    TOOLS,
    environment,
    http_server,
    http_session,
    plain,
    stdio_session,
)

import agentmem

CALL = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "a.py\nb.py \ud800"}
LOG = [
    {"role": "user", "content": "List the files. I prefer tabs."},
    {"role": "assistant", "content": [CALL]},
    {"role": "user", "content": [{**RESULT, "content": "a.py\nb.py"}]},
]
pytestmark = pytest.mark.timeout(300)


async def call(session, name, /, *, is_error=False, **arguments):
    """Call a tool; return its structured output, or the text of its error."""
    done = plain(await session.call_tool(name, arguments))
    text = "".join(block["text"] for block in done["content"] if block["type"] == "text")
    assert bool(done["isError"]) is is_error, text
    if is_error:
        return text
    # The text says the same for clients that know no typed output.
    assert json.loads(text) == done["structuredContent"]
    return done["structuredContent"]


async def use_every_tool(session):
    """Call each tool once and check what comes back; return the names that were called."""
    tools = {tool["name"]: tool for tool in plain(await session.list_tools())["tools"]}
    assert set(tools) == TOOLS
    for name, tool in tools.items():
        assert tool["description"], name
        assert tool["outputSchema"]["type"] == "object", name
        hints = tool["annotations"]
        assert hints["destructiveHint"] is (name == "forget"), name
        assert hints["readOnlyHint"] is (name not in ("remember", "capture", "forget")), name

    first = await call(
        session, "remember", text="Deploys go to Fly.io.", key="deploy", tags=["ops"]
    )
    assert first["status"] == "new"
    second = await call(session, "remember", text="Deploys go to Hetzner.", key="deploy")
    assert second["supersedes"] == [first["id"]]
    found = await call(session, "recall", query="where do we deploy?", k=3)
    assert [hit["id"] for hit in found["hits"]] == [second["id"]]
    assert found["hits"][0]["text"] == "Deploys go to Hetzner."

    captured = await call(session, "capture", messages=LOG, session="s1")
    assert captured["new"] == 3
    again = await call(session, "capture", messages=LOG, session="s1")
    assert (again["new"], again["duplicates"]) == (0, 3)
    drawn = await call(session, "canvas", session="s1")
    assert drawn["calls"] == 1
    assert agentmem.parse(drawn["text"])[0].tool == "Bash"
    opened = await call(session, "expand", ref="c1", session="s1")
    assert opened["text"] == "a.py\nb.py"
    line = await call(session, "expand", ref=captured["ids"][2], grep="b.p")
    assert line["text"] == "2:b.py"

    walked = await call(session, "trace", id=second["id"])
    assert [turn["text"] for turn in walked["evidence"]] == ["Deploys go to Hetzner."]
    known = await call(session, "context", query="deploy", budget_tokens=400)
    assert "Hetzner" in known["text"]
    assert 0 < known["tokens"] <= 400
    assert (await call(session, "scenes"))["scenes"] == []
    assert (await call(session, "persona"))["version"] == 0
    skills = await call(session, "skills_loadout", owner="alice", query="deploy")
    assert skills["identities"] == []

    preview = await call(session, "forget", ids=[second["id"]])
    assert preview["dry_run"] is True
    assert second["id"] in preview["ids"]
    assert (await call(session, "recall", query="deploy"))["hits"]
    gone = await call(session, "forget", ids=[second["id"]], dry_run=False)
    assert gone["ids"] == preview["ids"]
    assert (await call(session, "recall", query="deploy"))["hits"] == []
    return set(tools)


async def read_resources(session):
    listed = plain(await session.list_resources())["resources"]
    assert {one["uri"] for one in listed} == {"agentmem://persona", "agentmem://scenes"}
    for one in listed:
        read = plain(await session.read_resource(one["uri"]))["contents"][0]
        assert read["text"].startswith(("Nothing is known", "There are no scenes"))
    templates = plain(await session.list_resource_templates())["resourceTemplates"]
    assert [one["uriTemplate"] for one in templates] == ["agentmem://scenes/{id}"]


async def refuse_bad_calls(session):
    """What a tool can't do is an error of the tool, said so that a model can mend it."""
    assert "L1:999" in await call(session, "trace", is_error=True, id="L1:999")
    assert "id" in await call(session, "trace", is_error=True, id="no id")
    assert "session" in await call(session, "canvas", is_error=True, session="nobody's")
    assert "since" in await call(session, "recall", is_error=True, query="x", since="yesterday")
    assert "k" in await call(session, "recall", is_error=True, query="x", k=100_000)
    assert "query" in await call(session, "recall", is_error=True)
    assert await call(session, "forget", is_error=True)
    assert await call(session, "remember", is_error=True, text="   ")
    assert await call(session, "recall", is_error=True, query="x", scope="a//b")
    # A text is no list of messages: no path of the server's files is ever read.
    assert await call(session, "capture", is_error=True, messages="/etc/passwd", session="s")
    assert await call(session, "capture", is_error=True, messages=["/etc/passwd"], session="s")
    # And the server still answers.
    assert (await call(session, "scenes"))["scenes"] == []


def test_stdio_serves_every_tool_and_resource(tmp_path):
    async def main():
        async with stdio_session(tmp_path / "memory") as session:
            assert await use_every_tool(session) == TOOLS
            await read_resources(session)
            await refuse_bad_calls(session)

    anyio.run(main)


def test_http_serves_every_tool_and_resource_and_refuses_others(tmp_path):
    async def main(url):
        async with http_session(url) as session:
            assert await use_every_tool(session) == TOOLS
            await read_resources(session)
            await refuse_bad_calls(session)

    with http_server(tmp_path / "memory") as said:
        assert "token" not in said
        anyio.run(main, said["url"])
        refuse_strangers(said["url"])


def refuse_strangers(url):
    place = urlsplit(url)
    good = {"Host": place.netloc, "Authorization": f"Bearer {TOKEN}"}
    initialize = {
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {},
                   "clientInfo": {"name": "test", "version": "1"}},
    }  # fmt: skip

    def status(method="POST", drop=(), **changes):
        connection = http.client.HTTPConnection(place.hostname, place.port, timeout=30)
        headers = {**good, "Content-Type": "application/json",
                   "Accept": "application/json, text/event-stream", **changes}  # fmt: skip
        connection.putrequest(method, place.path, skip_host=True, skip_accept_encoding=True)
        body = json.dumps(initialize).encode() if method == "POST" else b""
        for name, value in headers.items():
            if name not in drop:
                connection.putheader(name, value)
        connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        connection.close()
        return answer.status

    assert status() == 200
    assert status(Host=f"localhost:{place.port}") == 200
    assert status(Origin=f"http://localhost:{place.port}") == 200
    for method in ("POST", "GET", "DELETE", "OPTIONS"):
        for host in ("evil.example", f"evil.example:{place.port}", "127.0.0.1", "localhost:1", ""):
            assert status(method, Host=host) == 421, (method, host)
        for origin in ("http://evil.example", "null", f"https://localhost:{place.port}", "file://"):
            assert status(method, Origin=origin) == 403, (method, origin)
        assert status(method, drop=("Authorization",)) == 401
        for given in ("Bearer ", "Bearer wrong", f"Bearer {TOKEN}x", f"Basic {TOKEN}", TOKEN,
                      f"Bearer {TOKEN[:-1]}", "Bearer \xff"):  # fmt: skip
            assert status(method, Authorization=given) == 401, (method, given)


def test_http_makes_a_token_and_keeps_to_loopback(tmp_path):
    with http_server(tmp_path / "memory", token=None) as said:
        assert len(said["token"]) >= 32

    def run(*arguments, **more):
        return subprocess.run(
            [sys.executable, "-m", "agentmem", "mcp", "--http", "-m", str(tmp_path / "memory"),
             *arguments],
            env=environment(**more), capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip

    for host in ("0.0.0.0", "192.168.1.5", "example.com", "::"):
        refused = run("--host", host)
        assert refused.returncode == 1
        assert "loopback" in refused.stderr
    assert run(AGENTMEM_MCP_TOKEN="short").returncode == 2


def test_a_call_that_takes_too_long_is_an_error_and_holds_up_nobody(tmp_path):
    import time

    from agentmem.integrations.mcp import make_server

    class Slow(agentmem.Memory):
        def scenes(self, *, limit=100):
            time.sleep(3)
            return super().scenes(limit=limit)

    async def main(memory):
        from agentmem.integrations.mcp_sdk import ToolError

        server = make_server(memory, call_timeout_s=0.5)
        began = time.monotonic()
        with pytest.raises(ToolError, match=r"no answer within 0\.5 s"):
            await server.call_tool("scenes", {})
        async with anyio.create_task_group() as group:
            group.start_soon(swallow, server)
            await server.call_tool("persona", {})
        assert time.monotonic() - began < 2.5

    async def swallow(server):
        with pytest.raises(Exception, match="no answer"):
            await server.call_tool("scenes", {})

    with Slow(tmp_path / "memory") as memory:
        anyio.run(main, memory)
        time.sleep(3)


def test_texts_that_utf8_lacks_are_sent_escaped(tmp_path):
    async def main(memory):
        from agentmem.integrations.mcp import make_server

        memory.capture([LOG[0], LOG[1], {"role": "user", "content": [RESULT]}], session="s")
        done = await make_server(memory).call_tool("expand", {"ref": "c1", "session": "s"})
        assert "b.py \\\\ud800" in str(done)

    with agentmem.Memory(tmp_path / "memory") as memory:
        anyio.run(main, memory)
