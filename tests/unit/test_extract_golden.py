"""What is read of a page of messages, as a file that a person reads; ``--update-golden`` writes it anew."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

from agentmem.models import Message
from agentmem.tiers.extract import RuleExtractor

FOLDER = Path(__file__).parent.parent / "golden" / "extraction"
SAID = datetime(2026, 3, 11, 12, tzinfo=timezone(timedelta(hours=7)))  # a Wednesday


def page():
    lines = []
    for text in (FOLDER / "messages.txt").read_text(encoding="utf-8").splitlines():
        lines.append(text)
        for fact in RuleExtractor().extract(
            [Message(id="L0:1", text=text, role="user", time=SAID)]
        ):
            slot = (
                f" [{fact.subject} / {fact.attribute} = {fact.value}]"
                if fact.attribute
                else f" [{fact.subject}]"
            )
            ends = " (ends)" if fact.ends else ""
            day = f" @{fact.event_time:%Y-%m-%d %H:%M}" if fact.event_time else ""
            lines.append(f"    {fact.kind}: {fact.text}{slot}{ends}{day}")
    return "\n".join(lines) + "\n"


def test_golden(request):
    path = FOLDER / "facts.txt"
    if request.config.getoption("--update-golden"):
        path.write_text(page(), encoding="utf-8")
    assert page() == path.read_text(encoding="utf-8")
