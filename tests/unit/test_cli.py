"""The command line: every verb, its output in pipes, its exit codes."""

import io
import json
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

import agentmem
from agentmem.cli import VERBS, main
from agentmem.tiers.recall import RRF_K


@pytest.fixture
def run(monkeypatch, capfdbinary):
    """Run the command line in this process; returns exit code, output and errors."""

    def call(*arguments, stdin=b""):
        monkeypatch.setattr(sys, "argv", ["agentmem", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = 0
        try:
            main()
        except SystemExit as ended:
            code = ended.code or 0
        sys.stdout.flush()
        out, err = capfdbinary.readouterr()
        return SimpleNamespace(code=code, out=out.decode(), err=err.decode())

    return call


@pytest.fixture
def folder(tmp_path, run):
    """A memory with three facts."""
    path = tmp_path / "memory"
    done = run(
        "remember", "-m", path, "--tag", "ops", "--metadata", '{"team": "core"}',
        "Deploys go to Fly.io.", "Tests run nightly on the build machine.",
    )  # fmt: skip
    assert (done.code, done.err) == (0, "")
    run("remember", "-m", path, "--key", "editor", "The editor is Helix.")
    return path


def child(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "agentmem", *map(str, arguments)],
        capture_output=True,
        timeout=120,
        check=False,
        **options,
    )


def test_every_verb_is_listed_and_explains_itself(run):
    listed = run("--help").out
    for verb in VERBS:
        assert f"  {verb} " in listed
        shown = run(verb, "--help")
        assert shown.code == 0
        assert "--json" in shown.out, verb
    assert run("--version").out == f"agentmem, version {agentmem.__version__}\n"


def test_init_makes_a_private_folder_once(tmp_path, run):
    path = tmp_path / "new"
    assert json.loads(run("init", "-m", path, "--json").out)["facts"] == 0
    assert path.stat().st_mode & 0o777 == 0o700
    assert run("init", "-m", path).out == f"{path}: 0 facts\n"


def test_init_prepares_the_model(run):
    place = json.loads(run("init", "--model", "--json").out)["model"]
    assert os.path.exists(place)


def test_remember_says_what_it_did(folder, run):
    (same,) = json.loads(run("remember", "-m", folder, "--json", "deploys  go to fly.io.").out)
    assert (same["id"], same["status"]) == ("L1:1", "duplicate")
    done = run("remember", "-m", folder, "--key", "editor", "The editor is Zed.")
    assert done.out == "L1:4 superseded: The editor is Zed.\n"


def test_remember_reads_a_fact_a_line(folder, run):
    lines = "one\r\n\n \ntwo \u2028 still two\nba\u0300i 🙂\n".encode() + b"not \xff utf-8"
    written = json.loads(run("remember", "-m", folder, "--json", "-", stdin=lines).out)
    assert [fact["text"].strip() for fact in written] == [
        "one", "two \u2028 still two", "ba\u0300i 🙂", "not \ufffd utf-8",
    ]  # fmt: skip
    nothing = run("remember", "-m", folder, "-")
    assert (nothing.code, nothing.out, nothing.err) == (0, "", "")


def test_recall_finds_filters_and_explains(folder, run):
    (hit,) = json.loads(run("recall", "-m", folder, "--json", "-k", 1, "where do we deploy?").out)
    assert hit["text"] == "Deploys go to Fly.io."
    assert (hit["tier"], hit["tags"], hit["metadata"]) == ("L1", ["ops"], {"team": "core"})
    shown = run("recall", "-m", folder, "--explain", "-k", 1, "where do we deploy?").out
    assert f"rrf k {RRF_K:g}; bm25: rank 1, score" in shown
    assert "ann: rank 1, score" in shown
    assert "weight 1" in shown
    asked = run("recall", "-m", folder, "--json", "--where", '{"team": "core"}', "editor").out
    assert {hit["id"] for hit in json.loads(asked)} == {"L1:1", "L1:2"}
    assert json.loads(run("recall", "-m", folder, "--json", "--tag", "none", "editor").out) == []
    piped = run("recall", "-m", folder, "--json", "-k", 1, "-", stdin=b"where do we deploy?\n")
    assert json.loads(piped.out)[0]["id"] == hit["id"]
    assert run("recall", "-m", folder, "").out == "nothing matched\n"
    past = run("recall", "-m", folder, "--json", "--until", "2001-01-01", "deploy")
    assert json.loads(past.out) == []


def test_scopes_are_kept_apart(folder, run):
    run("remember", "-m", folder, "--scope", "acme/alice", "Alice likes tea.")
    below = json.loads(run("recall", "-m", folder, "--scope", "acme", "--json", "tea").out)
    assert [hit["text"] for hit in below] == ["Alice likes tea."]
    beside = json.loads(run("recall", "-m", folder, "--scope", "acme/al", "--json", "tea").out)
    assert beside == []


def test_facts_pages(folder, run):
    first = json.loads(run("facts", "-m", folder, "--json", "--limit", 2).out)
    rest = json.loads(run("facts", "-m", folder, "--json", "--after", first[-1]["id"]).out)
    assert [fact["id"] for fact in first + rest] == ["L1:1", "L1:2", "L1:3"]
    assert run("facts", "-m", folder, "--where", '{"team": "none"}').out == ""


def test_show_follows_a_fact_down(folder, run):
    run("remember", "-m", folder, "--key", "editor", "The editor is Zed.")
    shown = json.loads(run("show", "-m", folder, "--json", "L1:4").out)
    assert shown["row"]["text"] == "The editor is Zed."
    assert [version["id"] for version in shown["versions"]] == ["L1:3", "L1:4"]
    assert shown["trace"]["path"][-1]["tier"] == "L0"
    text = run("show", "-m", folder, "L1:4").out
    assert "versions: L1:3, L1:4" in text
    assert run("show", "-m", folder, "L0:1").code == 0


def test_forget_previews_then_removes_every_byte(folder, run):
    preview = json.loads(run("forget", "-m", folder, "--dry-run", "--json", "L1:1").out)
    assert (preview["dry_run"], preview["ids"]) == (True, ["L1:1", "L0:1"])
    assert run("show", "-m", folder, "L1:1").code == 0
    gone = run("forget", "-m", folder, "--purge", "L1:1")
    assert gone.out.startswith("forgot 2 rows\n")
    assert run("show", "-m", folder, "L1:1").code == 1
    left = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert b"nightly" in left
    assert b"Fly.io" not in left
    by_condition = json.loads(
        run("forget", "-m", folder, "--json", "--where", '{"team": "core"}').out
    )
    assert "L1:2" in by_condition["ids"]


def test_stats_and_verify(folder, run):
    stats = json.loads(run("stats", "-m", folder, "--json").out)
    assert (stats["facts"], stats["turns"]) == (3, 3)
    assert "facts                3" in run("stats", "-m", folder).out
    whole = json.loads(run("verify", "-m", folder, "--json").out)
    assert whole == {"ok": True, "problems": [], "rows": 3, "vectors": 3}
    assert run("verify", "-m", folder, "--rebuild").out == "whole: 3 rows, 3 vectors\n"


def test_verify_fails_where_something_is_wrong(folder, run):
    with agentmem.Memory(folder) as memory:
        memory._shared.database.write(
            lambda transaction: transaction.connection.execute("DELETE FROM sources")
        )
    report = run("verify", "-m", folder, "--json")
    assert report.code == 1
    assert json.loads(report.out)["problems"]


@pytest.mark.parametrize("name", ["all.jsonl", "all.jsonl.gz"])
def test_export_and_import(folder, tmp_path, run, name):
    file = tmp_path / name
    assert json.loads(run("export", "-m", folder, "--json", file).out)["rows"] == 6
    copy = tmp_path / "copy"
    assert json.loads(run("import", "-m", copy, "--json", file).out) == {"new": 6, "existing": 0}
    assert run("import", "-m", copy, file).out == "0 new, 6 were there\n"
    (hit,) = json.loads(run("recall", "-m", copy, "--json", "-k", 1, "where do we deploy?").out)
    assert hit["text"] == "Deploys go to Fly.io."


def test_export_and_import_through_a_pipe(folder, tmp_path, run):
    text = run("export", "-m", folder, "-").out
    done = run("import", "-m", tmp_path / "copy", "--json", "-", stdin=text.encode())
    assert json.loads(done.out)["new"] == 6
    page = run("export", "-m", folder, "--format", "markdown", "-").out
    assert "Deploys go to Fly.io." in page


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["recall", "x", "-m", "{none}"], "there is no memory; make one with 'agentmem init -m"),
        (["facts", "-m", "{none}"], "there is no memory"),
        (["recall", "-k", "0", "x"], "k: a whole number from 1 to 10000 is needed, 0 was given"),
        (["show", "L1:99"], "there is no L1:99"),
        (["show", "zzz"], "an id such as 'L1:7'"),
        (["forget", "L1:99"], "L1:99"),
        (["facts", "--limit", "0"], "limit: 1 to 100000 is allowed, 0 was given"),
        (["remember", ""], "text"),
        (["remember", "--metadata", "[1]", "x"], "metadata: a mapping"),
        (["remember", "--scope", "a//b", "x"], "scope"),
        (["import", "{text}"], "it is not JSON"),
        (["remember", "x", "-m", "{text}"], "is not a folder"),
    ],
)
def test_failures_are_one_line_and_exit_1(folder, tmp_path, run, arguments, said):
    text = tmp_path / "text.txt"
    text.write_text("plain words\n")
    given = [word.format(none=tmp_path / "none", text=text) for word in arguments]
    if "-m" not in given:
        given += ["-m", str(folder)]
    done = run(*given)
    assert (done.code, done.out) == (1, "")
    assert said in done.err
    assert done.err.startswith("agentmem: ")
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nope"], "No such command 'nope'"),
        (["recall"], "Missing argument 'QUERY'"),
        (["recall", "x", "-k", "foo"], "'foo' is not a valid integer"),
        (["recall", "x", "--since", "yesterday"], "--since: an ISO time is needed"),
        (["recall", "x", "--where", "["], "--where: a JSON object is needed"),
        (["recall", "x", "--where", "[]"], "--where: a JSON object is needed"),
        (["forget"], "pass either ids or --where"),
        (["remember", "--key", "a", "x", "y"], "--key names one fact"),
        (["remember", "--metadata", "{", "x"], "--metadata: a JSON object is needed"),
        (["import", "no-such-file"], "does not exist"),
        (["demo", "--limit", "0"], "0 is not in the range"),
        (["stats", "--frob"], "--frob"),
    ],
)
def test_misuse_is_one_line_and_exits_2(folder, run, monkeypatch, arguments, said):
    monkeypatch.setenv("AGENTMEM_MEMORY", str(folder))
    done = run(*arguments)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert "--help')" in done.err
    assert done.err.count("\n") == 1


