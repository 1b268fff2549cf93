"""``agentmem capture``."""

from __future__ import annotations

import shutil
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import click

from agentmem.cli.common import emit, format_option, has_memory, open_memory, options
from agentmem.models import Captured


def _check(sources: Sequence[Path | IO[bytes]], names: Sequence[str], format_: str) -> None:
    """Read logs for nothing but their errors, so that none makes a memory that stays empty."""
    from agentmem.tiers.capture import check_session
    from agentmem.toollog.formats import iter_messages

    for source, name in zip(sources, names, strict=True):
        check_session(name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in iter_messages(source, format=format_):
                pass
        if not isinstance(source, Path):
            source.seek(0)


@click.command("capture")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, allow_dash=True))
@click.option("--session", help="The session [default: the file's name].")
@format_option
@options
def command(
    files: tuple[str, ...],
    *,
    session: str | None,
    format_: str,
    path: Path,
    scope: str,
    json_output: bool,
) -> None:
    """Write hosts' logs (L0), verbatim, each record once; '-' reads standard input."""
    if session is None and "-" in files:
        raise click.UsageError("--session: standard input needs one")
    done: list[tuple[str, Captured]] = []
    names = [session or Path(file).name.removesuffix(".gz") for file in files]
    with TemporaryFile() as spool:
        given: IO[bytes] = sys.stdin.buffer
        if "-" in files and not has_memory(path):
            # It is read twice then, and a pipe can't be.
            shutil.copyfileobj(given, spool)
            spool.seek(0)
            given = spool
        sources = [given if file == "-" else Path(file) for file in files]
        if not has_memory(path):
            _check(sources, names, format_)
        with open_memory(path, scope, create=True) as memory:
            for source, name in zip(sources, names, strict=True):
                done.append((name, memory.capture(source, session=name, format=format_)))

    def text() -> str:
        return "\n".join(
            f"{name}: {one.new} new turns, {one.duplicates} there already"
            + "".join(f", {count} {kind} redacted" for kind, count in one.redacted.items())
            for name, one in done
        )

    emit([{"session": name, "captured": one} for name, one in done],
         json_output=json_output, text=text)  # fmt: skip
