"""Lasting rules in English: what an assistant or a team is told to do from now on."""

# ruff: noqa: E501 - a pattern or a list is read more easily whole
from __future__ import annotations

from typing import Final

from agentmem.tiers.extract import english_words as lexicon
from agentmem.tiers.extract.english_words import lemma
from agentmem.tiers.extract.found import Found, Reading
from agentmem.tiers.extract.segments import Word
from agentmem.tiers.word_list import words

__all__ = ["read_rule"]

_LEADS: Final = words("please and but also so then ok okay oh kindly just remember note")
_STARTERS: Final = (
    lexicon.RULE_VERBS
    | _LEADS
    | words(
        "forget ignore drop scrap cancel disregard do you stop no only i we all every each our "
        "when if before after for in"
    )
)
# A word of every lasting phrase: without one of them no phrase need be looked for.
_HINTS: Final = (
    lexicon.LASTING_WORDS
    | frozenset(phrase.split()[-1] for phrase in lexicon.LASTING)
    | {"rule", "must", "again"}
)
_SHORT_BAN: Final = 8
_GENERAL: Final = words("all every any each everything anything")
_OPENERS: Final = ("from now on", "from today on", "from today", "going forward", "in the future", "in future", "by default",
                   "as a rule", "from here on", "starting today", "whenever", "every time", "each time", "as of today",
                   "as of now", "when you", "if you", "before you", "after you", "for every", "for all", "for each", "for any",
                   "when writing", "when i ask", "when i say", "if i ask", "before committing", "before pushing", "in every", "in all", "from this point on", "unless i say otherwise", "henceforth", "for all future")  # fmt: skip


# Openers with words of their own before the order: "whenever you show money, …".
_CONDITIONS: Final = frozenset(_OPENERS) - {
    "from now on", "from today on", "from today", "going forward", "in the future", "in future", "by default", "as a rule",
    "from here on", "starting today", "as of today", "as of now", "from this point on", "unless i say otherwise", "henceforth",
}  # fmt: skip


def _one_off(text: str) -> bool:
    return any(phrase in text for phrase in lexicon.ONE_OFF)


def _pieces(tokens: list[str]) -> list[tuple[int, int]]:
    """Return the stretches between signs and joining words at which an order may begin."""
    cuts = [0]
    for k, token in enumerate(tokens):
        if token in {";", ":", "—", "–", ","} or (
            token in {"and", "but"} and _order_at(tokens, k + 1, len(tokens), is_strict=True)
        ):
            cuts.append(k + 1)
    return [
        (one, two) for one, two in zip(cuts, [*cuts[1:], len(tokens)], strict=True) if two > one
    ]


def _order_at(tokens: list[str], at: int, end: int, *, is_strict: bool = False) -> int:
    """Return 1 + the index of the verb of an imperative that begins here, or 0."""
    k = at
    while k < end and (
        tokens[k] in _LEADS
        or (not is_strict and tokens[k] in {"always", "never", "you", "must", "should"})
    ):
        k += 1
    if (
        k < end
        and k > at
        and tokens[k - 1] in {"always", "never"}
        and tokens[k].isalpha()
        and lemma(tokens[k])[1] == "base"
    ):
        return k + 1
    if (
        is_strict
        and k + 1 < end
        and tokens[k] in {"always", "never"}
        and tokens[k + 1].isalpha()
        and lemma(tokens[k + 1])[1] == "base"
    ):
        return k + 2
    if k < end and tokens[k] == "do" and k + 1 < end and tokens[k + 1] == "not":
        k += 2
        if k < end and tokens[k] in {"ever", "you"}:
            k += 1
        return k + 1 if k < end and (lemma(tokens[k])[1] == "base") else 0
    if k + 1 < end and tokens[k] == "stop" and tokens[k + 1].endswith("ing"):
        return k + 1
    if k + 1 < end and tokens[k] == "only" and tokens[k + 1] in lexicon.RULE_VERBS:
        return k + 2
    return (
        k + 1 if k < end and tokens[k] in lexicon.RULE_VERBS and not (is_strict and k == at) else 0
    )


