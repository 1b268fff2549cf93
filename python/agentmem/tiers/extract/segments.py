"""Cut a message into sentences of words, each word with its place in the source.

The splitter is our own: the maintained sentence libraries return rewritten text or cost more for
one message than all other rules together, and here a span must quote its source to the character.
Every step is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from agentmem.tiers.word_list import words

__all__ = [
    "Language",
    "Sentence",
    "Word",
    "blank_foreign",
    "blank_handed",
    "blank_header",
    "language_of",
    "sentences",
]

Language = Literal["en", "vi", "zh"]

# A sentence longer than this is a list or a dump, not a statement: its words beyond are not read.
MAX_SENTENCE_WORDS: Final = 400

_FENCES: Final = re.compile(r"^[ \t>]*(`{3,}|~{3,}).*$", re.MULTILINE)
_INLINE_CODE: Final = re.compile(r"`[^`\n]{1,200}`")
_TAG: Final = re.compile(r"</?([A-Za-z][\w:-]{0,60})(?:\s[^<>]{0,300})?>")
_CODE_LINE: Final = re.compile(
    r"^[ \t]*+(?:[{}\[\]<>$#@]|//|/\*|>>>|(?:for|while|if|def|class|import|from|return|print|const"
    r"|let|var|function|async|await|elif|else|try|except|SELECT|INSERT|UPDATE|DELETE)\b"
    r"[^.!?\n]*[:;{}()=][ \t]*$|[\w.\[\]]+[ \t]*(?:=|\+=|:=)[ \t]*\S|[\w.]+\(.*\)[;:]?[ \t]*$"
    r"|Traceback |File \"|\w*(?:Error|Exception)\b:|(?:INFO|DEBUG|WARN|WARNING|ERROR)\b"
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d|[-+]{3} |@@ |\|.*\|[ \t]*$|\"[^\"\n]{0,80}\"[ \t]*:).*$",
    re.MULTILINE,
)
_QUOTED_LINE: Final = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
# Quotation marks that open and close on one line; a quote as long as a statement is another's.
_QUOTE: Final = re.compile(r"“[^“”\n]*”|「[^「」\n]*」|『[^『』\n]*』|«[^«»\n]*»|\"[^\"\n]*\"")
_QUOTE_WORDS: Final = 4
_QUOTE_CHINESE: Final = 8

_HAN: Final = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
_VIETNAMESE: Final = re.compile(
    r"[ăâđêôơưạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹàáãèéìíòóõùúýĩũ]"
)
_LETTERS: Final = re.compile(r"[^\W\d_]+")
# Enough words to know a language by.
_SAMPLE: Final = 600
_VIETNAMESE_ONLY: Final = re.compile(r"[ăđơư\u1ea0-\u1ef9]")
_WORD: Final = re.compile(r"[^\W_]+(?:['’_.@+-]+[^\W_]+)*|\S")
_ASCII_VIETNAMESE: Final = words(
    "khong toi minh thich nhe nha roi duoc voi cua nay mai hom tuan thang nguoi lam"
    " dung dang cung nhung truoc sau luon chi cho anh chi hay tieng gio viet ngay nhom"
    " moi vao di la co thi em sang qua bo ban hoc song e k ko thik dc mk hok nhoa cx luc"
    " phai chieu bua hen chua nghi"
)
_ENGLISH: Final = words(
    "the a an is are was were i my me you your to of in on for and or with that this it not do"
    " have has at be we our please from will can"
)
_SHORT: Final = words(
    "mr mrs ms dr prof st vs etc e.g i.e approx no fig inc ltd jr sr ths ts tp q p"
)
_ENDERS: Final = frozenset(".!?…。！？")
_WIDE_ENDERS: Final = frozenset("。！？…")


@dataclass(slots=True)
class Word:
    """One word or sign: how rules read it, and where it stands in the source."""

    text: str
    start: int
    end: int
    raw: str


@dataclass(slots=True)
class Sentence:
    """Words up to an end of sentence; ``end`` is the sign that closed it, or ``""``."""

    words: list[Word]
    end: str


def _runs(text: str) -> Iterator[tuple[int, int]]:
    """Yield the ``[start, end)`` of fenced blocks and of what stands between paired tags."""
    opened: tuple[str, int] | None = None
    for match in _FENCES.finditer(text):
        fence = match[1]
        if opened is None:
            opened = (fence, match.start())
        elif fence.startswith(opened[0]):
            yield opened[1], match.end()
            opened = None
    if opened is not None:
        yield opened[1], len(text)
    name, start, depth = "", 0, 0
    for match in _TAG.finditer(text):
        if depth == 0:
            if match[0].startswith("</"):
                yield match.span()
            else:
                name, start, depth = match[1], match.start(), 1
        elif match[1] == name:
            depth += -1 if match[0].startswith("</") else 1
            if depth == 0:
                yield start, match.end()
    if depth:
        yield start, len(text)


def blank_foreign(text: str) -> str:
    """Return the text with everything that is not the speaker's own prose turned to spaces.

    Fenced and inline code, blocks between tags (what hosts inject), quoted lines and quotations of
    a sentence's length, lines of code, of logs and of data. The length stays, and so do offsets.
    """
    spans: list[tuple[int, int]] = []
    if "`" in text or "~~~" in text or "<" in text:
        spans += _runs(text)
        spans += [match.span() for match in _INLINE_CODE.finditer(text)]
    if text.lstrip()[:1] in {"{", "["} and text.rstrip()[-1:] in {"}", "]"}:
        return " " * len(text)
    spans += [match.span() for match in _CODE_LINE.finditer(text)]
    if ">" in text:
        spans += [match.span() for match in _QUOTED_LINE.finditer(text)]
    for match in _QUOTE.finditer(text):
        inner = match[0][1:-1]
        whole = match.start() == 0 and match.end() == len(text)
        long = inner.count(" ") >= _QUOTE_WORDS or len(_HAN.findall(inner)) >= _QUOTE_CHINESE
        if long and not whole:
            spans.append(match.span())
    if not spans:
        return text
    spans.sort()
    parts: list[str] = []
    at = 0
    for start, end in spans:
        if end <= at:
            continue
        begin = max(start, at)
        parts += (text[at:begin], re.sub(r"[^\n]", " ", text[begin:end]))
        at = end
    parts.append(text[at:])
    return "".join(parts)


# "Note Weekly plan: …", "SMS Send Anna (Work): Ben: …": who and what, before the words themselves.
_HEADER: Final = re.compile(
    r"[^\n.!?。！？:：]{1,80}(?::\d\d(?!\d)[^\n.!?。！？:：]{0,40}){0,6}(?:: |：)"
)
_SAYS: Final = re.compile(
    r"\b(?:i|we|my|let|let's|imagine|pretend|suppose|if|our|you|always|never|from|rule|is|are|must"
    r"|should|please|remember|decision"
    r"|decided|update|correction"
    r"|luôn|không|đừng|từ|phải|quy|nhớ|là|mình|tôi|em|anh|nhóm|tu|khong|dung|nho|minh|toi)\b|[我规决永别请记以]",
    re.IGNORECASE,
)
_MOST_HEADERS: Final = 3


# "Translate to French: …", "把这句话翻译成英文：…": what comes after is given to be worked on, not said.
_HANDED: Final = re.compile(
    r"\s*(?:(?:please|can you|could you|now)\s+)*(?:translate|proofread|paraphrase|rephrase"
    r"|(?:rewrite|summari[sz]e|correct|edit|polish|shorten|improve)\s+(?:this|these|the following)"
    r"|write (?:me )?an? |here(?:'|’)?s (?:an?|the|my) (?:\w+ )?(?:e-?mail|message|text|letter|article|draft"
    r"|paragraph|poem|story|post|essay|transcript|abstract)(?!\w))[^\n.!?:]{0,80}:(?=\s)"
    r"|\s*(?:(?:hãy|bạn|giúp (?:mình|tôi|em)|làm ơn)\s+)*(?:dịch|viết lại|sửa|tóm tắt|rút gọn)"
    r"(?: giúp| hộ| mình| tôi| em| giùm)* (?:câu|đoạn|bài|văn bản|sang|email|thư)(?!\w)[^\n.!?:]{0,80}:(?=\s)"
    r"|\s*(?:(?:请|帮我|麻烦|你能|能)*翻译|(?:请|帮我|麻烦)*(?:把|将)?(?:下面|以下|这[段句封篇])"
    r"[^\n。！？：:]{0,20}(?:翻译|润色|改写|总结|校对|缩写)|(?:请|帮我|麻烦)*(?:润色|改写|总结|校对|缩写)(?:下面|以下|这[段句封篇]))"
    r"[^\n。！？：:]{0,40}[:：]",
    re.IGNORECASE,
)


def blank_handed(text: str) -> str:
    """Return the text turned to spaces where all of it is handed over to be translated or the like."""
    return " " * len(text) if _HANDED.match(text) else text


def blank_header(text: str) -> str:
    """Return the text with the names and titles that stand before its first words turned to spaces."""
    at = 0
    for _ in range(_MOST_HEADERS):
        match = _HEADER.match(text, at)
        if match is None or _SAYS.search(match[0]):
            break
        at = match.end()
    return " " * at + text[at:] if at else text


def language_of(text: str) -> Language:
    """Return the language whose rules read a text: Chinese, Vietnamese with or without marks, or English."""
    sample = text.strip()[:_SAMPLE].lower()
    words = set(_LETTERS.findall(sample))
    vietnamese = len(words & _ASCII_VIETNAMESE)
    english = len(words & _ENGLISH)
    if not sample.isascii():
        han = len(_HAN.findall(sample))
        letters = len(sample) - sample.count(" ")
        if han * 4 > letters:
            return "zh"
        marks = len(_VIETNAMESE.findall(sample))
        own = len(_VIETNAMESE_ONLY.findall(sample))
        if marks * 8 > letters or own * 20 > letters:
            return "vi"
        vietnamese += marks
    return "vi" if vietnamese > english and vietnamese > 1 else "en"


def sentences(text: str) -> Iterator[Sentence]:
    """Yield the sentences of a text that ``blank_foreign`` has passed over."""
    words: list[Word] = []
    previous = 0
    lower = text.lower().replace("’", "'")
    if len(lower) != len(text):  # a letter whose lower case is longer: fold each word by itself
        lower = ""
    has_lines = "\n" in text
    for match in _WORD.finditer(text):
        start, end = match.span()
        if has_lines:
            if words and text.find("\n", previous, start) >= 0:
                yield Sentence(words, "")
                words = []
            previous = end
        raw = text[start:end]
        if end - start == 1 and raw in _ENDERS:
            after = text[end : end + 1]
            closes = raw in _WIDE_ENDERS or not after or after.isspace() or after in "\"'”’)）"
            short = raw == "." and bool(words) and words[-1].text in _SHORT
            if closes and not short:
                if words:
                    yield Sentence(words, raw)
                words = []
                continue
        if len(words) < MAX_SENTENCE_WORDS:
            folded = lower[start:end] or raw.lower().replace("’", "'")
            words.append(Word(folded, start, end, raw))
    if words:
        yield Sentence(words, "")
