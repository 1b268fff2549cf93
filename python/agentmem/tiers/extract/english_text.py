"""Say an English clause so that it stands by itself: the speaker named, dates made absolute."""

# ruff: noqa: E501 - a pattern or a list is read more easily whole
from __future__ import annotations

import re
from typing import Final

from agentmem.tiers.extract import english_words as lexicon
from agentmem.tiers.extract.dates import Dated
from agentmem.tiers.extract.english_clauses import Clause
from agentmem.tiers.extract.english_words import lemma
from agentmem.tiers.extract.found import Reading
from agentmem.tiers.extract.segments import Word

__all__ = ["from_outside", "statement"]

_AGREE: Final = {"am": "is", "have": "has", "do": "does", "'m": "is", "'ve": "has", "are": "is"}
_THEIRS: Final = {"my": "their", "mine": "theirs", "me": "them", "myself": "themselves", "our": "their",
                  "ours": "theirs", "us": "them", "ourselves": "themselves", "i": "they", "we": "they"}  # fmt: skip
_WORDS: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_OPENED: Final = {"i'm": "they are", "i've": "they have", "i'll": "they will", "i'd": "they would",
                  "we're": "they are", "we've": "they have", "we'll": "they will"}  # fmt: skip
_SPACES: Final = re.compile(r"\s+")


def third_person(verb: str) -> str:
    """Return the form of a verb after "the user": ``prefer`` to ``prefers``."""
    if verb in _AGREE:
        return _AGREE[verb]
    if verb.endswith(("s", "sh", "ch", "x", "z", "o")):
        return f"{verb}es"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ies"
    return f"{verb}s"


def from_outside(text: str) -> str:
    """Return words of the speaker as told by another: ``my`` to ``their``."""

    def swap(match: re.Match[str]) -> str:
        word = match[0].lower().replace("’", "'")
        return _OPENED.get(word) or _THEIRS.get(word) or match[0]

    return _WORDS.sub(swap, text)


def statement(  # noqa: PLR0917 - the parts of one sentence
    clause: Clause,
    base: str,
    form: str,
    tokens: list[str],
    places: list[Word],
    reading: Reading,
    begin: int,
    when: Dated | None,
) -> str:
    """Return the clause as a sentence of its own.

    Args:
        clause: The clause.
        base: The lemma of its main verb.
        form: The main verb's form.
        tokens: The expanded tokens.
        places: The source word of each.
        reading: Whom pronouns mean.
        begin: Where in the message the quoted span begins.
        when: The date it names, if any.
    """
    end = places[clause.end - 1].end
    lead = reading.text[begin : places[clause.subject_at].start].strip(" ,")
    body: list[str] = []
    k = clause.verb_at
    agrees = clause.who == "user" or (clause.who == "we" and reading.is_team)
    while k < clause.end and (
        tokens[k] in lexicon.AUXILIARY
        or tokens[k] in lexicon.ADVERBS
        or tokens[k] in {"no", "longer"}
    ):
        token = tokens[k]
        if agrees and token not in lexicon.ADVERBS and token not in {"not", "no", "longer"}:
            token = _AGREE.get(token, token)
            agrees = False
        body.append(token)
        k += 1
    if k < clause.end:
        word = tokens[k]
        if (
            agrees
            and lemma(word)[1] == "base"
            and (form != "past" or base not in lexicon.UNCHANGED)
        ):
            body.append(third_person(word))
        else:
            body.append(places[k].raw if tokens[k] == places[k].text else word)
        if k + 1 < clause.end:
            body.append(from_outside(reading.text[places[k + 1].start : end]))
    tail = " ".join(body)
    said = f"{_who(clause, places, reading)} {tail}"
    if lead:
        said = f"{lead}, {said}"
    if when is not None:
        day = when.when.date().isoformat()
        quoted = reading.text[when.start : when.end]
        if day not in quoted:
            place = said.lower().find(quoted.lower())
            cut = place + len(quoted) if place >= 0 else len(said)
            said = f"{said[:cut]} ({day}){said[cut:]}"
    said = _SPACES.sub(" ", said).strip().rstrip(",;:")
    return f"{said[:1].upper()}{said[1:]}."


def _who(clause: Clause, places: list[Word], reading: Reading) -> str:
    first = clause.subject_at
    given = clause.verb_at > first
    noun = (
        reading.text[places[first].start : places[clause.verb_at - 1].end]
        if given
        else " ".join(clause.noun)
    )
    if clause.who == "user":
        return "the user"
    if clause.who == "we":
        return "the team" if reading.is_team else "the user and others"
    if clause.who == "my":
        owner = (
            "the team's"
            if reading.is_team and given and places[first].text == "our"
            else "the user's"
        )
        return f"{owner} {from_outside(noun.split(None, 1)[-1] if given else noun)}"
    if clause.who == "pronoun":
        if clause.noun[0] in {"he", "she", "they"} and reading.person:
            return reading.person if reading.is_named else f"the user's {reading.person}"
        return from_outside(reading.topic) if clause.noun[0] == "it" and reading.topic else noun
    return from_outside(noun)
