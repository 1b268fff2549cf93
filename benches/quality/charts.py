"""The tables as pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benches.quality.evaluate import DEPTHS

if TYPE_CHECKING:
    from pathlib import Path

    from benches.quality.evaluate import Score

__all__ = ["draw"]


def draw(rows: dict[str, Score], *, title: str, path: Path) -> None:
    """Write a PNG of evidence recall over depth, a line for each system."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    for name, score in rows.items():
        axes.plot(range(len(DEPTHS)), score.recall, marker="o", label=name)
    axes.set_xticks(range(len(DEPTHS)), [str(depth) for depth in DEPTHS])
    axes.set_xlabel("k")
    axes.set_ylabel("share of the evidence in the first k")
    axes.set_ylim(bottom=0)
    axes.set_title(title)
    axes.grid(alpha=0.3)
    axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
