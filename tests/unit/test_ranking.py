"""What a host sees of the ranking: options, explanations, times that are named, relevance."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

import agentmem
from agentmem import GivenEmbeddings, InvalidInputError, Memory, Ranking
from agentmem.tiers.ranking import LEAST_SHARE, share_of

NOW = datetime(2025, 3, 15, 12, tzinfo=UTC)
EAST, NORTH = np.eye(2, 8, dtype=np.float32)


@pytest.fixture
def memory(tmp_path):
    with Memory(
        tmp_path / "m", embedder=GivenEmbeddings(id="t", ndim=8), clock=lambda: NOW
    ) as made:
        yield made


class Reads:
    """An embedder as far as what it reads matters."""

    def __init__(self, languages):
        self.languages = languages


def test_explanations_add_up_in_sessions(memory):
    for place in range(12):
        memory.remember(f"turn {place} about tea", session="s", embedding=EAST)
    hits = memory.recall("tea in turn 3", embedding=EAST, explain=True)
    for hit in hits:
        parts = [hit.explanation[name]["part"] for name in ("bm25", "ann")]
        parts += [part["part"] for part in hit.explanation["parts"].values()]
        assert sum(parts) == pytest.approx(hit.score)
        assert {"bm25_near", "ann_near", "session"} <= set(hit.explanation["parts"])
    assert hits[0].text == "turn 3 about tea"


def test_neighbours_can_be_switched_off(memory):
    for text in ("we talked about the violin", "it is ready", "then we had lunch"):
        memory.remember(text, session="a", embedding=EAST)
    for session in "bcdefgh":
        memory.remember("lunch was ready", session=session, embedding=EAST)

    def place(ranking):
        hits = memory.recall("is the violin ready?", k=10, embedding=NORTH, ranking=ranking)
        return [hit.text for hit in hits].index("it is ready")

    assert place(None) <= 1
    plain = memory.recall(
        "is the violin ready?", k=10, embedding=NORTH, ranking=Ranking(sessions=False), explain=True
    )
    assert all(set(hit.explanation["parts"]) <= {"first"} for hit in plain)
    assert all(hit.explanation["rrf_k"] == 20 for hit in plain)


@pytest.mark.parametrize(
    ("question", "month"),
    [
        ("who called in late February", 2),
        ("who called last month", 2),
        ("cuoc goi thang truoc", 2),
        ("上个月 call", 2),
        ("who called in October", 10),
    ],
)
def test_a_named_time_lifts_and_never_drops(memory, question, month):
    for back in range(300):
        when = NOW - timedelta(days=back)
        memory.remember(f"call number {back}", valid_from=when, embedding=EAST)
    hits = memory.recall(question, k=20, embedding=EAST)
    assert len(hits) == 20
    assert hits[0].event_time.month == month
    assert sum(hit.event_time.month == month for hit in hits) >= 8
    # A time that nothing is of changes nothing.
    plain = memory.recall("call in 1987", k=20, embedding=EAST)
    without = memory.recall("call in 1987", k=20, embedding=EAST, ranking=Ranking(hints=False))
    assert [hit.id for hit in plain] == [hit.id for hit in without]


@pytest.mark.parametrize(
    ("speakers", "question"),
    [
        (("Caroline Smith", "Bob"), "what did Caroline Smith say about the tea?"),
        (("Nguyễn Văn An", "Bob"), "Nguye\u0302\u0303n Văn An nói gì về tea?"),
        (("王伟", "小李"), "王伟怎么说 tea?"),
    ],
)
def test_a_named_speaker_lifts_and_never_drops(memory, speakers, question):
    for place in range(40):
        memory.remember(
            f"the tea of pot {place}", subject=speakers[place % 2], key=str(place), embedding=EAST
        )

    def found(ranking):
        return memory.recall(question, k=40, embedding=EAST, ranking=ranking, explain=True)

    named, plain = found(None), found(Ranking(names=False))
    counts = [sum(hit.subject == speakers[0] for hit in found[:10]) for found in (named, plain)]
    assert counts[1] == 5
    assert counts[0] >= 7
    assert {hit.id for hit in named} == {hit.id for hit in plain}
    for hit in named:
        parts = set(hit.explanation["parts"]) & {"bm25_name", "ann_name"}
        assert bool(parts) == (hit.subject == speakers[0])
    assert not any({"bm25_name", "ann_name"} & set(hit.explanation["parts"]) for hit in plain)


def test_a_name_that_is_nobodys_or_everybodys_changes_nothing(memory):
    for place in range(20):
        memory.remember(f"the tea of pot {place}", subject="Bob", key=str(place), embedding=EAST)
    for question in ("did Bob drink tea?", "did Alice drink tea?", "did bob drink tea?"):
        found = memory.recall(question, embedding=EAST, explain=True)
        assert not any({"bm25_name", "ann_name"} & set(hit.explanation["parts"]) for hit in found)


def test_one_rare_word_counts_however_little_of_the_question_it_is(tmp_path):
    """A word that one row of thousands holds outweighs a vector; one of few rows does not."""
    question = "remind me of whatever happened with the matter of the zeppelin back then"
    away = np.linspace(0.1, 0.9, 8, dtype=np.float32)
    with Memory(tmp_path / "m", embedder=GivenEmbeddings(id="t", ndim=8)) as memory:

        def place_among(rows):
            told = memory.stats().facts
            memory.remember_many(
                {"text": f"note {number} about tea", "embedding": EAST}
                for number in range(told, rows)
            )
            hits = memory.recall(question, k=61, embedding=EAST)
            return next(place for place, hit in enumerate(hits) if "zeppelin" in hit.text)

        memory.remember("the zeppelin has landed", embedding=away)
        assert place_among(60) >= 10
        assert place_among(3_000) <= 1


def test_as_of_is_the_clock_of_the_question(memory):
    for back in range(120):
        when = NOW - timedelta(days=back)
        memory.remember(f"call number {back}", valid_from=when, embedding=EAST)
    hits = memory.recall("call last month", as_of=NOW - timedelta(days=28), embedding=EAST)
    assert {hit.event_time.month for hit in hits} == {1}


def test_recency_priority_and_diversity(memory):
    for back in range(20):
        memory.remember(
            "the build is green",
            key=f"k{back}",
            session=f"s{back % 2}",
            valid_from=NOW - timedelta(days=back),
            priority=90 if back == 13 else 10,
            embedding=EAST,
        )
    plain = memory.recall("green build", embedding=EAST)
    newest = memory.recall("green build", embedding=EAST, ranking=Ranking(recency=1.0))
    assert newest[0].event_time == NOW != plain[-1].event_time
    urgent = Ranking(priority=1.0)
    explained = memory.recall("green build", k=20, embedding=EAST, ranking=urgent, explain=True)
    of = {hit.priority: hit.explanation["parts"]["priority"]["part"] for hit in explained}
    assert of[90] == pytest.approx(9 * of[10])
    spread = memory.recall("green build", k=10, embedding=EAST, ranking=Ranking(diversity=0.5))
    assert sorted(hit.session for hit in spread) == ["s0"] * 5 + ["s1"] * 5


def test_min_max_scores(memory):
    for place in range(12):
        memory.remember(f"row {place}", embedding=EAST)
    (best, *_), explained = (
        memory.recall("row 7", embedding=EAST, ranking=Ranking(fusion="score"), explain=explain)
        for explain in (False, True)
    )
    assert best.text == "row 7"
    assert explained[0].explanation["rrf_k"] is None
    assert explained[0].score == pytest.approx(2.0)


@pytest.mark.parametrize("fusion", ["rrf", "score"])
def test_every_candidate_has_its_place_in_the_explanation(memory, fusion):
    """The last candidate's min-max score is 0, and its place is told all the same."""
    for place in range(6):
        memory.remember(f"row {place} {'apple ' * place}", embedding=[1, place / 5, *[0] * 6])
    hits = memory.recall(
        "apple row", k=10, embedding=EAST, ranking=Ranking(fusion=fusion), explain=True
    )
    assert len(hits) == 6
    for hit in hits:
        bm25, ann = hit.explanation["bm25"], hit.explanation["ann"]
        assert (bm25["rank"], ann["rank"]) == (hit.bm25_rank, hit.ann_rank)
        assert None not in (hit.bm25_rank, hit.ann_rank, bm25["score"], ann["score"])
        assert hit.score == pytest.approx(bm25["part"] + ann["part"])
        assert ("weight" in bm25) is ("weight" in ann) is (fusion == "rrf")
        assert hit.explanation["parts"] == {}
    for name in ("bm25", "ann") if fusion == "score" else ():
        of = sorted((hit.explanation[name] for hit in hits), key=lambda one: one["rank"])
        scores = [one["score"] for one in of]
        wanted = [(one - scores[-1]) / (scores[0] - scores[-1]) for one in scores]
        assert [one["part"] for one in of] == pytest.approx(wanted, abs=1e-5)


