"""Conversations for the tests of skills: archives as a reviewer reads them."""

from __future__ import annotations

import json

from agentmem.models.memory import Trust
from agentmem.models.skills import ArchiveCall, ArchiveMessage, ArchiveView, SkillView

__all__ = ["archive", "rollback", "skill_of"]


def archive(
    request,
    calls,
    *,
    answer="Done.",
    id="archive:1",
    session=None,
    succeeded=True,
    intent=None,
    after=None,
):
    """An archive of one request, calls ``(tool, arguments, result[, outcome])`` and an answer."""
    messages = []

    def add(role, text, trust, **more):
        messages.append(
            ArchiveMessage(
                role=role, text=text, source=f"L0:{len(messages) + 1}", trust=trust, **more
            )
        )
        return messages[-1].source

    rows = []
    if request is not None:
        add("user", request, Trust.USER)
    for place, call in enumerate(calls):
        tool, arguments, result, *rest = call
        outcome = rest[0] if rest else "ok"
        at = len(messages)
        source = add("tool_call", json.dumps(arguments), Trust.ASSISTANT, name=tool)
        got = None if result is None else add("tool_result", result, Trust.TOOL, name=tool)
        rows.append(
            ArchiveCall(
                name=tool,
                arguments=arguments,
                result=result,
                outcome=outcome,
                place=at,
                source=source,
                result_source=got,
                batch=place,
            )
        )
    if answer:
        add("assistant", answer, Trust.ASSISTANT)
    if after:
        add("user", after, Trust.USER)
    return ArchiveView(
        id=id,
        session=session or id,
        owner="ann",
        scope="",
        reason="forced",
        messages=tuple(messages),
        calls=tuple(rows),
        succeeded=succeeded,
        intent=intent,
    )


def rollback(
    service,
    namespace,
    revision,
    host,
    *,
    id="archive:1",
    wrong=False,
    extra=False,
    swap=False,
    request="Undo the deployment of {service} please.",
    **more,
):
    """A run of one procedure, with variations."""
    calls = [
        ("kubectl", {"command": f"get deploy {service} -n {namespace} -o wide"}, "1/3 ready"),
        (
            "kubectl",
            {"command": f"rollout history deploy/{service} -n {namespace}"},
            f"{revision} stable",
        ),
        (
            "kubectl",
            {"command": f"rollout undo deploy/{service} -n {namespace} --to-revision={revision}"},
            "rolled back",
        ),
        (
            "kubectl",
            {"command": f"rollout status deploy/{service} -n {namespace}"},
            "successfully rolled out",
        ),
        ("http", {"method": "GET", "url": f"https://{host}/healthz"}, '{"status": 200}'),
    ]
    if wrong:
        calls.insert(
            2,
            (
                "kubectl",
                {"command": f"rollout undo deploy/{service} --to-revision={revision}"},
                "Error from server (NotFound): no such deployment",
                "error",
            ),
        )
    if extra:
        calls.insert(1, ("kubectl", {"command": f"top pods -n {namespace}"}, "pod-a 12m"))
    if swap:
        calls[0], calls[1] = calls[1], calls[0]
    return archive(request.format(service=service), calls, id=id, **more)


def skill_of(decision, *, version=1, name=None, **more):
    """What a reviewer is shown of the skill that a decision makes."""
    draft = decision.draft
    return SkillView(
        id="skill:1",
        name=name or draft.name,
        version=version,
        state="approved",
        owner="ann",
        description=draft.description,
        body=draft.body,
        metadata=json.loads(json.dumps(draft.metadata)),
        evidence=decision.evidence,
        **more,
    )
