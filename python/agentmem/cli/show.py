"""``agentmem show``."""

from __future__ import annotations

from pathlib import Path

import click

from agentmem.cli.common import emit, open_memory, options, plain


@click.command("show")
@click.argument("id")
@options
def command(id: str, *, path: Path, scope: str, json_output: bool) -> None:
    """Print one row of any tier, its versions and the way down to L0."""
    with open_memory(path, scope) as memory:
        row = memory.get(id)
        trace = memory.trace(id)
        versions = memory.history(id) if id.startswith("L1:") else []

    def text() -> str:
        lines = [
            f"{name}: {value}" for name, value in plain(row).items() if value not in (None, [], {})
        ]
        if len(versions) > 1:
            lines.append("versions: " + ", ".join(version.id for version in versions))
        lines.append("trace:")
        lines += [f"  {step.id}  {step.text}" for step in trace.path]
        return "\n".join(lines)

    emit({"row": row, "trace": trace, "versions": versions}, json_output=json_output, text=text)
