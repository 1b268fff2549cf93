"""The official MCP SDK by the names that its majors 1 and 2 share.

Major 2 renamed the server class and moved the options of HTTP from it to the app.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as version_of
from typing import Any, Final, TypeVar

from agentmem.errors import InvalidInputError

__all__ = [
    "READS",
    "WRITES",
    "WRITES_AND_REMOVES",
    "ResourceError",
    "ToolError",
    "http_app",
    "names_of",
    "new_server",
    "resource",
    "tool",
]

F = TypeVar("F", bound=Callable[..., Any])


def _major() -> int:
    try:
        return int(version_of("mcp").partition(".")[0])
    except PackageNotFoundError as error:
        raise InvalidInputError(
            "the MCP server needs the SDK: pip install 'agentmem-tiers[mcp]'"
        ) from error


SDK_MAJOR: Final = _major()
_IS_NEW: Final = SDK_MAJOR >= 2  # noqa: PLR2004
_HOME: Final = "mcp.server.mcpserver" if _IS_NEW else "mcp.server.fastmcp"
_Server: Final[Any] = getattr(import_module(_HOME), "MCPServer" if _IS_NEW else "FastMCP")
_ERRORS: Final[Any] = import_module(f"{_HOME}.exceptions")
_SECURITY: Final[Any] = import_module("mcp.server.transport_security")
ToolError: Final[type[Exception]] = _ERRORS.ToolError
ResourceError: Final[type[Exception]] = _ERRORS.ResourceError


def _hints(*, reads: bool, removes: bool) -> Any:
    return import_module("mcp.types").ToolAnnotations(
        readOnlyHint=reads, destructiveHint=removes, idempotentHint=True, openWorldHint=False
    )


READS: Final = _hints(reads=True, removes=False)
WRITES: Final = _hints(reads=False, removes=False)
WRITES_AND_REMOVES: Final = _hints(reads=False, removes=True)


def tool(server: Any, title: str, hints: Any) -> Callable[[F], F]:
    """Return a decorator that makes a function with typed output a tool of a server."""
    made: Callable[[F], F] = server.tool(title=title, annotations=hints, structured_output=True)
    return made


def resource(server: Any, uri: str, title: str, description: str) -> Callable[[F], F]:
    """Return a decorator that makes a function a Markdown resource of a server."""
    made: Callable[[F], F] = server.resource(
        uri, name=title.lower(), title=title, mime_type="text/markdown", description=description
    )
    return made


def security(hosts: list[str]) -> Any:
    """Return the SDK's own checks of Host and Origin for these hosts with port."""
    return _SECURITY.TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=hosts,
        allowed_origins=[f"http://{host}" for host in hosts],
    )


def new_server(name: str, *, instructions: str, version: str, http: tuple[str, int] | None) -> Any:
    """Return a server without tools."""
    if _IS_NEW:
        return _Server(name, instructions=instructions, version=version, log_level="WARNING")
    more: dict[str, Any] = {}
    if http is not None:
        more = {"host": http[0], "port": http[1], "transport_security": security(names_of(*http))}
    server = _Server(name, instructions=instructions, log_level="WARNING", **more)
    server._mcp_server.version = version  # noqa: SLF001 - this major has no argument for it
    return server


def names_of(host: str, port: int) -> list[str]:
    """Return what a client may call a server on a loopback address, as in its Host header."""
    literal = f"[{host}]" if ":" in host else host
    return list(dict.fromkeys(f"{name}:{port}" for name in (literal, "127.0.0.1", "localhost")))


def http_app(server: Any, host: str, port: int) -> Any:
    """Return the ASGI app that serves a server at ``/mcp``."""
    if _IS_NEW:
        return server.streamable_http_app(
            host=host, transport_security=security(names_of(host, port))
        )
    return server.streamable_http_app()
