"""``agentmem forget``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from agentmem.cli.common import emit, open_memory, options, parse_where
from agentmem.models import Forgotten


def describe(gone: Forgotten) -> str:
    """Return what went, or would go, as lines for people."""
    verb = "would forget" if gone.dry_run else "forgot"
    lines = [f"{verb} {len(gone)} rows"]
    lines += [f"  {one}" for one in gone.ids]
    more = [f"{count} {name.replace('_', ' ')}" for name, count in gone.counts.items()
            if not name.startswith("L")]  # fmt: skip
    if more:
        lines.append(f"  with {', '.join(more)}")
    if gone.receipt is not None:
        lines.append(f"  receipt {gone.receipt}")
    return "\n".join(lines)


@click.command("forget")
@click.argument("ids", nargs=-1)
@click.option("--where", help="A JSON object of conditions, instead of ids.")
@click.option("--session", help="All of a session.")
@click.option("--below", help="A scope below --scope with all that is in it; '' for all of it.")
@click.option("--source", help="An id and all facts that rest on it; or user, assistant, tool, …")
@click.option("--query", help="Every row in which these words stand.")
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
@click.option("--purge", is_flag=True, help="Leave no byte of the text in the folder.")
@options
def command(
    ids: tuple[str, ...],
    *,
    where: str | None,
    session: str | None,
    below: str | None,
    source: str | None,
    query: str | None,
    dry_run: bool,
    purge: bool,
    path: Path,
    scope: str,
    json_output: bool,
) -> None:
    """Remove rows everywhere."""
    asked: dict[str, Any] = {
        "ids": ids or None, "where": parse_where(where), "session": session, "scope": below,
        "source": source, "query": query,
    }  # fmt: skip
    if sum(value is not None for value in asked.values()) != 1:
        raise click.UsageError(
            "pass either ids or --where, --session, --below, --source or --query: one of them"
        )
    with open_memory(path, scope) as memory:
        gone = memory.forget(**asked, dry_run=dry_run)
        if purge and not dry_run:
            memory.purge()
    emit(gone, json_output=json_output, text=lambda: describe(gone))
