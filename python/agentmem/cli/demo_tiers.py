"""Conversations that become facts, scenes and a persona, for ``agentmem demo``."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from agentmem.cli.trace import tree

if TYPE_CHECKING:
    from agentmem.memory import Memory

__all__ = ["describe", "run_tiers"]

SCOPE: Final = "demo/conversations"
QUESTION: Final = "Which line length do we use?"
_START: Final = datetime(2026, 3, 2, 9, tzinfo=UTC)

# Each session: who speaks, and what they say.
_SESSIONS: Final = (
    ("monday", (
        ("user", "I'm working on the billing service this week. The login test fails on CI."),
        ("assistant", "The token expires before the second request; the clock is frozen wrongly."),
        ("user", "I prefer small commits. From now on always run the unit tests before you push."),
        ("user", "We decided to keep lines at 88 characters."),
    )),
    ("tuesday", (
        ("user", "Let's review pull request 42, the retry logic of the payment client."),
        ("assistant", "It retries without a pause; I would add a backoff."),
        ("user", "Never add a dependency for that. For this run answer only OK."),
    )),
    ("wednesday", (
        ("user", "Back to the style guide. We decided to use lines of 100 characters instead of 88."),
        ("user", "The login test passes again since yesterday."),
    )),
)  # fmt: skip


def run_tiers(memory: Memory) -> dict[str, Any]:
    """Capture the conversations, build the tiers, ask, and go down from the answer to the words."""
    scoped = memory.scoped(SCOPE)
    captured = 0
    for day, (session, lines) in enumerate(_SESSIONS):
        started = _START + timedelta(days=day)
        messages = [
            {"role": role, "content": text,
             "timestamp": (started + timedelta(minutes=at)).isoformat()}
            for at, (role, text) in enumerate(lines)
        ]  # fmt: skip
        captured += scoped.capture(messages, session=session).new
    report = scoped.consolidate()
    persona = scoped.persona()
    scenes = scoped.scenes()
    hits = scoped.recall(QUESTION, k=1)
    top = persona.id if persona.version else (hits[0].id if hits else None)
    return {
        "turns": captured,
        "report": report,
        "facts": [
            {"id": fact.id, "kind": fact.kind, "text": fact.text} for fact in scoped.facts(limit=50)
        ],
        "scenes": [{"id": scene.id, "label": scene.label} for scene in scenes],
        "persona": {"version": persona.version, "text": persona.to_system_context()},
        "question": QUESTION,
        "answer": None if not hits else {"id": hits[0].id, "text": hits[0].text},
        "trace": [] if top is None else tree(scoped.trace(top)),
    }


def describe(tiers: dict[str, Any]) -> str:
    """Return the part of the demo on tiers for people."""
    report = tiers["report"]
    lines = [
        (
            f"\ncaptured {tiers['turns']} turns of {len(_SESSIONS)} conversations (L0), then built: "
            f"{report.facts} facts, {report.superseded} of them superseded, "
            f"{len(tiers['scenes'])} scenes, persona version {tiers['persona']['version']}"
        ),
        *(f"  {fact['id']}  {fact['kind']:<12} {fact['text']}" for fact in tiers["facts"]),
        *(f"  {scene['id']}  {scene['label']}" for scene in tiers["scenes"]),
        f"\npersona (L3):\n{tiers['persona']['text']}",
    ]
    if tiers["answer"] is not None:
        lines.append(f"\n{tiers['question']}\n  {tiers['answer']['id']}  {tiers['answer']['text']}")
    lines += ["\nfrom the persona down to the words it rests on:", *tiers["trace"]]
    return "\n".join(lines)
