"""The output of a tool, shortened for the conversation and kept whole in the memory.

The host takes a replacement only in the shape of the tool's own output; a shape that is not known
here is left as it is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from agentmem.integrations.claude_code.hook import HookOptions

__all__ = ["shorten", "shortened"]

CHARS_PER_TOKEN: Final = 4
"""Enough to tell whether an output is long; what is kept is cut by the same measure."""
HEAD_SHARE: Final = 0.45
NOTABLE_SHARE: Final = 0.2
MAX_LINE: Final = 600
SUFFIX: Final = ":outputs"
"""What the session's name is followed by where its whole outputs are kept."""
_NOTABLE = re.compile(
    r"\b(?:error|fail(?:ed|ure|ing)?|exception|panic|fatal|traceback)\b", re.IGNORECASE
)
_OURS = re.compile(r"agentmem", re.IGNORECASE)


def shortened(event: dict[str, Any], options: HookOptions) -> Any:
    """Return a shorter output in the tool's own shape, None to leave it alone.

    The whole output is on disk before a shorter one takes its place.
    """
    tool, given = event.get("tool_name"), event.get("tool_response")
    session = event.get("session_id")
    if not isinstance(tool, str) or not isinstance(session, str) or not session.strip():
        return None
    # What opens a shortened output must not be shortened itself.
    if _OURS.search(tool) or _OURS.search(_command(event)):
        return None
    text = _text_of(given)
    limit = options.output_tokens * CHARS_PER_TOKEN
    if text is None or len(text) <= limit:
        return None
    where = _keep(event, tool, text, session=session, options=options)
    return _with_text(given, shorten(text, limit // 2, where))


def _command(event: dict[str, Any]) -> str:
    arguments = event.get("tool_input")
    command = arguments.get("command") if isinstance(arguments, dict) else None
    return command if isinstance(command, str) else ""


def _text_of(given: Any) -> str | None:
    """Return the text of an output whose shape is known, None of any other."""
    if isinstance(given, str):
        return given
    if isinstance(given, dict) and isinstance(given.get("stdout"), str):
        if given.get("isImage") is True:
            return None
        return str(given["stdout"])
    if isinstance(given, list) and given:
        texts = [
            block.get("text")
            for block in given
            if isinstance(block, dict) and block.get("type") == "text"
        ]
        if len(texts) == len(given) and all(isinstance(text, str) for text in texts):
            return "\n".join(map(str, texts))
    return None


def _with_text(given: Any, text: str) -> Any:
    if isinstance(given, str):
        return text
    if isinstance(given, list):
        return [{**given[0], "text": text}]
    # The host would show its own copy of the whole output instead.
    kept = {name: value for name, value in given.items() if not name.startswith("persistedOutput")}
    return {**kept, "stdout": text}


def _keep(
    event: dict[str, Any], tool: str, text: str, *, session: str, options: HookOptions
) -> str:
    """Write the call with its whole output; return the id of the output's turn."""
    from agentmem.integrations.claude_code.light import open_light
    from agentmem.tiers.capture import capture

    call_id = event.get("tool_use_id")
    if not isinstance(call_id, str) or not call_id:
        from hashlib import blake2b

        seed = f"{tool}\0{text}".encode("utf-8", "surrogatepass")
        call_id = f"hook_{blake2b(seed, digest_size=8).hexdigest()}"
    arguments = event.get("tool_input")
    call = {
        "type": "tool_use", "id": call_id, "name": tool,
        "input": arguments if isinstance(arguments, dict) else {},
    }  # fmt: skip
    result = {"type": "tool_result", "tool_use_id": call_id, "content": text}
    messages = [
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]
    with open_light(options.folder, create=True) as store:
        done = capture(
            store, options.scope, messages, session=f"{session}{SUFFIX}", format_="anthropic"
        )
    return done.ids[-1]


def shorten(text: str, limit: int, where: str) -> str:
    """Return the beginning and the end of a text, the lines between that name a failure, and a note.

    Args:
        text: A long text.
        limit: Characters that are kept, about.
        where: The id under which the whole is kept.
    """
    lines = text.split("\n")
    head = _take(range(len(lines)), lines, int(limit * HEAD_SHARE))
    tail = _take(
        reversed(range(len(head), len(lines))), lines, int(limit * (1 - HEAD_SHARE - NOTABLE_SHARE))
    )
    between = [at for at in range(len(head), len(lines) - len(tail)) if _NOTABLE.search(lines[at])]
    notable = _take(between, lines, int(limit * NOTABLE_SHARE))
    shown = sorted({*head, *tail, *notable})
    parts: list[str] = []
    last = -1
    for at in [*shown, len(lines)]:
        if at > last + 1:
            parts.append(f"[… lines {last + 2} to {at} left out …]")
        if at < len(lines):
            parts.append(_cut(lines[at]))
        last = at
    parts.append(
        f"[agentmem kept all {len(lines)} lines as {where}: the tool expand, or "
        f"'agentmem expand {where} --lines 10-20' or '--grep WORD', gives any of them]"
    )
    return "\n".join(parts)


def _cut(line: str) -> str:
    if len(line) <= MAX_LINE:
        return line
    return f"{line[:MAX_LINE]}… ({len(line) - MAX_LINE} more characters)"


def _take(order: Any, lines: list[str], room: int) -> list[int]:
    """Return the first places of an order whose lines fit the room."""
    taken: list[int] = []
    for at in order:
        room -= min(len(lines[at]), MAX_LINE) + 1
        if room < 0:
            break
        taken.append(at)
    return taken
