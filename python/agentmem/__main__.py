"""``python -m agentmem``: the command line."""

from __future__ import annotations

from agentmem.cli import main

main()
