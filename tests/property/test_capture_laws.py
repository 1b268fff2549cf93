"""Any log, captured again and again as it grows, gives what the whole log gives."""

from __future__ import annotations

import warnings

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies_toollog import words

from agentmem import GivenEmbeddings, Memory, compress, tool_calls
from agentmem.toollog.expand import cut

SPACE = GivenEmbeddings(id="test", ndim=2)
ids = st.sampled_from(["a", "b", "c", "d"])


@st.composite
def messages(draw):
    """Hostile chat messages: ids that come twice, results without calls, calls without results."""
    kind = draw(st.sampled_from(["user", "assistant", "call", "call", "result", "result"]))
    if kind in ("user", "assistant"):
        return {"role": kind, "content": draw(words)}
    if kind == "call":
        calls = [
            {"id": draw(ids), "type": "function",
             "function": {"name": draw(words), "arguments": draw(words)}}
            for _ in range(draw(st.integers(1, 3)))
        ]  # fmt: skip
        return {"role": "assistant", "content": draw(st.none() | words), "tool_calls": calls}
    return {"role": "tool", "tool_call_id": draw(ids), "content": draw(words)}


@settings(max_examples=60)
@given(log=st.lists(messages(), max_size=14), cuts=st.lists(st.integers(1, 14), max_size=4))
def test_pieces_give_what_the_whole_gives(tmp_path_factory, log, cuts):
    with (
        Memory(tmp_path_factory.mktemp("m") / "memory", embedder=SPACE, redact=False) as memory,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        held = ()
        for end in [*sorted({one for one in cuts if one < len(log)}), len(log)]:
            captured = memory.capture(log[:end], session="s")
            assert captured.ids[: len(held)] == held
            assert captured.new == len(captured.ids) - len(held)
            held = captured.ids
            if held:
                expected = compress(tool_calls(log[:end]))
                assert str(memory.canvas("s")) == str(expected)
        assert memory.capture(log, session="s").new == 0
        calls = tool_calls(log)
        if held:
            canvas = memory.canvas("s")
            for step, index in zip(canvas.steps, canvas.order, strict=True):
                assert memory.expand(step.ref, session="s") == (calls[index].result or "")


@given(text=st.text(), lines=st.integers(1, 6), most=st.integers(1, 40))
def test_a_cut_is_a_beginning_of_whole_lines(text, lines, most):
    rows = text.split("\n")
    assert cut(text, lines=f"{lines}-") == "\n".join(rows[lines - 1 :])
    *kept, last = cut(text, max_tokens=most).split("\n")
    if last.startswith("[agentmem: ") and not text.endswith(last):
        assert text.startswith("\n".join(kept))
    else:
        assert "\n".join([*kept, last]) == text
