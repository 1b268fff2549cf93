"""kill -9 in mixed work at any time: every acknowledged row is there, listed and recalled."""

import random
import signal
import time

import pytest
from memory_model import Expected, start


def run(tmp_path, kills, seed):
    rng = random.Random(seed)
    acknowledged = 0
    for number in range(kills):
        # Each third folder is new, so that kills hit the making of a memory too.
        if number % 3 == 0:
            folder = tmp_path / f"memory{number}"
            expected = Expected()
        child = start(folder, seed=rng.randrange(10**9), threads=rng.choice((1, 4)))
        if number % 3 or rng.random() < 0.7:
            child.stdout.readline()
        time.sleep(rng.uniform(0.05, 1.2))
        child.send_signal(signal.SIGKILL)
        with child:
            # Not communicate(), which would lose what the reading of the first line buffered.
            out, err = child.stdout.read(), child.stderr.read()
        assert child.returncode == -signal.SIGKILL, err
        expected.read(out.splitlines(keepends=True))
        acknowledged += len(expected.current)
        lost, wrong = expected.check(folder)
        assert not lost, f"kill {number}"
        assert not wrong, f"kill {number}"
    print(f"{kills} kills, {acknowledged} times a row was looked for")
    assert acknowledged > 10 * kills


@pytest.mark.timeout(200)
def test_a_few_kills(tmp_path):
    run(tmp_path, 6, seed=3)


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_sixty_kills(tmp_path):
    run(tmp_path, 60, seed=4)
