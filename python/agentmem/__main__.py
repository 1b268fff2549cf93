"""``agentmem`` and ``python -m agentmem``: the command line."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; a hook's event goes past all that it does not need."""
    if sys.argv[1:2] == ["hook"] and not {"-h", "--help"} & set(sys.argv[2:]):
        from agentmem.integrations.claude_code.hook import main as hook

        hook(sys.argv[2:])
    from agentmem.cli import main as cli

    cli()


if __name__ == "__main__":
    main()
