"""``agentmem recall``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from agentmem.cli.common import emit, open_memory, options, parse_time, parse_where, read_input

if TYPE_CHECKING:
    from agentmem._native import Hit


def describe(hit: Hit) -> str:
    """Return a hit as lines for people."""
    line = f"{hit.score:.4f}  {hit.id}  {hit.text}"
    explanation = hit.explanation
    if explanation is None:
        return line
    notes = [f"rrf k {explanation['rrf_k']:g}"]
    for name in ("bm25", "ann"):
        signal = explanation[name]
        if signal["rank"] is None:
            notes.append(f"{name}: not among its candidates")
        else:
            notes.append(
                f"{name}: rank {signal['rank']}, score {signal['score']:.3f}, "
                f"weight {signal['weight']:g}, part {signal['part']:.4f}"
            )
    others = explanation["parts"].items()
    notes += [f"{name.replace('_', ' ')}: part {part['part']:.4f}" for name, part in others]
    return line + "\n        " + "; ".join(notes)


@click.command("recall")
@click.argument("query")
@click.option("-k", default=5, show_default=True)
@click.option("--tier", "tiers", multiple=True, help="L0, L1, L2 or L3 [default: L1].")
@click.option("--kind", "kinds", multiple=True)
@click.option("--tag", "tags", multiple=True, help="All of these.")
@click.option("--any-tag", "any_tags", multiple=True, help="At least one of these.")
@click.option("--where", help="A JSON object of conditions.")
@click.option("--session")
@click.option("--since")
@click.option("--until")
@click.option("--as-of", "as_of")
@click.option("--explain", is_flag=True, help="Show each signal's rank, k and weights.")
@options
def command(
    query: str,
    *,
    k: int,
    tiers: tuple[str, ...],
    kinds: tuple[str, ...],
    tags: tuple[str, ...],
    any_tags: tuple[str, ...],
    where: str | None,
    session: str | None,
    since: str | None,
    until: str | None,
    as_of: str | None,
    explain: bool,
    path: Path,
    scope: str,
    json_output: bool,
) -> None:
    """Find what fits a question; '-' reads it from standard input."""
    question = read_input().strip() if query == "-" else query
    with open_memory(path, scope) as memory:
        hits = memory.recall(
            question,
            k=k,
            tiers=tiers or ("L1",),
            kinds=kinds or None,
            tags=tags or None,
            any_tags=any_tags or None,
            where=parse_where(where),
            session=session,
            since=parse_time(since, "since"),
            until=parse_time(until, "until"),
            as_of=parse_time(as_of, "as-of"),
            explain=explain,
        )
    emit(
        hits,
        json_output=json_output,
        text=lambda: "\n".join(map(describe, hits)) or "nothing matched",
    )