def read_rule(tokens: list[str], places: list[Word], ended: str, reading: Reading) -> list[Found]:
    """Return the lasting rules of a sentence; one-off orders and questions are silent."""
    if ended == "?":
        return []
    hinted = not _HINTS.isdisjoint(tokens)
    if not hinted and tokens[0] not in _STARTERS:
        return []
    whole = " ".join(tokens)
    if _one_off(whole):
        return []
    lasting = hinted and (
        not lexicon.LASTING_WORDS.isdisjoint(tokens)
        or any(phrase in whole for phrase in lexicon.LASTING)
    )
    found: list[Found] = []
    if lasting or hinted or tokens[0] in _STARTERS or "rule" in tokens or "must" in tokens:
        for start, end in _merged(tokens, _pieces(tokens)):
            rule = _rule_of(tokens, places, start, end, reading=reading)
            if rule is not None:
                found.append(rule)
    return found


def _merged(tokens: list[str], pieces: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join an opener ("from now on,", "whenever you show money,") to the order that follows it."""
    joined: list[tuple[int, int]] = []
    is_complete = False
    for start, end in pieces:
        order = bool(_order_at(tokens, start, end))
        if joined:
            first = joined[-1][0]
            before = " ".join(tokens[first : joined[-1][1]])
            opens = before.startswith(_OPENERS)
            conditional = before.startswith(("when ", "if ", "for "))
            is_next = (opens and not is_complete) or (conditional and order and not is_complete)
            is_more = not order and tokens[start - 1] == ","
            if is_next or is_more:
                joined[-1] = (first, end)
                is_complete = is_complete or order
                continue
        joined.append((start, end))
        is_complete = order
    return joined


def _rule_of(
    tokens: list[str], places: list[Word], start: int, end: int, *, reading: Reading
) -> Found | None:
    while end - 1 > start and (
        tokens[end - 1] in lexicon.PUNCTUATION or tokens[end - 1] in {"and", "but"}
    ):
        end -= 1
    piece = tokens[start:end]
    text = " ".join(piece)
    if text.startswith(("if ", "i ", "it ", "he ", "she ", "they ")) and not text.startswith(
        ("if you ", "i want you to ", "i need you to ", "i would like you to ", "i expect you to ")
    ):
        return None
    here = any(
        phrase in text for phrase in lexicon.LASTING
    ) or not lexicon.LASTING_WORDS.isdisjoint(piece)
    order = start
    opener = next((one for one in _OPENERS if text.startswith(one)), None)
    if opener:
        order = start + len(opener.split())
        while order < end and tokens[order] not in lexicon.PUNCTUATION and opener in _CONDITIONS:
            order += 1
        while order < end and tokens[order] in lexicon.PUNCTUATION:
            order += 1
    subject = "assistant"
    asked = (
        "i want you to ",
        "i need you to ",
        "i would like you to ",
        "i expect you to ",
        "make sure to ",
        "make sure you ",
        "remember to ",
        "be sure to ",
    )
    for phrase in asked:
        if " ".join(tokens[order:end]).startswith(phrase):
            order += len(phrase.split())
            break
    if piece[0] in {"forget", "ignore", "drop", "scrap", "remove", "cancel", "disregard"} and {
        "rule",
        "rules",
        "convention",
        "policy",
        "instruction",
        "guideline",
        "requirement",
    } & set(piece[1:6]):
        return _found(tokens, places, start, end, reading, "assistant", 0.85, ends=True)
    freed = (text.startswith("no need") and {"anymore", "more", "longer"} & set(piece)) or (
        text.startswith(("you can ", "you may ")) and piece[-1] == "again"
    )
    if freed:
        return _found(tokens, places, start, end, reading, "assistant", 0.8, ends=True)
    verb = _order_at(tokens, order, end)
    if verb:
        if not (
            here
            or opener
            or (
                tokens[verb - 2 : verb - 1] == ["only"] and {"this", "that", "it"}.isdisjoint(piece)
            )
            or _is_general(tokens[verb - 1 : end], order < verb - 1 and "not" in tokens[order:verb])
        ):
            return None
        if tokens[verb - 1] in {"mind", "worry", "hesitate"}:
            return None
    else:
        told = _team_rule(tokens, order, end, here=here, reading=reading)
        if told is None:
            return None
        subject = told
    return _found(tokens, places, start, end, reading, subject, 0.9 if here else 0.7)


def _found(  # noqa: PLR0917 - the parts of one sentence
    tokens: list[str], places: list[Word], start: int, end: int, reading: Reading, subject: str, confidence: float,
    *, ends: bool = False,
) -> Found:  # fmt: skip
    while start < end - 1 and tokens[start] in {"and", "but", "please", "also", "so", ","}:
        start += 1
    first, last = places[start].start, places[end - 1].end
    text = " ".join(reading.text[first:last].split())
    return Found(
        "instruction",
        first,
        last,
        f"{text[:1].upper()}{text[1:]}.",
        subject,
        ends=ends,
        confidence=confidence,
    )


def _is_general(order: list[str], is_negated: bool) -> bool:
    """Whether an order without a word like "always" still speaks of every case."""
    if not lexicon.STYLE_NOUNS.isdisjoint(order[1:5]) and (
        _GENERAL.intersection(order)
        or order[0] in {"keep", "write", "answer", "name", "prefix", "format"}
    ):
        return not {"this", "these", "that", "those"} & set(order)
    if order[0] in {
        "answer",
        "reply",
        "respond",
        "speak",
        "talk",
        "call",
        "address",
        "use",
        "write",
    } and not lexicon.STYLE_WORDS.isdisjoint(order):
        return not {"this", "these", "that", "those", "it"} & set(order)
    if order[0] == "stop" or (is_negated is False and order[:1] == ["use"] and "only" in order):
        return {"this", "that", "it", "now"}.isdisjoint(order)
    if (
        {"all", "every", "any"} & set(order)
        and {"this", "that", "it", "them", "me", "these", "those"}.isdisjoint(order)
        and order[0] in {"use", "write", "keep", "add", "put", "include"}
    ):
        return True
    if order[0] == "call" and order[1:2] == ["me"]:
        return True
    deictic = {
        "this",
        "that",
        "it",
        "yet",
        "here",
        "now",
        "these",
        "those",
        "me",
        "worry",
        "today",
        "them",
    }
    if is_negated:
        return order[0] in lexicon.RULE_VERBS and not deictic & set(order) and len(order) > 1
    return (
        bool(_GENERAL.intersection(order[1:4]))
        and not deictic & set(order)
        and order[0] in {"write", "use", "keep", "name", "put", "format", "sign", "prefix", "store"}
    )


def _team_rule(tokens: list[str], at: int, end: int, *, here: bool, reading: Reading) -> str | None:
    """Return whose rule a statement is ("we never deploy on Fridays", "PRs must have …")."""
    piece = tokens[at:end]
    if not piece:
        return None
    if piece[0] in {"we", "everyone", "everybody", "nobody", "developers"} and reading.is_team:
        if {"always", "never", "must"} & set(piece[:4]) or piece[1:3] == ["do", "not"]:
            return "team"
        return None
    if {"rule", "policy", "convention", "guideline"} & set(piece[:5]) and (
        {"is", "that", ":", "says"} & set(piece[:7])
    ):
        return "team"
    if (
        piece[0] == "no"
        and len(piece) <= _SHORT_BAN
        and {"i", "we", ",", "it"}.isdisjoint(piece)
        and len(piece) > 2  # noqa: PLR2004 - a length chosen on the development set
        and ("without" in piece or piece[-2:-1] == ["on"] or piece[-2:-1] == ["in"])
    ):
        return "team"
    if piece[0] in {"all", "every", "each"} and {
        "need",
        "needs",
        "require",
        "requires",
        "must",
        "should",
        "shall",
    } & set(piece[1:6]):
        return "team"
    if piece[0] in {"i", "he", "she", "they", "it", "there", "you"}:
        return None
    if (
        "must" in piece[1:6]
        and "have" not in piece[piece.index("must") + 1 : piece.index("must") + 2]
    ):
        return "team"
    may = any(piece[k] == "may" and k + 1 < len(piece) for k in range(1, min(6, len(piece))))
    return "team" if may and here else None
