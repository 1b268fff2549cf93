"""Cut a Vietnamese sentence into pieces, say which are silent, and state a piece by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from agentmem.tiers.extract import vietnamese_words as lexicon
from agentmem.tiers.extract.dates import Dated
from agentmem.tiers.extract.segments import Word
from agentmem.tiers.extract.vietnamese_words import Phrases
from agentmem.tiers.word_list import words

__all__ = ["Piece", "pieces_of", "statement"]

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
    tokens: list[str], places: list[Word], *, is_bare: bool, ended: str, dated: dict[int, int]
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
            size = _join_at(tokens, places, start, k, is_bare=is_bare)
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


def _join_at(tokens: list[str], places: list[Word], start: int, k: int, *, is_bare: bool) -> int:
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
        if word == "mà" and tokens[k - 1] in {"nữa"}:
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


def statement(
    who: str,
    name: str,
    text: str,
    begin: int,
    subject: int,
    verb: int,
    end: int,
    when: Dated | None,
    *,
    is_given: bool,
) -> str:
    """Return a piece as a sentence of its own, its subject named and its date absolute.

    Args:
        who: ``user``, ``we``, ``kin``, ``name`` or ``noun``.
        name: The subject's words.
        text: The message.
        begin: Where the quoted span begins; before ``subject`` only for a date.
        subject: Where the subject begins.
        verb: Where the predicate begins.
        end: Where the span ends.
        when: The date it names.
        is_given: Whether the subject is in the text.
    """
    lead = text[begin:subject].strip(" ,")
    body = text[verb:end].strip()
    if who == "user":
        named = "người dùng"
    elif who == "kin":
        named = f"{name} của người dùng"
    else:
        named = text[subject:verb].strip() if is_given else name
    said = " ".join(part for part in (lead + "," if lead else "", named, body) if part)
    if when is not None:
        quoted, day = text[when.start : when.end], when.when.date().isoformat()
        place = said.find(quoted)
        cut = place + len(quoted) if place >= 0 else len(said)
        said = f"{said[:cut]} ({day}){said[cut:]}"
    said = " ".join(said.split()).rstrip(",;:")
    return f"{said[:1].upper()}{said[1:]}."
