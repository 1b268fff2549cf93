"""What an English sentence states: read clause by clause from the word lists."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from agentmem.tiers.extract import english_words as lexicon
from agentmem.tiers.extract.dates import Dated, find_dates
from agentmem.tiers.extract.english_clauses import Clause, clauses_of, expand
from agentmem.tiers.extract.english_rules import read_rule
from agentmem.tiers.extract.english_text import statement
from agentmem.tiers.extract.english_values import read_values
from agentmem.tiers.extract.english_words import lemma
from agentmem.tiers.extract.found import Found, Reading
from agentmem.tiers.extract.segments import Sentence, Word

__all__ = ["read_english"]

_PERIODS: Final = ("day", "week", "weekend", "month", "year", "morning", "night", "evening", "afternoon",
                   "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")  # fmt: skip
_APPOINTMENTS: Final = frozenset(
    "appointment meeting exam interview flight test surgery trip reservation checkup check-up class lesson "
    "deadline party wedding call presentation competition game match concert date".split()
)
# "I always worry": a mood of the moment, however often.
_UNEASY: Final = frozenset("worry feel wonder hope think wish seem need mean want know say forget".split())
_THINKING: Final = frozenset("think wonder worry look hope consider try feel ask guess write wait want".split())
_TEAM_CHOICES: Final = frozenset("use support switch adopt move drop keep go migrate start stop ship replace".split())
_JOBS: Final = frozenset("nurse chef cook student lawyer freelancer clerk architect analyst intern executive lead head founder ceo cto pilot "
                         "judge coach agent surgeon physician electronics mechanic plumber secretary boss owner".split())  # fmt: skip
_NO_JOBS: Final = frozenset("father mother brother sister member number order lover beginner newcomer customer user matter winner loser "
                            "believer reader listener runner fighter partner stranger foreigner dinner better other either "
                            "parent participant vegetarian giant".split())  # fmt: skip
_PASSING: Final = frozenset("move miss book lose get go make do forget be have know hurt fail break buy".split())
_CONDITIONS: Final = frozenset(
    "married single divorced engaged retired pregnant allergic diabetic asthmatic unemployed widowed".split()
)
_EVALUATIVE: Final = frozenset("easier harder better nicer simpler cleaner too hard easy difficult boring annoying "
                               "distracting confusing useful helpful relaxing more less most".split())  # fmt: skip


@dataclass(slots=True)
class Predicate:
    """A verb phrase taken apart.

    Attributes:
        base: The lemma of the main verb, ``"be"`` where only a copula stands.
        form: How the main verb stands: base, s, past, ing, "".
        rest: Where its complement begins.
        modal: ``will``, ``would``, ``can``, … or ``""``.
        is_perfect: Whether "have" stands before a participle.
        is_negated: Whether it is denied.
        ends: Whether it says "no longer", "anymore".
        copula: The form of "be" before the main verb, or ``""``.
        adverbs: The adverbs on the way.
    """

    base: str = ""
    form: str = ""
    rest: int = 0
    modal: str = ""
    is_perfect: bool = False
    is_negated: bool = False
    ends: bool = False
    copula: str = ""
    adverbs: set[str] = field(default_factory=set)

    @property
    def is_present(self) -> bool:
        """Whether it tells of the present, as a habit or a state."""
        return not self.modal and not self.copula and self.form in {"base", "s"} and not self.is_perfect

    @property
    def is_past(self) -> bool:
        """Whether it tells of what has happened."""
        return (
            not self.modal and not self.copula and (self.is_perfect or self.form == "past")
        )


_MODALS: Final = frozenset("will would can could may might must should shall".split())


def predicate(tokens: list[str], at: int, end: int) -> Predicate:
    """Take the verb phrase apart that begins at a token."""
    found = Predicate()
    k = at
    while k < end:
        token = tokens[k]
        following = tokens[k + 1] if k + 1 < end else ""
        if token == "no" and following == "longer":  # noqa: S105 - a word, no secret
            found.is_negated = found.ends = True
            k += 2
            continue
        if token in lexicon.NEGATIONS:
            found.is_negated = True
            found.adverbs.add(token)
        elif token in {"do", "does", "did"} and _leads_to_verb(tokens, k + 1, end):
            if token == "did":  # noqa: S105
                found.form = "past"
        elif token in _MODALS:
            found.modal = token
        elif token in {"have", "has", "had", "having"} and _leads_to_participle(tokens, k + 1, end):
            found.is_perfect = True
        elif token in lexicon.BE:
            found.copula = token
        elif token in lexicon.ADVERBS or (token.endswith("ly") and not lemma(token)[1] and len(token) > 4):  # noqa: PLR2004
            found.adverbs.add(token)
        elif token == "going" and following == "to" and found.copula:  # noqa: S105
            found.modal, found.copula = "will", ""
            k += 1
        else:
            break
        k += 1
    if k < end:
        base, form = lemma(tokens[k])
        if form and (not found.copula or form in {"ing", "past"}):
            found.base, found.rest = base, k + 1
            if tokens[k] in lexicon.UNCHANGED and found.is_perfect:
                form = "past"
            found.form = "past" if found.form == "past" else form
        elif found.copula:
            found.base, found.rest = "be", k
        else:
            found.base, found.rest = tokens[k], k + 1
    else:
        found.base, found.rest = "be" if found.copula else "", end
    tail = tokens[found.rest : end]
    if "anymore" in tail or "longer" in tail[-1:] or tail[-2:] == ["any", "more"]:
        found.ends = found.is_negated
    return found


def _leads_to_verb(tokens: list[str], at: int, end: int) -> bool:
    for k in range(at, min(end, at + 4)):
        token = tokens[k]
        if token not in lexicon.ADVERBS and token not in lexicon.NEGATIONS:
            return lemma(token)[1] == "base" or token.isalpha()
    return False


def _leads_to_participle(tokens: list[str], at: int, end: int) -> bool:
    for k in range(at, min(end, at + 4)):
        token = tokens[k]
        if token not in lexicon.ADVERBS and token not in lexicon.NEGATIONS:
            return token == "been" or token in lexicon.UNCHANGED or lemma(token)[1] == "past"  # noqa: S105
    return False


@dataclass(slots=True)
class _Said:
    """A clause with all that the rules ask of it."""

    clause: Clause
    verb: Predicate
    rest: list[str]
    rest_text: str
    when: Dated | None
    sentence_tokens: list[str]


Told = tuple[str, str | None, float]  # kind, attribute, confidence


def _starts(rest: list[str], phrases: tuple[str, ...]) -> str | None:
    head = " ".join(rest[:4]) + " "
    return next((phrase for phrase in phrases if head.startswith(phrase + " ")), None)


def _skip_degree(rest: list[str]) -> list[str]:
    k = 0
    while k < len(rest) and (rest[k] in lexicon.ADVERBS or rest[k] in {"more", "less", "much", "somewhat", "fairly"} or rest[k] in {"a", "bit"} and rest[k : k + 2] == ["a", "bit"] or rest[k] == "bit"):
        k += 2 if rest[k] == "a" else 1
    return rest[k:]


def _is_repeated(rest: list[str]) -> bool:
    for one, two in zip(rest, rest[1:], strict=False):
        if one in {"every", "each"} and two.rstrip("s") in _PERIODS:
            return True
        if one == "on" and two in {"weekends", "weekdays", "mondays", "tuesdays", "wednesdays", "thursdays", "fridays", "saturdays", "sundays"}:
            return True
        if two in {"week", "day", "month", "year"} and one in {"a", "per"}:
            return True
    return False


def _of_person(said: _Said) -> Told | None:
    """What a clause tells whose subject is the speaker, or a person of theirs."""
    verb, rest, clause = said.verb, said.rest, said.clause
    base, adverbs = verb.base, verb.adverbs
    own = clause.who in {"user", "we"}
    if verb.modal in {"may", "might", "could", "should", "shall", "must"} or adverbs & lexicon.HEDGES:
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
    if base in lexicon.DECIDES and (verb.is_past or verb.copula in {"is", "are", "am"}) and not (
        base in {"settle", "pick", "select", "conclude", "agree"} and own and not rest
    ):
        return None if verb.is_negated else ("decision", None, 0.85)
    if base == "set" and "goal" in rest[:4]:
        return "decision", "goal", 0.85
    if base == "put" and rest[-4:] and "hold" in rest:
        return "decision", None, 0.8
    if verb.modal == "can":
        return ("decision", None, 0.7) if verb.ends and own else None
    if base in lexicon.LIKES and (verb.is_present or (verb.is_perfect and "always" in adverbs)):
        if not rest or (rest[:2] != ["it", "when"] and rest[0] in {"that", "it", "this", "how", "your"} and rest[1:2] not in (["kind"], ["type"], ["sort"])):
            return None
        kind = lexicon.LIKES[base]
        if verb.is_negated and base != "prefer":
            kind = {"likes": "dislikes", "dislikes": "likes"}[kind]
        return "persona", kind, 0.9
    if base in {"value", "prioritize", "prioritise"} and verb.is_present and rest:
        return "persona", "likes", 0.8
    if base in {"switch", "convert"} and verb.is_past and "to" in rest and own:
        return ("event" if said.when else "persona"), None, 0.8
    if base in lexicon.HABITS and verb.is_present:
        return "persona", "habit", 0.85
    if base in {"find", "think", "consider"} and verb.is_present and own and (set(rest) & _EVALUATIVE):
        if base == "find" or "now" in said.sentence_tokens[: clause.verb_at] or "now" in adverbs:
            return "persona", None, 0.75
        return None
    if base == "want" and "always" in adverbs and verb.is_present and rest and {"them", "it", "this"}.isdisjoint(rest):
        return "persona", None, 0.75
    if base == "develop" and {"preference", "habit", "taste", "interest"} & set(rest):
        return "persona", "likes", 0.8
    if base in lexicon.PLANS and verb.form in {"base", "ing", "s"} and rest[:1] == ["to"]:
        return ("event", None, 0.8) if said.when else ("decision", None, 0.65)
    if verb.modal == "will":
        if base in {"stick", "keep", "use", "stop", "switch", "avoid"} and (
            "from now on" in " ".join(rest) or verb.ends or base == "stick"
        ):
            return "decision", None, 0.8
        if said.when:
            return "event", None, 0.8
        lasting = adverbs & {"mainly", "mostly", "always", "primarily"} or said.sentence_tokens[:2] == ["next", "time"]
        return ("decision", None, 0.7) if lasting and own else None
    if base == "be" or (verb.copula and verb.form == "past" and base not in lexicon.EVENTS):
        return _of_being(said)
    if verb.copula and verb.form == "ing":
        return _of_progress(said)
    if verb.copula and verb.form == "past":
        if verb.copula in {"was", "were", "been"} and base in lexicon.MILESTONES | {"promote", "accept", "transfer", "bear"}:
            return "event", None, 0.8
        return ("event", None, 0.75) if said.when else None
    if verb.ends and verb.is_negated:
        return "persona", None, 0.75
    if base == "have" and verb.is_present:
        return _of_having(said)
    if base == "need" and verb.is_present and rest[:1] == ["to"] and said.when and not verb.is_negated:
        return "event", None, 0.7
    if base in lexicon.SKILLS and verb.is_present and not verb.is_negated and own:
        if base == "understand" or rest[:1] in (["that"], ["what"], ["it"], ["this"], ["he"], ["she"], ["you"], ["i"], ["if"]):
            return None
        if base == "know" and not (rest[:1] and (rest[0] in {"how", "a", "some", "basic"} or said.rest_text[:1].isupper())):
            return None
        if base == "speak" and rest[:1] in (["to"], ["with"]):
            return None
        return "persona", "skill", 0.8
    if verb.is_present and (adverbs & lexicon.FREQUENT):
        return None if base in _UNEASY else ("persona", None, 0.75)
    if verb.is_present and _is_repeated(rest):
        return "fact", None, 0.75
    if (base in lexicon.STATES or base == "do") and verb.is_present:
        return _of_state(said)
    if verb.is_past and not (verb.is_negated and "never" not in adverbs):
        return _of_past(said)
    if verb.is_present and said.when and own and base in lexicon.EVENTS and not verb.is_negated:
        return "event", None, 0.7
    return None


def _of_state(said: _Said) -> Told | None:
    base, rest = said.verb.base, said.rest
    first = rest[0] if rest else ""
    if base == "work":
        if first in {"as", "in", "at", "for", "from", "with", "part-time", "full-time", "remotely"}:
            return "fact", "occupation" if first in {"as", "in"} else "work", 0.85
        return ("fact", "working hours", 0.8) if {"hours", "days"} & set(rest) else None
    if base in {"live", "reside", "stay"}:
        return ("fact", "residence", 0.9) if first in {"in", "at", "near", "with", "on"} else None
    if base == "do" and {"labor", "labour", "job", "business", "jobs", "freelance", "research", "accounting"} & set(rest):
        return "fact", "occupation", 0.75
    if base == "suffer":
        return "fact", "health", 0.8
    if base in {"own", "study", "teach", "manage", "lead", "commute", "weigh", "earn", "rent", "operate", "specialize", "specialise"}:
        return "fact", None, 0.8
    if base in {"run", "play"} and rest:
        return "persona", None, 0.7
    if base in {"use", "drive", "wear"} and rest and first not in {"it", "this", "that"}:
        return "fact", None, 0.75
    return None


def _of_having(said: _Said) -> Told | None:
    verb, rest = said.verb, said.rest
    words = set(rest[:8])
    if verb.is_negated and not words & (lexicon.KIN | {"experience", "allergies", "car"}):
        return None
    if words & lexicon.TRAIT_NOUNS:
        return "persona", None, 0.8
    if "experience" in words and any(token[:1].isdecimal() or token in {"years", "decade", "decades"} for token in rest):
        return "fact", "experience", 0.8
    if words & lexicon.KIN or "allergy" in words or "allergies" in words or "degree" in words:
        return "fact", None, 0.8
    if words & _APPOINTMENTS and said.when:
        return "event", None, 0.85
    if rest and rest[0] == "to":
        event = len(rest) > 1 and lemma(rest[1])[0] in lexicon.EVENTS and said.when
        return ("event", None, 0.7) if event else None
    return None


def _of_progress(said: _Said) -> Told | None:
    verb, rest = said.verb, said.rest
    base = verb.base
    if verb.is_perfect:
        if {"for", "since"} & set(rest) and verb.adverbs.isdisjoint({"recently", "lately"}) and "lately" not in rest:
            return "fact", "occupation" if base == "work" else None, 0.8
        return None
    if base in {"work", "live", "study"} and verb.copula in {"am", "is", "are"}:
        return ("event", None, 0.7) if said.when else _of_state(said)
    if base in {"learn", "study", "train"} and verb.copula in {"am", "is", "are"} and rest and not said.when:
        return "fact", None, 0.75
    if said.when and base not in _THINKING:
        return "event", None, 0.8
    return None


def _of_past(said: _Said) -> Told | None:
    verb, rest = said.verb, said.rest
    base, adverbs = verb.base, verb.adverbs
    if base == "live" or (base == "work" and verb.form == "past"):
        return ("fact", None, 0.75) if rest[:1] and rest[0] in {"in", "at", "as", "for", "with"} else None
    if base == "get" and rest[:1] and rest[0] in {"married", "engaged", "promoted", "fired", "hired", "divorced", "sick", "accepted", "laid"}:
        return "event", None, 0.85
    if base in {"study", "graduate"} and rest and not said.when:
        return "fact", None, 0.75
    if base in {"do", "know", "think", "feel", "be", "find", "want", "need", "hope", "say", "tell", "believe", "have"}:
        return None
    if base not in lexicon.EVENTS and base not in {"change", "grow", "become", "become", "flare", "forget", "steal", "occur", "happen"}:
        return None
    if base in {"use", "see", "hear", "notice", "read", "think", "get", "come"} and not said.when:
        return None
    moved = base in {"move", "relocate"} and rest[:1] in (["to"], ["into"], ["from"], ["back"])
    if moved and "now" in {*adverbs, *rest}:
        return "fact", "residence", 0.8
    if (said.clause.is_embedded or not rest) and not said.when:
        return None
    if said.when or base in lexicon.MILESTONES or (adverbs & lexicon.COMPLETED) - {"just"} or "again" in rest:
        return "event", "residence" if moved else None, 0.8
    return None


def _of_being(said: _Said) -> Told | None:
    verb, clause = said.verb, said.clause
    rest = _skip_degree(said.rest) if said.verb.base == "be" else [lexicon_word(said), *said.rest]
    if not rest or (verb.is_perfect and {"for", "since"}.isdisjoint(rest)):
        return None
    if verb.is_perfect:
        lasts = rest[0] in {"a", "an", "the"} and rest[1:2] != ["bit"]
        return ("fact", None, 0.75) if lasts and not verb.is_negated else None
    if verb.copula in {"was", "were"}:
        return ("fact", "birth", 0.8) if rest[:1] == ["born"] else None
    trait = _starts(rest, lexicon.TRAITS)
    if trait and rest[0] != "not":
        after = rest[len(trait.split()) :][:1]
        passing = trait in {"afraid of", "interested in", "scared of", "open to"} and after and lemma(after[0])[1] == "ing"
        return None if passing and lemma(after[0])[0] in _PASSING else ("persona", None, 0.85)
    if rest[0] in _CONDITIONS or (rest[0] == "a" and len(rest) > 1 and rest[1] in _CONDITIONS):
        return "fact", "allergy" if "allergic" in rest[:2] else "status", 0.85
    if rest[0] == "from" and len(rest) > 1:
        return "fact", "origin", 0.85
    if rest[0] in lexicon.MOODS or rest[0] in {"not", "so", "too", "about", "to", "in", "on", "at", "of", "by"}:
        return None
    if {"years", "year"} & set(rest[:3]) and "old" in rest[:4]:
        return "fact", "age", 0.9
    if rest[0].isdecimal() and (len(rest) == 1 or rest[1] in {"and", ","}) and clause.who in {"user", "my"}:
        return "fact", "age", 0.85
    if rest[0] in {"a", "an", "the"} and len(rest) > 1 and rest[1] not in {"bit", "little", "lot", "same", "one", "only"}:
        job = clause.who in {"user", "my"} and not verb.is_negated and _is_job(rest[1:])
        return "fact", "occupation" if job else None, 0.8
    if verb.ends:
        return "persona", None, 0.75
    return None


def _is_job(noun: list[str]) -> bool:
    """Whether the head of a noun phrase names a profession."""
    head = noun[0]
    for token in noun:
        if not token.isalpha() or token in {"at", "in", "of", "for", "with", "who", "and", "from", "by", "on"}:
            break
        head = token
    return head in _JOBS or (head.endswith(("er", "or", "ist", "ian", "eer", "ant")) and head not in lexicon.KIN | _NO_JOBS)


def lexicon_word(said: _Said) -> str:
    """Return the participle that a copula leads to."""
    return said.sentence_tokens[said.verb.rest - 1]


def _of_thing(said: _Said) -> Told | None:
    """What a clause tells of a thing: "my car", "the deadline", "our staging server"."""
    verb, rest, clause = said.verb, said.rest, said.clause
    noun = clause.noun
    if verb.modal in {"may", "might", "could", "should", "would", "can", "must", "shall"} or verb.adverbs & lexicon.HEDGES:
        return None
    own = clause.who == "my"
    if noun and noun[-1] in {"other", "one", "rest", "first", "second", "former", "latter", "same", "thing", "reason", "problem", "question", "challenge"}:
        return None
    if own and verb.base in {"feel", "hurt", "ache", "swell"} and verb.is_present:
        return "fact", "health", 0.75
    if verb.base == "call" and verb.copula in {"is", "are"} and rest:
        return "fact", "name", 0.8
    if verb.base == "be" and verb.copula in {"is", "are"} and {"birthday", "birth", "birthdate"} & set(noun):
        return "fact", "birthday", 0.85
    if verb.is_perfect and verb.copula == "been" and "for" in rest and rest[-1:] != ["now"]:
        return "fact", None, 0.75
    if verb.base == "be" and verb.copula in {"is", "are"}:
        if rest[:1] == ["my"] and {"favorite", "favourite", "preference", "choice", "go-to", "priority"} & set(rest):
            return "persona", "likes", 0.8
        if said.when and not {"not"} & set(rest[:1]):
            return "event", " ".join(noun[-3:]), 0.8
        if not rest or len(noun) > 4 or verb.adverbs & {"too", "very", "quite", "really", "so", "relatively", "particularly", "especially", "increasingly", "slightly", "still"}:
            return None
        if own and (rest[0] not in lexicon.MOODS) and len(rest) <= 12:
            kind = "persona" if {"favorite", "favourite"} & set(noun) else "fact"
            plain = rest[0] not in {"too", "very", "quite", "really", "so", "not", "that", "to", "decent", "good", "bad", "great"}
            return (kind, " ".join(noun[-3:]), 0.8) if plain else None
        plain = any(token[:1].isdecimal() for token in rest) or said.rest_text[:1].isupper()
        return ("fact", " ".join(noun[-3:]), 0.75) if plain else None
    if verb.copula and verb.form == "past":
        if verb.base in {"set", "choose", "decide", "agree"} and verb.copula in {"is", "was", "were", "are", "been"}:
            return "decision", " ".join(noun[-3:]), 0.75
        if verb.base in lexicon.EVENTS and (said.when or (own and verb.base in lexicon.MILESTONES | {"steal", "repair", "fix"})):
            return "event", None, 0.75
        return None
    if verb.modal == "will" and said.when:
        return "event", None, 0.75
    if verb.base in lexicon.PLANS and rest[:1] == ["to"]:
        return ("event" if said.when else "decision"), None, 0.7
    if verb.is_past and verb.base in lexicon.EVENTS | {"arrive", "flare", "change", "crash", "expire", "start", "announce", "become"}:
        if said.when or (own and (verb.base in lexicon.MILESTONES or verb.adverbs & lexicon.COMPLETED or "again" in rest)):
            return "event", None, 0.75
        return None
    if verb.is_present and said.when and verb.base in lexicon.EVENTS | {"expire"}:
        return "event", None, 0.75
    if verb.is_present and verb.base in {"use", "run", "live", "have", "require", "support", "listen", "contain", "last", "cost", "weigh"}:
        plain = any(token[:1].isdecimal() for token in rest) or any(
            word[:1].isupper() for word in said.rest_text.split()[:6]
        )
        return ("fact", None, 0.75) if plain and not verb.is_negated else None
    if verb.base == "come" and rest[:1] == ["first"]:
        return "persona", None, 0.75
    return None


def _group_told(said: _Said) -> Told | None:
    """What a clause tells of a team, a company, a client."""
    verb = said.verb
    if verb.base in {"announce", "approve", "reject", "sign"} and verb.is_past:
        return "event", None, 0.85
    if verb.base in lexicon.DECIDES and (verb.is_past or verb.copula in {"is", "are"}) and not verb.is_negated:
        return "decision", None, 0.85
    if verb.copula and verb.form == "ing" and verb.base in {"go", "switch", "move", "migrate"} and {"with", "to"} & set(said.rest[:2]):
        return "decision", None, 0.8
    if verb.base in {"switch", "move", "migrate"} and verb.is_past and "to" in said.rest:
        return "decision", None, 0.8
    if said.clause.who == "we" and verb.is_present and said.when and not verb.is_negated:
        return "event", None, 0.75
    if verb.modal == "will" and said.clause.who == "we" and not said.when:
        return ("decision", None, 0.75) if verb.base in _TEAM_CHOICES else None
    if verb.copula and verb.form == "ing" and said.clause.who == "we" and verb.base in {"drop", "adopt", "retire", "deprecate"}:
        return "decision", None, 0.75
    return _of_thing(said)


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
        between = {word.text for word in places[clause.start : clause.end] if inside[0].end <= word.start < inside[-1].start}
        if between & {"to", "sorry", "actually", "rather", "instead"} and "from" not in between:
            chosen = inside[-1]
    return chosen


def _in_tense(when: Dated | None, verb: Predicate, said_at: datetime) -> Dated | None:
    """Return the date on the side of the present that the tense tells: "on Monday" in the past is the last one."""
    if when is None or when.when.date() <= said_at.date() or not (verb.is_past or verb.copula in {"was", "were"}):
        return when
    if verb.base in {"book", "schedule", "plan", "arrange", "decide", "agree", "move", "postpone", "set", "reschedule", "reserve", "order",
                     "register", "sign", "choose", "confirm", "push", "delay", "settle", "fix", "promise", "announce"}:  # fmt: skip
        return when
    if when.is_bare_weekday:
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
        clauses = [one for one in clauses[:-1] if one.intro != "("] + [one for one in clauses if one.intro == "("]
    is_hearsay = not lexicon.HEARSAY.isdisjoint(tokens)
    hypothetical_until = -1
    for clause in clauses:
        if clause.intro in lexicon.HYPOTHETICAL or clause.intro in {"when", "whenever", "until"}:
            hypothetical_until = clause.end
            continue
        if hypothetical_until >= 0 and clause.intro in {"", ",", "then"} and tokens[0] in lexicon.HYPOTHETICAL:
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
    clause: Clause, tokens: list[str], places: list[Word], dates: list[Dated], reading: Reading, said_at: datetime,
    *, is_hearsay: bool
) -> Found | None:
    subject = _subject_name(clause, reading)
    for k in range(clause.start, clause.end - 1):
        if tokens[k] in {"my", "our"}:
            owned = next((j for j in range(k + 1, min(k + 4, clause.end)) if tokens[j] in lexicon.KIN), -1)
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
    said = _Said(clause, verb, tokens[verb.rest : clause.end], rest_text, _in_tense(_dated(clause, places, dates), verb, said_at), tokens)
    if clause.who == "pronoun" and clause.noun[0] in {"there", "it"}:
        told = ("event", None, 0.75) if said.when and verb.base == "be" and verb.modal in {"", "will"} else None
        if clause.noun[0] == "it" and (reading.topic is None or verb.is_negated):
            told = None
    elif clause.who == "user" or (clause.who == "we" and not reading.is_team) or people or clause.who == "pronoun":
        told = _of_person(said)
        if told and told[0] == "persona" and clause.who not in {"user", "we"}:
            told = ("fact", *told[1:])
        if told is None and clause.who == "my" and people:
            told = _of_thing(said) if verb.base != "be" else None
    elif clause.who == "we" or not lexicon.TEAMS.isdisjoint(clause.noun):
        told = _group_told(said)
        if told is None and clause.who == "we":
            told = _of_person(said)
            if told and told[0] == "persona":
                told = None
    elif clause.who == "name":
        told = _of_person(said) or _of_thing(said)
        if told and told[0] == "persona":
            told = ("fact", *told[1:])
    else:
        told = _of_thing(said)
    if clause.who in {"my", "noun", "name"} and not people:
        reading.topic = reading.text[places[clause.subject_at].start : places[clause.verb_at - 1].end] if clause.verb_at > clause.subject_at else reading.topic
    if told is None:
        return None
    kind, attribute, confidence = told
    if clause.who == "my" and not people and verb.base == "be":
        subject = "team" if reading.is_team and tokens[clause.subject_at] == "our" else "user"
    first = places[start].start
    lead_dates = [one for one in dates if first <= one.start < places[clause.subject_at].start]
    begin = lead_dates[0].start if lead_dates else places[clause.subject_at].start
    if not lead_dates and start < clause.subject_at and tokens[clause.subject_at - 1] in {"now", "currently", "nowadays"}:
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
