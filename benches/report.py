"""Prints the figures of one run as the README's table.

``make bench`` makes the run and calls this: ``python -m benches.report run.json`` prints the table,
with command, machine, versions and date; ``--into README.md`` also puts it between the file's
markers.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Found = Mapping[str, Mapping[str, Any]]

__all__ = ["BEGIN", "COLUMNS", "END", "ROWS", "main", "put_into", "report", "table"]

COMMAND = "make bench PYTEST=--large"
PACKAGES = (
    "agentmem-tiers", "apsw", "numpy", "onnxruntime", "sqlite-vec", "tantivy", "usearch",
)  # fmt: skip
BEGIN = "<!-- figures: `make bench` fills this in -->"
END = "<!-- end of figures -->"
ABSENT = "–"


@dataclass(frozen=True)
class Column:
    """An engine: its heading, its name in a run, and its class as it stands in a bench's id."""

    heading: str
    name: str
    kind: str


COLUMNS = (
    Column("agentmem", "agentmem", "agentmem"),
    Column(
        "exact int8 scan + tantivy + SQLite",
        "exact int8 scan + tantivy + SQLite",
        "BestPythonStack",
    ),
    Column(
        "usearch HNSW + tantivy + SQLite",
        "usearch HNSW + tantivy + SQLite",
        "HnswStack",
    ),
    Column("FTS5 + sqlite-vec", "FTS5 + sqlite-vec", "FtsAndVec"),
    Column("sqlite-vec + LIKE", "mission's code", "MissionCode"),
)


@dataclass(frozen=True)
class Row:
    """One line: what it says, the bench with ``{kind}`` where engines have runs of their own."""

    label: str
    bench: str
    key: str
    form: str
    is_side_by_side: bool = False

    def cells(self, found: Found) -> list[str]:
        """Return one cell a column."""
        shared = found.get(self.bench, {}).get("engines", {})
        cells = []
        for column in COLUMNS:
            if self.is_side_by_side:
                info = shared.get(column.name, {})
            elif "{kind}" in self.bench or column is COLUMNS[0]:
                info = found.get(self.bench.format(kind=column.kind), {})
            else:
                info = {}
            cells.append(self.form.format(info[self.key]) if self.key in info else ABSENT)
        return cells


MS = "{:.2f} ms"
SIDE = "test_recall_side_by_side[{}]"
ROWS = (
    Row("recall, vector given, 10,000 facts, 384 dimensions", SIDE.format("10000-384"),
        "cpu_p50_ms", "{:.3f} ms", is_side_by_side=True),
    Row("… its 99th percentile", SIDE.format("10000-384"),
        "cpu_p99_ms", "{:.3f} ms", is_side_by_side=True),
    Row("… the sought fact among the first 10", SIDE.format("10000-384"),
        "hit_at_10", "{:.2f}", is_side_by_side=True),
    Row("recall, vector given, 10,000 facts, 768 dimensions", SIDE.format("10000-768"),
        "cpu_p50_ms", "{:.3f} ms", is_side_by_side=True),
    Row("recall, vector given, 100,000 facts, 384 dimensions", SIDE.format("100000-384"),
        "cpu_p50_ms", "{:.3f} ms", is_side_by_side=True),
    Row("recall beside one busy Python thread, wall time",
        "test_recall_beside_a_busy_python_thread[{kind}]", "wall_p50_ms", MS),
    Row("recall beside 200 writes a second and a fold, 99th percentile, wall time",
        "test_recall_beside_writes_and_a_fold", "wall_p99_ms", MS),
    Row("recall from text, question of 8 words", "test_recall_from_text[8]", "cpu_p50_ms", MS),
    Row("recall from text, question of 24 words", "test_recall_from_text[24]", "cpu_p50_ms", MS),
    Row("recall, repeated question", "test_recall_of_a_repeated_question", "cpu_p50_ms", MS),
    Row("`remember`, vector given, on disk and searchable", "test_remember", "cpu_p50_ms", MS),
    Row("bulk ingest, vectors given, facts per CPU-second",
        "test_ingest[{kind}-10000]", "facts_per_cpu_s", "{:,.0f}"),
    Row("bulk ingest from text, facts per CPU-second",
        "test_ingest_from_text", "facts_per_cpu_s", "{:,.0f}"),
    Row("open to first result, 10,000 facts", "test_open_and_memory[10000]", "open_cpu_ms", MS),
    Row("open to first result, 100,000 facts", "test_open_and_memory[100000]", "open_cpu_ms", MS),
    Row("resident memory without a model, 10,000 facts",
        "test_open_and_memory[10000]", "rss_mb", "{:.0f} MB"),
    Row("resident memory without a model, 100,000 facts",
        "test_open_and_memory[100000]", "rss_mb", "{:.0f} MB"),
    Row("`import agentmem`", "test_import_is_light", "import_cpu_ms", MS),
    Row("recalls a second, one thread", "test_recall_by_threads[1]", "recalls_per_s", "{:,.0f}"),
    Row("recalls a second, two threads", "test_recall_by_threads[2]", "recalls_per_s", "{:,.0f}"),
)  # fmt: skip


def versions() -> str:
    """Return the versions of what took part, as installed here."""
    found = []
    for name in PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)


def table(found: Found) -> str:
    """Return the README's table of a run's ``extra_info`` by bench; what is not there is a dash."""
    lines = [
        "| CPU time at the median, unless said | "
        + " | ".join(column.heading for column in COLUMNS)
        + " |",
        "|---" * (len(COLUMNS) + 1) + "|",
    ]
    lines += [f"| {row.label} | " + " | ".join(row.cells(found)) + " |" for row in ROWS]
    return "\n".join(lines)


def report(run: Mapping[str, Any]) -> str:
    """Return the Markdown for what pytest-benchmark wrote.

    Raises:
        ValueError: A bench of the run gave an answer that its oracle did not confirm.
    """
    found = {bench["name"]: bench["extra_info"] for bench in run["benchmarks"]}
    wrong = [name for name, info in found.items() if info.get("correct") is False]
    if wrong:
        raise ValueError(f"wrong answers in {', '.join(wrong)}; no figure is shown")
    machine = run["machine_info"]
    cpu = machine.get("cpu", {})
    place = ", ".join(
        (
            cpu.get("brand_raw", machine.get("processor", "unknown")),
            f"{cpu.get('count', '?')} cores",
            f"{machine['system']} {machine['release']}",
            f"Python {machine['python_version']}",
        )
    )
    return "\n".join(
        (
            table(found),
            "",
            f"Command: `{COMMAND}`. Machine: {place}.",
            f"Versions: {versions()}. Date: {run['datetime'][:10]}.",
        )
    )


def put_into(page: str, text: str) -> str:
    """Return a page with the text between its markers.

    Raises:
        ValueError: The page lacks them.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has no {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{text}\n{END}{after}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the report of a run's JSON file."""
    parser = argparse.ArgumentParser(prog="python -m benches.report", description=__doc__)
    parser.add_argument("run", type=Path, help="what --benchmark-json wrote")
    parser.add_argument("--into", type=Path, help="a page whose figures are replaced")
    given = parser.parse_args(arguments)
    text = report(json.loads(given.run.read_text(encoding="utf-8")))
    print(text)
    if given.into is not None:
        page = given.into.read_text(encoding="utf-8")
        given.into.write_text(put_into(page, text), encoding="utf-8")


if __name__ == "__main__":
    main()
