"""The command line's context, forget, purge and retention."""

import json

import pytest
from tests.unit import test_cli

run = test_cli.run


@pytest.fixture
def folder(tmp_path, run):
    path = tmp_path / "m"
    log = tmp_path / "log.json"
    log.write_text(json.dumps([
        {"role": "user", "content": "From now on always answer in Vietnamese."},
        {"role": "user", "content": "We moved the deploys to Fly.io in March."},
        {"role": "user", "content": "Hm, thanks."},
    ]))  # fmt: skip
    assert run("capture", "-m", path, "--session", "login", log).code == 0
    assert run("consolidate", "-m", path).code == 0
    return path


def test_context(folder, run):
    done = run("context", "-m", folder, "where do the deploys go?")
    assert done.code == 0
    assert "Fly.io" in done.out
    assert "Vietnamese" in done.out
    made = json.loads(
        run("context", "-m", folder, "--json", "--budget-tokens", 100, "-", stdin=b"deploys").out
    )
    assert made["tokens"] <= 100
    assert {"stable", "volatile", "items", "omitted", "degraded"} <= set(made)


def test_forget_shows_then_removes(folder, run):
    shown = run("forget", "-m", folder, "--session", "login", "--dry-run").out
    assert shown.startswith("would forget")
    assert "L0:2" in shown
    gone = json.loads(run("forget", "-m", folder, "--json", "--query", "fly.io").out)
    assert "L0:2" in gone["ids"]
    assert gone["receipt"] == 1
    assert "Fly.io" not in run("context", "-m", folder, "deploys").out
    assert json.loads(run("purge", "-m", folder, "--json").out)["receipts"] == [1]
    assert run("forget", "-m", folder, "--source", "user").code == 0
    assert run("forget", "-m", folder, "--below", "").code == 0
    assert json.loads(run("stats", "-m", folder, "--json").out)["turns"] == 0
    assert run("forget", "-m", folder, "--query", "a", "--session", "b").code == 2


def test_retention_shows_before_it_removes(folder, run):
    assert "no policy" in run("retention", "-m", folder).out
    shown = run("retention", "-m", folder, "--tier", "L0", "--max-days", 0, "--max-bytes", "1k").out
    assert "L0 of the whole store: at most 0 days, at most 1,000 bytes" in shown
    assert "would remove (run with --apply): 1 L0" in shown
    assert json.loads(run("stats", "-m", folder, "--json").out)["turns"] == 3
    done = json.loads(run("retention", "-m", folder, "--apply", "--json").out)
    assert "L0:3" in done["gone"]["ids"]
    assert "no policy" in run("retention", "-m", folder, "--tier", "L0", "--none").out
    for wrong in (["--max-days", 1], ["--tier", "L0"], ["--tier", "L0", "--max-bytes", "much"],
                  ["--tier", "L0", "--none", "--max-days", 1], ["--tier", "L9", "--none"]):  # fmt: skip
        assert run("retention", "-m", folder, *wrong).code == 2


def test_a_page_a_tier(folder, run, tmp_path):
    assert run("export", "-m", folder, "--format", "markdown", tmp_path / "pages").code == 0
    assert len(list((tmp_path / "pages").glob("L?-*.md"))) == 4
    assert "Fly.io" in run("export", "-m", folder, "--format", "markdown", "-").out
