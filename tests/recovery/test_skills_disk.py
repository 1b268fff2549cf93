"""A full disk at any step of a skill's way: a typed error, nothing lost, nothing half applied."""

import pytest
from test_disk import small_disk
from test_skills_kill import check
from tests.skill_help import Canned, body, open_memory, pairs, user

from agentmem.errors import StorageFullError


def fill(disk):
    """Take all the space that is left, and return the file that has it."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            try:
                while file.write(b"\0" * size) == size:
                    pass
            except OSError:
                continue
    return ballast


def outcome(act, *arguments, **named):
    """Do something on a full disk: it may still fit, or it fails as it should."""
    try:
        return act(*arguments, **named)
    except StorageFullError:
        return None


def test_a_full_disk_at_each_step(tmp_path):
    with small_disk(tmp_path / "disk", size="8m") as disk, open_memory(disk / "memory") as memory:
        skills = memory.skills
        logs = [[user(f"please make skill-{n}"), *pairs(12, text="x" * 20_000)] for n in range(4)]
        acknowledged = 0
        for number, log in enumerate(logs):
            ballast = fill(disk)
            # Fed, reviewed, moved and handed out with no space at all.
            with pytest.raises(StorageFullError):
                skills.add(log, session=f"s{number}", owner="ann")
            check(memory)
            outcome(skills.review, reviewer=Canned())
            outcome(
                skills.create,
                f"by-hand-{number}",
                description="d",
                body=body("w" * 4_000),
                owner="ann",
            )
            check(memory)
            ballast.unlink()
            # The host feeds again, as it was told to; then there is no space for the review.
            skills.add(log, session=f"s{number}", owner="ann")
            skills.archive(f"s{number}", owner="ann")
            ballast = fill(disk)
            outcome(skills.review, reviewer=Canned())
            outcome(skills.loadout, owner="ann", pin="work")
            check(memory)
            ballast.unlink()
            skills.review(reviewer=Canned())
            acknowledged += len(log)
            assert memory.stats().turns == acknowledged
        assert skills.queue() == []
        made = {f"skill-{number}" for number in range(len(logs))}
        assert {one.name for one in skills.list()} >= made
        assert memory.sql("SELECT count(*) FROM skill_effects") == [(len(logs),)]
        assert memory.verify().ok


def test_an_export_to_a_full_disk_leaves_nothing_behind(tmp_path):
    with open_memory(tmp_path / "memory") as memory, small_disk(tmp_path / "disk") as disk:
        memory.skills.create(
            "alpha", description="d", body=body("one"), owner="ann",
            resources={"assets/big": b"x" * 900_000},
        )  # fmt: skip
        (disk / "out").mkdir()
        ballast = fill(disk)
        with pytest.raises(StorageFullError):
            memory.skills.export(disk / "out", names=["alpha"])
        assert list((disk / "out").iterdir()) == []
        ballast.unlink()
        (folder,) = memory.skills.export(disk / "out", names=["alpha"])
        assert (folder / "assets" / "big").stat().st_size == 900_000
