"""``agentmem hook``; the entry point goes straight to it, without this module and without click."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("hook")
@click.option(
    "-m", "--memory", "path", type=click.Path(path_type=Path),
    help="The folder [default: $AGENTMEM_MEMORY, else ~/.agentmem].",
)  # fmt: skip
@click.option("--scope", help="The scope [default: $AGENTMEM_SCOPE, else all].")
@click.option("--json", "json_output", is_flag=True, help="Nothing more: an answer is JSON.")
def command(path: Path | None, *, scope: str | None, json_output: bool) -> None:
    """Answer one hook event of Claude Code, read as JSON from standard input.

    SessionStart and UserPromptSubmit are told what the memory knows; Stop, SubagentStop,
    PreCompact and SessionEnd have the session captured; a long output in PostToolUse is kept and
    replaced by a short one. It ends with status 0 whatever happens.
    """
    del json_output
    from agentmem.integrations.claude_code.hook import main

    arguments = [] if path is None else ["--memory", str(path)]
    main([*arguments, *([] if scope is None else ["--scope", scope])])
