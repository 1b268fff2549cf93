"""Prints the figures of one run as the README's table.

``pytest benches --benchmark-enable --benchmark-json=run.json`` makes the run,
``python -m benches.report run.json`` prints it, with command, machine, versions and date.
"""

from __future__ import annotations

import argparse
import json
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["main", "report"]

COMMAND = "pytest benches --benchmark-enable --benchmark-json=run.json"
PACKAGES = ("agentmem-tiers", "apsw", "numpy", "onnxruntime", "sqlite-vec", "tantivy", "usearch")
# Name of the bench (and its parameters), what its row says, the keys of extra_info it shows.
SINGLE = (
    ("test_recall_from_text[8]", "recall from text, question of 8 words", "cpu_p50_ms", "ms CPU"),
    ("test_recall_from_text[24]", "recall from text, question of 24 words", "cpu_p50_ms", "ms CPU"),
    ("test_recall_of_a_repeated_question", "recall, repeated question", "cpu_p50_ms", "ms CPU"),
    ("test_remember", "durable `remember`, vector given", "cpu_p50_ms", "ms CPU"),
    (
        "test_ingest[agentmem-10000]",
        "bulk ingest, vectors given",
        "facts_per_cpu_s",
        "facts per CPU-second",
    ),
    ("test_ingest_from_text", "bulk ingest from text", "facts_per_cpu_s", "facts per CPU-second"),
    ("test_open_and_memory[10000]", "open to first result, 10,000", "open_cpu_ms", "ms CPU"),
    ("test_open_and_memory[10000]", "resident memory, 10,000, no model", "rss_mb", "MB"),
    ("test_open_and_memory[100000]", "open to first result, 100,000", "open_cpu_ms", "ms CPU"),
    ("test_open_and_memory[100000]", "resident memory, 100,000, no model", "rss_mb", "MB"),
    ("test_import_is_light", "`import agentmem`", "import_cpu_ms", "ms CPU"),
    (
        "test_recall_beside_a_busy_python_thread[agentmem]",
        "recall beside a busy Python thread",
        "wall_p50_ms",
        "ms wall",
    ),
    (
        "test_recall_beside_writes_and_a_fold",
        "recall beside 200 writes a second and a fold, p99",
        "wall_p99_ms",
        "ms wall",
    ),
)


def versions() -> str:
    """Return the versions of what took part, as installed here."""
    found = []
    for name in PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)


def side_by_side(info: dict[str, Any]) -> Iterator[str]:
    """Yield a table of all engines at one size; times as many as agentmem's in the last column."""
    engines = info["engines"]
    own = engines["agentmem"]["cpu_p50_ms"]
    yield f"| {info['n']:,} facts, {info['ndim']} dimensions | p50 | p99 | hit@10 | times ours |"
    yield "|---|---|---|---|---|"
    for name, row in sorted(engines.items(), key=lambda item: item[1]["cpu_p50_ms"]):
        yield (
            f"| {name} | {row['cpu_p50_ms']:.3f} ms | {row['cpu_p99_ms']:.3f} ms "
            f"| {row['hit_at_10']:.2f} | {row['cpu_p50_ms'] / own:.1f} |"
        )
    yield ""


def report(run: dict[str, Any]) -> str:
    """Return the Markdown for what pytest-benchmark wrote; rows that the run lacks are left out.

    Raises:
        ValueError: A bench of the run gave an answer that its oracle did not confirm.
    """
    found = {bench["name"]: bench["extra_info"] for bench in run["benchmarks"]}
    wrong = [name for name, info in found.items() if info.get("correct") is False]
    if wrong:
        raise ValueError(f"wrong answers in {', '.join(wrong)}; no figure is shown")
    machine = run["machine_info"]
    cpu = machine.get("cpu", {})
    lines = ["CPU time of one recall, texts included, engines in turn in one process.", ""]
    for name, info in found.items():
        if name.startswith("test_recall_side_by_side"):
            lines += side_by_side(info)
    rows = [
        f"| {label} | {found[name][key]:,} {unit} |"
        for name, label, key, unit in SINGLE
        if key in found.get(name, {})
    ]
    threads = {
        info["threads"]: info["recalls_per_s"]
        for name, info in found.items()
        if name.startswith("test_recall_by_threads")
    }
    if {1, 2} <= set(threads):
        ratio = threads[2] / threads[1]
        rows.append(f"| recalls by two threads | {ratio:.2f} times one |")
    place = ", ".join(
        (
            cpu.get("brand_raw", machine.get("processor", "unknown")),
            f"{cpu.get('count', '?')} cores",
            f"{machine['system']} {machine['release']}",
            f"Python {machine['python_version']}",
        )
    )
    if rows:
        lines += ["| agentmem | p50 |", "|---|---|", *rows, ""]
    lines += [
        f"Command: `{COMMAND}`, then `python -m benches.report run.json`.",
        f"Machine: {place}.",
        f"Versions: {versions()}. Date: {run['datetime'][:10]}.",
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the report of a run's JSON file."""
    parser = argparse.ArgumentParser(prog="python -m benches.report", description=__doc__)
    parser.add_argument("run", type=Path, help="what --benchmark-json wrote")
    given = parser.parse_args(arguments)
    print(report(json.loads(given.run.read_text(encoding="utf-8"))))


if __name__ == "__main__":
    main()
