"""How a turn stands to the one before it, by the words with which people say so.

Each table is a list of alternatives in English, Vietnamese and Chinese. Words end at a letter of
their own script; Chinese knows no such end.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

__all__ = ["Cues", "closes", "completes", "read_cues"]

_END: Final = r"(?![\w'])"

_OPENERS: Final = (
    "hello hi hey dear sigh today tonight recently also|good morning|good evening|good afternoon"
    "|by the way|btw|before i forget|another thing|private thing|next week|this week|unrelated"
    "|separately|i just|i've just|on another note|new topic|note|calendar"
    "|chào|xin chào|nhân tiện|à mà|tiện thể|hôm nay|tối nay|tháng này|tuần này"
)
_OPENERS_ZH: Final = "你好 您好 嗨 嘿 哈喽 唉 顺便 另外 对了 接下来 今天 我刚"

_FOLLOWERS: Final = (
    "yes yeah yep right exactly correct that that's this these those it it's they and but so then ok"
    " okay alright understood thank thanks great good nice perfect excellent no sure absolutely"
    " really you're you've your neither why which regarding using actually"
    "|all right|i see|i understand|got it|what about|how about|how do|does|is it|i appreciate|i'll go"
    "|the steps|the technique|the information|the analysis|the suggestion|the suggestions|the idea"
    "|vậy|thế|vâng|ừ|đúng|rồi|còn|được|cảm ơn|dạ|nhưng|và"
)
_FOLLOWERS_ZH: Final = (
    "对 是的 是啊 没错 明白 好的 嗯 那 有道理 清楚 原来 谢谢 太 这个 这些 很 非常 哈哈 你这么 你说 "
    "听你 你解释 有的 不用"
)

_ACKNOWLEDGEMENT: Final = re.compile(
    r"sounds? (?:(?:really|very|quite) )?"
    r"(?:great|good|nice|practical|interesting|helpful|useful|feasible|perfect|reasonable)"
    r"|(?:is|are|was|were|'s) (?:(?:very|really|so|quite|truly|indeed|all) )?"
    r"(?:clear|practical|helpful|useful|specific|detailed|excellent|fantastic|inspiring|wonderful"
    r"|spot-on|great|brilliant)"
    r"|makes sense|good (?:point|idea|question)|great idea|(?:as )?you (?:said|suggested|mentioned)"
    r"|听起来|实用|清晰|清楚|有用|太好了|太棒|招妙|记下了|明白|你提到|你说的|不错|有道理"
    r"|hay quá|rõ rồi|hợp lý|bạn nói|như bạn",
    re.IGNORECASE,
)
_TASK: Final = re.compile(
    r"(?:we're|we are|you're|you are|i'm|i am) (?:currently |now )?"
    r"(?:solving|working on|going to (?:solve|work))"
    r"|\b(?:work on|your task|task:|issue:|here's the issue)",
    re.IGNORECASE,
)
_CLOSING: Final = re.compile(
    r"you(?:'re| are) (?:(?:very|most) )?welcome|my pleasure|have a (?:great|nice)|good luck"
    r"|wishing you|good night|###stop###|transfer successful"
    r"|不客气|不用谢|祝你|không có (?:gì|chi)|chúc bạn|chúc anh|chúc chị",
    re.IGNORECASE,
)
_COMPLETION: Final = re.compile(
    r"git commit|git push|gh pr (?:create|merge)|\b[\w-]+ close [\w./#-]*\d|`submit`|^submit\b|\ball done\b",
    re.IGNORECASE,
)
_ACKNOWLEDGEMENT_MARKS: Final = (
    "sound", "clear", "practical", "helpful", "useful", "specific", "detailed", "excellent",
    "fantastic", "inspiring", "wonderful", "spot-on", "great", "brilliant", "makes sense",
    "good point", "good idea", "good question", "you said", "you suggested", "you mentioned",
    "听起来", "实用", "清晰", "清楚", "有用", "太好了", "太棒", "招妙", "记下了", "明白", "你提到",
    "你说的", "不错", "有道理", "hay quá", "rõ rồi", "hợp lý", "bạn nói",
)  # fmt: skip
_TASK_MARKS: Final = ("solv", "work", "your task", "task:", "issue")
_CLOSING_MARKS: Final = (
    "welcome", "my pleasure", "have a ", "good luck", "wishing you", "good night", "###stop###",
    "transfer successful", "不客气", "不用谢", "祝你", "không có ", "chúc ",
)  # fmt: skip
_COMPLETION_MARKS: Final = ("git ", "gh pr", "close", "submit", "all done")
_EDGE: Final = 150
_HEAD: Final = 300


def _words(table: str) -> str:
    head, *phrases = table.split("|")
    return "|".join(re.escape(one) for one in (*head.split(), *phrases))


def _beginning(table: str, chinese: str) -> re.Pattern[str]:
    han = "|".join(chinese.split())
    return re.compile(rf"^\W{{0,8}}(?:(?:{_words(table)}){_END}|{han})", re.IGNORECASE)


_OPENING: Final = _beginning(_OPENERS, _OPENERS_ZH)
_FOLLOWING: Final = _beginning(_FOLLOWERS, _FOLLOWERS_ZH)


@dataclass(frozen=True, slots=True)
class Cues:
    """What the beginning of a turn says of its place in the talk.

    Attributes:
        opens: It greets, or says that it turns to something else.
        follows: It answers, agrees, or points back to what was said.
        tasks: It sets a task.
    """

    opens: bool = False
    follows: bool = False
    tasks: bool = False


def read_cues(text: str) -> Cues:
    """Return the cues in a user's turn."""
    opens = _OPENING.match(text) is not None
    follows = not opens and bool(
        _FOLLOWING.match(text) or _says(_ACKNOWLEDGEMENT, _ACKNOWLEDGEMENT_MARKS, text[:160])
    )
    return Cues(opens=opens, follows=follows, tasks=_says(_TASK, _TASK_MARKS, text[:200]))


def closes(text: str) -> bool:
    """Whether a turn takes leave."""
    return _says(_CLOSING, _CLOSING_MARKS, f"{text[:_EDGE]} {text[-_EDGE:]}")


def completes(text: str) -> bool:
    """Whether a step of an agent ends a piece of work: a commit, a submission, a closed ticket."""
    return _says(_COMPLETION, _COMPLETION_MARKS, text[:_HEAD])


def _says(pattern: re.Pattern[str], marks: tuple[str, ...], text: str) -> bool:
    """Whether a pattern occurs, each match of which holds one of the marks: they are looked for first."""
    folded = text.lower()
    return any(mark in folded for mark in marks) and pattern.search(text) is not None
