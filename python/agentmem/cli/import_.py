"""``agentmem import``."""

from __future__ import annotations

from pathlib import Path

import click

from agentmem.cli.common import emit, open_memory, options, progress


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@options
def command(file: Path, *, path: Path, scope: str, json_output: bool) -> None:
    """Take in a file of export; a second run adds nothing."""
    with open_memory(path, scope, create=True) as memory, progress("import") as advance:
        done = memory.import_(file, progress=advance)
    emit(done, json_output=json_output, text=lambda: f"{done.new} new, {done.existing} were there")
