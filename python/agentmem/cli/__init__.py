"""The command line: one module a verb, each imported when it is called."""

from __future__ import annotations

import importlib
import io
import os
import sys
import warnings
from typing import Any

import click

import agentmem
from agentmem.errors import AgentMemError

__all__ = ["main"]

VERBS = {
    "init": "Make a memory folder, and the model's fast form.",
    "remember": "Write facts; '-' reads one a line of standard input.",
    "capture": "Write hosts' logs, verbatim; '-' reads standard input.",
    "consolidate": "Build what is pending: facts, scenes, persona.",
    "recall": "Find what fits a question.",
    "context": "Print what an agent should know for a question.",
    "facts": "List the facts.",
    "scenes": "List the scenes.",
    "persona": "Print the persona, or what changed in it.",
    "show": "Print one row of any tier, with its trace.",
    "trace": "Print the way from a row down to the words it rests on.",
    "compress": "Turn hosts' logs into Mermaid diagrams.",
    "parse": "Read a diagram back into calls.",
    "expand": "Print what a ref of a canvas stands for, byte for byte.",
    "skills": "Ways of working: list, show, review, approve, hand out and the rest.",
    "forget": "Remove rows everywhere.",
    "purge": "Leave no byte of forgotten text in the folder.",
    "retention": "Let old rows go, by age or size.",
    "stats": "Counts and sizes.",
    "verify": "Check the store and the index.",
    "export": "Write everything into one file, or a page a tier.",
    "import": "Take in a file of export, or Claude Code's sessions.",
    "mcp": "Serve the memory to MCP clients.",
    "hook": "Answer one hook event of Claude Code, read from standard input.",
    "demo": "The whole story: passages remembered, conversations in, tiers built, a trace shown.",
}


class _Verbs(click.Group):
    """Finds a verb's module only when it is needed, so that the command starts quickly."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in VERBS:
            return None
        module = importlib.import_module(f"agentmem.cli.{cmd_name.replace('import', 'import_')}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))


@click.group(cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(agentmem.__version__, prog_name="agentmem")
def _cli() -> None:
    """Local, layered memory for AI agents. Every command takes --json."""


def main() -> None:
    """Run the command line; exit 0 when it is done, 1 when it failed, 2 when it was misused."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A text that the terminal's encoding lacks is shown escaped and never an error.
            stream.reconfigure(errors="backslashreplace")
    with warnings.catch_warnings():
        show = warnings.showwarning

        def shown(
            message: Warning | str, category: type[Warning], *place: Any, **more: Any
        ) -> None:
            from agentmem.toollog.models import ToolLogWarning

            if issubclass(category, ToolLogWarning):
                _complain(f"agentmem: warning: {message}")
            else:
                show(message, category, *place, **more)

        warnings.showwarning = shown
        _run()


def _run() -> None:
    try:
        _cli(prog_name="agentmem", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(2)
    except click.UsageError as error:
        path = "agentmem" if error.ctx is None else error.ctx.command_path
        _complain(f"{path}: {error.format_message()} (see '{path} --help')")
        sys.exit(2)
    except click.Abort:
        _complain("agentmem: stopped")
        sys.exit(1)
    except BrokenPipeError:
        # The reader of our output went away; that is its right. What is still buffered goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except click.ClickException as error:
        _complain(f"agentmem: {error.format_message()}")
        sys.exit(1)
    except (AgentMemError, OSError) as error:
        _complain(f"agentmem: {error}")
        sys.exit(1)


def _complain(message: str) -> None:
    """Print a message as one line for people on standard error."""
    click.echo(" ".join(message.split()), err=True)
