"""``agentmem forget``."""

from __future__ import annotations

from pathlib import Path

import click

from agentmem.cli.common import emit, open_memory, options, parse_where


@click.command("forget")
@click.argument("ids", nargs=-1)
@click.option("--where", help="A JSON object of conditions, instead of ids.")
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
@click.option("--purge", is_flag=True, help="Leave no byte of the text in the folder.")
@options
def command(
    ids: tuple[str, ...],
    *,
    where: str | None,
    dry_run: bool,
    purge: bool,
    path: Path,
    scope: str,
    json_output: bool,
) -> None:
    """Remove rows everywhere."""
    if bool(ids) == bool(where):
        raise click.UsageError("pass either ids or --where")
    with open_memory(path, scope) as memory:
        gone = memory.forget(ids or None, where=parse_where(where), dry_run=dry_run)
        if purge and not dry_run:
            memory.purge()
    verb = "would forget" if dry_run else "forgot"
    emit(
        gone,
        json_output=json_output,
        text=lambda: f"{verb} {len(gone)} rows" + "".join(f"\n  {one}" for one in gone.ids),
    )
