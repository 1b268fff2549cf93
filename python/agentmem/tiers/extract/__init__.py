"""Read facts from messages by rules, without a language model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from agentmem.models import Candidate

if TYPE_CHECKING:
    from agentmem.models import Message

__all__ = ["RuleExtractor"]

_SENTENCE: Final = re.compile(r"[^.!?\n]+[.!?]?")
_RULES: Final = (
    ("instruction", re.compile(r"^(?:from now on|always|never)\b", re.IGNORECASE), 90),
    ("persona", re.compile(r"^I (?:prefer|like|love|hate)\b", re.IGNORECASE), 60),
    ("decision", re.compile(r"^we (?:decided|will use|chose)\b", re.IGNORECASE), 60),
)


class RuleExtractor:
    """The default extractor: only what a user says plainly."""

    id = "rules-0"

    def extract(
        self, messages: Sequence[Message], *, context: Sequence[Message] = ()
    ) -> list[Candidate]:
        """Return the facts of ``messages``, in their order."""
        del context
        found = []
        for message in messages:
            if message.role != "user":
                continue
            for match in _SENTENCE.finditer(message.text):
                text = match.group().strip()
                start = match.start() + len(match.group()) - len(match.group().lstrip())
                for kind, rule, priority in _RULES:
                    if rule.search(text):
                        found.append(
                            Candidate(
                                text=text, kind=kind, source=message.id, subject="user",
                                span=(start, start + len(text)), priority=priority,
                            )
                        )  # fmt: skip
                        break
        return found
