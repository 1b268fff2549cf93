"""Judges how a loadout ranks skills: by words, by meaning, and by both fused.

``python -m benches.quality.loadout [FOLDER]``. The skills are those learned from the runs of the
labelled procedures, all in one loadout; each is asked for in the words of the held-out request.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
from benches.quality.skills import LABELS, World, view_of

from agentmem import fuse
from agentmem.embedding import OnnxEmbedder
from agentmem.skills.relevance import Relevance
from agentmem.tiers.vectors import embed_query, embed_texts


def asked_for(path: Path) -> tuple[list[Any], list[tuple[int, str]]]:
    """Return the skills of a label file, and for each held-out request the place of its skill."""
    skills: list[Any] = []
    requests: list[tuple[int, str]] = []
    for line in (json.loads(x) for x in path.read_text(encoding="utf-8").strip().split("\n")):
        world = World()
        for number, run in enumerate(line["runs"]):
            view = view_of(
                run["messages"], id=str(number), owner=line["owner"], succeeded=True
            )  # fmt: skip
            world.review(view)
        learned = world.skills.get(line["owner"], [])
        if learned:
            held = line["heldout"] if isinstance(line["heldout"], list) else [line["heldout"]]
            for one in held:
                said = next(m["content"] for m in one["messages"] if m["role"] == "user")
                requests.append((len(skills), said))
            skills.append(learned[0])
    return skills, requests


def judge(path: Path) -> dict[str, Any]:
    """Return for each ranking the mean reciprocal rank of the right skill, and how often it is first."""
    skills, requests = asked_for(path)
    embedder = OnnxEmbedder()
    words = Relevance([(one.name, one.description, one.body) for one in skills])
    texts = [f"{one.name.replace('-', ' ')}: {one.description}" for one in skills]
    vectors = [
        np.frombuffer(raw, np.float32).reshape(-1, embedder.ndim)
        for raw in embed_texts(embedder, texts)
    ]
    ranks: dict[str, list[int]] = {"words": [], "meaning": [], "fused": []}
    took = 0.0
    for right, request in requests:
        scores = words.of(request)
        by_words = sorted(range(len(skills)), key=lambda at: (-scores[at], skills[at].name))
        before = time.process_time()
        vector = embed_query(embedder, request)
        took += time.process_time() - before
        near = [float((rows @ vector).max()) for rows in vectors]
        by_meaning = sorted(range(len(skills)), key=lambda at: -near[at])
        fused = [at for at, _ in fuse([[at for at in by_words if scores[at] > 0], by_meaning])]
        for name, order in (("words", by_words), ("meaning", by_meaning), ("fused", fused)):
            ranks[name].append(order.index(right) + 1)
    return {
        "requests": len(requests),
        **{
            name: {
                "mean reciprocal rank": round(statistics.mean(1 / rank for rank in found), 3),
                "first": sum(rank == 1 for rank in found),
                "of the first three": sum(rank <= 3 for rank in found),
            }
            for name, found in ranks.items()
        },
        "embedding a request, CPU ms": round(took * 1e3 / len(requests), 2),
    }


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benches.quality.loadout")
    parser.add_argument("folder", nargs="?", type=Path, default=LABELS)
    chosen = parser.parse_args(arguments)
    print(json.dumps(judge(chosen.folder / "procedures.jsonl"), indent=2))


if __name__ == "__main__":
    main()
