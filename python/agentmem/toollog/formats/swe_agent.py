"""SWE-agent trajectories: ``trajectory`` steps, joined with the ``history`` where it knows more."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from agentmem.toollog.formats.parts import (
    Context,
    Part,
    Record,
    arguments_of,
    id_of,
    name_of,
    says_failure,
    text_of,
)
from agentmem.toollog.models import Role

SHELL: Final = "bash"
"""Name of a step that runs a shell command; SWE-agent's own commands keep theirs."""

_COMMANDS = frozenset(
    {
        "connect_exec",
        "connect_sendline",
        "connect_start",
        "connect_stop",
        "create",
        "debug_add_breakpoint",
        "debug_continue",
        "debug_exec_command",
        "debug_start",
        "debug_step",
        "debug_stop",
        "decompile",
        "disassemble",
        "edit",
        "exit_context",
        "exit_cost",
        "exit_forfeit",
        "exit_format",
        "find_file",
        "goto",
        "insert",
        "open",
        "scroll_down",
        "scroll_up",
        "search_dir",
        "search_file",
        "str_replace_editor",
        "submit",
        "undo_edit",
        "view",
    }
)
_FAILED = re.compile(
    r"\s*(?:Traceback \(most recent call last\)"
    r"|Your proposed edit has introduced new syntax error"
    r"|(?:/bin/)?(?:ba)?sh: (?:line \d+: )?.{0,200}"
    r"(?:command not found|No such file or directory|[Ss]yntax error|Permission denied)"
    r"|EXECUTION TIMED OUT|COMMAND TIMED OUT|EXECUTION FAILED)"
)
_ROLES: dict[str, Role] = {"system": "system", "user": "user", "assistant": "assistant"}


class SWEAgent:
    """Reader of whole ``.traj`` documents."""

    def matches(self, value: dict[str, Any]) -> bool:
        """Return True for a document with SWE-agent's steps, or a history of actions."""
        steps = value.get("trajectory")
        if isinstance(steps, list) and any(
            isinstance(step, dict) and "observation" in step and isinstance(step.get("action"), str)
            for step in steps[:50]
        ):
            return "source" not in steps[0] if isinstance(steps[0], dict) else True
        history = value.get("history")
        return isinstance(history, list) and any(
            isinstance(entry, dict) and "action" in entry and "role" in entry
            for entry in history[:50]
        )

    def parts(self, record: Record, context: Context) -> Iterator[Part]:
        """Turn one document into its parts, step by step."""
        document = record.value
        history = document.get("history")
        entries = (
            [entry for entry in history if isinstance(entry, dict)]
            if isinstance(history, list)
            else []
        )
        steps = document.get("trajectory")
        if isinstance(steps, list) and steps:
            yield from self._steps(steps, entries, record, context)
            if context.words:
                # Everything beside the steps, so that the records together are the document.
                rest = {key: value for key, value in document.items() if key != "trajectory"}
                yield Part("other", record=Record(record.line, rest))
        else:
            yield from _history(entries, record, context)

    def _steps(
        self, steps: list[Any], entries: list[dict[str, Any]], record: Record, context: Context
    ) -> Iterator[Part]:
        if context.words:
            yield from _preamble(entries, record)
        turns = iter([entry for entry in entries if _is_action(entry)])
        turn = next(turns, None)
        for number, step in enumerate(steps, 1):
            if not isinstance(step, dict):
                context.warn(f"step {number} of the trajectory is not an object", record.line)
                continue
            here = Record(record.line, step)
            action = step.get("action")
            action = action if isinstance(action, str) else text_of(action)
            known = None
            if turn is not None and turn.get("action") == step.get("action"):
                known, turn = turn, next(turns, None)
            yield from _words(step.get("thought") or step.get("response"), here, context)
            if not action.strip():
                continue
            calls = _calls(known, action, number, here, context)
            yield from calls
            if "observation" in step and step["observation"] is not None:
                yield _observation(step["observation"], calls[-1], here)


def _is_action(entry: dict[str, Any]) -> bool:
    return entry.get("role") == "assistant" and not entry.get("is_demo") and "action" in entry


def _preamble(entries: list[dict[str, Any]], record: Record) -> Iterator[Part]:
    """What was said before the first step; demonstrations are not part of the run."""
    for entry in entries:
        if _is_action(entry):
            return
        role: Role = _ROLES.get(str(entry.get("role")), "other")
        if entry.get("is_demo"):
            role = "other"
        agent = entry.get("agent")
        yield Part(
            role,
            text_of(entry.get("content")),
            speaker=agent if isinstance(agent, str) else None,
            record=Record(record.line, entry),
        )


def _words(thought: object, record: Record, context: Context) -> Iterator[Part]:
    text = text_of(thought) if context.words else ""
    if text or not context.words:
        yield Part("assistant", text, record=record)


def _calls(
    known: dict[str, Any] | None, action: str, number: int, record: Record, context: Context
) -> list[Part]:
    """The calls of a step: the model's own where the history has them, else from the action."""
    calls = known.get("tool_calls") if known is not None else None
    calls = [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    parts = []
    for place, call in enumerate(calls):
        function = call.get("function")
        body = function if isinstance(function, dict) else call
        parts.append(
            Part(
                "tool_call",
                name=name_of(body.get("name")),
                call_id=id_of(call.get("id")),
                arguments=arguments_of(body.get("arguments")),
                batch=("step", number),
                key=("step", number, place),
                record=record,
            )
        )
    if len(calls) > 1:
        context.warn("one observation for several calls is given to the last", record.line)
    return parts or [command_call(action, number, record)]


def command_call(action: str, number: int, record: Record) -> Part:
    """Return the call that a textual action makes.

    SWE-agent's own commands are tools with the rest of the line as arguments; everything else
    is a command of the shell.
    """
    stripped = action.lstrip()
    name = stripped.split(maxsplit=1)[0] if stripped else ""
    arguments: dict[str, Any] | str
    if name in _COMMANDS:
        arguments = stripped[len(name) :]
        arguments = arguments[1:] if arguments[:1] == " " else arguments
    else:
        name, arguments = SHELL, {"command": action}
    return Part("tool_call", name=name, arguments=arguments, key=("step", number, 0), record=record)


def _observation(content: object, call: Part, record: Record) -> Part:
    text = text_of(content)
    return Part(
        "tool_result",
        text,
        name=call.name,
        call_id=call.call_id,
        is_error=says_failure(text) or _FAILED.match(text) is not None,
        key=call.key,
        record=record,
    )


def _history(entries: list[dict[str, Any]], record: Record, context: Context) -> Iterator[Part]:
    """A history alone: what follows an action and is not the assistant's is its observation."""
    waiting: Part | None = None
    for number, entry in enumerate(entries, 1):
        here = Record(record.line, entry)
        content = entry.get("content")
        if _is_action(entry):
            yield from _words(entry.get("thought") or content, here, context)
            action = entry.get("action")
            action = action if isinstance(action, str) else text_of(action)
            if action.strip():
                calls = _calls(entry, action, number, here, context)
                yield from calls
                waiting = calls[-1]
        elif waiting is not None and entry.get("role") in ("user", "tool"):
            yield _observation(content, waiting, here)
            waiting = None
        elif context.words:
            role: Role = _ROLES.get(str(entry.get("role")), "other")
            yield Part("other" if entry.get("is_demo") else role, text_of(content), record=here)
