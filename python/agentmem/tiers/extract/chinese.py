"""What a Chinese sentence states: one table of short patterns, read clause by clause."""

# ruff: noqa: E501 - a pattern or a list is read more easily whole
from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime
from typing import Final, NamedTuple

from agentmem.tiers.extract.dates import Dated, find_dates
from agentmem.tiers.extract.found import Found, Reading
from agentmem.tiers.extract.segments import Sentence

__all__ = ["read_chinese"]

_CLAUSE: Final = re.compile(r"[^，,；;：:、…\s]+(?:、[^，,；;：:、…\s]+)*")
_LEAD: Final = re.compile(
    r"^(?:哈哈|嗯|对|好的|你好|嘿|其实|不过|但是|但|而且|所以|因为|另外|反正|顺便说一下|更正一下|那个|然后|现在|目前|最近|平时|一般|最终|最后|终于|刚刚|还"
    r"|虽然|作为领队|SMS|Note)+"
)
_ASKS: Final = re.compile(
    r"[吗呢]$|什么|怎么|哪[个里些儿]|多少|是不是|能不能|要不要|有没有|如何|为何|为什么|几点|谁|靠谱不"
)
_SUPPOSES: Final = re.compile(
    r"^(?:如果|要是|假如|假设|倘若|万一|除非|可能|也许|大概|或许|比如|希望|听说|据说)"
)
_HEARSAY: Final = re.compile(r"听说|据说|[他她]说|有人说")
_ONE_OFF: Final = re.compile(r"这次|这一次|本次|这句|这个文件|刚才那|今天只|暂时|这条")
_SELF: Final = r"(?:我|俺|本人)"
_KIN: Final = r"(?:女朋友|男朋友|老婆|妻子|丈夫|老公|父母|爸妈|爸爸|妈妈|父亲|母亲|爸|妈|儿子|女儿|孩子|哥哥|姐姐|弟弟|妹妹|同事|室友|老板|朋友)"


class Rule(NamedTuple):
    """A pattern of a clause and what it tells; group ``v`` is the value."""

    kind: str
    attribute: str | None
    pattern: re.Pattern[str]
    ends: bool = False
    confidence: float = 0.8


def _rule(
    kind: str, attribute: str | None, pattern: str, *, ends: bool = False, confidence: float = 0.8
) -> Rule:
    return Rule(kind, attribute, re.compile(pattern), ends, confidence)


