"""``forget`` over all tiers, its previews and receipts, and ``purge``."""

import json

import pytest
from tests.canary import OTHER, WORD, fill, finds, opened, traces
from tests.extractors import say

from agentmem import InvalidInputError, NotFoundError


@pytest.fixture
def memory(tmp_path):
    with opened(tmp_path / "m") as memory:
        yield memory


@pytest.fixture
def filled(memory):
    fill(memory)
    return memory


def tables(memory):
    names = [row[0] for row in memory.sql("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    return {name: memory.sql(f"SELECT * FROM {name}") for name in names if "sqlite" not in name}


def everything(memory):
    return json.dumps(tables(memory), default=lambda raw: raw.hex())


WAYS = {
    "session": {"session": "bad"},
    "query": {"query": f" {WORD.upper()} "},
    "ids": None,
    "scope": {"scope": ""},
}


class TestEveryTier:
    @pytest.mark.parametrize("way", ["session", "query", "ids"])
    def test_the_words_are_gone_from_every_row_and_the_rest_is_there(self, filled, way):
        memory = filled
        asked = WAYS[way] or {
            "ids": [f"L0:{n}" for (n,) in memory.sql("SELECT id FROM turns WHERE session = 'bad'")]
        }
        preview = memory.forget(**asked, dry_run=True)
        before = tables(memory)
        assert before == tables(memory)
        gone = memory.forget(**asked)
        assert gone.ids == preview.ids
        assert dict(gone.counts) == dict(preview.counts)
        assert {"L0", "L1", "L3", "records", "vectors"} <= set(gone.counts)
        assert preview.receipt is None
        memory.consolidate()
        left = everything(memory)
        assert WORD not in left
        assert OTHER in left
        for tier in ("L0", "L1", "L2", "L3"):
            hits = memory.recall(WORD, tiers=(tier,), k=100)
            assert all(WORD not in hit.text for hit in hits)
            assert memory.recall(OTHER, tiers=(tier,), k=100)
        assert WORD not in memory.context(f"{WORD} pet host").text
        assert OTHER in memory.context("pet host").text
        assert WORD not in str(memory.canvas("bad"))
        for one in gone.ids:
            with pytest.raises(NotFoundError):
                memory.get(one)
        for fact in memory.facts():
            assert memory.trace(fact.id).evidence
        assert memory.verify().ok

    def test_the_persona_is_written_again_at_once(self, filled):
        kept = filled.remember("The user likes walnuts.", kind="persona")
        filled.consolidate()
        assert OTHER in filled.persona().to_system_context()
        filled.forget(session="good")
        persona = filled.persona()
        assert "walnuts" in persona.to_system_context()
        assert kept.id in persona.evidence
        assert all(filled.trace(one).evidence for one in persona.evidence)
        for version in filled.history(persona.id):
            assert all(OTHER not in entry.text for entry in version.entries)

    def test_scenes_keep_the_members_that_are_left(self, memory):
        memory.capture(
            say(
                "We debug the login test.",
                f"The {WORD} breaks the login test.",
                "The login test is green.",
            ),
            session="s",
        )
        memory.consolidate()
        (scene,) = memory.scenes()
        (bad,) = [one for one in scene.members if WORD in memory.get(one).text]
        memory.forget(bad)
        (again,) = memory.scenes()
        assert again.id == scene.id
        assert set(again.members) == set(scene.members) - {bad}
        assert WORD not in again.label + again.text

    def test_a_replay_brings_nothing_back(self, filled):
        from tests.canary import log

        filled.forget(session="bad")
        assert filled.capture(log(WORD, "bad"), session="bad").new == 0
        filled.consolidate()
        assert WORD not in everything(filled)


class TestSelectors:
    def test_a_scope_goes_with_its_names_and_no_other(self, memory):
        for scope in ("acme/alice", "acme/alice/home", "acme/alice-2", "acme/bob"):
            fill(memory.scoped(scope))
        kept = {scope: memory.scoped(scope).facts() for scope in ("acme/alice-2", "acme/bob")}
        with pytest.raises(NotFoundError):
            memory.scoped("acme/bob").forget(memory.scoped("acme/alice").facts()[0].id)
        memory.scoped("acme").forget(scope="alice")
        for scope, facts in kept.items():
            assert memory.scoped(scope).facts() == facts
            assert memory.scoped(scope).persona().version >= 1
        paths = [row[0] for row in memory.sql("SELECT path FROM scopes ORDER BY path")]
        assert "acme/alice" not in paths
        assert "acme/alice/home" not in paths
        assert memory.verify().ok
        assert memory.forget(scope="").counts["L0"]
        assert memory.sql("SELECT count(*) FROM turns") == [(0,)]
        assert memory.sql("SELECT path FROM scopes") == [("",)]
        memory.remember("It goes on.")
        assert memory.recall("goes on")

    def test_a_source_goes_with_all_that_rests_on_it(self, memory):
        page, said = memory.capture(
            [{"role": "tool", "tool_call_id": "1", "content": "poison"}, *say("fact a b is c")],
            session="s",
        ).ids
        first = memory.remember("first", sources=[page])
        second = memory.remember("second", sources=[first.id, said])
        other = memory.remember("other", sources=[said])
        assert set(memory.forget(source=page, dry_run=True).ids) == {page, first.id, second.id}
        assert set(memory.forget(page, dry_run=True).ids) == {page, first.id}
        assert set(memory.forget(source="tool").ids) >= {page, first.id, second.id}
        assert [fact.id for fact in memory.facts()] == [other.id]

    def test_words_are_found_wherever_they_stand(self, memory):
        memory.capture(
            [{"role": "user", "content": "hello", "usage": {"note": "Straße  no.\n5"}},
             *say("nothing", "strasse 5", "STRAẞE\tNO. 5 is here", "x" * 50_000 + " straße no. 5")],
            session="s",
        )  # fmt: skip
        fact = memory.remember("x", metadata={"a": ["straße no. 5"]})
        old = memory.remember("straße no. 5 is old", key="k")
        memory.remember("new", key="k")
        gone = set(memory.forget(query="straße no. 5", dry_run=True).ids)
        assert {"L0:1", "L0:5", fact.id, old.id} <= gone
        assert not {"L0:2", "L0:3"} & gone

    def test_exactly_one(self, memory):
        for asked in ({}, {"session": "s", "query": "x"}, {"ids": "L1:1", "where": {"a": 1}}):
            with pytest.raises(InvalidInputError, match="one of them"):
                memory.forget(**asked)
        for asked in ({"where": {}}, {"query": "  "}, {"query": 5}, {"session": " "}, {"scope": "a//b"},
                      {"source": "nobody"}, {"source": 7}):  # fmt: skip
            with pytest.raises(InvalidInputError):
                memory.forget(**asked)
        with pytest.raises(NotFoundError):
            memory.forget(source="L0:99")

    def test_nothing_to_forget_leaves_no_receipt(self, memory):
        memory.remember("a")
        gone = memory.forget(session="none")
        assert (gone.ids, gone.receipt, dict(gone.counts)) == ((), None, {})
        assert memory.sql("SELECT count(*) FROM receipts") == [(0,)]


class TestPurge:
    @pytest.mark.parametrize("way", ["session", "scope"])
    def test_no_byte_is_left(self, tmp_path, way):
        with opened(tmp_path / "m") as memory:
            fill(memory)
            needles = traces(memory, WORD)
            memory.rebuild_index()
            assert finds(memory.path, needles)
            (memory.path / "store.amem.v2.backup").write_bytes(needles[0])
            gone = memory.forget(**WAYS[way])
            done = memory.purge()
            assert done.receipts == (gone.receipt,)
            assert memory.sql("SELECT is_purged FROM receipts") == [(1,)]
            assert finds(memory.path, needles) == []
            assert memory.purge().receipts == ()
            assert memory.recall(OTHER) if way == "session" else not memory.recall(OTHER)
            assert memory.verify().ok
        assert finds(tmp_path / "m", needles) == []

    def test_the_search_would_find_it(self, tmp_path):
        with opened(tmp_path / "m") as memory:
            fill(memory)
            needles = traces(memory, WORD)
            memory._shared.database.checkpoint(truncate=True)
            found = {needle for _, needle in finds(memory.path, needles)}
            assert WORD.encode() in found
            assert len(found) > len(needles) // 2


def test_a_preview_of_a_scope_counts_what_goes(memory):
    inner = memory.scoped("a/b")
    inner.capture(say("fact server port is 80"), session="s")
    inner.consolidate()
    preview = memory.forget(scope="a", dry_run=True)
    assert preview.counts["sessions"] == 1
    gone = memory.forget(scope="a")
    assert (gone.ids, gone.counts) == (preview.ids, preview.counts)
