"""Cut an English sentence into clauses: who, and the verb phrase that says something of them.

No parser: a clause begins where a subject stands at a boundary (a sign, a conjunction, the start)
and a verb follows it. What has no subject of these closed shapes is left unread.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from agentmem.tiers.extract import english_words as lexicon
from agentmem.tiers.extract.english_words import lemma
from agentmem.tiers.extract.segments import Sentence, Word

__all__ = ["Clause", "clauses_of", "expand"]

_LONGEST_SUBJECT: Final = 9
_PRONOUNS: Final = frozenset(("he", "she", "they", "it", "this", "that", "there", "you"))
_DETERMINERS: Final = frozenset(
    ("the", "this", "that", "these", "those", "all", "each", "every", "a", "an", "some", "no")
)
_BOUNDARY: Final = (
    lexicon.PUNCTUATION | lexicon.JOINING | lexicon.SUBORDINATING | lexicon.HYPOTHETICAL
)
# Subjects that begin a clause wherever they stand.
_ANYWHERE: Final = frozenset(("i", "we"))
_NEVER_INSIDE: Final = frozenset(
    (
        "i",
        "we",
        "you",
        "he",
        "she",
        "they",
        "how",
        "what",
        "why",
        "when",
        "where",
        "your",
        "if",
        "who",
    )
)
_LONGEST_LEAD: Final = 5
_LEADING: Final = frozenset(
    ("on", "in", "by", "at", "since", "from", "during", "starting", "until", "for", "as")
)
_PREPOSITIONS: Final = frozenset(
    ("of", "for", "in", "on", "with", "at", "to", "from", "by", "about", "under", "over")
)


@dataclass(slots=True)
class Clause:
    """A subject and what is said of it; indexes are into the expanded tokens.

    Attributes:
        start: Its first token, lead-in words included.
        subject_at: The first token of the subject; ``verb_at`` where the subject is understood.
        verb_at: The first token after the subject.
        end: One past its last token.
        who: ``user``, ``we``, ``my`` (a noun of the speaker's), ``name``, ``noun`` or ``pronoun``.
        noun: The words of the subject, for other than ``user`` and ``we``.
        intro: The conjunction before it, or ``""``.
        is_embedded: Whether it follows a noun without a sign between: "the cake I made".
    """

    start: int
    subject_at: int
    verb_at: int
    end: int
    who: str
    noun: list[str] = field(default_factory=list)
    intro: str = ""
    is_embedded: bool = False


def expand(sentence: Sentence) -> tuple[list[str], list[Word]]:
    """Return the words with contractions opened, and for each the source word it stands in."""
    tokens: list[str] = []
    places: list[Word] = []
    for word in sentence.words:
        text = word.text
        parts = lexicon.CONTRACTIONS.get(text) or (_opened(text) if "'" in text else None)
        if parts is None:
            tokens.append(text)
            places.append(word)
        else:
            tokens += parts
            places += [word] * len(parts)
    return tokens, places


def _opened(text: str) -> tuple[str, ...]:
    for suffix, full in lexicon.SUFFIXES.items():
        if text.endswith(suffix) and len(text) > len(suffix):
            return text[: -len(suffix)], full
    if text.endswith("'s") and text[:-2] in lexicon.IS_AFTER:
        return text[:-2], "is"
    return (text,)


def _is_verb(token: str) -> bool:
    return token in lexicon.AUXILIARY or lemma(token)[1] in {"past", "s"}


def _noun_phrase(tokens: list[str], at: int, *, bare: bool) -> tuple[int, bool]:
    """Return where the verb after a noun phrase stands, or -1, and whether it ends in "and I"."""
    stop = min(len(tokens), at + _LONGEST_SUBJECT)
    for k in range(at + 1, stop):
        token = tokens[k]
        if token == "i" and tokens[k - 1] in {"and", "&"}:  # noqa: S105 - a word, no secret
            return k + 1, True
        if token in _NEVER_INSIDE:
            return -1, False
        if token in lexicon.AUXILIARY or token in lexicon.ADVERBS:
            if token in lexicon.ADVERBS and (k + 1 >= stop or not _is_verb(tokens[k + 1])):
                continue
            return k, False
        base, form = lemma(token)
        if form == "s" and (k + 1 < len(tokens) and tokens[k + 1] in lexicon.AUXILIARY):
            continue
        if form in {"past", "s"} or (form == "base" and _is_plural(tokens[k - 1]) and not bare):
            if base in lexicon.VERBS and tokens[k - 1] not in _PREPOSITIONS:
                return k, False
            continue
        if token in lexicon.PUNCTUATION and (token != "," or "i" not in tokens[k : k + 6]):  # noqa: S105 - a word, no secret
            return -1, False
        if token in {"who", "which", "that", "because", "if", "but"}:
            return -1, False
    return -1, False


def _is_plural(token: str) -> bool:
    return (token.endswith("s") and not token.endswith("ss")) or token in {
        "children",
        "people",
        "team",
    }


def _subject(
    tokens: list[str], places: list[Word], at: int, *, is_boundary: bool
) -> tuple[str, int, list[str]] | None:
    """Return who, where the verb stands, and the words of the subject; None where none begins."""
    token = tokens[at]
    rest = len(tokens) - at
    if rest < 2:  # noqa: PLR2004 - a subject needs a verb
        return None
    if token == "i":  # noqa: S105 - a word, no secret
        return ("user", at + 1, []) if tokens[at + 1] not in lexicon.PUNCTUATION else None
    if token == "we":  # noqa: S105 - a word, no secret
        return "we", at + 1, []
    if not is_boundary:
        return None
    if token in {"my", "our"}:
        verb, joined = _noun_phrase(tokens, at, bare=False)
        if verb < 0:
            return None
        return ("user", verb, []) if joined else ("my", verb, tokens[at + 1 : verb])
    if token in _PRONOUNS and token not in {"this", "that"}:
        return "pronoun", at + 1, [token]
    raw = places[at].raw
    if token in {"your", "his", "her", "their", "its"}:
        return None
    if token in _DETERMINERS:
        verb, joined = _noun_phrase(tokens, at, bare=False)
        if verb > at + 1 and not joined:
            return "noun", verb, tokens[at + 1 : verb]
        if token in {"this", "that"} and tokens[at + 1] in lexicon.AUXILIARY:
            return "pronoun", at + 1, [token]
        return None
    if token in lexicon.TIME_WORDS or token in lexicon.INTERROGATIVE or not token[0].isalpha():
        return None
    if token in lexicon.ADVERBS or token in _PREPOSITIONS:
        return None
    form = lemma(token)[1]
    if form in {"base", "past", "ing"} and not raw[:1].isupper():
        return None
    if form == "past" and at == 0 and lemma(token)[0] in lexicon.DECIDES:
        return None
    verb, joined = _noun_phrase(tokens, at, bare=True)
    if verb < 0 or joined or verb - at > 5:  # noqa: PLR2004 - bare subjects are short
        return None
    proper = raw[:1].isupper() and not token.endswith("ing") and (at > 0 or verb - at == 1)
    if not proper and lemma(token)[1] == "base" and verb - at == 1:
        return None
    return ("name" if proper else "noun"), verb, tokens[at:verb]


def _understood(tokens: list[str], at: int, previous: Clause | None, intro: str) -> bool:
    """Whether a verb without its subject stands here: "and plan to …", "Just received …"."""
    k = at
    while k < len(tokens) and tokens[k] in lexicon.ADVERBS:
        k += 1
    if k >= len(tokens):
        return False
    base, form = lemma(tokens[k])
    if base == "decide" and form in {"past", "base"} and tokens[k + 1 : k + 2] == ["to"]:
        return True
    if previous is None:
        return form == "past" and base in lexicon.EVENTS and tokens[k] not in lexicon.UNCHANGED
    if intro not in {"and", "but", "then", "so", "yet"} or previous.who not in {"user", "we", "my"}:
        return False
    if tokens[k] in lexicon.AUXILIARY:
        return tokens[k] in {"have", "am", "will", "do"} and k + 1 < len(tokens)
    lasting = (
        base in lexicon.LIKES
        or base in lexicon.PLANS
        or base in lexicon.STATES
        or base in lexicon.HABITS
    )
    return (lasting and form == "base") or (
        form == "past" and tokens[k] not in lexicon.UNCHANGED
        and (base in lexicon.DECIDES or base in lexicon.EVENTS or base in lexicon.PLANS)
    )  # fmt: skip


def clauses_of(tokens: list[str], places: list[Word]) -> list[Clause]:
    """Return the clauses of a sentence, in order, none overlapping another."""
    found: list[Clause] = []
    lead, intro, at, is_boundary = 0, "", 0, True
    while at < len(tokens):
        token = tokens[at]
        if token in _BOUNDARY and not (
            token == "that" and at + 1 < len(tokens) and _is_verb(tokens[at + 1])  # noqa: S105 - a word, no secret
        ):
            if token in lexicon.PUNCTUATION:
                intro = token if not is_boundary or intro == "" else intro
                if token == ":" or found:  # noqa: S105 - a word, no secret
                    lead = at + 1
            else:
                intro = token
                if found:
                    lead = at + 1
            is_boundary = True
            at += 1
            continue
        if not is_boundary and token not in _ANYWHERE:
            at += 1
            continue
        subject = _subject(tokens, places, at, is_boundary=is_boundary)
        if subject is not None:
            who, verb, noun = subject
            if found:
                found[-1].end = min(found[-1].end, max(found[-1].verb_at, min(lead, at)))
            begins = lead if (not found or lead > found[-1].verb_at) else at
            embedded = (
                not is_boundary
                and at > 0
                and tokens[at - 1] not in lexicon.ADVERBS | lexicon.TIME_WORDS
            )
            found.append(Clause(begins, at, verb, len(tokens), who, noun, intro, embedded))
            intro, is_boundary, at = "", False, verb
            lead = verb
            continue
        if is_boundary and _understood(tokens, at, found[-1] if found else None, intro):
            who = found[-1].who if found else "user"
            noun = list(found[-1].noun) if found else []
            if found:
                found[-1].end = min(found[-1].end, at)
            found.append(Clause(at, at, at, len(tokens), who, noun, intro))
            intro, is_boundary = "", False
            at += 1
            continue
        leads = (
            token in lexicon.TIME_WORDS
            or token in lexicon.ADVERBS
            or token in {"this", "last", "next"}
        )
        # A leading "on Friday", "for the API": the subject may still follow without a comma.
        leads = leads or (not found and bool(tokens[0] in _LEADING) and at <= _LONGEST_LEAD)
        is_boundary = is_boundary and leads
        at += 1
    for clause in found:
        while clause.end - 1 > clause.verb_at and (tokens[clause.end - 1] in _BOUNDARY):
            clause.end -= 1
    return [clause for clause in found if clause.end > clause.verb_at]
