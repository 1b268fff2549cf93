"""Did the work succeed: the host's word, or else the outcome of the last checks.

Results are read here as data, for their outcome only; no word of them goes further.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from agentmem.models.skills import ArchiveCall, ArchiveView
from agentmem.skills.acts import is_reading
from agentmem.skills.calls import (
    ALIKE,
    Call,
    flatten,
    is_check,
    is_command,
    is_effect,
    is_noise,
    similarity,
    verbs,
)
from agentmem.skills.procedure import EVERYDAY_WEIGHT, weight

__all__ = ["Verdict", "calls_of", "has_failed", "judge"]

_FAILED = re.compile(
    r"^\s*(?:\w+\s){0,4}?(?:error|fatal|failed|failure|denied|abort(?:ed)?)\b\s*(?:\([^)\n]*\))?\s*[:!(]"
    r"|^\s*(?:error|fatal|denied|failed)\b|^\s*[\w./-]{1,40}: (?:error|fatal|cannot|denied)\b"
    r"|traceback \(most recent call last\)"
    r"|\bexit(?:ed|ing)?(?: with)?(?: an?)?(?: non-?zero)?(?: exit)? (?:code|status)[ :=]*[1-9]"
    r"|\bcommand not found\b|\bpermission denied\b|\bno such file or directory\b"
    r"|\b(?:upgrade|build|tests?|compilation) failed\b"
    r"|\bsegmentation fault\b|\bcould not compile\b|\bpanicked at\b",
    re.IGNORECASE | re.MULTILINE,
)
_NAME = re.compile(r"[\w.-]{3,}")
_SHORTEST_NAME: Final = 5
_GIVEN_CHARS: Final = 200
"""A short result may be the id of what a call made; a long one is data of many things."""

_RAISED = re.compile(r"^(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception)(?::|$)", re.MULTILINE)
_COUNTED = re.compile(
    r"(?<![\w.])([1-9]\d*)\s+(?:tests?\s+)?(?:failed|failures?|errors?|failing)\b", re.IGNORECASE
)
_JSON_FAILED = re.compile(
    r"""^\s*\{(?:[^{}]|\{[^{}]*\})*"(?:error|errors)"\s*+:\s*+(?!null|""|\[\]|\{\}|false|0)"""
    r"""|^\s*\{[^{}]*"(?:status|status_code|code)"\s*:\s*"?[45]\d\d\b"""
    r"""|^\s*\{[^{}]*"(?:ok|success|succeeded)"\s*:\s*false"""
)
_READS_TEXT: Final = re.compile(
    r"(?:^|[_\W])(?:read|open|view|cat|logs?|search|grep|fetch|get|find)(?:$|[_\W])", re.IGNORECASE
)
_REFUSED = re.compile(
    r"^\s*(?:no\b[,.! ]|nope|stop\b|that'?s (?:wrong|not)|this is (?:wrong|not)|wrong\b|forget it"
    r"|không (?:đúng|phải|được)|sai rồi|不对|不是|错了|算了)"
    r"|\b(?:that|this|it) (?:is|'s|was) (?:still )?(?:wrong|broken|not what|not right|incorrect)"
    r"|\b(?:still (?:does ?n[o']t|fails|broken|wrong)|doesn'?t work|did ?n[o']t work|i'?ll do it myself"
    r"|forget it|never mind|undo (?:that|this|it)|revert (?:that|this|it))\b"
    r"|vẫn (?:chưa|không|lỗi)|thôi,? để tôi|还是不行|没用|我自己来",
    re.IGNORECASE,
)
_GAVE_UP = re.compile(
    r"\b(?:i )?(?:could ?n[o']t|can ?not|can't|was ?n[o']t able to|were unable to|am unable to|unable to"
    r"|failed to|did ?n[o']t manage|gave up|giving up|i give up|am out of ideas|i stop here|stopping here"
    r"|did not help|does ?n[o']t help|no luck)\b"
    r"|\bstill (?:red|failing|fails|broken|fail)\b|\bis broken now\b|\bnever (?:become|became|comes?) ready\b"
    r"|không (?:thể|làm được|thành công)|thất bại|vẫn lỗi|bó tay|无法|失败|没能|不行|放弃",
    re.IGNORECASE,
)
_INTERRUPTED = re.compile(
    r"\[request interrupted by user|the user doesn'?t want to (?:proceed|take this action)"
    r"|user (?:rejected|declined|cancelled|canceled)|operation cancelled by (?:the )?user",
    re.IGNORECASE,
)
_HANDED_OVER = re.compile(
    r"(?:transfer|escalate|hand_?(?:off|over))\w*(?:human|agent|support|operator)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the work succeeded, and what says so."""

    succeeded: bool
    note: str


def has_failed(call: ArchiveCall) -> bool:
    """Whether a call did not work, by the host's mark or by what its result says."""
    if call.outcome == "error":
        return True
    text = call.result
    if not text:
        return False
    head, tail = _ends(text)
    if _JSON_FAILED.search(text[:1_500]) or re.match(
        r"\s*(?:error|fatal|denied)\b\s*[:!(]", head, re.IGNORECASE
    ):
        return True
    plain = Call(call.name, flatten(call.arguments))
    check = is_check(plain)
    if not check and (_READS_TEXT.search(call.name) or not is_effect(plain)):
        return False
    return any(
        _FAILED.search(part) or (check and _COUNTED.search(part)) for part in (head, tail)
    ) or bool(_RAISED.search(tail))


def _ends(text: str) -> tuple[str, str]:
    """Return the first three and the last four lines: what lies between may be anybody's text."""
    lines = text[:2_000].strip().split("\n")[:3]
    last = text[-2_000:].strip().split("\n")[-4:]
    return "\n".join(lines)[:800], "\n".join(last)[-800:]


def calls_of(archive: ArchiveView) -> list[Call]:
    """Return the archive's calls as the miner sees them, with their outcome; orphans left out."""
    return [
        Call(
            tool=call.name,
            leaves=flatten(call.arguments),
            failed=has_failed(call),
            place=place,
            source=call.source,
            batch=call.batch,
        )
        for place, call in enumerate(archive.calls)
        if call.source is not None or call.name not in {"", "?"}
    ]


def judge(archive: ArchiveView, calls: Sequence[Call]) -> Verdict:
    """Return whether the work of an archive succeeded.

    The host's word counts first. Without one: an answer that the user refuses, an interrupted or
    abandoned run, a last check that fails and an error that nothing made good all mean failure;
    otherwise the last check, or a look at what was changed, mean success. That calls worked and
    an answer was given shows nothing: only the host knows whether it was what was wanted.
    """
    if calls and _HANDED_OVER.search(calls[-1].tool):
        return Verdict(False, "the work was handed over")
    if archive.succeeded is not None:
        return Verdict(archive.succeeded, "the host says so")
    messages = archive.messages
    last_act = max(
        (i for i, m in enumerate(messages) if m.role in {"tool_call", "tool_result"}), default=-1
    )
    after = messages[last_act + 1 :]
    for message in messages[max(last_act - 1, 0) :]:
        if message.role in {"user", "tool_result"} and _INTERRUPTED.search(message.text[:2_000]):
            return Verdict(False, "it was interrupted")
    if any(m.role == "user" and _REFUSED.search(m.text[:500]) for m in after):
        return Verdict(False, "the user refused the answer")
    said = next((m.text for m in reversed(after) if m.role == "assistant" and m.text.strip()), "")
    if said and _GAVE_UP.search(said[-1_500:]):
        return Verdict(False, "the assistant gave up")
    if calls and archive.calls and archive.calls[-1].outcome == "pending" and not said:
        return Verdict(False, "the last call has no result")
    kept = [c for c in calls if not is_noise(c)]
    results = {c.place: archive.calls[c.place].result or "" for c in kept}
    given = {place: text for place, text in results.items() if len(text) <= _GIVEN_CHARS}
    return _by_outcomes(kept, given, answered=bool(said))


def _by_outcomes(calls: Sequence[Call], given: Mapping[int, str], *, answered: bool) -> Verdict:
    checks = [i for i, c in enumerate(calls) if is_check(c)]
    if checks and calls[checks[-1]].failed:
        return Verdict(False, "the last check failed")
    begin = checks[-1] if checks else 0
    for place in range(begin, len(calls)):
        call = calls[place]
        if call.failed and not any(
            not later.failed and (similarity(call, later) >= ALIKE or later.tool == call.tool)
            for later in calls[place + 1 :]
        ):
            return Verdict(False, "an error was left as it was")
    if checks:
        return Verdict(True, "the last check passed")
    if _was_looked_at(calls, given) and not calls[-1].failed and (answered or is_effect(calls[-1])):
        return Verdict(True, "what was changed was looked at afterwards")
    return Verdict(False, "nothing shows that it succeeded")


def _was_looked_at(calls: Sequence[Call], given: Mapping[int, str]) -> bool:
    """Whether a look-up that worked names what a call before it changed or made.

    Reading a file or the log of version control shows what was written, not that it works.
    """
    changed: set[str] = set()
    for call in calls:
        if call.failed:
            continue
        if is_effect(call):
            changed |= _named(call) | _names(given.get(call.place, ""))
        elif changed & _named(call) and weight([call]) > EVERYDAY_WEIGHT and not is_reading(call):
            return True
    return False


def _named(call: Call) -> set[str]:
    """Return what a call's arguments may name one thing by."""
    texts = [(path, text[:2_000]) for path, text in call.leaves.items()]
    common = {word for path, text in texts if is_command(path) for word in verbs(text)}
    return {name for _, text in texts for name in _names(text)} - common


def _names(text: str) -> set[str]:
    words = {w.strip(".-") for w in _NAME.findall(text.casefold())}
    return {w for w in words if len(w) >= _SHORTEST_NAME or any(c.isdigit() for c in w)}
