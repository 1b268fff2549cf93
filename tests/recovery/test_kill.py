"""kill -9 at any time loses no acknowledged write and leaves no half of one."""

import random
import signal
import time

import pytest
from recovery_model import acknowledged, check, start


def run(tmp_path, kills, seed):
    rng = random.Random(seed)
    rows = {}
    folder = tmp_path / "store"
    in_flight = 0
    slowest = 0.0
    writes = 0
    for number in range(kills):
        # Each fourth folder is new, so that kills hit the making of a store too.
        if number % 4 == 0:
            folder = tmp_path / f"store{number}"
            rows = {}
            in_flight = 0
        threads = rng.choice((1, 4))
        in_flight += threads
        child = start(folder, "full", rng.randrange(10**9), 10**9, threads)
        if rng.random() < 0.8:
            child.stdout.readline()
        time.sleep(rng.uniform(0.05, 0.6))
        child.send_signal(signal.SIGKILL)
        with child:
            # Not communicate(), which would lose what the reading of the first line buffered.
            out, err = child.stdout.read(), child.stderr.read()
        assert child.returncode == -signal.SIGKILL, err
        lines = out.splitlines(keepends=True)
        writes += len(lines)
        rows |= acknowledged(line for line in lines if line.endswith("\n"))
        begun = time.perf_counter()
        lost, wrong = check(folder, rows, in_flight=in_flight)
        slowest = max(slowest, time.perf_counter() - begun)
        assert not lost, f"seed {seed}, kill {number}"
        assert not wrong, f"seed {seed}, kill {number}"
    print(
        f"{kills} kills, seed {seed}: {writes} acknowledged writes, slowest check {slowest:.2f} s"
    )
    assert writes > kills


def test_kills_lose_nothing(tmp_path):
    run(tmp_path, 12, seed=5)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_sixty_kills_lose_nothing(tmp_path):
    run(tmp_path, 60, seed=random.SystemRandom().randrange(10**6))
