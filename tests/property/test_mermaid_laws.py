"""Laws of the diagram: it reads back, its text is the only one, and nothing crashes it."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.reference_toollog import bones
from tests.strategies_toollog import tool_logs, words

from agentmem.errors import MermaidParseError
from agentmem.toollog import CanvasBuilder, canonical, compress, parse, skeleton
from agentmem.toollog.canvas import LEVELS

# Generating characters of all planes the first time takes seconds on a busy machine.
laws = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@laws
@given(tool_logs(), st.sampled_from(LEVELS))
def test_parse_gives_back_what_was_written(calls, level):
    canvas = compress(calls, level=level, is_exact=True)
    assert canvas.level == level
    for text in (str(canvas), canvas.markdown, canvas.view("styled"), canvas.view("tools")):
        assert parse(text) == canvas.steps
    assert canonical(str(canvas)) == str(canvas)


@laws
@given(tool_logs(), st.one_of(st.none(), st.integers(0, 200)))
def test_parse_equals_skeleton(calls, budget):
    text = str(compress(calls, budget_tokens=budget))
    assert parse(text) == skeleton(calls, budget_tokens=budget)
    assert str(compress(calls, budget_tokens=budget)) == text


@laws
@given(tool_logs(max_size=20))
def test_skeleton_equals_the_plain_reference(calls):
    expected = bones(calls)
    canvas = compress(calls)
    got = [(s.tool, s.outcome, s.ref, s.parallel_group) for s in canvas.steps]
    assert got == [(b.tool, b.outcome, b.ref, b.parallel_group) for b in expected]
    assert canvas.order == [b.call_index for b in expected]


@laws
@given(tool_logs(), st.data())
def test_a_log_read_in_parts_has_the_same_diagram(calls, data):
    at = data.draw(st.integers(0, len(calls)))
    builder = CanvasBuilder()
    builder.append(calls[:at])
    builder.canvas()
    builder.append(calls[at:])
    assert str(builder.canvas()) == str(compress(calls))


@laws
@given(tool_logs(), st.data())
def test_a_changed_diagram_is_read_or_refused(calls, data):
    text = str(compress(calls, is_exact=True))
    at = data.draw(st.integers(0, len(text)))
    until = data.draw(st.integers(at, min(len(text), at + 40)))
    changed = text[:at] + data.draw(words) + text[until:]
    refusal = None
    try:
        steps = parse(changed)
    except MermaidParseError as error:
        refusal = error
    if refusal is None:
        assert all(step.ref for step in steps)
    else:
        assert refusal.line >= 1
        assert refusal.column >= 1
        assert refusal.reason


@laws
@given(tool_logs(), st.data())
def test_a_lost_line_is_always_noticed(calls, data):
    """The mutant of the mission's check: an edge dropped must never read back as a log."""
    lines = str(compress([*calls, *calls[:1]], is_exact=True)).splitlines(keepends=True)
    edges = [number for number, line in enumerate(lines) if " --> " in line]
    if not edges:
        return
    dropped = data.draw(st.sampled_from(edges))
    with pytest.raises(MermaidParseError):
        parse("".join(lines[:dropped] + lines[dropped + 1 :]))


@laws
@given(st.one_of(words, st.lists(words, max_size=8).map("\n".join)))
def test_any_text_is_read_or_refused(text):
    for whole in (text, f"stateDiagram-v2\n{text}", f"stateDiagram-v2\n[*] --> c1: {text}"):
        refused_at = 1
        try:
            parse(whole)
        except MermaidParseError as error:
            refused_at = error.line
        assert 1 <= refused_at <= whole.count("\n") + 1
