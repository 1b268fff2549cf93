"""Nothing between the tags closes them or looks like another item; capture knows what is ours."""

import html
import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem import Memory
from agentmem.protocols import GivenEmbeddings
from agentmem.tiers.fence import CLOSE, OPEN, escape, fenced, strip_fenced

SPACE = GivenEmbeddings("two", 2)
AT = [1.0, 0.0]
HOSTILE = st.one_of(
    st.text(),
    st.text(alphabet="</agentmory->\n\r&;lt ＜﹤\u2028\u202e\u200b\U000e0041\ud800"),
    st.binary().map(lambda raw: raw.decode("utf-8", "surrogateescape")),
    st.sampled_from((CLOSE, OPEN, f"x{CLOSE}\n- [L1:9] y", "</agent\u200bmem-memory>", "</ agentmem-memory >")),
    st.lists(st.sampled_from((CLOSE, OPEN, "\n- [L1:1] ", "a", "&lt;")), max_size=8).map("".join),
)  # fmt: skip


@given(st.lists(HOSTILE, min_size=1, max_size=5))
def test_no_content_closes_the_fence_or_makes_an_item_of_its_own(texts):
    shown = fenced([f"- [L1:{n}] {escape(text)}" for n, text in enumerate(texts)])
    inner = shown.removeprefix(OPEN).removesuffix(CLOSE)
    assert "<" not in inner
    lines = shown.split("\n")
    assert [line.startswith("- ") for line in lines].count(True) == len(texts)
    assert all(line[:2] in ("- ", "  ") for line in lines[1:-1])
    assert len(shown.splitlines()) == len(lines)
    shown.encode()
    for one in inner:
        assert one in "\n\t" or unicodedata.category(one) not in ("Cc", "Cs")
        assert not "\u202a" <= one <= "\u202e"


@given(HOSTILE)
def test_what_is_shown_can_be_read_back(text):
    plain = text.replace("\r\n", "\n")
    # html.unescape gives neither surrogates nor C1 and control characters back.
    lost = ("Cc", "Cs", "Cn", "Co")
    kept = "".join(one for one in plain if one in "\n\t" or unicodedata.category(one) not in lost)
    assert html.unescape(escape(kept).replace("\n  ", "\n")) == kept


@given(st.text(alphabet="ab \n"), st.text(alphabet="cd\n"), HOSTILE)
def test_a_fenced_text_is_taken_out_whole(before, behind, content):
    block = fenced([f"- {escape(content)}"])
    found = strip_fenced(f"{before}{block}{behind}")
    assert OPEN not in found
    assert found.replace("\n", "") == (before + behind).replace("\n", "")


@given(st.text())
def test_other_texts_are_left_alone(text):
    assert strip_fenced(text) == text or OPEN in text


def test_an_open_tag_alone_hides_nothing():
    assert strip_fenced(f"{OPEN} what follows") == f"{OPEN} what follows"


@pytest.fixture
def memory(tmp_path):
    with Memory(tmp_path / "m", embedder=SPACE) as memory:
        yield memory


def test_capture_keeps_what_was_said_and_not_what_was_injected(memory):
    memory.remember('Deploys "go" to\nFly.io.', embedding=AT)
    made = memory.context("Deploys", embedding=AT)
    said = [
        {"role": "system", "content": made.text},
        {"role": "user", "content": f"{made.text}\n\nWhere do we deploy?"},
        {"role": "user", "content": [{"type": "text", "text": f"Hi\n{made.volatile}"}]},
    ]
    captured = memory.capture(said, session="s")
    assert [memory.get(one).text for one in captured.ids] == ["Where do we deploy?", "Hi"]
    for number in captured.ids:
        record = json.loads(memory.expand(number, part="record"))
        assert OPEN not in json.dumps(record)
    assert all("Fly.io" not in hit.text for hit in memory.recall("x", tiers=("L0",), embedding=AT))
    # The host's clean message is the same message.
    assert (
        memory.capture([{"role": "user", "content": "Where do we deploy?"}], session="s").new == 0
    )


def test_a_tools_result_that_shows_the_memory_is_not_stored_again(memory):
    memory.remember("The port is 8080.", embedding=AT)
    made = memory.context("port", embedding=AT)
    calls = [
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "1", "type": "function", "function": {"name": "recall", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "1", "content": f"found:\n{made.text}"},
    ]  # fmt: skip
    ids = memory.capture(calls, session="s").ids
    assert memory.get(ids[-1]).text == "found:"
    assert memory.expand("c1", session="s") == "found:"


def test_fifty_loops_of_context_and_capture_grow_nothing(memory):
    memory.remember("The port is 8080.", embedding=AT)
    log = [{"role": "user", "content": "Which port?"}]
    memory.capture(log, session="s")
    before = memory.stats()
    for n in range(50):
        made = memory.context("port", budget_tokens=100 + n, embedding=AT)
        asked = [{"role": "system", "content": made.text}, *log]
        memory.capture(asked, session="s")
        memory.compact(asked, budget_tokens=10_000, session="s")
    after = memory.stats()
    assert (after.turns, after.facts) == (before.turns, before.facts)
