"""What a Vietnamese sentence states, typed with or without its marks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from agentmem.tiers.extract import vietnamese_words as lexicon
from agentmem.tiers.extract.dates import Dated, find_dates
from agentmem.tiers.extract.found import Found, Reading
from agentmem.tiers.extract.segments import Sentence, Word
from agentmem.tiers.extract.vietnamese_rules import read_rules
from agentmem.tiers.extract.vietnamese_text import Piece, Quoted, pieces_of, statement
from agentmem.tiers.extract.vietnamese_told import told_of
from agentmem.tiers.extract.vietnamese_view import Subject, View, skip, subject_of
from agentmem.tiers.extract.vietnamese_words import Phrases, fold
from agentmem.tiers.word_list import words

__all__ = ["read_vietnamese"]

_REGULAR: Final = Phrases("mỗi|hàng|hằng|nào cũng|mọi")
_TEAM: Final = words("nhóm team đội bọn tụi chúng bên cả phòng nhom doi bon tui chung ben ca phong")


def _tokens(sentence: Sentence) -> tuple[list[str], list[Word], bool]:
    is_bare = all(
        word.text.isascii() or not any(c.isalpha() and not c.isascii() for c in word.text)
        for word in sentence.words
    )
    tokens: list[str] = []
    places: list[Word] = []
    for word in sentence.words:
        full = lexicon.CHAT.get(word.text)
        if (
            full is not None
            and word.raw.isupper()
            and len(word.raw) == 1
            and word.text not in {"e", "a", "m", "k", "t"}
        ):
            full = None
        for part in (full or word.text).split():
            tokens.append(fold(part) if is_bare else part)
            places.append(word)
    return tokens, places, is_bare


def read_vietnamese(sentence: Sentence, reading: Reading, said_at: datetime) -> list[Found]:  # noqa: PLR0915 - a chain of rules is long and plain
    """Return the facts that a sentence states.

    Args:
        sentence: The words.
        reading: What the sentences before it told; moved on.
        said_at: The message's time, with the speaker's zone.
    """
    tokens, places, is_bare = _tokens(sentence)
    base = places[0].start
    dates = [one.moved(base)
             for one in find_dates(reading.text[base : places[-1].end], said_at, "vi")]  # fmt: skip
    dated: dict[int, int] = {}
    for one in dates:
        inside = [
            k for k, word in enumerate(places) if word.start < one.end and word.end > one.start
        ]
        if inside:
            dated[inside[0]] = inside[-1] + 1
    pieces = pieces_of(tokens, is_bare=is_bare, ended=sentence.end, dated=dated)
    found: list[Found] = []
    previous: Subject | None = None
    hearsay = False
    lasting = any(
        lexicon.LASTING.at(tokens, one.start, is_bare=is_bare) == one.end - one.start
        for one in pieces
    )
    for piece in pieces:
        if piece.is_silent:
            previous = None
            continue
        view = View(tokens, places, piece.start, piece.end, is_bare, dated)
        when = _date_of(piece, tokens, places, dates, is_bare=is_bare)
        if when is not None and found and view.at(_THAT_IS, piece.start):
            # "…, tức là 15/10": the day of what stands before.
            before = found[-1]
            text = f"{before.text.rstrip('.')}, {reading.text[view.places[view.start].start : when.end]}"
            day = when.when.date().isoformat()
            found[-1] = replace(before, end=when.end, when=when, text=f"{text} ({day}).")
            continue
        if when is not None and view.has(_REMIND):
            found.append(_reminder(view, when, reading))
            continue
        rules = read_rules(
            piece,
            tokens,
            places,
            reading,
            is_bare=is_bare,
            last=found[-1] if found else None,
            is_lasting=lasting,
        )
        if rules is not None:
            if rules.kind:
                found.append(rules)
            continue
        hearsay = hearsay or view.has(lexicon.HEARSAY)
        begin = skip(view, piece.start, lexicon.LEADS)
        begin = skip(view, begin, _REGULARLY)
        if begin >= piece.end:
            continue
        subject = subject_of(view, begin, previous)
        verb = _skip_dates(view, subject.verb)
        subject.verb = verb
        if hearsay and subject.who != "user":
            continue
        if when is not None and when.other is not None and not view.has(lexicon.RESCHEDULES):
            happened = not lexicon.PAST.isdisjoint(tokens[piece.start : piece.end])
            when = when.in_tense(-1) if happened else when
        told = told_of(view, subject, when)
        formerly = view.has(lexicon.FORMERLY, piece.start)
        previous = subject if subject.start != subject.verb or previous is not None else previous
        if told is None or formerly or (hearsay and told[0][0] != "event"):
            continue
        given, ends, value = told
        found.append(_found(_Told(*given, ends, value), subject, view, when, dates, reading))
    return found


def _skip_dates(view: View, place: int) -> int:
    while place in view.dated:
        place = view.dated[place]
    return place


def _date_of(
    piece: Piece, tokens: list[str], places: list[Word], dates: list[Dated], *, is_bare: bool
) -> Dated | None:
    start, end = places[piece.start].start, places[piece.end - 1].end
    inside = [one for one in dates if start <= one.start and one.end <= end]
    if _REGULAR.find(tokens, piece.start, piece.end, is_bare=is_bare) >= 0:
        inside = [one for one in inside if not one.is_bare_weekday]
    absolute = [one for one in inside if not one.is_relative]
    return next(iter(absolute or inside), None)


_THAT_IS: Final = Phrases("tức là|tức|nghĩa là|cụ thể là")
_REMIND: Final = Phrases("nhắc mình|nhắc em|nhắc anh|nhắc tôi|nhắc chị|nhắc tui|nhắc tớ")


def _reminder(view: View, when: Dated, reading: Reading) -> Found:
    """Return what the speaker wants to be reminded of."""
    begin, end = view.places[view.start].start, view.places[view.end - 1].end
    said = " ".join(reading.text[begin:end].split())
    day = when.when.date().isoformat()
    return Found(
        "event", begin, end, f"Người dùng nhờ: {said} ({day}).", "user", when=when, confidence=0.7
    )


@dataclass(slots=True)
class _Told:
    """What a piece tells: the kind, the slot, and where the predicate stands that says it."""

    kind: str
    attribute: str | None
    confidence: float
    ends: bool
    predicate: int


_REGULARLY: Final = Phrases(
    "mỗi sáng|mỗi tối|mỗi ngày|mỗi chiều|mỗi tuần|mỗi tháng|hàng ngày|hằng ngày|hàng tuần|hằng tuần"
    "|sáng nào cũng|tối nào cũng|ngày nào cũng|tuần nào cũng|cuối tuần nào cũng|tới nay|đến nay"
)
_NOW: Final = words("giờ hiện bây gio hien")
_LONGEST_VALUE: Final = 200
_MOST_BEFORE_VALUE: Final = 2
# What stands before the value of a slot.
_BEFORE_VALUE: Final = Phrases.union(
    lexicon.LIKES, lexicon.DISLIKES, lexicon.NAME, lexicon.LIVES, lexicon.ORIGIN, lexicon.IS, lexicon.SKILLS
)  # fmt: skip
_MOVES: Final = Phrases(
    "chuyển vào|chuyển đến|chuyển về|chuyển ra|chuyển lên|chuyển tới|chuyển nhà|chuyển nhà đến"
    "|dọn vào|dọn đến|dọn về|dọn ra|dọn tới|dọn nhà|chuyển nhà về|chuyển nhà ra|chuyển nhà vào"
)


def _value(view: View, start: int, last: int, text: str) -> str:
    """Return the words of a slot's value, without the verb before it and a date after it."""
    skipped = 0
    while skipped < _MOST_BEFORE_VALUE:
        size = view.at(_MOVES, start) or view.at(_BEFORE_VALUE, start)
        if not size or start + size >= last:
            break
        start += size
        skipped += 1
    for place in range(start + 1, last):
        if place in view.dated and view.dated[place] >= last:
            last = place
            break
    first = view.places[min(start, last - 1)].start
    return text[first : view.places[last - 1].end][:_LONGEST_VALUE]


def _found(  # noqa: PLR0917 - the parts of one sentence
    told: _Told, subject: Subject, view: View, when: Dated | None, dates: list[Dated], reading: Reading
) -> Found:  # fmt: skip
    last = view.end
    dated_to = max((end for end in view.dated.values() if end <= view.end), default=0)
    while (
        last - 1 > max(told.predicate, dated_to - 1) and view.tokens[last - 1] in lexicon.PARTICLES
    ):
        last -= 1
    end = view.places[last - 1].end
    begin = view.places[subject.start].start
    first = view.places[view.start].start
    lead = [one for one in dates if first <= one.start < begin]
    if lead:
        begin = lead[0].start
    elif view.start < subject.start and view.tokens[view.start] in _NOW:
        begin = first
    of_team = subject.who == "we" and subject.name.split()[0] in _TEAM
    body = view.places[min(subject.verb, last - 1)].start
    quoted = Quoted(begin, view.places[subject.start].start, body, end)
    return Found(
        told.kind,
        begin,
        end,
        statement(subject, quoted, reading.text, when),
        "team" if of_team else subject.name,
        told.attribute,
        _value(view, told.predicate, last, reading.text) if told.attribute else None,
        told.ends,
        when,
        told.confidence,
    )
