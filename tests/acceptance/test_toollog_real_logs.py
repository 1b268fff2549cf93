"""Real logs, by path: round trip, size, and identifiers that the task needs later."""

from __future__ import annotations

import pytest
from tests.carry_over import carry_over
from tests.real_logs import real_logs

from agentmem.toollog import canonical, compress, parse

LOGS = real_logs()
pytestmark = pytest.mark.skipif(not LOGS, reason="needs the tool logs of AGENTMEM_DATA")
FAMILIES = sorted({family for family, _ in LOGS})


def is_judged(canvas, calls):
    """Short logs are reported, not judged: a bare name costs more than 30 % of a terse call."""
    return (canvas.raw_bytes >= 2000 or len(calls) >= 10) and canvas.raw_bytes >= 130 * len(calls)


def test_every_log_reads_back():
    for _, calls in LOGS:
        canvas = compress(calls)
        assert parse(str(canvas)) == parse(canvas.view("tools")) == canvas.steps
        assert canonical(str(canvas)) == str(canvas)
        assert [calls[i].name for i in canvas.order] == [step.tool for step in canvas.steps]


def test_every_judged_log_is_under_thirty_percent_in_bytes_and_tokens():
    for family, calls in LOGS:
        canvas = compress(calls)
        if is_judged(canvas, calls):
            assert canvas.ratio < 0.30, family
            assert canvas.estimated_tokens < 0.30 * canvas.raw_tokens, family


def test_most_calls_are_told_at_the_default_level():
    told = [(len(calls), compress(calls)) for _, calls in LOGS]
    judged = [(count, canvas.level) for count, canvas in told if canvas.raw_bytes >= 2000]
    standard = sum(count for count, level in judged if level == "standard")
    assert standard >= 0.95 * sum(count for count, _ in judged)


@pytest.mark.parametrize("family", ["airline", "claude-code", "swe-agent"])
def test_identifiers_needed_later_are_still_there(family):
    needed = kept = 0
    total = raw = 0
    for name, calls in LOGS:
        if name == family:
            canvas = compress(calls)
            n, k = carry_over(calls, canvas)
            needed, kept = needed + n, kept + k
            total, raw = total + canvas.bytes, raw + canvas.raw_bytes
    assert needed > 0
    assert kept >= 0.60 * needed
    assert total < 0.25 * raw
