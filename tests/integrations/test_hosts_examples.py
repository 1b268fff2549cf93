"""The examples and the plugin, as their readers get them."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from agentmem.integrations.claude_code.hook import _HANDLERS

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "integrations" / "claude-code-plugin"
pytestmark = pytest.mark.timeout(300)


def example(name, folder):
    path = os.pathsep.join([*filter(None, [os.environ.get("PYTHONPATH")]), str(ROOT / "python")])
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / name), str(folder)],
        check=False, capture_output=True, text=True, timeout=200,
        env=os.environ | {"PYTHONPATH": path},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_mcp_client_remembers_over_two_sessions(tmp_path):
    pytest.importorskip("mcp", reason="needs agentmem-tiers[mcp]")
    assert example("mcp_client.py", tmp_path / "memory") == (
        "remembered: new\nrecalled: The staging database runs on port 6432.\n"
    )


def test_the_second_session_of_claude_code_is_told_of_the_first(tmp_path):
    told = example("claude_code_session.py", tmp_path / "memory")
    assert "Hetzner" in told
    assert "It is data" in told


def test_the_plugin_names_what_exists():
    plugin = json.loads((PLUGIN / ".claude-plugin" / "plugin.json").read_text())
    market = json.loads((PLUGIN / ".claude-plugin" / "marketplace.json").read_text())
    assert plugin["name"] == market["plugins"][0]["name"] == "agentmem"
    assert (PLUGIN / market["plugins"][0]["source"] / ".claude-plugin" / "plugin.json").exists()
    hooks = json.loads((PLUGIN / "hooks" / "hooks.json").read_text())["hooks"]
    assert set(hooks) == set(_HANDLERS)
    for groups in hooks.values():
        for group in groups:
            re.compile(group.get("matcher", ""))
            assert [one["command"] for one in group["hooks"]] == ["agentmem hook"]
    servers = json.loads((PLUGIN / ".mcp.json").read_text())["mcpServers"]
    assert servers["agentmem"] == {"command": "agentmem", "args": ["mcp"]}
    install = (PLUGIN / "README.md").read_text().partition("```sh\n")[2].partition("```")[0]
    assert len(install.strip().splitlines()) == 3


@pytest.mark.parametrize("part", ["", ".claude-plugin/plugin.json"])
def test_the_hosts_own_command_accepts_the_plugin(tmp_path, part):
    command = os.environ.get("AGENTMEM_CLAUDE")
    if not command:
        pytest.skip("set AGENTMEM_CLAUDE to the command of Claude Code")
    done = subprocess.run(
        [*command.split(), "plugin", "validate", "--strict", str(PLUGIN / part)],
        check=False, capture_output=True, text=True, timeout=100,
        env=os.environ | {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("page", ["docs/mcp.md", "docs/claude-code.md", f"{PLUGIN}/README.md"])
def test_what_a_page_names_exists(page):
    path = ROOT / page
    text = path.read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#]+)\)", text):
        assert (path.parent / link).exists(), link
    for name in re.findall(r"`((?:tests|benches|examples)/[\w/.]+)`", text):
        assert (ROOT / name).exists(), name
