"""Parser, compressor and readers on mutated input: an answer or a typed error, never a crash."""

from __future__ import annotations

import json
import random
import warnings
from pathlib import Path

import pytest
from tests.fuzz.driver import fuzz, mutated
from tests.real_logs import real_logs
from tests.reference_toollog import bones
from tests.strategies_toollog import SEEDS

from agentmem.errors import InvalidInputError, MermaidParseError, ToolLogError
from agentmem.toollog import ToolCall, compress, parse
from agentmem.toollog.formats.reader import FORMATS, iter_messages, iter_tool_calls, tool_calls

GOLDEN = Path(__file__).parent.parent / "golden" / "mermaid"
LEAST_INPUTS = 20
"""A run of seconds that tries fewer is broken, not slow."""

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="session")
def seconds(request):
    return float(request.config.getoption("--fuzz-seconds"))


@pytest.fixture(scope="session")
def seed(request):
    return int(request.config.getoption("--fuzz-seed"))


def word(rng):
    kind = rng.randrange(4)
    if kind == 0:
        return rng.choice(SEEDS)
    if kind == 1:
        return "".join(rng.choice(SEEDS) for _ in range(rng.randint(1, 5)))
    if kind == 2:
        return "".join(
            chr(rng.choice((rng.randrange(128), rng.randrange(0x11_0000)))) for _ in range(6)
        )
    return (
        rng.choice(("src/a.py:12", "password=hunter22", "3 failed, 2 passed in 1.0s", "0")) + "\n"
    )


def value(rng, depth=0):
    kind = rng.randrange(9 if depth < 3 else 6)
    if kind < 3:
        return word(rng)
    if kind < 6:
        return (None, rng.random() < 0.5, rng.randint(-(2**70), 2**70), 1e308, float("nan"))[
            kind - 1
        ]
    if kind == 6:
        return [value(rng, depth + 1) for _ in range(rng.randint(0, 4))]
    return {word(rng): value(rng, depth + 1) for _ in range(rng.randint(0, 4))}


def arguments(rng):
    if rng.random() < 0.3:
        return word(rng)
    if rng.random() < 0.3:
        return {rng.choice(("command", "file_path", "todos", "pattern", "edits")): value(rng)}
    return {word(rng): value(rng) for _ in range(rng.randint(0, 4))}


