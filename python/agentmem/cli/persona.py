"""``agentmem persona``."""

from __future__ import annotations

import difflib
from pathlib import Path

import click

from agentmem.cli.common import emit, open_memory, options
from agentmem.errors import InvalidInputError
from agentmem.models import Persona


def describe(persona: Persona) -> str:
    """Return a persona as lines for people: each entry with the rows that it rests on."""
    lines = [f"version {persona.version}", persona.to_system_context(), ""]
    lines += [
        f"{entry.field}: {' '.join(entry.text.split())}  [{', '.join(entry.sources)}]"
        for entry in persona.entries
    ]
    return "\n".join(lines).rstrip()


def difference(old: Persona, new: Persona) -> list[str]:
    """Return the lines of a diff of what two versions say, each entry with its field."""

    def said(persona: Persona) -> list[str]:
        return [f"{entry.field}: {' '.join(entry.text.split())}" for entry in persona.entries]

    return list(
        difflib.unified_diff(
            said(old), said(new), f"version {old.version}", f"version {new.version}", lineterm=""
        )
    )


@click.command("persona")
@click.option("--version", type=int, help="An earlier version.")
@click.option("--diff", "is_diff", is_flag=True, help="What changed since the version before.")
@options
def command(
    *, version: int | None, is_diff: bool, path: Path, scope: str, json_output: bool
) -> None:
    """Print the persona of a scope, with the facts behind each entry."""
    with open_memory(path, scope) as memory:
        persona = memory.persona(version)
        if not is_diff:
            emit(persona, json_output=json_output, text=lambda: describe(persona))
            return
        if persona.version == 0:
            raise InvalidInputError(
                "persona: there is no version yet; 'agentmem consolidate' writes one as soon as "
                "facts say something of the project or the user"
            )
        versions = memory.history(persona.id)
    older = [one for one in versions if isinstance(one, Persona) and one.version < persona.version]
    lines = difference(older[-1] if older else Persona(), persona)
    emit(lines, json_output=json_output, text=lambda: "\n".join(lines) or "the same entries")
