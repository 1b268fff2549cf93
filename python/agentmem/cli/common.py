"""What the verbs share: the folder, the output, the progress bar."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from agentmem.errors import InvalidInputError

if TYPE_CHECKING:
    from agentmem.memory import Memory

__all__ = [
    "as_json",
    "emit",
    "format_option",
    "has_memory",
    "memory_option",
    "open_memory",
    "options",
    "parse_time",
    "parse_where",
    "plain",
    "progress",
    "read_input",
]

F = TypeVar("F", bound=Callable[..., Any])


memory_option = click.option(
    "-m", "--memory", "path", default="memory", envvar="AGENTMEM_MEMORY",
    type=click.Path(path_type=Path), help="The folder [default: memory].",
)  # fmt: skip


def options(function: F) -> F:
    """Add the options that every verb on a memory takes."""
    for decorate in (
        click.option("--json", "json_output", is_flag=True, help="Print JSON."),
        click.option("--scope", default="", help="The scope, as in 'acme/alice'."),
        memory_option,
    ):
        function = decorate(function)
    return function


def _format(context: click.Context, parameter: click.Parameter, value: str) -> str:
    from agentmem.toollog.formats import check_format

    try:
        check_format(value)
    except InvalidInputError as error:
        raise click.BadParameter(str(error), context, parameter) from error
    return value


format_option = click.option(
    "--format", "format_", default="auto", show_default=True, callback=_format,
    help="Whose log it is.",
)  # fmt: skip


def has_memory(path: Path) -> bool:
    """Whether a folder holds a memory."""
    return (path / "store.amem").exists()


@contextmanager
def open_memory(path: Path, scope: str = "", *, create: bool = False) -> Iterator[Memory]:
    """Open a memory; one that does not exist is an error unless it is to be made."""
    from agentmem.memory import Memory

    if not create and not has_memory(path):
        raise InvalidInputError(
            f"{path}: there is no memory; make one with 'agentmem init -m {path}'"
        )
    with Memory(path, scope=scope) as memory:
        yield memory


def plain(value: Any) -> Any:
    """Return a value as JSON data; a span of time in seconds."""
    from agentmem import Hit

    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    if isinstance(value, Hit):
        return plain(value.asdict())
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Enum):
        return value.name.lower()
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def as_json(value: Any) -> str:
    """Return the JSON text of a value."""
    return json.dumps(plain(value), ensure_ascii=False)


def emit(value: Any, *, json_output: bool, text: Callable[[], str]) -> None:
    """Print a value as JSON, or the text that people read; an empty text prints nothing."""
    shown = as_json(value) if json_output else text()
    if shown:
        click.echo(shown)


def read_input() -> str:
    """Return standard input as text; bytes that are not UTF-8 become U+FFFD."""
    return sys.stdin.buffer.read().decode(errors="replace")


@contextmanager
def progress(label: str) -> Iterator[Callable[[int, int], None] | None]:
    """Yield a ``progress(done, total)`` that draws a bar, or None where nobody would see it."""
    if not sys.stderr.isatty():
        yield None
        return
    bar = click.progressbar(length=1, label=label, file=sys.stderr)
    with bar:

        def advance(done: int, total: int) -> None:
            bar.length = max(total, 1)
            bar.update(done - bar.pos)

        yield advance


def parse_time(value: str | None, argument: str) -> datetime | None:
    """Return an ISO time; one without a zone is taken in the local zone of this machine."""
    if value is None:
        return None
    try:
        return datetime.fromisoformat(value).astimezone()
    except ValueError as error:
        raise click.UsageError(
            f"--{argument}: an ISO time is needed, {value!r} was given"
        ) from error


def parse_where(value: str | None) -> dict[str, Any] | None:
    """Return the JSON object of ``--where``."""
    if value is None:
        return None
    try:
        where = json.loads(value)
    except ValueError as error:
        raise click.UsageError(f"--where: a JSON object is needed: {error}") from error
    if not isinstance(where, dict):
        raise click.UsageError(f"--where: a JSON object is needed, {value!r} was given")
    return where
