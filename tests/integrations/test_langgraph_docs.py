"""docs/langgraph.md: its program prints what it shows, and what it names exists."""

import re
from pathlib import Path

import pytest
from tests.test_readme import programs, run

pytest.importorskip("langgraph.store.base", reason="needs agentmem-tiers[langgraph]")

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "langgraph.md").read_text(encoding="utf-8")


def test_the_program_runs_and_prints_what_is_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = programs(PAGE)
    assert len(found) == 1
    for printed, (_, shown) in zip(run(found), found, strict=True):
        assert printed == shown


def test_what_is_named_exists():
    for link in re.findall(r"\]\(([^)#]+)\)", PAGE):
        assert (ROOT / "docs" / link).exists(), link
    for path in re.findall(r"`((?:tests|benches)/[\w/.]+)`", PAGE):
        assert (ROOT / path).exists(), path
