"""Answer one hook event of Claude Code: ``agentmem hook``.

The host waits for this process at every prompt and every turn. So it starts with the standard
library alone, loads what the event needs, never a model, and ends with status 0 whatever happens:
an event that can't be served is left out, and said so only where ``AGENTMEM_HOOK_DEBUG`` is set.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

__all__ = ["HookOptions", "main", "respond"]

MAX_INPUT_BYTES: Final = 64 << 20
DEFAULT_FOLDER: Final = "~/.agentmem"
DEADLINE_S: Final = 10.0
"""After so long the process ends without an answer, whatever it waits for."""
START_BUDGET: Final = 1500
PROMPT_BUDGET: Final = 800
LEAST_PROMPT_CHARS: Final = 12
"""Shorter prompts, 'go on' and the like, say nothing to look for."""


class HookOptions(NamedTuple):
    """How events are answered.

    Attributes:
        folder: The memory.
        scope: The scope that is read and written.
        start_budget: Tokens of what is told at a session's start; 0 for nothing.
        prompt_budget: Tokens of what is told at a prompt; 0 for nothing.
        output_tokens: Tool outputs beyond this are shortened; 0 for never.
        consolidate: Whether the end of a session starts ``agentmem consolidate`` beside the host.
    """

    folder: Path
    scope: str = ""
    start_budget: int = START_BUDGET
    prompt_budget: int = PROMPT_BUDGET
    output_tokens: int = 3000
    consolidate: bool = True

    @classmethod
    def of(cls, arguments: Sequence[str]) -> HookOptions:
        """Read the options of the command line, else of the environment, else the defaults."""
        given: dict[str, str] = {}
        waiting = list(arguments)
        while waiting:
            name, equals, value = waiting.pop(0).partition("=")
            if name in _NAMES:
                given[_NAMES[name]] = value if equals else waiting.pop(0) if waiting else ""
        folder = given.get("memory") or os.environ.get("AGENTMEM_MEMORY") or DEFAULT_FOLDER
        return cls(
            folder=Path(folder).expanduser(),
            scope=given.get("scope", os.environ.get("AGENTMEM_SCOPE", "")),
            start_budget=_number("AGENTMEM_HOOK_START_TOKENS", START_BUDGET),
            prompt_budget=_number("AGENTMEM_HOOK_PROMPT_TOKENS", PROMPT_BUDGET),
            output_tokens=_number("AGENTMEM_HOOK_OUTPUT_TOKENS", 3000),
            consolidate=os.environ.get("AGENTMEM_HOOK_CONSOLIDATE", "1") != "0",
        )


_NAMES: Final = {"-m": "memory", "--memory": "memory", "--scope": "scope"}


def _number(variable: str, default: int) -> int:
    try:
        return max(int(os.environ.get(variable, "")), 0)
    except ValueError:
        return default


def respond(data: bytes, options: HookOptions) -> bytes:
    """Return what is answered to one event, ``b""`` for nothing; it never raises.

    Args:
        data: The event as the host sends it, a JSON object.
        options: How it is answered.
    """
    try:
        event = json.loads(data)
        if not isinstance(event, dict):
            raise ValueError(f"an object is needed, not {type(event).__name__}")  # noqa: TRY004
        name = event.get("hook_event_name")
        handle = _HANDLERS.get(name) if isinstance(name, str) else None
        if handle is None:
            return b""
        said = handle(event, options)
        if not said:
            return b""
        answer = {"hookSpecificOutput": {"hookEventName": name, **said}}
        return json.dumps(answer).encode("ascii")
    except Exception as error:  # noqa: BLE001 - the host goes on without an answer
        _complain(error)
        return b""


def _complain(error: BaseException) -> None:
    if os.environ.get("AGENTMEM_HOOK_DEBUG"):
        import traceback

        traceback.print_exception(error, file=sys.stderr)


def _text(event: dict[str, Any], name: str) -> str:
    value = event.get(name)
    return value if isinstance(value, str) else ""


def _session_start(event: dict[str, Any], options: HookOptions) -> dict[str, Any] | None:
    # A resumed session has been told already.
    if _text(event, "source") == "resume" or not options.start_budget:
        return None
    from agentmem.integrations.claude_code.light import stable_context

    text = stable_context(options.folder, options.scope, options.start_budget)
    return {"additionalContext": _sendable(text)} if text else None


def _prompt(event: dict[str, Any], options: HookOptions) -> dict[str, Any] | None:
    prompt = _text(event, "prompt")
    if len(prompt.strip()) < LEAST_PROMPT_CHARS or not options.prompt_budget:
        return None
    # A command of the host's: what it is about stands elsewhere.
    if prompt.startswith("/") and " " not in prompt.strip():
        return None
    from agentmem.integrations.claude_code.light import fitting_context

    text = fitting_context(options.folder, options.scope, prompt, options.prompt_budget)
    return {"additionalContext": _sendable(text)} if text else None


def _turn_end(event: dict[str, Any], options: HookOptions) -> None:
    from agentmem.integrations.claude_code.follow import capture_session

    name = event["hook_event_name"]
    capture_session(
        options.folder, options.scope,
        transcript=_text(event, "transcript_path"), session=_text(event, "session_id"),
        is_end=name == "SessionEnd",
    )  # fmt: skip
    if name == "SessionEnd" and options.consolidate:
        _start_consolidation(options)


def _start_consolidation(options: HookOptions) -> None:
    """Start the consolidation in a process of its own that outlives the host."""
    import subprocess

    command = [sys.executable, "-m", "agentmem", "consolidate", "-m", str(options.folder)]
    if options.scope:
        command += ["--scope", options.scope]
    with open(os.devnull, "r+b") as nothing:  # noqa: PTH123 - a device
        subprocess.Popen(  # noqa: S603 - this interpreter and our own module
            command, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True,
            close_fds=True,
        )  # fmt: skip


def _tool_output(event: dict[str, Any], options: HookOptions) -> dict[str, Any] | None:
    if not options.output_tokens:
        return None
    from agentmem.integrations.claude_code.output import shortened

    made = shortened(event, options)
    return None if made is None else {"updatedToolOutput": made}


def _sendable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


_HANDLERS: Final[dict[str, Callable[[dict[str, Any], HookOptions], dict[str, Any] | None]]] = {
    "SessionStart": _session_start,
    "UserPromptSubmit": _prompt,
    "Stop": _turn_end,
    "SubagentStop": _turn_end,
    "PreCompact": _turn_end,
    "SessionEnd": _turn_end,
    "PostToolUse": _tool_output,
}


def main(arguments: Sequence[str]) -> None:
    """Read an event from standard input, answer it on standard output, end with status 0."""
    # The process is over before there is much to collect.
    gc.disable()
    # The timer ends the process even while a lock is waited for or the input never closes.
    timer = threading.Timer(DEADLINE_S, os._exit, (0,))
    timer.daemon = True
    timer.start()
    try:
        data = sys.stdin.buffer.read(MAX_INPUT_BYTES)
        answer = respond(data, HookOptions.of(arguments))
        sys.stdout.buffer.write(answer)
        sys.stdout.buffer.flush()
    except BaseException as error:  # noqa: BLE001 - an exit status would be shown to the person
        _complain(error)
    finally:
        # Not by the interpreter's end, which waits for threads and flushes a pipe that may be gone.
        os._exit(0)