def log(rng):
    """Calls with repeats, batches, sub-agents and ids that come twice."""
    calls = []
    for number in range(rng.choice((0, 1, 3, 8, 30))):
        result = None if rng.random() < 0.2 else word(rng) * rng.choice((1, 1, 3, 400))
        call = ToolCall(
            rng.choice(("Bash", "Read", "mcp__x__y", word(rng))),
            arguments(rng),
            result if rng.random() < 0.8 else json.dumps(value(rng)),
            is_error=rng.random() < 0.3,
            id=rng.choice((None, "same", f"id{number}")),
            parent_id=rng.choice((None, None, "same", f"id{number - 1}", "nowhere")),
            batch=rng.choice((None, 1, number // 3)),
        )
        calls.extend([call] * rng.choice((1, 1, 1, 2, 5)))
        if rng.random() < 0.2:
            calls.extend(calls[-rng.randint(1, 3) :] * rng.randint(1, 3))
    return calls


def diagrams():
    out = [path.read_bytes() for path in sorted(GOLDEN.glob("*.mmd"))]
    rng = random.Random(5)
    for _ in range(40):
        canvas = compress(log(rng), is_exact=True)
        out.extend(page.encode() for page in canvas.pages)
        out.append(canvas.view("tools").encode())
        out.append(canvas.view("styled").encode() if len(canvas.pages) == 1 else b"```mermaid\n```")
    return out


def test_parse_of_any_text_gives_steps_or_a_place(seconds, seed):
    seeds = diagrams()

    def check(data):
        # As a host that reads a file would get it, and with lone surrogates.
        text = data.decode("utf-8", "surrogatepass" if len(data) % 2 else "replace")
        try:
            steps = parse(text)
        except MermaidParseError as error:
            refused = error
        else:
            assert parse(text) == steps
            return
        assert 1 <= refused.line <= text.count("\n") + text.count("\r") + 1
        assert refused.column >= 1
        assert refused.reason

    def make(rng):
        data = mutated(rng, seeds)
        try:
            data.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            data = data.decode("utf-8", "replace").encode()
        return data

    assert fuzz(seconds, seed, make, check) >= LEAST_INPUTS


def test_compress_of_any_calls_round_trips(seconds, seed):
    def check(calls):
        for level in ("standard", "brief", "names"):
            canvas = compress(calls, level=level, is_exact=level == "standard")
            steps = parse(str(canvas))
            assert steps == canvas.steps
            expected = bones(calls)
            told = [(step.tool, step.outcome, step.ref, step.parallel_group) for step in steps]
            assert told == [(b.tool, b.outcome, b.ref, b.parallel_group) for b in expected]
            assert canvas.order == [b.call_index for b in expected]
            assert str(compress(calls, level=level, is_exact=level == "standard")) == str(canvas)

    assert fuzz(seconds, seed, log, check) >= LEAST_INPUTS


def record(rng):
    """One record of some host with a call, its result, or neither."""
    number = str(rng.randrange(6))
    name, given, text = rng.choice(("Bash", "ls")), {"command": "ls"}, "a.py\nError"
    use = {"type": "tool_use", "id": number, "name": name, "input": given}
    result = {"type": "tool_result", "tool_use_id": number, "content": text}
    function = {"name": name, "arguments": json.dumps(given)}
    session = {"parentUuid": None, "isSidechain": False, "sessionId": "s"}
    says = {"role": "assistant", "content": [use]}
    hears = {"role": "user", "content": [result]}
    return rng.choice(
        (
            {**session, "type": "assistant", "message": says, "uuid": number},
            {**session, "type": "user", "message": hears, "toolUseResult": {"stdout": text}},
            {**session, "type": "progress", "data": {"type": "hook_progress"}},
            says,
            hears,
            {"role": "assistant", "tool_calls": [{"id": number, "type": "function", "function": function}]},
            {"role": "tool", "tool_call_id": number, "content": text},
            {"type": "function_call", "call_id": number, **function},
            {"type": "function_call_output", "call_id": number, "output": text},
            {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": given}},
            {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": text}]}},
            {"id": 1, "action": "run", "args": given, "source": "agent"},
            {"id": 2, "cause": 1, "observation": "run", "content": text},
            {"trajectory": [{"action": "ls", "observation": text, "thought": ""}], "info": {}},
        )
    )  # fmt: skip


def host_logs():
    rng = random.Random(3)
    out = []
    for _ in range(60):
        lines = [record(rng) for _ in range(rng.randint(1, 12))]
        out.append(b"\n".join(json.dumps(line, separators=(",", ":")).encode() for line in lines))
        out.append(json.dumps({"messages": lines}).encode())
    return out


def test_readers_of_any_bytes_give_calls_or_a_typed_error(seconds, seed):
    seeds = host_logs()
    formats = ("auto", "auto", *FORMATS)

    def make(rng):
        return rng.choice(formats), mutated(rng, seeds)

    def check(given):
        format_, data = given
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                calls = tool_calls(data, format=format_)
            except (ToolLogError, InvalidInputError):
                calls = None
            try:
                streamed = list(iter_tool_calls(data, format=format_))
            except (ToolLogError, InvalidInputError):
                streamed = None
            try:
                for message in iter_messages(data, format=format_):
                    assert isinstance(message.text, str)
            except (ToolLogError, InvalidInputError):
                pass
        assert repr(streamed) == repr(calls)
        if calls:
            canvas = compress(calls, is_exact=True)
            assert parse(str(canvas)) == canvas.steps

    assert fuzz(seconds, seed, make, check) >= LEAST_INPUTS


def test_real_logs_mutated(seconds, seed):
    """Results of real logs, cut and mixed, through compressor and parser."""
    texts = [call.result.encode() for _, calls in real_logs() for call in calls if call.result]
    if not texts:
        pytest.skip("needs the tool logs of AGENTMEM_DATA")

    def check(data):
        text = data.decode("utf-8", "replace")
        calls = [ToolCall("Bash", text[:200], text, is_error=number == 1) for number in range(3)]
        canvas = compress(calls, is_exact=True)
        assert parse(str(canvas)) == canvas.steps

    assert fuzz(seconds, seed, lambda rng: mutated(rng, texts), check) >= LEAST_INPUTS


def test_a_failure_names_seed_number_and_input():
    def check(given):
        assert given != "bad"

    with pytest.raises(pytest.fail.Exception, match=r"(?s)seed 9, input 0.*'bad'"):
        fuzz(1, 9, lambda _: "bad", check)
