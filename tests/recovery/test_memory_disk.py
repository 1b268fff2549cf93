"""A full disk and folders that can't be written, as a host of a memory sees them."""

import contextlib
import os
import subprocess
import time

import numpy as np
import pytest
from test_disk import small_disk

from agentmem import GivenEmbeddings, Memory
from agentmem.errors import SearchIndexError, StorageFullError

NDIM = 64
SPACE = GivenEmbeddings(id="disk", ndim=NDIM)


def vector(seed):
    return np.random.default_rng(seed).normal(size=NDIM).astype(np.float32)


def text_of(number):
    return f"row{number} is acknowledged " + "and long " * 100


def fill(memory, first=1):
    """Write until the disk is full; return what was acknowledged as id -> number."""
    kept = {}
    for number in range(first, first + 20_000):
        try:
            kept[memory.remember(text_of(number), embedding=vector(number)).id] = number
        except StorageFullError:
            return kept
    pytest.fail("the disk never became full")


def check_all(memory, kept):
    """Every acknowledged row is listed, and recall finds it."""
    listed = {fact.id: fact.text for fact in memory.facts(limit=100_000)}
    assert listed == {id: text_of(number) for id, number in kept.items()}
    sample = sorted(kept.items())[:: max(len(kept) // 60, 1)]
    found = memory.recall_many(
        [f"row{number}" for _, number in sample],
        k=1,
        embeddings=[vector(number) for _, number in sample],
    )
    assert [[hit.id for hit in hits] for hits in found] == [[id] for id, _ in sample]


def index_files(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted((folder / "index").rglob("*"))
        if path.is_file() and not path.name.startswith("LOCK")
    }


def test_a_full_disk_keeps_what_was_acknowledged_and_goes_on_when_space_returns(tmp_path):
    with small_disk(tmp_path / "disk", size="6m") as disk:
        ballast = disk / "ballast"
        ballast.write_bytes(bytes(3 << 20))
        folder = disk / "memory"
        with Memory(folder, embedder=SPACE) as memory:
            kept = {memory.remember(text_of(0), embedding=vector(0)).id: 0}
            assert memory._shared.index.fold()
            kept |= fill(memory)
            assert len(kept) > 50
            check_all(memory, kept)
            # What is left of the space is too little for a segment.
            with contextlib.suppress(OSError), open(disk / "rest", "wb", buffering=0) as rest:
                while rest.write(bytes(4096)):
                    pass
            before, tail = index_files(folder), memory.stats().tail
            with pytest.raises((OSError, SearchIndexError), match="No space"):
                memory._shared.index.fold()
            assert len(before) > 5
            assert index_files(folder) == before, "a failed fold changes nothing"
            assert memory.stats().tail == tail
            # The last pages of the WAL may still take a row or two.
            kept |= fill(memory, first=50_000)
            with pytest.raises(StorageFullError):
                memory.remember_many(
                    [{"text": f"more {n}", "embedding": vector(n)} for n in range(300)]
                )
            check_all(memory, kept)
            memory.rebuild_index()
            assert "No space" in memory.stats().last_fold_error
            check_all(memory, kept)
        # Opened again on the full disk, without an index: it is held in memory.
        with Memory(folder, embedder=SPACE) as memory:
            check_all(memory, kept)
            (disk / "rest").unlink()
            ballast.unlink()
            more = fill(memory, first=100_000)
            assert len(more) > 50, "writes go on without reopening"
            check_all(memory, kept | more)
        (folder.parent / "memory" / "counter").stat()
        subprocess.run(["mount", "-o", "remount,size=30m", str(disk)], check=True)
        with Memory(folder, embedder=SPACE) as memory:
            memory._shared.index.fold()
            assert memory.stats().last_fold_error is None
            check_all(memory, kept | more)
            assert memory.verify().ok
        with Memory(folder, embedder=SPACE) as memory:
            assert memory._shared.index.rebuilds == 0
            check_all(memory, kept | more)


@pytest.mark.timeout(120)
def test_a_background_fold_that_fails_is_shown_and_stops_no_write(tmp_path, monkeypatch):
    monkeypatch.setattr("agentmem.index.IDLE_S", 0.1)
    monkeypatch.setattr("agentmem.index.FOLD_AT", 200)
    monkeypatch.setattr("agentmem.index.FOLD_AT_REST", 100)
    monkeypatch.setattr("agentmem.index.TAIL_LIMIT", 400)
    folder = tmp_path / "memory"
    with Memory(folder, embedder=SPACE) as memory:
        memory.remember(text_of(0), embedding=vector(0))
        memory._shared.index.fold()
    index = folder / "index"
    moved = tmp_path / "moved"
    index.rename(moved)
    index.mkdir()
    command = ["mount", "--bind", str(moved), str(index)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("no folder can be made unwritable for this user here")
    try:
        with Memory(folder, embedder=SPACE) as memory:
            subprocess.run(["mount", "-o", "remount,ro,bind", str(index)], check=True)
            kept = {memory.facts()[0].id: 0}
            for first in range(1, 901, 100):
                facts = memory.remember_many(
                    [
                        {"text": text_of(number), "embedding": vector(number)}
                        for number in range(first, first + 100)
                    ]
                )
                kept |= {fact.id: number for number, fact in enumerate(facts, first)}
            for _ in range(100):
                if memory.stats().last_fold_error:
                    break
                memory._shared.index._folder_thread.join(0.1)
            assert "Read-only" in memory.stats().last_fold_error
            assert memory.stats().tail == 900
            check_all(memory, kept)
            memory.remember(text_of(901), embedding=vector(901))
            # So long that a fold at rest has failed since the last write.
            time.sleep(0.5)
            # A folder that can't be written is still opened, and what it lacks is in memory.
            with Memory(folder, embedder=SPACE) as second:
                assert second.recall("row901", k=1, embedding=vector(901))[0].text == text_of(901)
            subprocess.run(["mount", "-o", "remount,rw,bind", str(index)], check=True)
            for _ in range(100):
                if memory.stats().last_fold_error is None:
                    break
                memory._shared.index._folder_thread.join(0.1)
            stats = memory.stats()
            assert stats.last_fold_error is None
            assert stats.watermark == stats.last_seq
            assert memory.verify().ok
    finally:
        subprocess.run(["umount", "-l", str(index)], check=True)


def test_an_index_folder_that_is_read_only_for_its_owner(tmp_path):
    """Works for every user but root, who may write anywhere."""
    if os.geteuid() == 0:
        pytest.skip("root may write into any folder")
    with Memory(tmp_path / "memory", embedder=SPACE) as memory:
        (tmp_path / "memory" / "index").chmod(0o500)
        memory.remember(text_of(1), embedding=vector(1))
        with pytest.raises(OSError, match="denied"):
            memory._shared.index.fold()
        check_all(memory, {"L1:1": 1})
        (tmp_path / "memory" / "index").chmod(0o700)
        assert memory._shared.index.fold()