# In order: the first that fits a clause tells it.
_RULES: Final = (
    _rule("instruction", None, r"^(?:请)?(?:以后|今后|从今往后|从现在起|从今天起|从现在开始|从今天开始)(?!我|他|她|可能).*(?:用|不|要|别|必须|只|回|写|叫|称|先|改|说|答|都)", confidence=0.9),
    _rule("instruction", None, r"^(?:请|记住)?(?:永远|总是|一律|务必|始终|每次|默认|绝对)(?!我).*(?:用|不|要|别|必须|回|写|叫|先|都|说)", confidence=0.85),
    _rule("instruction", None, r"^(?:请)?(?:不要|别|禁止|不许|不准|千万别|切勿)(?:再)?(?:用|写|提交|修改|删|加|动|发|部署|合并|使用|直接|擅自|随便|碰)", confidence=0.75),
    _rule("instruction", None, r"^(?:回答|回复|代码|注释|提交|文档|变量).{0,10}(?:都|必须|一律|要)(?:用|写|有|是)", confidence=0.75),
    _rule("instruction", None, r"^(?P<v>.{2,10})(?:又?可以|能)(?:用|写|提交|部署)了$", ends=True, confidence=0.7),
    _rule("instruction", None, r"(?:规定|规则|约定)(?:是|为)?", confidence=0.7),
    _rule("fact", "name", rf"^{_SELF}?(?:叫|名叫|的名字是|名字叫)(?P<v>[\u4e00-\u9fffA-Za-z]{{2,8}})$"),
    _rule("fact", "residence", rf"^{_SELF}?(?:的?{_KIN})?(?:还|现在|目前|一直)*住(?:在)?(?P<v>[^了过]{{2,12}})$", confidence=0.85),
    _rule("event", "residence", rf"^{_SELF}?(?:已经|刚刚?|上周|昨天)*搬(?:到|去|来)(?P<v>.{{2,10}}?)了?$", confidence=0.85),
    _rule("fact", None, rf"^{_SELF}?(?:还)?(?:和|跟).{{1,8}}住一起$"),
    _rule("fact", "age", rf"^{_SELF}?(?:今年)?(?P<v>\d{{1,2}})岁?了?$", confidence=0.85),
    _rule("fact", "occupation", rf"^{_SELF}?(?:现在|目前)?(?:在.{{1,12}})(?:做|当|工作|上班|任职)(?P<v>.{{0,12}})$"),
    _rule("fact", "occupation", rf"^{_SELF}(?:是一?[名个位]?)(?P<v>[^的]{{2,12}}(?:师|员|生|家|主|人|长|经理|医生|老板|程序员))$"),
    _rule("fact", "experience", rf"^{_SELF}?.{{0,4}}做了(?P<v>[\d一二三四五六七八九十]+年.{{1,12}})$"),
    _rule("fact", "allergy", r"^(?P<who>我|我的?.{1,3})?对(?P<v>.{1,10})过敏"),
    _rule("persona", "likes", rf"{_SELF}?.{{0,10}}(?:最|很|特别|更|比较|超|还是|一直)?(?:不喜欢|讨厌|受不了|不爱|反感|害怕)(?P<v>.+)$", confidence=0.85),
    _rule("persona", "likes", rf"^{_SELF}?.{{0,10}}?(?:喜欢|热爱|偏爱|偏好|迷上|爱上|钟爱|更愿意|宁愿|习惯用|爱吃|爱喝)(?P<v>.+)$", confidence=0.85),
    _rule("persona", None, rf"^{_SELF}(?:这人|这个人|性格|为人)?(?:比较|很|挺|非常|偏|是个)(?:务实|内向|外向|细心|谨慎|节俭|急性子|慢性子|乐观|悲观|挑剔|怕.{{1,4}}|懒|理性|感性|直接|.{{1,6}}的人)"),
    _rule("persona", "skill", rf"^(?:{_SELF})?.{{0,14}}?(?:不?擅长|精通|熟悉|不是我的强项|会说|会弹|会写)(?P<v>.*)$"),
    _rule("persona", None, rf"^{_SELF}?.{{0,6}}有.{{1,10}}的习惯$"),
    _rule("persona", None, r"^(?:反而|现在)?(?:现在|反而)(?:觉得|更看重|更在意|不如).{2,}$", confidence=0.7),
    _rule("persona", None, rf"^{_SELF}?(?:每天|每周|每晚|经常|总是|从不|平时|一般都|每个周末)[^都可要].{{2,}}$", confidence=0.7),
    _rule("decision", None, r"(?:决定|决策|敲定|商定|说好|定下来|一致同意|选定|确定(?:了|要|用)|拍板)(?P<v>.+)$", confidence=0.85),
    _rule("decision", None, r"^(?:将|把).{2,20}定为"),
    _rule("decision", None, r"(?:改为|改成|换成|改用|暂定|改到)(?P<v>.{2,})$"),
    _rule("decision", None, r"^我们?(?:团队|组|公司)?.{0,6}(?:不再|放弃)(?P<v>.+)$", ends=True),
    _rule("fact", None, rf"^{_SELF}(?:现在|目前)?(?:开|养|有)(?:着)?[一两二三四五\d][辆只条个台套](?P<v>.+)$"),
    _rule("fact", None, r"^(?:我店里|我们?店|我投资的|我们?公司|我们?团队)(?:主要)?(?P<v>.{4,})$", confidence=0.7),
)  # fmt: skip
_NO_LONGER: Final = re.compile(rf"^{_SELF}?(?:已经|现在)?(?:不再|再也不|不怎么)(?P<v>.+)$")
_HAPPENS: Final = re.compile(
    r"了(?!吗)|刚|要|得|将|打算|准备|计划|约|预约|安排|定在|开始|去|来|参加|提交|进行|出发|取消|考|面试|开会|试|走起|确认|送|见|陪|交|建仓|签"
)
_DONE: Final = re.compile(
    rf"^(?:{_SELF}们?|我{_KIN})?(?:已经|刚刚?|终于|正式)+.{{0,16}}?(?:了|完|过|好)|^(?:参加了|取消了|换了|买了|提交了|正式确认了|我拿了)"
    rf"|^我?的?{_KIN}.{{0,8}}(?:住院|去世|结婚|生了|怀孕|出院|退休|达成一致)"
)


