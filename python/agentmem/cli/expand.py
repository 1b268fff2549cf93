"""``agentmem expand``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from agentmem.cli.common import as_json, open_memory, options
from agentmem.errors import InvalidInputError


def _cut(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    from agentmem.toollog.expand import check_cut

    try:
        lines, grep = (value, None) if parameter.name == "lines" else (None, value)
        check_cut(lines, grep, None)
    except InvalidInputError as error:
        raise click.BadParameter(str(error), context, parameter) from error
    return value


@click.command("expand")
@click.argument("ref")
@click.option("--session", help="The session; needed where several were captured.")
@click.option(
    "--part",
    default="result",
    show_default=True,
    type=click.Choice(["result", "arguments", "record"]),
)
@click.option("--lines", callback=_cut, help="A range: 10-20, 10-, -20 or 10.")
@click.option("--grep", callback=_cut, help="Only lines that hold this text.")
@click.option("--max-tokens", "max_tokens", type=click.IntRange(min=1))
@options
def command(
    ref: str,
    *,
    session: str | None,
    part: Any,
    lines: str | None,
    grep: str | None,
    max_tokens: int | None,
    path: Path,
    scope: str,
    json_output: bool,
) -> None:
    """Print what a ref of a canvas (c31) or an id (L0:12) stands for, byte for byte."""
    with open_memory(path, scope) as memory:
        text = memory.expand(
            ref, session=session, part=part, lines=lines, grep=grep, max_tokens=max_tokens
        )
    if json_output:
        click.echo(as_json({"ref": ref, "part": part, "text": text}))
    else:
        click.echo(text.encode("utf-8", "surrogatepass"), nl=False)
