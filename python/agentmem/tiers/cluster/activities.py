"""Kinds of activity, by the words that go with them, in three languages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

__all__ = ["activity_of"]

# Name in English, Vietnamese, Chinese; the words that speak for it.
_ACTIVITIES: Final = (
    (
        ("debugging", "sửa lỗi", "排查"),
        (
            r"bugs?|errors?|fail(?:s|ed|ing|ure)?|exceptions?|traceback|crash(?:es|ed)?|broken|flaky|fix(?:es|ed|ing)?"
            r"|lỗi|hỏng|treo|报错|错误|崩溃|故障|失败|白屏"
        ),
    ),
    (
        ("reviewing", "xem lại", "审阅"),
        r"review(?:s|ed|ing)?|pull request|pr|diff|approve[ds]?|nit|duyệt|审阅|评审",
    ),
    (
        ("planning", "lên kế hoạch", "计划"),
        (
            r"plan(?:s|ned|ning)?|trip|travel(?:l?ing)?|itinerary|schedule[ds]?|arrang(?:e|ed|ing)"
            r"|kế hoạch|chuyến đi|lịch|计划|行程|安排|旅行|自驾"
        ),
    ),
    (
        ("studying", "học", "学习"),
        (
            r"stud(?:y|ies|ied|ying)|learn(?:s|ed|ing)?|courses?|exams?|lessons?|chapter|theory"
            r"|học|ôn|thi|luyện|学习|课程|考试|复习|学"
        ),
    ),
    (
        ("writing", "viết", "撰写"),
        (
            r"writ(?:e|es|ing|ten)|rewrit(?:e|ing)|drafts?|paragraphs?|document(?:s|ation|ing)?|readme"
            r"|viết|tài liệu|soạn|文档|撰写|写"
        ),
    ),
    (
        ("testing", "kiểm thử", "测试"),
        r"tests?|testing|coverage|assert(?:s|ion)?|kiểm thử|chạy thử|测试",
    ),
    (
        ("buying", "mua", "选购"),
        r"buy(?:ing)?|bought|purchas(?:e|ed|ing)|prices?|compare[ds]?|mua|giá|báo giá|购买|选购|买|价格|试驾",
    ),
    (
        ("booking", "đặt", "预订"),
        r"book(?:s|ed|ing)?|reserv(?:e|ed|ation|ations)|tickets?|đặt (?:vé|phòng|chỗ)|预订|订票|机票",
    ),
    (
        ("deploying", "triển khai", "部署"),
        (
            r"deploy(?:s|ed|ing|ment)?|releas(?:e|es|ed|ing)|rollout|runners?"
            r"|triển khai|phát hành|部署|发布|上线|灰度"
        ),
    ),
    (
        ("recovering", "phục hồi", "康复"),
        r"recover(?:s|ed|ing|y)?|rehab\w*|injur(?:y|ed|ies)|sore(?:ness)?|pain(?:ful)?|hồi phục|đau|康复|受伤|疼",
    ),
    (
        ("optimizing", "tối ưu", "优化"),
        r"optimi[sz](?:e|ed|ing|ation)|slow|latency|faster|tối ưu|chậm|优化|太慢",
    ),
)
_PATTERNS: Final = tuple(
    (names, re.compile(rf"(?<!\w)(?:{words})(?!\w)|(?:{_han})", re.IGNORECASE))
    for names, words in _ACTIVITIES
    for _han in ("|".join(one for one in words.split("|") if one[:1] >= "\u3400") or r"(?!)",)
)
_VIETNAMESE: Final = re.compile(
    r"[ăâđêôơưạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹ]", re.IGNORECASE
)
_HAN: Final = re.compile(r"[\u3400-\u9fff]")
_LEAST: Final = 2
_DEBUGGING: Final = next(nth for nth, one in enumerate(_ACTIVITIES) if one[0][0] == "debugging")
_TESTING: Final = next(nth for nth, one in enumerate(_ACTIVITIES) if one[0][0] == "testing")


@lru_cache(maxsize=2_048)
def _kinds_in(text: str) -> frozenset[int]:
    """Return the kinds of activity that a text has words of."""
    return frozenset(nth for nth, (_, pattern) in enumerate(_PATTERNS) if pattern.search(text))


def activity_of(texts: Sequence[str]) -> str:
    """Return what is done in these texts, in their language; ``""`` where no kind stands out."""
    best, most = -1, 1
    for nth in range(len(_PATTERNS)):
        count = sum(nth in _kinds_in(text) for text in texts)
        if count > most or (count == most == 1 and best < 0 and len(texts) < _LEAST):
            best, most = nth, count
    if best < 0:
        return ""
    if best == _TESTING and any(_DEBUGGING in _kinds_in(text) for text in texts):
        best = _DEBUGGING  # a failing test is debugged
    joined = " ".join(texts[:4])
    language = 2 if _HAN.search(joined) else 1 if _VIETNAMESE.search(joined) else 0
    return _PATTERNS[best][0][language]
