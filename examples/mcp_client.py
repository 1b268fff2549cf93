"""An MCP client that remembers in one session and recalls in the next.

Run it with a folder: ``python examples/mcp_client.py memory/``. It starts ``agentmem mcp`` as any
client does, twice, so what the second session finds comes from disk.
"""

import json
import os
import sys

import anyio
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def call(folder: str, tool: str, **arguments: object) -> dict[str, object]:
    """Start a server, call one tool, and return its answer."""
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "agentmem", "mcp", "-m", folder],
        env=dict(os.environ),
    )
    async with stdio_client(server) as streams, ClientSession(*streams[:2]) as session:
        await session.initialize()
        done = await session.call_tool(tool, arguments)
        return json.loads(done.content[0].text)


async def main(folder: str) -> None:
    """Remember one fact, then ask for it."""
    fact = await call(folder, "remember", text="The staging database runs on port 6432.")
    print("remembered:", fact["status"])
    found = await call(folder, "recall", query="which port has the staging database?", k=1)
    print("recalled:", found["hits"][0]["text"])


anyio.run(main, sys.argv[1])
