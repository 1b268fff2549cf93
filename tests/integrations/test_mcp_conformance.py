"""The public conformance runner's server scenarios that apply.

The others call tools, resources and prompts of the runner's own reference server, or exercise
capabilities that this server does not declare (logging, completions, subscriptions, sampling).
"""

import os
import re
import subprocess
import sys

import pytest
from tests.integrations.mcp_parts import ROOT, environment

pytest.importorskip("mcp", reason="needs agentmem-tiers[mcp]")

APPLY = (
    "server-initialize",
    "ping",
    "tools-list",
    "tools-call-error",
    "resources-list",
    "prompts-list",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
)


@pytest.fixture
def url(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.integrations.mcp_conformance", str(tmp_path / "memory")],
        cwd=ROOT, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait(30)
        process.stdout.close()


@pytest.mark.timeout(300)
def test_the_scenarios_that_apply_pass(url, tmp_path):
    runner = os.environ.get("AGENTMEM_MCP_CONFORMANCE")
    if not runner:
        pytest.skip(
            "set AGENTMEM_MCP_CONFORMANCE to the command of @modelcontextprotocol/conformance"
        )
    for scenario in APPLY:
        done = subprocess.run(
            [*runner.split(), "server", "--url", url, "--scenario", scenario,
             "-o", str(tmp_path / "out")],
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{scenario}: {done.stdout}{done.stderr}"
        assert re.search(r"[1-9]\d*/\d+ passed|[1-9]\d* passed|Passed: [1-9]", done.stdout), (
            done.stdout
        )
