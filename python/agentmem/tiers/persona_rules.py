"""What facts say of a person and their work, by field: the pure part of the persona.

A fact speaks in the field that its kind, its slot and its words put it in, and in no other; facts
that fit none stay in L1. Facts of other people, one-off orders and data of tools never speak.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from agentmem.models import PersonaEntry, Trust
from agentmem.tiers.cluster.terms import terms_of

__all__ = ["PROJECT_SLOTS", "Focus", "Statement", "compose", "field_of", "is_aside", "is_one_off"]

MAX_ENTRY_CHARS: Final = 160
MOST: Final = {"project_context": 6, "work_style": 10, "recent_focus": 3, "avoid_patterns": 10}
"""Entries of a field; with 160 characters each a persona stays below 5,000."""

MAX_QUOTED: Final = 200
"""In a longer turn a word of one order may stand beside another sentence's rule."""

_SAME: Final = 0.6
"""Share of common terms from which two entries say one thing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A current fact as the persona reads it.

    ``scene`` is the id of the scene it is in, ``is_read`` tells what the rules read from a turn
    from what a host or its extractor wrote, ``quoted`` is the text of that turn.
    """

    id: str
    kind: str
    text: str
    trust: int
    subject: str | None = None
    attribute: str | None = None
    priority: int = 50
    confidence: float = 1.0
    order: int = 0
    scene: str | None = None
    is_read: bool = False
    quoted: str = ""


@dataclass(frozen=True, slots=True)
class Focus:
    """What has gone on of late: a text, how much it was, and the ids that it rests on."""

    text: str
    weight: float
    sources: tuple[str, ...]


def _words(*alternatives: str) -> re.Pattern[str]:
    """Compile alternatives; those in Latin letters stand alone, Chinese ones anywhere."""
    latin = "|".join(one for one in alternatives if not "\u3400" <= one[0] <= "\u9fff")
    han = "|".join(one for one in alternatives if "\u3400" <= one[0] <= "\u9fff")
    return re.compile(rf"(?<!\w)(?:{latin})(?![\w])|{han or '(?!)'}", re.IGNORECASE)


_SELF: Final = frozenset(("user", "the user", "assistant", "team", "the team", "project", "me", "i",
                          "we", "us", "company", "người dùng", "用户"))  # fmt: skip
_SHARED: Final = frozenset(("team", "the team", "project", "company", "product", "service", "repo",
                            "repository", "we", "us"))  # fmt: skip

PROJECT_SLOTS: Final = frozenset(
    ("occupation", "role", "job", "employer", "company", "workplace", "project", "product",
     "service", "team", "stack", "language", "framework", "database", "platform", "industry",
     "tool", "tools", "title", "working title", "store", "shop", "repository")
)  # fmt: skip
_AVERSIONS: Final = frozenset(("dislikes", "avoids", "hates", "allergy", "aversion"))
_PRIVATE_SLOTS: Final = frozenset(("name", "age", "birthday", "residence", "experience",
                                   "education", "goal"))  # fmt: skip