@pytest.mark.parametrize(
    "wrong",
    [
        {"fusion": "max"},
        {"recency": -0.1},
        {"recency": float("nan")},
        {"priority": 1.1},
        {"diversity": True},
        {"half_life_days": 0},
        {"half_life_days": "1"},
        {"recency": 10**400},
        {"half_life_days": 10**400},
        {"sessions": "yes"},
        {"hints": None},
        {"names": 1},
    ],
)
def test_wrong_options_are_refused(wrong):
    with pytest.raises(InvalidInputError, match=next(iter(wrong))):
        Ranking(**wrong)


def test_a_ranking_must_be_one(memory):
    with pytest.raises(InvalidInputError, match="ranking"):
        memory.recall("x", embedding=EAST, ranking={"recency": 1.0})


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("where do we deploy?", 1.0, 1.0),
        ("dans le café de la gare", 0.8, 0.9),
        ("我们在哪里部署?", LEAST_SHARE, LEAST_SHARE),
        ("Chúng tôi triển khai ở đâu?", LEAST_SHARE, 0.5),
        ("\u0110a\u0300 Na\u0306\u0303ng \u1edf \u0111a\u0302u?", LEAST_SHARE, LEAST_SHARE),
        ("deploy the 部署方案 on staging", 0.3, 0.6),
        ("🎉", 1.0, 1.0),
        ("", 1.0, 1.0),
    ],
)
def test_an_embedder_weighs_as_far_as_it_reads(text, least, most):
    assert least <= share_of(Reads(("en",)), text) <= most
    assert share_of(Reads(None), text) == 1.0
    assert share_of(GivenEmbeddings(id="t", ndim=2), text) == 1.0


