"""What decides whether two statements are about one thing: words, digits, names, denial, cues of change."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from agentmem.tiers.word_list import words

__all__ = ["DATE", "Features", "features", "words_of"]

# Signs of Chinese stand in runs of their own: "用MySQL了" holds a word of three.
_TOKEN: Final = re.compile(
    r"[\u3400-\u4dbf\u4e00-\u9fff]+"
    r"|[^\W_\u3400-\u4dbf\u4e00-\u9fff]+(?:[._+#-][^\W_\u3400-\u4dbf\u4e00-\u9fff]+)*[+#]*"
)
_HAN: Final = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
DATE: Final = re.compile(r"\(?\d{4}-\d\d-\d\d\)?|（\d{4}-\d\d-\d\d）")
_WEEKDAY: Final = re.compile(
    r"\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|thứ (?:hai|ba|tư|năm|sáu|bảy|[2-7])|chủ nhật)|(?:周|星期|礼拜)[一二三四五六日天]"
)
_UNIT: Final = re.compile(r"\d\s?([^\W\d_]+)")
# Words that say nothing of the topic: closed classes, words of time, and the words of change themselves.
_STOP_ENGLISH: Final = words(
    "the a an is are was were be been being am has have had do does did will would can could may "
    "might must should of to in on"
    " at for with and or but so as by from that this these those it its their they them he she his "
    "her you your we our i my me"
    " user user's s not no never longer anymore any more now just also already very really quite "
    "always usually instead than"
    " then there here into up out about over only still some all every one please from today "
    "tomorrow yesterday week month"
    " year next last day days weeks months morning afternoon evening monday tuesday wednesday "
    "thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays sundays"
    " actually anymore others team going got get let make made use used using keep want switched "
    "switch change changed"
    " move moved moving start started stop stopped plan planned plans planning find finds too bit "
    "little lot much most decide"
    " decided again since early late mid end forget rule rules whenever before after when if go "
    "agreed january february march"
    " april june july august september october november december postponed rescheduled cancel "
    "cancelled canceled primarily few several many things thing weekend year-old old something "
    "everything really same t don doesn didn isn aren wasn weren hasn haven hadn won wouldn couldn shouldn"
)
_GENERAL_VERBS: Final = "live work drink eat play like love prefer read watch learn"
_STOP_VIETNAMESE: Final = words(
    "người dùng là có và thì mà của cho với không còn nữa đã đang sẽ vừa mới rồi này nay kia sau "
    "trước hôm ngày mai tuần tháng"
    " năm giờ lúc từ nha nhé luôn cũng vẫn lại được bị phải các những một hai ba bốn mình em anh "
    "chị bạn nhóm hay rất tại ở vào ra"
    " lên xuống đi đến chuyển đổi sang thành thay bỏ hủy huỷ đừng quyết định đầu cuối bao giữa "
    "tiếp thôi nhớ thứ tư sáu bảy"
    " chủ nhật qua dời lùi hoãn nâng tăng giảm tức quy khỏi vs dự kiến team sử dụng đều đúng bằng "
    "buổi sáng chiều tối trưa phút của uống ăn chơi xem đọc thích"
)
_STOP_CHINESE: Final = re.compile(
    r"用户|我们|我|现在|已经|目前|以后|今后|不再|[改换]?[成为到]|[改换搬]|定在|[周星期礼拜]+[一二三四五六日天]|[上下]午|晚上|早上"
    r"|[一二三四五六七八九十两]+[点号日月]半?|[了的从在是去来把被都也还又就请]"
)
_NEGATION: Final = re.compile(
    r"\b(?:not|no|never|n't|don't|doesn't|isn't|aren't|cannot|can't|without|stop|stopped|không"
    r"|khong|chưa|chẳng|đừng|dung bao gio|cấm)\b"
    r"|n't\b|不|别|没|禁止"
)
_ENDED: Final = re.compile(
    r"\b(?:no longer|not .{0,60}(?:any ?more|any longer)|stopped|quit|gave up|forgo|abandon(?:ed"
    r"|s)?|decided not to|decided against|cancel(?:l?ed|s"
    r"|ling)?|called off|given up|drop(?:ped)? the|removed? the rule"
    r"|(?:sold|got rid of|gave away) (?:the|my|our|their)"
    r"|no need to|forget (?:about )?the|scrapped|off the table|không còn|khong con|(?:không|khong"
    r"|chẳng|thôi|khỏi|khoi|đừng|k) .{0,60}(?:nữa|nua)|bỏ|bo(?= )|hủy|huỷ|huy"
    r"|ngừng|thôi không|cai|khỏi|khoi|nghỉ việc|từ bỏ|hết hiệu lực)\b|不再|取消|作废|再也不|放弃|不用再|可以用了|戒了"  # noqa: E501 - one alternative, one line
)
_CHANGED: Final = re.compile(
    r"\b(?:instead(?: of)?|switch(?:ed|es|ing)?|chang(?:ed?|es|ing)|moved?|from now on|from today"
    r"|as of today|correction|rather than|replac(?:e|ed|es|ing)"
    r"|correct(?:ed)?|slip(?:s|ped)?|postpon(?:e|ed)|reschedul(?:e|ed)|push(?:ed)? (?:back|to)"
    r"|delay(?:ed)?|brought forward"
    r"|rais(?:e|ed)|increas(?:e|ed)|reduc(?:e|ed)|lower(?:ed| the| it)|upgrad(?:e|ed)"
    r"|became|becomes?|turned out|migrat(?:e|ed|es|ing)|extend(?:ed|s)?|took over|takes over|up to"
    r"|actually|anymore|no longer"
    r"|dời|lùi|hoãn|đổi|chuyển|thay|thay vì|thay cho|từ nay|từ giờ|từ hôm nay|nâng|tăng|giảm|tức "
    r"là|đúng là|mới đúng|sửa lại|nhầm|gia hạn|doi|lui|hoan|chuyen|tu nay|tu gio|nang|tang|giam|cũng được|cung "
    r"duoc)\b"
    r"|, not \b|改|换|更正|调整|推迟|延期|提前|升级|搬|而不是|暂定"
)
# Weaker: they say that it is so now, not that it was otherwise.
_NOW: Final = re.compile(
    r"\b(?:now|already|finally|giờ|bây giờ|hiện|còn|gio|mới|vừa|thật ra|sorry|update[ds]?|grew"
    r"|to be exact|fixed|these days|nowadays)\b|现在|已经|目前"
)
_CHOICE: Final = re.compile(r"\bprefer|\brather\b|\bthích .{0,40}hơn\b|更喜欢|更爱|偏爱")


def _plain(text: str) -> str:
    decomposed = unicodedata.normalize("NFD", text)
    return (
        "".join(c for c in decomposed if not unicodedata.combining(c))
        .replace("đ", "d")
        .replace("Đ", "D")
    )


_STOP_BARE: Final = frozenset(map(_plain, _STOP_VIETNAMESE)) - words("team tai ban mai em thay")
# What stands after these is what was and is no more: "instead of euros", "thay anh Tuấn".
_FORMER: Final = re.compile(
    r"\b(?:instead of|rather than|took over .{0,40}?from|takes? over .{0,40}?from|replac(?:es|ed"
    r"|ing)|no longer (?:us(?:e|es|ing)|lik(?:e|es)|eats?|drinks?)?"
    r"|switch(?:ed|es|ing)? (?:over )?from|mov(?:ed|es|ing) (?:away )?from|over from|in place of"
    r"|drop(?:ped|ping|s)?"
    r"|thay(?: cho| vì)?|thế chỗ|chứ không (?:phải|còn|làm|dùng)?|(?:không|khong|thôi|bỏ|khỏi) "
    r"(?:còn )?(?:dùng|xài|dung|làm|lam|uống|ăn|chơi)?)\s+"
    r"(?P<what>[^\s,;.]+(?:\s+[^\s,;.]+){0,3})"
    r"|,\s*not\s+(?P<denied>[^\s,;.]+(?:\s+[^\s,;.]+){0,2})"
    r"|(?:不再用?|而不是|代替|取代)(?P<han>[^，。,]{1,8})"
    r"|从(?P<left>[^，。,]{1,12}?)(?:换|改|转|搬|迁|切)"
)


@dataclass(frozen=True, slots=True)
class Features:
    """A statement taken apart.

    Attributes:
        topic: Its words of content, folded and stemmed; of Chinese the pairs of signs.
        digits: Its numbers and days of the week, dates left out.
        units: What the numbers count: "euros" of "900 euros".
        names: Words written with a capital, those of no content left out.
        is_negated: Whether it denies.
        is_ended: Whether it says that something is over.
        is_change: Whether it says that something is other than before.
        is_now: Whether it says only that something is so now.
        is_choice: Whether it puts one thing before others, so that another choice ends it.
        former: The words of what it says was and is no more.
    """

    topic: frozenset[str]
    digits: frozenset[str]
    units: frozenset[str]
    names: frozenset[str]
    is_negated: bool
    is_ended: bool
    is_change: bool
    is_now: bool
    is_choice: bool
    former: frozenset[str]


def _stem(word: str) -> str:
    for suffix in ("ing", "ied", "ies", "ed", "es", "s"):
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:  # noqa: PLR2004 - a stem's least length
            stem = word[: -len(suffix)]
            if suffix in {"ied", "ies"}:
                return f"{stem}y"
            if suffix == "s" and stem.endswith("s"):
                return word
            return stem[:-1] if len(stem) > 3 and stem[-1] == stem[-2] else stem.rstrip("e")  # noqa: PLR2004
    return word.rstrip("e") if len(word) > 3 else word  # noqa: PLR2004


# What is done with a thing is not the thing: "drinks", "lives" are no topic in any form.
_STOP_STEMS: Final = frozenset(map(_stem, words(_GENERAL_VERBS)))


@lru_cache(maxsize=16_384)
def words_of(text: str) -> frozenset[str]:
    """Return the words of content of a text: folded, stemmed, stop words left out."""
    found: set[str] = set()
    for match in _TOKEN.finditer(DATE.sub(" ", text[:4_000])):
        token = match[0]
        if _HAN.match(token):
            for run in _STOP_CHINESE.split(token):
                found.update(run[k : k + 2] for k in range(max(len(run) - 1, 1)) if run)
            continue
        lower = token.lower()
        if lower in _STOP_ENGLISH or lower in _STOP_VIETNAMESE or lower[0].isdecimal():
            continue
        if lower.isascii():
            # Vietnamese typed without its marks shares spellings with English; a stop word of either is none.
            stem = _stem(lower)
            if lower not in _STOP_BARE and stem not in _STOP_STEMS:
                found.add(stem)
        else:
            found.add(_stem(_plain(lower)))
    return frozenset(found)


@lru_cache(maxsize=16_384)
def features(text: str) -> Features:
    """Return what decides of a statement; the same text, the same answer."""
    text = unicodedata.normalize("NFC", text[:4_000])
    undated = DATE.sub(" ", text)
    tokens = [match[0] for match in _TOKEN.finditer(undated)]
    lower = text.lower()
    return Features(
        words_of(text),
        frozenset(token for token in tokens if token[0].isdecimal())
        | frozenset(_WEEKDAY.findall(undated.lower())),
        words_of(" ".join(_UNIT.findall(undated))),
        frozenset(token.lower() for token in tokens if token[:1].isupper())
        - _STOP_ENGLISH
        - {"người", "for"},
        _NEGATION.search(lower) is not None,
        _ENDED.search(lower) is not None,
        _CHANGED.search(lower) is not None,
        _NOW.search(lower) is not None,
        _CHOICE.search(lower) is not None,
        frozenset().union(
            *(
                words_of(match["what"] or match["denied"] or match["han"] or match["left"])
                for match in _FORMER.finditer(DATE.sub(" ", lower))
            )
        ),
    )
