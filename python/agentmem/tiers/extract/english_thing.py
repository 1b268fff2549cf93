"""What an English clause tells of a thing or of a group: "my car", "the deadline", "the team"."""

from __future__ import annotations

from typing import Final

from agentmem.tiers.extract import english_words as lexicon
from agentmem.tiers.extract.english_predicate import Said, Told, is_repeated
from agentmem.tiers.word_list import words

__all__ = ["of_group", "of_thing"]

_TEAM_CHOICES: Final = words(
    "use support switch adopt move drop keep go migrate start stop ship replace"
)


# What a heart is full of is a mood; the weather is nobody's.
_INNER: Final = words(
    "heart mind mood feeling feelings thoughts spirit soul head weather sun sky life everything"
)
# What a date begins with, right after "was".
_WHEN: Final = words("on yesterday last today in one two three four five six a this")
_ADJUSTS: Final = words("raise reduce increase lower cut limit extend double")
_RUNS: Final = words("deploy host run ship release store track use build test")
_SHORT: Final = 6
_GROWS: Final = words("get become grow worsen improve deteriorate heal flare")


def of_thing(said: Said) -> Told | None:
    """What a clause tells of a thing: "my car", "the deadline", "our staging server"."""
    verb, rest, clause = said.verb, said.rest, said.clause
    noun = clause.noun
    if (
        verb.modal in {"may", "might", "could", "should", "would", "can", "must", "shall"}
        or verb.adverbs & lexicon.HEDGES
    ):
        return None
    own = clause.who == "my"
    if noun and noun[-1] in {
        "other",
        "one",
        "rest",
        "first",
        "second",
        "former",
        "latter",
        "same",
        "thing",
        "reason",
        "problem",
        "question",
        "challenge",
    }:
        return None
    if noun and not _INNER.isdisjoint((noun[0], noun[-1])):
        return None
    if (
        is_repeated(rest)
        and verb.base == "be"
        and verb.copula in {"is", "are"}
        and not verb.is_negated
    ):
        return "fact", " ".join(noun[-3:]), 0.75
    if (
        verb.base == "be"
        and verb.copula in {"was", "were"}
        and said.when
        and rest[:1]
        and rest[0] in _WHEN
    ):
        return "event", None, 0.75
    if (
        own
        and verb.base in _GROWS
        and verb.is_past
        and {"worse", "better", "again", "recently"} & {*rest, *verb.adverbs}
    ):
        return "event", None, 0.75
    if own and verb.base in {"feel", "hurt", "ache", "swell"} and verb.is_present:
        return "fact", "health", 0.75
    if verb.base == "call" and verb.copula in {"is", "are"} and rest:
        return "fact", "name", 0.8
    if (
        verb.base == "be"
        and verb.copula in {"is", "are"}
        and {"birthday", "birth", "birthdate"} & set(noun)
    ):
        return "fact", "birthday", 0.85
    if verb.is_perfect and verb.copula == "been" and "for" in rest and rest[-1:] != ["now"]:
        return "fact", None, 0.75
    if verb.base == "be" and verb.copula in {"is", "are"}:
        if rest[:1] == ["my"] and {
            "favorite",
            "favourite",
            "preference",
            "choice",
            "go-to",
            "priority",
        } & set(rest):
            return "persona", "likes", 0.8
        if said.when and not {"not"} & set(rest[:1]):
            return "event", " ".join(noun[-3:]), 0.8
        if (
            not rest
            or len(noun) > 4  # noqa: PLR2004 - a length chosen on the development set
            or verb.adverbs
            & {
                "too",
                "very",
                "quite",
                "really",
                "so",
                "relatively",
                "particularly",
                "especially",
                "increasingly",
                "slightly",
                "still",
            }
        ):
            return None
        if own and (rest[0] not in lexicon.MOODS) and len(rest) <= 12:  # noqa: PLR2004 - a length chosen on the development set
            kind = "persona" if {"favorite", "favourite"} & set(noun) else "fact"
            plain = rest[0] not in {
                "too",
                "very",
                "quite",
                "really",
                "so",
                "not",
                "that",
                "to",
                "decent",
                "good",
                "bad",
                "great",
            }
            return (kind, " ".join(noun[-3:]), 0.8) if plain else None
        plain = any(token[:1].isdecimal() for token in rest) or said.rest_text[:1].isupper()
        return ("fact", " ".join(noun[-3:]), 0.75) if plain else None
    number = any(token[:1].isdecimal() for token in rest)
    if verb.copula and verb.base in _ADJUSTS and number and not verb.is_negated:
        return ("event" if said.when else "fact"), None, 0.75
    if verb.copula and verb.form == "past":
        if verb.base in {"set", "choose", "decide", "agree"} and verb.copula in {
            "is",
            "was",
            "were",
            "are",
            "been",
        }:
            return "decision", " ".join(noun[-3:]), 0.75
        if verb.is_perfect and verb.base in lexicon.EVENTS and verb.adverbs & lexicon.COMPLETED:
            return "event", None, 0.75
        if verb.base in lexicon.EVENTS | {"plan", "expect", "move"} and (
            said.when or (own and verb.base in lexicon.MILESTONES | {"steal", "repair", "fix"})
        ):
            return "event", None, 0.75
        return None
    if verb.modal == "will" and said.when:
        return "event", None, 0.75
    if verb.base in lexicon.PLANS and rest[:1] == ["to"]:
        return ("event" if said.when else "decision"), None, 0.7
    if verb.is_past and verb.base in lexicon.EVENTS | {
        "arrive",
        "flare",
        "change",
        "crash",
        "expire",
        "start",
        "announce",
        "become",
    }:
        if said.when or (
            own
            and (
                verb.base in lexicon.MILESTONES
                or verb.adverbs & lexicon.COMPLETED
                or "again" in rest
            )
        ):
            return "event", None, 0.75
        return None
    if verb.is_present and said.when and verb.base in lexicon.EVENTS | {"slip", "expire"}:
        return "event", None, 0.75
    if verb.is_present and verb.base in {
        "use",
        "run",
        "live",
        "have",
        "require",
        "support",
        "listen",
        "contain",
        "last",
        "cost",
        "weigh",
    }:
        plain = any(token[:1].isdecimal() for token in rest) or any(
            word[:1].isupper() for word in said.rest_text.split()[:6]
        )
        plain = plain or (
            verb.base in {"use", "live"}
            and 0 < len(rest) <= _SHORT
            and rest[0] not in {"a", "the", "it", "this"}
        )
        return ("fact", None, 0.75) if plain and not verb.is_negated else None
    if verb.base == "come" and rest[:1] == ["first"]:
        return "persona", None, 0.75
    return None


