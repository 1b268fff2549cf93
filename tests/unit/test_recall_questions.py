"""Odd questions: each has an answer or none, never an error, never none by the analyzer's doing.

The packaged model and the real index; where both signals may say nothing, BM25's rank is asked for.
"""

import unicodedata

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.strategies import WORDS

from agentmem import Memory

FACTS = (
    "What is the who of it all, and where was it to be?",
    "The vitamin C tablets are in the kitchen.",
    "We ship C++ and Rust, never Go.",
    "🚀 launch day is 12 May 🎉",
    "Trần Thị Hồng thích uống cà phê sữa đá ở Đà Nẵng.",
    "用户喜欢在晚上工作,并且用 Python 写代码。",
    "Ему нравится чай с лимоном.",
    "تفضل القهوة بدون سكر",
    "She said \"never (ever) use AND or NOT in a title\" -- it's C:\\temp\\*.log?",
    "auth.ts:42 throws when snake_case_name is None",
    "naïve café résumé for François",
    "x",
)  # fmt: skip


@pytest.fixture(scope="module")
def memory(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AGENTMEM_CACHE", str(tmp_path_factory.getbasetemp() / "models"))
        with Memory(tmp_path_factory.mktemp("questions") / "m") as memory:
            memory.remember_many(FACTS)
            yield memory


def places(memory, question):
    """Return the place of each fact among BM25's, absent where it has none."""
    hits = memory.recall(question, k=len(FACTS))
    return {FACTS.index(hit.text): hit.bm25_rank for hit in hits if hit.bm25_rank is not None}


@pytest.mark.parametrize(
    ("question", "right"),
    [
        ("x", 11), ("C", 1), ("c++", 2),
        ("what is the who of it", 0), ("to be", 0), ("it", 0), ("THE", 0), ("and where was it?", 0),
        ("🚀", 3), ("🎉", 3), ("🎉🚀🎉", 3),
        ("Da Nang", 4), ("ca phe", 4), ("đà nẵng cà phê", 4), ("CÀ PHÊ SỮA ĐÁ", 4),
        ("晚", 5), ("python 代码", 5), ("工作 at night", 5), ("ｐｙｔｈｏｎ", 5),
        ("чай", 6), ("القهوة", 7),
        ('"never (ever) use', 8), ("AND", 8), ("NOT title", 8), ("C:\\temp\\*.log", 8),
        ("title AND NOT (never", 8), ("title:never^2~ +ever -use", 8), ("temp/*", 8),
        ("auth.ts:42", 9), ("snake_case_name", 9), ("case name", 9),
        ("naive cafe", 10), ("FRANÇOIS", 10), ("résumé", 10),
        ("where чай 工作 🚀 cà", 3),
    ],
)  # fmt: skip
def test_a_question_of_a_facts_own_words_finds_it(memory, question, right):
    for spelling in ("NFC", "NFD", "NFKD"):
        asked = unicodedata.normalize(spelling, question)
        assert right in places(memory, asked), (spelling, asked)
        assert memory.recall(asked, k=1)


def test_a_question_of_four_thousand_words(memory):
    for words in (
        "coffee " * 4_000,
        " ".join(f"word{number}" for number in range(4_000)),
        "the of and " * 1_333 + "Nẵng",
        "晚上工作" * 4_000,
        "Nẵng " + "filler " * 4_000,
    ):
        assert len(memory.recall(words, k=5)) == 5
    # The model knows no emoji: BM25 alone has an answer.
    assert memory.recall("🚀 " * 4_000, k=5)[0].text == FACTS[3]
    # What comes first counts, whatever comes after it.
    assert 4 in places(memory, "Nẵng " + " ".join(f"word{number}" for number in range(4_000)))


@pytest.mark.parametrize(
    "question",
    ["", " ", "\n\t", "\x00", "\u200b", "?!", "\"'", "(((((", "*", "--", "\ufffd", "a\ud800"[1:]],
)
def test_a_question_of_no_words_is_no_error(memory, question):
    assert len(memory.recall(question, k=5)) in (0, 5)


def test_nested_brackets_are_only_text(memory):
    assert isinstance(memory.recall("(" * 20_000 + "Nẵng" + ")" * 20_000), list)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.one_of(
        st.text(max_size=60),
        st.lists(
            st.sampled_from([*WORDS, "the", "of", "là", "的", "𝒳", "e\u0301"]), max_size=12
        ).map(" ".join),
    ),
    st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]),
)
def test_any_question_has_an_answer_or_none(memory, question, form):
    hits = memory.recall(unicodedata.normalize(form, question), k=3)
    assert len(hits) <= 3
    assert len({hit.id for hit in hits}) == len(hits)
    (again,) = memory.recall_many([unicodedata.normalize(form, question)], k=3)
    assert [hit.id for hit in again] == [hit.id for hit in hits]