_PROHIBITION: Final = re.compile(
    r"^\W*(?:please\s+)?(?:(?:the user|we|you|i|the team)\s+)?"
    r"(?:(?:deploy|ship|release|merge|work|write)\s+)?"
    r"(?:never|don't|do not|no|avoid|stop|must not|mustn't|shouldn't|should not|can not|cannot|won't)(?!\w)"
    r"|^\W*(?:xin\s+)?(?:đừng|không|chớ|cấm|tránh)(?!\w)"
    r"|^\W*(?:请)?(?:不要|别|禁止|不准|绝不|切勿|避免)",
    re.IGNORECASE,
)
_AVERSION: Final = _words(
    r"dislikes?", r"hates?", r"avoids?", r"can(?:'t|not| not) stand", r"does(?:n't| not) (?:want|like)",
    r"do(?:n't| not) (?:want|like)", r"refuses?", "ghét", "không thích", "không muốn", "tránh", "讨厌",
    "不喜欢", "不想", "反感", "避免",
)  # fmt: skip
_ROLE: Final = _words(
    r"(?:runs?|manages?|maintains?|owns?|builds?|develops?|teach(?:es)?)"
    r" (?:the|a|an|my|our|their|his|her|all|\w+'s)?",
    r"works? (?:as|at|for|in|on)", r"is (?:the |an? )?(?:owner|founder|lead|head|manager|engineer|developer"
    r"|analyst|designer|teacher|student|nurse|doctor|accountant|writer|scientist|researcher|architect)",
    r"(?:our|the) (?:project|product|service|stack)", "dạy", r"làm (?:kế toán|lập trình|giáo viên|quản lý)",
    "đang làm", "phụ trách", "负责", "经营", "任职", "担任", "当产品经理", "从事",
)  # fmt: skip
_PRONOUN_ONLY: Final = re.compile(
    r"(?:hates?|dislikes?|avoids?|can not stand|can't stand|suggest|do|use)\s+"
    r"(?:them|it|that|this|one|so)(?!\w)"
    r"|^\W*(?:please\s+)?(?:(?:don't|do not|never|stop|avoid)\s+)?\w+\s+(?:them|it|that|this|one|so)\W*$",
    re.IGNORECASE,
)
_RULE: Final = _words(r"rules?", r"policy", "quy định", "quy tắc", "规定", "规则")
_PASSING: Final = _words(
    r"today", r"tonight", r"yesterday", r"tomorrow", r"this (?:week|month|morning|afternoon|evening)",
    r"right now", r"at the moment", r"currently", r"recently", r"just now", r"interested in",
    r"switched from", "hôm nay", "tối nay", "tuần này", "giờ", "đang", "今天", "刚", "这周", "最近", "明天",
)  # fmt: skip
_ONE_OFF: Final = _words(
    r"for (?:this|that|the next) (?:one )?(?:answer|message|reply|run|time|question|once)",
    r"just (?:today|once|this once|this time|for now)", r"only (?:this|today)", r"this time",
    r"for (?:once|today)", r"just this (?:one|time)", r"give me one", r"one[- ]off",
    "chỉ lần này", "lần này thôi", "chỉ hôm nay", r"chỉ một (?:câu|lần)", "riêng lần này",
    "这一次", "这次", "仅此一次", "就这次", "只这", "今天只",
)  # fmt: skip
_LASTING: Final = _words(
    "from now on", "always", "never", "in general", "as a rule", "từ nay", "luôn luôn", "đừng bao giờ",
    "以后", "从现在起", "一律", "永远", "不要", "别",
)  # fmt: skip
_OTHERS_LIKING: Final = re.compile(
    r"^\W*(?:my (?!\w+ing)\w+|(?:Anh|Chị|Cô|Thầy|Ông|Bà) \w+|Giám đốc|Sếp"
    r"|(?!I |We )[A-Z]\w+(?: on the team)?)"
    r" (?:\w+ ){0,2}(?:prefers|likes|loves|wants|thích|hay|muốn)(?!\w)|^.{0,6}(?:老\w|小\w|经理|老板)喜欢"
)
_TRAIT: Final = _words(
    r"quite", r"rather", r"very", r"really", r"relatively", r"tends? to", r"prefers?", r"likes?", r"loves?",
    r"enjoys?", r"used to",
    r"personality", r"person", r"habit", r"by nature", r"learns?", r"works?", r"works best", r"believes?",
    r"values?", r"thích", r"thường", r"luôn", r"quen", r"hay", r"ưu tiên", r"tính cách",
    "喜欢", "习惯", "总是", "通常", "一般", "偏好", "性格", "更愿意",
)  # fmt: skip
_CLAUSE_END: Final = re.compile(r"[,;，；]")
_OPENING: Final = re.compile(
    r"^(?:The user(?:'s)?|Người dùng|用户)(?:\s+|(?=[\u3400-\u9fff]))(?:thì\s+)?", re.IGNORECASE
)


def is_aside(text: str) -> bool:
    """Whether a turn tells a lasting rule or what another person likes, not what goes on."""
    return any(one.search(text) for one in (_LASTING, _OTHERS_LIKING, _PROHIBITION))


def is_one_off(text: str) -> bool:
    """Whether an order holds for this answer or day only."""
    return _ONE_OFF.search(text) is not None


def field_of(fact: Statement) -> str | None:
    """Return the field that a fact speaks in, None for none."""
    if fact.trust < Trust.ASSISTANT or is_one_off(fact.text) or not fact.text.strip():
        return None
    if len(fact.quoted) <= MAX_QUOTED and is_one_off(fact.quoted):
        return None
    subject = (fact.subject or "").casefold()
    attribute = (fact.attribute or "").casefold()
    if subject and subject not in _SELF:
        return None
    if fact.kind == "instruction":
        return _of_instruction(fact)
    if _PRONOUN_ONLY.search(fact.text):
        return None
    if fact.kind == "persona":
        if attribute in _AVERSIONS or _AVERSION.search(fact.text):
            return "avoid_patterns"
        if attribute in PROJECT_SLOTS or (not attribute and _is_role(fact.text)):
            return "project_context"
        if attribute in _PRIVATE_SLOTS or _is_passing(fact) or not _is_of_user(fact):
            return None
        return "work_style"
    if attribute in _PRIVATE_SLOTS:
        return None
    if fact.kind == "decision":
        if _RULE.search(fact.text):
            return _of_instruction(fact)
        return "project_context" if subject in _SHARED and not _is_passing(fact) else None
    if fact.kind == "fact":
        if attribute in PROJECT_SLOTS or subject == "project":
            return "project_context"
        return "project_context" if _is_role(fact.text) and not _is_passing(fact) else None
    return "project_context" if attribute in ("project", "occupation") else None


