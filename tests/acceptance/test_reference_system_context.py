"""The acceptance tests 7, 8, 9, 10 and 11 that a study of the reference system suggests, by number.

The 11th holds context to the deadline, and recall to raising (issue of the tiers, item 6). The
others are in test_reference_system.py.
"""

import itertools
import random
import threading
import time
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from tests.canary import OTHER, WORD, fill, finds, traces
from tests.canary import opened as opened_canary
from tests.extractors import Statements, say

from agentmem import EmbeddingError, Memory
from agentmem.protocols import GivenEmbeddings

SPACE = GivenEmbeddings("two", 2)
AT = [1.0, 0.0]


@pytest.fixture
def memory(tmp_path):
    with Memory(tmp_path / "m", embedder=SPACE, extractor=Statements()) as memory:
        yield memory


def test_7_a_one_off_order_is_no_rule_and_a_lasting_one_is_there_on_every_turn(tmp_path):
    with Memory(tmp_path / "m") as memory:
        memory.capture(say("For this debugging run answer only OK."), session="one")
        memory.capture(say("From now on always answer in Vietnamese."), session="two")
        memory.consolidate()
        held = [fact for fact in memory.facts() if fact.kind == "instruction"]
        assert len(held) == 1
        assert "Vietnamese" in held[0].text
        for query in ("what is the weather", "debugging run", "", "xin chào"):
            made = memory.context(query)
            stable = [item for item in made.items if item.part == "stable" and item.tier == "L1"]
            assert [item.id for item in stable] == [held[0].id]
            assert "Vietnamese" in made.stable


def test_8_no_filter_loses_a_match_that_exists(memory):
    rng = random.Random(8)
    start = datetime(2026, 1, 1, tzinfo=UTC)
    rows = []
    for n in range(200):
        row = {
            "kind": rng.choice(("fact", "decision", "event")), "session": rng.choice("abc"),
            "tags": rng.sample(("x", "y", "z"), rng.randrange(3)),
            "valid_from": start + timedelta(days=rng.randrange(60)), "scope": rng.choice(("acme/a", "acme/b")),
        }  # fmt: skip
        fact = memory.scoped(row["scope"]).remember(
            f"walnut note {n}",
            embedding=AT,
            **{name: row[name] for name in ("kind", "session", "tags", "valid_from")},
        )
        rows.append((fact.id, row))
    for kinds, session, tags, since, until, scope in itertools.product(
        (None, ("decision",), ("fact", "event")), (None, "b"), (None, ("x",), ("x", "y")),
        (None, start + timedelta(days=20)), (None, start + timedelta(days=40)), ("", "acme/a"),
    ):  # fmt: skip
        wanted = {
            id
            for id, row in rows
            if (kinds is None or row["kind"] in kinds)
            and (session is None or row["session"] == session)
            and (tags is None or set(tags) <= set(row["tags"]))
            and (since is None or row["valid_from"] >= since)
            and (until is None or row["valid_from"] < until)
            and (not scope or row["scope"] == scope)
        }
        handle = memory.scoped(scope) if scope else memory
        hits = handle.recall("walnut", k=500, kinds=kinds, session=session, tags=tags, since=since,
                             until=until, embedding=AT)  # fmt: skip
        assert {hit.id for hit in hits} == wanted


LANGUAGES = {
    "Chinese": "我们决定把服务器部署到上海",
    "Japanese": "サーバーは東京に置くことにした",
    "Korean": "서버를 부산에 두기로 했다",
    "Vietnamese": "Máy chủ đặt ở Đà Nẵng từ thứ ba",
    "mixed": "Deploy 到 Fly.io vào thứ ba",
    "emoji with joiners": "The family 👨‍👩‍👧‍👦 likes walnuts 🏳️‍🌈",
    "right to left": "השרת נמצא בחיפה",
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_9_any_language_is_quoted_whole_in_a_context(memory, language):
    text = LANGUAGES[language]
    (turn,) = memory.capture(say(text), session="s").ids
    memory.capture(say("the of and"), session="s")
    made = memory.context(text, embedding=AT)
    (item,) = [item for item in made.items if item.id == turn]
    assert item.text == text
    assert text in made.volatile
    # No word in common but a stop word is no match.
    hits = memory.recall("the kettle of and", tiers=("L0",), embedding=AT)
    assert all(hit.bm25_rank is None for hit in hits if hit.id == turn)


def test_10_forgotten_text_is_gone_from_rows_indexes_vectors_tiers_refs_and_exports(tmp_path):
    with opened_canary(tmp_path / "m") as memory:
        fill(memory)
        needles = traces(memory, WORD)
        gone = memory.forget(query=WORD)
        assert {one[:2] for one in gone.ids} >= {"L0", "L1", "L3"}
        for tier in ("L0", "L1", "L2", "L3"):
            assert all(WORD not in hit.text for hit in memory.recall(WORD, tiers=(tier,), k=100))
        assert WORD not in str(memory.canvas("bad"))
        assert all(WORD not in scene.label + scene.text for scene in memory.scenes())
        assert WORD not in memory.persona().to_system_context()
        assert WORD not in memory.context(f"{WORD} pet host trip").text
        memory.export(tmp_path / "all.jsonl")
        memory.export(tmp_path / "pages", format="markdown")
        exported = [tmp_path / "all.jsonl", *(tmp_path / "pages").iterdir()]
        texts = [path.read_text() for path in exported]
        assert all(WORD not in text for text in texts)
        assert all(OTHER in text for text in texts)
        memory.purge()
        assert finds(tmp_path / "m", needles) == []


class Hanging:
    id = "hanging"
    ndim = 2

    def __init__(self):
        self.released = threading.Event()
        self.fails = False
        self.hangs = False

    def embed(self, texts):
        if self.fails:
            raise RuntimeError("the model is gone")
        if self.hangs:
            self.released.wait(30)
        return np.array([AT] * len(texts), np.float32)


def test_11_with_a_hanging_vector_leg_the_rest_comes_within_the_deadline_and_recall_raises(
    tmp_path,
):
    embedder = Hanging()
    with Memory(tmp_path / "m", embedder=embedder, extractor=Statements()) as memory:
        memory.capture(say("decision team host is fly", "we deploy to Fly.io"), session="s")
        memory.consolidate()
        embedder.hangs = True
        started = time.monotonic()
        made = memory.context("deploy host", deadline_s=0.3)
        assert time.monotonic() - started < 5
        embedder.released.set()
        assert made.degraded
        assert {"L0", "L3"} <= {item.tier for item in made.items}
        assert "Fly.io" in made.volatile
        embedder.hangs, embedder.fails = False, True
        with pytest.raises(EmbeddingError):
            memory.recall("deploy")
        assert memory.context("deploy").degraded
