"""Any host's log, as tool calls or as messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any, Final

from agentmem._native import session_lines
from agentmem.errors import InvalidInputError, ToolLogError
from agentmem.toollog.formats.claude_code import SessionFiles, session_files
from agentmem.toollog.formats.pairing import Batches, Pairing
from agentmem.toollog.formats.parts import Context, HostFormat, Part, Record, dumps
from agentmem.toollog.models import Message, ToolCall
from agentmem.toollog.stream import as_path, plain, records


def _host(module: str, name: str) -> Callable[[], HostFormat]:
    """Return what makes a host module's reader; it is loaded when the first one is made."""

    def make() -> HostFormat:
        made: HostFormat = getattr(import_module(f"agentmem.toollog.formats.{module}"), name)()
        return made

    return make


FORMATS: Final[dict[str, Callable[[], HostFormat]]] = {
    # In this order a record is offered to them: the most particular shape first.
    "claude-code": _host("claude_code", "ClaudeCode"),
    "mcp": _host("mcp", "MCP"),
    "swe-agent": _host("swe_agent", "SWEAgent"),
    "openhands": _host("openhands", "OpenHands"),
    "langchain": _host("langchain", "LangChain"),
    "openai-responses": _host("openai_responses", "OpenAIResponses"),
    "anthropic": _host("anthropic", "Anthropic"),
    "openai": _host("openai_chat", "OpenAIChat"),
}
_ALIASES: Final = {
    "codex": "openai-responses",
    "openai-chat": "openai",
    "responses": "openai-responses",
}

_CONTAINERS: Final = (
    "messages",
    "history",
    "trajectory",
    "events",
    "items",
    "input",
    "output",
    "choices",
    "message",
)
"""Fields under which a document holds the messages of one log."""

_CHATS: Final = ("anthropic", "openai")
_NOT_CHAT: Final = frozenset(
    {"action", "history", "jsonrpc", "lc", "message", "msg", "payload", "trajectory", "type"}
)
"""Fields of the other hosts' records: a message with a role and none of these is a chat's."""

_MAX_NESTING: Final = 8
"""Containers in containers, beyond which nobody puts a log."""

WINDOW: Final = 10_000
"""Calls that a stream holds back behind one without a result, about 10 MB at 1 kB each."""


def tool_calls(messages: Any, *, format: str = "auto") -> list[ToolCall]:
    """Return every tool call of a log with its result, in the order of the calls.

    Args:
        messages: A list of messages (dicts or the host's objects), a parsed document, JSON or
            JSONL as bytes or text, the path of a file (``.gz`` too), or a folder of Claude Code
            sessions with their sub-agents.
        format: ``"auto"``, or one of ``FORMATS``: openai, openai-responses (codex), anthropic,
            mcp, langchain, claude-code, swe-agent, openhands.

    Returns:
        One `ToolCall` a call. A result without its call is a call named ``"?"``; a call without
        a result has ``result=None``. Calls of one assistant message share ``batch``.

    Raises:
        InvalidInputError: ``messages`` or ``format`` is none of these.
        ToolLogError: Nothing in the log can be read.
        OSError: The file can't be opened.

    Warns:
        ToolLogWarning: A record was skipped or repaired; the rest is there.

    Example:
        >>> call = {"id": "1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
        >>> log = [
        ...     {"role": "assistant", "tool_calls": [call]},
        ...     {"role": "tool", "tool_call_id": "1", "content": "a.py"},
        ... ]
        >>> [(call.name, call.result) for call in tool_calls(log)]
        [('ls', 'a.py')]
    """
    return list(_paired(messages, format, None))


def iter_tool_calls(messages: Any, *, format: str = "auto") -> Iterator[ToolCall]:
    """Yield the calls of a log that may be larger than memory.

    The same as `tool_calls`, record by record where the log is JSONL. A call that waits for its
    result holds back those after it, at most `WINDOW` of them: then it is given out as failed,
    and a later result of it only named in a warning.

    Args:
        messages: As for `tool_calls`.
        format: As for `tool_calls`.

    Yields:
        The calls, in order.

    Raises:
        InvalidInputError: ``messages`` or ``format`` is none of the allowed.
        ToolLogError: Nothing in the log can be read.
        OSError: The file can't be opened.
    """
    yield from _paired(messages, format, WINDOW)


def read_messages(messages: Any, *, format: str = "auto") -> list[Message]:
    """Return every part of a log: words, calls, results and the host's own bookkeeping.

    No record is lost: one that says nothing, or is of an unknown kind, is a message of role
    ``"other"`` whose ``raw`` holds it.

    Args:
        messages: As for `tool_calls`.
        format: As for `tool_calls`.

    Returns:
        The messages in the order of the log. Parts of one record share ``record`` and ``raw``.

    Raises:
        InvalidInputError: ``messages`` or ``format`` is none of the allowed.
        ToolLogError: Nothing in the log can be read.
        OSError: The file can't be opened.
    """
    return list(iter_messages(messages, format=format))


