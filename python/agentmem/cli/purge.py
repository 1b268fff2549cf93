"""``agentmem purge``."""

from __future__ import annotations

from pathlib import Path

import click

from agentmem.cli.common import emit, open_memory, options


@click.command("purge")
@options
def command(*, path: Path, scope: str, json_output: bool) -> None:
    """Leave no byte of forgotten text in the folder."""
    with open_memory(path, scope) as memory:
        done = memory.purge()
    emit(
        done,
        json_output=json_output,
        text=lambda: f"purged: {done.bytes_before:,} bytes before, {done.bytes_after:,} now",
    )
