"""``agentmem compress``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from agentmem.cli.common import as_json, format_option

if TYPE_CHECKING:
    from agentmem.toollog import Canvas


def figures(canvas: Canvas) -> dict[str, Any]:
    """Return the measures of a canvas."""
    return {
        "calls": len(canvas.steps),
        "failed": sum(step.outcome == "error" for step in canvas.steps),
        "level": canvas.level,
        "pages": len(canvas.pages),
        "raw_bytes": canvas.raw_bytes,
        "bytes": canvas.bytes,
        "ratio": round(canvas.ratio, 4),
        "raw_tokens": canvas.raw_tokens,
        "estimated_tokens": canvas.estimated_tokens,
    }


@click.command("compress")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, allow_dash=True))
@format_option
@click.option(
    "--level",
    default="standard",
    show_default=True,
    type=click.Choice(["standard", "brief", "short", "terse", "names"]),
)
@click.option("--budget", "budget_tokens", type=click.IntRange(min=0), help="Tokens at most.")
@click.option("--view", default="log", type=click.Choice(["log", "tools", "styled"]))
@click.option("--stats", "show_stats", is_flag=True, help="Print sizes instead of the diagram.")
@click.option("--json", "json_output", is_flag=True, help="Print JSON.")
def command(
    files: tuple[str, ...],
    *,
    format_: str,
    level: Any,
    budget_tokens: int | None,
    view: Any,
    show_stats: bool,
    json_output: bool,
) -> None:
    """Turn hosts' logs into Mermaid diagrams; '-' reads standard input."""
    from agentmem.toollog import compress, tool_calls

    for file in files:
        source: Any = sys.stdin.buffer if file == "-" else Path(file)
        calls = tool_calls(source, format=format_)
        canvas = compress(calls, level=level, budget_tokens=budget_tokens)
        numbers = {"file": file, **figures(canvas)}
        if json_output:
            if not show_stats:
                numbers["text"] = canvas.view(view)
            click.echo(as_json(numbers))
        elif show_stats:
            click.echo(
                f"{file}: {numbers['calls']} calls, {numbers['failed']} failed, "
                f"{numbers['raw_bytes']} -> {numbers['bytes']} bytes ({canvas.ratio:.1%}), "
                f"about {numbers['raw_tokens']} -> {numbers['estimated_tokens']} tokens, "
                f"{canvas.level}, {numbers['pages']} page{'' if numbers['pages'] == 1 else 's'}"
            )
        else:
            click.echo(canvas.view(view), nl=False)
