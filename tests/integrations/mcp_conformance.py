"""Serve a memory over HTTP to the public conformance runner, which can send no token.

Usage: ``python -m tests.integrations.mcp_conformance FOLDER``; it prints the URL. The token is
added to each request in front of the guard; Host and Origin reach it as they were sent.
"""

import sys

import agentmem
from agentmem.integrations import mcp_http

TOKEN = "the-token-of-the-conformance-run"


class WithToken(mcp_http.Guard):
    async def __call__(self, scope, receive, send):
        if scope["type"] == "http":
            header = (b"authorization", f"Bearer {TOKEN}".encode())
            scope = scope | {"headers": [*scope["headers"], header]}
        await super().__call__(scope, receive, send)


if __name__ == "__main__":
    mcp_http.Guard = WithToken
    with agentmem.Memory(sys.argv[1]) as memory:
        mcp_http.serve_http(memory, token=TOKEN, ready=lambda url: print(url, flush=True))
