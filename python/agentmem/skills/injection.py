"""Words in a tool's text, or in an import, that give orders to whoever reads them.

This is no proof against injection; what holds is that results never become a skill's words. It
finds conversations that were led, so that nothing is learned from them.
"""

from __future__ import annotations

from bisect import bisect_left

from agentmem.skills.near import Near, Words, first, folded, words

__all__ = ["find_orders"]


_OVERRIDE = (
    Near(
        Near(
            words(r"\b(?:ignore|disregard|forget|override|bypass|skip)\b"),
            words(r"\b(?:previous|earlier|prior|above|all|any|your|safety|system)\b"),
            30,
            ".\n",
        ),
        words(r"\b(?:instructions?|rules?|prompts?|messages|guidelines|restrictions|directions)\b"),
        24,
        ".\n",
    ),
    Near(
        words(r"\byou are now (?:in |an? )"),
        words(r"\b(?:mode|assistant|agent|unrestricted)\b"),
        30,
        ".\n",
    ),
    Near(
        words(r"\b(?:reveal|print|repeat|output|leak|show)\b"),
        words(r"\bsystem prompt\b"),
        30,
        ".\n",
    ),
    words(r"bỏ qua (?:mọi |các |tất cả |những ){0,4}(?:hướng dẫn|chỉ dẫn|lệnh|quy tắc|chỉ thị)"),
    Near(words(r"忽略|无视|忘记"), words(r"指令|指示|规则|提示|说明"), 12, "。\n"),
)
_ADDRESS = words(
    r"\b(?:important|note|notice|hint|message|instructions?|attention|reminder)?\s*(?:for|to|dear)\s+"
    r"(?:the |all |any |every |your |you,? )*(?:ai|llm|language model|model|assistant|agent|bot|copilot"
    r"|reviewer)s?(?: agents?| assistants?| models?)?\s*[:,.!-]"
    r"|(?:^|[\s>\"'(#*;-])(?:ai|llm|assistants?|agents?|ai agents?|ai assistants?|models?|reviewers?"
    r"|system(?: notice| message| note| prompt| override)?)\s*:"
    r"|\b(?:the )?(?:ai|assistant|agent|model|reviewer|llm)s? (?:must|should|shall|has to|have to|needs? to"
    r"|is required to|are required to)\b"
    r"|trợ lý(?: ai)?\s*[:,]|(?:gửi|dành cho) (?:trợ lý|tác tử|ai|mô hình)"
    r"|(?:ai|人工智能|智能)?(?:助手|代理|模型|智能体)\s*[:：,，]|致(?:ai|模型|助手|代理)|<\s*/?\s*system\s*>",
)
_ORDER = words(
    r"\b(?:save|create|record|store|remember|memori[sz]e|write|add|install|run|execute|set|export|append"
    r"|configure|follow|always|never|from now on|must|approve|disable|enable|send|upload|post|change"
    r"|update|include|use|do|treat|register)\b"
    r"|\b(?:hãy|lưu|luôn|ghi nhớ|chạy|thêm|gửi|bật|tắt)\b|(?:请|必须|记住|保存|运行|执行|总是|添加|发送|以后)",
)
_LASTING = words(
    r"\b(?:skills?|memory|memories|remember|procedures?|workflows?|from now on|always|never|instructions?"
    r"|settings?|config(?:uration)?|hooks?|servers?|credentials?|tokens?|passwords?|secrets?|approv\w+"
    r"|permissions?|confirmation|maintenance|every (?:run|time|session|task|triage|install|request))\b"
    r"|\bcurl\b|\bwget\b|\bnpx\b|\.mcp\.json|\.bashrc|\.zshrc|https?://|\bAUTH\b"
    r"|quy trình|kỹ năng|luôn|ghi nhớ|mật khẩu|cấu hình|tự động|技能|流程|记住|总是|配置|密码|每次|以后",
)
_SAVE = (
    Near(
        words(r"\b(?:save|record|store|create|register|remember|memori[sz]e|add|write)\b"),
        words(
            r"\b(?:as (?:a |the )?(?:new |lasting |permanent )?|new |following |this )"
            r"(?:skill|standing rule|permanent rule|lasting rule|standing instruction)\b"
        ),
        60,
        ".\n",
    ),
    Near(words(r"lưu"), words(r"(?:thành |làm )?(?:kỹ năng|quy trình) mới"), 40, ".\n"),
    Near(words(r"保存|记录|创建"), words(r"技能"), 20, "。\n"),
)
_HIDE = (
    Near(
        Near(
            words(r"\b(?:do not|don'?t|never|without)\b"),
            words(
                r"\b(?:tell|telling|inform|informing|mention|mentioning|alert|alerting|notify|notifying"
                r"|show|ask|asking)\b"
            ),
            20,
            ".\n",
        ),
        words(r"\b(?:users?|human|owner|anyone|before (?:running|executing))\b"),
        24,
        ".\n",
    ),
    Near(words(r"không (?:được )?(?:nói|báo|cho)"), words(r"người dùng"), 16, ".\n"),
    Near(words(r"不要(?:告诉|通知)"), words(r"用户"), 6, "。\n"),
)
_REACH = 260


def find_orders(text: str) -> str | None:
    """Return the words that give an order to an agent, shortened, or None.

    Args:
        text: A tool's result or a file of an import.
    """
    small = folded(text)
    for finders in (_OVERRIDE, _SAVE, _HIDE):
        span = first(finders, small)
        if span is not None:
            return _short(text[slice(*span)])
    addressed = list(_ADDRESS.spans(small))
    if not addressed:
        return None
    orders = _Places(_ORDER, small)
    lasting = _Places(_LASTING, small)
    for begin, over in addressed:
        start, end = max(over - 12, 0), over + _REACH
        if orders.any_in(start, end) and lasting.any_in(start, end):
            return _short(text[begin:end])
    return None


class _Places:
    """Where a pattern is found, each looked for once."""

    def __init__(self, words: Words, text: str) -> None:
        self._spans = list(words.spans(text))

    def any_in(self, start: int, end: int) -> bool:
        """Whether one lies between two places."""
        place = bisect_left(self._spans, (start, start))
        return place < len(self._spans) and self._spans[place][1] <= end


def _short(text: str) -> str:
    return " ".join(text.split())[:80]
