"""The MCP server over streamable HTTP: on loopback only, with a bearer token.

A page in a browser can reach a loopback port too: by its own name (Origin), or by a name that its
owner points at 127.0.0.1 (Host). Both are refused before anything else is looked at.
"""

from __future__ import annotations

import hmac
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final

from agentmem.errors import InvalidInputError
from agentmem.integrations.mcp import CALL_TIMEOUT_S, make_server
from agentmem.integrations.mcp_sdk import http_app, names_of
from agentmem.memory import Memory

__all__ = ["Guard", "check_loopback", "check_token", "serve_http"]

MIN_TOKEN_CHARS: Final = 16
MAX_PORT: Final = 65_535
PATH: Final = "/mcp"

_Receive = Callable[[], Awaitable[Any]]
_Send = Callable[[Any], Awaitable[None]]


def check_loopback(host: str) -> str:
    """Return a host as the numeric loopback address that is meant.

    Raises:
        InvalidInputError: It is not on loopback: the server is for this machine alone.
    """
    if host == "localhost":
        return "127.0.0.1"
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        address = None
    if address is None or not address.is_loopback:
        raise InvalidInputError(
            f"host: a loopback address such as 127.0.0.1 is needed, {host!r} was given"
        )
    return host


def check_token(token: str) -> str:
    """Return a token that can guard a server.

    Raises:
        InvalidInputError: It is too short, or can't stand in a header.
    """
    if not isinstance(token, str) or len(token) < MIN_TOKEN_CHARS:
        raise InvalidInputError(f"token: at least {MIN_TOKEN_CHARS} characters are needed")
    if not token.isascii() or any(not "!" <= char <= "~" for char in token):
        raise InvalidInputError("token: only printable ASCII without spaces is allowed")
    return token


class Guard:
    """An ASGI app that lets only requests of the token's holder through to another one.

    Args:
        app: What is guarded.
        token: What the header ``Authorization: Bearer …`` has to hold.
        hosts: Allowed values of the Host header, with port; ``http://`` before one makes an
            allowed Origin.
    """

    def __init__(self, app: Any, *, token: str, hosts: Iterable[str]) -> None:
        self._app = app
        self._token = token.encode()
        self._hosts = frozenset(host.encode() for host in hosts)
        self._origins = frozenset(b"http://" + host for host in self._hosts)

    async def __call__(self, scope: Any, receive: _Receive, send: _Send) -> None:
        """Serve one connection, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        refused = self._refused(scope["headers"])
        if refused is None:
            await self._app(scope, receive, send)
            return
        status, reason = refused
        headers = [(b"content-type", b"text/plain; charset=utf-8")]
        if status == 401:  # noqa: PLR2004
            headers.append((b"www-authenticate", b'Bearer realm="agentmem"'))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": reason})

    def _refused(self, headers: Iterable[tuple[bytes, bytes]]) -> tuple[int, bytes] | None:
        """Return the status and reason of a refusal; a header given twice is none of ours."""
        found: dict[bytes, list[bytes]] = {b"host": [], b"origin": [], b"authorization": []}
        for name, value in headers:
            if name in found:
                found[name].append(value)
        if len(found[b"host"]) != 1 or found[b"host"][0].lower() not in self._hosts:
            return 421, b"this server does not go by that Host\n"
        origins = found[b"origin"]
        if origins and (len(origins) > 1 or origins[0].lower() not in self._origins):
            return 403, b"this Origin may not use the server\n"
        given = found[b"authorization"]
        scheme, _, token = given[0].partition(b" ") if len(given) == 1 else (b"", b"", b"")
        if scheme.lower() != b"bearer" or not hmac.compare_digest(token.strip(), self._token):
            return 401, b"the bearer token is missing or wrong\n"
        return None


def serve_http(
    memory: Memory,
    *,
    token: str,
    host: str = "127.0.0.1",
    port: int = 0,
    call_timeout_s: float = CALL_TIMEOUT_S,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve on a loopback address until the process is told to stop.

    Args:
        memory: What the tools work on.
        token: What clients have to show.
        host: A loopback address.
        port: The port; 0 for any free one.
        call_timeout_s: How long a call may take.
        ready: Called with the URL once the port is bound.

    Raises:
        InvalidInputError: The host is not on loopback, or the token or port is none.
        OSError: The port can't be bound.
    """
    import uvicorn

    host = check_loopback(host)
    check_token(token)
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port <= MAX_PORT:
        raise InvalidInputError(f"port: 0 to {MAX_PORT} is allowed, {port!r} was given")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        bound = listening.getsockname()[1]
        server = make_server(memory, call_timeout_s=call_timeout_s, http=(host, bound))
        hosts = names_of(host, bound)
        app = Guard(http_app(server, host, bound), token=token, hosts=hosts)
        if ready is not None:
            ready(f"http://{hosts[0]}{PATH}")
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, server_header=False,
            timeout_graceful_shutdown=5,
        )  # fmt: skip
        uvicorn.Server(config).run(sockets=[listening])
