"""What a scene is called, and its summary, from its own words."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from agentmem.tiers.cluster.activities import activity_of
from agentmem.tiers.cluster.terms import IDENTIFIER_MARK, is_han, terms_of

if TYPE_CHECKING:
    from agentmem.tiers.cluster.profile import Line

__all__ = ["MAX_LABEL_CHARS", "name_scene", "summarize"]

MAX_LABEL_CHARS: Final = 80
MAX_SENTENCE_CHARS: Final = 160
PHRASES: Final = 3
_MAX_WORDS: Final = 3
_MAX_HAN: Final = 6
_OTHERS: Final = 0.5
"""What words of an agent count beside those of a user."""

Score = Callable[[str], float]

_TOKEN: Final = re.compile(r"[^\W_][\w'’.:/#+-]*[\w+#]|[^\W_]|[.,;:!?()\[\]{}\"“”。，；：！？、\n]")
_SENTENCE: Final = re.compile(r"[^.!?\n。！？]+(?:[.!?。！？]+(?=\s|$)|[.!?。！？]|$)")
_FRAME: Final = re.compile(r"[{}\[\]\"`*_#|]+")


def name_scene(lines: Sequence[Line], score: Score) -> str:
    """Return a name: what is done, then with what, at most 80 characters.

    Args:
        lines: The words of its members.
        score: How much a term stands for the scene among all scenes.
    """
    found: dict[str, tuple[float, frozenset[str]]] = {}
    for line in lines:
        factor = 1.0 if line.is_own else _OTHERS
        for phrase, worth, terms in _phrases(line.text, score):
            known = found.get(phrase)
            gain = worth * factor
            # A phrase that comes again says more, each time less.
            found[phrase] = (known[0] + gain / 4, terms) if known else (gain, terms)
    picked: list[str] = []
    covered: set[str] = set()
    for phrase, (_, terms) in sorted(found.items(), key=lambda one: (-one[1][0], one[0])):
        if len(picked) == PHRASES:
            break
        if len(terms & covered) * 2 > len(terms):
            continue
        if len(", ".join([*picked, phrase])) > MAX_LABEL_CHARS - 15:
            continue
        picked.append(phrase)
        covered |= terms
    own = [line.text for line in lines if line.is_own] or [line.text for line in lines]
    activity = activity_of(own)
    name = ", ".join(picked)
    if activity and name:
        name = f"{activity} {name}"
    elif not name:
        name = _clip(" ".join(own[0].split()), MAX_LABEL_CHARS) if own else ""
    return name[:MAX_LABEL_CHARS].strip() or "untitled"


def summarize(lines: Sequence[Line]) -> str:
    """Return a few sentences that members say: the first, one of the middle and the last."""
    own = [line for line in lines if line.is_own] or list(lines)
    chosen = own if len(own) <= PHRASES else [own[0], own[len(own) // 2], own[-1]]
    said: list[str] = []
    for line in chosen:
        sentence = _sentence(line.text)
        if sentence and sentence not in said:
            said.append(sentence)
    return "\n".join(said)


def _sentence(text: str) -> str:
    """Return the first sentence of a text that says something, on one line."""
    sentences = [" ".join(match.group().split()) for match in _SENTENCE.finditer(text)]
    best = max(sentences, key=lambda one: min(len(terms_of(one, 400)), 6), default="")
    return _clip(best, MAX_SENTENCE_CHARS)


def _clip(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def _phrases(text: str, score: Score) -> list[tuple[str, float, frozenset[str]]]:
    """Return runs of up to three words, or six Chinese characters, that stand for the scene."""
    found: list[tuple[str, float, frozenset[str]]] = []
    run: list[tuple[str, float, frozenset[str]]] = []
    for match in _TOKEN.finditer(_FRAME.sub(" ", text)):
        token = match.group()
        if is_han(token[0]):
            found += _windows(run, " ", _MAX_WORDS)
            run = []
            found += _han_phrases(token, score)
            continue
        terms = frozenset(terms_of(token, 80))
        worth = max((score(term) for term in terms), default=0.0)
        if worth <= 0.0:
            found += _windows(run, " ", _MAX_WORDS)
            run = []
        else:
            plain = frozenset(term for term in terms if not term.startswith(IDENTIFIER_MARK))
            run.append((token, worth, plain or terms))
    found += _windows(run, " ", _MAX_WORDS)
    return found


def _han_phrases(token: str, score: Score) -> list[tuple[str, float, frozenset[str]]]:
    found: list[tuple[str, float, frozenset[str]]] = []
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
            found.append((token[start:end], worth / len(terms) ** 0.6, frozenset(terms)))
    return found


def _windows(
    run: Sequence[tuple[str, float, frozenset[str]]], joint: str, most: int
) -> list[tuple[str, float, frozenset[str]]]:
    found = []
    for start in range(len(run)):
        worth = 0.0
        terms: frozenset[str] = frozenset()
        for end in range(start, min(start + most, len(run))):
            token, one, own = run[end]
            worth += 0.0 if own <= terms else one
            terms |= own
            count = end - start + 1
            phrase = joint.join(item[0] for item in run[start : end + 1])
            found.append((phrase, worth / count**0.6, terms))
    return found
