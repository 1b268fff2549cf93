"""``agentmem trace``."""

from __future__ import annotations

from pathlib import Path

import click

from agentmem.cli.common import emit, open_memory, options
from agentmem.models import Trace, TraceStep

MAX_LINE = 100
MAX_DEPTH = 64


def tree(trace: Trace) -> list[str]:
    """Return a trace as lines: each row under those that rest on it, L0 quoted by its span.

    A fact that was shown is named again, and what is below it is not repeated.
    """
    steps = {step.id: step for step in trace.path}
    shown: set[str] = set()
    lines: list[str] = []

    def walk(step: TraceStep, above: TraceStep | None, prefix: str, branch: str, deep: int) -> None:
        span = None if above is None else above.spans.get(step.id)
        text = step.text if span is None else step.text[span[0] : span[1]]
        quoted = f"“{_short(text)}”" if step.tier == "L0" else _short(text)
        # The same turn may be quoted for another of its words.
        again = step.id in shown and step.tier != "L0"
        lines.append(f"{prefix}{branch}{step.id}  {'(see above)' if again else quoted}")
        shown.add(step.id)
        if again or deep >= MAX_DEPTH:
            return
        below = [steps[one] for one in step.sources if one in steps]
        inner = prefix + {"": "", "├─ ": "│  ", "└─ ": "   "}[branch]
        for at, one in enumerate(below):
            walk(one, step, inner, "└─ " if at == len(below) - 1 else "├─ ", deep + 1)

    walk(steps[trace.id], None, "", "", 0)
    return lines


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_LINE else line[: MAX_LINE - 1] + "…"


@click.command("trace")
@click.argument("id")
@options
def command(id: str, *, path: Path, scope: str, json_output: bool) -> None:
    """Print the way from a row of any tier down to the words that it rests on."""
    with open_memory(path, scope) as memory:
        trace = memory.trace(id)
    emit(trace, json_output=json_output, text=lambda: "\n".join(tree(trace)))
