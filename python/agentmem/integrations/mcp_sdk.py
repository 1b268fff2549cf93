"""The official MCP SDK by the names that its majors 1 and 2 share.

Major 2 renamed the server class and moved the options of HTTP from it to the app.
"""

from __future__ import annotations

from importlib.metadata import version as version_of
from typing import Any, Final

from agentmem.errors import InvalidInputError

try:
    import mcp
except ModuleNotFoundError as error:
    raise InvalidInputError(
        "the MCP server needs the SDK: pip install 'agentmem-tiers[mcp]'"
    ) from error

__all__ = ["SDK_MAJOR", "ResourceError", "ToolAnnotations", "ToolError", "http_app", "new_server"]

SDK_MAJOR: Final = int(version_of("mcp").partition(".")[0])

if SDK_MAJOR >= 2:  # noqa: PLR2004
    from mcp.server.mcpserver import MCPServer as _Server
    from mcp.server.mcpserver.exceptions import ResourceError, ToolError
else:
    from mcp.server.fastmcp import FastMCP as _Server
    from mcp.server.fastmcp.exceptions import ResourceError, ToolError

from mcp.server.transport_security import TransportSecuritySettings

ToolAnnotations: Final[Any] = mcp.types.ToolAnnotations


def security(hosts: list[str]) -> TransportSecuritySettings:
    """Return the SDK's own checks of Host and Origin for these hosts with port."""
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=hosts,
        allowed_origins=[f"http://{host}" for host in hosts],
    )


def new_server(
    name: str, *, instructions: str, version: str, http: tuple[str, int] | None
) -> Any:
    """Return a server without tools."""
    if SDK_MAJOR >= 2:  # noqa: PLR2004
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
    if SDK_MAJOR >= 2:  # noqa: PLR2004
        return server.streamable_http_app(
            host=host, transport_security=security(names_of(host, port))
        )
    return server.streamable_http_app()
