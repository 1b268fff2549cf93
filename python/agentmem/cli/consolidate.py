"""``agentmem consolidate``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from agentmem.cli.common import emit, open_memory, options, progress
from agentmem.models import Report

__all__ = ["command", "describe"]


def describe(report: Report) -> str:
    """Return what a run did as lines for people."""
    lines = [
        (
            f"read {report.messages} messages: {report.facts} facts, {report.duplicates} known already, "
            f"{report.superseded} superseded"
        ),
        (
            f"{report.scenes} scenes written, {report.personas} persona versions, "
            f"{report.embedded} rows embedded"
        ),
    ]
    for job in report.failed:
        where = f"session {job.session!r}" if job.session else f"scope {job.scope!r}"
        when = "" if job.due is None else f"; next try at {job.due.isoformat(timespec='seconds')}"
        lines.append(f"failed: {job.step} of {where}, {job.attempts} times: {job.error}{when}")
    return "\n".join(lines)


@click.command("consolidate")
@click.option("--session", help="Only this session.")
@options
def command(*, session: str | None, path: Path, scope: str, json_output: bool) -> None:
    """Do what is pending: facts from new messages, scenes, persona; exit 1 where a part failed."""
    with open_memory(path, scope) as memory, progress("consolidate") as advance:
        report = memory.consolidate(session=session, progress=advance)
    emit(report, json_output=json_output, text=lambda: describe(report))
    if not report.ok:
        sys.exit(1)
