"""The evaluation harness reads what it should and counts as it should."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benches.corpus import data_folder
from benches.quality.__main__ import compare, main
from benches.quality.analyzer import TermBm25, variants
from benches.quality.calibrate import Asked, auc, fit, relevance
from benches.quality.charts import draw
from benches.quality.evaluate import DEPTHS, Score, evaluate, half, mean, table, two_fold
from benches.quality.formats import Collection, Document, Question, load, load_turns, merge
from benches.quality.rankers import CachedEmbedder, ExactVectors, Native, PlainRrf, TantivyBm25
from tests.reference import Bm25, fuse, rank

RECORDS = [
    {"id": "sms:1", "kind": "sms", "time": "2025-01-02 10:00:00", "text": "Dinner with Anna"},
    {"id": "sms:2", "kind": "sms", "time": "2025-01-02 11:00:00", "text": "Train to Hue at noon"},
    {
        "id": "agent_chat:3",
        "kind": "agent_chat",
        "time": "2025-01-03",
        "messages": [
            {"role": "user", "content": "Where is my violin?"},
            {"role": "assistant", "content": "At the luthier's."},
        ],
    },
]
QA = [
    {
        "id": "q1",
        "question": "Who came to dinner?",
        "answer": "Anna",
        "type": "A",
        "ask_time": "2024-12",
        "evidence": ["sms:1", "gone:9"],
    },
    {
        "id": "q2",
        "question": "violin or train",
        "answer": "the luthier has it",
        "type": "B",
        "evidence": ["agent_chat:3", "sms:2"],
    },
    {"id": "q3", "question": "nothing answers this", "answer": None, "type": "B", "evidence": []},
]
LOCOMO = [
    {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Ann",
            "session_10_date_time": "8 pm on 9 May, 2023",
            "session_10": [{"speaker": "Bo", "dia_id": "D10:1", "text": "I moved to Oslo."}],
            "session_2_date_time": "1 pm on 8 May, 2023",
            "session_2": [
                {"speaker": "Ann", "dia_id": "D2:1", "text": "Hi", "blip_caption": "a red kite"},
                {"speaker": "Bo", "dia_id": "D2:2", "text": "Nice kite!"},
            ],
        },
        "qa": [
            {"question": "Where does Bo live?", "evidence": ["D10:1"], "category": 4},
            {"question": "What flew?", "evidence": ["D2:1; D2:02", "D:9:9"], "category": 1},
            {"question": "Unknown?", "category": 5},
        ],
    }
]


class HashEmbedder:
    """Directions that only a text's hash decides, two chunks for texts of two sentences."""

    id = "hash"
    ndim = 16

    def __init__(self) -> None:
        self.calls = 0

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.calls += 1
        rows = [
            np.random.default_rng(zlib.crc32(text.encode())).standard_normal(self.ndim)
            for text in texts
        ]
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)

    def embed_chunks(self, texts: Sequence[str]) -> list[np.ndarray]:
        return [self.embed([part for part in text.split(". ") if part]) for text in texts]