def _who(clause: str) -> tuple[str, str]:
    """Return the subject, and the clause with its subject named."""
    kin = re.match(rf"^我的?({_KIN})", clause)
    if kin:
        return kin[1], f"用户的{kin[1]}{clause[kin.end() :]}"
    if clause.startswith("我们"):
        return "user", f"用户等人{clause[2:]}"
    if clause.startswith("我"):
        return "user", f"用户{clause[1:]}"
    bare = re.match(rf"^({_KIN})", clause)
    if bare:
        return bare[1], f"用户的{clause}"
    return "user", clause.replace("我", "用户")


def read_chinese(sentence: Sentence, reading: Reading, said_at: datetime) -> list[Found]:
    """Return the facts that a sentence states.

    Args:
        sentence: The words.
        reading: The text.
        said_at: The message's time, with the speaker's zone.
    """
    first, last = sentence.words[0].start, sentence.words[-1].end
    text = reading.text[first:last]
    dates = find_dates(text, said_at, "zh")
    found: list[Found] = []
    supposed = False
    one_off = bool(_ONE_OFF.search(text))
    hearsay = bool(_HEARSAY.search(text))
    pieces = list(_CLAUSE.finditer(text))
    for at, piece in enumerate(pieces):
        clause = piece[0]
        lead = _LEAD.match(clause)
        start = piece.start() + (lead.end() if lead and lead.end() < len(clause) else 0)
        core = text[start : piece.end()]
        supposed = supposed or bool(_SUPPOSES.match(core))
        is_last = at == len(pieces) - 1
        if (
            supposed
            or _ASKS.search(clause)
            or (is_last and sentence.end in {"?", "？"})
            or "以前" in clause[:4]
        ):
            continue
        inside = [one for one in dates if one.start >= piece.start() and one.end <= piece.end()]
        absolute = [one for one in inside if not one.is_relative]
        when = next(iter(absolute or inside), None)
        one = _clause(core, clause, when, is_one_off=one_off, is_hearsay=hearsay)
        if one is None:
            continue
        kind, attribute, value, ends, confidence = one
        begin = min(start, inside[0].start) if inside else start
        subject, named = _who(core)
        if kind == "instruction":
            subject, named = "assistant", core
        if when is not None:
            quoted, day = text[when.start : when.end], when.when.date().isoformat()
            named = (
                named.replace(quoted, f"{quoted}（{day}）", 1)
                if quoted in named
                else f"{named}（{day}）"
            )
        moved = replace(when, start=when.start + first, end=when.end + first) if when else None
        found.append(Found(kind, first + begin, first + piece.end(), f"{named}。", subject, attribute, value,
                           ends, moved, confidence))  # fmt: skip
    return found


def _clause(
    core: str, clause: str, when: Dated | None, *, is_one_off: bool, is_hearsay: bool
) -> tuple[str, str | None, str | None, bool, float] | None:
    if len(core) < 3 or re.match(r"^(?:你|您|他|她|它|医生|谁)", core):  # noqa: PLR2004 - too short to tell anything
        return None
    for rule in _RULES:
        match = rule.pattern.search(core) or (
            rule.pattern.search(clause) if clause != core else None
        )
        if match is None:
            continue
        if rule.kind == "instruction" and is_one_off:
            return None
        if is_hearsay and rule.kind in {"persona", "fact"}:
            return None
        value = match.groupdict().get("v")
        attribute = rule.attribute
        if attribute == "likes" and re.search(r"不喜欢|讨厌|受不了|不爱|反感|害怕", core):
            attribute = "dislikes"
        kind = "event" if rule.kind == "persona" and when and attribute is None else rule.kind
        return kind, attribute, value if attribute else None, rule.ends, rule.confidence
    if gone := _NO_LONGER.match(core):
        return "persona", None, gone["v"], True, 0.75
    if when is not None and _HAPPENS.search(clause):
        return "event", None, None, False, 0.75
    if _DONE.search(clause):
        return "event", None, None, False, 0.7
    return None
