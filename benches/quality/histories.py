"""Labelled histories: their messages, the real ones by record id, and a store that captured them."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    import agentmem

__all__ = ["LABELS", "History", "Item", "capture_all", "histories", "matches"]

LABELS = Path(__file__).parent / "labels"
LEAST_PREFIX = 4
"""A shorter keyword matches whole words only."""


class Item(NamedTuple):
    """One labelled message: the host's own record of it in ``message``."""

    id: str
    session: str
    time: str
    role: str
    message: dict[str, Any]
    format: str
    activity: str | None


class History(NamedTuple):
    """One person's or agent's labelled messages, in order; ``labels`` is the whole line."""

    id: str
    language: str
    items: list[Item]
    labels: dict[str, Any]


@cache
def _content(path: Path) -> str:
    if path.suffix == ".gz":
        with gzip.open(path, "rt", encoding="utf-8") as stream:
            return stream.read()
    return path.read_text(encoding="utf-8")


@cache
def _lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in _content(path).split("\n") if line.strip()]


@cache
def _records(path: Path) -> dict[str, Any]:
    return {record["id"]: record for record in _lines(path)}


@cache
def _document(path: Path) -> Any:
    return json.loads(_content(path))


def _resolve(source: dict[str, Any], folder: Path) -> tuple[dict[str, Any] | str, str]:
    """Return what a source points to, a text or a host's message, and the host's format."""
    path = folder / source["file"]
    if "record" in source:
        record = _records(path)[source["record"]]
        if "message" in source:
            return str(record["messages"][source["message"]]["content"]), "openai"
        return str(record["text"]), "openai"
    if "episode" in source:
        episode = _lines(path)[source["episode"]]
        messages = episode if isinstance(episode, list) else episode.get("messages", episode)
        return dict(messages[source["index"]]), "openai"
    if "line" in source:
        return dict(_lines(path)[source["line"]]), "claude-code"
    return str(_document(path)["history"][source["index"]]["content"]), "openai"


def _item(number: int, label: dict[str, Any], folder: Path | None) -> Item:
    found: dict[str, Any] | str
    if "text" in label:
        found, format_ = label["text"], "openai"
    elif folder is None:
        message = "the histories point to real records: AGENTMEM_DATA names no folder"
        raise FileNotFoundError(message)
    else:
        found, format_ = _resolve(label["source"], folder)
    role = label["role"]
    if isinstance(found, str):
        message = {"role": "user" if role == "other" else role, "content": found}
        if role == "other":
            message["name"] = "other"
        if role == "tool":
            message["tool_call_id"] = f"call-{number}"
        found = message
    if format_ == "openai":
        found = found | {"timestamp": f"{label['time']}:00+00:00"}
    return Item(
        label.get("id", str(number)), label["session"], label["time"], role, found, format_,
        label.get("activity"),
    )  # fmt: skip


def histories(path: Path, folder: Path | None) -> list[History]:
    """Return the histories of a label file; those of real records need the data ``folder``."""
    return [
        History(
            line["id"], line["language"],
            [_item(number, label, folder) for number, label in enumerate(line["messages"])], line,
        )
        for line in _lines(path)
    ]  # fmt: skip


def capture_all(memory: agentmem.Memory, items: Sequence[Item]) -> list[tuple[str, ...]]:
    """Capture messages one by one in their order, and return the L0 ids of each."""
    return [
        tuple(memory.capture([item.message], session=item.session, format=item.format).ids)
        for item in items
    ]


def matches(text: str, keywords: Sequence[str]) -> bool:
    """Whether a text contains a keyword, as the labels' README defines it."""
    import re

    folded = text.casefold()
    is_chinese = _has_chinese(text)
    for keyword in keywords:
        wanted = keyword.casefold()
        if is_chinese or _has_chinese(keyword):
            if wanted in folded:
                return True
        else:
            end = "" if len(wanted) >= LEAST_PREFIX else r"(?!\w)"
            if re.search(rf"(?<!\w){re.escape(wanted)}{end}", folded):
                return True
    return False


def _has_chinese(text: str) -> bool:
    return any("\u4e00" <= letter <= "\u9fff" for letter in text)
