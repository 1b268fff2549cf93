"""Agent Skills folders: ``<name>/SKILL.md`` with resources, written and read to the specification.

SKILL.md is YAML frontmatter between ``---`` lines and Markdown after it. The fields are ``name``,
``description``, ``license``, ``compatibility``, ``metadata`` (text to text) and ``allowed-tools``;
any other is an error. Our own data goes below ``metadata`` as JSON, its keys prefixed with
``agentmem.``. No file ever gets an exec bit, and nothing outside the folder is read or written.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import tempfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from agentmem.errors import InvalidInputError, StorageFullError
from agentmem.models.skills import Draft, SkillVersion
from agentmem.skills.lint import MAX_FILE, MAX_FILES, MAX_TOTAL, check_draft, check_resource_path

if TYPE_CHECKING:
    import yaml

__all__ = ["dump", "export_skill", "parse", "read_skill", "read_skills"]

_MAX_HEAD: Final = 64 << 10
_MAX_MD: Final = 512 << 10
_MAX_DEPTH: Final = 4
_MAX_FOLDERS: Final = 8
_MAX_COMPATIBILITY: Final = 500
_FIELDS: Final = ("license", "compatibility", "allowed-tools")
_OWN: Final = "agentmem."
_HEAD = re.compile(r"---[ \t]*\r?\n(.*?)(?:^)---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_CONTROL = re.compile("[\x00-\x1f\x7f-\xa0\u2028\u2029\ufeff]")
_JUNK: Final = frozenset({".DS_Store", "Thumbs.db"})


def dump(draft: Draft) -> str:
    """Return the text of SKILL.md for a draft.

    Raises:
        InvalidInputError: The draft is no skill, or its metadata is no JSON data.
    """
    import yaml

    check_draft(draft)
    head: dict[str, Any] = {"name": draft.name, "description": draft.description}
    own: dict[str, str] = {}
    for key, value in draft.metadata.items():
        if not isinstance(key, str):
            raise InvalidInputError(f"metadata: key {key!r} is no text")
        if key == "frontmatter" and _is_frontmatter(value):
            head.update(value)
        elif isinstance(value, str) and not key.startswith(_OWN) and key != "frontmatter":
            own[key] = value
        else:
            try:
                own[_OWN + key] = json.dumps(value, ensure_ascii=False, allow_nan=False)
            except (TypeError, ValueError) as error:
                raise InvalidInputError(f"metadata {key!r}: it must be JSON data") from error
    if own:
        head["metadata"] = own
    text = yaml.dump(
        head,
        Dumper=_dumper(),
        allow_unicode=True,
        sort_keys=False,
        default_flow_style=False,
        width=10_000,
    )
    if len(text.encode()) > _MAX_HEAD:
        raise InvalidInputError(f"metadata: the frontmatter has more than {_MAX_HEAD} bytes")
    return f"---\n{text}---\n{draft.body}"


@cache
def _dumper() -> type[yaml.SafeDumper]:
    """Return a dumper that quotes a text with any control character or rare line end."""
    import yaml

    class Dumper(yaml.SafeDumper):
        pass

    def represent(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
        style = '"' if _CONTROL.search(text) else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)

    Dumper.add_representer(str, represent)
    return Dumper


def _is_frontmatter(value: Any) -> bool:
    return (
        isinstance(value, Mapping)
        and bool(value)
        and all(k in _FIELDS and isinstance(v, str) and v.strip() for k, v in value.items())
        and len(value.get("compatibility", "")) <= _MAX_COMPATIBILITY
    )


def parse(text: str, resources: Mapping[str, bytes] | None = None) -> Draft:
    """Return the skill that a SKILL.md text says, strictly.

    Args:
        text: The whole file.
        resources: Its files by relative path.

    Raises:
        InvalidInputError: It is no SKILL.md by the specification; the message says where.
    """
    found = _HEAD.match(text.removeprefix("\ufeff"))
    if found is None:
        raise InvalidInputError(
            "SKILL.md: it must begin with frontmatter between two lines of ---; the second is "
            "missing, or the first"
        )
    head = _frontmatter(found[1])
    body = text.removeprefix("\ufeff")[found.end() :]
    unknown = sorted(set(head) - {"name", "description", "metadata", *_FIELDS})
    if unknown:
        raise InvalidInputError(f"SKILL.md: unexpected fields in the frontmatter: {unknown[:5]}")
    for key in ("name", "description"):
        if not isinstance(head.get(key), str):
            raise InvalidInputError(f"SKILL.md: the field {key!r} is missing or no text")
    metadata = _metadata(head.get("metadata", {}))
    fields: dict[str, str] = {}
    for key in _FIELDS:
        if key in head:
            value = head[key]
            if key == "allowed-tools" and isinstance(value, list):
                value = " ".join(v for v in value if isinstance(v, str))
            if not isinstance(value, str) or not value.strip():
                raise InvalidInputError(f"SKILL.md: the field {key!r} must be text")
            if key == "compatibility" and len(value) > _MAX_COMPATIBILITY:
                raise InvalidInputError("SKILL.md: compatibility has more than 500 characters")
            fields[key] = value
    if fields:
        if "frontmatter" in metadata:
            raise InvalidInputError("SKILL.md: metadata may not have a key 'frontmatter'")
        metadata["frontmatter"] = fields
    draft = Draft(
        name=head["name"],
        description=head["description"],
        body=body,
        resources=dict(resources or {}),
        metadata=metadata,
    )
    check_draft(draft)
    return draft


def _metadata(given: Any) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise InvalidInputError("SKILL.md: metadata must map text to text")
    metadata: dict[str, Any] = {}
    for key, value in given.items():
        if not isinstance(value, str):
            raise InvalidInputError(f"SKILL.md: metadata {key!r} must be text")
        if key.startswith(_OWN):
            try:
                metadata[key.removeprefix(_OWN)] = json.loads(value)
            except (ValueError, RecursionError):
                metadata[key] = value
        else:
            metadata[key] = value
    return metadata


def _frontmatter(text: str) -> dict[str, Any]:
    """Return the YAML mapping of a frontmatter; every scalar is text.

    Anchors, aliases, tags, repeated keys and deep nesting are refused: no skill needs them.
    """
    import yaml

    if len(text) > _MAX_HEAD:
        raise InvalidInputError(f"SKILL.md: the frontmatter has more than {_MAX_HEAD} characters")
    depth = 0
    try:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
                raise InvalidInputError("SKILL.md: anchors and aliases are not allowed")
            if getattr(event, "tag", None) not in {None, "!"}:
                raise InvalidInputError("SKILL.md: YAML tags are not allowed")
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            if depth > _MAX_DEPTH:
                raise InvalidInputError("SKILL.md: the frontmatter is nested too deep")
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 2}" if mark is not None else ""
        raise InvalidInputError(f"SKILL.md: the frontmatter is no YAML{where}") from error
    value = _value(node)
    if not isinstance(value, dict):
        raise InvalidInputError("SKILL.md: the frontmatter must be a mapping of fields")
    return value


def _value(node: Any) -> Any:
    import yaml

    if isinstance(node, yaml.MappingNode):
        out: dict[str, Any] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise InvalidInputError("SKILL.md: a key of the frontmatter must be text")
            if key.value in out:
                raise InvalidInputError(f"SKILL.md: the field {key.value[:64]!r} is there twice")
            out[str(key.value)] = _value(value)
        return out
    if isinstance(node, yaml.SequenceNode):
        return [_value(item) for item in node.value]
    return None if node is None else str(node.value)


def export_skill(version: SkillVersion, directory: Path) -> Path:
    """Write ``<directory>/<name>/`` and return its path; all of it appears at once or nothing.

    Files get mode 0600 and folders 0700.

    Raises:
        InvalidInputError: The version is no skill by the specification, or something else is
            there already.
        StorageFullError: No space; nothing of it is left behind.
    """
    draft = Draft(
        name=version.name,
        description=version.description,
        body=version.body,
        resources=version.resources,
        metadata=version.metadata,
    )
    text = dump(draft)
    directory = Path(directory)
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise InvalidInputError(f"{directory}: a file is in the way of this folder") from error
    target = directory / version.name
    if os.path.lexists(target):
        if target.is_dir() and not target.is_symlink() and _is_same(target, draft):
            return target
        raise InvalidInputError(f"{target} exists: export to another folder or remove it first")
    try:
        with tempfile.TemporaryDirectory(prefix=".export-", dir=directory) as place:
            folder = Path(place) / version.name
            folder.mkdir(mode=0o700)
            _write(folder / "SKILL.md", text.encode())
            for path, content in sorted(draft.resources.items()):
                file = folder / path
                for parent in reversed(Path(path).parents):
                    (folder / parent).mkdir(mode=0o700, exist_ok=True)
                _write(file, content)
            folder.rename(target)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StorageFullError(
                error.errno, f"{target}: no space; nothing of this skill was left there"
            ) from error
        raise
    return target


def _is_same(target: Path, draft: Draft) -> bool:
    try:
        return read_skill(target) == draft
    except (InvalidInputError, OSError):
        return False


def _write(path: Path, content: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)


def read_skill(directory: Path) -> Draft:
    """Return the skill in one folder.

    Raises:
        InvalidInputError: No SKILL.md, a name that is not the folder's, a link or other special
            file, a file outside the three resource folders, or too much of anything.
    """
    directory = Path(directory)
    if directory.is_symlink() or not directory.is_dir():
        raise InvalidInputError(f"{directory} is no folder with a skill")
    text = b""
    resources: dict[str, bytes] = {}
    total = 0
    for path, entry in _files(directory, ""):
        limit = _MAX_MD if path == "SKILL.md" else MAX_FILE
        if path != "SKILL.md":
            check_resource_path(path)
        content = _read(entry, limit, path)
        total += len(content)
        if total > MAX_TOTAL + _MAX_MD or len(resources) > MAX_FILES:
            raise InvalidInputError(
                f"{directory.name}: more than {MAX_FILES} files or {MAX_TOTAL} bytes"
            )
        if path == "SKILL.md":
            text = content
        else:
            resources[path] = content
    return _assembled(directory.resolve().name, text, resources)


def _files(folder: Path, prefix: str, depth: int = 0) -> Iterator[tuple[str, Path]]:
    if depth > _MAX_FOLDERS:
        raise InvalidInputError(f"{prefix}: folders are nested too deep")
    count = 0
    with os.scandir(folder) as entries:
        listed = []
        for entry in entries:
            count += 1
            if count > 2 * MAX_FILES:
                raise InvalidInputError(f"{prefix or folder.name}: more than {MAX_FILES} files")
            listed.append(entry)
    for entry in sorted(listed, key=lambda e: e.name):
        path = prefix + entry.name
        if entry.is_symlink():
            raise InvalidInputError(f"{path!r}: links are not followed")
        if entry.is_dir(follow_symlinks=False):
            yield from _files(Path(entry.path), f"{path}/", depth + 1)
        elif not entry.is_file(follow_symlinks=False):
            raise InvalidInputError(f"{path!r}: it is no plain file")
        elif entry.name not in _JUNK:
            yield path, Path(entry.path)


def _read(path: Path, limit: int, name: str) -> bytes:
    """Return a file's bytes; the link that may have taken its place meanwhile is not followed."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise InvalidInputError(f"{name!r}: it can't be read: {error.strerror}") from error
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise InvalidInputError(f"{name!r}: it is no plain file")
        content = file.read(limit + 1)
    if len(content) > limit:
        raise InvalidInputError(f"{name!r}: more than {limit} bytes")
    return content


