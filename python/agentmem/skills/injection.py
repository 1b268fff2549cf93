"""Words in a tool's text, or in an import, that give orders to whoever reads them.

This is no proof against injection; what holds is that results never become a skill's words. It
finds conversations that were led, so that nothing is learned from them.
"""

from __future__ import annotations

import re

__all__ = ["find_orders"]

_FLAGS = re.IGNORECASE | re.DOTALL

_OVERRIDE = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass|skip)\b[^.\n]{0,30}?"
    r"\b(?:previous|earlier|prior|above|all|any|your|safety|system)\b[^.\n]{0,24}?"
    r"\b(?:instructions?|rules?|prompts?|messages|guidelines|restrictions|directions)\b"
    r"|\byou are now (?:in |an? )[^.\n]{0,30}\b(?:mode|assistant|agent|unrestricted)\b"
    r"|\b(?:reveal|print|repeat|output|leak|show)\b[^.\n]{0,30}\bsystem prompt\b"
    r"|bỏ qua (?:mọi |các |tất cả |những )*(?:hướng dẫn|chỉ dẫn|lệnh|quy tắc|chỉ thị)"
    r"|(?:忽略|无视|忘记)[^。\n]{0,12}(?:指令|指示|规则|提示|说明)",
    _FLAGS,
)
_ADDRESS = re.compile(
    r"\b(?:important|note|notice|hint|message|instructions?|attention|reminder)?\s*(?:for|to|dear)\s+"
    r"(?:the |all |any |every |your |you,? )*(?:ai|llm|language model|model|assistant|agent|bot|copilot"
    r"|reviewer)s?(?: agents?| assistants?| models?)?\s*[:,.!-]"
    r"|(?:^|[\s>\"'(#*;-])(?:ai|llm|assistants?|agents?|ai agents?|ai assistants?|models?|reviewers?"
    r"|system(?: notice| message| note| prompt| override)?)\s*:"
    r"|\b(?:the )?(?:ai|assistant|agent|model|reviewer|llm)s? (?:must|should|shall|has to|have to|needs? to"
    r"|is required to|are required to)\b"
    r"|trợ lý(?: ai)?\s*[:,]|(?:gửi|dành cho) (?:trợ lý|tác tử|ai|mô hình)"
    r"|(?:ai|人工智能|智能)?(?:助手|代理|模型|智能体)\s*[:：,，]|致(?:ai|模型|助手|代理)|<\s*/?\s*system\s*>",
    _FLAGS | re.MULTILINE,
)
_ORDER = re.compile(
    r"\b(?:save|create|record|store|remember|memori[sz]e|write|add|install|run|execute|set|export|append"
    r"|configure|follow|always|never|from now on|must|approve|disable|enable|send|upload|post|change"
    r"|update|include|use|do|treat|register)\b"
    r"|\b(?:hãy|lưu|luôn|ghi nhớ|chạy|thêm|gửi|bật|tắt)\b|(?:请|必须|记住|保存|运行|执行|总是|添加|发送|以后)",
    _FLAGS,
)
_LASTING = re.compile(
    r"\b(?:skills?|memory|memories|remember|procedures?|workflows?|from now on|always|never|instructions?"
    r"|settings?|config(?:uration)?|hooks?|servers?|credentials?|tokens?|passwords?|secrets?|approv\w+"
    r"|permissions?|confirmation|maintenance|every (?:run|time|session|task|triage|install|request))\b"
    r"|\bcurl\b|\bwget\b|\bnpx\b|\.mcp\.json|\.bashrc|\.zshrc|https?://|\bAUTH\b"
    r"|quy trình|kỹ năng|luôn|ghi nhớ|mật khẩu|cấu hình|tự động|技能|流程|记住|总是|配置|密码|每次|以后",
    _FLAGS,
)
_SAVE = re.compile(
    r"\b(?:save|record|store|create|register|remember|memori[sz]e|add|write)\b[^.\n]{0,60}?"
    r"\b(?:as (?:a |the )?(?:new |lasting |permanent )?|new |following |this )"
    r"(?:skill|standing rule|permanent rule|lasting rule|standing instruction)\b"
    r"|lưu[^.\n]{0,40}(?:thành |làm )?(?:kỹ năng|quy trình) mới|(?:保存|记录|创建)[^。\n]{0,20}技能",
    _FLAGS,
)
_HIDE = re.compile(
    r"\b(?:do not|don'?t|never|without)\b[^.\n]{0,20}?\b(?:tell|telling|inform|informing|mention"
    r"|mentioning|alert|alerting|notify|notifying|show|ask|asking)\b[^.\n]{0,24}?"
    r"\b(?:users?|human|owner|anyone|before (?:running|executing))\b"
    r"|không (?:được )?(?:nói|báo|cho)[^.\n]{0,16}người dùng|不要(?:告诉|通知)[^。\n]{0,6}用户",
    _FLAGS,
)
_REACH = 260


def find_orders(text: str) -> str | None:
    """Return the words that give an order to an agent, shortened, or None.

    Args:
        text: A tool's result or a file of an import; 200,000 characters are looked at.
    """
    text = text[:200_000]
    for pattern in (_OVERRIDE, _SAVE, _HIDE):
        found = pattern.search(text)
        if found:
            return _short(found[0])
    for found in _ADDRESS.finditer(text):
        after = text[found.start() : found.end() + _REACH]
        body = text[max(found.end() - 12, 0) : found.end() + _REACH]
        if _ORDER.search(body) and _LASTING.search(body):
            return _short(after)
    return None


def _short(text: str) -> str:
    return " ".join(text.split())[:80]