def _of_instruction(fact: Statement) -> str | None:
    if _PRONOUN_ONLY.search(fact.text):
        return None
    prohibits = _PROHIBITION.search(fact.text) or _AVERSION.search(fact.text)
    return "avoid_patterns" if prohibits else "work_style"


def _is_of_user(fact: Statement) -> bool:
    """Whether a trait that was read from a turn is plainly one, and the user's."""
    if not fact.is_read:
        return True
    opening = _OPENING.match(fact.text)
    if opening is None:
        return False
    clause = _CLAUSE_END.split(fact.text[opening.end() :], maxsplit=1)[0]
    return fact.attribute is not None or _TRAIT.search(clause) is not None


def _is_role(text: str) -> bool:
    return _ROLE.search(text) is not None


def _is_passing(fact: Statement) -> bool:
    """Whether a text tells of a passing state; a slot or a plain liking is lasting."""
    return fact.attribute is None and _PASSING.search(fact.text) is not None


def compose(facts: Iterable[Statement], focuses: Iterable[Focus]) -> list[PersonaEntry]:
    """Return the entries of a persona, field by field, the lasting ones in the order of the facts.

    Of facts that say nearly the same the newest speaks, resting on all of them. A full field keeps
    what ranks highest by priority, then confidence, then age.
    """
    by_field: dict[str, list[Statement]] = {}
    for fact in facts:
        name = field_of(fact)
        if name is not None:
            by_field.setdefault(name, []).append(fact)
    entries: list[PersonaEntry] = []
    for name in ("project_context", "work_style"):
        entries += _spoken(name, by_field.get(name, []))
    entries += _focused(focuses)
    entries += _spoken("avoid_patterns", by_field.get("avoid_patterns", []))
    return entries


def _spoken(name: str, facts: Sequence[Statement]) -> list[PersonaEntry]:
    groups: list[list[Statement]] = []
    terms_of_groups: list[set[str]] = []
    for fact in sorted(facts, key=lambda one: -one.order):
        terms = set(terms_of(_shown(fact.text), MAX_ENTRY_CHARS))
        for group, theirs in zip(groups, terms_of_groups, strict=True):
            if _alike(terms, theirs):
                group.append(fact)
                break
        else:
            groups.append([fact])
            terms_of_groups.append(terms)
    groups.sort(key=lambda one: (-one[0].priority, -one[0].confidence, -one[0].order))
    kept = sorted(groups[: MOST[name]], key=lambda one: one[0].order)
    return [
        PersonaEntry(
            name,  # type: ignore[arg-type]  # one of the four fields
            _shown(group[0].text),
            tuple(dict.fromkeys(
                [*(one.id for one in group), *(one.scene for one in group if one.scene)]
            )),
        )
        for group in kept
    ]  # fmt: skip


def _alike(left: set[str], right: set[str]) -> bool:
    common = len(left & right)
    return (
        common > 0
        and common >= _SAME * min(len(left), len(right))
        and (
            abs(len(left) - len(right)) <= 3 or common >= _SAME * max(len(left), len(right))  # noqa: PLR2004
        )
    )


def _focused(focuses: Iterable[Focus]) -> list[PersonaEntry]:
    ranked = sorted(focuses, key=lambda one: -one.weight)[: MOST["recent_focus"]]
    said: Mapping[str, Focus] = {_shown(one.text): one for one in reversed(ranked)}
    return [
        PersonaEntry("recent_focus", text, one.sources)
        for text, one in reversed(list(said.items()))
    ]


def _shown(text: str) -> str:
    """Return a fact's text as an entry: on one line, without its subject and its full stop."""
    line = _OPENING.sub("", " ".join(text.split())).rstrip(".。 ")
    if len(line) <= MAX_ENTRY_CHARS:
        return line
    return f"{line[: MAX_ENTRY_CHARS - 1].rstrip()}…"
