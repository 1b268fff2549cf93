"""What forgotten turns leave in skills: no word that only they support.

A version that rests on a forgotten turn loses that evidence. Where it says a word of what was
forgotten that none of its other evidence says, its text goes and it is retired; so does any later
version of the skill that says it too. Otherwise it stays, suspect until somebody has looked at it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from agentmem.store import skill_archives, skill_buffers, skill_tasks, skills, turns

if TYPE_CHECKING:
    import apsw

    from agentmem.store.skills import SkillRow, VersionRow

__all__ = ["FLAG", "FRAME", "resting_on", "withdraw"]

FLAG: Final = "forgotten: what it rested on is gone"
_GONE: Final = "Forgotten with what it rested on."
_FAILURES_TO_SUSPECT: Final = 2
_WORD: Final = re.compile(r"[^\W_]{2,}")
_SPACELESS: Final = re.compile("[\u2e80-\ua4cf\uac00-\ud7ff\uf900-\ufaff]")
_GRAM: Final = 3
_LONG: Final = 6
"""A word of so many letters is found inside others, too: ``orders`` in ``idx_orders``."""

FRAME: Final = frozenset(
    """
    a about adds after all also an and answered any archive are args as asked be before by calls can
    changed check checks code conversation do does done each either effect evidence every fail failed
    fails first for format from given gives have holds in inputs is it its kind known last later may must
    name needed nobody none not nothing of on once one only or order other parameters path person pitfalls
    procedure question repeats request requests required rests result row rows run runs say shows so
    speak step steps stop succeed swaps text than that the them then there they this time times to tool
    unknown until use validation value was way were what when where which with words work written yes
    you your
    """.split()  # noqa: SIM905 - a list of one word a line is no easier to read
)
"""Words that the frame of a skill has, whatever it was made from."""


def withdraw(connection: apsw.Connection, turn_ids: Sequence[int], *, now_ms: int) -> list[int]:
    """Take out of skills what only these turns support, and return the skills that changed.

    Call it while the turns are there, in the transaction that deletes them.
    """
    resting = resting_on(connection, turn_ids)
    if not resting:
        return []
    gone = _said(connection, turn_ids) - FRAME
    for number in sorted(resting):
        skill = skills.load(connection, number)
        if skill is not None:
            _withdraw_from(
                connection, skill, resting=resting[number], forgotten=set(turn_ids), gone=gone,
                now_ms=now_ms,
            )  # fmt: skip
    return sorted(resting)


def resting_on(connection: apsw.Connection, turn_ids: Sequence[int]) -> dict[int, set[int]]:
    """Return the versions, by skill, whose evidence is of an archive that has one of these turns."""
    touched = skill_archives.taken_by(connection, turn_ids)
    found: dict[int, set[int]] = {}
    if touched:
        cursor = connection.execute(
            "SELECT DISTINCT skill_id, version FROM skill_evidence "
            "WHERE archive_id IN (SELECT value FROM json_each(?))",
            (json.dumps(touched),),
        )
        for number, version in cursor:
            found.setdefault(number, set()).add(version)
    return found


def _withdraw_from(
    connection: apsw.Connection,
    skill: SkillRow,
    *,
    resting: set[int],
    forgotten: set[int],
    gone: set[str],
    now_ms: int,
) -> None:
    leaked: set[str] = set()
    supported: set[str] = set()
    for row in skills.versions(connection, skill.id):
        rests = row.version in resting
        left = _cut_evidence(connection, skill, row, forgotten, is_quoted=rests)
        said = _said(connection, _read(connection, skill, row) - forgotten)
        told = _told(connection, skill, row)
        alone = _found((gone if rests else leaked) - said, told)
        if alone:
            leaked |= alone if rests else set()
            _blank(connection, skill, row, now_ms)
            continue
        supported |= said
        if rests:
            _flag(connection, skill, row, is_bare=not left, now_ms=now_ms)
    if _found(leaked - supported, skill.name):
        _rename(connection, skill)


def _read(connection: apsw.Connection, skill: SkillRow, row: VersionRow) -> set[int]:
    """Return the turns of the archives that a version rests on: what its reviewer had read."""
    cursor = connection.execute(
        "SELECT turn_id FROM skill_buffered WHERE archive_id IN "
        "(SELECT archive_id FROM skill_evidence WHERE skill_id = ? AND version = ?)",
        (skill.id, row.version),
    )
    return {number for (number,) in cursor}


def _told(connection: apsw.Connection, skill: SkillRow, row: VersionRow) -> str:
    """Return all that a version says, in small letters."""
    texts = [skill.name, row.description, row.body]
    # As it is read, not as its escapes are written.
    data = [json.loads(text) for text in (row.metadata, row.reasons, row.flags)]
    texts += [json.dumps(value, ensure_ascii=False) for value in data]
    for path, content in skills.resources(connection, skill.id, row.version).items():
        texts += [path, content.decode("utf-8", "replace")]
    return "\n".join(texts).casefold()


def _cut_evidence(
    connection: apsw.Connection,
    skill: SkillRow,
    row: VersionRow,
    forgotten: set[int],
    *,
    is_quoted: bool,
) -> list[int]:
    """Take forgotten turns out of a version's evidence; return the turns that are left in it.

    A note may quote any message of the archive, so none stays where it is quoted.
    """
    left: list[int] = []
    for place, one in enumerate(skills.evidence(connection, skill.id, row.version)):
        numbers: list[int] = json.loads(one.sources)
        kept = [number for number in numbers if number not in forgotten]
        left += kept
        if is_quoted:
            connection.execute(
                "UPDATE skill_evidence SET sources = ?, note = '' "
                "WHERE skill_id = ? AND version = ? AND place = ?",
                (json.dumps(kept), skill.id, row.version, place),
            )
    return left


def _blank(connection: apsw.Connection, skill: SkillRow, row: VersionRow, now_ms: int) -> None:
    state = "retired" if row.state in ("approved", "retired") else "rejected"
    connection.execute(
        "DELETE FROM skill_resources WHERE skill_id = ? AND version = ?", (skill.id, row.version)
    )
    connection.execute(
        "UPDATE skill_versions SET state = ?, description = ?, body = ?, metadata = '{}', "
        "hash = ?, numbers = 0, reasons = '[]', flags = ? WHERE skill_id = ? AND version = ?",
        (
            state, _GONE, _GONE, skills.hash_of(skill.name, _GONE, _GONE, "{}", {}),
            json.dumps([FLAG]), skill.id, row.version,
        ),
    )  # fmt: skip
    connection.execute(
        "UPDATE skill_moves SET note = '' WHERE skill_id = ? AND version = ?",
        (skill.id, row.version),
    )
    _note(connection, skill, row, now_ms)


def _flag(
    connection: apsw.Connection, skill: SkillRow, row: VersionRow, *, is_bare: bool, now_ms: int
) -> None:
    """Make a version suspect, and retire it if nothing is left that it rests on."""
    flags = list(dict.fromkeys([*json.loads(row.flags), FLAG]))
    state = "retired" if is_bare and row.state == "approved" else row.state
    connection.execute(
        "UPDATE skill_versions SET flags = ?, state = ?, failed_in_a_row = max(failed_in_a_row, ?) "
        "WHERE skill_id = ? AND version = ?",
        (json.dumps(flags), state, _FAILURES_TO_SUSPECT, skill.id, row.version),
    )
    _note(connection, skill, row, now_ms)


def _note(connection: apsw.Connection, skill: SkillRow, row: VersionRow, now_ms: int) -> None:
    """Record the move, and open the review that a person owes the skill."""
    skills.add_move(
        connection, skill.id, row.version, move="forget", actor="", note="", made_ms=now_ms
    )
    if not skill_tasks.has_open_suspicion(connection, skill.id, row.version):
        skill_tasks.open_suspicion(connection, skill.id, row.version, FLAG, now_ms)


def _rename(connection: apsw.Connection, skill: SkillRow) -> None:
    """Give a skill a name that says nothing; what was whole under the old name stays whole."""
    name, number = f"forgotten-{skill.id}", 1
    while connection.execute(
        "SELECT 1 FROM skills WHERE name = ? AND scope_id = (SELECT scope_id FROM skills "
        "WHERE id = ?)", (name, skill.id),
    ).fetchone():  # fmt: skip
        number += 1
        name = f"forgotten-{skill.id}-{number}"
    for row in skills.versions(connection, skill.id):
        files = skills.resources(connection, skill.id, row.version)
        if skills.is_whole(skill, row, files):
            connection.execute(
                "UPDATE skill_versions SET hash = ? WHERE skill_id = ? AND version = ?",
                (
                    skills.hash_of(name, row.description, row.body, row.metadata, files),
                    skill.id, row.version,
                ),
            )  # fmt: skip
    connection.execute("UPDATE skills SET name = ? WHERE id = ?", (name, skill.id))


def _said(connection: apsw.Connection, turn_ids: Iterable[int]) -> set[str]:
    """Return the words of turns, the names of their tools among them."""
    turn_ids = sorted(turn_ids)
    texts = [row.text for row in turns.load(connection, turn_ids)]
    texts += [link.name for link in skill_buffers.links(connection, turn_ids)]
    return {word for text in texts for word in _words(text)}


def _words(text: str) -> Iterable[str]:
    """Yield words in small letters; of a script without blanks every three characters."""
    for word in _WORD.findall(text.casefold()):
        if _SPACELESS.search(word):
            yield from (word[at : at + _GRAM] for at in range(max(1, len(word) - _GRAM + 1)))
        else:
            yield word


def _found(words: set[str], told: str) -> set[str]:
    """Return those of the words that a text in small letters has."""
    if not words:
        return set()
    has = set(_words(told))
    return {word for word in words if word in has or (len(word) >= _LONG and word in told)}
