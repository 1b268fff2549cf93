"""``agentmem stats``."""

from __future__ import annotations

from pathlib import Path

import click

from agentmem.cli.common import emit, open_memory, options, plain


@click.command("stats")
@options
def command(*, path: Path, scope: str, json_output: bool) -> None:
    """Print counts and sizes."""
    with open_memory(path, scope) as memory:
        stats = memory.stats()
    emit(
        stats,
        json_output=json_output,
        text=lambda: "\n".join(f"{name:20} {value}" for name, value in plain(stats).items()),
    )
