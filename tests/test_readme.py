"""README.md and docs/ tell the truth: programs run and print what is shown, tests and files exist."""

import ast
import contextlib
import io
import re
from itertools import pairwise
from pathlib import Path

import pytest
from benches.report import BEGIN, END, table

from agentmem.cli import VERBS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCS = sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))
PAGES = ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", *DOCS]
# Its program needs an extra and has a test of its own.
OF_HOSTS = {"docs/langgraph.md"}
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def programs(text):
    """Return each Python block with the output that is shown right after it, or None."""
    blocks = list(BLOCK.finditer(text))
    found = []
    for block, after in pairwise([*blocks, None]):
        if block[1] != "python":
            continue
        shown = None
        if after is not None and after[1] == "text":
            between = text[block.end() : after.start()]
            shown = after[2] if between.isspace() else None
        found.append((block[2], shown))
    return found


def run(found, page="README.md"):
    """Run the blocks one after the other, as a reader would; return what each printed."""
    names = {}
    printed = []
    for number, (code, _) in enumerate(found):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, f"{page}, block {number}", "exec"), names)
        printed.append(out.getvalue())
    return printed


@pytest.mark.parametrize("page", ["README.md", *(one for one in DOCS if one not in OF_HOSTS)])
def test_the_programs_run_and_print_what_is_shown(page, tmp_path, monkeypatch):
    found = programs((ROOT / page).read_text(encoding="utf-8"))
    monkeypatch.chdir(tmp_path)
    assert page != "README.md" or len(found) >= 6
    for printed, (code, shown) in zip(run(found, page), found, strict=True):
        assert shown is not None, f"no output is shown for:\n{code}"
        assert printed == shown


def test_each_part_has_a_page_of_its_name_and_each_page_is_named():
    parts = README.partition("\n## By example\n")[2].partition("\n## ")[0]
    named = re.findall(r"^### (.+)$", parts, re.MULTILINE)
    assert named[-2:] == ["Hosts", "More"]
    for part in named[:-2]:
        page = f"docs/{part.lower().replace(' ', '-')}.md"
        text = parts.partition(f"\n### {part}\n")[2].partition("\n### ")[0]
        assert f"]({page})" in text, part
    assert set(re.findall(r"\]\((docs/[^)]+)\)", README)) == set(DOCS)


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
    folders = "rust|python|tests|benches|docs|examples|integrations"
    paths = re.findall(rf"`((?:{folders})/[\w./-]*)(?:::[\w:]+)?`", text)
    for link in links:
        assert ((ROOT / page).parent / link).exists(), f"{page} links to {link}"
    for path in paths:
        assert (ROOT / path).exists(), f"{page} names {path}"


@pytest.mark.parametrize("page", ["README.md", *DOCS])
def test_the_headings_that_are_linked_to_exist(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for link, anchor in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", text):
        target = (ROOT / page).parent / link if link else ROOT / page
        headings = re.findall(r"^#+ (.+)$", target.read_text(encoding="utf-8"), re.MULTILINE)
        slugs = {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in headings}
        assert anchor in slugs, f"{page} links to {link}#{anchor}"


def test_the_commands_exist():
    pages = "\n".join((ROOT / page).read_text(encoding="utf-8") for page in ["README.md", *DOCS])
    shell = "\n".join(re.findall(r"^```sh\n(.*?)^```$", pages, re.MULTILINE | re.DOTALL))
    verbs = re.findall(r"(?:^|\| )agentmem ([a-z]+)", shell, re.MULTILINE)
    assert verbs
    assert set(verbs) <= set(VERBS)
    operations = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    listed = operations.partition("`init`, ")[2].partition(". Each takes")[0]
    assert ["init", *re.findall(r"`(\w+)`", listed)] == list(VERBS)
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    called = re.findall(r"(?:^|`)make ([a-z-]+)", README, re.MULTILINE)
    assert {"demo", "test"} <= set(called) <= set(targets)
