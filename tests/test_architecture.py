"""The house keeps its shape: import arrows, public names, errors, light imports."""

from __future__ import annotations

import ast
import inspect
import os
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import agentmem
from agentmem import errors, models

PACKAGE = Path(agentmem.__file__).parent
ROOT = PACKAGE.parents[1]
# Each part may import those to its right, and itself.
ARROWS = {
    "cli": {"integrations", "memory", "skills", "toollog", "tiers", "embedding", "models", "protocols",
            "errors", "agentmem"},
    "integrations": {"memory", "opened", "tiers", "toollog", "embedding", "store", "models",
                     "protocols", "errors", "agentmem"},
    "testing": {"memory", "protocols", "errors", "models"},
    "__main__": {"cli", "integrations"},
    "aio": {"memory", "skills", "tiers", "errors"},
    "memory": {"arguments", "operations", "pipeline", "opened", "skills", "tiers", "index", "toollog", "embedding",
               "store", "models", "protocols", "errors"},
    "pipeline": {"arguments", "worker", "opened", "tiers", "store", "models", "protocols", "errors"},
    "worker": {"opened", "tiers", "store", "protocols", "errors"},
    "operations": {"arguments", "opened", "tiers", "models", "protocols"},
    "skills": {"arguments", "opened", "tiers", "toollog", "store", "models", "protocols", "errors", "_native"},
    "tiers": {"arguments", "index", "toollog", "embedding", "store", "models", "protocols", "errors", "_native"},
    "opened": {"index", "embedding", "store", "models", "protocols", "errors"},
    "index": {"index_ahead", "index_files", "store", "errors", "_native"},
    "index_ahead": {"store", "_native"},
    "index_files": {"store"},
    "toollog": {"models", "protocols", "errors", "_native"},
    "embedding": {"protocols", "errors"},
    "store": {"models", "protocols", "errors", "agentmem"},
    "fusion": {"_native"},
    "models": {"errors"},
    "protocols": {"models", "errors"},
    "arguments": {"errors"},
    "errors": set(),
    "agentmem": set(),
}  # fmt: skip
ONLY_IN = {"apsw": {"store"}, "onnxruntime": {"embedding"}, "tokenizers": {"embedding"},
           "sqlite3": set(), "pickle": set(), "marshal": set(), "shelve": set()}  # fmt: skip

TOP = {".ci", ".gitignore", "ARCHITECTURE.md", "CHANGELOG.md", "Cargo.lock", "Cargo.toml", "LICENSE",
       "Makefile", "README.md", "benches", "docs", "examples", "integrations", "pyproject.toml",
       "python", "rust", "tests"}  # fmt: skip
LEFT_BEHIND = {"store.amem", "store.amem-wal", "store.amem-shm", "LOCK.write", "counter"}


def imports(path):
    """Yield ``(module, is_for_types_only)`` of every import in a file."""
    tree = ast.parse(path.read_text())
    guarded = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
            if node.module == "agentmem":
                names = [f"agentmem.{alias.name}" for alias in node.names]
        for name in names:
            yield name, id(node) in guarded


def part_of(path):
    """Return which part of the house a file belongs to."""
    relative = path.relative_to(PACKAGE).parts
    name = relative[0].removesuffix(".py")
    return "agentmem" if name == "__init__" else name


def test_arrows_point_one_way():
    wrong = []
    for path in sorted(PACKAGE.rglob("*.py")):
        part = part_of(path)
        for name, types_only in imports(path):
            top, _, rest = name.partition(".")
            if top in ONLY_IN and part not in ONLY_IN[top] and not types_only:
                wrong.append(f"{path.name} imports {name}")
            if top != "agentmem" or types_only:
                continue
            target = rest.partition(".")[0] or "agentmem"
            if part == "agentmem" or target == part:
                continue
            if not (PACKAGE / target).exists() and not (PACKAGE / f"{target}.py").exists():
                target = "agentmem" if target != "_native" else target
            if target not in ARROWS[part]:
                wrong.append(f"{path.relative_to(PACKAGE)} imports {name}")
    assert wrong == []


def test_no_eval_and_no_exec():
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("eval", "exec"), path


def test_public_names_are_sorted_complete_and_there():
    names = agentmem.__all__
    assert names == sorted(names)
    assert set(names) == {*agentmem._HOME_OF, "__version__"}
    for name in names:
        assert getattr(agentmem, name) is not None


def test_what_can_be_called_can_be_awaited():
    from agentmem import aio, memory
    from agentmem.skills import Skills
    from agentmem.tiers.documents import Documents

    pairs = ((memory.Memory, aio.AsyncMemory), (Skills, aio.AsyncSkills),
             (Documents, aio.AsyncDocuments))  # fmt: skip
    for one, awaited in pairs:
        verbs = {name for name in dir(one) if not name.startswith("_")}
        # What does not wait is read on ``AsyncMemory.memory``; ``watch`` is a loop of its own.
        assert verbs - set(dir(awaited)) <= {"embedder", "path", "scope", "watch"}, awaited
    for verb in ("write", "get_many", "scan", "search", "scopes", "touch", "sweep"):
        assert inspect.iscoroutinefunction(getattr(aio.AsyncDocuments, verb))


def test_every_error_is_in_the_tree_and_public():
    classes = {
        name: value
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.AgentMemError)
    }
    assert set(errors.__all__) == set(classes)
    for name in classes:
        assert name == "AgentMemError" or name in errors.__doc__
        assert name in agentmem.__all__


def test_every_error_is_raised_somewhere():
    sources = "\n".join(path.read_text() for path in PACKAGE.rglob("*.py"))
    rust = "\n".join(path.read_text() for path in (ROOT / "rust").rglob("*.rs"))
    parents = {"AgentMemError", "StoreError", "SearchIndexError"}
    for name in set(errors.__all__) - parents:
        assert f"raise {name}" in sources or f"{name}(" in sources or name in rust, name


def test_import_is_light():
    code = (
        "import sys, agentmem; "
        "print([m for m in ('numpy', 'apsw', 'onnxruntime', 'tokenizers', 'onnx', 'click', "
        "'agentmem._native') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_parts_of_models_are_found_by_name():
    parts = [path.stem for path in (PACKAGE / "models").glob("*.py") if path.stem != "__init__"]
    assert set(parts) == set(models._HOMES)
    names = models.__all__
    assert len(names) == len(set(names))
    for part in parts:
        module = import_module(f"agentmem.models.{part}")
        assert set(models._HOMES[part]) == set(module.__all__)
        for name in module.__all__:
            assert getattr(models, name) is getattr(module, name)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = models.Nothing


def test_files_stay_short():
    long = [
        (path.name, lines)
        for folder, ending in (("python/agentmem", "*.py"), ("rust", "*.rs"), ("tests", "*.py"))
        for path in (ROOT / folder).rglob(ending)
        if (lines := len(path.read_text().splitlines())) > 520
    ]
    assert long == []


def test_the_repository_holds_no_file_that_a_run_left_behind():
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("no clone, or no git")
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z"], capture_output=True, check=True
    ).stdout.split(b"\0")
    files = [Path(os.fsdecode(name)) for name in listed if name]
    assert {path.parts[0] for path in files} <= TOP
    assert [path for path in files if path.name in LEFT_BEHIND] == []
