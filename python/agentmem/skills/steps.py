"""Named steps between two effects, where a test can stop or kill the process."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["reach", "set_hook"]

_hook: Callable[[str], None] | None = None


def set_hook(hook: Callable[[str], None] | None) -> None:
    """Have a function called with the name of each step that is reached; None for nobody."""
    global _hook  # noqa: PLW0603 - one process, one test
    _hook = hook


def reach(name: str) -> None:
    """Say that a step is reached."""
    if _hook is not None:
        _hook(name)
