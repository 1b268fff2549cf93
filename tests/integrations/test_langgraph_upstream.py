"""LangGraph's own store tests, from its source distributions, with our stores in place of its own.

Nothing of them is kept here. `AGENTMEM_LANGGRAPH_TESTS` may name a folder with the unpacked or
packed source distributions; else pip downloads those of the installed versions. Where neither is to
be had the tests are skipped. They sleep through lives of entries, so they run with `--long` only.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import xml.etree.ElementTree as ET
from importlib.metadata import version
from pathlib import Path

import pytest

pytest.importorskip(
    "langgraph.store.sqlite", reason="needs agentmem-tiers[langgraph] and the SQLite store"
)
for plugin in ("pytest_asyncio", "pytest_mock"):
    pytest.importorskip(plugin, reason=f"LangGraph's tests need {plugin}")

HERE = Path(__file__).parent
PACKAGE = HERE.parents[1] / "python"
# They look into another store: its tables, its SQL, its list of migrations.
INTERNALS = {
    "test_store.py::test_vector_store_initialization": "reads sqlite_master through store.conn",
    "test_store.py::test_nonnull_migrations": "reads the SQLite store's list of migrations",
}
SUITES = {
    "langgraph-checkpoint": (("test_store.py",), {}),
    "langgraph-checkpoint-sqlite": (
        ("test_store.py", "test_async_store.py", "test_ttl.py"),
        INTERNALS,
    ),
}
SWAPS = (
    (
        r"from langgraph\.store\.memory import InMemoryStore",
        "from langgraph_swapped import InMemoryStore",
    ),
    (
        r"from langgraph\.store\.sqlite import (Async)?SqliteStore",
        r"from langgraph_swapped import \1SqliteStore",
    ),
    (
        r"from langgraph\.store\.sqlite\.aio import AsyncSqliteStore",
        "from langgraph_swapped import AsyncSqliteStore",
    ),
)


def unpacked(distribution, folder):
    """Return the folder of an unpacked source distribution, or skip."""
    stem = f"{distribution.replace('-', '_')}-{version(distribution)}"
    given = os.environ.get("AGENTMEM_LANGGRAPH_TESTS")
    if given:
        if (Path(given) / stem).is_dir():
            return Path(given) / stem
        archive = Path(given) / f"{stem}.tar.gz"
    else:
        # The build backend only names the package; it must be at hand for pip to look.
        done = subprocess.run(
            [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", distribution,
             "-d", str(folder), f"{distribution}=={version(distribution)}"],
            check=False, capture_output=True, text=True, timeout=200,
        )  # fmt: skip
        if done.returncode:
            pytest.skip(f"pip can't download the source of {distribution}: {done.stderr[-200:]}")
        archive = folder / f"{stem}.tar.gz"
    if not archive.is_file():
        pytest.skip(f"no source distribution of {distribution} at {archive}")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    return folder / stem


def outcomes(report):
    """Return ``{file::test[parameters]: "passed" | message}`` of a JUnit report."""
    found = {}
    for case in ET.parse(report).getroot().iter("testcase"):
        # A file that can't be collected has its name in the case's own.
        names = f"{case.get('classname')}.{case.get('name')}".split(".")
        file = next(name for name in names if name.startswith("test_"))
        problem = next(
            (child for child in case if child.tag in ("failure", "error", "skipped")), None
        )
        text = "passed" if problem is None else f"{problem.tag}: {problem.get('message')}"
        found[f"{file}.py::{case.get('name')}"] = text
    return found


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("distribution", SUITES)
def test_their_tests_pass_with_our_stores(distribution, tmp_path):
    files, internals = SUITES[distribution]
    source = unpacked(distribution, tmp_path)
    root = tmp_path / "run"
    shutil.copytree(source / "tests", root / "tests")
    swapped = 0
    for file in files:
        text = (root / "tests" / file).read_text()
        for pattern, ours in SWAPS:
            text, count = re.subn(pattern, ours, text)
            swapped += count
        (root / "tests" / file).write_text(text)
    assert swapped >= len(files), "LangGraph's tests import their stores in another way now"
    (root / "pytest.ini").write_text(
        "[pytest]\nasyncio_mode = auto\nmarkers =\n    flaky: may be run again\n    asyncio\n"
    )
    (root / "temporary").mkdir()
    report = root / "report.xml"
    more = filter(None, [os.environ.get("PYTHONPATH")])
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}",
         *(f"tests/{file}" for file in files)],
        check=False, cwd=root, capture_output=True, text=True, timeout=580,
        env=os.environ
        | {"PYTHONPATH": os.pathsep.join(map(str, (PACKAGE, HERE, root, *more))),
           "TMPDIR": str(root / "temporary")},
    )  # fmt: skip
    assert report.is_file(), done.stdout + done.stderr
    found = outcomes(report)
    failed = {name: text for name, text in found.items() if text != "passed"}
    unexpected = {
        name: text for name, text in failed.items() if name.partition("[")[0] not in internals
    }
    assert unexpected == {}, done.stdout[-4000:]
    # One that passes now is no exception any more.
    assert {name.partition("[")[0] for name in failed} == set(internals)
    print(
        f"{distribution} {version(distribution)}: {len(found) - len(failed)} of {len(found)} pass"
    )
