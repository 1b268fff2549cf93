"""``agentmem export``."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from agentmem.cli.common import emit, open_memory, options


@click.command("export")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@click.option("--format", "form", type=click.Choice(["jsonl", "markdown"]), default="jsonl")
@options
def command(file: Path, *, form: str, path: Path, scope: str, json_output: bool) -> None:
    """Write everything into one file; '.gz' compresses it, '-' is standard output.

    With --format markdown the name is a folder, which gets one page a tier.
    """
    if str(file) == "-":
        with open_memory(path, scope) as memory, TemporaryDirectory() as folder:
            whole = Path(folder) / "export"
            memory.export(whole, format=form)  # type: ignore[arg-type]  # click checked it
            for page in sorted(whole.iterdir()) if whole.is_dir() else [whole]:
                with page.open("rb") as source:
                    shutil.copyfileobj(source, sys.stdout.buffer)
        return
    with open_memory(path, scope) as memory:
        count = memory.export(file, format=form)  # type: ignore[arg-type]  # click checked it
    emit(
        {"file": str(file), "rows": count},
        json_output=json_output,
        text=lambda: f"{file}: {count} rows",
    )
