"""What an English clause tells of a person: the speaker, or somebody of theirs."""

from __future__ import annotations

from typing import Final

from agentmem.tiers.extract import english_words as lexicon
from agentmem.tiers.extract.english_predicate import (
    Said,
    Told,
    is_repeated,
    skip_degree,
    starts_with,
)
from agentmem.tiers.extract.english_words import lemma
from agentmem.tiers.word_list import words

__all__ = ["of_person"]

_APPOINTMENTS: Final = words(
    "appointment meeting exam interview flight test surgery trip reservation checkup check-up class lesson "
    "deadline party wedding call presentation competition game match concert date"
)


# "I always worry": a mood of the moment, however often.
_UNEASY: Final = words("worry feel wonder hope think wish seem need mean want know say forget")
_THINKING: Final = words("think wonder worry look hope consider try feel ask guess write wait want")
_JOBS: Final = words(
    "nurse chef cook student lawyer freelancer clerk architect analyst intern executive lead head "
    "founder ceo cto pilot "

                         "judge coach agent surgeon physician electronics mechanic plumber "
                         "secretary boss owner")  # fmt: skip
_NO_JOBS: Final = words(
    "father mother brother sister member number order lover beginner newcomer customer user matter "
    "winner loser "

                            "believer reader listener runner fighter partner stranger foreigner "
                            "dinner better other either "
                            "parent participant vegetarian giant")  # fmt: skip
_PASSING: Final = words(
    "move miss book lose get go make do forget be have know hurt fail break buy"
)
_TEAM_CHOICES: Final = words("use support adopt drop migrate ship deprecate")
_ABILITIES: Final = words("play speak swim sing dance ski ride drive")
_CONDITIONS: Final = words(
    "married single divorced engaged retired pregnant allergic diabetic asthmatic unemployed widowed"
)
_EVALUATIVE: Final = words("easier harder better nicer simpler cleaner too hard easy difficult boring annoying "
                               "distracting confusing useful helpful relaxing more less most")  # fmt: skip


