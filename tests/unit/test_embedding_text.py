"""Cleaning, windows and the cache of query vectors: pure parts, no model."""

import itertools
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentmem.embedding.query_cache import QueryCache
from agentmem.embedding.text import check_texts, clean, windows
from agentmem.errors import InvalidInputError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("đã", "đã"),
        ("a\0b", "a\0b"),
        ("a\ud800b", "a\ufffdb"),
        ("\udc00\ud800", "\ufffd\ufffd"),
        ("\ud83d\ude00", "😀"),
    ],
)
def test_clean(text, expected):
    assert clean(text) == expected


@given(st.text(st.characters()))
def test_clean_text_can_be_encoded_and_cleaning_it_again_changes_nothing(text):
    once = clean(text)
    once.encode()
    assert clean(once) == once


@given(
    tokens=st.integers(0, 5000),
    window=st.integers(2, 300),
    limit=st.integers(1, 10),
    data=st.data(),
)
def test_windows_cover_the_text_evenly(tokens, window, limit, data):
    overlap = data.draw(st.integers(0, window - 1))
    found = windows(tokens, window=window, overlap=overlap, limit=limit)
    covered = min(tokens, window + (limit - 1) * (window - overlap))
    assert len(found) <= limit
    if tokens == 0:
        assert found == []
        return
    assert found[0][0] == 0
    assert found[-1][1] == covered
    assert len({end - start for start, end in found}) == 1
    assert all(0 < end - start <= window for start, end in found)
    for (_, end), (start, _) in itertools.pairwise(found):
        assert end - start >= overlap
    # No fewer windows would do.
    assert len(found) == 1 or window + (len(found) - 2) * (window - overlap) < covered


def test_check_texts_names_the_place():
    assert check_texts(("a", "b")) == ["a", "b"]
    with pytest.raises(InvalidInputError, match=r"texts\[1\] must be a str, int"):
        check_texts(["a", 3])
    with pytest.raises(InvalidInputError, match="wrap it in a list"):
        check_texts("a")


def test_the_least_recently_used_query_goes_first():
    cache = QueryCache(2)
    cache.put("a", None)
    cache.put("b", None)
    assert cache.get("a") is None
    cache.put("c", None)
    assert len(cache) == 2
    with pytest.raises(KeyError):
        cache.get("b")
    assert cache.get("a") is None
    assert cache.get("c") is None


def test_a_cache_of_size_0_keeps_nothing():
    cache = QueryCache(0)
    cache.put("a", None)
    assert len(cache) == 0


def test_threads_share_a_cache():
    cache = QueryCache(3)
    errors = []

    def work(seed):
        try:
            for step in range(20_000):
                key = str((seed * 31 + step * 7) % 5)
                try:
                    assert cache.get(key) is None
                except KeyError:
                    cache.put(key, None)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert len(cache) <= 3
