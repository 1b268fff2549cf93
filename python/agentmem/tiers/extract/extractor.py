"""The extractor that needs no model: word lists, closed grammars, dates; the same text, the same facts."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from agentmem.models import Candidate, Message
from agentmem.tiers.extract.chinese import read_chinese
from agentmem.tiers.extract.english import read_english
from agentmem.tiers.extract.found import PRIORITY, Found, Reading
from agentmem.tiers.extract.segments import (
    Language,
    Sentence,
    blank_foreign,
    blank_header,
    language_of,
    sentences,
)
from agentmem.tiers.extract.vietnamese import read_vietnamese

__all__ = ["RuleExtractor"]

# What one message may give; more of it is a dump, not something said.
MOST_FACTS: Final = 40
# How much of one message is read: a person writes no more, a paste of megabytes costs a bounded time.
MOST_CHARACTERS: Final = 1_000_000

_Reader = Callable[[Sentence, Reading, datetime], list[Found]]
_READERS: Final[dict[Language, _Reader]] = {
    "en": read_english,
    "vi": read_vietnamese,
    "zh": read_chinese,
}


class RuleExtractor:
    """Reads English, Vietnamese (with and without marks) and Chinese by rules.

    Only what a person says is read: assistants and tools state nothing about anybody. Questions,
    suppositions, quotations, code, injected blocks and one-off orders are silent. Of one message at
    most ``MOST_CHARACTERS`` characters are read and ``MOST_FACTS`` facts are given.
    """

    @property
    def id(self) -> str:
        """Names the rules and their version."""
        return "rules-1"

    def extract(
        self, messages: Sequence[Message], *, context: Sequence[Message] = ()
    ) -> list[Candidate]:
        """Return the facts that the messages state, in their order.

        Args:
            messages: Messages of one session in order.
            context: The ones before; the rules read each message by itself.
        """
        del context
        found: list[Candidate] = []
        for message in messages:
            if message.role == "user":
                found += _read(message)
        return found


def _read(message: Message) -> list[Candidate]:
    text, offsets = _composed(message.text[:MOST_CHARACTERS])
    text = blank_header(blank_foreign(text))
    language = language_of(text)
    reader = _READERS[language]
    reading = Reading(text)
    candidates: list[Candidate] = []
    for sentence in sentences(text):
        for one in reader(sentence, reading, message.time):
            if offsets is not None:
                one.start, one.end = offsets[one.start], offsets[one.end]
            candidates.append(_candidate(one, message))
            if len(candidates) == MOST_FACTS:
                return candidates
    return candidates


def _composed(text: str) -> tuple[str, list[int] | None]:
    """Return the text with letters and marks composed, and where each of its characters stood before.

    The rules compare composed letters; a Vietnamese text may come with its marks apart.
    """
    if text.isascii() or unicodedata.is_normalized("NFC", text):
        return text, None
    parts: list[str] = []
    offsets: list[int] = []
    start = 0
    for at in range(1, len(text) + 1):
        if at < len(text) and (unicodedata.combining(text[at]) or "\u1160" <= text[at] <= "\u11ff"):
            continue
        part = unicodedata.normalize("NFC", text[start:at])
        parts.append(part)
        offsets += [start] * len(part)
        start = at
    offsets.append(len(text))
    return "".join(parts), offsets


def _candidate(one: Found, message: Message) -> Candidate:
    return Candidate(
        text=one.text,
        kind=one.kind,
        source=message.id,
        span=(one.start, one.end),
        subject=one.subject,
        attribute=one.attribute,
        value=one.value,
        ends=one.ends,
        event_time=one.when.when if one.when else None,
        confidence=one.confidence,
        priority=PRIORITY[one.kind],
    )
