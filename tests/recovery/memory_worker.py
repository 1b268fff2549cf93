"""The child of the Memory recovery tests: mixed work, each step announced and acknowledged.

Usage: memory_worker.py FOLDER DURABILITY SEED COUNT THREADS SECONDS

Each thread works in a scope of its own. One JSON line goes out before a step that can take
something away (``begin``) and one after each step that returned (``ack``). They are written one at a
time, because a pipe takes a long line in pieces.
"""

import json
import os
import random
import sys
import threading
import time
import zlib

import numpy as np

from agentmem import GivenEmbeddings, Memory

NDIM = 16
SPACE = GivenEmbeddings(id="recovery", ndim=NDIM)
OUTPUT = threading.Lock()


def vector(seed):
    return np.random.default_rng(seed).normal(size=NDIM).astype(np.float32)


class Worker:
    def __init__(self, memory, name, seed):
        self.root = memory
        self.name = name
        self.memory = memory.scoped(name)
        self.rng = random.Random(seed)
        self.made = 0
        self.live = {}  # id -> key or None

    def say(self, what, **fields):
        line = json.dumps({"thread": self.name, "what": what, **fields}) + "\n"
        with OUTPUT:
            sys.stdout.write(line)
            sys.stdout.flush()

    def fresh(self):
        self.made += 1
        padding = "filler " * self.rng.choice((0, 3, 80, 600))
        text = f"{self.name} row{self.made} speaks of topic{self.made % 7} {padding}".strip()
        return text, zlib.crc32(text.encode())

    def step(self):
        choice = self.rng.random()
        if choice < 0.40 or not self.live:
            self.add()
        elif choice < 0.50:
            self.add_many()
        elif choice < 0.68:
            self.upsert()
        elif choice < 0.78:
            self.supersede()
        elif choice < 0.90:
            self.forget()
        elif choice < 0.96:
            self.root._shared.index.fold()
        elif choice < 0.98:
            self.root.rebuild_index()
        else:
            self.root.purge()

    def add(self):
        text, seed = self.fresh()
        fact = self.memory.remember(text, embedding=vector(seed))
        self.live[fact.id] = None
        self.say("ack", new=[[fact.id, text, seed]])

    def add_many(self):
        rows = [self.fresh() for _ in range(20)]
        facts = self.memory.remember_many(
            [{"text": text, "embedding": vector(seed)} for text, seed in rows]
        )
        self.live.update((fact.id, None) for fact in facts)
        new = [[fact.id, *row] for fact, row in zip(facts, rows, strict=True)]
        self.say("ack", new=new)

    def upsert(self):
        key = f"key{self.rng.randrange(5)}"
        old = [id for id, has in self.live.items() if has == key]
        text, seed = self.fresh()
        self.say("begin", old=old)
        fact = self.memory.remember(text, key=key, embedding=vector(seed))
        for id in old:
            del self.live[id]
        self.live[fact.id] = key
        self.say("ack", new=[[fact.id, text, seed]], past=old)

    def supersede(self):
        old = [self.rng.choice(sorted(self.live))]
        text, seed = self.fresh()
        self.say("begin", old=old)
        fact = self.memory.remember(text, supersedes=old, embedding=vector(seed))
        del self.live[old[0]]
        self.live[fact.id] = None
        self.say("ack", new=[[fact.id, text, seed]], past=old)

    def forget(self):
        id = self.rng.choice(sorted(self.live))
        preview = self.memory.forget(id, dry_run=True)
        self.say("begin", old=list(preview.ids))
        gone = self.memory.forget(id)
        del self.live[id]
        self.say("ack", gone=list(gone.ids))


def main(folder, durability, seed, count, threads, seconds):
    memory = Memory(folder, embedder=SPACE, durability=durability)
    os.write(1, b"READY\n")
    until = time.monotonic() + float(seconds)

    def work(number):
        worker = Worker(memory, f"p{os.getpid()}t{number}", int(seed) + number)
        for _ in range(int(count)):
            if time.monotonic() > until:
                break
            worker.step()

    running = [threading.Thread(target=work, args=(n,)) for n in range(int(threads))]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    memory.close()
    os.write(1, b"DONE\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
