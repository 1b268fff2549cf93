"""Let a summarizer of the host rewrite labels and summaries, and check what it gives."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from agentmem.tiers.cluster.labels import MAX_LABEL_CHARS
from agentmem.tiers.cluster.terms import IDENTIFIER_MARK, terms_of

if TYPE_CHECKING:
    from agentmem.protocols import Summarizer
    from agentmem.tiers.cluster.assign import Clusterer
    from agentmem.tiers.cluster.profile import Profile

__all__ = ["MAX_SUMMARY_CHARS", "checked", "refine_scenes"]

MAX_SUMMARY_CHARS: Final = 1_000
LEAST_GROUNDED: Final = 0.5
"""Share of the words given that must occur in the scene: the rest may join and rephrase."""


def refine_scenes(summarizer: Summarizer | None, clusterer: Clusterer) -> None:
    """Ask the summarizer for each scene whose label by the rules is new; failures change nothing."""
    if summarizer is None:
        return
    for scene in sorted(clusterer.touched):
        profile = clusterer.scenes.get(scene)
        if profile is None or not profile.label:
            continue
        if profile.refined is not None and profile.refined[0] == profile.label:
            continue
        texts = [line.text for line in profile.lines]
        answer: Any = None
        with suppress(Exception):
            answer = summarizer.summarize(profile.label, texts)
        words = checked(answer, profile)
        profile.refined = None if words is None else [profile.label, *words]


def checked(answer: Any, profile: Profile) -> tuple[str, str] | None:
    """Return a summarizer's label and summary if they are ones, and about the scene."""
    if not isinstance(answer, tuple | list) or len(answer) != 2:  # noqa: PLR2004
        return None
    label, text = answer
    if not isinstance(label, str) or not isinstance(text, str):
        return None
    label, text = label.strip(), text.strip()
    if not 0 < len(label) <= MAX_LABEL_CHARS or len(text) > MAX_SUMMARY_CHARS:
        return None
    if len(label.splitlines()) != 1 or "\0" in label + text:
        return None
    known = set(profile.counts)
    for line in profile.lines:
        known |= set(terms_of(line.text, 2_000))
    for words in (label, text):
        said = [one for one in terms_of(words, 2_000) if not one.startswith(IDENTIFIER_MARK)]
        if sum(one in known for one in said) < LEAST_GROUNDED * len(said):
            return None
    return label, text
