"""``agentmem remember``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from agentmem.cli.common import emit, open_memory, options, progress, read_input


@click.command("remember")
@click.argument("texts", nargs=-1, required=True)
@click.option("--key", help="The fact's own name; replaces the current fact of that name.")
@click.option("--kind", default="fact", show_default=True)
@click.option("--tag", "tags", multiple=True)
@click.option("--session")
@click.option("--metadata", help="A JSON object.")
@options
def command(
    texts: tuple[str, ...],
    *,
    key: str | None,
    kind: str,
    tags: tuple[str, ...],
    session: str | None,
    metadata: str | None,
    path: Path,
    scope: str,
    json_output: bool,
) -> None:
    """Write facts. '-' reads standard input, one fact a line."""
    lines: list[str] = []
    for text in texts:
        if text == "-":
            lines += [line for line in read_input().split("\n") if line.strip()]
        else:
            lines.append(text)
    if key is not None and len(lines) != 1:
        raise click.UsageError("--key names one fact; pass exactly one text")
    try:
        fields = json.loads(metadata) if metadata else None
    except ValueError as error:
        raise click.UsageError(f"--metadata: a JSON object is needed: {error}") from error
    items = [
        {
            "text": line, "key": key, "kind": kind, "tags": tags, "session": session,
            "metadata": fields,
        }
        for line in lines
    ]  # fmt: skip
    with open_memory(path, scope, create=True) as memory, progress("remember") as advance:
        written = memory.remember_many(items, progress=advance)
    emit(
        written,
        json_output=json_output,
        text=lambda: "\n".join(f"{fact.id} {fact.status}: {fact.text}" for fact in written),
    )
