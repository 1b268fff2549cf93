"""Sessions of Claude Code as files, made for tests: turns, calls, sub-agents."""

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SESSION = "3f0c1d6e-58a1-4f7e-9d52-0a6f1b2c3d4e"


def line(number, kind, content, *, session=SESSION, agent=None, **more):
    message = {"role": kind, "content": content}
    if kind == "assistant":
        message["id"] = f"msg_{agent or 'main'}_{number}"
    base = {
        "type": kind, "uuid": f"{session[:8]}-{agent or 'main'}-{number}", "sessionId": session,
        "isSidechain": agent is not None, "message": message,
        "timestamp": f"2026-03-01T10:{number // 60 % 60:02d}:{number % 60:02d}.000Z",
    }  # fmt: skip
    return base | ({"agentId": agent} if agent else {}) | more


def call(number, name, arguments, call_id, **more):
    content = [{"type": "tool_use", "id": call_id, "name": name, "input": arguments}]
    return line(number, "assistant", content, **more)


def result(number, text, call_id, **more):
    content = [{"type": "tool_result", "tool_use_id": call_id, "content": text}]
    return line(number, "user", content, **more)


def main_lines(turns=3, session=SESSION, agent="a1b2c3d"):
    """A session whose every turn is words, a call with its result, and an answer."""
    lines = [{"type": "file-history-snapshot", "messageId": "m0", "snapshot": {}}]
    for turn in range(turns):
        at = turn * 10
        id = f"toolu_{session[:8]}_{turn}"
        lines += [
            line(at, "user", f"Question {turn}: what does module {turn} do?", session=session),
            call(at + 1, "Read", {"path": f"src/m{turn}.py"}, id, session=session),
            result(at + 2, f"def f{turn}():\n    return {turn}\n" * 20, id, session=session),
            line(at + 3, "assistant", f"It returns {turn}.", session=session),
        ]
    at = turns * 10
    id = f"toolu_{session[:8]}_task"
    lines += [
        call(at, "Task", {"prompt": "Look around."}, id, session=session),
        result(at + 1, "It is a small project.", id, session=session,
               toolUseResult={"agentId": agent, "status": "completed"}),
        line(at + 2, "assistant", "Done.", session=session),
    ]  # fmt: skip
    return lines


def agent_lines(session=SESSION, agent="a1b2c3d", calls=2):
    lines = [line(0, "user", "Look around.", session=session, agent=agent)]
    for number in range(calls):
        id = f"toolu_{agent}_{number}"
        more = {"session": session, "agent": agent}
        lines.append(call(number * 2 + 1, "Bash", {"command": f"ls {number}"}, id, **more))
        lines.append(result(number * 2 + 2, f"file{number}.py", id, **more))
    return lines


def text_of(lines):
    return "".join(json.dumps(one) + "\n" for one in lines)


def write(path, lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text_of(lines), encoding="utf-8")
    return path


def rows(memory):
    """What is stored of all sessions, without what depends on the moment of writing."""
    turns = memory.sql(
        "SELECT session, kind, speaker, text, event_ms, client_id FROM turns ORDER BY 1, 6, 5, 2, 4"
    )
    calls = memory.sql(
        "SELECT sessions.name, tool_calls.ref, tool_calls.name, outcome, call_id, parent_id "
        "FROM tool_calls JOIN sessions ON sessions.id = session_id ORDER BY 1, 2"
    )
    return turns, calls


def run(*arguments, given=b"", timeout=120, **more):
    """Run the command line; return the finished process."""
    environment = {
        **os.environ, "PYTHONPATH": str(ROOT / "python"), "AGENTMEM_HOOK_CONSOLIDATE": "0", **more,
    }  # fmt: skip
    return subprocess.run(
        [sys.executable, "-m", "agentmem", *map(str, arguments)],
        input=given, env=environment, capture_output=True, timeout=timeout, check=False,
    )  # fmt: skip


def hook(folder, event, **more):
    """Send one event to the hook; return what it answers, parsed."""
    given = event if isinstance(event, bytes) else json.dumps(event).encode()
    done = run("hook", "-m", folder, given=given, **more)
    assert done.returncode == 0
    assert done.stderr == b""
    return json.loads(done.stdout) if done.stdout else None