@pytest.fixture
def lifebench(tmp_path: Path) -> Path:
    for name, rows in (("records", RECORDS), ("qa", QA)):
        text = "\n".join(json.dumps(row) for row in rows)
        (tmp_path / f"me-en.{name}.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    return tmp_path


@pytest.fixture
def locomo(tmp_path: Path) -> Path:
    path = tmp_path / "locomo.json"
    path.write_text(json.dumps(LOCOMO), encoding="utf-8")
    return path


def test_lifebench_is_read(lifebench: Path) -> None:
    (collection,) = load(lifebench)
    assert (collection.name, collection.language) == ("me-en", "en")
    chat = collection.documents[2]
    assert chat.text == "user: Where is my violin?\nassistant: At the luthier's."
    places = [(doc.session, doc.position) for doc in collection.documents]
    assert places == [("2025-01-02", 0), ("2025-01-02", 1), ("2025-01-03", 0)]
    assert collection.documents[0].dated == "[2025-01-02 10:00:00] Dinner with Anna"
    assert [question.evidence for question in collection.questions] == [
        ("sms:1",),
        ("agent_chat:3", "sms:2"),
        (),
    ]
    assert [question.id for question in collection.answerable] == ["q1", "q2"]


def test_times_of_records_and_questions(lifebench: Path) -> None:
    (collection,) = load(lifebench)
    first, _, chat = collection.documents
    assert first.when == datetime(2025, 1, 2, 10, tzinfo=UTC)
    assert chat.when == datetime(2025, 1, 3, tzinfo=UTC)
    assert (first.kind, first.indexed) == ("sms", "Dinner with Anna")
    # A month is over when it is asked about; the next year begins right after a December.
    assert collection.questions[0].when == datetime(2024, 12, 31, 23, 59, 59, tzinfo=UTC)
    assert collection.questions[1].when is None


def test_conversations_are_read_as_turns(lifebench: Path) -> None:
    turns = load_turns(lifebench / "me-en.records.jsonl.gz")
    assert [doc.id for doc in turns.documents] == ["agent_chat:3/0", "agent_chat:3/1"]
    assert {doc.session for doc in turns.documents} == {"agent_chat:3"}
    # The answer names the luthier, as the second turn does.
    assert [one.evidence for one in turns.questions] == [(), ("agent_chat:3/1",), ()]


def test_relevance_is_fitted_to_what_separates() -> None:
    rng = np.random.default_rng(3)
    asked = []
    for number in range(60):
        features = rng.uniform(0, 0.4, (10, 5))
        is_own = number % 2 == 0
        is_evidence = np.zeros(10, dtype=bool)
        if is_own:
            is_evidence[0] = True
            features[0] += 0.4
        asked.append(Asked(features, is_evidence, "own" if is_own else "foreign", "m"))
    model = fit(asked)
    best = {
        group: [float(relevance(model, a.features).max()) for a in asked if a.group == group]
        for group in ("own", "foreign")
    }
    assert auc(best["own"], best["foreign"]) > 0.95
    assert np.median(best["own"]) > 0.5 > np.median(best["foreign"])
    assert auc([1.0, 1.0], [1.0]) == 0.5
    assert auc([1.0], [0.0, 2.0]) == 0.5


@pytest.mark.timeout(120)
def test_the_parts_of_ours_stand_in_one_table(lifebench: Path) -> None:
    found = compare(load(lifebench), CachedEmbedder(HashEmbedder(), None), ("agentmem", "no-hints"))
    rows = found["me-en"]["all"]
    assert list(rows) == ["agentmem", "agentmem, no-hints"]
    assert rows["agentmem"].recall[0] == 1.0  # three documents, five places


def test_an_ablation_takes_terms_away(lifebench: Path) -> None:
    (collection,) = load(lifebench)
    analyzers = variants()
    ours = TermBm25(collection, *analyzers["ours"])
    native = Native(collection, HashEmbedder(), signal="bm25")
    for question in ("the train to dinner", "violins 2025", "Hue", ""):
        assert ours.rank(question, 3) == native.rank(question, 3)
    document, _ = analyzers["without pairs of Han characters"]
    assert "部署" in analyzers["ours"][0]("部署")
    assert document("部署") == ["部", "署"]


def test_variants_of_a_record_are_documents_of_their_own(lifebench: Path) -> None:
    path = lifebench / "me-en.records.jsonl.gz"
    variant = json.dumps({**RECORDS[0], "text": "Anna came for dinner"})
    path.write_bytes(path.read_bytes() + gzip.compress(b"\n" + variant.encode()))
    (collection,) = load(lifebench)
    assert [doc.id for doc in collection.documents] == ["sms:1", "sms:2", "agent_chat:3", "sms:1#2"]
    assert evaluate(Fixed("sms:1#2", "sms:1"), collection)["q1"].recall == (1, 1, 1, 1)
    assert evaluate(Fixed("sms:1#2", "sms:1"), collection)["q2"].recall == (0, 0, 0, 0)


def test_locomo_is_read(locomo: Path) -> None:
    (collection,) = load(locomo)
    assert [doc.id for doc in collection.documents] == ["D2:1", "D2:2", "D10:1"]
    assert collection.documents[0].dated == "[1 pm on 8 May, 2023] Ann: Hi [shares a red kite]"
    assert [(one.type, one.evidence) for one in collection.questions] == [
        ("single-hop", ("D10:1",)),
        ("multi-hop", ("D2:1", "D2:2")),
        ("adversarial", ()),
    ]


def test_merged_collections_keep_their_evidence_apart(lifebench: Path) -> None:
    (one,) = load(lifebench)
    two = Collection("other-zh", "zh", one.documents, one.questions)
    both = merge([one, two], "all")
    assert both.language == "mixed"
    assert len({doc.id for doc in both.documents}) == 6
    assert both.questions[3].evidence == ("other-zh/sms:1",)
    assert both.documents[5].session == "other-zh/2025-01-03"


@pytest.mark.parametrize("name", ["notes.txt", "empty"])
def test_what_is_no_data_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.mkdir() if name == "empty" else path.write_text("x", encoding="utf-8")
    with pytest.raises(ValueError, match=name):
        load(path)


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    (tmp_path / "x-en.records.jsonl").write_text('{"id": 1\n', encoding="utf-8")
    with pytest.raises(ValueError, match="line 1"):
        load(tmp_path)


def test_real_data_has_the_counts_that_its_page_states() -> None:
    folder = data_folder()
    if folder is None or not (folder / "lifebench").is_dir():
        pytest.skip("no evaluation data here; AGENTMEM_DATA names its folder")
    found = {
        one.name: (one.language, len(one.documents), len(one.answerable))
        for one in load(folder / "lifebench")
    }
    assert found == {
        "user1-en": ("en", 2086, 155),
        "user2-en": ("en", 6054, 158),
        "user3-zh": ("zh", 4583, 212),
    }


class Fixed:
    """Gives one ranking for every question."""

    def __init__(self, *names: str) -> None:
        self.names = list(names)

    def rank(self, question: str, depth: int) -> list[str]:
        assert question
        return self.names[:depth]


def test_recall_is_the_share_and_hit_is_any() -> None:
    names = [f"d{place}" for place in range(60)]
    documents = tuple(Document(name, name, name, "", "s", 0, "") for name in names)
    questions = (
        Question("a", "x", "t", ("d0", "d7")),
        Question("b", "y", "t", ("d55",)),
        Question("c", "z", "t", ()),
    )
    scores = evaluate(Fixed(*names), Collection("c", "en", documents, questions))
    assert scores["a"] == Score(1, (0.5, 1, 1, 1), (1, 1, 1, 1))
    assert scores["b"] == Score(1, (0, 0, 0, 0), (0, 0, 0, 0))
    both = mean(list(scores.values()))
    assert both == Score(2, (0.25, 0.5, 0.5, 0.5), (0.5, 0.5, 0.5, 0.5))
    assert "| all | 2 | 0.250 | 0.500 | 0.500 | 0.500 | 0.500" in table({"all": both}, title="t")
    assert DEPTHS == (5, 10, 20, 50)


def test_tuning_reports_only_what_it_did_not_see() -> None:
    names = [f"question {number}" for number in range(40)]
    sides = [[name for name in names if half(name) == side] for side in (0, 1)]
    assert min(map(len, sides)) > 10

    def value(setting: str, given: Sequence[str]) -> float:
        # Each overfitted setting is right on its own half alone, the honest one everywhere a bit.
        if setting == "honest":
            return 0.6
        own = sides[int(setting)]
        return sum(name in own for name in given) / len(given)

    chosen, reported = two_fold(names, ["0", "1", "honest"], value)
    assert chosen == ["1", "0"]  # what the other half liked
    assert reported == 0.0
    assert two_fold(names, ["honest"], value) == (["honest", "honest"], pytest.approx(0.6))
    with pytest.raises(ValueError, match="two folds"):
        two_fold(names[:1], ["honest"], value)


def test_bm25_is_that_of_the_oracle(lifebench: Path) -> None:
    (collection,) = load(lifebench)
    ranker = TantivyBm25(collection, dated=True)
    oracle = Bm25([ranker.analyzer.analyze(doc.dated) for doc in collection.documents])
    for question in ("the train to dinner", "violins 2025", "of the", "", "(((", "Hue OR text:x"):
        expected = rank(oracle.scores(ranker.analyzer.analyze(question)), 3)
        assert ranker.rank(question, 3) == [ranker.ids[row] for row in expected]


def test_the_best_chunk_of_a_document_counts(tmp_path: Path) -> None:
    texts = ["one. two", "three", "four. five. six"]
    documents = tuple(Document(text, text, text, "", "s", 0, "") for text in texts)
    embedder = CachedEmbedder(HashEmbedder(), tmp_path / "cache")
    ranker = ExactVectors(Collection("c", "en", documents, ()), embedder)
    for text in texts:
        for part in text.split(". "):
            assert ranker.rank(part, 1) == [text]
    calls = embedder.inner.calls
    again = CachedEmbedder(embedder.inner, tmp_path / "cache")
    kept = again.embed_chunks(texts)
    assert embedder.inner.calls == calls
    assert [len(rows) for rows in kept] == [2, 1, 3]
    assert np.array_equal(np.concatenate(kept), ranker.vectors)


def test_plain_rrf_is_that_of_the_oracle() -> None:
    lists = [[3, 1, 2], [9, 3, 4, 1]]
    ranker = PlainRrf([Fixed(*map(str, ranking)) for ranking in lists], 10)
    assert ranker.rank("q", 3) == [str(row) for row, _ in fuse(lists)[:3]]


def test_all_systems_stand_in_one_table(lifebench: Path) -> None:
    collections = load(lifebench)
    embedder: Any = CachedEmbedder(HashEmbedder(), None)
    found = compare(collections, embedder, ("tantivy", "bm25", "vectors", "rrf"))["me-en"]
    assert list(found) == ["A", "B", "all"]
    assert [score.count for score in found["all"].values()] == [2, 2, 2, 2]
    words = found["all"]["BM25, tantivy (stem, stop)"]
    assert words.recall == (1.0, 1.0, 1.0, 1.0)  # both questions share words with their evidence
    assert found["B"]["vectors alone"].recall[0] == 1.0  # three documents, five places


def test_a_chart_is_a_picture(tmp_path: Path) -> None:
    path = tmp_path / "charts" / "c.png"
    draw({"a": Score(1, (0.1, 0.2, 0.3, 0.4), (1, 1, 1, 1))}, title="t", path=path)
    assert path.read_bytes().startswith(b"\x89PNG\r\n")


def test_the_command_refuses_an_unknown_system(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--systems", "magic"])
    assert "magic" in capsys.readouterr().err
