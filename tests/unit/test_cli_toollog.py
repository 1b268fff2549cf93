"""The verbs of tool logs on the command line, each in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from tests.host_logs import long_log, openai_pair

from agentmem import Memory

RUN = [sys.executable, "-c", "from agentmem.cli import main; main()"]


def run(*arguments, given=None, code=0):
    done = subprocess.run(
        [*RUN, *map(str, arguments)], input=given, capture_output=True, timeout=120, check=False
    )
    assert done.returncode == code, done.stderr.decode()
    return done.stdout.decode() if code == 0 else done.stderr.decode()


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, long_log(openai_pair, 6))))
    return path


def test_compress_and_parse_are_inverse(log):
    diagram = run("compress", log)
    assert diagram.startswith("stateDiagram-v2\n")
    steps = json.loads(run("parse", "-", "--json", given=diagram.encode()))
    assert [step["ref"] for step in steps] == [f"c{n}" for n in range(1, 7)]
    assert run("compress", "-", given=log.read_bytes()) == diagram
    assert run("parse", "-", given=diagram.encode()).splitlines()[0].startswith("c1 Bash grep")
    numbers = json.loads(run("compress", log, "--json", "--stats"))
    assert numbers["calls"] == 6
    assert numbers["bytes"] == len(diagram.encode())
    assert "6 calls, 0 failed" in run("compress", log, "--stats")


def test_wrong_input_is_named(log, tmp_path):
    assert "line 1" in run("parse", "-", given=b"flowchart TD\n", code=1)
    assert "no-such-file" in run("compress", tmp_path / "no-such-file", code=2)
    for verb in (("compress", log), ("capture", log, "-m", tmp_path / "m")):
        assert "format must be one of" in run(*verb, "--format", "nonsense", code=2)
    for wrong in (("--lines", "20-10"), ("--lines", "x"), ("--grep", "")):
        assert wrong[0] in run("expand", "c1", "-m", tmp_path / "m", *wrong, code=2)
    assert "--session" in run("capture", "-", "-m", tmp_path / "m", given=b"", code=2)
    assert "not UTF-8" in run("parse", "-", given=b"\xff\xfe\xff", code=1)


def test_a_failed_capture_makes_no_memory(log, tmp_path):
    folder = tmp_path / "memory"
    bad = tmp_path / "bad.jsonl"
    bad.write_bytes(b"\x00\x01 no log\n")
    run("capture", log, bad, "-m", folder, code=1)
    run("capture", "-", "--session", "s", "-m", folder, given=bad.read_bytes(), code=1)
    assert "session" in run("capture", log, "--session", "x" * 2000, "-m", folder, code=1)
    assert not folder.exists()
    assert "13 new" in run("capture", "-", "--session", "s", "-m", folder, given=log.read_bytes())


def test_a_warning_is_one_line(log, tmp_path):
    lines = log.read_bytes().splitlines()
    broken = b"\n".join([*lines[:-1], b'{"role": "us', lines[-1]])
    path = tmp_path / "broken.jsonl"
    path.write_bytes(broken)
    for verb in (("compress", path), ("capture", path, "-m", tmp_path / "m")):
        done = subprocess.run(
            [*RUN, *map(str, verb)], capture_output=True, timeout=120, check=True, text=True
        )
        (line,) = done.stderr.splitlines()
        assert line.startswith(f"agentmem: warning: {path}: line {len(lines)}: ")


def test_capture_and_expand(log, tmp_path):
    folder = tmp_path / "memory"
    with Memory(folder):
        pass
    assert "13 new turns, 0 there already" in run("capture", log, "-m", folder)
    (again,) = json.loads(run("capture", log, "-m", folder, "--json"))
    assert again["session"] == "log.jsonl"
    assert again["captured"]["new"] == 0
    body = long_log(openai_pair, 6)[2]["content"]
    assert run("expand", "c1", "-m", folder) == body
    assert run("expand", "c1", "--lines", "2", "-m", folder) == body.split("\n")[1]
    assert "no call c99" in run("expand", "c99", "-m", folder, code=1)
