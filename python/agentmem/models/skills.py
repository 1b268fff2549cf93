"""What the parts of a skill's life hand each other, from the buffer to the loadout.

``ArchiveView``, ``SkillView`` and ``Fingerprint`` are what a reviewer reads; ``Decision`` with its
``Draft`` is what it gives. All of them are plain data: none holds a handle to the store.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final, Literal

from agentmem.models.memory import Trust

__all__ = [
    "REASONS",
    "Archive",
    "ArchiveCall",
    "ArchiveMessage",
    "ArchiveReason",
    "ArchiveView",
    "Buffered",
    "Decision",
    "Draft",
    "Evidence",
    "Fingerprint",
    "Loadout",
    "LoadoutEntry",
    "Omitted",
    "Review",
    "SkillState",
    "SkillVersion",
    "SkillView",
    "Task",
    "TaskState",
]

ArchiveReason = Literal["oversize", "compressed", "tool_calls", "bytes", "forced", "empty"]
SkillState = Literal["proposed", "approved", "rejected", "retired"]
TaskState = Literal["waiting", "leased", "blocked", "done", "dead"]

REASONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "repeated": "the same procedure ran at least twice",
        "intent": "a person asked for it, and the run succeeded",
        "better": "a run adds a step, a parameter, a check or a pitfall that the skill lacks",
        "failed": "the work did not succeed, or nothing shows that it did",
        "one-off": "it happened once; a second occurrence in any session makes it a skill",
        "chat": "there is no procedure in it: no tool calls, or questions and answers only",
        "too-short": "fewer steps than would save anybody work",
        "duplicate": "a skill says this already",
        "nothing-new": "the skill that covers it would not change",
        "untrusted": "the instruction came from a tool's text or an import",
        "stale-base": "the skill was changed while the review was made; it is reviewed again",
        "bad-evidence": "the reviewer cites what is not in the archive",
        "bad-draft": "the reviewer's answer is no skill: a section, the name or a limit is wrong",
    }
)
"""Each reason that a review may give, and what it means."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Omitted:
    """What of a conversation an archive's payload leaves out; all of it is still in L0.

    Attributes:
        messages: Messages that are not in the payload at all.
        bytes: UTF-8 bytes of text that are not in it, of those messages and of shortened ones.
        shortened: Messages that are there with head and tail only.
    """

    messages: int = 0
    bytes: int = 0
    shortened: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """An archived slice of a session, waiting for its review.

    Attributes:
        id: ``"archive:5"``; None where there was nothing to archive (``reason == "empty"``).
        reason: Why it was archived.
        task: ``"task:5"``, the review that was registered with it.
        tool_calls: Initiated calls of the slice.
        bytes: UTF-8 bytes of the slice before anything was left out.
        payload_bytes: UTF-8 bytes of the payload, at most 81,920.
        digest: SHA-256 of the payload, in hex.
        intent: What a person wants made of it; only forced archives have one.
    """

    id: str | None
    session: str
    owner: str
    scope: str
    reason: ArchiveReason
    task: str | None = None
    tool_calls: int = 0
    messages: int = 0
    bytes: int = 0
    payload_bytes: int = 0
    omitted: Omitted = field(default_factory=Omitted)
    digest: str = ""
    intent: str | None = None
    created: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Buffered:
    """What a call of ``skills.add`` did, and how full the buffer is now.

    Attributes:
        tool_calls: Initiated calls in the buffer; 0 after it was archived.
        bytes: UTF-8 bytes of the buffered texts.
        messages: Messages in the buffer.
        dropped: What was left out of the buffer, by why: ``system``, ``reasoning``, ``image``,
            ``recalled``, ``wrapper``, ``bookkeeping``, ``empty``, ``replayed``.
        archived: The archive that this call made, None for most.
        ids: The L0 id of every part that was given, as of ``capture``.
        redacted: Secrets that were replaced, by kind.
    """

    tool_calls: int
    bytes: int
    messages: int
    dropped: Mapping[str, int]
    archived: Archive | None = None
    ids: tuple[str, ...] = ()
    redacted: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveMessage:
    """One message of an archive's payload, in the order of the conversation.

    Attributes:
        role: Who speaks; ``"omission"`` for a placeholder that says what was left out there.
        text: The words, a call's arguments (compact JSON, or the host's own text), or a result.
        source: The L0 id; None for an omission.
        trust: Words of users and the assistant, calls included, carry theirs; results the tool's.
        name: The tool of a call or a result.
        call_id: The host's id that ties a call to its result.
        answers: Of a result, the L0 id of the call that it belongs to; None for an orphan.
        outcome: Of a call, as far as it was known when the archive was made.
        is_object: The arguments are a JSON object.
        is_error: A result that failed.
        batch: Calls that were made together share it.
        parent_id: The id of the call whose sub-agent wrote this.
        is_shortened: ``text`` has head and tail only; the whole is in L0.
        time: When it was said, if the host says it.
    """

    role: Literal["user", "assistant", "tool_call", "tool_result", "omission"]
    text: str
    source: str | None = None
    trust: Trust = Trust.TOOL
    name: str | None = None
    call_id: str | None = None
    answers: str | None = None
    outcome: Literal["ok", "error", "pending"] | None = None
    is_object: bool = False
    is_error: bool = False
    batch: int | None = None
    parent_id: str | None = None
    is_shortened: bool = False
    time: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveCall:
    """A tool call of an archive with its result.

    Attributes:
        arguments: A mapping, or the host's text; shortened arguments are text.
        result: None while none came (``outcome == "pending"``), or if the log went on without
            one. A result that came after the archive was made is here, but not in ``messages``.
        place: 0-based place of the call in ``ArchiveView.messages``.
        source: L0 id of the call; None for a result whose call is unknown.
        result_source: L0 id of the result.
    """

    name: str
    arguments: Mapping[str, Any] | str
    result: str | None
    outcome: Literal["ok", "error", "pending"]
    place: int
    source: str | None
    result_source: str | None
    call_id: str | None = None
    batch: int | None = None
    parent_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveView:
    """An archive as a reviewer reads it.

    Attributes:
        messages: The payload.
        calls: The initiated calls in it, in order, each with its result.
        succeeded: The host's word on whether the work succeeded; None if it gave none.
        intent: What a person wants made of it, for forced archives.
    """

    id: str
    session: str
    owner: str
    scope: str
    reason: ArchiveReason
    messages: tuple[ArchiveMessage, ...]
    calls: tuple[ArchiveCall, ...]
    succeeded: bool | None = None
    intent: str | None = None
    omitted: Omitted = field(default_factory=Omitted)
    created: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What a version rests on: L0 rows of one archive.

    Attributes:
        archive: ``"archive:5"``.
        sources: L0 ids in that archive, in order.
        note: In a few words, what they show.
    """

    archive: str
    sources: tuple[str, ...]
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """What a one-off leaves behind, so that its second occurrence is known.

    Attributes:
        key: Equal for two runs of one procedure; the reviewer's own, at most 1,024 characters.
        data: JSON data that the reviewer needs to join the runs: the calls, say; at most 64 kB.
        archive: Where it occurred.
        session: The session of that archive.
        evidence: The L0 rows of the run.
    """

    key: str
    data: Mapping[str, Any] = field(default_factory=dict)
    archive: str = ""
    session: str = ""
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A skill as somebody wants it: no version yet, no state.

    Attributes:
        name: 1 to 64 of ``a-z``, ``0-9`` and single hyphens between them.
        description: What it does and when to use it, 1 to 1,024 characters.
        body: Markdown.
        resources: Files by relative path below ``scripts/``, ``references/`` or ``assets/``.
        metadata: JSON data kept with the version: the mined pattern and its parameters, say.
    """

    name: str
    description: str
    body: str
    resources: Mapping[str, bytes] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a reviewer says of one archive.

    Attributes:
        outcome: Most conversations are rejected.
        reasons: Keys of ``REASONS``, at least one.
        draft: What to create, or the whole new text of an update; None for a reject.
        skill: The name of the skill that is updated, or that makes a reject a duplicate.
        base_version: The version of it that the reviewer was shown; needed for an update.
        evidence: What the draft rests on; needed for create and update.
        fingerprints: What to remember of a one-off.
        used_fingerprints: Keys of the fingerprints given that the draft now covers.
        notes: More for people, in words.
    """

    outcome: Literal["create", "update", "reject"]
    reasons: tuple[str, ...]
    draft: Draft | None = None
    skill: str | None = None
    base_version: int | None = None
    evidence: tuple[Evidence, ...] = ()
    fingerprints: tuple[Fingerprint, ...] = ()
    used_fingerprints: tuple[str, ...] = ()
    notes: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillVersion:
    """One immutable version of a skill, with what is true of it now.

    Attributes:
        id: ``"skill:5"``, the same for all versions.
        version: 1, 2, … without gaps.
        state: Of this version.
        owner: Who may change the skill.
        author: Who made this version: a reviewer's id, an owner, ``"import"``.
        hash: SHA-256 over name, description, body and each resource, in hex.
        reasons: Why it was made.
        evidence: What it rests on.
        trust: The lowest of what it rests on.
        is_suspect: Two reported failures in a row.
        is_stale: Unused for long.
        successes: Reported successes of this version; ``failures`` likewise.
        restores: The version that a rollback brought back.
        is_head: The newest version of the skill.
        flags: What a lint of an import found, and the like.
    """

    id: str
    name: str
    version: int
    state: SkillState
    owner: str
    author: str
    scope: str
    description: str
    body: str
    hash: str
    resources: Mapping[str, bytes] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    trust: Trust = Trust.USER
    is_suspect: bool = False
    is_stale: bool = False
    is_head: bool = True
    successes: int = 0
    failures: int = 0
    uses: int = 0
    last_used: datetime | None = None
    restores: int | None = None
    flags: tuple[str, ...] = ()
    created: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillView:
    """A skill as a reviewer or the loadout sees it; no resources, only their paths.

    Attributes:
        relevance: 0 to 1, how well it fits the query; None without a query.
        resources: Paths.
        The others are those of :class:`SkillVersion`.
    """

    id: str
    name: str
    version: int
    state: SkillState
    owner: str
    description: str
    body: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    evidence: tuple[Evidence, ...] = ()
    resources: tuple[str, ...] = ()
    trust: Trust = Trust.USER
    is_suspect: bool = False
    is_stale: bool = False
    successes: int = 0
    failures: int = 0
    uses: int = 0
    last_used: datetime | None = None
    relevance: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One review in the queue.

    Attributes:
        id: ``"task:5"``.
        generation: Rises with each claim; only the newest may end the task.
        attempts: Failures that count; after eight the task is dead.
        deaths: Worker processes that died in it.
        run_after: Not before this.
        error: Of the last failure.
        outcome: Of a task that is done: created, updated or rejected.
    """

    id: str
    archive: str
    state: TaskState
    session: str
    owner: str
    scope: str
    generation: int
    attempts: int
    deaths: int
    worker: str | None = None
    run_after: datetime | None = None
    created: datetime | None = None
    error: str | None = None
    outcome: str | None = None
    kind: Literal["archive", "suspect"] = "archive"


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """How one task went.

    Attributes:
        outcome: ``created``, ``updated`` or ``rejected`` end the task; ``retry`` and ``blocked``
            leave it in the queue; ``dead`` parks it with its error.
        skill: The skill that was created, updated, or found to say it already.
        version: The version that was made.
        diff: Unified diff of an update's body.
        error: What went wrong, for the last three.
    """

    task: str
    archive: str
    outcome: Literal["created", "updated", "rejected", "retry", "blocked", "dead"]
    reasons: tuple[str, ...] = ()
    skill: str | None = None
    version: int | None = None
    diff: str = ""
    notes: str = ""
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadoutEntry:
    """One skill in a loadout.

    Attributes:
        is_suspect: Flagged in the text; it is ranked last.
        has_body: Whether its body is in the loadout too.
    """

    name: str
    version: int
    description: str
    is_suspect: bool = False
    is_stale: bool = False
    has_body: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Loadout:
    """What an agent is handed: identities of all that fit, then bodies within the budget.

    Attributes:
        identities: Best first.
        bodies: By name, in the order of the text.
        tokens: Of ``text``.
        text: For the prompt.
        pin: The session whose pins hold for it, None if it is not pinned.
        left_out: Approved skills whose identity did not fit.
    """

    identities: tuple[LoadoutEntry, ...]
    bodies: Mapping[str, str]
    tokens: int
    text: str
    pin: str | None = None
    left_out: int = 0
