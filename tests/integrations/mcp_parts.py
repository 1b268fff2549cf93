"""A server process and the official client, on either major of the SDK."""

import json
import os
import re
import subprocess
import sys
import threading
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
TOKEN = "a-token-of-the-tests-0123456789"
TOOLS = {
    "remember", "recall", "context", "capture", "trace", "forget", "canvas", "expand", "scenes",
    "persona", "skills_loadout",
}  # fmt: skip


def environment(**more):
    # What an installed SDK of another major is put in front with stays in front.
    path = os.pathsep.join([*filter(None, [os.environ.get("PYTHONPATH")]), str(ROOT / "python")])
    return os.environ | {"PYTHONPATH": path} | more


def plain(model):
    """Return what was received by its names on the wire, the same in both majors."""
    return model.model_dump(mode="json", by_alias=True)


@asynccontextmanager
async def stdio_session(folder, *arguments):
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "agentmem", "mcp", "-m", str(folder), *arguments],
        env=environment(),
    )
    async with stdio_client(server) as streams, ClientSession(*streams[:2]) as session:
        await session.initialize()
        yield session


@asynccontextmanager
async def http_session(url, token=TOKEN):
    from mcp import ClientSession
    from mcp.client.streamable_http import streamable_http_client

    from agentmem.integrations.mcp_sdk import SDK_MAJOR

    if SDK_MAJOR >= 2:
        import httpx2 as httpx
    else:
        import httpx
    async with (
        httpx.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60) as client,
        streamable_http_client(url, http_client=client) as streams,
        ClientSession(*streams[:2]) as session,
    ):
        await session.initialize()
        yield session


@contextmanager
def http_server(folder, *arguments, token=TOKEN):
    """Run ``agentmem mcp --http`` and yield its URL and what it said on standard error."""
    more = {"AGENTMEM_MCP_TOKEN": token} if token else {}
    process = subprocess.Popen(
        [sys.executable, "-m", "agentmem", "mcp", "--http", "--port", "0", "-m", str(folder),
         "--json", *arguments],
        env=environment(**more), stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    reader = threading.Thread(target=process.stderr.read)
    try:
        said = process.stderr.readline()
        assert re.match(r'\{"url": "http', said), said + process.stderr.read()
        # What else it says must not fill the pipe and stop it.
        reader.start()
        yield json.loads(said)
    finally:
        process.terminate()
        process.wait(30)
        reader.join(30)
        process.stderr.close()
