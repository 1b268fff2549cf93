"""A validator of Agent Skills folders, written from the specification alone: nothing of ours."""

from __future__ import annotations

import os
import re
import stat

import yaml

__all__ = ["problems"]

FIELDS = {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}


def problems(folder):
    """Every way in which a folder is no Agent Skill; nothing if it is one."""
    found = []
    path = folder / "SKILL.md"
    if not path.is_file():
        return ["SKILL.md is missing"]
    text = path.read_bytes().decode("utf-8")
    lines = text.split("\n")
    if lines[0] != "---" or "---" not in lines[1:]:
        return ["no frontmatter"]
    end = lines.index("---", 1)
    head = yaml.safe_load("\n".join(lines[1:end]))
    if not isinstance(head, dict):
        return ["the frontmatter is no mapping"]
    found += [f"unexpected field {key}" for key in head if key not in FIELDS]
    name = head.get("name")
    if (
        not isinstance(name, str)
        or not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)
        or len(name) > 64
    ):
        found.append(f"name {name!r}")
    if name != folder.name:
        found.append(f"name {name!r} is not the folder's")
    description = head.get("description")
    if not isinstance(description, str) or not description.strip() or len(description) > 1024:
        found.append("description")
    for key in ("license", "compatibility", "allowed-tools"):
        if key in head and (not isinstance(head[key], str) or not head[key]):
            found.append(key)
    if len(head.get("compatibility", "")) > 500:
        found.append("compatibility is too long")
    metadata = head.get("metadata", {})
    if not isinstance(metadata, dict):
        found.append("metadata is no mapping")
    else:
        found += [
            f"metadata {key!r}"
            for key, value in metadata.items()
            if not isinstance(key, str) or not isinstance(value, str)
        ]
    for base, folders, files in os.walk(folder):
        for entry in (*folders, *files):
            mode = os.lstat(os.path.join(base, entry)).st_mode
            if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
                found.append(f"{entry} is no plain file")
            if stat.S_ISREG(mode) and mode & 0o111:
                found.append(f"{entry} may be executed")
    return found
