"""The children of the recovery tests of skills.

Usage: skills_child.py feed FOLDER STEP [PAYLOADS]   dies by SIGKILL when STEP is reached
       skills_child.py review FOLDER STEP            the same while it reviews
       skills_child.py swarm FOLDER SEED             two processes of two workers, one of which is
                                                     killed every 200 ms, until the queue is empty
"""

import os
import random
import signal
import sys
import threading
import time

sys.path.insert(0, os.getcwd())

from tests.skill_help import Canned, open_memory, pairs, user

from agentmem.skills import steps
from agentmem.skills.archive_store import FolderArchiveStore

FEED_STEPS = ("begun", "written", "committed", "buffered", "payload made", "archive begun",
              "archive inserted", "task inserted", "buffer cleared", "archive committed")  # fmt: skip
BLOB_STEPS = ("blob written", "blob synced", "blob renamed", "blob verified", "payload put")
REVIEW_STEPS = ("claim begun", "claimed", "archive read", "reviewer answered", "answer stored",
                "apply begun", "head raised", "version written", "effects written",
                "effect recorded", "task ended", "applied")  # fmt: skip
LOG = [user("please make deploy"), *pairs(10)]


def die_at(memory, wanted):
    def hook(name):
        if name == wanted:
            os.kill(os.getpid(), signal.SIGKILL)

    steps.set_hook(hook)
    memory._shared.database._step = hook


def feed(folder, step, payloads=None):
    with open_memory(folder) as memory:
        skills = memory.skills
        if payloads is not None:
            skills = skills.configure(archives=FolderArchiveStore(payloads))
        die_at(memory, step)
        skills.add(LOG, session="s", owner="ann")
    os.write(1, b"ALIVE\n")


def review(folder, step):
    with open_memory(folder) as memory:
        die_at(memory, step)
        memory.skills.review(reviewer=Canned())
    os.write(1, b"ALIVE\n")


def work(folder):
    """One process of two workers; it ends with 0 when nothing is left to do."""
    memory = open_memory(folder)
    stop = threading.Event()
    for _ in range(2):
        threading.Thread(
            target=memory.skills.watch, args=(stop,), kwargs={"reviewer": Canned()}, daemon=True
        ).start()
    while memory.skills.queue(states=("waiting", "leased", "blocked"), limit=1):
        time.sleep(0.05)
    os._exit(0)


def swarm(folder, seed):
    """All imports are done before the forks, so that a killed worker is back at once."""
    rng = random.Random(int(seed))
    children = []
    kills = 0
    while True:
        while len(children) < 2:
            child = os.fork()
            if child == 0:
                work(folder)
            children.append(child)
        time.sleep(0.2)
        for child in list(children):
            done, status = os.waitpid(child, os.WNOHANG)
            if done and os.waitstatus_to_exitcode(status) == 0:
                children.remove(child)
                for other in children:
                    os.kill(other, signal.SIGKILL)
                os.write(1, b"%d\n" % kills)
                return
            if done:
                children.remove(child)
        victim = rng.choice(children)
        os.kill(victim, signal.SIGKILL)
        os.waitpid(victim, 0)
        children.remove(victim)
        kills += 1


if __name__ == "__main__":
    {"feed": feed, "review": review, "swarm": swarm}[sys.argv[1]](*sys.argv[2:])
