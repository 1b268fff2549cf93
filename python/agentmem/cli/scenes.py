"""``agentmem scenes``."""

from __future__ import annotations

from pathlib import Path

import click

from agentmem.cli.common import emit, open_memory, options
from agentmem.models import Scene


def describe(scene: Scene) -> str:
    """Return a scene as lines for people."""
    facts = sum(member.startswith("L1:") for member in scene.members)
    turns = len(scene.members) - facts
    times = f"{scene.first.date()} to {scene.last.date()}"
    head = f"{scene.id}  {scene.label}  ({times}, {facts} facts, {turns} turns)"
    return "\n".join([head, *(f"    {line}" for line in scene.text.splitlines())])


@click.command("scenes")
@click.option("--limit", type=click.IntRange(min=1), default=100, show_default=True)
@options
def command(*, limit: int, path: Path, scope: str, json_output: bool) -> None:
    """List the scenes, the latest first."""
    with open_memory(path, scope) as memory:
        found = memory.scenes(limit=limit)
    emit(
        found,
        json_output=json_output,
        text=lambda: "\n".join(map(describe, found)) or "no scenes yet; run 'agentmem consolidate'",
    )
