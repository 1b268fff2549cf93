"""``agentmem parse``."""

from __future__ import annotations

from typing import IO

import click

from agentmem.cli.common import as_json


@click.command("parse")
@click.argument("file", type=click.File("r", encoding="utf-8"))
@click.option("--json", "json_output", is_flag=True, help="Print JSON.")
def command(file: IO[str], *, json_output: bool) -> None:
    """Read a diagram back into the calls that it was made of; '-' reads standard input."""
    from agentmem.errors import InvalidInputError
    from agentmem.toollog import parse

    try:
        text = file.read()
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{file.name}: it is not UTF-8: {error}") from error
    steps = parse(text)
    if json_output:
        click.echo(as_json(steps))
        return
    for step in steps:
        words = [step.ref, step.tool, step.arguments_summary]
        if step.outcome != "ok":
            words.append({"error": "FAIL"}.get(step.outcome, "PENDING"))
        if step.result_summary:
            words += ["=>", step.result_summary]
        if step.parallel_group is not None:
            words.append(f"(with {step.parallel_group})")
        click.echo(" ".join(word for word in words if word))
