"""How the skill path behaves where a host does not want the defaults."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from agentmem.errors import InvalidInputError

if TYPE_CHECKING:
    from agentmem.models import SkillVersion
    from agentmem.protocols import ArchiveStore

__all__ = ["MAX_PAYLOAD_BYTES", "SkillOptions"]

MAX_PAYLOAD_BYTES = 81_920  # 80 kB: what a reviewing model takes at once, with room for its prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillOptions:
    """Settings of the skill path; all of them have defaults.

    Attributes:
        archive_calls: A buffer with so many initiated calls is archived.
        archive_bytes: A buffer of so many UTF-8 bytes is archived; and one add of so many has its
            long tool texts shortened.
        oversize_bytes: A buffer of more than so many bytes is archived by the oversize strategy.
        shorten_bytes: Tool texts longer than this are the long ones.
        archives: Where payloads are kept; None for the store itself.
        auto_approve: Says of a proposed version whether it is approved at once; None for never. If
            it raises, the version stays proposed and a ``StoreWarning`` says why.
        review_timeout_s: A reviewer that has not answered by then has failed, and is tried again.
        lease_s: A worker that lives but has shown no progress for so long loses its task.
        stale_days: An approved skill that nobody was handed for so long is flagged stale.
    """

    archive_calls: int = 10
    archive_bytes: int = 40_960
    oversize_bytes: int = 81_920
    shorten_bytes: int = 2_048
    archives: ArchiveStore | None = None
    auto_approve: Callable[[SkillVersion], bool] | None = None
    review_timeout_s: float = 900.0
    lease_s: float = 120.0
    stale_days: float = 30.0

    def __post_init__(self) -> None:
        for name, least in (
            ("archive_calls", 1),
            ("archive_bytes", 1),
            ("oversize_bytes", 1),
            ("shorten_bytes", 256),
        ):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise InvalidInputError(f"{name}: at least {least} is needed, {value!r} was given")
        for name in ("review_timeout_s", "lease_s", "stale_days"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
                raise InvalidInputError(f"{name}: more than 0 is needed, {value!r} was given")
        if self.archives is not None and not all(
            callable(getattr(self.archives, verb, None)) for verb in ("put", "get", "delete")
        ):
            raise InvalidInputError(
                f"archives: a store with put, get and delete is needed, {self.archives!r} was given"
            )
        if self.auto_approve is not None and not callable(self.auto_approve):
            raise InvalidInputError(
                f"auto_approve: a function is needed, {self.auto_approve!r} was given"
            )

    def changed(self, changes: dict[str, Any]) -> SkillOptions:
        """Return these settings with some of them changed.

        Raises:
            InvalidInputError: A name is none, or a value is out of its range.
        """
        known = {field.name: getattr(self, field.name) for field in fields(self)}
        unknown = sorted(set(changes) - set(known))
        if unknown:
            raise InvalidInputError(
                f"{unknown[0]!r} is no setting of skills; these are: {', '.join(known)}"
            )
        return SkillOptions(**(known | changes))
