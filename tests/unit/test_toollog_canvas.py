"""What a diagram says of calls, its measures and its refusals."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
from datetime import datetime

import pytest

from agentmem.errors import InvalidInputError, MermaidParseError
from agentmem.toollog import (
    CanvasBuilder,
    Step,
    ToolCall,
    canonical,
    compress,
    estimate_tokens,
    parse,
    skeleton,
)
from agentmem.toollog.canvas import LEVELS


def told(result, *, tool="Bash", command="make", is_error=False):
    """What the diagram says of a result, without the identifiers carried over from it."""
    call = ToolCall(tool, {"command": command}, result, is_error=is_error)
    (step,) = compress([call], level="standard", is_exact=True).steps
    return step.result_summary.split(" | ")[0]


def asked(tool, arguments):
    (step,) = compress([ToolCall(tool, arguments, "")], is_exact=True).steps
    return step.arguments_summary


@pytest.mark.parametrize(
    ("output", "summary"),
    [
        ("..F\n=== 1 failed, 12 passed in 0.05s ===\n", "1 failed, 12 passed"),
        ("Finished\n14 doctests, 73 tests, 0 failures\n" + "x" * 60, "73 tests, 0 failed"),
        ("Tests:       1 failed, 2 passed, 3 total\n" + "x" * 60, "1 failed, 2 passed, 3 total"),
        (
            "test result: ok. 3 passed; 0 failed; 0 ignored\ntest result: FAILED. 1 passed; 2 failed; 0 ignored\n",
            "4 passed, 2 failed",
        ),
        ("\n  12 passing (3s)\n  2 failing\n" + "x" * 60, "12 passing, 2 failing"),
        (
            "Ran 2 tests in 0.001s\n\nFAILED (failures=1)\n" + "x" * 60,
            "2 tests FAILED (failures=1)",
        ),
        ("# tests 3\n# pass 2\n# fail 1\n" + "x" * 60, "2 passed, 1 failed"),
        ("ok  \texample.org/a\t0.1s\nFAIL\texample.org/b\t0.2s\n", "1 packages ok, 1 failed"),
        (
            "b.ts(1,7): error TS2322: Type 'x' is not y.\n" + "x" * 60,
            "1 errors b.ts L1 TS2322 Type 'x' is not y.",
        ),
        (
            "error[E0308]: mismatched types\n --> src/main.rs:1:20\n" + "x" * 60,
            "1 errors [E0308] src/main.rs L1 mismatched types",
        ),
        ("m.py:3: error: Incompatible types\n" + "x" * 60, "1 errors m.py L3 Incompatible types"),
        (
            'Traceback (most recent call last):\n  File "/a/decrypt.py", line 6, in f\nValueError: x\n',
            "ValueError: x decrypt.py L6",
        ),
        ("Found 2 errors (1 fixable).\n" + "x" * 60, "2 errors"),
        (
            "[main 3bb8701] feat: x\n 2 files changed, 703 insertions(+), 7 deletions(-)\n",
            "3bb8701 main 2 files +703 -7",
        ),
        (
            "To example.org:x.git\n   05fd186..a230dbf  main -> main\n" + "x" * 60,
            "pushed 05fd186..a230dbf main",
        ),
        (
            "On branch main\nChanges not staged:\n\tmodified:   a.py\n\tmodified:   b.py\n",
            "main 2 changed",
        ),
        ("HTTP/1.1 404 Not Found\nserver: x\n" + "x" * 60, "HTTP 404"),
        ("added 402 packages, and audited 403 packages in 14s\n" + "x" * 60, "added 402 packages"),
        ("Collecting x\nSuccessfully installed x-3.13.0\n" + "x" * 60, "installed x-3.13.0"),
        ("374.0", "374.0"),
        ("", ""),
        ('{"status": "ok", "id": 7, "nested": {"a": 1}}', "status=ok id=7 +1 keys"),
        ('[{"a": 1}, {"a": 2}]' + " " * 60, "[2]"),
        ("\x1b[31mred\x1b[0m", "red"),
    ],
)
def test_results(output, summary):
    assert told(output) == summary


@pytest.mark.parametrize(
    ("output", "summary"),
    [
        (
            "Exit code 128\nfatal: The branch has no upstream",
            "exit 128, fatal: The branch has no upstream",
        ),
        ("Error: flight HAT030 not available", "Error: flight HAT030 not available"),
        ("The user doesn't want to proceed with this tool use.", "denied by user"),
        (
            "<tool_use_error>Sibling tool call errored</tool_use_error>",
            "cancelled, a parallel call failed",
        ),
        ("Exit code 1\n1 failed, 2 passed in 0.05s", "exit 1, 1 failed, 2 passed"),
    ],
)
def test_failures(output, summary):
    assert told(output, is_error=True) == summary


def test_a_file_that_holds_an_error_is_not_an_error():
    text = "The user doesn't want to proceed\nTraceback (most recent call last):\nValueError: x\n"
    assert told(text, tool="Read") == "3L"


@pytest.mark.parametrize(
    ("tool", "arguments", "summary"),
    [
        ("Read", {"file_path": "/a/b.py", "offset": 10, "limit": 50}, "/a/b.py L10-60"),
        ("Edit", {"file_path": "b.py", "old_string": "a\nb", "new_string": "a\nc\nd"}, "b.py +2-1"),
        ("Write", {"file_path": "b.py", "content": "a\nb\n"}, "b.py 2L"),
        ("Bash", {"command": "cd /x && npm test 2>&1 | tail -5"}, "npm test"),
        ("Bash", {"command": "cat <<EOF > a\n1\n2\nEOF"}, "cat <<EOF > a +3L"),
        ("Grep", {"pattern": "a.*b", "path": "src"}, "/a.*b/ in src"),
        (
            "TodoWrite",
            {"todos": [{"status": "completed"}, {"status": "in_progress", "content": "x y"}]},
            "1/2 done now x y",
        ),
        ("TodoWrite", {"todos": "1. x"}, "todos=1. x"),
        ("WebFetch", {"url": "https://example.org/a?b=c"}, "example.org/a?b=c"),
        (
            "get",
            {"id": "A12", "n": 3, "list": [1, 2, 3, 4, 5], "deep": {"a": [1]}},
            "A12 n=3 list[5] deep{1}",
        ),
        ("login", {"user": "ann", "password": "hunter2"}, "user=ann password=•••"),
        (
            "Bash",
            {"command": "curl -H 'Authorization: Bearer abcdefghijkl'"},
            "curl -H 'Authorization: •••'",
        ),
        ("Bash", {"command": "export K=sk-abcdefghijklmnopqrstuvwx"}, "export K=•••"),
        ("raw", "not json", "not json"),
        ("raw", "", ""),
        ("raw", '{"a": ', '{"a":'),
    ],
)
def test_arguments(tool, arguments, summary):
    assert asked(tool, arguments) == summary


def test_identifiers_of_results_are_carried_over_once():
    listing = (
        '{"reservations": ["NO6JO3", "AIXC49"], "email": "a@example.org", "notes": "'
        + "word " * 300
        + '"}'
    )
    calls = [ToolCall("get", {"user": "mia_li_3668"}, listing)] * 2
    first, second = compress(calls, is_exact=True).steps
    assert "NO6JO3" in first.result_summary
    assert "AIXC49" in first.result_summary
    assert "example.org" not in first.result_summary
    assert "NO6JO3" not in second.result_summary


def test_secrets_in_results_are_never_carried_over():
    secrets = {
        "password=hunter2x": "hunter2x",
        "API_TOKEN: abc12345def": "abc12345def",
        "Authorization: Bearer abcd1234efgh": "abcd1234efgh",
        "key sk-abcdefghijklmnopqrstuvwx": "sk-abcdefghijklmnopqrstuvwx",
        "ghp_abcdefghijklmnopqrstuvwxyz0123": "ghp_abcdefghijklmnopqrstuvwxyz0123",
        "AKIAABCDEFGHIJKLMNOP": "AKIAABCDEFGHIJKLMNOP",
        '{"password": "hunter2x", "id": "A12345"}': "hunter2x",
        "mail ann.b7@example.org": "ann.b7@example.org",
    }
    for line, secret in secrets.items():
        call = ToolCall("Bash", {"command": "env"}, f"first AB12\n{line}\n" + "filler\n" * 300)
        canvas = compress([call], is_exact=True)
        assert secret not in str(canvas), line
        assert "AB12" in str(canvas), line


def test_levels_get_shorter_and_the_first_that_fits_is_taken():
    calls = [ToolCall("Bash", {"command": f"run {i} " + "x" * 80}, "y" * 2000) for i in range(20)]
    sizes = [compress(calls, level=level, is_exact=True).estimated_tokens for level in LEVELS]
    assert sizes == sorted(sizes, reverse=True)
    assert compress(calls).level == "standard"
    for level, size in zip(LEVELS, sizes, strict=True):
        assert compress(calls, budget_tokens=size).estimated_tokens <= size
        assert LEVELS.index(compress(calls, budget_tokens=size).level) <= LEVELS.index(level)
    assert compress(calls, budget_tokens=0).level == "names"
    assert compress(calls, count_tokens=len).level == "standard"


def test_a_host_may_count_tokens_itself():
    calls = [ToolCall("Bash", {"command": f"run {i}"}, "y" * 2000) for i in range(20)]
    short = compress(calls, budget_tokens=900, count_tokens=len)
    assert len(str(short)) <= 900
    assert short.estimated_tokens == len(str(short))


def test_what_goes_into_a_context_never_grows():
    tiny = compress([ToolCall("add", {"a": 1}, "2")])
    assert tiny.for_context() == 'add{"a":1}2'
    assert tiny.for_context().form == "raw"
    assert len(tiny.for_context()) == tiny.raw_bytes
    assert tiny.ratio > 1
    long = compress([ToolCall("add", {"a": 1}, "2" * 4000)])
    assert long.for_context().form == "diagram"
    assert long.for_context() == str(long)
    assert pickle.loads(pickle.dumps(long.for_context())).form == "diagram"


def test_no_calls_are_a_diagram_too():
    canvas = compress([])
    assert str(canvas).startswith("stateDiagram-v2\n")
    assert parse(str(canvas)) == canvas.steps == []
    assert canvas.raw_bytes == 0


def test_a_root_is_said_once():
    calls = [
        ToolCall("Read", {"file_path": f"/home/ann/projects/shop/src/{i}.py"}, "x\n" * 90)
        for i in range(8)
    ]
    canvas = compress(calls)
    assert canvas.root == "/home/ann/projects/shop/src"
    assert str(canvas).count("/home/ann") == 1
    assert canvas.steps[0].arguments_summary == "0.py"


def test_pages_parse_together_and_alone_bare_and_fenced():
    calls = [
        ToolCall("Bash", {"n": i}, f"line {i}", is_error=not i % 9, id=str(i), batch=i // 2)
        for i in range(700)
    ]
    canvas = compress(calls)
    assert len(canvas.pages) > 1
    kept = skeleton(calls)
    assert parse(canvas.markdown) == parse(canvas.text) == kept
    fenced = [f"```mermaid\n{page}```\n" for page in canvas.pages]
    assert [step for page in fenced for step in parse(page)] == kept
    assert parse("\n\n".join(fenced)) == kept
    assert parse(canvas.view("styled")) == kept
    with pytest.raises(MermaidParseError):
        parse(fenced[0] + canvas.pages[1])
    with pytest.raises(MermaidParseError):
        parse(canvas.markdown + "```\n")


def test_pages_hold_what_mermaid_draws():
    calls = [ToolCall("Bash", {"command": f"run {i}"}, f"done {i}") for i in range(1200)]
    canvas = compress(calls, is_exact=True)
    assert len(canvas.pages) == 3
    assert all(len(page) <= 45_000 for page in canvas.pages)
    assert parse(canvas.pages[1])[0].ref == "c501"
    assert [step for page in canvas.pages for step in parse(page)] == canvas.steps
    assert canvas.markdown.count("```mermaid") == 3


def test_a_growing_log_keeps_its_beginning():
    calls = [
        ToolCall("Bash", {"command": f"run {i} in /srv/app/{i}"}, f"id{i} " * 200)
        for i in range(200)
    ]
    before = str(compress(calls[:150])).rsplit("%%", 1)[0]
    assert str(compress(calls)).startswith(before)


def test_a_builder_refuses_without_changing():
    builder = CanvasBuilder()
    builder.append([ToolCall("a", {}, "")])
    loop = {}
    loop["self"] = loop
    for bad in ("call", ToolCall("a", loop, "")):
        with pytest.raises(InvalidInputError, match=r"calls\[2\]"):
            builder.append([ToolCall("b", {}, ""), bad])
    assert len(builder) == 1
    assert [step.tool for step in builder.canvas().steps] == ["a"]


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("", 1, 1),
        ("graph TD", 1, 1),
        ("stateDiagram-v2\nfoo", 2, 1),
        ("stateDiagram-v2\n[*] --> c2: x", 2, 9),
        ("stateDiagram-v2\n[*] --> c1: x\nc7 --> c2: y", 3, 12),
        ("stateDiagram-v2\n[*] --> c1: a; b", 2, 14),
        ("stateDiagram-v2\n[*] --> c1: ệ #1114112;", 2, 15),
        ("stateDiagram-v2\n%% agentmem/1\n[*] --> c1: x\n", 4, 1),
        ("stateDiagram-v2\n%% agentmem/1\n[*] --> c1: x\n%% calls=2 hash=00000000", 4, 10),
        ("```mermaid\nstateDiagram-v2\n", 3, 1),
        ("stateDiagram-v2\n[*] --> c1: \ud83d", 2, 13),
    ],
)
def test_a_refusal_names_the_place(text, line, column):
    with pytest.raises(MermaidParseError) as caught:
        parse(text)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert caught.value.reason


@pytest.mark.parametrize(
    "refused",
    [
        lambda: parse(b"stateDiagram-v2"),
        lambda: canonical(None),
        lambda: compress(["Bash"]),
        lambda: compress([], level="full"),
        lambda: compress([], budget_tokens=-1),
        lambda: compress([]).view("loops"),
        lambda: skeleton([], level=""),
    ],
)
def test_wrong_arguments_are_told(refused):
    with pytest.raises(InvalidInputError):
        refused()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", None),
        ("arguments", []),
        ("result", b""),
        ("is_error", "no"),
        ("is_error", None),
        ("id", 7),
        ("parent_id", 7),
        ("started", "2026-01-01T00:00:00Z"),
        ("started", datetime(2026, 1, 1)),  # noqa: DTZ001 - the point of it
        ("ended", 1.5),
        ("batch", "1"),
        ("batch", True),
        ("batch", 1 << 63),
    ],
)
def test_a_wrong_field_of_a_call_is_named(field, value):
    with pytest.raises(InvalidInputError, match=rf"^{field} must "):
        ToolCall(**{"name": "Bash", "arguments": {}, "result": "", field: value})


@pytest.mark.parametrize("act", [compress, skeleton])
@pytest.mark.parametrize(
    ("field", "given"),
    [
        ("calls", {"calls": None}),
        ("calls", {"calls": 5}),
        ("budget_tokens", {"budget_tokens": "x"}),
        ("budget_tokens", {"budget_tokens": 1.5}),
        ("budget_tokens", {"budget_tokens": True}),
        ("level", {"level": None}),
    ],
)
def test_a_wrong_argument_is_named(act, field, given):
    with pytest.raises(InvalidInputError, match=rf"^{field} must "):
        act(**{"calls": [], **given})
    with pytest.raises(InvalidInputError, match=r"^count_tokens must "):
        compress([], count_tokens=5)


def test_a_budget_may_be_any_number():
    calls = [ToolCall("Bash", {"command": "make"}, "x" * 900)]
    assert compress(calls, budget_tokens=10**30) == compress(calls)


def test_a_canvas_is_copied_and_says_that_it_is_not_pickled():
    canvas = compress([ToolCall("Bash", {"command": "make"}, "done")])
    held = {"canvas": canvas}
    assert copy.deepcopy(held) == copy.copy(held) == held
    assert copy.deepcopy(canvas).steps == canvas.steps
    with pytest.raises(InvalidInputError, match=r"pickle its text, str\(canvas\)"):
        pickle.dumps(canvas)


def test_steps_are_plain_frozen_dataclasses():
    (step,) = compress([ToolCall("a", {"b": 1}, "c")], is_exact=True).steps
    assert step == Step("a", "b=1", "ok", "c", "c1", None)
    assert dataclasses.asdict(step)["ref"] == "c1"
    assert hash(step) == hash(dataclasses.replace(step))
    assert pickle.loads(pickle.dumps(step)) == step
    with pytest.raises(dataclasses.FrozenInstanceError):
        step.tool = "x"


@pytest.mark.parametrize(
    "result",
    [
        "x" * 20_000_000,
        "\0" * 1_000_000,
        "a b\n" * 1_000_000,
        '{"a":' * 100_000,
        "[" * 1_000_000,
        "é\ud800" * 100_000,
    ],
)
def test_huge_and_odd_results_are_ordinary(result):
    canvas = compress([ToolCall("Bash", {"command": "x"}, result)])
    assert parse(str(canvas)) == canvas.steps
    assert canvas.ratio < 0.01


def test_tokens_are_estimated_for_any_text():
    assert estimate_tokens("") == 0
    assert estimate_tokens("the quick brown fox jumps") in range(4, 9)
    assert estimate_tokens("x" * 1_000_000) > 1000
    assert estimate_tokens("\ud800") >= 1


@pytest.mark.parametrize(
    ("text", "tokens"),  # as the vocabulary o200k counts them
    [
        (
            "Each message of the chat is kept as it was said, and a fact names its words.",
            19,
        ),
        (
            "Mỗi thứ Sáu, từ giữa trưa là ngừng triển khai lên môi trường chính thức.",
            21,
        ),
        (
            "每周五中午以后不再往生产环境部署，除非组长同意。紧急修复要在当天写进值班记录里，并通知客服团队。",
            38,
        ),
        (
            "def total(rows):\n    return sum(row.price * row.count for row in rows if row.is_open)\n",
            21,
        ),
        (
            "c3 --> c4: bash pytest -q tests/test_login.py => FAIL 3 failed, 41 passed | 12.4s\n",
            30,
        ),
    ],
)
def test_estimated_tokens_are_near_counted_ones(text, tokens):
    assert 0.8 * tokens <= estimate_tokens(text) <= 1.2 * tokens


def test_a_copied_builder_goes_on_alone():
    calls = [
        ToolCall("Bash", {"command": f"run {n}"}, f"src/a{n}.py: error {n}") for n in range(40)
    ]
    builder = CanvasBuilder()
    builder.append(calls[:30])
    before = builder.canvas().text
    other = builder.copy()
    other.append(calls[30:])
    assert builder.canvas().text == before
    assert other.canvas().text == compress(calls).text


@pytest.mark.parametrize(
    "arguments",
    [
        {"a": 'x\u2028é\x7f\x01/\\"', "n": -3, "t": True, "z": None},
        {"n": 2**70},
        {"f": 1e16, "g": float("nan"), "h": 0.1},
        {"s": "\ud800"},
        {1: "a", None: "b"},
        {"deep": {"list": [1, {"x": None}]}},
        {"when": datetime(2026, 1, 2)},  # noqa: DTZ001
        {},
    ],
)
def test_arguments_are_written_one_way(arguments):
    """What takes the fast encoder is what the standard one would have written."""
    plain = json.dumps(arguments, ensure_ascii=False, separators=(",", ":"), default=str)
    assert compress([ToolCall("f", arguments, "")]).raw == f"f{plain}"
