"""Claude Code sessions: JSONL lines, and folders with the files of sub-agents beside them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentmem.toollog.formats.anthropic import message_parts
from agentmem.toollog.formats.parts import Context, Part, Record, id_of, text_of, time_of

_BOOKKEEPING = frozenset(
    {
        "file-history-snapshot",
        "last-prompt",
        "progress",
        "queue-operation",
        "result",
        "summary",
        "system",
    }
)
_SESSION_FIELDS = frozenset(
    {"leafUuid", "messageId", "sessionId", "session_id", "subtype", "uuid", "userType"}
)


@dataclass(frozen=True, slots=True)
class SessionFiles:
    """The files of one session, whole or only their ends, to be read as one log.

    Attributes:
        files: A path or bytes of lines each, with the id of the sub-agent that wrote them; None
            is the main agent.
        links: The id of a sub-agent to the id of the call that started it. What the files say of
            it is added; what earlier lines said may be given.
    """

    files: Sequence[tuple[Path | bytes, str | None]]
    links: dict[str, str] = field(default_factory=dict)


class ClaudeCode:
    """Reader of session lines; it follows which call started which sub-agent."""

    def __init__(self) -> None:
        # Lines of sub-agents inside the main file: line id to the call that started them.
        self._sidechains: dict[str, str | None] = {}
        self._prompts: dict[str, str] = {}

    def matches(self, value: dict[str, Any]) -> bool:
        """Return True for a line of a session."""
        kind = value.get("type")
        if kind in ("assistant", "user"):
            return isinstance(value.get("message"), dict)
        return (
            isinstance(kind, str) and kind in _BOOKKEEPING and not _SESSION_FIELDS.isdisjoint(value)
        )

    def parts(self, record: Record, context: Context) -> Iterable[Part]:
        """Turn one line into its parts; bookkeeping becomes one part of role ``"other"``."""
        value = record.value
        kind = value.get("type")
        message = value.get("message")
        if kind not in ("assistant", "user") or not isinstance(message, dict):
            self._link_progress(value, context)
            text = value.get("content")
            return _other(text if isinstance(text, str) else "", record, context)
        if value.get("isMeta") is True or value.get("isCompactSummary") is True:
            # Injected by the host: neither the person's words nor a turn.
            return _other(text_of(message.get("content")), record, context, speaker="host")
        parent_id = context.parent_id
        if value.get("isSidechain") is True or "parent_tool_use_id" in value:
            parent_id = self._sidechain_parent(value, message, context)
        structured = value.get("toolUseResult")
        batch = id_of(message.get("id")) if kind == "assistant" else None
        parts = message_parts(
            message,
            record,
            context,
            batch=("message", batch) if batch is not None else ("line", record.line),
            client_id=id_of(value.get("uuid")) if context.words else None,
            time=value.get("timestamp"),
            parent_id=parent_id,
            unflagged=False if isinstance(structured, dict) else None,
        )
        for part in parts:
            role = part.role
            if role == "tool_result":
                if structured is not None:
                    _link_result(structured, part, context)
            elif role == "tool_call":
                self._remember_prompt(part)
        return parts

    def _remember_prompt(self, call: Part) -> None:
        arguments = call.arguments
        if isinstance(arguments, dict) and call.call_id is not None:
            prompt = arguments.get("prompt")
            if isinstance(prompt, str):
                self._prompts[prompt] = call.call_id

    def _sidechain_parent(
        self, value: dict[str, Any], message: dict[str, Any], context: Context
    ) -> str | None:
        given = value.get("parent_tool_use_id")
        if isinstance(given, str):
            return given
        parent = context.parent_id
        if parent is not None:
            return parent
        agent_id = value.get("agentId")
        if isinstance(agent_id, str) and agent_id in context.links:
            return context.links[agent_id]
        before = value.get("parentUuid")
        if isinstance(before, str) and before in self._sidechains:
            parent = self._sidechains[before]
        elif isinstance(content := message.get("content"), (str, list)):
            # A sub-agent's first line is the prompt of the call that started it.
            parent = self._prompts.get(text_of(content))
        line_id = value.get("uuid")
        if isinstance(line_id, str):
            self._sidechains[line_id] = parent
        return parent

    def _link_progress(self, value: dict[str, Any], context: Context) -> None:
        data = value.get("data")
        call_id = value.get("parentToolUseID")
        if isinstance(data, dict) and isinstance(call_id, str):
            agent_id = data.get("agentId")
            if isinstance(agent_id, str):
                context.links.setdefault(agent_id, call_id)


def _other(
    text: str, record: Record, context: Context, speaker: str | None = None
) -> Iterable[Part]:
    if not context.words:
        return ()
    value = record.value
    return (
        Part(
            "other",
            text,
            client_id=id_of(value.get("uuid")),
            time=time_of(value.get("timestamp")),
            speaker=speaker,
            parent_id=context.parent_id,
            record=record,
        ),
    )


def _link_result(structured: object, part: Part, context: Context) -> None:
    if isinstance(structured, dict) and part.call_id is not None:
        agent_id = structured.get("agentId")
        if isinstance(agent_id, str):
            context.links.setdefault(agent_id, part.call_id)


def session_files(folder: Path) -> list[tuple[Path, str | None]]:
    """Return the files of a folder with the id of the sub-agent that wrote each.

    The folder may hold sessions (``<session>.jsonl``) with ``<session>/subagents/`` beside
    them, or be such a ``<session>`` folder itself. Sessions come first, by name; None is the
    main agent.
    """
    found = sorted(
        path
        for pattern in ("*.jsonl", "*.jsonl.gz")
        for path in folder.rglob(pattern)
        if path.is_file()
    )
    agents = [
        (path, path.name.removeprefix("agent-").split(".")[0]) for path in found if _is_agent(path)
    ]
    mains = [path for path in found if not _is_agent(path)]
    if not mains:
        beside = (folder.with_name(folder.name + end) for end in (".jsonl", ".jsonl.gz"))
        mains = [path for path in beside if path.is_file()]
    return [*((path, None) for path in mains), *agents]


def _is_agent(path: Path) -> bool:
    return path.name.startswith("agent-")
