"""A reviewer's decision as JSON text, so that it is kept before it is applied."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from typing import Any

from agentmem.errors import SkillError
from agentmem.models import Decision, Draft, Evidence, Fingerprint

__all__ = ["decode", "encode"]


def _evidence_out(items: tuple[Evidence, ...]) -> list[Any]:
    return [[one.archive, list(one.sources), one.note] for one in items]


def _evidence_in(items: list[Any]) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(archive=archive, sources=tuple(sources), note=note)
        for archive, sources, note in items
    )


def encode(decision: Decision) -> str:
    """Return the JSON text of a checked decision."""
    draft = decision.draft
    return json.dumps(
        {
            "outcome": decision.outcome,
            "reasons": list(decision.reasons),
            "draft": None
            if draft is None
            else {
                "name": draft.name,
                "description": draft.description,
                "body": draft.body,
                "resources": {
                    path: b64encode(content).decode() for path, content in draft.resources.items()
                },
                "metadata": dict(draft.metadata),
            },
            "skill": decision.skill,
            "base_version": decision.base_version,
            "evidence": _evidence_out(decision.evidence),
            "fingerprints": [
                [one.key, dict(one.data), _evidence_out(one.evidence)]
                for one in decision.fingerprints
            ],
            "used_fingerprints": list(decision.used_fingerprints),
            "notes": decision.notes,
        }
    )


def decode(text: str) -> Decision:
    """Return the decision of a JSON text.

    Raises:
        SkillError: It is not what ``encode`` wrote.
    """
    try:
        value = json.loads(text)
        draft = value["draft"]
        return Decision(
            outcome=value["outcome"],
            reasons=tuple(value["reasons"]),
            draft=None
            if draft is None
            else Draft(
                name=draft["name"],
                description=draft["description"],
                body=draft["body"],
                resources={
                    path: b64decode(content) for path, content in draft["resources"].items()
                },
                metadata=draft["metadata"],
            ),
            skill=value["skill"],
            base_version=value["base_version"],
            evidence=_evidence_in(value["evidence"]),
            fingerprints=tuple(
                Fingerprint(key=key, data=data, evidence=_evidence_in(evidence))
                for key, data, evidence in value["fingerprints"]
            ),
            used_fingerprints=tuple(value["used_fingerprints"]),
            notes=value["notes"],
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SkillError(f"a stored answer of a reviewer is damaged: {error!r}") from error
