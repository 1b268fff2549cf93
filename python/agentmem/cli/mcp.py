"""``agentmem mcp``."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import click

from agentmem.cli.common import as_json, open_memory
from agentmem.errors import InvalidInputError

TOKEN_VARIABLE = "AGENTMEM_MCP_TOKEN"  # noqa: S105 - a name, not a token


def _token(file: Path | None) -> tuple[str, bool]:
    """Return the token and whether it was made here; the command line would show it to others."""
    if file is not None:
        return file.read_text(encoding="utf-8").strip(), False
    given = os.environ.get(TOKEN_VARIABLE)
    return (given, False) if given else (secrets.token_urlsafe(32), True)


@click.command("mcp")
@click.option("--http", "is_http", is_flag=True, help="Streamable HTTP on loopback, not stdio.")
@click.option("--host", default="127.0.0.1", show_default=True, help="A loopback address.")
@click.option("--port", type=click.IntRange(0, 65_535), default=8765, show_default=True)
@click.option(
    "--token-file", type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help=f"Holds the bearer token; else ${TOKEN_VARIABLE}, else one is made and printed.",
)  # fmt: skip
@click.option("--timeout", "timeout_s", type=click.FloatRange(min=0.1), default=120.0,
              show_default=True, help="Seconds that one call may take.")  # fmt: skip
@click.option("--scope", default="", help="The scope, as in 'acme/alice'.")
@click.option("--json", "json_output", is_flag=True, help="Say where it listens as JSON.")
@click.option(
    "-m", "--memory", "path", default="~/.agentmem", envvar="AGENTMEM_MEMORY",
    type=click.Path(path_type=Path),
    help="The folder [default: $AGENTMEM_MEMORY, else ~/.agentmem].",
)  # fmt: skip
def command(
    path: Path,
    *,
    is_http: bool,
    host: str,
    port: int,
    token_file: Path | None,
    timeout_s: float,
    scope: str,
    json_output: bool,
) -> None:
    """Serve the memory to MCP clients: on standard input and output, or over HTTP.

    Needs the extra 'mcp'. Over HTTP the address and a token that was made are printed on standard
    error.
    """
    import logging

    from agentmem.integrations.mcp import serve_stdio

    # Hosts start it in any folder: a relative default would mean another memory each time.
    path = path.expanduser()
    # Standard output belongs to the protocol.
    logging.basicConfig(level=logging.WARNING)
    if not is_http:
        with open_memory(path, scope, create=True) as memory:
            serve_stdio(memory, call_timeout_s=timeout_s)
        return
    from agentmem.integrations.mcp_http import check_loopback, check_token, serve_http

    check_loopback(host)
    token, is_new = _token(token_file)
    try:
        check_token(token)
    except InvalidInputError as error:
        raise click.UsageError(str(error)) from error

    def ready(url: str) -> None:
        where = {"url": url, **({"token": token} if is_new else {})}
        text = f"agentmem: MCP at {url}" + (f", token {token}" if is_new else "")
        click.echo(as_json(where) if json_output else text, err=True)

    with open_memory(path, scope, create=True) as memory:
        serve_http(memory, token=token, host=host, port=port, call_timeout_s=timeout_s, ready=ready)
