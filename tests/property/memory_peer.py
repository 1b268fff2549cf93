"""Plain answers of a memory, asked here or of a child process that has the same folder open."""

import json
import subprocess
import sys
from pathlib import Path

from tests.strategies import unit_vector

from agentmem import GivenEmbeddings, Memory

NDIM = 8
SPACE = GivenEmbeddings(id="machine", ndim=NDIM)
ROOT = Path(__file__).parents[2]


class Local:
    """One handle in this process; every answer is JSON data."""

    def __init__(self):
        self.memory = None

    def open(self, folder):
        self.memory = Memory(folder, embedder=SPACE)

    def close(self):
        if self.memory is not None:
            self.memory.close()

    def remember(self, scope, text, seed, key=None, supersedes=None):
        fact = self.memory.scoped(scope).remember(
            text, key=key, supersedes=supersedes, embedding=unit_vector(seed, NDIM)
        )
        return [fact.id, fact.status, list(fact.supersedes)]

    def forget(self, id):
        return list(self.memory.forget(id).ids)

    def recall(self, scope, query, seed, k=200):
        hits = self.memory.scoped(scope).recall(query, k=k, embedding=unit_vector(seed, NDIM))
        return [[hit.id, hit.text, hit.score, hit.bm25_rank, hit.ann_rank] for hit in hits]

    def facts(self):
        return {fact.id: fact.text for fact in self.memory.facts(limit=1000)}

    def fold(self):
        return self.memory._shared.index.fold()

    def rebuild(self):
        self.memory.rebuild_index()

    def verify(self):
        return list(self.memory.verify().problems)


class Peer:
    """The same of a child process, which lives as long as this object."""

    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.property.memory_peer"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
        )  # fmt: skip

    def __getattr__(self, name):
        def ask(*arguments, **named):
            self.process.stdin.write(json.dumps([name, arguments, named]) + "\n")
            self.process.stdin.flush()
            answer = json.loads(self.process.stdout.readline())
            assert "error" not in answer, answer
            return answer["result"]

        return ask

    def stop(self):
        with self.process:
            self.process.stdin.close()


def main():
    local = Local()
    for line in sys.stdin:
        name, arguments, named = json.loads(line)
        try:
            answer = {"result": getattr(local, name)(*arguments, **named)}
        except Exception as error:
            answer = {"error": repr(error)}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
