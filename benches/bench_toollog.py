"""Tool logs: speed beside orjson and zstd, size and carry-over beside plain ways to shorten a log.

Run as a test it checks the answers once; ``pytest benches/bench_toollog.py --benchmark-enable -s`` times
and prints the tables. Sizes are shares of the raw log: names, compact arguments and results in UTF-8.
"""

from __future__ import annotations

import gzip
import json
import statistics
import time

import orjson
import pytest
import zstandard
from tests.carry_over import carried, carry_over
from tests.real_logs import data_folder, real_logs

from agentmem.toollog import ToolCall, compress, estimate_tokens, parse
from agentmem.toollog.formats import tool_calls

FAMILIES = ("airline", "claude-code", "swe-agent")


def arguments(call):
    given = call.arguments
    return (
        given
        if isinstance(given, str)
        else json.dumps(given, ensure_ascii=False, separators=(",", ":"))
    )


def raw(call):
    return f"{call.name} {arguments(call)}\n{call.result or ''}"


def cut(text, most):
    return text if len(text) <= most else text[:most]


def seed_compressor(calls):
    """The mission's own sketch: from tool to tool, FAIL or the result's first 20 characters."""
    out, before = [], "[*]"
    for call in calls:
        status = "FAIL" if call.is_error else cut(call.result or "ok", 20)
        out.append(f"    {before} --> {call.name}: {status}")
        before = call.name
    return out


BASELINES = {
    "mask all results": lambda calls: [f"{c.name} {arguments(c)}" for c in calls],
    "mask all but the last 10": lambda calls: [
        raw(c) if i >= len(calls) - 10 else f"{c.name} {arguments(c)}" for i, c in enumerate(calls)
    ],
    "cut to 60": lambda calls: [
        f"{c.name} {cut(arguments(c), 60)} {cut(c.result or '', 60)}" for c in calls
    ],
    "cut to 200": lambda calls: [
        f"{c.name} {cut(arguments(c), 200)} {cut(c.result or '', 200)}" for c in calls
    ],
    "mission's compressToolLog": seed_compressor,
}


def logs_of(family):
    logs = [calls for name, calls in real_logs() if name == family and calls]
    if not logs:
        pytest.skip("needs the tool logs of AGENTMEM_DATA")
    return logs


def row(shown, calls):
    text = "\n".join(shown)
    needed, kept = carried(calls, shown)
    return len(text.encode()), estimate_tokens(text), needed, kept


@pytest.mark.parametrize("family", FAMILIES)
def test_size_and_carry_over_beside_baselines(family):
    """Every way is measured by one function; the masks' last results are what a model sees now."""
    totals = {}
    raw_bytes = raw_tokens = 0
    for calls in logs_of(family):
        for level in ("standard", "brief"):
            canvas = compress(calls, level=level)
            needed, kept = carry_over(calls, canvas)
            found = (canvas.bytes, canvas.estimated_tokens, needed, kept)
            totals.setdefault(level, []).append(found)
        raw_bytes += canvas.raw_bytes
        raw_tokens += canvas.raw_tokens
        for name, shorten in BASELINES.items():
            totals.setdefault(name, []).append(row(shorten(calls), calls))
    print(f"\n{family}: {raw_bytes} bytes, about {raw_tokens} tokens raw")
    for name, rows in totals.items():
        size, tokens, needed, kept = map(sum, zip(*rows, strict=True))
        print(
            f"  {name:26} {size / raw_bytes:6.1%} bytes {tokens / raw_tokens:6.1%} tokens"
            f"  carried {kept}/{needed} = {kept / max(needed, 1):.0%}"
        )
    standard = [sum(column) for column in zip(*totals["standard"], strict=True)]
    assert standard[0] < 0.25 * raw_bytes
    assert standard[3] >= 0.60 * standard[2]


def payload():
    logs = [calls for _, calls in real_logs()]
    calls = [call for log in logs for call in log]
    if not calls:
        calls = [
            ToolCall("Bash", {"command": f"run {i}"}, f"line {i} of src/a{i}.py\n" * 60)
            for i in range(600)
        ]
    return calls


@pytest.fixture(scope="module")
def calls():
    return payload()


def size_of(calls):
    return sum(len(raw(call).encode("utf-8", "surrogatepass")) for call in calls)


def test_compress(benchmark, calls):
    canvas = compress(calls)
    assert parse(str(canvas)) == canvas.steps
    benchmark.extra_info.update(bytes=canvas.raw_bytes, ratio=canvas.ratio, correct=True)
    benchmark(compress, calls)


def test_parse(benchmark, calls):
    canvas = compress(calls)
    text = str(canvas)
    assert parse(text) == canvas.steps
    benchmark.extra_info.update(bytes=len(text.encode()), correct=True)
    benchmark(parse, text)


def cpu(function, *given):
    best = float("inf")
    for _ in range(5):
        start = time.process_time()
        function(*given)
        best = min(best, time.process_time() - start)
    return best


def test_speed_beside_a_json_reader_and_a_compressor(calls):
    """Megabytes of CPU time in one run: what counts is the relation."""
    document = json.dumps([raw(call) for call in calls]).encode()
    text = str(compress(calls))
    size = size_of(calls)
    print()
    for name, amount, seconds in (
        ("compress, from Python", size, cpu(compress, calls)),
        ("parse, from Python", len(text.encode()), cpu(parse, text)),
        ("orjson.loads", len(document), cpu(orjson.loads, document)),
        ("zstd level 3", len(document), cpu(zstandard.compress, document)),
    ):
        print(f"  {name:24} {amount / max(seconds, 1e-9) / 1e6:8.1f} MB/s")
    assert parse(text) == compress(calls).steps


def test_from_jsonl_at_half_the_speed_of_a_json_reader():
    """A session file to its diagram, beside orjson on every line of it, in turns."""
    path = data_folder() / "toollogs" / "claude-code" / "session-a.jsonl.gz"
    if not path.exists():
        pytest.skip("needs the tool logs of AGENTMEM_DATA")
    data = gzip.decompress(path.read_bytes())

    def decode():
        for line in data.splitlines():
            orjson.loads(line)

    def draw():
        return str(compress(tool_calls(data)))

    def seconds(function):
        start = time.process_time()
        function()
        return time.process_time() - start

    records = [orjson.loads(line) for line in data.splitlines()]
    assert draw() == str(compress(tool_calls(records)))
    ratios = [seconds(decode) / seconds(draw) for _ in range(21)]
    speed = len(data) / min(seconds(draw) for _ in range(5)) / 1e6
    print(f"\n  from JSONL {speed:8.1f} MB/s, {statistics.median(ratios):.2f} of orjson.loads")
    assert statistics.median(ratios) >= 0.5
