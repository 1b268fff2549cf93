"""The hook: it tells, captures and shortens, and whatever it is given the host goes on."""

import json
import os
import random
import stat
import subprocess
import sys
import time

import pytest
from tests.integrations.claude_code_parts import (
    ROOT,
    SESSION,
    agent_lines,
    hook,
    line,
    main_lines,
    rows,
    run,
    text_of,
    write,
)

import agentmem
from agentmem.integrations.claude_code.hook import HookOptions, respond
from agentmem.integrations.claude_code.output import shorten
from agentmem.integrations.claude_code.transfer import import_sessions

pytestmark = pytest.mark.timeout(300)


def event(name, **more):
    return {"hook_event_name": name, "session_id": SESSION, "cwd": "/", **more}


def context_of(answer, name):
    assert answer["hookSpecificOutput"]["hookEventName"] == name
    return answer["hookSpecificOutput"]["additionalContext"]


def test_a_session_is_captured_and_later_ones_are_told(tmp_path):
    folder = tmp_path / "memory"
    transcript = write(tmp_path / f"{SESSION}.jsonl", main_lines())
    assert hook(folder, event("SessionStart", source="startup")) is None
    assert not folder.exists()
    assert hook(folder, event("Stop", transcript_path=str(transcript))) is None
    with agentmem.Memory(folder) as memory:
        assert len(memory.canvas(SESSION).steps) == 4
        memory.remember("Always run the linter before a commit.", kind="instruction", priority=90)
        memory.remember("The session registry is an ETS table owned by a GenServer.")
    start = context_of(hook(folder, event("SessionStart", source="startup")), "SessionStart")
    assert "linter" in start
    assert hook(folder, event("SessionStart", source="resume")) is None
    asked = event("UserPromptSubmit", prompt="how is the session registry stored?")
    told = context_of(hook(folder, asked), "UserPromptSubmit")
    assert "ETS table" in told
    assert "linter" not in told
    for prompt in ("", "go on", "/compact", "x" * 5):
        assert hook(folder, event("UserPromptSubmit", prompt=prompt)) is None


