"""``agentmem import``."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from agentmem.cli.common import emit, open_memory, options, progress


@click.command("import")
@click.argument(
    "file", type=click.Path(path_type=Path, dir_okay=False, exists=True, allow_dash=True)
)
@options
def command(file: Path, *, path: Path, scope: str, json_output: bool) -> None:
    """Take in a file of export, '-' is standard input; a second run adds nothing."""
    with (
        TemporaryDirectory() as folder,
        open_memory(path, scope, create=True) as memory,
        progress("import") as advance,
    ):
        source = file
        if str(file) == "-":
            source = Path(folder) / "import"
            with source.open("wb") as target:
                shutil.copyfileobj(sys.stdin.buffer, target)
        done = memory.import_(source, progress=advance)
    emit(done, json_output=json_output, text=lambda: f"{done.new} new, {done.existing} were there")