def of_person(said: Said) -> Told | None:  # noqa: PLR0915 - a chain of rules is long and plain
    """What a clause tells whose subject is the speaker, or a person of theirs."""
    verb, rest, clause = said.verb, said.rest, said.clause
    base, adverbs = verb.base, verb.adverbs
    own = clause.who in {"user", "we"}
    if (
        verb.modal in {"may", "might", "could", "should", "shall", "must"}
        or adverbs & lexicon.HEDGES
    ):
        return None
    if base == "stand" and verb.modal == "can" and verb.is_negated:
        return "persona", "dislikes", 0.9
    if verb.modal == "would":
        if ("rather" in adverbs or base == "prefer") and own:
            return "persona", "likes", 0.7
        return None
    if base == "use" and verb.form == "past" and rest[:1] == ["to"]:
        if verb.copula:
            return "persona", None, 0.8
        return ("fact", None, 0.75) if not own and rest[1:2] in (["be"], ["work"]) else None
    if (
        base in lexicon.DECIDES
        and (verb.is_past or verb.copula in {"is", "are", "am"})
        and not (base in {"settle", "pick", "select", "conclude", "agree"} and own and not rest)
    ):
        return None if verb.is_negated else ("decision", None, 0.85)
    if base == "set" and "goal" in rest[:4]:
        return "decision", "goal", 0.85
    if base == "put" and rest[-4:] and "hold" in rest:
        return "decision", None, 0.8
    if verb.modal == "will" and said.clause.who == "we" and base in _TEAM_CHOICES and not said.when:
        return "decision", None, 0.75
    if verb.modal == "can" and not verb.is_negated and base in _ABILITIES and rest:
        return "persona", "skill", 0.75
    if verb.modal == "can" and verb.is_negated and base in {"eat", "drink", "tolerate"} and rest:
        return "fact", "health", 0.75
    if base == "adopt" and not lexicon.KIN.isdisjoint(rest):
        return "event", None, 0.8
    if verb.modal == "can":
        return ("decision", None, 0.7) if verb.ends and own else None
    if base in lexicon.LIKES and (verb.is_present or (verb.is_perfect and "always" in adverbs)):
        if not rest or (
            rest[:2] != ["it", "when"]
            and rest[0] in {"that", "it", "this", "how", "your"}
            and rest[1:2] not in (["kind"], ["type"], ["sort"])
        ):
            return None
        kind = lexicon.LIKES[base]
        if verb.is_negated and base != "prefer" and not verb.ends:
            kind = {"likes": "dislikes", "dislikes": "likes"}[kind]
        return "persona", kind, 0.9
    if base in {"value", "prioritize", "prioritise"} and verb.is_present and rest:
        return "persona", "likes", 0.8
    if base in {"switch", "convert"} and verb.is_past and "to" in rest and own:
        return ("event" if said.when else "fact"), None, 0.8
    if base in lexicon.HABITS and verb.is_present:
        return "persona", "habit", 0.85
    if (
        base in {"find", "think", "consider"}
        and verb.is_present
        and own
        and (set(rest) & _EVALUATIVE)
    ):
        if base == "find" and rest[0] in _EVALUATIVE:
            return None
        if base == "find" or "now" in said.sentence_tokens[: clause.verb_at] or "now" in adverbs:
            return "persona", None, 0.75
        return None
    if (
        base == "want"
        and "always" in adverbs
        and verb.is_present
        and rest
        and {"them", "it", "this"}.isdisjoint(rest)
    ):
        return "persona", None, 0.75
    if base == "develop" and {"preference", "habit", "taste", "interest"} & set(rest):
        return "persona", "likes", 0.8
    if base in lexicon.PLANS and verb.form in {"base", "ing", "s"} and rest[:1] == ["to"]:
        return ("decision" if base == "aim" and not said.when else "event"), None, 0.75
    if verb.modal == "will":
        if base in {"stick", "keep", "use", "stop", "switch", "avoid"} and (
            "from now on" in " ".join(rest) or verb.ends or base == "stick"
        ):
            return "decision", None, 0.8
        if said.when:
            return "event", None, 0.8
        lasting = adverbs & {"mainly", "mostly", "always", "primarily"} or said.sentence_tokens[
            :2
        ] == ["next", "time"]
        return ("decision", None, 0.7) if lasting and own else None
    if verb.is_perfect and verb.copula and {"for", "since"} & set(rest) and verb.form == "past":
        return "fact", None, 0.75
    participle = said.sentence_tokens[verb.rest - 1] if verb.copula and verb.form == "past" else ""
    if participle and (participle in lexicon.MOODS or base in _UNEASY | {"fill", "touch"}):
        return None
    if participle and said.when and not verb.is_negated:
        return "event", None, 0.75
    if base == "be" or (verb.copula and verb.form == "past" and base not in lexicon.EVENTS):
        return _of_being(said)
    if verb.copula and verb.form == "ing":
        return _of_progress(said)
    if verb.copula and verb.form == "past":
        if verb.copula in {"was", "were", "been"} and base in lexicon.MILESTONES | {
            "promote",
            "accept",
            "transfer",
            "bear",
        }:
            return "event", None, 0.8
        return ("event", None, 0.75) if said.when else None
    if verb.ends and verb.is_negated:
        return "persona", None, 0.75
    if base == "have" and verb.is_present:
        return _of_having(said)
    if (
        base == "need"
        and verb.is_present
        and rest[:1] == ["to"]
        and said.when
        and not verb.is_negated
    ):
        return "event", None, 0.7
    if base in lexicon.SKILLS and verb.is_present and not verb.is_negated and own:
        if base == "understand" or rest[:1] in (
            ["that"],
            ["what"],
            ["it"],
            ["this"],
            ["he"],
            ["she"],
            ["you"],
            ["i"],
            ["if"],
        ):
            return None
        plain = rest[:1] and (
            rest[0] in {"how", "a", "some", "basic"} or said.rest_text[:1].isupper()
        )
        if base == "know" and ("now" in adverbs or not plain):
            return None
        if base == "speak" and rest[:1] in (["to"], ["with"]):
            return None
        return "persona", "skill", 0.8
    if verb.is_present and (adverbs & lexicon.FREQUENT):
        return None if base in _UNEASY else ("persona", None, 0.75)
    if verb.is_present and is_repeated(rest):
        return "fact", None, 0.75
    if (base in lexicon.STATES or base == "do") and verb.is_present:
        return _of_state(said)
    if verb.is_past and not (verb.is_negated and "never" not in adverbs):
        return _of_past(said)
    if verb.is_present and said.when and own and base in lexicon.EVENTS and not verb.is_negated:
        return "event", None, 0.7
    return None


