"""``agentmem context``."""

from __future__ import annotations

from pathlib import Path

import click

from agentmem.cli.common import emit, open_memory, options, read_input


@click.command("context")
@click.argument("query")
@click.option("--budget-tokens", type=click.IntRange(min=1), default=1500, show_default=True)
@click.option(
    "--deadline-s", type=click.FloatRange(min=0, min_open=True), default=30.0, show_default=True,
    help="Seconds that each leg may take.",
)  # fmt: skip
@options
def command(
    query: str, *, budget_tokens: int, deadline_s: float, path: Path, scope: str, json_output: bool
) -> None:
    """Print what an agent should know for a question; '-' reads it from standard input."""
    text = read_input() if query == "-" else query
    with open_memory(path, scope) as memory:
        made = memory.context(text, budget_tokens=budget_tokens, deadline_s=deadline_s)
    for reason in made.degraded:
        click.echo(f"agentmem context: without {' '.join(reason.split())}", err=True)
    emit(made, json_output=json_output, text=lambda: made.text)
