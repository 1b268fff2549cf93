"""What an English sentence states: read clause by clause from the word lists."""

# ruff: noqa: E501 - a pattern or a list is read more easily whole
from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from agentmem.tiers.extract import english_words as lexicon
from agentmem.tiers.extract.dates import Dated, find_dates
from agentmem.tiers.extract.english_clauses import Clause, clauses_of, expand
from agentmem.tiers.extract.english_person import of_person
from agentmem.tiers.extract.english_predicate import Predicate, Said, Told, predicate
from agentmem.tiers.extract.english_rules import read_rule
from agentmem.tiers.extract.english_text import statement
from agentmem.tiers.extract.english_thing import of_group, of_thing
from agentmem.tiers.extract.english_values import read_values
from agentmem.tiers.extract.found import Found, Reading
from agentmem.tiers.extract.segments import Sentence, Word
from agentmem.tiers.word_list import words

__all__ = ["read_english"]


def _dated(clause: Clause, places: list[Word], dates: list[Dated]) -> Dated | None:
    start, end = places[clause.start].start, places[clause.end - 1].end
    inside = [one for one in dates if one.start >= start and one.end <= end]
    if not inside:
        return None
    chosen = inside[0]
    absolute = [one for one in inside if not one.is_relative]
    if absolute and absolute[0].start - inside[0].end <= 12:  # noqa: PLR2004 - "next Monday, July 21st"
        chosen = absolute[0]
    elif len(inside) > 1:
        between = {
            word.text
            for word in places[clause.start : clause.end]
            if inside[0].end <= word.start < inside[-1].start
        }
        if between & {"to", "sorry", "actually", "rather", "instead"} and "from" not in between:
            chosen = inside[-1]
    return chosen


def _in_tense(when: Dated | None, verb: Predicate, said_at: datetime) -> Dated | None:
    """Return the date on the side of the present that the tense tells: "on Monday" in the past is the last one."""
    if (
        when is None
        or when.when.date() <= said_at.date()
        or not (verb.is_past or verb.copula in {"was", "were"})
    ):
        return when
    if verb.base in {"book", "schedule", "plan", "arrange", "decide", "agree", "move", "postpone", "set", "reschedule", "reserve", "order",
                     "register", "sign", "choose", "confirm", "push", "delay", "settle", "fix", "promise", "announce"}:  # fmt: skip
        return when
    return when.in_tense(-1)


def read_english(sentence: Sentence, reading: Reading, said_at: datetime) -> list[Found]:
    """Return the facts that a sentence states.

    Args:
        sentence: The words.
        reading: What the sentences before it told; moved on.
        said_at: The message's time, with the speaker's zone.
    """
    tokens, places = expand(sentence)
    if not reading.is_team and not lexicon.TEAM_CONTEXT.isdisjoint(tokens):
        reading.is_team = True
    base = places[0].start
    dates = [
        one.moved(base) for one in find_dates(reading.text[base : places[-1].end], said_at, "en")
    ]
    if reading.is_play or not lexicon.PLAY.isdisjoint(tokens):
        reading.is_play = True
        return []
    rules = read_rule(tokens, places, sentence.end, reading)
    clauses = clauses_of(tokens, places)
    found = list(rules)
    is_question = sentence.end == "?"
    asks = is_question and tokens[0] in lexicon.INTERROGATIVE
    if asks:
        clauses = [one for one in clauses if one.intro == "("]
        is_question = False
    if is_question:
        clauses = [one for one in clauses[:-1] if one.intro != "("] + [
            one for one in clauses if one.intro == "("
        ]
    is_hearsay = not lexicon.HEARSAY.isdisjoint(tokens)
    scene = _Scene(tokens, places, dates, reading, said_at, is_hearsay)
    hypothetical_until = -1
    for clause in clauses:
        if clause.intro in lexicon.HYPOTHETICAL or clause.intro in {"when", "whenever", "until"}:
            hypothetical_until = clause.end
            continue
        if (
            hypothetical_until >= 0
            and clause.intro in {"", ",", "then"}
            and tokens[0] in lexicon.HYPOTHETICAL
        ):
            continue
        if any(rule.start <= places[clause.verb_at].start < rule.end for rule in rules):
            continue
        fact = _read_clause(clause, scene)
        if fact is not None:
            found.append(fact)
    if not is_question and not asks:
        found += read_values(tokens, places, reading, dates, found)
    found.sort(key=lambda one: one.start)
    return found


def _subject_name(clause: Clause, reading: Reading) -> str | None:
    if clause.who == "user":
        return "user"
    if clause.who == "we":
        return "team" if reading.is_team else "user"
    if clause.who == "pronoun":
        return reading.person if clause.noun[0] in {"he", "she", "they"} else None
    return " ".join(clause.noun)


@dataclass(slots=True)
class _Scene:
    """A sentence with what its clauses are read against."""

    tokens: list[str]
    places: list[Word]
    dates: list[Dated]
    reading: Reading
    said_at: datetime
    is_hearsay: bool


def _note_people(clause: Clause, scene: _Scene) -> None:
    """Remember the person that a later "she" means."""
    tokens = scene.tokens
    for k in range(clause.start, clause.end - 1):
        if tokens[k] in {"my", "our"}:
            stop = min(k + 4, clause.end)
            owned = next((j for j in range(k + 1, stop) if tokens[j] in lexicon.KIN), -1)
            if owned > 0:
                scene.reading.person = " ".join(tokens[k + 1 : owned + 1])
                scene.reading.is_named = False
    if clause.who == "name" and len(clause.noun) == 1:
        scene.reading.person = scene.places[clause.subject_at].raw
        scene.reading.is_named = True