def _of_state(said: Said) -> Told | None:
    base, rest = said.verb.base, said.rest
    first = rest[0] if rest else ""
    if base == "work":
        if first in {"as", "in", "at", "for", "from", "with", "part-time", "full-time", "remotely"}:
            return "fact", "occupation" if first in {"as", "in"} else "work", 0.85
        return ("fact", "working hours", 0.8) if {"hours", "days"} & set(rest) else None
    if base in {"live", "reside", "stay"}:
        return ("fact", "residence", 0.9) if first in {"in", "at", "near", "with", "on"} else None
    if base == "do" and {
        "labor",
        "labour",
        "job",
        "business",
        "jobs",
        "freelance",
        "research",
        "accounting",
    } & set(rest):
        return "fact", "occupation", 0.75
    if base == "suffer":
        return "fact", "health", 0.8
    if base in {
        "own",
        "study",
        "teach",
        "manage",
        "lead",
        "commute",
        "weigh",
        "earn",
        "rent",
        "operate",
        "specialize",
        "specialise",
    }:
        return "fact", None, 0.8
    if base in {"run", "play"} and rest:
        return "persona", None, 0.7
    if base in {"use", "drive", "wear"} and rest and first not in {"it", "this", "that"}:
        return "fact", None, 0.75
    return None


def _of_having(said: Said) -> Told | None:
    verb, rest = said.verb, said.rest
    words = set(rest[:8])
    if verb.is_negated and not words & (lexicon.KIN | {"experience", "allergies", "car"}):
        return None
    if rest[:1] == ["to"]:
        event = len(rest) > 1 and lemma(rest[1])[0] in lexicon.EVENTS and said.when
        return ("event", None, 0.7) if event else None
    if words & lexicon.TRAIT_NOUNS:
        return "persona", None, 0.8
    if "experience" in words and any(
        token[:1].isdecimal() or token in {"years", "decade", "decades"} for token in rest
    ):
        return "fact", "experience", 0.8
    if words & lexicon.KIN or "allergy" in words or "allergies" in words or "degree" in words:
        return "fact", None, 0.8
    if (words & _APPOINTMENTS or rest[:1] == ["one"]) and said.when and not is_repeated(rest):
        return "event", None, 0.85
    if is_repeated(rest) and not verb.is_negated:
        return "fact", None, 0.75
    return None


def _of_progress(said: Said) -> Told | None:
    verb, rest = said.verb, said.rest
    base = verb.base
    if verb.is_perfect:
        if (
            {"for", "since"} & set(rest)
            and verb.adverbs.isdisjoint({"recently", "lately"})
            and "lately" not in rest
        ):
            return "fact", "occupation" if base == "work" else None, 0.8
        return None
    if base in {"work", "live", "study"} and verb.copula in {"am", "is", "are"}:
        return ("event", None, 0.7) if said.when else _of_state(said)
    if (
        base in {"learn", "study", "train"}
        and verb.copula in {"am", "is", "are"}
        and rest
        and not said.when
    ):
        return "fact", None, 0.75
    if said.when and base not in _THINKING:
        return "event", None, 0.8
    return None


def _of_past(said: Said) -> Told | None:
    verb, rest = said.verb, said.rest
    base, adverbs = verb.base, verb.adverbs
    if "decision" in rest or "decisions" in rest:
        return None
    if base == "live" or (base == "work" and verb.form == "past"):
        return (
            ("fact", None, 0.75)
            if rest[:1] and rest[0] in {"in", "at", "as", "for", "with"}
            else None
        )
    if (
        base == "get"
        and rest[:1]
        and rest[0]
        in {
            "married",
            "engaged",
            "promoted",
            "fired",
            "hired",
            "divorced",
            "sick",
            "accepted",
            "laid",
        }
    ):
        return "event", None, 0.85
    if base == "get" and {
        "job",
        "promotion",
        "offer",
        "visa",
        "license",
        "licence",
        "raise",
        "degree",
        "puppy",
    } & set(rest[:5]):
        return "event", None, 0.8
    if base == "grow" and rest[:2] == ["up", "in"]:
        return "fact", "origin", 0.8
    if base in {"study", "graduate"} and rest and not said.when:
        return "fact", None, 0.75
    if base in {
        "do",
        "know",
        "think",
        "feel",
        "be",
        "find",
        "want",
        "need",
        "hope",
        "say",
        "tell",
        "believe",
        "have",
    }:
        return None
    if base not in lexicon.EVENTS and base not in {
        "change",
        "grow",
        "become",
        "flare",
        "forget",
        "steal",
        "occur",
        "happen",
    }:
        return None
    if base in {"use", "see", "hear", "notice", "read", "think", "get", "come"} and not said.when:
        return None
    moved = base in {"move", "relocate"} and rest[:1] in (["to"], ["into"], ["from"], ["back"])
    if moved and "now" in {*adverbs, *rest}:
        return "fact", "residence", 0.8
    if (said.clause.is_embedded or not rest) and not said.when:
        return None
    if (
        said.when
        or base in lexicon.MILESTONES
        or (adverbs & lexicon.COMPLETED) - {"just"}
        or "again" in rest
    ):
        return "event", "residence" if moved else None, 0.8
    return None


