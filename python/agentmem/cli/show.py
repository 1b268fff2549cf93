"""``agentmem show``."""

from __future__ import annotations

from pathlib import Path

import click

from agentmem.cli.common import emit, open_memory, options, plain
from agentmem.cli.trace import tree


@click.command("show")
@click.argument("id")
@options
def command(id: str, *, path: Path, scope: str, json_output: bool) -> None:
    """Print one row of any tier, its versions and the way down to L0."""
    with open_memory(path, scope) as memory:
        row = memory.get(id)
        trace = memory.trace(id)
        versions = memory.history(id)

    def text() -> str:
        lines = [
            f"{name}: {value}" for name, value in plain(row).items() if value not in (None, [], {})
        ]
        if len(versions) > 1:
            lines.append("versions: " + ", ".join(version.id for version in versions))
        lines.append("trace:")
        lines += [f"  {line}" for line in tree(trace)]
        return "\n".join(lines)

    emit({"row": row, "trace": trace, "versions": versions}, json_output=json_output, text=text)