def iter_messages(messages: Any, *, format: str = "auto") -> Iterator[Message]:
    """Yield the messages of `read_messages` one by one, for logs larger than memory.

    Args:
        messages: As for `tool_calls`.
        format: As for `tool_calls`.

    Yields:
        The messages, in order.

    Raises:
        InvalidInputError: ``messages`` or ``format`` is none of the allowed.
        ToolLogError: Nothing in the log can be read.
        OSError: The file can't be opened.
    """
    number = -1
    last: Record | None = None
    raw = b""
    first = 0
    for log, context in _logs(messages, format, words=True):
        batches = Batches(first)
        for part in _parts(log, context, format):
            record = part.record
            if record is None or record is not last:
                number += 1
                last = record
                if record is not None:
                    raw = record.raw if record.raw is not None else dumps(record.value)
            stream = batches.note(part)
            batch = stream.number if stream is not None and part.role == "tool_call" else None
            yield _message(part, number, raw, batch)
        first = batches.next


def _message(part: Part, number: int, raw: bytes, batch: int | None) -> Message:
    return Message(
        part.role,
        part.text,
        part.name,
        part.call_id,
        part.arguments,
        part.is_error,
        part.client_id,
        part.time,
        part.speaker,
        part.parent_id,
        batch,
        number,
        raw,
        None if part.key is None else repr(part.key),
    )


def _paired(messages: Any, format_: str, window: int | None) -> Iterator[ToolCall]:
    path = as_path(messages)
    if path is not None and path.is_dir():
        yield from _nested(list(_calls(path, format_, window)))
    else:
        yield from _calls(messages, format_, window)


def _calls(messages: Any, format_: str, window: int | None) -> Iterator[ToolCall]:
    first = 0
    for log, context in _logs(messages, format_, words=False):
        batches = Batches(first)
        pairing = Pairing(context, batches)
        feed = pairing.feed
        for part in _parts(log, context, format_):
            feed(part)
            if window is not None:
                yield from pairing.ready(window)
        yield from pairing.finish()
        first = batches.next


def _nested(calls: list[ToolCall]) -> Iterator[ToolCall]:
    """Yield the calls of sub-agents after the call that started them; strays come last."""
    children: dict[str, list[ToolCall]] = {}
    for call in calls:
        if call.parent_id is not None:
            children.setdefault(call.parent_id, []).append(call)
    stack = [call for call in reversed(calls) if call.parent_id is None]
    while stack:
        call = stack.pop()
        yield call
        if call.id is not None:
            # Taken out, so that an id that comes twice, or a circle, can't repeat them.
            stack.extend(reversed(children.pop(call.id, ())))
    for strays in children.values():
        yield from strays


def check_format(format_: str) -> None:
    """Check the name of a format.

    Raises:
        InvalidInputError: It is none.
    """
    named = isinstance(format_, str) and _ALIASES.get(format_, format_) in ("auto", *FORMATS)
    if not named:
        known = ", ".join(("auto", *FORMATS, *_ALIASES))
        raise InvalidInputError(f"format must be one of {known}, not {format_!r}")


def _logs(
    messages: Any, format_: str, *, words: bool
) -> Iterator[tuple[Iterable[Record], Context]]:
    """Yield every log of the input with its own context, one after the other."""
    check_format(format_)
    if isinstance(messages, SessionFiles):
        yield from _session(messages, words=words)
        return
    path = as_path(messages)
    if path is not None and path.is_dir():
        yield from _folder(path, words=words)
        return
    context = Context(words=words, file=str(path) if path is not None else None)
    yield from _in_file(path if path is not None else messages, context)


def _in_file(messages: Any, context: Context) -> Iterator[tuple[Iterable[Record], Context]]:
    source = records(messages, context, None if context.words else session_lines)
    for log in _split(source, 0):
        yield log, context
    if context.unknown and not context.known:
        raise ToolLogError(
            f"no record ({context.unknown} read) is of a known format; name it with format=, "
            f"one of {', '.join(FORMATS)}",
            file=context.file,
            line=context.first_unknown,
        )
    if context.unknown:
        count = f"{context.unknown} record" + ("s" if context.unknown > 1 else "")
        context.warn(
            f"{count} of no known format hold no call that can be read", context.first_unknown
        )


def _folder(folder: Path, *, words: bool) -> Iterator[tuple[Iterable[Record], Context]]:
    files = session_files(folder)
    if not files:
        raise InvalidInputError(f"the folder holds no session (*.jsonl): {folder}")
    yield from _session(SessionFiles(files), words=words)


