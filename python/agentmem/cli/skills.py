"""``agentmem skills``: look at skills, review what waits, move versions, hand them out."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from agentmem.cli.common import emit, open_memory, options, plain

if TYPE_CHECKING:
    from agentmem.models import Review, SkillVersion

F = TypeVar("F", bound=Callable[..., Any])

owner_option = click.option("--owner", required=True, help="Whose skills.")


def _move_options(function: F) -> F:
    """Add what approve, reject and retire share."""
    for decorate in (
        options,
        click.option("--note", default="", help="Why, for people."),
        click.option("--expected-version", type=int, help="Only if this is the newest version."),
        click.option("--version", type=int, help="Which version [default: the newest]."),
        owner_option,
        click.argument("name"),
    ):
        function = decorate(function)
    return function


def _data(made: SkillVersion) -> dict[str, Any]:
    """Return a version as JSON data; of a resource the size stands for the bytes."""
    data: dict[str, Any] = {
        field: plain(getattr(made, field)) for field in made.__dataclass_fields__
    }
    data["resources"] = {path: len(content) for path, content in made.resources.items()}
    return data


def _line(made: SkillVersion) -> str:
    flags = [
        *(["suspect"] if made.is_suspect else []),
        *(["stale"] if made.is_stale else []),
        *made.flags,
    ]
    marks = f"  [{'; '.join(flags)}]" if flags else ""
    return f"{made.name}  {made.version}  {made.state}  {made.owner}{marks}  {made.description}"


def _shown(made: SkillVersion) -> str:
    head = [
        _line(made),
        f"hash {made.hash}  trust {made.trust.name.lower()}  by {made.author}",
        f"used {made.uses} times: {made.successes} successes, {made.failures} failures",
    ]
    if made.reasons:
        head.append(f"because: {', '.join(made.reasons)}")
    head += [f"rests on {one.archive}: {', '.join(one.sources)}" for one in made.evidence]
    head += [f"file {path}  {len(content)} bytes" for path, content in made.resources.items()]
    return "\n".join([*head, "", made.body])


def _reviewed(review: Review) -> str:
    what = "" if review.skill is None else f"  {review.skill}"
    what += "" if review.version is None else f" version {review.version}"
    why = review.error or ", ".join(review.reasons)
    return f"{review.task}  {review.archive}  {review.outcome}{what}  {why}"


@click.group("skills")
def command() -> None:
    """Ways of working, learnt from conversations; every command here takes --json.

    What is approved is handed to agents; reviews and imports only propose.
    """


@command.command("list")
@click.option("--state", help="proposed, approved, rejected or retired.")
@click.option("--owner", help="Only this owner's.")
@options
def list_(
    *, state: str | None, owner: str | None, path: Path, scope: str, json_output: bool
) -> None:
    """List the skills with their newest versions."""
    with open_memory(path, scope) as memory:
        found = memory.skills.list(state=state, owner=owner)
    emit(
        [_data(one) for one in found],
        json_output=json_output,
        text=lambda: "\n".join(map(_line, found)),
    )


@command.command("show")
@click.argument("name")
@click.option("--version", type=int, help="Which version [default: the newest].")
@click.option("--all", "all_versions", is_flag=True, help="One line a version.")
@options
def show(
    *, name: str, version: int | None, all_versions: bool, path: Path, scope: str, json_output: bool
) -> None:
    """Print a version of a skill."""
    with open_memory(path, scope) as memory:
        skills = memory.skills
        found = skills.versions(name) if all_versions else [skills.get(name, version=version)]
    emit(
        [_data(one) for one in found] if all_versions else _data(found[0]),
        json_output=json_output,
        text=lambda: "\n".join(map(_line, found)) if all_versions else _shown(found[0]),
    )


@command.command("diff")
@click.argument("name")
@click.argument("a", type=int)
@click.argument("b", type=int)
@options
def diff(*, name: str, a: int, b: int, path: Path, scope: str, json_output: bool) -> None:
    """Compare the bodies of two versions."""
    with open_memory(path, scope) as memory:
        text = memory.skills.diff(name, a, b)
    emit({"name": name, "a": a, "b": b, "diff": text}, json_output=json_output, text=lambda: text)


@command.command("review")
@click.option("--limit", type=click.IntRange(min=1), help="At most so many tasks.")
@click.option("--watch", is_flag=True, help="Go on with whatever comes, until interrupted.")
@options
def review(*, limit: int | None, watch: bool, path: Path, scope: str, json_output: bool) -> None:
    """Review the conversations that wait, by rules and without a model."""
    if watch and limit is not None:
        raise click.UsageError("--limit: a watch has no end; leave one of them out")
    with open_memory(path, scope) as memory:
        if not watch:
            done = memory.skills.review(limit=limit)
            emit(done, json_output=json_output, text=lambda: "\n".join(map(_reviewed, done)))
            return
        stop = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stop.set())

        def show_review(one: Review) -> None:
            emit(one, json_output=json_output, text=lambda: _reviewed(one))

        memory.skills.watch(stop, on_review=show_review)


def _move(
    verb: str,
    name: str,
    *,
    owner: str,
    version: int | None,
    expected_version: int | None,
    note: str,
    path: Path,
    scope: str,
    json_output: bool,
) -> None:
    with open_memory(path, scope) as memory:
        made = getattr(memory.skills, verb)(
            name, owner=owner, version=version, expected_version=expected_version, note=note
        )
    emit(_data(made), json_output=json_output, text=lambda: _line(made))


@command.command("approve")
@_move_options
def approve(*, name: str, **rest: Any) -> None:
    """Approve a proposed version, so that it is handed out."""
    _move("approve", name, **rest)


@command.command("reject")
@_move_options
def reject(*, name: str, **rest: Any) -> None:
    """Reject a proposed version."""
    _move("reject", name, **rest)


@command.command("retire")
@_move_options
def retire(*, name: str, **rest: Any) -> None:
    """Take a skill out of use; nothing is deleted."""
    _move("retire", name, **rest)


@command.command("rollback")
@click.argument("name")
@click.option("--to", type=int, required=True, help="The version to bring back.")
@owner_option
@click.option("--expected-version", type=int, required=True, help="The newest version.")
@click.option("--note", default="", help="Why, for people.")
@options
def rollback(
    *,
    name: str,
    to: int,
    owner: str,
    expected_version: int,
    note: str,
    path: Path,
    scope: str,
    json_output: bool,
) -> None:
    """Make what an earlier version says the newest one."""
    with open_memory(path, scope) as memory:
        made = memory.skills.rollback(
            name, to=to, owner=owner, expected_version=expected_version, note=note
        )
    emit(_data(made), json_output=json_output, text=lambda: _line(made))


@command.command("report")
@click.argument("name")
@click.argument("version", type=int)
@click.option("--session", required=True, help="Where it was used.")
@click.option("--outcome", required=True, type=click.Choice(["success", "failure"]))
@options
def report(
    *,
    name: str,
    version: int,
    session: str,
    outcome: Any,
    path: Path,
    scope: str,
    json_output: bool,
) -> None:
    """Say how a version did."""
    with open_memory(path, scope) as memory:
        made = memory.skills.report(name, version, session=session, outcome=outcome)
    emit(_data(made), json_output=json_output, text=lambda: _line(made))


@command.command("loadout")
@click.argument("query", required=False)
@owner_option
@click.option("--budget-tokens", type=click.IntRange(min=1), default=2000, show_default=True)
@click.option("--pin", help="The session that keeps the versions it was handed.")
@options
def loadout(
    *,
    query: str | None,
    owner: str,
    budget_tokens: int,
    pin: str | None,
    path: Path,
    scope: str,
    json_output: bool,
) -> None:
    """Print what an agent is handed."""
    with open_memory(path, scope) as memory:
        made = memory.skills.loadout(query, owner=owner, budget_tokens=budget_tokens, pin=pin)
    emit(made, json_output=json_output, text=lambda: made.text)


@command.command("export")
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@click.option("--name", "names", multiple=True, help="Which skills [default: all approved].")
@click.option("--owner", help="Only this owner's.")
@options
def export(
    *,
    directory: Path,
    names: tuple[str, ...],
    owner: str | None,
    path: Path,
    scope: str,
    json_output: bool,
) -> None:
    """Write skills as Agent Skills folders."""
    with open_memory(path, scope) as memory:
        folders = memory.skills.export(directory, names=names or None, owner=owner)
    shown = [str(folder) for folder in folders]
    emit(shown, json_output=json_output, text=lambda: "\n".join(shown))


@command.command("import")
@click.argument("directory", type=click.Path(path_type=Path, exists=True))
@owner_option
@click.option("--merge", is_flag=True, help="Make a known name's skill its next version.")
@options
def import_(
    *, directory: Path, owner: str, merge: bool, path: Path, scope: str, json_output: bool
) -> None:
    """Take in Agent Skills folders or a zip file; they arrive as proposals."""
    with open_memory(path, scope, create=True) as memory:
        made = memory.skills.import_(directory, owner=owner, merge=merge)
    emit(
        [_data(one) for one in made],
        json_output=json_output,
        text=lambda: "\n".join(map(_line, made)),
    )


@command.command("queue")
@click.option("--all", "all_states", is_flag=True, help="Tasks that are done too.")
@click.option("--limit", type=click.IntRange(min=1), default=100, show_default=True)
@click.option("--retry", metavar="TASK", help="Put a dead or blocked task back.")
@options
def queue(
    *,
    all_states: bool,
    limit: int,
    retry: str | None,
    path: Path,
    scope: str,
    json_output: bool,
) -> None:
    """List the reviews that wait, run, are blocked or dead, the newest first."""
    states = ("waiting", "leased", "blocked", "dead", *(("done",) if all_states else ()))
    with open_memory(path, scope) as memory:
        if retry is not None:
            memory.skills.requeue(retry)
        found = memory.skills.queue(states=states, limit=limit)
    emit(
        found,
        json_output=json_output,
        text=lambda: "\n".join(
            f"{one.id}  {one.kind}  {one.state}  {one.owner}  {one.session}  "
            f"{one.error or one.outcome or ''}".rstrip()
            for one in found
        ),
    )
