"""Opens each damaged folder and compares its answers; one JSON line before and after each.

Usage: memory_corruption_child.py ANSWERS FOLDER...
"""

import json
import os
import sys

import numpy as np
from memory_worker import SPACE, vector

from agentmem import Memory

QUERIES = [
    ("topic3 of the harbour", 3), ("row17", 170), ("", 44), ("nothing of this is there", 90),
    ("filler words", 7), ("version two", 1001), ("forgotten", 260), ("row599 topic4", 599),
]  # fmt: skip


def shown(hits):
    return [[hit.id, hit.score, hit.bm25_rank, hit.ann_rank, hit.text, hit.tags] for hit in hits]


def answers(memory):
    """Everything that a host can ask: lists, hits with their ranks and scores, whole rows."""
    hits = [
        shown(memory.recall(text, k=k, embedding=vector(seed), explain=True))
        for text, seed in QUERIES
        for k in (5, 1000)
    ]
    hits.append(shown(memory.recall("row topic", tags=["even"], k=400, embedding=vector(5))))
    hits.append(shown(memory.scoped("a/b").recall("row topic", k=400, embedding=vector(6))))
    facts = [[fact.id, fact.text] for fact in memory.facts(limit=10_000)]
    return json.loads(json.dumps({"hits": hits, "facts": facts}))


def brute_force(memory):
    """Return the ids in the order of their cosine, counted from the rows alone."""
    rows = memory.sql(
        "SELECT facts.id, vector FROM facts JOIN embeddings ON (embeddings.id >> 3) = (1 << 56 | facts.id)"
        " WHERE superseded_ms IS NULL ORDER BY facts.id"
    )
    matrix = np.array([np.frombuffer(row[1], np.float32) for row in rows])
    wanted = []
    for _, seed in QUERIES:
        query = vector(seed)
        cosines = matrix @ (query / np.linalg.norm(query))
        order = np.argsort(-cosines, kind="stable")[:1000]
        wanted.append([f"L1:{rows[at][0]}" for at in order])
    return wanted


def examine(folder, expected):
    with Memory(folder, embedder=SPACE) as memory:
        at_open = memory._shared.index.rebuilds
        first = answers(memory)
        rebuilds = memory._shared.index.rebuilds
        problems = list(memory.verify().problems)
        fresh = memory.remember("written after the damage", embedding=vector(123456))
        found = memory.recall("written after the damage", k=1, embedding=vector(123456))
        memory.forget(fresh.id)
        memory._shared.index.fold()
        memory.rebuild_index() if problems else None
        again = answers(memory)
        return {
            "right": first == expected,
            "right_again": again == expected,
            "noticed": bool(rebuilds or problems),
            "at_open": bool(at_open),
            "found": [hit.id for hit in found] == [fresh.id],
            "problems": list(memory.verify().problems),
        }


def main(answers_path, *folders):
    with open(answers_path) as file:
        expected = json.load(file)
    for folder in folders:
        os.write(1, (json.dumps({"begin": folder}) + "\n").encode())
        try:
            outcome = examine(folder, expected)
        except Exception as error:
            outcome = {"error": f"{type(error).__name__}: {error}"}
        os.write(1, (json.dumps({"end": folder, **outcome}) + "\n").encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
