"""A power cut loses nothing acknowledged with durability="full", and "normal" is shown to lose.

The shim keeps of each file what was last synced. A torn image mixes in, by sectors of 512 bytes,
newer bytes that were written but not synced, as a disk may leave them.
"""

import os
import random
import shutil
import subprocess
import sys

import pytest
from recovery_model import acknowledged, check, start

SECTOR = 512


def tear(kept, current, rng):
    size = max(len(kept), len(current)) if rng.random() < 0.5 else len(kept)
    image = bytearray(kept.ljust(size, b"\0"))
    newer = current.ljust(size, b"\0")[:size]
    for start_of_sector in range(0, size, SECTOR):
        if rng.random() < 0.5:
            image[start_of_sector : start_of_sector + SECTOR] = newer[
                start_of_sector : start_of_sector + SECTOR
            ]
    return bytes(image)


def cut(cut_shim, scratch, durability, at, rng, *, is_torn):
    """Return (acknowledged, lost, wrong) of one worker whose power was cut at event ``at``."""
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
    child = start(root, durability, rng.randrange(10**9), 400, env=environment)
    out, err = child.communicate(timeout=60)
    assert child.returncode in (-9, 0), err
    for image in kept.iterdir():
        if image.name.endswith((".tmp", "-shm")):
            continue  # -shm is never synced and is made anew from the WAL
        content = image.read_bytes()
        current = root / image.name
        if is_torn and current.exists():
            content = tear(content, current.read_bytes(), rng)
        (after / image.name).write_bytes(content)
    rows = acknowledged(out.splitlines())
    lost, wrong = check(after, rows, in_flight=1)
    return len(rows), lost, wrong


def cuts(cut_shim, scratch, durability, count, rng):
    lossy = wrong_runs = acknowledged_rows = 0
    for number in range(count):
        at = rng.randrange(15, 1500)
        rows, lost, wrong = cut(cut_shim, scratch, durability, at, rng, is_torn=number % 2 == 1)
        acknowledged_rows += rows
        lossy += bool(lost)
        # What "normal" loses it may also show as fewer changes; rules inside the file still hold.
        wrong_runs += bool(wrong)
        assert not wrong, f"{durability}, cut at event {at}: {wrong}"
    print(f"{durability}: {count} cuts, {acknowledged_rows} acknowledged rows, {lossy} lossy cuts")
    return lossy


@pytest.mark.timeout(600)
def test_power_cuts(cut_shim, scratch, request):
    is_long = request.config.getoption("--long")
    rng = random.Random(11)
    assert cuts(cut_shim, scratch, "full", 100 if is_long else 40, rng) == 0
    assert cuts(cut_shim, scratch, "normal", 20 if is_long else 10, rng) > 0


def test_one_sync_a_commit(cut_shim, scratch):
    root = scratch / "root"
    root.mkdir()
    log = scratch / "syncs"
    code = f"""
import os
from pathlib import Path
from agentmem.store import Database
database = Database(Path({str(root)!r}))
log = Path({str(log)!r})
row = "x" * 2000
database.write(lambda t: t.connection.execute("CREATE TABLE note (text TEXT)"))
def add(t):
    t.connection.execute("INSERT INTO note VALUES (?)", (row,))
    t.change("add", 1, 1)
database.write(add)
log.unlink()
for _ in range(50):
    database.write(add)
print(len(log.read_text().splitlines()))
log.unlink()
for _ in range(4000):
    database.write(add)
wal_bytes = os.path.getsize(str(database.path) + "-wal")
print(len(log.read_text().splitlines()), database._checkpointer.runs, wal_bytes)
"""
    environment = os.environ | {
        "LD_PRELOAD": str(cut_shim),
        "CUT_ROOT": str(root),
        "CUT_LOG": str(log),
    }
    child = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=environment,
        timeout=200,
        check=False,
    )
    assert child.returncode == 0, child.stderr
    few, many = child.stdout.splitlines()
    syncs, runs, wal_bytes = map(int, many.split())
    print(
        f"50 commits: {few} syncs; 4,000 commits: {syncs} syncs, "
        f"{runs} checkpoints, WAL {wal_bytes:,} bytes"
    )
    assert int(few) == 50
    assert runs >= 2
    assert syncs <= 4000 * 1.05
    assert wal_bytes < 64 << 20
