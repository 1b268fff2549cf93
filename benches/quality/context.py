"""How much of a question's evidence a context keeps: L0 alone, L1 alone, and all tiers.

``python -m benches.quality.context PATH…`` reads LifeBench by path. Each user is captured as a host
would, one session a day, and consolidated; each question is asked with 500, 1,500 and 4,000 tokens.
A piece of evidence counts as kept if the text shows words of it: a quote of its record, or a fact
that rests on it. Scenes are shown by their label, so they count for nothing by themselves. The same
lines, quotes and fence stand in all three, so that only what is chosen differs.

With ``--facts`` the records come in as facts (``remember_many``), for hosts that keep their own L0.
"""

from __future__ import annotations

import argparse
import gzip
import json
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from benches.corpus import data_folder
from benches.quality.formats import load_lifebench
from benches.quality.rankers import CachedEmbedder

from agentmem import Memory
from agentmem._native import analyze_query
from agentmem.embedding import OnnxEmbedder
from agentmem.tiers.context import VOLATILE_NOTE
from agentmem.tiers.context_choice import quote_chars
from agentmem.tiers.fence import escape, fenced
from agentmem.tiers.quotes import quote
from agentmem.toollog import estimate_tokens

__all__ = ["BUDGETS", "Held", "measure", "report"]

BUDGETS = (500, 1_500, 4_000)
USERS = ("user1-en", "user2-en")


class Held:
    """One user's records in a memory, and which record each L0 row belongs to."""

    def __init__(self, records: Path, embedder: Any, folder: Path, *, as_facts: bool) -> None:
        self.collection = load_lifebench(records)
        self.memory = Memory(folder, embedder=embedder, redact=False)
        self.record_of: dict[str, str] = {}
        if as_facts:
            self._remember()
        else:
            self._capture(records)
        self.report = self.memory.consolidate()
        self.sources_of = {fact.id: fact.sources for fact in self.memory.facts(limit=100_000)}

    def _remember(self) -> None:
        documents = self.collection.documents
        facts = self.memory.remember_many(
            {"text": one.dated, "key": one.id, "session": one.session} for one in documents
        )
        for fact, document in zip(facts, documents, strict=True):
            self.record_of[fact.id] = document.evidence_id
            self.record_of |= dict.fromkeys(fact.sources, document.evidence_id)

    def _capture(self, records: Path) -> None:
        days: dict[str, list[tuple[str, dict[str, Any]]]] = {}
        with gzip.open(records, "rt", encoding="utf-8") as file:
            for number, row in enumerate(map(json.loads, file)):
                said = row.get("messages") or [{"role": "user", "content": row["text"]}]
                for place, message in enumerate(said):
                    one = {**message, "timestamp": row["time"], "id": f"{number}.{place}"}
                    days.setdefault(row["time"][:10], []).append((row["id"], one))
        for day, messages in days.items():
            captured = self.memory.capture([one for _, one in messages], session=day)
            for (name, _), number in zip(messages, captured.ids, strict=True):
                self.record_of[number] = name

    def evidence(self, ids: Iterable[str]) -> set[str]:
        """Return the records that rows of L0 and L1 show."""
        found = set()
        for one in ids:
            for source in (one, *self.sources_of.get(one, ())):
                if source in self.record_of:
                    found.add(self.record_of[source])
        return found

    def alone(self, question: str, budget: int, tier: str) -> tuple[set[str], int]:
        """Return the evidence that one tier's hits show within a budget, and the tokens."""
        terms = set(analyze_query(question))
        lines: list[str] = []
        ids: list[str] = []
        used = estimate_tokens(fenced([VOLATILE_NOTE])) + 1
        for hit in self.memory.recall(question, k=200, tiers=(tier,)):
            text = quote(hit.text, terms, max_chars=quote_chars(budget)).text
            note = f"{hit.event_time or hit.created:%Y-%m-%d}"
            line = f"- [{hit.id}, {note}] {escape(text)}"
            cost = estimate_tokens(line) + 1
            if used + cost <= budget:
                used += cost
                lines.append(line)
                ids.append(hit.id)
        text = fenced([VOLATILE_NOTE, *lines]) if lines else ""
        assert not text or estimate_tokens(text) <= budget
        return self.evidence(ids), estimate_tokens(text)

    def context(self, question: str, budget: int) -> tuple[set[str], int]:
        """Return the evidence that a context keeps, and its tokens."""
        made = self.memory.context(question, budget_tokens=budget, deadline_s=60.0)
        assert not made.degraded, made.degraded
        assert made.tokens <= budget
        return self.evidence(
            item.id for item in made.items if item.tier in ("L0", "L1")
        ), made.tokens


def measure(held: Held, budgets: Sequence[int] = BUDGETS) -> dict[str, dict[int, float]]:
    """Return the mean share of a question's evidence that is kept, by way and budget."""
    ways: dict[str, Callable[[str, int], tuple[set[str], int]]] = {
        "L0 alone": lambda question, budget: held.alone(question, budget, "L0"),
        "L1 alone": lambda question, budget: held.alone(question, budget, "L1"),
        "context()": held.context,
    }
    questions = held.collection.answerable
    found: dict[str, dict[int, float]] = {}
    for name, ask in ways.items():
        for budget in budgets:
            kept = 0.0
            for question in questions:
                shown, _ = ask(question.text, budget)
                kept += len(shown & set(question.evidence)) / len(set(question.evidence))
            found.setdefault(name, {})[budget] = kept / len(questions)
    return found


def report(name: str, held: Held, found: dict[str, dict[int, float]]) -> str:
    """Return a Markdown table of one user."""
    budgets = list(next(iter(found.values())))
    counts = held.memory.stats()
    lines = [
        f"| {name}: {len(held.collection.answerable)} questions, {counts.turns} turns, "
        f"{counts.facts} facts, {counts.scenes} scenes | "
        + " | ".join(f"{budget:,} tokens" for budget in budgets) + " |",
        "|---" * (1 + len(budgets)) + "|",
    ]  # fmt: skip
    for way, values in found.items():
        figures = " | ".join(f"{values[budget]:.3f}" for budget in budgets)
        lines.append(f"| {way} | {figures} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table a user."""
    parser = argparse.ArgumentParser(prog="python -m benches.quality.context", description=__doc__)
    parser.add_argument("paths", nargs="*", type=Path, help="*.records.jsonl.gz of LifeBench")
    parser.add_argument("--facts", action="store_true", help="records come in as facts")
    parser.add_argument("--cache", type=Path, help="keep document vectors in this folder")
    given = parser.parse_args(arguments)
    paths = given.paths
    if not paths:
        folder = data_folder()
        if folder is None:
            parser.error("no path was given and AGENTMEM_DATA names no folder")
        paths = [folder / "lifebench" / f"{user}.records.jsonl.gz" for user in USERS]
    embedder = CachedEmbedder(OnnxEmbedder(), given.cache)
    for path in paths:
        with tempfile.TemporaryDirectory() as folder:
            held = Held(path, embedder, Path(folder) / "m", as_facts=given.facts)
            with held.memory:
                print(report(path.name.split(".")[0], held, measure(held)), end="\n\n")


if __name__ == "__main__":
    main()