def test_a_growing_session_is_captured_as_if_whole(tmp_path, monkeypatch):
    """Event by event, cut at any byte, with a window smaller than a turn: the same rows."""
    monkeypatch.setattr("agentmem.integrations.claude_code.follow.OVERLAP_BYTES", 700)
    options = HookOptions(tmp_path / "memory", consolidate=False)
    transcript = tmp_path / "p" / f"{SESSION}.jsonl"
    agent = tmp_path / "p" / SESSION / "subagents" / "agent-a1b2c3d.jsonl"
    agent.parent.mkdir(parents=True)
    whole, beside = text_of(main_lines(6)).encode(), text_of(agent_lines()).encode()
    cuts = sorted(random.Random(7).sample(range(1, len(whole)), 9))
    for at in [*cuts, len(whole)]:
        transcript.write_bytes(whole[:at])
        agent.write_bytes(beside[: at * len(beside) // len(whole)])
        ask = event("Stop", transcript_path=str(transcript))
        assert respond(json.dumps(ask).encode(), options) == b""
    end = event("SessionEnd", transcript_path=str(transcript), reason="exit")
    assert respond(json.dumps(end).encode(), options) == b""
    with agentmem.Memory(tmp_path / "memory") as memory:
        grown = rows(memory)
        assert import_sessions(memory, tmp_path / "p").new == 0
    with agentmem.Memory(tmp_path / "whole") as memory:
        import_sessions(memory, tmp_path / "p")
        assert rows(memory) == grown


def test_only_what_is_new_is_read_again_and_a_lost_store_is_noticed(tmp_path):
    from agentmem.integrations.claude_code.follow import capture_session

    folder = tmp_path / "memory"
    transcript = write(tmp_path / f"{SESSION}.jsonl", main_lines(60))

    def captured():
        return capture_session(folder, "", transcript=str(transcript), session=SESSION)

    first = captured()
    assert captured() is None
    with transcript.open("a") as file:
        file.write(text_of([line(5000, "user", "One more thing.")]))
    more = captured()
    assert more.new == 1
    assert more.duplicates < first.new / 2
    # The store gives way to one that has less: what was read is read again.
    for path in folder.iterdir():
        if path.is_file():
            path.unlink()
    assert captured().new == first.new + 1


OUTPUT = "\n".join(f"line {number} of the build" for number in range(4000))
OUTPUT = OUTPUT.replace("line 2000 of", "ERROR: line 2000 of")


@pytest.mark.parametrize(
    ("tool", "response", "read"),
    [
        ("Bash", {"stdout": OUTPUT, "stderr": "warn", "interrupted": False, "isImage": False,
                  "persistedOutputPath": "/x"}, lambda made: made["stdout"]),
        ("mcp__ci__log", [{"type": "text", "text": OUTPUT}], lambda made: made[0]["text"]),
        ("Custom", OUTPUT, lambda made: made),
    ],
)  # fmt: skip
def test_a_long_output_is_kept_whole_and_shown_short(tmp_path, tool, response, read):
    folder = tmp_path / "memory"
    given = event("PostToolUse", tool_name=tool, tool_input={"command": "make"},
                  tool_use_id="toolu_1", tool_response=response)  # fmt: skip
    made = hook(folder, given)["hookSpecificOutput"]["updatedToolOutput"]
    assert type(made) is type(response)
    short = read(made)
    assert len(short) < len(OUTPUT) / 5
    for part in ("line 0 of", "line 3999 of", "ERROR: line 2000", "left out"):
        assert part in short
    ref = short.rpartition("expand ")[2].partition(" ")[0]
    with agentmem.Memory(folder) as memory:
        assert memory.expand(ref) == OUTPUT
        assert memory.expand(ref, lines="2001") == "ERROR: line 2000 of the build"
    if tool == "Bash":
        assert made["stderr"] == "warn"
        assert "persistedOutputPath" not in made


def test_an_output_that_is_short_unknown_or_ours_stays(tmp_path):
    def asked(tool, response, **arguments):
        return hook(tmp_path / "memory", event("PostToolUse", tool_name=tool, tool_input=arguments,
                                               tool_use_id="t", tool_response=response))  # fmt: skip

    assert asked("Bash", {"stdout": "ok", "stderr": ""}) is None
    assert asked("Read", {"type": "text", "file": {"content": OUTPUT}}) is None
    assert asked("Bash", {"stdout": OUTPUT, "isImage": True}) is None
    assert asked("mcp__x__y", [{"type": "image", "data": OUTPUT}]) is None
    assert asked("mcp__agentmem__expand", [{"type": "text", "text": OUTPUT}]) is None
    assert asked("Bash", {"stdout": OUTPUT}, command="agentmem expand L0:1") is None
    assert not (tmp_path / "memory").exists()


def test_options_come_from_the_command_line_before_the_environment(monkeypatch):
    monkeypatch.setenv("AGENTMEM_MEMORY", "/tmp/environment")
    monkeypatch.setenv("AGENTMEM_HOOK_START_TOKENS", "no number")
    monkeypatch.setenv("AGENTMEM_HOOK_PROMPT_TOKENS", "0")
    read = HookOptions.of(["--json", "-m", "/tmp/given", "--scope=a/b", "--unknown", "x", "-m"])
    assert (str(read.folder), read.scope) == ("/tmp/environment", "a/b")
    read = HookOptions.of(["--memory=/tmp/given"])
    assert (str(read.folder), read.start_budget, read.prompt_budget) == ("/tmp/given", 1500, 0)


def test_shortening_keeps_to_its_limit_on_any_text():
    for text in (OUTPUT, "x" * 100_000, "\n" * 50_000, "error\n" * 20_000, "é\ud800😀" * 9_000):
        short = shorten(text, 6_000, "L0:1")
        assert len(short) < 9_500
        assert "L0:1" in short


def malformed(count, folder):
    """Events that no host should send: wrong types, cut and mixed bytes, odd paths, deep nests."""
    draw = random.Random(20260301)
    names = ["SessionStart", "UserPromptSubmit", "Stop", "SubagentStop", "SessionEnd", "PreCompact",
             "PostToolUse", "Nothing", "", None, 7]  # fmt: skip
    odd = [None, True, -1, 1e308, "", "\0", "\ud800", "../../x", "/dev/null", "/", str(folder), [],
           {}, [[]], {"a": {}}, "x" * 5000, "́ﷺ😀", ["text"], {"stdout": 5},
           {"stdout": "y" * 40_000}, [{"type": "text", "text": 3}], "y" * 40_000]  # fmt: skip
    fields = ["session_id", "transcript_path", "prompt", "source", "tool_name", "tool_input",
              "tool_response", "tool_use_id", "cwd", "reason"]  # fmt: skip
    for number in range(count):
        made = {field: draw.choice(odd) for field in fields if draw.random() < 0.7}
        made["hook_event_name"] = draw.choice(names)
        data = json.dumps(made).encode()
        kind = number % 6
        if kind == 1:
            data = data[: draw.randrange(len(data))]
        elif kind == 2:
            at = draw.randrange(len(data))
            data = data[:at] + draw.randbytes(9) + data[at:]
        elif kind == 3:
            data = draw.choice([b"", b"null", b"[]", b'"x"', b"1", b"{}", b"\xff\xfe", b"[" * 20_000,
                                b'{"a":' * 20_000, b"NaN", draw.randbytes(200)])  # fmt: skip
        yield data


def test_500_malformed_events_are_survived(tmp_path):
    folder = tmp_path / "memory"
    options = HookOptions(folder, consolidate=False)
    answered = 0
    for data in malformed(500, tmp_path):
        answer = respond(data, options)
        if answer:
            answered += 1
            assert set(json.loads(answer)) == {"hookSpecificOutput"}
    # Some of them hold an output that can be shortened; the store is whole after all of them.
    assert answered
    with agentmem.Memory(folder) as memory:
        assert memory.verify().ok


def test_malformed_events_end_the_process_with_status_0(tmp_path):
    for data in [*malformed(6, tmp_path), b"", b"[" * 100_000]:
        done = run("hook", "-m", tmp_path / "memory", given=data)
        assert (done.returncode, done.stderr) == (0, b"")


def test_a_folder_that_cannot_be_used_does_not_stop_the_host(tmp_path):
    transcript = write(tmp_path / f"{SESSION}.jsonl", main_lines())
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "store.amem").write_bytes(b"not ours" * 1000)
    file = tmp_path / "file"
    file.write_text("x")
    events = [
        event("Stop", transcript_path=str(transcript)),
        event("SessionStart", source="startup"),
        event("UserPromptSubmit", prompt="a question of some length"),
        event("PostToolUse", tool_name="Bash", tool_response={"stdout": OUTPUT}),
    ]
    for folder in (foreign, file, file / "below"):
        for one in events:
            assert hook(folder, one) is None
    assert (foreign / "store.amem").read_bytes() == b"not ours" * 1000
    if os.geteuid():
        closed = tmp_path / "closed"
        closed.mkdir()
        closed.chmod(stat.S_IRUSR | stat.S_IXUSR)
        for one in events:
            assert hook(closed / "memory", one) is None


def test_a_locked_folder_is_left_alone_in_time(tmp_path):
    folder = tmp_path / "memory"
    transcript = write(tmp_path / f"{SESSION}.jsonl", main_lines())
    with agentmem.Memory(folder):
        pass
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder)], stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(ROOT / "python")},
    )  # fmt: skip
    try:
        assert holder.stdout.readline() == b"held\n"
        began = time.monotonic()
        assert hook(folder, event("Stop", transcript_path=str(transcript))) is None
        assert time.monotonic() - began < 30
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()
    with agentmem.Memory(folder) as memory:
        assert rows(memory)[0] == []
    assert hook(folder, event("Stop", transcript_path=str(transcript))) is None
    with agentmem.Memory(folder) as memory:
        assert rows(memory)[0]


