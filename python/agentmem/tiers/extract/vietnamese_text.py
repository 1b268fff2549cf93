"""Cut a Vietnamese sentence into pieces, say which are silent, and state a piece by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from agentmem.tiers.extract import vietnamese_words as lexicon
from agentmem.tiers.extract.dates import Dated
from agentmem.tiers.extract.vietnamese_view import Subject
from agentmem.tiers.extract.vietnamese_words import Phrases
from agentmem.tiers.word_list import words

__all__ = ["Piece", "Quoted", "pieces_of", "statement"]

_SIGNS: Final = words(', ; : ( ) – — - … / " “ ” • *')
_JOINS: Final = Phrases("nhưng|nhưng mà|chứ|tuy nhiên|còn|nên|cho nên|vì|bởi vì|mà")
_AND: Final = Phrases("và|rồi|với")
_BARE_QUESTIONS: Final = Phrases(
    "gì|nào|bao giờ|mấy giờ|bao nhiêu|thế nào|tại sao|vì sao|không vậy|chưa vậy|làm sao|được không"
)
_NOT_ASKING: Final = words("đừng không chưa chẳng chả dung khong chua chang dù bất")


@dataclass(slots=True)
class Piece:
    """A stretch of a sentence between signs or conjunctions.

    ``is_silent`` where it asks, supposes or wishes; ``intro`` is the word before it.
    """

    start: int
    end: int
    intro: str
    is_silent: bool = False


def pieces_of(
    tokens: list[str], *, is_bare: bool, ended: str, dated: dict[int, int]
) -> list[Piece]:
    """Return the pieces of a sentence, in order."""
    pieces: list[Piece] = []
    start, intro, k = 0, "", 0
    while k < len(tokens):
        if k in dated:
            k = dated[k]
            continue
        size = 1 if tokens[k] in _SIGNS else 0
        if not size and k > start:
            size = _join_at(tokens, start, k, is_bare=is_bare)
        if size:
            if k > start:
                pieces.append(Piece(start, k, intro))
            intro = tokens[k]
            start = k + size
            k = start
            continue
        k += 1
    if start < len(tokens):
        pieces.append(Piece(start, len(tokens), intro))
    supposed = False
    for at, piece in enumerate(pieces):
        last = at == len(pieces) - 1
        hypothetical = lexicon.HYPOTHETICAL.find(tokens, piece.start, piece.end, is_bare=is_bare)
        if 0 <= hypothetical <= piece.start + 2:
            supposed = True
        piece.is_silent = supposed or _asks(
            tokens, piece, is_bare=is_bare, is_marked=last and ended == "?"
        )
    return pieces


def _join_at(tokens: list[str], start: int, k: int, *, is_bare: bool) -> int:
    size = _JOINS.at(tokens, k, is_bare=is_bare)
    if size:
        word = tokens[k]
        if word in {"còn", "con"}:
            # "vẫn còn", "không còn", "con trai": no new piece.
            before = tokens[k - 1]
            return (
                0
                if before in {"vẫn", "không", "van", "khong", "chỉ", "hai", "một"} or word == "con"
                else size
            )
        if word in {"vi", "chu", "ma", "nen"} and is_bare:
            return size if word == "ma" else 0
        if word == "mà" and tokens[k - 1] == "nữa":
            return 0
        return size
    size = _AND.at(tokens, k, is_bare=is_bare)
    if size and tokens[k] in {"và", "va", "rồi"}:
        after = k + size
        starts = (
            lexicon.PRONOUN.at(tokens, after, is_bare=is_bare)
            or lexicon.WORKS.at(tokens, after, is_bare=is_bare)
            or lexicon.LIKES.at(tokens, after, is_bare=is_bare)
            or lexicon.DISLIKES.at(tokens, after, is_bare=is_bare)
            or lexicon.WE.at(tokens, after, is_bare=is_bare)
            or lexicon.LIVES.at(tokens, after, is_bare=is_bare) > 1
            or lexicon.NEGATION.at(tokens, after, is_bare=is_bare)
        )
        return size if starts and k - start > 1 else 0
    return 0


def _asks(tokens: list[str], piece: Piece, *, is_bare: bool, is_marked: bool) -> bool:
    if is_marked:
        return True
    last = piece.end - 1
    while last > piece.start and tokens[last] in lexicon.PARTICLES | {
        "ta",
        "vậy",
        "vay",
        "bạn",
        "anh",
        "em",
    }:
        last -= 1
    if tokens[last] in lexicon.ENDS_QUESTION and last > piece.start:
        return True
    phrases = _BARE_QUESTIONS if is_bare else lexicon.QUESTIONS
    place = phrases.find(tokens, piece.start, piece.end, is_bare=is_bare)
    while place >= 0:
        before = tokens[max(piece.start, place - 2) : place]
        after = tokens[place + 1 : place + 3]
        free = {"cũng", "cung"} & set(after) or _NOT_ASKING.intersection(before)
        if not free:
            return True
        place = phrases.find(tokens, place + 1, piece.end, is_bare=is_bare)
    return False


class Quoted(NamedTuple):
    """Offsets of a quoted piece; it begins before its subject only for a date or a "now"."""

    begin: int
    subject: int
    predicate: int
    end: int


def statement(subject: Subject, quoted: Quoted, text: str, when: Dated | None) -> str:
    """Return a piece as a sentence of its own, its subject named and its date absolute.

    Args:
        subject: Whom it is about.
        quoted: Where it stands.
        text: The message.
        when: The date it names.
    """
    lead = text[quoted.begin : quoted.subject].strip(" ,")
    body = text[quoted.predicate : quoted.end].strip()
    if subject.who == "user":
        named = "người dùng"
    elif subject.who == "kin":
        named = f"{subject.name} của người dùng"
    elif subject.verb > subject.start:
        named = text[quoted.subject : quoted.predicate].strip()
    else:
        named = subject.name
    if lead and when is not None and when.start < quoted.subject:
        lead += ","
    said = " ".join(part for part in (lead, named, body) if part)
    if when is not None:
        shown, day = text[when.start : when.end], when.when.date().isoformat()
        place = said.find(shown)
        cut = place + len(shown) if place >= 0 else len(said)
        said = f"{said[:cut]} ({day}){said[cut:]}"
    said = " ".join(said.split()).rstrip(",;:")
    return f"{said[:1].upper()}{said[1:]}."
