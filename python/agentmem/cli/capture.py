"""``agentmem capture``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from agentmem.cli.common import emit, open_memory, options
from agentmem.models import Captured


@click.command("capture")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, allow_dash=True))
@click.option("--session", help="The session [default: the file's name].")
@click.option("--format", "format_", default="auto", show_default=True)
@options
def command(
    files: tuple[str, ...],
    *,
    session: str | None,
    format_: str,
    path: Path,
    scope: str,
    json_output: bool,
) -> None:
    """Write hosts' logs (L0), verbatim, each record once; '-' reads standard input."""
    if session is None and "-" in files:
        raise click.UsageError("--session: standard input needs one")
    done: list[tuple[str, Captured]] = []
    with open_memory(path, scope, create=True) as memory:
        for file in files:
            source: Any = sys.stdin.buffer if file == "-" else Path(file)
            name = session or Path(file).name.removesuffix(".gz")
            done.append((name, memory.capture(source, session=name, format=format_)))

    def text() -> str:
        return "\n".join(
            f"{name}: {one.new} new turns, {one.duplicates} there already"
            + "".join(f", {count} {kind} redacted" for kind, count in one.redacted.items())
            for name, one in done
        )

    emit([{"session": name, "captured": one} for name, one in done],
         json_output=json_output, text=text)  # fmt: skip
