"""Skills from the command line, from an event loop, and with the reviewer that needs no model."""

import asyncio
import io
import json
import sys
import time
from types import SimpleNamespace

import pytest
from tests.skill_help import SPACE, Canned, call, feed, open_memory, result, user

from agentmem import AsyncMemory, Memory, NotFoundError
from agentmem.cli import main


@pytest.fixture
def run(monkeypatch, capfdbinary):
    def call_main(*arguments):
        monkeypatch.setattr(sys, "argv", ["agentmem", "skills", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
        code = 0
        try:
            main()
        except SystemExit as ended:
            code = ended.code or 0
        sys.stdout.flush()
        out, err = capfdbinary.readouterr()
        return SimpleNamespace(code=code, out=out.decode(), err=err.decode())

    return call_main


@pytest.fixture
def folder(tmp_path):
    """A memory with one skill of two versions, neither approved; the model is not loaded."""
    path = tmp_path / "memory"
    with Memory(path) as memory:
        feed(memory.skills, "deploy", "s")
        memory.skills.review(reviewer=Canned())
        made = memory.skills.get("deploy")
        memory.skills.update(
            "deploy", owner="ann", expected_version=1, body=made.body.replace("Steps ", "Better ")
        )
    return path


def test_the_life_of_a_skill(folder, run, tmp_path):
    listed = json.loads(run("list", "-m", folder, "--json").out)
    assert [(one["name"], one["version"], one["state"]) for one in listed] == [
        ("deploy", 2, "proposed")
    ]
    assert "+Better deploy0" in run("diff", "deploy", "1", "2", "-m", folder).out
    assert "rests on archive:1: L0:2" in run("show", "deploy", "--version", 1, "-m", folder).out
    assert len(run("show", "deploy", "--all", "-m", folder).out.splitlines()) == 2
    wrong = run("approve", "deploy", "--owner", "bob", "-m", folder)
    assert (wrong.code, "only its owner" in wrong.err) == (1, True)
    stale = run("approve", "deploy", "--owner", "ann", "--expected-version", 1, "-m", folder)
    assert (stale.code, "version 1 was expected, it is 2 now" in stale.err) == (1, True)
    assert run("reject", "deploy", "--owner", "ann", "--note", "no", "-m", folder).code == 0
    approved = run("approve", "deploy", "--owner", "ann", "--version", 1, "-m", folder, "--json")
    assert json.loads(approved.out)["state"] == "approved"
    shown = run("loadout", "deploy it", "--owner", "ann", "--pin", "s1", "-m", folder)
    assert "deploy (version 1)" in shown.out
    for _ in range(2):
        run("report", "deploy", 1, "--session", "s1", "--outcome", "failure", "-m", folder)
    assert "suspect" in run("list", "--state", "approved", "-m", folder).out
    assert "2 failures in a row" in run("queue", "-m", folder).out
    exported = run("export", tmp_path / "out", "-m", folder)
    assert (tmp_path / "out" / "deploy" / "SKILL.md").exists(), exported.err
    back = run(
        "rollback", "deploy", "--to", 1, "--owner", "ann", "--expected-version", 2, "-m", folder
    )
    assert "deploy  3  approved" in back.out
    assert run("retire", "deploy", "--owner", "ann", "-m", folder).code == 0
    other = tmp_path / "other"
    taken = json.loads(run("import", tmp_path / "out", "--owner", "eve", "-m", other, "--json").out)
    assert [(one["name"], one["state"], one["trust"]) for one in taken] == [
        ("deploy", "proposed", "imported")
    ]
    again = run("import", tmp_path / "out", "--owner", "eve", "-m", other)
    assert (again.code, "has this name already" in again.err) == (1, True)
    merged = run("import", tmp_path / "out", "--owner", "eve", "--merge", "-m", other)
    assert "deploy  2  proposed" in merged.out


def test_misuse(folder, run):
    assert run("approve", "deploy", "-m", folder).code == 2
    assert run("report", "deploy", 1, "--session", "s", "--outcome", "fine", "-m", folder).code == 2
    assert run("review", "--watch", "--limit", 1, "-m", folder).code == 2
    assert run("show", "none", "-m", folder).code == 1
    assert run("queue", "--retry", "task:9", "-m", folder).code == 1
    assert run("list", "-m", folder / "none").code == 1


PROCEDURE = (
    ("build_image", {"tag": "shop:{0}"}),
    ("push_image", {"tag": "shop:{0}"}),
    ("deploy_service", {"service": "shop", "version": "{0}"}),
    ("check_health", {"service": "shop"}),
)


def release(version):
    log = [user(f"please release version {version} and check that the tests pass")]
    for number, (name, arguments) in enumerate(PROCEDURE):
        text = json.dumps({key: value.format(version) for key, value in arguments.items()})
        log.append(call(f"{version}-{number}", name=name, arguments=text))
        last = number == len(PROCEDURE) - 1
        log.append(result(f"{version}-{number}", "12 passed in 0.31s" if last else "ok"))
    log.append({"role": "assistant", "content": f"Version {version} is released, all tests pass."})
    return log


def test_a_second_occurrence_in_any_session_proposes_a_skill(tmp_path, run):
    folder = tmp_path / "memory"
    with Memory(folder) as memory:
        memory.skills.add(release("1.2.3"), session="monday", owner="ann", succeeded=True)
        memory.skills.archive("monday", owner="ann")
    first = json.loads(run("review", "-m", folder, "--json").out)
    assert [(one["outcome"], one["reasons"]) for one in first] == [("rejected", ["one-off"])]
    with Memory(folder) as memory:
        memory.skills.add(release("2.0.0"), session="friday", owner="ann", succeeded=True)
        memory.skills.archive("friday", owner="ann")
    (second,) = json.loads(run("review", "-m", folder, "--json").out)
    assert (second["outcome"], second["version"]) == ("created", 1)
    assert run("queue", "--all", "-m", folder).out.count("done") == 2
    with Memory(folder) as memory:
        made = memory.skills.get(second["skill"])
    assert made.state == "proposed"
    assert {one.archive for one in made.evidence} == {"archive:1", "archive:2"}
    assert "1.2.3" not in made.body
    assert "2.0.0" not in made.body


def test_the_same_from_an_event_loop(tmp_path):
    async def work():
        async with AsyncMemory(tmp_path / "memory", embedder=SPACE) as memory:
            skills = memory.skills.configure(archive_calls=2)
            log = [user("please make deploy"), call(1), result(1), call(2), result(2)]
            buffered = await skills.add(log, session="s", owner="ann")
            assert buffered.archived.reason == "tool_calls"
            (review,) = await skills.review(reviewer=Canned())
            assert review.skill == "deploy"
            await skills.approve("deploy", owner="ann")
            loadout = await skills.loadout("deploy", owner="ann")
            assert [one.name for one in loadout.identities] == ["deploy"]
            with pytest.raises(NotFoundError):
                await skills.get("none")

    asyncio.run(work())


def test_a_loadout_of_a_thousand_skills_is_quick(tmp_path):
    with open_memory(tmp_path / "memory", durability="normal") as memory:
        skills = memory.skills.configure(auto_approve=lambda _: True)
        text = " ".join(f"word{place}" for place in range(100))
        for number in range(1_000):
            skills.create(
                f"skill-{number}",
                description=f"Does thing {number}. Use for topic{number}.",
                body=f"# Skill {number}\n{text} {number}" * (1 + number % 3),
                owner="ann",
            )
        first = skills.loadout("topic500", owner="ann", budget_tokens=4_000, pin="s")
        assert first.identities[0].name == "skill-500"
        took = []
        for _ in range(20):
            started = time.process_time()
            again = skills.loadout("topic500", owner="ann", budget_tokens=4_000, pin="s")
            took.append(time.process_time() - started)
        assert again == first
        print(f"a loadout of 1,000 skills: {min(took) * 1e3:.2f} ms")
        assert min(took) < 0.005
