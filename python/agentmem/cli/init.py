"""``agentmem init``."""

from __future__ import annotations

from pathlib import Path

import click

from agentmem.cli.common import emit, memory_option, open_memory


@click.command("init")
@memory_option
@click.option("--model", is_flag=True, help="Only derive the fast forms of the models.")
@click.option("--multilingual", is_flag=True, help="With --model: the multilingual one.")
@click.option("--json", "json_output", is_flag=True, help="Print JSON.")
def command(path: Path, *, model: bool, multilingual: bool, json_output: bool) -> None:
    """Make a memory folder; with --model only fill the models' cache, as images want it."""
    from agentmem.embedding import prepare_model, prepare_multilingual
    from agentmem.tiers.extract.tuned import prepare_tuned

    if multilingual and not model:
        raise click.UsageError("--multilingual goes with --model")
    if model:
        place = prepare_multilingual() if multilingual else prepare_model()
        made = {"model": str(place), "extractor": str(prepare_tuned())}
        emit(
            made,
            json_output=json_output,
            text=lambda: "\n".join(f"{name}: {path}" for name, path in made.items()),
        )
        return
    with open_memory(path, create=True) as memory:
        stats = memory.stats()
    emit(stats, json_output=json_output, text=lambda: f"{path}: {stats.facts} facts")
