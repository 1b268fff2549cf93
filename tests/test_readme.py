"""README.md tells the truth: its programs run and print what it shows, its tests and files exist."""

import ast
import contextlib
import io
import re
from pathlib import Path

import pytest
from benches.report import BEGIN, END, table

from agentmem.cli import VERBS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md"]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def programs(text):
    """Return each Python block with the output that is shown right after it, or None."""
    blocks = list(BLOCK.finditer(text))
    found = []
    for block, after in zip(blocks, [*blocks[1:], None], strict=True):
        if block[1] != "python":
            continue
        shown = None
        if after is not None and after[1] == "text":
            between = text[block.end() : after.start()]
            shown = after[2] if between.isspace() else None
        found.append((block[2], shown))
    return found


def run(found):
    """Run the blocks one after the other, as a reader would; return what each printed."""
    names = {}
    printed = []
    for number, (code, _) in enumerate(found):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, f"README.md, block {number}", "exec"), names)
        printed.append(out.getvalue())
    return printed


def test_the_programs_run_and_print_what_is_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = programs(README)
    assert len(found) >= 7
    for printed, (code, shown) in zip(run(found), found, strict=True):
        assert shown is not None, f"no output is shown for:\n{code}"
        assert printed == shown


def test_the_first_program_is_short_and_comes_before_any_heading():
    code, _ = programs(README)[0]
    assert len(code.strip().splitlines()) <= 10
    assert README.count("\n## ", 0, README.index("```python")) == 0


def test_the_figures_have_the_rows_and_columns_of_the_report():
    shown = README.partition(BEGIN)[2].partition(END)[0]
    lines = [line for line in shown.splitlines() if line.startswith("|")]
    expected = table({}).splitlines()
    assert lines[0] == expected[0]
    assert [line.split("|")[1] for line in lines] == [line.split("|")[1] for line in expected]


@pytest.mark.parametrize("page", PAGES)
def test_every_test_that_is_named_exists(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    named = re.findall(r"`((?:tests|benches)/[\w/]+\.py)::([\w:]+)`", text)
    assert named or page != "README.md"
    for path, name in named:
        scope = ast.parse((ROOT / path).read_text(encoding="utf-8")).body
        for part in name.split("::"):
            found = [node for node in scope if getattr(node, "name", None) == part]
            assert found, f"{page} names {path}::{name}"
            scope = getattr(found[0], "body", [])


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_is_named_exists(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#:]+)\)", text)
    folders = "rust|python|tests|benches"
    paths = re.findall(rf"`((?:{folders})/[\w./-]*)(?:::[\w:]+)?`", text)
    for path in {*links, *paths}:
        assert (ROOT / path).exists(), f"{page} names {path}"


def test_the_commands_exist():
    shell = "\n".join(re.findall(r"^```sh\n(.*?)^```$", README, re.MULTILINE | re.DOTALL))
    verbs = re.findall(r"(?:^|\| )agentmem ([a-z]+)", shell, re.MULTILINE)
    assert verbs
    assert set(verbs) <= set(VERBS)
    listed = README.partition("`init`, ")[2].partition(". Each takes")[0]
    assert ["init", *re.findall(r"`(\w+)`", listed)] == list(VERBS)
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    called = re.findall(r"(?:^|`)make ([a-z-]+)", README, re.MULTILINE)
    assert {"demo", "test"} <= set(called) <= set(targets)