def of_group(said: Said) -> Told | None:
    """What a clause tells of a team, a company, a client."""
    verb = said.verb
    if verb.base in {"announce", "approve", "reject", "sign"} and verb.is_past:
        return "event", None, 0.85
    if (
        verb.base in lexicon.DECIDES
        and (verb.is_past or verb.copula in {"is", "are"})
        and not verb.is_negated
    ):
        return "decision", None, 0.85
    if (
        verb.copula
        and verb.form == "ing"
        and verb.base in {"go", "switch", "move", "migrate"}
        and {"with", "to"} & set(said.rest[:2])
    ):
        return "decision", None, 0.8
    if said.clause.who == "we" and not verb.is_negated and not said.when:
        runs = verb.is_present and verb.base in _RUNS and said.rest[:1]
        stands = verb.base == "be" and verb.copula == "are" and said.rest[:1] == ["on"]
        if runs or (stands and len(said.rest) <= _SHORT):
            return "fact", None, 0.75
    if verb.base in {"switch", "move", "migrate"} and verb.is_past and "to" in said.rest:
        return "decision", None, 0.8
    if said.clause.who == "we" and verb.is_present and said.when and not verb.is_negated:
        return "event", None, 0.75
    if verb.modal == "will" and said.clause.who == "we" and not said.when:
        return ("decision", None, 0.75) if verb.base in _TEAM_CHOICES else None
    if (
        verb.copula
        and verb.form == "ing"
        and said.clause.who == "we"
        and verb.base in {"drop", "adopt", "retire", "deprecate"}
    ):
        return "decision", None, 0.75
    return of_thing(said)