@pytest.mark.parametrize(
    ("languages", "text", "is_read"),
    [
        (("en", "zh"), "我们在哪里部署?", True),
        (("zh-Hans", "EN"), "我们在哪里部署?", True),
        (("en", "vi"), "我们在哪里部署?", False),
        (("en", "vi"), "Đà Nẵng ở đâu?", True),
        (("en", "zh"), "Đà Nẵng ở đâu?", False),
        (("en", "de"), "für Größe", True),
        (("en", "zh"), "für Größe", False),
        (("ru",), "где мы", True),
        (("ja",), "どこですか", True),
        (("zh",), "どこですか", False),
        ((), "部署", False),
    ],
)
def test_an_embedder_reads_what_it_says(languages, text, is_read):
    assert (share_of(Reads(languages), text) == 1.0) == is_read


def test_recall_many_weighs_each_question_by_itself(tmp_path):
    with Memory(tmp_path / "m") as memory:
        memory.remember_many(["deploys go to staging", "我们周五部署", "tea at noon"])
        questions = ["where do deploys go?", "周五部署什么?", "tea?", " "]
        assert memory.recall_many(questions) == [memory.recall(one) for one in questions]


def test_relevance_says_when_nothing_fits(tmp_path):
    with Memory(tmp_path / "m") as memory:
        memory.remember_many(
            [
                "Deploys go to Fly.io, region Frankfurt.",
                "The database is PostgreSQL 16 on Neon.",
                "Anna prefers tabs over spaces.",
                *(f"Ticket {n}: the invoice of client {n} is paid." for n in range(50)),
            ]
        )
        fits = memory.recall("Which region do deploys go to?")[0]
        foreign = memory.recall("What did the marine biologist find near the reef?")[0]
        assert "Frankfurt" in fits.text
        assert 0.0 <= foreign.relevance < fits.relevance <= 1.0
        assert fits.relevance > 4 * foreign.relevance


def test_the_public_name_is_there():
    assert agentmem.Ranking is Ranking
