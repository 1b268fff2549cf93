"""A scene as a Markdown page, made from rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agentmem.models import format_id, from_ms
from agentmem.store import facts, scenes, turns

if TYPE_CHECKING:
    import apsw

__all__ = ["scene_page"]

MAX_FACTS: Final = 40
MAX_TURNS: Final = 40
MAX_CHARS: Final = 300
_NAMES: Final = {"user": "User", "assistant": "Assistant", "tool_call": "Tool call",
                 "tool_result": "Tool result"}  # fmt: skip


def scene_page(connection: apsw.Connection, row: scenes.SceneRow) -> str:
    """Return a scene's page: what it was, when, its facts and the words it rests on.

    At most 40 facts and 40 turns are shown, each on one line of at most 300 characters; what is
    left out is counted.
    """
    held = scenes.members(connection, row.id)
    sessions = scenes.to_scene(connection, [row])[0].sessions
    lines = [
        f"# {one_line(row.label)}",
        "",
        f"- id: {format_id(2, row.id)}",
        f"- from {from_ms(row.first_ms):%Y-%m-%d %H:%M} to {from_ms(row.last_ms):%Y-%m-%d %H:%M} UTC",
        f"- sessions: {', '.join(one_line(name) for name in sessions) or 'none'}",
        f"- members: {len(held)}",
    ]
    if row.merged_into is not None:
        lines.append(f"- merged into {format_id(2, row.merged_into)}")
    if row.text:
        lines += ["", "## Summary", ""]
        lines += [f"- {one_line(sentence)}" for sentence in row.text.split("\n")]
    fact_ids = [number for tier, number in held if tier == 1]
    if fact_ids:
        lines += ["", "## Facts", ""]
        lines += [
            f"- {one_line(fact.text)} ({format_id(1, fact.id)})"
            for fact in facts.load(connection, fact_ids[:MAX_FACTS])
        ]
        lines += _left_out(len(fact_ids) - MAX_FACTS)
    turn_ids = [number for tier, number in held if tier == 0]
    if turn_ids:
        lines += ["", "## Said", ""]
        lines += [
            f"> {_NAMES.get(turn.kind, turn.kind)}: {one_line(turn.text)} ({format_id(0, turn.id)})  "
            for turn in turns.load(connection, turn_ids[:MAX_TURNS])
        ]
        lines += _left_out(len(turn_ids) - MAX_TURNS)
    return "\n".join(lines) + "\n"


def one_line(text: str) -> str:
    """Return a text on one line, cut at 300 characters, that can't end its Markdown element."""
    line = " ".join(text.split())
    line = line if len(line) <= MAX_CHARS else f"{line[: MAX_CHARS - 1]}…"
    return line.replace("`", "'").replace("<", "‹").replace(">", "›")


def _left_out(count: int) -> list[str]:
    return [f"- … and {count} more"] if count > 0 else []
