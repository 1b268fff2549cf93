"""Sentences whose form alone tells: "what matters most is …", "let's postpone …", "… is my hobby"."""

# ruff: noqa: E501, ISC004 - a pattern or a list is read more easily whole
from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from agentmem.tiers.extract.dates import Dated
from agentmem.tiers.extract.english_text import from_outside
from agentmem.tiers.extract.found import Found, Reading
from agentmem.tiers.extract.segments import Word
from agentmem.tiers.word_list import words

__all__ = ["read_values"]

# Where one of the words stands, the pattern is searched in the lower-case sentence.
_VALUES: Final = tuple(
    (frozenset(hints.split()), re.compile(pattern))
    for hints, pattern in (
        ("most", r"\bwhat (?:matters|i (?:value|care about|want)) (?:the )?most\b.{0,40}?\b(?:is|are)\b.+"),
        ("most", r"\b(?:the )?most (?:important|crucial|essential|valuable) (?:thing|aspect|part|point|factor|quality|consideration)?.{0,30}?\bis\b.+"),
        ("important", r"[^,.;]{3,80}\b(?:is|are) (?:very |really |extremely |so |particularly |most )?important (?:to|for) (?:me|us|my|our)\b.*"),
        ("hobby passion pleasure favorite favourite weakness strength preference joy priority thing",
         r"[^,.;]{3,80}\b(?:is|are|has been|have been) (?:indeed |still |always )*my (?:\w+ "
         r")?(?:hobby|passion|pleasure|favou?rite|weakness|strength|preference|joy|priority"
         r"|thing)\b.*"),
        ("first", r"[^,.;]{3,60}\bcomes? first\b(?! (?:serve|to|and|in the)).*"),
        ("suits suit works work", r"[^,.;]{3,60}\b(?:suits?|works? best for|works? better for) (?:me|my)\b.*"),
    )
)  # fmt: skip
_HINTS: Final = frozenset({"us"}.union(*(hints for hints, _ in _VALUES)))
_PROPOSAL: Final = re.compile(
    r"\blet(?: us|'s|’s) (?:just |tentatively |also |all |both |now )*(?P<verb>\w+)\b[^;!?]*"
)
_DECIDING: Final = words(
    "put reschedule cancel postpone skip use go switch move drop keep stick adopt choose pick "
    "standardize stop delay scrap settle "
    "set call make"
)
_MEETING: Final = words(
    "meet schedule go have do start gather get make set plan grab eat catch visit hold arrange "
    "book talk discuss play see watch "
    "try celebrate leave reschedule move postpone"
)


def read_values(
    tokens: Sequence[str],
    places: Sequence[Word],
    reading: Reading,
    dates: Sequence[Dated],
    found: Sequence[Found],
) -> list[Found]:
    """Return what the form of a whole sentence tells, where no clause has told it yet.

    Args:
        tokens: The expanded tokens.
        places: The source word of each.
        reading: The text.
        dates: The dates of the sentence.
        found: What its clauses told.
    """
    if "remind" in tokens[:3] and "me" in tokens[:4] and dates:
        span = (places[0].start, places[-1].end)
        if any(one.start < span[1] and one.end > span[0] for one in found):
            return []
        said = " ".join(from_outside(reading.text[span[0] : span[1]]).split())
        day = dates[0].when.date().isoformat()
        return [
            Found(
                "event",
                *span,
                f"The user asks: {said} ({day}).",
                "user",
                when=dates[0],
                confidence=0.7,
            )
        ]
    if _HINTS.isdisjoint(tokens):
        return []
    base, end = places[0].start, places[-1].end
    text = reading.text[base:end]
    lower = text.lower() if len(text.lower()) == len(text) else text
    if "us" in tokens and (match := _PROPOSAL.search(lower)):
        return _proposed(match, base, text, dates, found)
    for hints, pattern in _VALUES:
        match = None if hints.isdisjoint(tokens) else pattern.search(lower)
        if match is None:
            continue
        span = (
            base + match.start() + len(match[0]) - len(match[0].lstrip(" ,")),
            base + match.end(),
        )
        if any(one.start < span[1] and one.end > span[0] for one in found):
            return []
        said = " ".join(from_outside(reading.text[span[0] : span[1]]).split())
        return [
            Found(
                "persona",
                *span,
                f"For the user, {said[:1].lower()}{said[1:]}.",
                "user",
                confidence=0.75,
            )
        ]
    return []


def _proposed(
    match: re.Match[str], base: int, text: str, dates: Sequence[Dated], found: Sequence[Found]
) -> list[Found]:
    span = (base + match.start(), base + match.end())
    inside = [one for one in dates if span[0] <= one.start and one.end <= span[1]]
    if any(one.start < span[1] and one.end > span[0] for one in found):
        return []
    if inside and match["verb"] in _MEETING:
        kind = "event"
    elif match["verb"] in _DECIDING:
        kind = "decision"
    else:
        return []
    when = inside[0] if inside else None
    said = " ".join(text[match.start() : match.end()].split()).rstrip(" ,")
    day = f" ({when.when.date().isoformat()})" if when else ""
    return [Found(kind, *span, f"Agreed: {said}{day}.", "user", when=when, confidence=0.7)]
