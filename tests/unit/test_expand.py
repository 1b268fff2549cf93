"""Refs back to bytes: which session, which lines, which words, how much."""

from __future__ import annotations

import pytest
from tests.host_logs import openai_pair

from agentmem import GivenEmbeddings, InvalidInputError, Memory, NotFoundError
from agentmem.toollog import estimate_tokens
from agentmem.toollog.expand import cut

TEXT = "\n".join(f"line {n} {'even' if n % 2 == 0 else 'odd'}" for n in range(1, 101))


@pytest.fixture
def memory(tmp_path):
    with Memory(tmp_path / "memory", embedder=GivenEmbeddings(id="test", ndim=4)) as opened:
        yield opened


class TestCut:
    @pytest.mark.parametrize(
        ("lines", "first", "last"),
        [("10-20", 10, 20), ((10, 20), 10, 20), ([3, 3], 3, 3), ("98-", 98, 100), ("-2", 1, 2),
         ("7", 7, 7), (7, 7, 7), (" 5 - 6 ", 5, 6), ("99-500", 99, 100)],
    )  # fmt: skip
    def test_lines(self, lines, first, last):
        assert cut(TEXT, lines=lines) == "\n".join(TEXT.split("\n")[first - 1 : last])

    def test_lines_behind_the_end_are_none(self):
        assert cut(TEXT, lines="200-300") == ""

    @pytest.mark.parametrize(
        "lines", ["", "-", "a-b", "20-10", "0", 0, -3, (0, 3), (5, 2), (1, 2, 3), True, 1.5,
                  "1-2-3", "9" * 400],
    )  # fmt: skip
    def test_wrong_lines(self, lines):
        with pytest.raises(InvalidInputError, match="lines"):
            cut(TEXT, lines=lines)

    def test_only_lf_ends_a_line(self):
        assert cut("a\r\nb\u2028c\n\n", lines="2") == "b\u2028c"

    def test_grep_is_no_pattern_and_names_the_lines(self):
        assert cut("a.c\nabc\n(a+)+$", grep="a.c") == "1:a.c"
        assert cut("a.c\nabc\n(a+)+$", grep="(a+)+$") == "3:(a+)+$"
        assert cut(TEXT, grep="odd", lines="10-13") == "11:line 11 odd\n13:line 13 odd"
        assert cut(TEXT, grep="nowhere") == ""

    @pytest.mark.parametrize("grep", ["", 3, "a\nb"])
    def test_wrong_grep(self, grep):
        with pytest.raises(InvalidInputError, match="grep"):
            cut(TEXT, grep=grep)

    @pytest.mark.parametrize("most", [1, 10, 50, 200])
    def test_a_budget_ends_at_a_line_and_says_what_is_left(self, most):
        got = cut(TEXT, max_tokens=most).split("\n")
        *kept, note = got
        assert note.startswith("[agentmem: ")
        assert note.endswith(" left out]")
        assert estimate_tokens("\n".join(kept)) <= most
        if most >= 10:
            assert kept == TEXT.split("\n")[: len(kept)]
            assert f"{100 - len(kept)} more lines" in note

    def test_what_fits_is_whole(self):
        assert cut(TEXT, max_tokens=10_000) == TEXT
        assert cut("", max_tokens=1) == ""

    def test_one_endless_line_is_cut_inside(self):
        got = cut("x1 " * 100_000, max_tokens=20)
        assert len(got) < 300
        assert "more characters of this line" in got

    @pytest.mark.parametrize("most", [0, -1, True, 2.5])
    def test_wrong_budget(self, most):
        with pytest.raises(InvalidInputError, match="max_tokens"):
            cut(TEXT, max_tokens=most)

    def test_a_counter_of_the_hosts(self):
        assert cut("a\nb\nc\nd", max_tokens=4, count_tokens=len).startswith(
            "a\nb\n[agentmem: 2 more"
        )


class TestExpand:
    def test_parts(self, memory):
        ids = memory.capture(openai_pair(1, TEXT, command="ls"), session="s").ids
        assert memory.expand("c1") == TEXT
        assert memory.expand("c1", part="arguments") == '{"command":"ls"}'
        assert '"tool_call_id":"call_1"' in memory.expand("c1", part="record")
        assert memory.expand(ids[0]) == '{"command":"ls"}'
        assert memory.expand(ids[1], lines="3") == "line 3 odd"

    def test_several_sessions_need_a_name(self, memory):
        memory.capture([{"role": "user", "content": "no calls here"}], session="words")
        with pytest.raises(NotFoundError, match="no captured session"):
            memory.expand("c1")
        memory.capture(openai_pair(1, "one"), session="first")
        assert memory.expand("c1") == "one"
        memory.capture(openai_pair(1, "two"), session="second")
        with pytest.raises(InvalidInputError, match="'second', 'first'"):
            memory.expand("c1")
        assert memory.expand("c1", session="second") == "two"
        assert memory.expand("L0:3") == "one"

    def test_the_scopes_own_session_wins_and_others_are_named(self, memory):
        memory.scoped("a").capture(openai_pair(1, "in a"), session="s")
        assert memory.expand("c1", session="s") == "in a"
        memory.scoped("b").capture(openai_pair(1, "in b"), session="s")
        with pytest.raises(InvalidInputError, match="'a', 'b'"):
            memory.expand("c1", session="s")
        assert memory.scoped("b").expand("c1", session="s") == "in b"
        memory.capture(openai_pair(1, "at the root"), session="s")
        assert memory.expand("c1", session="s") == "at the root"

    @pytest.mark.parametrize(
        "ref", ["", "c0", "c", "7", "c1_", "L0:x", "L9:1", None, 3, "c1;", "c01"]
    )
    def test_wrong_refs(self, memory, ref):
        memory.capture(openai_pair(1, "one"), session="s")
        with pytest.raises(InvalidInputError):
            memory.expand(ref)

    @pytest.mark.parametrize("ref", ["c2", "c1_1", "L0:99", "c9999999999"])
    def test_what_is_not_there(self, memory, ref):
        memory.capture(openai_pair(1, "one"), session="s")
        with pytest.raises(NotFoundError):
            memory.expand(ref)

    def test_what_was_asserted_has_no_record(self, memory):
        fact = memory.remember("x is y", embedding=[1.0, 0, 0, 0])
        assert memory.expand(fact.sources[0]) == "x is y"
        with pytest.raises(NotFoundError, match="record"):
            memory.expand(fact.sources[0], part="record")
        with pytest.raises(InvalidInputError, match="part"):
            memory.expand(fact.sources[0], part="all")
