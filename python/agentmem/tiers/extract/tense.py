"""Which way a sentence looks, past or future: it tells which Monday, which fifth, which May is meant.

A reader of cues, not of syntax: those next to the date before those of its clause, and those before the sentence's.
"""

# ruff: noqa: E501 - a pattern or a list is read more easily whole
from __future__ import annotations

import re
from typing import Final

from agentmem.tiers.extract.english_words import PAST_OF, UNCHANGED, lemma
from agentmem.tiers.extract.segments import Language
from agentmem.tiers.word_list import words

__all__ = ["tense_of"]

_AROUND: Final = 300
_CLAUSE: Final = re.compile(r"[,;:.!?()–—…，。；：！？、]|\s-\s|\b(?:but|so|because|mà|nên)\b")
# Verbs without which "booked for Monday" would be past: their day is still to come.
_AHEAD: Final = words(
    "book schedule plan arrange decide agree postpone set reschedule reserve order register sign choose confirm"
    " settle fix promise announce invite"
)
_IRREGULAR: Final = words(
    "bit blew threw dug fought hung lit rang rose shook shut slid spun swore tore struck stung fled froze drew laid lay"
    " bled dealt fed shot sank shrank spilt swept swung wept bought slept hid rode heard knew"
)
_ED: Final = re.compile(r"[a-z]{2,}[a-z]ed")
_NO_PAST: Final = words(
    "need indeed speed feed bed red weed seed bleed breed embed exceed proceed succeed hundred wed naked wicked sacred"
)
_LEAD: Final = re.compile(r"(?:on|in|by|since|until|till|from)\s(?:the\s)?")
_BE: Final = words("is are am be being get gets getting 're 'm to")
_PERSONS: Final = words("i we they you")
_NO_SUBJECT: Final = _PERSONS | words(
    "to will 'll would can could may might must should shall not don't didn't please and or let's 'd"
)
_EN_FUTURE: Final = re.compile(
    r"\b(?:will|won't|gonna|going to|shall|should|must|needs? to|have to|has to|hoping|hope to|plan to|plans to|planning|due|let's|can|may|might"
    r"|could|would|remind|don't forget|please|upcoming|deadline|i'm|we're|see you|want to|wanna|about to|until|till)\b|\w'll\b"
)
_EN_PAST: Final = re.compile(
    r"\b(?:was|were|wasn't|weren't|did|didn't|had|been|already|ago|so far)\b"
)
# What is told in the present with a day is to come, or comes every year.
_EN_PRESENT: Final = re.compile(r"\b(?:is|are|isn't|aren't|be|being)\b|\w'(?:s|re|m)\b")
_EN_BEFORE_PAST: Final = re.compile(r"\b(?:since|back (?:in|on))(?: about| around| the)? $")
_EN_BEFORE_AHEAD: Final = re.compile(
    r"\b(?:by|until|till|before|due|(?:moved|pushed|postponed|rescheduled|shifted|bumped|delayed|changed|brought forward|put back)(?: back)? (?:to|until)|(?:set|booked|scheduled|planned) for)"
    r"(?: on| the)? $"
)
_VI_PAST: Final = r"\b(?:đã|vừa|bị|xong|hồi|hổm|lỡ|từng)\b|\brồi\b(?! (?:sẽ|mới|đi|tính))|\bmới\b(?! (?:đi|về|tới|đến|có|xong|được|là))"
_VI_FUTURE: Final = r"\b(?:sẽ|sắp|định|tính|phải|nhớ|hẹn|nhé|nha|nghen|nghe|đừng|chuẩn bị|hạn|kịp|đợi|chờ|cần|dự kiến|dời|hoãn|lùi|chuyển sang|đổi sang|đăng ký|khai trương|mời)\b"
_VI_BEFORE_PAST: Final = re.compile(
    r"(?:hôm|bữa|hồi|hom|bua|hoi)\s(?:sáng |trưa |chiều |tối |đêm )?$"
)
_VI_BEFORE_AHEAD: Final = re.compile(
    r"(?:trước|tới|đến|sang|truoc|den)\s(?:sáng |trưa |chiều |tối |đêm )?$"
)
_VI_AFTER_AHEAD: Final = re.compile(r"\s(?:mới|moi|là hạn|hết hạn)\b")
_VI_PAST_RE: Final = re.compile(_VI_PAST)
_VI_FUTURE_RE: Final = re.compile(_VI_FUTURE)
# Of a text without marks, without the words that would be others.
_BARE_PAST: Final = re.compile(r"\b(?:da|vua|xong|roi|hoi)\b")
_BARE_FUTURE: Final = re.compile(
    r"\b(?:se|sap|dinh|tinh|phai|nho|hen|nhe|nha|nghen|dung|chuan bi|han|kip|doi|cho|can|hoan)\b"
)
_ZH_PAST: Final = re.compile(r"(?<![到为除])了(?!解)|[看去做吃来说用办开有见]过|已经|曾经|刚|当时")
_ZH_FUTURE: Final = re.compile(
    r"要(?!求)|会(?![议员计上])|将|得|打算|准备|记得|别|计划|截止|到期|预约|约好|定在|改到|推迟|提醒|需要|等"
)
_ZH_PLANS: Final = re.compile(r"打算|准备|计划|预约|约好|提醒|记得|将要|就要|快要")
_ZH_AFTER_AHEAD: Final = re.compile(r"(?:之?前|以前|截止|到期)")
# "8号办的婚礼": what was done then.
_ZH_AFTER_PAST: Final = re.compile(
    r"(?:那天|就|才|刚)?(?![上下中]午|[晚早]上|[那这])[\u4e00-\u9fff]{1,2}的(?![时天])"
)
_ZH_BEFORE_AHEAD: Final = re.compile(r"(?:改到|推迟到|延到|定在|约在|等到|到|截止)$")


