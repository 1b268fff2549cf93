"""What a scene is called, and its summary, from its own words."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from agentmem.tiers.cluster.activities import activity_of
from agentmem.tiers.cluster.cues import read_cues
from agentmem.tiers.cluster.terms import IDENTIFIER_MARK, has_han, is_han, terms_of, token_terms

if TYPE_CHECKING:
    from agentmem.tiers.cluster.profile import Line

__all__ = ["MAX_LABEL_CHARS", "name_scene", "summarize"]

MAX_LABEL_CHARS: Final = 140
MAX_SENTENCE_CHARS: Final = 160
PHRASES: Final = 7
SENTENCES: Final = 3
_MAX_WORDS: Final = 2
_MAX_HAN: Final = 4
_MAX_CLAUSE_CHARS: Final = 56
_MAX_HAN_CLAUSE_CHARS: Final = 24
_MAX_CLAUSES_CHARS: Final = 100
_OTHERS: Final = 0.5
"""What words of an agent count beside those of a user."""
_LATER: Final = 0.8
"""What a clause of each later opening counts beside one of the opening before it."""
_AGAIN: Final = 0.25
"""What a phrase that comes again counts beside the first time."""
_SPREAD: Final = 0.6
"""Exponent of a phrase's length: between its sum (0) and its mean (1)."""

_KEPT_LINES: Final = 4_096
"""Lines whose words are kept: a scene is named again and again by much the same lines."""

Score = Callable[[str], float]
_Run = list[tuple[str, float, frozenset[str]]]

_TOKEN: Final = re.compile(r"[^\W_][\w'’.:/#+-]*[\w+#]|[^\W_]|[.,;:!?()\[\]{}\"“”。，；：！？、\n]")
_PATH: Final = re.compile(r"[\w.-]*(?:/[\w.-]+){2,}")
# A full stop within a word ends nothing: "Fly.io", "3.11", "src/main.py".
_SENTENCE: Final = re.compile(r"(?:[^.!?\n。！？]|\.(?=\w))+(?:[.!?。！？]+|$)?")
_CLAUSE: Final = re.compile(r"(?:[^,;:.!?\n。，；：！？]|[.,:](?=\w))+")
_FRAME: Final = re.compile(r"[{}\[\]\"`*#|<>]+")
_PARTICLES: Final = re.compile(
    r"[的了是在我你他她它们也都就还把被和与跟吗呢吧啊很太最这那个给让想要会能去来到没有不着过么]"
)
_LEAD: Final = re.compile(
    r"^\W*(?:(?:hello|hi|hey|dear|so|and|but|also|well|yes|ok|okay|please|sigh|today|recently|now"
    r"|i|i'd|i've|i'm|we|we're|let me|can you|could you|would you|help me|would like|like|want|need"
    r"|am|have|just|to|you|me|that|then|there's|there is"
    r"|xin chào|chào|bạn|mình|tôi|cho|à|ừ)(?![\w'])\W*|你好|您好|嗨|嘿|唉|那|我想|我|请)+",
    re.IGNORECASE,
)


def name_scene(lines: Sequence[Line], score: Score) -> str:
    """Return a name of at most 140 characters: the clause that says most, then what recurs.

    Args:
        lines: The words of its members.
        score: How much a term stands for the scene among all scenes.
    """
    if not lines:
        return "untitled"
    own = [line for line in lines if line.is_own] or list(lines)
    # An answer says less of what it is about than what was asked.
    openings = [line for line in own if not read_cues(line.text).follows] or own
    clause = _best_clause([line.text for line in openings], score)
    covered = set(terms_of(clause, MAX_LABEL_CHARS))
    activity = activity_of([line.text for line in own])
    name = f"{activity}: {clause}" if activity and clause else clause or activity
    picked: list[str] = []
    for phrase, terms in _ranked(lines, score):
        shown = _readable(phrase)
        room = MAX_LABEL_CHARS - len(name) - len(", ".join([*picked, shown])) - 3
        if len(picked) == PHRASES or len(terms & covered) * 2 > len(terms) or room < 0:
            continue
        picked.append(shown)
        covered |= terms
    if picked:
        name = f"{name} ({', '.join(picked)})" if name else ", ".join(picked)
    return name or "untitled"