def test_without_a_verb_the_verbs_are_shown(run):
    done = run()
    assert (done.code, done.out) == (2, "")
    assert "Commands:" in done.err


def test_a_pipe_gets_the_answer_and_nothing_else(folder):
    done = child("remember", "-m", folder, "--json", "-", input=b"one\ntwo\n")
    assert done.returncode == 0
    assert done.stderr == b""
    assert b"\x1b" not in done.stdout
    assert [fact["text"] for fact in json.loads(done.stdout)] == ["one", "two"]


def test_odd_bytes_and_a_narrow_encoding_are_no_error(folder):
    odd = child(
        "remember", "-m", folder, b"caf\xe9 \xf0\x9f\x99\x82".decode(errors="surrogateescape"),
        env={**os.environ, "PYTHONIOENCODING": "latin-1"},
    )  # fmt: skip
    assert (odd.returncode, odd.stderr) == (0, b"")
    assert b"\\U0001f642" in odd.stdout


def test_a_reader_that_goes_away_is_no_traceback(folder):
    script = (
        "import subprocess, sys; "
        "source = subprocess.Popen([sys.executable, '-m', 'agentmem', *sys.argv[1:]], "
        "stdout=subprocess.PIPE, stderr=subprocess.PIPE); "
        "source.stdout.close(); err = source.stderr.read(); "
        "print(source.wait(), err)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "facts", "-m", str(folder), "--json"],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == "1 b''"


def test_demo_answers_with_ranks_and_timings(run):
    report = json.loads(run("demo", "--limit", 200, "--json").out)
    assert report["passages"] == 200
    assert len(report["answers"]) == 8
    assert min(report["ingest_s"], report["open_ms"], report["text_ms"], report["again_ms"]) > 0
    for answer in report["answers"]:
        assert len(answer["hits"]) == 3
        assert {answer["hits"][0]["bm25_rank"], answer["hits"][0]["ann_rank"]} & {1, 2, 3}


def test_demo_of_a_file_for_people(tmp_path, run):
    source = tmp_path / "notes.txt"
    source.write_text("The cat sleeps on the mat.\nInvoices are due in June.\n\n")
    shown = run("demo", "--input", source, "--question", "when do I have to pay?").out
    assert shown.startswith("remembered 2 passages in ")
    first = shown.split("when do I have to pay?")[1].splitlines()[1]
    assert "bm25" in first
    assert "ann   1" in first
    assert "Invoices" in first
    assert "p50 of a recall from text" in shown


def test_init_takes_multilingual_only_with_model(run):
    refused = run("init", "--multilingual")
    assert refused.code == 2
    assert "--model" in refused.err
