"""Take an English verb phrase apart: tense, denial, modality, adverbs, and the verb itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from agentmem.tiers.extract import english_words as lexicon
from agentmem.tiers.extract.dates import Dated
from agentmem.tiers.extract.english_clauses import Clause
from agentmem.tiers.extract.english_words import lemma
from agentmem.tiers.word_list import words

__all__ = ["Predicate", "Said", "Told", "is_repeated", "predicate", "skip_degree", "starts_with"]

_PERIODS: Final = ("day", "week", "weekend", "month", "year", "morning", "night", "evening", "afternoon",
                   "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")  # fmt: skip

# "By a week", "in a month": a span of time, no frequency.
_SPANS: Final = words("by in for within about after take takes took over once than half")
_NUMBERS: Final = words("two three four five six other second third")


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
        return (
            not self.modal
            and not self.copula
            and self.form in {"base", "s"}
            and not self.is_perfect
        )

    @property
    def is_past(self) -> bool:
        """Whether it tells of what has happened."""
        return not self.modal and not self.copula and (self.is_perfect or self.form == "past")


_MODALS: Final = words("will would can could may might must should shall")


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
        elif token in lexicon.ADVERBS or (
            token.endswith("ly") and not lemma(token)[1] and len(token) > 4  # noqa: PLR2004 - a length chosen on the development set
        ):
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
            if tokens[k] in lexicon.UNCHANGED and (found.is_perfect or base == "quit"):
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
        if token.endswith("ly") and not lemma(token)[1]:
            continue
        if token not in lexicon.ADVERBS and token not in lexicon.NEGATIONS:
            return token == "been" or token in lexicon.UNCHANGED or lemma(token)[1] == "past"  # noqa: S105
    return False


@dataclass(slots=True)
class Said:
    """A clause with all that the rules ask of it."""

    clause: Clause
    verb: Predicate
    rest: list[str]
    rest_text: str
    when: Dated | None
    sentence_tokens: list[str]


Told = tuple[str, str | None, float]  # kind, attribute, confidence


def starts_with(rest: list[str], phrases: tuple[str, ...]) -> str | None:
    """Return the phrase that a complement begins with, or None."""
    head = " ".join(rest[:4]) + " "
    return next((phrase for phrase in phrases if head.startswith(phrase + " ")), None)


def skip_degree(rest: list[str]) -> list[str]:
    """Return a complement without the adverbs of degree before it."""
    k = 0
    while k < len(rest) and (
        rest[k] in lexicon.ADVERBS
        or rest[k] in {"more", "less", "much", "somewhat", "fairly"}
        or (rest[k] in {"a", "bit"} and rest[k : k + 2] == ["a", "bit"])
        or rest[k] == "bit"
    ):
        k += 2 if rest[k] == "a" else 1
    return rest[k:]


def is_repeated(rest: list[str]) -> bool:
    """Whether a complement speaks of something regular: "every week", "on Fridays"."""
    padded = ["", "", *rest]
    for zero, one, two in zip(padded, padded[1:], padded[2:], strict=False):
        if two == "every" and one in {"before", "after", "on", "at"}:
            return True
        if one in {"every", "each"} and (two.rstrip("s") in {*_PERIODS, "time"} or two in _NUMBERS):
            return True
        if one == "on" and two in {
            "weekends",
            "weekdays",
            "mondays",
            "tuesdays",
            "wednesdays",
            "thursdays",
            "fridays",
            "saturdays",
            "sundays",
        }:
            return True
        if two in {"week", "day", "month", "year"} and one in {"a", "per"} and zero not in _SPANS:
            return True
    return False