def summarize(lines: Sequence[Line]) -> str:
    """Return a few sentences that members say: the first, one of the middle and the last."""
    own = [line for line in lines if line.is_own] or list(lines)
    chosen = own if len(own) <= SENTENCES else [own[0], own[len(own) // 2], own[-1]]
    said: list[str] = []
    for line in chosen:
        sentence = _fullest_sentence(line.text)
        if sentence and sentence not in said:
            said.append(sentence)
    return "\n".join(said)


@lru_cache(maxsize=_KEPT_LINES)
def _fullest_sentence(text: str) -> str:
    """Return the first sentence that says much, or else the one that says most."""
    sentences = [" ".join(match.group().split()) for match in _SENTENCE.finditer(text)]
    best = max(sentences, key=lambda one: min(len(terms_of(one, 400)), 6), default="")
    return _clip(best, MAX_SENTENCE_CHARS)


@lru_cache(maxsize=_KEPT_LINES)
def _clauses(text: str) -> tuple[tuple[str, frozenset[str]], ...]:
    """Return the clauses of a line without greetings, each with its terms."""
    found = []
    for match in _CLAUSE.finditer(_FRAME.sub(" ", text)):
        clause = _LEAD.sub("", " ".join(match.group().split()))
        clause = _clip(clause, _MAX_HAN_CLAUSE_CHARS if has_han(clause) else _MAX_CLAUSE_CHARS)
        plain = frozenset(
            term
            for term in terms_of(clause, MAX_LABEL_CHARS)
            if not term.startswith(IDENTIFIER_MARK)
        )
        if plain:
            found.append((clause, plain))
    return tuple(found)


def _best_clause(texts: Sequence[str], score: Score) -> str:
    """Return the one or two clauses whose terms stand for the scene most."""
    found: list[tuple[float, int, str, frozenset[str]]] = []
    factor = 1.0
    for text in texts:
        for clause, plain in _clauses(text):
            worth = factor * sum(map(score, sorted(plain)))
            if worth > 0.0:
                found.append((worth, len(found), clause, plain))
        factor *= _LATER
    ranked = sorted(found, key=lambda one: (-one[0], one[1]))
    if not ranked:
        return ""
    best = ranked[0]
    for other in ranked[1:]:
        is_new = len(other[3] & best[3]) * 2 <= len(other[3])
        if is_new and len(best[2]) + len(other[2]) <= _MAX_CLAUSES_CHARS:
            return "; ".join(one[2] for one in sorted((best, other), key=lambda one: one[1]))
    return best[2]


def _readable(name: str) -> str:
    """Return the last part of a path, any other phrase as it is."""
    return name.rsplit("/", 1)[-1] if _PATH.fullmatch(name) else name


def _clip(text: str, most: int) -> str:
    """Return the beginning of a text, cut between words where there are any."""
    if len(text) <= most:
        return text
    head = text[: most - 1]
    space = head.rfind(" ")
    return f"{head[: space if space > most // 2 else most - 1].rstrip()}…"


def _ranked(lines: Sequence[Line], score: Score) -> list[tuple[str, frozenset[str]]]:
    found: dict[str, tuple[float, frozenset[str]]] = {}
    again: set[str] = set()
    for line in lines:
        factor = 1.0 if line.is_own else _OTHERS
        for phrase, worth, terms in _phrases(line.text, score):
            known = found.get(phrase)
            gain = worth * factor
            # A phrase that comes again says more, though not twice as much.
            found[phrase] = (known[0] + gain * _AGAIN, terms) if known else (gain, terms)
            if known:
                again.add(phrase)
    order = sorted(
        (one for one in found.items() if one[0] in again or _is_one_thing(one[0])),
        key=lambda one: (-one[1][0], one[0]),
    )
    return [(phrase, terms) for phrase, (_, terms) in order[:60]]


def _is_one_thing(phrase: str) -> bool:
    """Whether words that met once belong together: a name, a number of something, or not English."""
    words = phrase.split(" ")
    return (
        len(words) == 1
        or not phrase.isascii()
        or all(word[0].isupper() or word[0].isdigit() for word in words)
    )


def _phrases(text: str, score: Score) -> _Run:
    """Return runs of up to two words, or four Chinese characters, that stand for the scene."""
    found: _Run = []
    run: _Run = []
    for token, terms, plain in _tokens(text):
        worth = max(map(score, terms), default=0.0)
        if is_han(token[0]) or worth <= 0.0:
            found += _windows(run)
            run = []
            if is_han(token[0]):
                found += _han_phrases(token, score)
            continue
        run.append((token, worth, plain))
    return found + _windows(run)


@lru_cache(maxsize=_KEPT_LINES)
def _tokens(text: str) -> tuple[tuple[str, frozenset[str], frozenset[str]], ...]:
    """Return the words and marks of a line, each with its terms, and those that name no single thing."""
    found = []
    for token in _TOKEN.findall(_FRAME.sub(" ", text)):
        terms = token_terms(token)
        plain = frozenset(term for term in terms if not term.startswith(IDENTIFIER_MARK))
        found.append((token, terms, plain or terms))
    return tuple(found)


def _han_phrases(run: str, score: Score) -> _Run:
    """Return the pieces of a run of Chinese characters, none across a function word."""
    return [
        phrase for token in _PARTICLES.split(run) if len(token) > 1
        for phrase in _han_pieces(token, score)
    ]  # fmt: skip


def _han_pieces(token: str, score: Score) -> _Run:
    found: _Run = []
    for start in range(len(token) - 1):
        worth = 0.0
        terms: set[str] = set()
        for end in range(start + 2, min(start + _MAX_HAN, len(token)) + 1):
            pair = token[end - 2 : end]
            one = score(pair) if terms_of(pair, 8) else 0.0
            if one <= 0.0:
                break
            worth += one
            terms.add(pair)
            found.append((token[start:end], worth / len(terms) ** _SPREAD, frozenset(terms)))
    return found


def _windows(run: _Run) -> _Run:
    found: _Run = []
    for start in range(len(run)):
        worth = 0.0
        terms: frozenset[str] = frozenset()
        for end in range(start, min(start + _MAX_WORDS, len(run))):
            _, one, own = run[end]
            worth += 0.0 if own <= terms else one
            terms |= own
            phrase = " ".join(item[0] for item in run[start : end + 1])
            found.append((phrase, worth / (end - start + 1) ** _SPREAD, terms))
    return found
