"""A power cut at any event, index folder included; the shim keeps what was synced and no more."""

import os
import random
import shutil

import pytest
from memory_model import Expected, start
from test_power_cut import tear


def cut(cut_shim, scratch, durability, at, rng, *, is_torn):
    """Return (rows, lost, wrong) of one worker whose power was cut at event ``at``."""
    root, kept, after = (scratch / name for name in ("root", "kept", "after"))
    for folder in (root, kept, after):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700)
    environment = os.environ | {
        "LD_PRELOAD": str(cut_shim),
        "CUT_ROOT": str(root),
        "CUT_IMAGE": str(kept),
        "CUT_AT": str(at),
    }
    child = start(
        root, seed=rng.randrange(10**9), durability=durability, count=250, env=environment
    )
    out, err = child.communicate(timeout=100)
    assert child.returncode in (-9, 0), (child.returncode, err)
    for image in kept.iterdir():
        if image.name.endswith((".tmp", "-shm")):
            continue  # -shm is never synced and is made anew from the WAL
        target = after.joinpath(*image.name.split("@"))
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        content = image.read_bytes()
        current = root / target.relative_to(after)
        if is_torn and current.exists():
            content = tear(content, current.read_bytes(), rng)
        target.write_bytes(content)
    expected = Expected()
    expected.read(out.splitlines(keepends=True))
    rows = len(expected.current)
    lost, wrong = expected.check(after, may_lose=durability == "normal")
    return rows, lost, wrong


def cuts(cut_shim, scratch, durability, count, rng):
    lossy = acknowledged = 0
    for number in range(count):
        at = rng.randrange(20, 2500)
        rows, lost, wrong = cut(cut_shim, scratch, durability, at, rng, is_torn=number % 2 == 1)
        assert not wrong, f"{durability}, cut {number} at event {at}"
        lossy += bool(lost)
        acknowledged += rows
    print(f"{durability}: {count} cuts, {acknowledged} acknowledged rows, {lossy} lossy cuts")
    return lossy


@pytest.mark.timeout(1500)
def test_power_cuts_of_a_memory(cut_shim, scratch, request):
    is_long = request.config.getoption("--long")
    rng = random.Random(17)
    assert cuts(cut_shim, scratch, "full", 100 if is_long else 15, rng) == 0
    assert cuts(cut_shim, scratch, "normal", 10 if is_long else 4, rng) > 0
