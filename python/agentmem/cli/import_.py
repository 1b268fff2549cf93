"""``agentmem import``."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from agentmem.cli.common import emit, open_memory, options, progress

CLAUDE_CODE = "claude-code"


@click.command("import")
@click.argument("source")
@click.argument("folder", required=False, type=click.Path(path_type=Path, exists=True))
@options
def command(source: str, folder: Path | None, *, path: Path, scope: str, json_output: bool) -> None:
    """Take in a file of export, '-' is standard input; a second run adds nothing.

    'claude-code' takes in the sessions of Claude Code instead, with their sub-agents: those below
    FOLDER, or all of this machine.
    """
    if source == CLAUDE_CODE:
        _claude_code(folder, path=path, scope=scope, json_output=json_output)
        return
    if folder is not None:
        raise click.UsageError(f"a folder goes with '{CLAUDE_CODE}' alone")
    file = click.Path(path_type=Path, dir_okay=False, exists=True, allow_dash=True).convert(
        source, None, click.get_current_context()
    )
    with (
        TemporaryDirectory() as temporary,
        open_memory(path, scope, create=True) as memory,
        progress("import") as advance,
    ):
        if str(file) == "-":
            file = Path(temporary) / "import"
            with file.open("wb") as target:
                shutil.copyfileobj(sys.stdin.buffer, target)
        done = memory.import_(file, progress=advance)
    emit(done, json_output=json_output, text=lambda: f"{done.new} new, {done.existing} were there")


def _claude_code(folder: Path | None, *, path: Path, scope: str, json_output: bool) -> None:
    from agentmem.integrations.claude_code.sessions import default_folder, find_sessions
    from agentmem.integrations.claude_code.transfer import import_sessions

    folder = folder or default_folder()
    # Before a memory is made: one without sessions to take in would stay empty.
    find_sessions(folder)
    with open_memory(path, scope, create=True) as memory, progress("import") as advance:
        done = import_sessions(memory, folder, progress=advance)

    def text() -> str:
        return (
            f"{done.sessions} sessions: {done.new} new turns, {done.existing} were there"
            + "".join(f", {count} {kind} redacted" for kind, count in done.redacted.items())
        )

    emit(done, json_output=json_output, text=text)
    for name, reason in done.failed.items():
        click.echo(f"agentmem: {name}: {reason}", err=True)
    if done.failed:
        sys.exit(1)
