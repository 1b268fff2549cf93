"""What an extractor gave, checked before anything is written, whoever made it."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from agentmem.errors import ExtractorError, InvalidInputError
from agentmem.models import FACT_KINDS, Candidate, Message
from agentmem.tiers.fact_input import NewFact, checked

if TYPE_CHECKING:
    from agentmem.protocols import Extractor

__all__ = ["Checked", "check_candidates", "run_extractor"]

MAX_TEXT: Final = 4_000
MOST_PER_MESSAGE: Final = 200
# Wishes of people; a tool has none, whatever its output says.
WISHES: Final = frozenset(("persona", "instruction", "decision"))

Checked = tuple[Candidate, NewFact]


def run_extractor(
    extractor: Extractor,
    messages: Sequence[Message],
    context: Sequence[Message],
    *,
    timeout_s: float | None,
) -> Sequence[Candidate]:
    """Return what an extractor gives, or raise when it takes too long.

    Raises:
        TimeoutError: It did not answer in time. Its thread can't be stopped and ends by itself.
    """
    if timeout_s is None:
        return extractor.extract(messages, context=context)
    answer: list[Any] = []
    failure: list[BaseException] = []

    def work() -> None:
        try:
            answer.append(extractor.extract(messages, context=context))
        except BaseException as error:  # noqa: BLE001 - it is raised again below
            failure.append(error)

    thread = threading.Thread(target=work, name="agentmem-extract", daemon=True)
    thread.start()
    thread.join(timeout_s)
    if thread.is_alive():
        raise TimeoutError(
            f"extractor {extractor.id!r} did not answer within {timeout_s:g} s; "
            "nothing was written, it will be asked again"
        )
    if failure:
        raise failure[0]
    return answer[0]  # type: ignore[no-any-return]


def check_candidates(
    candidates: Any, messages: Sequence[Message], *, name: str, is_redacting: bool
) -> list[Checked]:
    """Return the candidates that may be judged, each with the fact it would be.

    What a tool's text wishes is left out. Everything else that breaks a rule makes the whole answer
    invalid: an extractor that invents evidence once is not believed in the rest.

    Args:
        candidates: The extractor's answer.
        messages: What it was asked about.
        name: The extractor's id, for messages.
        is_redacting: Whether secrets are replaced.

    Raises:
        ExtractorError: The answer breaks a rule; it says which candidate and why.
    """
    if isinstance(candidates, str | bytes | Mapping) or not isinstance(candidates, Sequence):
        raise ExtractorError(f"extractor {name!r} gave {type(candidates).__name__}, not a list")
    known = {message.id: message for message in messages}
    counts: Counter[str] = Counter()
    kept: list[Candidate] = []
    items: list[dict[str, Any]] = []
    seen: set[tuple[Any, ...]] = set()
    for at, one in enumerate(candidates):
        where = f"extractor {name!r}, candidate {at}"
        if not isinstance(one, Candidate):
            raise ExtractorError(f"{where}: a Candidate is needed, not {type(one).__name__}")
        message = known.get(one.source) if isinstance(one.source, str) else None
        if message is None:
            raise ExtractorError(f"{where}: source {one.source!r} is none of the messages given")
        _check_fields(one, message, where)
        counts[one.source] += 1
        if counts[one.source] > MOST_PER_MESSAGE:
            raise ExtractorError(
                f"{where}: more than {MOST_PER_MESSAGE} facts of one message {one.source}"
            )
        if message.role == "tool" and one.kind in WISHES:
            continue
        mark = (one.text, one.kind, one.source, one.subject, one.attribute, repr(one.value))
        if mark in seen:
            continue
        seen.add(mark)
        begins = one.valid_from if one.valid_from is not None else message.time
        if one.valid_to is not None and one.valid_to <= begins:
            raise ExtractorError(f"{where}: valid_to must lie after valid_from")
        kept.append(one)
        items.append(
            {"text": one.text, "kind": one.kind, "subject": one.subject or None,
             "attribute": one.attribute or None, "value": one.value, "valid_from": begins,
             "valid_to": one.valid_to, "priority": one.priority, "session": message.session,
             "sources": (one.source,)}
        )  # fmt: skip
    try:
        facts = checked(items, is_redacting=is_redacting)
    except InvalidInputError as error:
        raise ExtractorError(f"extractor {name!r}: {error}") from error
    return list(zip(kept, facts, strict=True))


def _check_fields(one: Candidate, message: Message, where: str) -> None:
    if one.kind not in FACT_KINDS:
        raise ExtractorError(f"{where}: kind {one.kind!r} is none of {', '.join(FACT_KINDS)}")
    span = one.span
    if (
        not isinstance(span, tuple | list)
        or len(span) != 2  # noqa: PLR2004
        or not all(isinstance(end, int) and not isinstance(end, bool) for end in span)
        or not 0 <= span[0] < span[1] <= len(message.text)
    ):
        raise ExtractorError(
            f"{where}: span {span!r} does not lie within the {len(message.text)} characters "
            f"of {one.source}"
        )
    if not message.text[span[0] : span[1]].strip():
        raise ExtractorError(f"{where}: span {span!r} of {one.source} quotes nothing")
    if not isinstance(one.text, str) or len(one.text) > MAX_TEXT:
        raise ExtractorError(f"{where}: text must be a string of at most {MAX_TEXT} characters")
    sure = one.confidence
    if isinstance(sure, bool) or not isinstance(sure, int | float) or not 0 <= sure <= 1:
        raise ExtractorError(f"{where}: confidence must be from 0 to 1, not {sure!r}")
    for name in ("event_time", "valid_from", "valid_to"):
        time = getattr(one, name)
        if time is not None and getattr(time, "tzinfo", None) is None:
            raise ExtractorError(f"{where}: {name} must be a timezone-aware datetime")
