"""``agentmem facts``."""

from __future__ import annotations

from pathlib import Path

import click

from agentmem.cli.common import emit, open_memory, options, parse_where


@click.command("facts")
@click.option("--where", help="A JSON object of conditions.")
@click.option("--limit", default=100, show_default=True)
@click.option("--after", help="Only facts behind this id.")
@options
def command(
    *, where: str | None, limit: int, after: str | None, path: Path, scope: str, json_output: bool
) -> None:
    """List current facts, which nothing superseded, in the order of their ids."""
    with open_memory(path, scope) as memory:
        found = memory.facts(where=parse_where(where), limit=limit, after=after)
    emit(
        found,
        json_output=json_output,
        text=lambda: "\n".join(f"{fact.id}  {fact.kind}  {fact.text}" for fact in found),
    )
