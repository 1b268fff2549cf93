"""Generated tool logs: hostile words in every place, batches, repeats and sub-agents."""

from __future__ import annotations

from hypothesis import strategies as st

from agentmem.toollog.models import ToolCall

SEEDS = (
    "", " ", "x", "a:b", "a;b", "=>", "a => b", "FAIL", "FAIL x", "PENDING", "PASS", "#59;", "#", "##1;",
    "%%{init: {}}%%", "%% c", "direction TB", "change direction",
    "LRtool", "-->", "c1 --> c2: x", "\n", "\r\n",
    "\0", "\x1b[31mred\x1b[0m", "&lt;", "&amp", "<b>", "[[fork]]", "<<join>>", '"',
    "state", "note", "end", "t1",
    "c1", "c1_2", "classDef x fill:#fff", "style a:b#c;", "ﬂ°x¶ß", "\ud83d", "😀",
    "phở bò", "phở", "שלום", "日本語",
    "\u2028", "\ufeff", "\xa0x\xa0", "`", "```", "}", "{", "state c1 {", "\\n", "|",
    "repeat 3 to c9", "__proto__",
)  # fmt: skip

words = st.one_of(
    st.sampled_from(SEEDS),
    st.text(max_size=12),
    st.text(alphabet=';:#&%<=>"[]{} \n\tdirectonTBLRFAIL019-_/', max_size=16),
    st.text(alphabet=st.characters(), max_size=6),  # with lone surrogates
)
scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), words)
arguments = st.one_of(
    words,
    st.dictionaries(words, st.one_of(scalars, st.lists(scalars, max_size=3)), max_size=4),
    st.fixed_dictionaries({"command": words}),
    st.fixed_dictionaries({"file_path": words, "old_string": words, "new_string": words}),
)
results = st.one_of(st.none(), words, st.lists(words, max_size=6).map("\n".join))


@st.composite
def tool_logs(draw, max_size=12):
    """Logs of up to ``max_size`` different calls, some of them several times in a row."""
    calls = []
    for number in range(draw(st.integers(0, max_size))):
        call = ToolCall(
            draw(words),
            draw(arguments),
            draw(results),
            is_error=draw(st.booleans()),
            id=draw(st.sampled_from([None, f"id{number}", "same"])),
            parent_id=draw(st.sampled_from([None, None, f"id{number - 1}", "same", "nowhere"])),
            batch=draw(st.sampled_from([None, None, 1, number // 3])),
        )
        calls.extend([call] * draw(st.sampled_from([1, 1, 1, 2, 5])))
        if len(calls) > 3 and draw(st.integers(0, 5)) == 0:
            period = draw(st.integers(2, 3))
            calls.extend(calls[-period:] * draw(st.integers(1, 3)))
    return calls