def _read_clause(clause: Clause, scene: _Scene) -> Found | None:
    tokens, places, reading = scene.tokens, scene.places, scene.reading
    subject = _subject_name(clause, reading)
    _note_people(clause, scene)
    is_thing_pronoun = clause.who == "pronoun" and clause.noun[0] in {"there", "it"}
    if is_thing_pronoun:
        subject = "user"
    if subject is None or (scene.is_hearsay and clause.who in {"pronoun", "name", "noun"}):
        return None
    verb = predicate(tokens, clause.verb_at, clause.end)
    if not verb.base:
        return None
    end = places[clause.end - 1].end
    rest_text = reading.text[places[verb.rest].start : end] if verb.rest < clause.end else ""
    when = _in_tense(_dated(clause, places, scene.dates), verb, scene.said_at)
    inside = clause.who not in {"user", "we"} and clause.verb_at > clause.subject_at
    if (
        when
        and inside
        and places[clause.subject_at].start <= when.start < places[clause.verb_at - 1].end
    ):
        when = None  # "today's walk was nice": the day is part of the name
    if when is None and verb.base in _SHIFTS | lexicon.PLANS and len(scene.dates) == 1:
        when = scene.dates[0]
    said = Said(clause, verb, tokens[verb.rest : clause.end], rest_text, when, tokens)
    told = _of_pronoun(said, reading) if is_thing_pronoun else _told(said, reading)
    is_person = not lexicon.KIN.isdisjoint(clause.noun)
    if (
        clause.who in {"my", "noun", "name"}
        and not is_person
        and clause.verb_at > clause.subject_at
    ):
        last = places[clause.verb_at - 1]
        reading.topic = reading.text[places[clause.subject_at].start : last.end]
    if told is None or (clause.is_embedded and not _stands_alone(said, told)):
        return None
    kind, attribute, confidence = told
    if clause.who == "my" and not is_person and verb.base == "be":
        subject = "team" if reading.is_team and tokens[clause.subject_at] == "our" else "user"
    begin = _begin(clause, scene)
    return Found(
        kind,
        begin,
        end,
        statement(clause, verb.base, verb.form, tokens, places, reading, begin, when),
        subject,
        attribute,
        _value(said, reading) if attribute else None,
        verb.ends,
        when,
        confidence,
    )


def _stands_alone(said: Said, told: Told) -> bool:
    """Whether a clause within a noun phrase ("the cake I made") tells by itself."""
    return told[0] in {"event", "decision"} and not lexicon.BE & set(said.rest)


def _begin(clause: Clause, scene: _Scene) -> int:
    """Return where the quoted span begins: at a date or a "now" before the subject, else at it."""
    first, subject = scene.places[clause.start].start, scene.places[clause.subject_at].start
    leads = [one.start for one in scene.dates if first <= one.start < subject]
    if leads:
        return leads[0]
    before = clause.subject_at - 1
    if clause.start <= before and scene.tokens[before] in {"now", "currently", "nowadays"}:
        return scene.places[before].start
    return subject


def _of_pronoun(said: Said, reading: Reading) -> Told | None:
    """Read "there is a meeting on Thursday", "it is next Monday"."""
    verb = said.verb
    here = said.clause.noun[0] == "there" and verb.copula in {"is", "are"} and not verb.is_negated
    if here and said.when is None and {"my", "our"} & set(said.rest) and verb.base == "be":
        return "fact", None, 0.7
    if said.when is None or verb.base != "be" or verb.modal not in {"", "will"}:
        return None
    if said.clause.noun[0] == "it" and (reading.topic is None or verb.is_negated):
        return None
    return "event", None, 0.75


def _told(said: Said, reading: Reading) -> Told | None:
    """Ask the rules of the subject: the speaker, their people, a team, a name, a thing."""
    clause = said.clause
    is_person = not lexicon.KIN.isdisjoint(clause.noun)
    told: Told | None
    if (
        clause.who in {"user", "pronoun"}
        or is_person
        or (clause.who == "we" and not reading.is_team)
    ):
        told = of_person(said)
        if told is None and clause.who == "my" and said.verb.base != "be":
            told = of_thing(said)
        return told if clause.who in {"user", "we"} else _as_fact(told)
    if clause.who == "we":
        told = of_group(said) or of_person(said)
        return None if told and told[0] == "persona" else told
    if not lexicon.TEAMS.isdisjoint(clause.noun):
        return of_group(said)
    if clause.who == "name":
        return _as_fact(of_person(said) or of_thing(said))
    return of_thing(said)


def _as_fact(told: Told | None) -> Told | None:
    """Return what is told of another: only the speaker has a persona here."""
    return ("fact", *told[1:]) if told and told[0] == "persona" else told


_PREPOSITIONS: Final = words("in at to as from near into on of")
_LONGEST_VALUE: Final = 200
# "It slips by a week, so next Wednesday": the day may stand outside the clause.
_SHIFTS: Final = words("slip postpone delay reschedule push")


def _value(said: Said, reading: Reading) -> str:
    """Return the complement without the preposition before it and the date after it."""
    text = said.rest_text
    if said.verb.base == "be":
        return text[:_LONGEST_VALUE]
    first, _, more = text.partition(" ")
    if first.lower() in _PREPOSITIONS and more:
        text = more
    if said.when is not None:
        cut = text.rfind(reading.text[said.when.start : said.when.end])
        text = (text[:cut].rstrip(" ,") if cut > 0 else "") or text
    return text[:_LONGEST_VALUE]