def _session(session: SessionFiles, *, words: bool) -> Iterator[tuple[Iterable[Record], Context]]:
    links = session.links
    waiting = list(session.files)
    while waiting:
        # Sessions first; then each sub-agent once the call that started it has been seen.
        source, agent_id = next(
            (entry for entry in waiting if entry[1] is None or entry[1] in links), waiting[0]
        )
        waiting.remove((source, agent_id))
        file = str(source) if isinstance(source, Path) else None
        context = Context(words=words, file=file, links=links)
        if agent_id is not None:
            context.parent_id = links.get(agent_id)
        yield from _in_file(source, context)


class _Rest(dict[str, Any]):
    """What a document holds beside the messages."""


def _split(source: Iterable[Record], depth: int) -> Iterator[Iterable[Record]]:
    """Yield the logs of a stream: loose records together, each container by itself."""
    stream = iter(source)
    for record in stream:
        inner = _contents(record, depth)
        if inner is None:
            # Loose records up to the next container are one log, read as they come.
            held: list[Record] = []
            yield chain((record,), _loose(stream, held, depth))
            inner = _contents(held[0], depth) if held else None
        if inner is not None:
            yield from _split(inner, depth + 1)


def _loose(stream: Iterator[Record], held: list[Record], depth: int) -> Iterator[Record]:
    for record in stream:
        value = record.value
        # Most records say at once that they are messages.
        is_message = type(value) is dict and ("type" in value or "role" in value)
        if not is_message and _contents(record, depth) is not None:
            held.append(record)
            return
        yield record


def holds_messages(value: object) -> bool:
    """Whether an element of a list is no message, but a list or document of messages."""
    found = records([value], Context(words=True))
    return any(_contents(record, 0) is not None for record in found)


def _contents(record: Record, depth: int) -> list[Record] | None:
    """The records inside a container; None for a record that is a message itself."""
    value = record.value
    if depth >= _MAX_NESTING:
        return None
    if isinstance(value, list):
        return _entries(record.line, value)
    if not isinstance(value, dict) or "role" in value or "type" in value:
        return None
    for field in _CONTAINERS:
        inner = value.get(field)
        if isinstance(inner, list) or (field == "message" and isinstance(inner, dict)):
            if _particular(value):
                return None
            entries = inner if isinstance(inner, list) else [inner]
            rest = _Rest({key: other for key, other in value.items() if key != field})
            loose = _entries(record.line, entries)
            return [*loose, Record(record.line, rest)] if rest else loose
    return None


def _entries(line: int, values: list[Any]) -> list[Record]:
    return [Record(line, value if type(value) is dict else plain(value)) for value in values]


def _particular(value: dict[str, Any]) -> bool:
    """True for a document that a host module reads as a whole."""
    return any(FORMATS[name]().matches(value) for name in ("swe-agent", "openhands", "mcp"))


class _Hosts:
    """Finds the host module of each record of one log; modules keep state for that log."""

    def __init__(self, format_: str) -> None:
        self._hosts: dict[str, HostFormat] = {}
        self._forced = None if format_ == "auto" else FORMATS[_ALIASES.get(format_, format_)]()
        self._last: HostFormat | None = None

    def of(self, value: object) -> HostFormat | None:
        """Return the module that reads the record, None if there is none."""
        if not isinstance(value, dict) or isinstance(value, _Rest):
            return None
        if self._forced is not None:
            return self._forced
        last = self._last
        if last is not None and last.matches(value):
            return last
        host = self._find(value)
        # The chat reader takes any message, so the next one is offered to the others first.
        self._last = None if host is self._hosts.get("openai") else host
        return host

    def _find(self, value: dict[str, Any]) -> HostFormat | None:
        # A short cut for plain chat messages, which are most of what there is.
        names = _CHATS if "role" in value and _NOT_CHAT.isdisjoint(value) else FORMATS
        for name in names:
            host = self._hosts.get(name)
            if host is None:
                host = self._hosts[name] = FORMATS[name]()
            if host.matches(value):
                return host
        return None


def _parts(source: Iterable[Record], context: Context, format_: str) -> Iterator[Part]:
    """Yield the parts of one log; with words, at least one part for every record."""
    hosts = _Hosts(format_)
    for record in source:
        host = hosts.of(record.value)
        silent = True
        if host is not None:
            context.known += 1
            for part in host.parts(record, context):
                silent = False
                yield part
        elif not isinstance(record.value, _Rest):
            context.unknown += 1
            if context.first_unknown is None:
                context.first_unknown = record.line
        if silent and context.words:
            yield Part("other", record=record)
