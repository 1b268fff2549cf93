"""Diagrams drawn by the newest Mermaid in a headless browser: every state is there, and no error."""

from __future__ import annotations

import html
import re
import shutil
import struct
import subprocess
import urllib.parse
from pathlib import Path

import pytest

from agentmem.toollog import ToolCall, compress

FOLDER = Path(__file__).parent.parent / "official_parser"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        CHROMIUM is None or not (FOLDER / "node_modules").exists(),
        reason="needs chromium and `npm ci` in tests/official_parser",
    ),
]

CALLS = [
    ToolCall("Read", {"file_path": "/repo/src/login.py"}, "def login(user):\n    return user.id\n"),
    ToolCall("Bash", {"command": "pytest -q"}, "FAILED tests/a.py\n3 failed, 9 passed in 1s", is_error=True),
    ToolCall("Grep", {"pattern": "user.id"}, "Found 2 files\nsrc/a.py\nsrc/b.py", batch=4),
    ToolCall("Glob", {"pattern": "*.py"}, "src/a.py", batch=4),
    ToolCall("Task", {"description": "look around", "prompt": "p"}, "# Done", id="t"),
    ToolCall("Read", {"file_path": "/repo/x.py"}, "x = 1\n", parent_id="t"),
    ToolCall('say: <b>"hi"</b>; #1 --> c9', "phở {bò} 😀; %% no comment", "a => b [*] end"),
    ToolCall("Bash", {"command": "make"}, None),
]  # fmt: skip


def browser(text, *options):
    """Run the browser on the page with the diagram; return what it writes."""
    page = (FOLDER / "picture.html").as_uri() + "#" + urllib.parse.quote(text)
    return subprocess.run(
        [
            CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
            "--allow-file-access-from-files", "--virtual-time-budget=20000",
            "--window-size=1400,1800", *options, page,
        ],
        capture_output=True,
        check=True,
        timeout=120,
    ).stdout.decode()  # fmt: skip


def drawn(text):
    """Return the picture's page and the words that a person sees in it."""
    page = browser(text, "--dump-dom")
    assert 'data-done="yes"' in page, page[:2000]
    _, _, rest = page.partition("<svg")
    svg = rest.partition("</pre>")[0]
    svg = re.sub(r"<style.*?</style>", "", svg, flags=re.DOTALL)
    words = html.unescape(re.sub(r"<[^>]*>", " ", svg))
    return page, svg, re.sub(r"\s+", " ", words)


@pytest.mark.parametrize("look", ["log", "styled", "tools"])
def test_every_state_is_drawn_and_no_error(look, tmp_path):
    canvas = compress(CALLS, is_exact=True)
    text = str(canvas) if look == "log" else canvas.view(look)
    page, svg, words = drawn(text)
    assert "data-error" not in page, re.search(r'data-error="[^"]*"', page)
    assert "Syntax error" not in words
    assert 'aria-roledescription="stateDiagram"' in svg
    states = {"c1", "c2", "c3", "c5_1", "c7"} if look != "tools" else {"Read", "Bash", "Grep"}
    for state in states:
        assert re.search(rf"(?<!\w){state}(?!\w)", words), (state, words)
    assert "phở {bò} 😀; %% no comment" in words or look == "tools"
    assert 'say: <b>"hi"</b>; #1 --> c9' in words
    picture = tmp_path / f"{look}.png"
    browser(text, f"--screenshot={picture}")
    head = picture.read_bytes()[:24]
    assert head.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", head[16:24])
    assert min(width, height) > 1000
    assert picture.stat().st_size > 10_000, "the picture is blank"


def test_a_broken_diagram_is_seen_to_be_broken():
    page, _, _ = drawn("stateDiagram-v2\n[*] --> : {{{")
    assert "data-error" in page
