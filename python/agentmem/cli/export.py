"""``agentmem export``."""

from __future__ import annotations

from pathlib import Path

import click

from agentmem.cli.common import emit, open_memory, options


@click.command("export")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--format", "form", type=click.Choice(["jsonl", "markdown"]), default="jsonl")
@options
def command(file: Path, *, form: str, path: Path, scope: str, json_output: bool) -> None:
    """Write everything into one file; '.gz' compresses it."""
    with open_memory(path, scope) as memory:
        count = memory.export(file, format=form)  # type: ignore[arg-type]  # click checked it
    emit(
        {"file": str(file), "rows": count},
        json_output=json_output,
        text=lambda: f"{file}: {count} rows",
    )
