"""Sessions of Claude Code taken in: each row once, sub-agents under their calls, resumable."""

import gzip
import json
import signal
import subprocess
import sys
import time

import pytest
from tests.integrations.claude_code_parts import (
    SESSION,
    agent_lines,
    line,
    main_lines,
    rows,
    run,
    text_of,
    write,
)

import agentmem
from agentmem.integrations.claude_code.sessions import find_sessions
from agentmem.integrations.claude_code.transfer import import_sessions

OTHER = "0b9f6a52-7c1d-4e8a-8f3e-5d4c3b2a1f00"
pytestmark = pytest.mark.timeout(300)


def project(tmp_path):
    """Two sessions, one with a sub-agent in its folder, one with a sub-agent beside it."""
    folder = tmp_path / "projects" / "-home-user-app"
    write(folder / f"{SESSION}.jsonl", main_lines())
    write(folder / SESSION / "subagents" / "agent-a1b2c3d.jsonl", agent_lines())
    write(folder / f"{OTHER}.jsonl", main_lines(2, OTHER, "b9"))
    write(folder / "agent-b9.jsonl", agent_lines(OTHER, "b9", 1))
    return tmp_path / "projects"


def test_each_session_comes_in_once_with_its_sub_agents(tmp_path):
    folder = project(tmp_path)
    seen = []
    with agentmem.Memory(tmp_path / "memory") as memory:
        done = import_sessions(memory, folder, progress=lambda *at: seen.append(at))
        first = rows(memory)
        again = import_sessions(memory, folder)
        assert rows(memory) == first
    assert (done.sessions, done.existing, dict(done.failed)) == (2, 0, {})
    assert done.new == len(first[0]) > 30
    assert (again.new, again.existing) == (0, done.new)
    assert [at for at, _ in seen] == sorted(at for at, _ in seen)
    assert seen[-1][0] == seen[-1][1] > 0
    assert {row[0] for row in first[0]} == {SESSION, OTHER}
    # The calls of a sub-agent stand under the call that started it.
    refs = {(row[0], row[1]): row[2] for row in first[1]}
    assert refs[SESSION, "c4"] == "Task"
    assert refs[SESSION, "c4_1"] == refs[SESSION, "c4_2"] == "Bash"
    assert refs[OTHER, "c3_1"] == "Bash"


def test_a_session_that_has_grown_gets_its_new_turns(tmp_path):
    folder = project(tmp_path)
    path = folder / "-home-user-app" / f"{SESSION}.jsonl"
    with agentmem.Memory(tmp_path / "memory") as memory:
        before = import_sessions(memory, folder)
        with path.open("a") as file:
            file.write(text_of([line(900, "user", "One more thing.")]))
        after = import_sessions(memory, folder)
    assert (after.new, after.existing) == (1, before.new)


def test_sessions_are_named_by_the_host_or_the_file(tmp_path):
    write(tmp_path / "notes.jsonl", main_lines(1, OTHER))
    write(tmp_path / f"{SESSION}.jsonl", main_lines(1, OTHER))
    write(tmp_path / "plain.jsonl", [{"type": "summary", "summary": "x", "leafUuid": "y"}])
    packed = tmp_path / "zipped" / "agent-zz.jsonl.gz"
    packed.parent.mkdir()
    packed.write_bytes(gzip.compress(text_of(agent_lines("gone", "zz")).encode()))
    found = {one.name: one for one in find_sessions(tmp_path)}
    assert set(found) == {OTHER, SESSION, "plain", "gone"}
    assert found["gone"].mains == []
    assert [agent for _, agent in found["gone"].agents] == ["zz"]
    assert [one.name for one in find_sessions(tmp_path / "notes.jsonl")] == [OTHER]


def test_what_cannot_be_read_is_named_and_the_rest_comes_in(tmp_path):
    folder = project(tmp_path)
    odd = folder / "odd"
    odd.mkdir()
    (odd / "binary.jsonl").write_bytes(bytes(range(256)) * 50)
    (odd / "empty.jsonl").write_bytes(b"")
    (odd / "broken.jsonl.gz").write_bytes(gzip.compress(b"x" * 9000)[:60])
    (odd / "cut.jsonl").write_text(text_of(main_lines(1, "cut"))[:-40])
    done = run("import", "claude-code", folder, "-m", tmp_path / "memory", "--json")
    said = json.loads(done.stdout)
    assert done.returncode == 1
    assert set(said["failed"]) <= {"binary", "broken"}
    assert "binary" in said["failed"]
    assert b"binary" in done.stderr
    with agentmem.Memory(tmp_path / "memory") as memory:
        names = {row[0] for row in rows(memory)[0]}
        assert {SESSION, OTHER, "cut"} <= names


def test_the_command_says_what_is_wrong(tmp_path):
    missing = run("import", "claude-code", tmp_path / "none", "-m", tmp_path / "memory")
    assert missing.returncode == 2
    empty = run("import", "claude-code", tmp_path, "-m", tmp_path / "memory")
    assert empty.returncode == 1
    assert b"no session" in empty.stderr
    home = run("import", "claude-code", "-m", tmp_path / "memory", CLAUDE_CONFIG_DIR=str(tmp_path))
    assert home.returncode == 1
    assert not (tmp_path / "memory").exists()
    wrong = run("import", "x.jsonl", tmp_path, "-m", tmp_path / "memory")
    assert wrong.returncode == 2


def test_a_run_that_was_killed_goes_on(tmp_path):
    folder = tmp_path / "projects"
    for number in range(12):
        name = f"{number:08x}-0000-4000-8000-000000000000"
        write(folder / f"{name}.jsonl", main_lines(150, name))
    with agentmem.Memory(tmp_path / "whole") as memory:
        expected = import_sessions(memory, folder).new
        wanted = rows(memory)
    killed = 0
    target = tmp_path / "memory"
    for wait_s in (0.05, 0.3, 0.6):
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(target), str(folder)], stdout=subprocess.PIPE
        )
        # It says when the first session is written.
        assert process.stdout.readline() == b"go\n"
        time.sleep(wait_s)
        process.send_signal(signal.SIGKILL)
        killed += process.wait() == -signal.SIGKILL
        process.stdout.close()
    assert killed
    with agentmem.Memory(target) as memory:
        done = import_sessions(memory, folder)
        assert done.new + done.existing == expected
        assert rows(memory) == wanted
        assert memory.verify().ok


KILLED = """
import sys
from pathlib import Path
import agentmem
from agentmem.integrations.claude_code.transfer import import_sessions
with agentmem.Memory(sys.argv[1]) as memory:
    import_sessions(
        memory, Path(sys.argv[2]), progress=lambda done, total: print("go", flush=True)
    )
    import time
    time.sleep(60)
"""


def test_real_sessions_come_in_once(tmp_path, data_path):
    folder = data_path / "toollogs" / "claude-code"
    with agentmem.Memory(tmp_path / "memory") as memory:
        done = import_sessions(memory, folder)
        first = rows(memory)
        again = import_sessions(memory, folder)
        assert rows(memory) == first
        assert done.sessions == 4
        assert (again.new, again.existing) == (0, done.new)
        for name in {row[0] for row in first[1]}:
            assert agentmem.parse(str(memory.canvas(name)))
