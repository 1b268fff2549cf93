"""What a memory must hold after the lines that its workers printed."""

import json
import subprocess
import sys
from pathlib import Path

from memory_worker import SPACE, vector

from agentmem import Memory
from agentmem.errors import NotFoundError

WORKER = Path(__file__).with_name("memory_worker.py")


def start(folder, *, seed, durability="full", count=10**9, threads=1, seconds=10**6, **options):
    arguments = map(str, (folder, durability, seed, count, threads, seconds))
    return subprocess.Popen(
        [sys.executable, str(WORKER), *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options,
    )  # fmt: skip


class Expected:
    """The rows that were acknowledged, and those that a step without acknowledgement may change."""

    def __init__(self):
        self.current = {}  # id -> (text, seed)
        self.past = set()
        self.gone = set()
        self.unsure = set()
        self.strangers = set()  # there without acknowledgement, which a step under way may leave
        self.workers = 0

    def read(self, lines):
        """Take in the output of one child; the last step of each thread may be under way."""
        pending = {}
        threads = set()
        for line in lines:
            if not line.startswith("{"):
                continue
            if not line.endswith("\n"):
                continue  # cut by the kill
            said = json.loads(line)
            threads.add(said["thread"])
            if said["what"] == "begin":
                pending[said["thread"]] = said["old"]
                continue
            pending.pop(said["thread"], None)
            for id, text, seed in said.get("new", ()):
                assert id not in self.current, "an id was given twice"
                self.current[id] = (text, seed)
            for id in said.get("past", ()):
                del self.current[id]
                self.past.add(id)
            for id in said.get("gone", ()):
                if id.startswith("L1:"):
                    self.current.pop(id, None)
                    self.past.discard(id)
                    self.gone.add(id)
        self.workers += max(len(threads), 1)
        for old in pending.values():
            self.unsure.update(old)

    def settle(self, current):
        """Take what is there now for what must be there from now on."""
        self.current = {id: row for id, row in self.current.items() if id in current}
        self.strangers = set(current) - set(self.current)
        self.unsure.clear()
        self.workers = 0

    def check(self, folder, *, may_lose=False):
        """Open the folder; return (lost ids, broken rules)."""
        wrong = []
        with Memory(folder, embedder=SPACE) as memory:
            wrong += memory.verify().problems
            listed = {fact.id: fact.text for fact in memory.facts(limit=100_000)}
            lost = [
                id for id, (text, _) in self.current.items()
                if listed.get(id) != text and id not in self.unsure
            ]  # fmt: skip
            wrong += [f"{id} came back" for id in self.gone & set(listed) if not may_lose]
            wrong += [
                f"{id} is current again" for id in (self.past & set(listed)) - self.unsure
                if not may_lose
            ]  # fmt: skip
            extra = set(listed) - set(self.current) - self.past - self.gone - self.strangers
            if len(extra) > 20 * self.workers and not may_lose:
                wrong.append(f"{len(extra)} rows that nobody acknowledged")
            if len(set(listed.values())) != len(listed):
                wrong.append("a text is there twice")
            for id in sorted(self.past - self.unsure)[:20]:
                try:
                    memory.get(id)
                except NotFoundError:
                    lost.append(id)
            for id in sorted(self.past & self.unsure):
                # A forget that was under way may have been done before the kill.
                try:
                    memory.get(id)
                except NotFoundError:
                    self.past.discard(id)
                    self.gone.add(id)
            here = [(id, *row) for id, row in self.current.items() if listed.get(id) == row[0]]
            found = memory.recall_many(
                [" ".join(text.split()[:2]) for _, text, _ in here],
                k=50,
                embeddings=[vector(seed) for _, _, seed in here],
            ) if here else []  # fmt: skip
            wrong += [
                f"recall does not find {id}"
                for (id, *_), hits in zip(here, found, strict=True)
                if id not in {hit.id for hit in hits if hit.ann_rank == 1}
            ]
            last = max((int(id[3:]) for id in [*self.current, *listed]), default=0)
            fresh = memory.remember(f"after {last} {len(listed)}", embedding=vector(last))
            if int(fresh.id[3:]) <= last and not may_lose:
                wrong.append(f"id {fresh.id} was given out again")
            memory.forget(fresh.id)
        self.settle(listed)
        return lost, wrong
