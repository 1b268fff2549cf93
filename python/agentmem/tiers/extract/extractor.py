"""The extractors that need no language model: the same text, the same facts."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final

from agentmem.models import Candidate, Message
from agentmem.tiers.candidates import MAX_TEXT
from agentmem.tiers.extract.chinese import read_chinese
from agentmem.tiers.extract.dates import Dated, find_dates
from agentmem.tiers.extract.english import read_english
from agentmem.tiers.extract.features import Setting, features
from agentmem.tiers.extract.found import PRIORITY, Found, Reading
from agentmem.tiers.extract.linear import LinearModel, packaged_linear
from agentmem.tiers.extract.names import LEARNT, RULES
from agentmem.tiers.extract.segments import (
    Language,
    Sentence,
    blank_foreign,
    blank_handed,
    blank_header,
    language_of,
    sentences,
)
from agentmem.tiers.extract.tense import tense_of
from agentmem.tiers.extract.told import told as worded
from agentmem.tiers.extract.tuned import TunedModel, packaged_tuned
from agentmem.tiers.extract.verdict import Verdict
from agentmem.tiers.extract.vietnamese import read_vietnamese

__all__ = ["Heard", "LearntExtractor", "RuleExtractor", "heard"]

# What one message may give; more of it is a dump, not something said.
MOST_FACTS: Final = 40
# How much of one message is read: a person writes no more, a paste of megabytes costs a bounded time.
MOST_CHARACTERS: Final = 1_000_000
# How many times a rule's wording a sentence may be for the wording to stand for it.
_WHOLE: Final = 1.5

_Reader = Callable[[Sentence, Reading, datetime], list[Found]]
_READERS: Final[dict[Language, _Reader]] = {
    "en": read_english,
    "vi": read_vietnamese,
    "zh": read_chinese,
}


class RuleExtractor:
    """Reads English, Vietnamese (with and without marks) and Chinese by rules alone.

    Only what a person says is read: assistants and tools state nothing about anybody. Questions,
    suppositions, quotations, code, injected blocks and one-off orders are silent. Of one message at
    most ``MOST_CHARACTERS`` characters are read and ``MOST_FACTS`` facts are given.
    """

    @property
    def id(self) -> str:
        """Names the rules and their version."""
        return RULES

    def extract(
        self, messages: Sequence[Message], *, context: Sequence[Message] = ()
    ) -> list[Candidate]:
        """Return the facts that the messages state, in their order.

        Args:
            messages: Messages of one session in order.
            context: The ones before; the rules read each message by itself.
        """
        del context
        return [one for message in messages for one in _read(message, _by_rules)]


class LearntExtractor:
    """Reads the same languages: a learnt model decides what is worth it, the rules say it.

    English is judged by the embedder's own encoder, tuned for this (``tuned.py``), Vietnamese and
    Chinese by a linear model over words and what the rules gave (``linear.py``). A sentence that is
    worth remembering gives one fact of the kind that the model names; several where the rules fill
    several slots. Where it is not, it is silent whatever the rules gave. What ``RuleExtractor``
    says of speakers, code and bounds holds here too.

    Args:
        tuned: The judge of English; that of the package if None.
        linear: The judge of the others; that of the package if None.
    """

    def __init__(
        self, *, tuned: TunedModel | None = None, linear: LinearModel | None = None
    ) -> None:
        self._tuned, self._linear = tuned, linear

    @property
    def id(self) -> str:
        """Names the models and their version."""
        return LEARNT

    def extract(
        self, messages: Sequence[Message], *, context: Sequence[Message] = ()
    ) -> list[Candidate]:
        """Return the facts that the messages state, in their order.

        Args:
            messages: Messages of one session in order.
            context: The ones before; each message is read by itself.

        Raises:
            ModelNotFoundError: The package with the encoder's weights is not installed.
            EmbeddingError: The encoder can't be run on this machine.
        """
        del context
        return [one for message in messages for one in _read(message, self._weighed)]

    def _weighed(self, sentences: Sequence[Heard]) -> Iterator[Found]:
        if not sentences:
            return
        language = sentences[0].setting.language
        if language == "en":
            tuned = self._tuned or packaged_tuned()
            least, verdicts = tuned.thresholds, tuned.judge(sentences)
        else:
            linear = self._linear or packaged_linear()
            least = linear.least(language)
            verdicts = (linear.judge(one.features()) for one in sentences)
        for one, verdict in zip(sentences, verdicts, strict=True):
            if verdict.worth >= least[bool(one.found)]:
                yield from _told(one, verdict)


@dataclass(slots=True)
class Heard:
    """A sentence, what the rules gave of it, and the message around it."""

    text: str
    at: int
    found: list[Found]
    setting: Setting
    said_at: datetime
    spoke_before: bool

    @property
    def sentence(self) -> Sentence:
        """Its words."""
        return self.setting.sentences[self.at]

    @property
    def start(self) -> int:
        """Where it begins in the message."""
        return self.sentence.words[0].start

    @property
    def end(self) -> int:
        """Where it ends in the message, without its sign."""
        return self.sentence.words[-1].end

    @property
    def rule(self) -> Found | None:
        """What the rules gave of it as a whole: what fills a slot, else the first."""
        slots = (one for one in self.found if one.attribute is not None)
        return next(slots, None) or next(iter(self.found), None)

    def day(self) -> Dated | None:
        """Return the date of what it tells: an absolute one, else one to come, else the first; a feast last.

        A rule's knows the tense ("on Monday I met"), and may come from the sentence before.
        """
        ruled = self.rule.when if self.rule is not None else None
        text, language = self.text[self.start : self.end], self.setting.language
        dates = find_dates(text, self.said_at, language)
        if not dates:
            return ruled
        lower = text.lower()
        told = [
            one.in_tense(tense_of(lower, one.start, one.end, language)) if one.other else one
            for one in dates
        ]
        today = self.said_at.date()
        at = min(
            range(len(told)),
            key=lambda at: (told[at].is_weak, told[at].is_relative, told[at].when.date() <= today),
        )
        day = told[at].moved(self.start)
        is_ruled = ruled is not None and ruled.start == day.start and ruled.when != dates[at].when
        return ruled if is_ruled else day

    def features(self) -> set[str]:
        """Return the names of its features."""
        text = self.text[self.start : self.end]
        return features(text, self.setting, self.at, self.found, spoke_before=self.spoke_before)


def heard(message: Message) -> Iterator[Heard]:
    """Yield the sentences of a message, its letters composed, with what the rules give of each."""
    whole, _ = _composed(message.text[:MOST_CHARACTERS])
    text = blank_header(blank_handed(blank_foreign(whole)))
    language = language_of(text)
    setting = Setting.of(whole, language, list(sentences(text)))
    reader, reading, spoke = _READERS[language], Reading(text), False
    for at, sentence in enumerate(setting.sentences):
        found = reader(sentence, reading, message.time)
        yield Heard(text, at, found, setting, message.time, spoke)
        spoke = bool(found)


def _by_rules(sentences: Sequence[Heard]) -> Iterator[Found]:
    return (found for one in sentences for found in one.found)


def _told(heard: Heard, verdict: Verdict) -> list[Found]:
    """Return the facts of a sentence that a model finds worth it."""
    language = heard.setting.language
    if sum(one.attribute is not None for one in heard.found) > 1:
        for one in heard.found:
            one.confidence = verdict.worth
        return heard.found
    start, end, rule, when = heard.start, heard.end, heard.rule, heard.day()
    text = heard.text[start:end]
    # A rule's wording stands for the sentence where it covers most of it, on the same day.
    if (
        rule is not None
        and len(heard.found) == 1
        and _WHOLE * (rule.end - rule.start) >= end - start
        and _date(rule.when) == _date(when)
    ):
        said = rule.text
    else:
        said = worded(text, language, when, start)
    # A decision is told by its verb, which the rules know.
    kind = "decision" if rule is not None and rule.kind == "decision" else verdict.kind
    found = Found(
        kind,
        start,
        end,
        said,
        _subject(kind, rule),
        when=when,
        confidence=verdict.worth,
    )
    if rule is not None:
        found.attribute, found.value, found.ends = rule.attribute, rule.value, rule.ends
    return [found]


def _date(day: Dated | None) -> date | None:
    return None if day is None else day.when.date()


def _subject(kind: str, rule: Found | None) -> str:
    """Return whom a sentence is about: a lasting rule is the assistant's to keep, else the speaker's own."""
    if rule is not None:
        return rule.subject
    return "assistant" if kind == "instruction" else "user"


def _read(message: Message, read: Callable[[Sequence[Heard]], Iterator[Found]]) -> list[Candidate]:
    if message.role != "user":
        return []
    _, offsets = _composed(message.text[:MOST_CHARACTERS])
    candidates: list[Candidate] = []
    for found in read(list(heard(message))):
        # Pasted data without a space is one word of a sentence.
        if len(found.text) > MAX_TEXT:
            continue
        if offsets is not None:
            found.start, found.end = offsets[found.start], offsets[found.end]
        candidates.append(_candidate(found, message))
        if len(candidates) == MOST_FACTS:
            break
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
