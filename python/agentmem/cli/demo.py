"""``agentmem demo``: the main job on real input, with ranks and timings."""

from __future__ import annotations

import ast
import statistics
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from agentmem.cli import demo_tiers
from agentmem.cli.common import as_json, progress, read_input
from agentmem.cli.demo_session import describe, run_session
from agentmem.cli.demo_tiers import run_tiers

MAX_WORDS = 60
QUESTIONS = (
    "How do I run a shell command and capture its output?",
    "turn a string with JSON into Python objects",
    "What gives the median of some numbers?",
    "wait for several threads to reach the same point",
    "shutil.copytree",
    "how to compare two sequences of lines and show what changed",
    "make a temporary directory that removes itself",
    "parse_qs",
)


def docstrings() -> Iterator[tuple[str, str]]:
    """Yield ``(name, first paragraph)`` for the documented names of Python's standard library."""
    root = Path(sysconfig.get_paths()["stdlib"])
    # Not the library itself, or of it what hardly anybody asks about: the rest fits the limit.
    skipped = {
        "test", "tests", "idlelib", "lib2to3", "site-packages", "turtledemo", "__pycache__",
        "tkinter", "turtle", "distutils",
    }  # fmt: skip
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        is_private = any(one.startswith("_") and one != "__init__" for one in parts)
        if is_private or skipped.intersection(parts):
            continue
        try:
            tree = ast.parse(path.read_bytes())
        except (SyntaxError, ValueError):
            continue
        module = ".".join(part for part in parts if part != "__init__")
        yield from _documented(tree, module)


def _documented(node: ast.AST, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        words = (ast.get_docstring(node) or "").split("\n\n")[0].split()
        if len(words) > 3:  # noqa: PLR2004
            yield name, " ".join(words[:MAX_WORDS])
        for child in node.body:
            label = getattr(child, "name", None)
            if label is not None and not label.startswith("_"):
                yield from _documented(child, f"{name}.{label}")


def passages(source: Path | None, limit: int) -> list[dict[str, Any]]:
    """Return the passages to remember: of a file, one a line, or of the standard library."""
    if source is not None:
        whole = (
            read_input()
            if str(source) == "-"
            else source.read_text(encoding="utf-8", errors="replace")
        )
        lines = whole.split("\n")
        return [{"text": line} for line in lines if line.strip()][:limit]
    found: dict[str, str] = {}
    for name, text in docstrings():
        found.setdefault(name, text)
    names = list(found)
    if len(names) > limit:
        # Evenly spread, so that no part of the library is left out.
        names = [names[at * len(names) // limit] for at in range(limit)]
    return [
        {"text": f"{name}: {found[name]}", "kind": "docs", "tags": [name.partition(".")[0]]}
        for name in names
    ]


@click.command("demo")
@click.option(
    "--input",
    "source",
    type=click.Path(path_type=Path, exists=True, dir_okay=False, allow_dash=True),
    help="Remember this file, one passage a line, instead; '-' is standard input.",
)
@click.option("--question", "questions", multiple=True, help="Ask this instead; may be repeated.")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=4000,
    show_default=True,
    help="Passages at most.",
)
@click.option(
    "-m",
    "--memory",
    "path",
    type=click.Path(path_type=Path),
    help="Keep the memory in this folder.",
)
@click.option("--json", "json_output", is_flag=True, help="Print JSON.")
def command(
    *,
    source: Path | None,
    questions: tuple[str, ...],
    limit: int,
    path: Path | None,
    json_output: bool,
) -> None:
    """Remember passages, close, reopen, answer; then take in conversations and build the tiers."""
    with tempfile.TemporaryDirectory(prefix="agentmem-demo-") as temporary:
        report = run(path or Path(temporary) / "memory", source, questions or QUESTIONS, limit)
    if json_output:
        click.echo(as_json(report))
        return
    click.echo(
        f"remembered {report['passages']} passages in {report['ingest_s']:.1f} s "
        f"({report['ingest_cpu_s']:.1f} s of CPU, embedding included), "
        f"closed and opened again in {report['open_ms']:.0f} ms"
    )
    for answer in report["answers"]:
        click.echo(
            f"\n{answer['question']}  ({answer['ms']:.1f} ms, again {answer['again_ms']:.2f} ms)"
        )
        for hit in answer["hits"]:
            ranks = f"bm25 {hit['bm25_rank'] or '-':>3}  ann {hit['ann_rank'] or '-':>3}"
            click.echo(f"  {hit['score']:.3f}  {ranks}  {hit['text'][:110]}")
    click.echo(
        f"\np50 of a recall from text {report['text_ms']:.2f} ms, "
        f"of a repeated one {report['again_ms']:.3f} ms"
    )
    click.echo(describe(report["session"]))
    click.echo(demo_tiers.describe(report["tiers"]))


def run(path: Path, source: Path | None, questions: tuple[str, ...], limit: int) -> dict[str, Any]:
    """Do the work of the demo and return its figures."""
    from agentmem.memory import Memory

    items = passages(source, limit)
    with Memory(path) as memory:
        memory.recall("load the model before the clock starts")
        started, cpu = time.perf_counter(), time.process_time()
        with progress("remember") as advance:
            memory.remember_many(items, progress=advance)
        ingest_s, ingest_cpu_s = time.perf_counter() - started, time.process_time() - cpu
    started = time.perf_counter()
    with Memory(path) as memory:
        open_ms = (time.perf_counter() - started) * 1e3
        memory.recall("load the model before the clock starts")
        answers, cold, given = [], [], []
        for question in questions:
            first = time.perf_counter()
            hits = memory.recall(question, k=3)
            second = time.perf_counter()
            memory.recall(question, k=3)
            again = time.perf_counter() - second
            cold.append((second - first) * 1e3)
            given.append(again * 1e3)
            answers.append(
                {
                    "question": question, "ms": cold[-1], "again_ms": given[-1],
                    "hits": [
                        {
                            "id": hit.id, "score": hit.score, "bm25_rank": hit.bm25_rank,
                            "ann_rank": hit.ann_rank, "text": hit.text,
                        }
                        for hit in hits
                    ],
                }
            )  # fmt: skip
        session = run_session(memory)
        tiers = run_tiers(memory)
    return {
        "passages": len(items),
        "ingest_s": ingest_s,
        "ingest_cpu_s": ingest_cpu_s,
        "open_ms": open_ms,
        "answers": answers,
        "text_ms": statistics.median(cold),
        "again_ms": statistics.median(given),
        "session": session,
        "tiers": tiers,
    }
