"""``agentmem verify``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from agentmem.cli.common import emit, open_memory, options


@click.command("verify")
@click.option("--rebuild", is_flag=True, help="Make the index anew first.")
@options
def command(*, rebuild: bool, path: Path, scope: str, json_output: bool) -> None:
    """Check the store, the index and that they agree; exit 1 if something is wrong."""
    with open_memory(path, scope) as memory:
        if rebuild:
            memory.rebuild_index()
        report = memory.verify()
    emit(
        {
            "ok": report.ok,
            "problems": report.problems,
            "rows": report.rows,
            "vectors": report.vectors,
        },
        json_output=json_output,
        text=lambda: (
            "\n".join(report.problems) or f"whole: {report.rows} rows, {report.vectors} vectors"
        ),
    )
    if not report.ok:
        sys.exit(1)