HOLDER = """
import fcntl, sys, time
file = open(sys.argv[1] + "/LOCK.write", "r+b")
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(120)
"""


def test_an_input_that_never_ends_is_given_up(tmp_path):
    code = (
        "from agentmem.integrations.claude_code import hook; hook.DEADLINE_S = 0.5; hook.main([])"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(ROOT / "python"), "AGENTMEM_MEMORY": str(tmp_path)},
    )  # fmt: skip
    assert process.wait(60) == 0
    process.stdin.close()


def test_the_end_of_a_session_starts_the_consolidation(tmp_path):
    folder = tmp_path / "memory"
    said = [line(0, "user", "I prefer tabs over spaces."), line(1, "assistant", "Noted.")]
    transcript = write(tmp_path / f"{SESSION}.jsonl", said)
    ask = event("SessionEnd", transcript_path=str(transcript), reason="exit")
    assert hook(folder, ask, AGENTMEM_HOOK_CONSOLIDATE="1") is None
    for _ in range(240):
        time.sleep(0.5)
        with agentmem.Memory(folder) as memory:
            found = [fact.text for fact in memory.facts()]
            busy = memory.stats().jobs
        if found and not busy:
            break
    assert any("tabs" in text for text in found)


# How many of our own modules each event may load: what it loads today and a few more.
@pytest.mark.parametrize(
    ("name", "modules"),
    [("Nothing", 5), ("SessionStart", 48), ("Stop", 64), ("PostToolUse", 64),
     ("UserPromptSubmit", 60)],
)  # fmt: skip
def test_no_more_is_loaded_than_an_event_needs(tmp_path, name, modules):
    folder = tmp_path / "memory"
    with agentmem.Memory(folder) as memory:
        memory.remember("Always run the linter.", kind="instruction", priority=90)
        memory.remember("The registry is an ETS table.")
    transcript = write(tmp_path / f"{SESSION}.jsonl", main_lines())
    given = event(name, source="startup", transcript_path=str(transcript), tool_name="Bash",
                  tool_response={"stdout": OUTPUT}, prompt="what is the registry?")  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "agentmem", "hook", "-m", str(folder)],
        input=json.dumps(given).encode(), capture_output=True, timeout=60, check=True,
        env=os.environ | {"PYTHONPATH": str(ROOT / "python")},
    )  # fmt: skip
    loaded = {row.rpartition("|")[2].strip() for row in done.stderr.decode().splitlines()}
    heavy = {"numpy", "onnxruntime", "tokenizers", "onnx", "click", "agentmem.memory",
             "agentmem.index", "agentmem.cli", "agentmem.embedding.onnx_embedder",
             "agentmem.store.skill_archives"}  # fmt: skip
    if name == "UserPromptSubmit":
        assert b"ETS table" in done.stdout
        heavy -= {"agentmem.index"}
    assert loaded & heavy == set()
    ours = [one for one in loaded if one.startswith("agentmem")]
    print(name, len(ours))
    assert len(ours) <= modules
    assert "agentmem.integrations.claude_code.hook" in loaded
    if name == "Nothing":
        assert "apsw" not in loaded
