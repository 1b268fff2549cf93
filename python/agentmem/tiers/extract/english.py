"""What an English sentence states: read clause by clause from the word lists."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

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
    if when.is_bare_weekday and when.when.toordinal() > 7:  # noqa: PLR2004 - the calendar's first week
        return replace(when, when=when.when - timedelta(days=7))
    return when


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
        Dated(one.start + base, one.end + base, one.when, one.is_relative, one.is_bare_weekday)
        for one in find_dates(reading.text[base : places[-1].end], said_at, "en")
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
        fact = _read_clause(clause, tokens, places, dates, reading, said_at, is_hearsay=is_hearsay)
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


def _read_clause(
    clause: Clause,
    tokens: list[str],
    places: list[Word],
    dates: list[Dated],
    reading: Reading,
    said_at: datetime,
    *,
    is_hearsay: bool,
) -> Found | None:
    subject = _subject_name(clause, reading)
    for k in range(clause.start, clause.end - 1):
        if tokens[k] in {"my", "our"}:
            owned = next(
                (j for j in range(k + 1, min(k + 4, clause.end)) if tokens[j] in lexicon.KIN), -1
            )
            if owned > 0:
                reading.person = " ".join(tokens[k + 1 : owned + 1])
    people = lexicon.KIN.intersection(clause.noun)
    if clause.who == "pronoun" and clause.noun[0] in {"there", "it"} and not is_hearsay:
        subject = "user"
    if subject is None or (clause.who == "pronoun" and is_hearsay):
        return None
    if is_hearsay and clause.who in {"name", "noun"}:
        return None
    verb = predicate(tokens, clause.verb_at, clause.end)
    if not verb.base:
        return None
    start = clause.start
    rest_text = ""
    if verb.rest < clause.end:
        rest_text = reading.text[places[verb.rest].start : places[clause.end - 1].end]
    said = Said(
        clause,
        verb,
        tokens[verb.rest : clause.end],
        rest_text,
        _in_tense(_dated(clause, places, dates), verb, said_at),
        tokens,
    )
    told: Told | None
    if clause.who == "pronoun" and clause.noun[0] in {"there", "it"}:
        told = (
            ("event", None, 0.75)
            if said.when and verb.base == "be" and verb.modal in {"", "will"}
            else None
        )
        if clause.noun[0] == "it" and (reading.topic is None or verb.is_negated):
            told = None
    elif (
        clause.who == "user"
        or (clause.who == "we" and not reading.is_team)
        or people
        or clause.who == "pronoun"
    ):
        told = of_person(said)
        if told and told[0] == "persona" and clause.who not in {"user", "we"}:
            told = ("fact", *told[1:])
        if told is None and clause.who == "my" and people:
            told = of_thing(said) if verb.base != "be" else None
    elif clause.who == "we" or not lexicon.TEAMS.isdisjoint(clause.noun):
        told = of_group(said)
        if told is None and clause.who == "we":
            told = of_person(said)
            if told and told[0] == "persona":
                told = None
    elif clause.who == "name":
        told = of_person(said) or of_thing(said)
        if told and told[0] == "persona":
            told = ("fact", *told[1:])
    else:
        told = of_thing(said)
    if clause.who in {"my", "noun", "name"} and not people:
        reading.topic = (
            reading.text[places[clause.subject_at].start : places[clause.verb_at - 1].end]
            if clause.verb_at > clause.subject_at
            else reading.topic
        )
    if told is None:
        return None
    kind, attribute, confidence = told
    if clause.who == "my" and not people and verb.base == "be":
        subject = "team" if reading.is_team and tokens[clause.subject_at] == "our" else "user"
    first = places[start].start
    lead_dates = [one for one in dates if first <= one.start < places[clause.subject_at].start]
    begin = lead_dates[0].start if lead_dates else places[clause.subject_at].start
    if (
        not lead_dates
        and start < clause.subject_at
        and tokens[clause.subject_at - 1] in {"now", "currently", "nowadays"}
    ):
        begin = places[clause.subject_at - 1].start
    end = places[clause.end - 1].end
    return Found(
        kind,
        begin,
        end,
        statement(clause, verb.base, verb.form, tokens, places, reading, begin, said.when),
        subject,
        attribute,
        rest_text[:200] if attribute else None,
        verb.ends,
        said.when,
        confidence,
    )