def _of_being(said: Said) -> Told | None:
    verb, clause = said.verb, said.clause
    rest = skip_degree(said.rest) if said.verb.base == "be" else [lexicon_word(said), *said.rest]
    if not rest or (verb.is_perfect and {"for", "since"}.isdisjoint(rest)):
        return None
    if verb.is_perfect:
        lasts = rest[0] in {"a", "an", "the"} and rest[1:2] != ["bit"]
        return ("fact", None, 0.75) if lasts and not verb.is_negated else None
    if verb.copula in {"was", "were"}:
        return ("fact", "birth", 0.8) if rest[:1] == ["born"] else None
    trait = starts_with(rest, lexicon.TRAITS)
    if trait and rest[0] != "not":
        after = rest[len(trait.split()) :][:1]
        passing = (
            trait in {"afraid of", "interested in", "scared of", "open to"}
            and after
            and lemma(after[0])[1] == "ing"
        )
        return None if passing and lemma(after[0])[0] in _PASSING else ("persona", None, 0.85)
    if rest[0] in _CONDITIONS or (rest[0] == "a" and len(rest) > 1 and rest[1] in _CONDITIONS):
        return "fact", "allergy" if "allergic" in rest[:2] else "status", 0.85
    if (
        len(rest) == 1
        and clause.who == "user"
        and said.rest_text[:1].isupper()
        and not verb.is_negated
    ):
        return "fact", "name", 0.8
    if "intolerant" in rest[:3]:
        return "fact", "health", 0.85
    if rest[:1] == ["on"] and "team" in rest[1:5]:
        return "fact", "team", 0.8
    if clause.who == "name" and rest[0] in {"our", "my"} and len(rest) > 1:
        return "fact", None, 0.8
    if rest[0] == "from" and len(rest) > 1:
        return "fact", "origin", 0.85
    if rest[0] in lexicon.MOODS or rest[0] in {
        "not",
        "so",
        "too",
        "about",
        "to",
        "in",
        "on",
        "at",
        "of",
        "by",
    }:
        return None
    if {"years", "year"} & set(rest[:3]) and "old" in rest[:4]:
        return "fact", "age", 0.9
    if (
        rest[0].isdecimal()
        and (len(rest) == 1 or rest[1] in {"and", ","})
        and clause.who in {"user", "my"}
    ):
        return "fact", "age", 0.85
    if (
        rest[0] in {"a", "an", "the"}
        and len(rest) > 1
        and rest[1] not in {"bit", "little", "lot", "same", "one", "only"}
    ):
        job = clause.who in {"user", "my"} and not verb.is_negated and _is_job(rest[1:])
        return "fact", "occupation" if job else None, 0.8
    if verb.ends:
        return "persona", None, 0.75
    return None


def _is_job(noun: list[str]) -> bool:
    """Whether the head of a noun phrase names a profession."""
    head = noun[0]
    for token in noun:
        if not token.isalpha() or token in {
            "at",
            "in",
            "of",
            "for",
            "with",
            "who",
            "and",
            "from",
            "by",
            "on",
        }:
            break
        head = token
    return head in _JOBS or (
        head.endswith(("er", "or", "ist", "ian", "eer", "ant"))
        and head not in lexicon.KIN | _NO_JOBS
    )


def lexicon_word(said: Said) -> str:
    """Return the participle that a copula leads to."""
    return said.sentence_tokens[said.verb.rest - 1]