def tense_of(text: str, start: int, end: int, language: Language) -> int:
    """Return -1 where a date in a sentence is past, 1 where it is to come, 0 where nothing tells.

    Args:
        text: The sentence in lower case.
        start: Where the date begins in it.
        end: Where it ends.
        language: Whose cues are read.
    """
    # Of a long sentence only what stands around: each date costs the same.
    before = max(0, start - _AROUND)
    text, start, end = text[before : end + _AROUND], start - before, end - before
    lead = _LEAD.match(text, start)
    near = _beside(
        text[max(0, start - 32) : lead.end() if lead else start], text[end : end + 8], language
    )
    if near:
        return near
    first = max((match.end() for match in _CLAUSE.finditer(text, 0, start)), default=0)
    after = _CLAUSE.search(text, end)
    last = after.start() if after else len(text)
    return _cues(text[first:last], language) or _cues(text, language)


def _beside(before: str, after: str, language: Language) -> int:
    if language == "en":
        return -1 if _EN_BEFORE_PAST.search(before) else 1 if _EN_BEFORE_AHEAD.search(before) else 0
    if language == "vi":
        if _VI_AFTER_AHEAD.match(after) or _VI_BEFORE_AHEAD.search(before):
            return 1
        return -1 if _VI_BEFORE_PAST.search(before) else 0
    if _ZH_AFTER_AHEAD.match(after) or _ZH_BEFORE_AHEAD.search(before):
        return 1
    return -1 if _ZH_AFTER_PAST.match(after) else 0


def _cues(text: str, language: Language) -> int:
    if language == "en":
        return _english(text)
    if language == "zh":
        is_past = _ZH_PAST.search(text) is not None
        is_ahead = _ZH_PLANS.search(text) or (_ZH_FUTURE.search(text) and not is_past)
        return 1 if is_ahead else -1 if is_past else 0
    past, future = (_BARE_PAST, _BARE_FUTURE) if text.isascii() else (_VI_PAST_RE, _VI_FUTURE_RE)
    return 1 if future.search(text) else -1 if past.search(text) else 0


def _english(text: str) -> int:
    if _EN_FUTURE.search(text):
        return 1
    before = ""
    is_ahead = is_present = False
    for word in re.findall(r"'?[a-z]+", text):
        if _is_past(word) and before not in _BE:
            base = lemma(word)[0]
            if base in _AHEAD:
                is_ahead = True
            else:
                return -1
        elif before in _PERSONS and word not in UNCHANGED and lemma(word)[1] == "base":
            is_present = True
        elif (
            word in UNCHANGED and before and before not in _NO_SUBJECT and not before.endswith("s")
        ):
            return -1  # "he quit": in the present it were "quits"
        before = word
    if is_ahead:
        return 1
    if _EN_PAST.search(text):
        return -1
    return (
        1
        if is_present
        or _EN_PRESENT.search(text)
        or any(lemma(word)[1] == "s" for word in text.split())
        else 0
    )


def _is_past(word: str) -> bool:
    if word in PAST_OF:
        return word not in UNCHANGED
    return word in _IRREGULAR or (word not in _NO_PAST and _ED.fullmatch(word) is not None)