def _assembled(folder: str, text: bytes, resources: Mapping[str, bytes]) -> Draft:
    if not text:
        raise InvalidInputError(f"{folder[:80]!r}: there is no SKILL.md, or it is empty")
    try:
        decoded = text.decode()
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{folder[:80]!r}: SKILL.md is not UTF-8") from error
    draft = parse(decoded, resources)
    if draft.name != folder:
        raise InvalidInputError(
            f"the folder is {folder[:80]!r} but its skill's name {draft.name!r}"
        )
    return draft


def read_skills(path: Path) -> list[Draft]:
    """Return the skills in a folder of skills, in one skill's folder or in a ``.zip``, by name.

    Raises:
        InvalidInputError: As of :func:`read_skill`; or there is no skill.
    """
    from agentmem.skills.skill_zip import read_zip

    path = Path(path)
    if path.is_symlink():
        raise InvalidInputError(f"{path} is a link; give the folder itself")
    if path.is_file():
        grouped = read_zip(path)
        return [
            _assembled(name, files.pop("SKILL.md", b""), files)
            for name, files in sorted(grouped.items())
        ]
    if not path.is_dir():
        raise InvalidInputError(f"{path} is neither a folder nor a file")
    if os.path.lexists(path / "SKILL.md"):
        return [read_skill(path)]
    folders = [p for p in sorted(path.iterdir()) if os.path.lexists(p / "SKILL.md")]
    if not folders:
        raise InvalidInputError(f"{path}: there is no SKILL.md in it or in a folder below")
    return [read_skill(p) for p in folders]
