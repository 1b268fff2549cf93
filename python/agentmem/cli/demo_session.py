"""A session of real tool calls on this machine's Python, for ``agentmem demo``."""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentmem.memory import Memory

__all__ = ["describe", "run_session"]

SESSION = "demo"
BUDGET_SHARE = 0.25


def _calls() -> Iterator[tuple[str, dict[str, Any], str]]:
    """Make real calls, as an agent would that looks into the standard library."""
    root = Path(sysconfig.get_paths()["stdlib"])
    names = sorted(str(path) for path in (root / "json").glob("*.py"))
    yield "Glob", {"pattern": "json/*.py", "path": str(root)}, "\n".join(names)
    for name in names:
        lines = Path(name).read_text(encoding="utf-8").splitlines()
        numbered = "\n".join(f"{number:>6}\t{line}" for number, line in enumerate(lines, 1))
        yield "Read", {"file_path": name}, numbered
        hits = [f"{name}:{n}:{line}" for n, line in enumerate(lines, 1) if "def " in line]
        yield "Grep", {"pattern": "def ", "path": name}, "\n".join(hits)
    for code in ("import json; print(json.dumps({'a': [1, 2]}))", "import json; json.loads('[1,')"):
        done = subprocess.run(  # noqa: S603 - this interpreter, our own code
            [sys.executable, "-c", code], capture_output=True, text=True, check=False
        )
        prefix = f"Exit code {done.returncode}\n" if done.returncode else ""
        yield "Bash", {"command": f'python -c "{code}"'}, prefix + done.stdout + done.stderr


def _messages() -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "How does json fail on bad input?"}
    ]
    for number, (name, arguments, result) in enumerate(_calls(), 1):
        function = {"name": name, "arguments": json.dumps(arguments)}
        call = {"id": f"call_{number}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
    return messages


def run_session(memory: Memory) -> dict[str, Any]:
    """Capture the session, draw it, go back from a node to its bytes, and compact it."""
    messages = _messages()
    captured = memory.capture(messages, session=SESSION)
    canvas = memory.canvas(SESSION)
    ref = next(step.ref for step in canvas.steps if step.tool == "Grep")
    failed = next(step.ref for step in canvas.steps if step.outcome == "error")
    whole = memory.compact(messages, budget_tokens=10**9, session=SESSION).tokens_before
    compacted = memory.compact(messages, budget_tokens=int(whole * BUDGET_SHARE), session=SESSION)
    return {
        "turns": captured.new,
        "calls": len(canvas.steps),
        "raw_bytes": canvas.raw_bytes,
        "bytes": canvas.bytes,
        "diagram": canvas.text,
        "expanded": {"ref": ref, "lines": "1-3", "text": memory.expand(ref, lines="1-3")},
        "failure": {"ref": failed, "text": memory.expand(failed, grep="Error")},
        "tokens_before": compacted.tokens_before,
        "tokens_after": compacted.tokens_after,
        "replaced": list(compacted.replaced),
    }


def describe(session: dict[str, Any]) -> str:
    """Return the session's part of the demo for people."""
    expanded, failure = session["expanded"], session["failure"]
    lines = [
        f"\ncaptured a session of {session['calls']} tool calls, {session['raw_bytes']} bytes",
        f"as a diagram, {session['bytes']} bytes:\n\n{session['diagram']}",
        f"expand {expanded['ref']}, lines {expanded['lines']}:\n{expanded['text']}\n",
        f"expand {failure['ref']}, lines with 'Error':\n{failure['text']}\n",
        f"its messages, compacted: about {session['tokens_before']} tokens before",
        f"{session['tokens_after']} after; {len(session['replaced'])} results are refs now",
    ]
    return "\n".join(lines)
