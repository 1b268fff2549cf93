"""What Memory promises for facts: reading, forgetting, taking out and in, the folder."""

from __future__ import annotations

import asyncio
import json
import stat
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

import agentmem
from agentmem import GivenEmbeddings, Memory

NDIM = 8
SPACE = GivenEmbeddings(id="test", ndim=NDIM)


def vector(seed):
    found = np.random.default_rng(seed).normal(size=NDIM).astype(np.float32)
    return found / np.linalg.norm(found)


@pytest.fixture
def memory(tmp_path):
    with Memory(tmp_path / "memory", embedder=SPACE) as opened:
        yield opened


class TestRead:
    def test_filters_hold(self, memory):
        base = datetime(2026, 1, 1, tzinfo=UTC)
        for n in range(40):
            memory.remember(
                f"row {n}", kind="event" if n % 2 else "fact", tags=[f"t{n % 3}", f"u{n % 5}"],
                metadata={"n": n, "even": n % 2 == 0, "name": f"n{n % 4}"}, session=f"s{n % 4}",
                valid_from=base + timedelta(days=n), embedding=vector(n),
            )  # fmt: skip

        def numbers(**filters):
            hits = memory.recall("row", k=50, embedding=vector(1), **filters)
            return sorted(int(hit.text.split()[1]) for hit in hits)

        assert numbers(kinds=["event"]) == list(range(1, 40, 2))
        assert numbers(tags=["t0", "u0"]) == [0, 15, 30]
        assert numbers(any_tags=["t0", "u0"]) == [n for n in range(40) if n % 3 == 0 or n % 5 == 0]
        assert numbers(session="s3") == list(range(3, 40, 4))
        assert numbers(where={"n": {"$gte": 35}}) == [35, 36, 37, 38, 39]
        assert numbers(where={"n": {"$lt": 3}, "even": True}) == [0, 2]
        assert numbers(where={"name": {"$in": ["n0", "n1"]}, "n": {"$lt": 6}}) == [0, 1, 4, 5]
        assert numbers(where={"$kind": "fact", "n": {"$ne": 0}}) == list(range(2, 40, 2))
        assert numbers(since=base + timedelta(days=38)) == [38, 39]
        assert numbers(until=base + timedelta(days=2)) == [0, 1]

    def test_recall_many_equals_recall(self, memory):
        for n in range(30):
            memory.remember(f"row {n} of {n % 7}", embedding=vector(n))
        queries = [f"row {n}" for n in range(10)]
        vectors = [vector(n + 5) for n in range(10)]
        together = memory.recall_many(queries, k=4, embeddings=vectors)
        alone = [memory.recall(q, k=4, embedding=v) for q, v in zip(queries, vectors, strict=True)]
        assert together == alone

    def test_paging_is_stable(self, memory):
        for n in range(25):
            memory.remember(f"row {n}", embedding=vector(n))
        seen, after = [], None
        while page := memory.facts(limit=10, after=after):
            seen += [fact.text for fact in page]
            after = page[-1].id
            memory.remember(f"meanwhile {after}", embedding=vector(1))
            if len(seen) > 60:
                break
        assert seen[:25] == [f"row {n}" for n in range(25)]
        assert len(set(seen)) == len(seen)

    def test_explain_adds_up(self, memory):
        for n in range(10):
            memory.remember(f"row {n}", embedding=vector(n))
        for hit in memory.recall("row 3", embedding=vector(3), explain=True):
            parts = hit.explanation["bm25"]["part"] + hit.explanation["ann"]["part"]
            assert hit.score == pytest.approx(parts, rel=1e-5)

    def test_sql_reads_and_never_writes(self, memory):
        memory.remember("x", embedding=vector(1))
        assert memory.sql("SELECT count(*) FROM facts") == [(1,)]
        with pytest.raises(agentmem.InvalidInputError):
            memory.sql("DELETE FROM facts")
        assert memory.stats().facts == 1


class TestForget:
    def test_with_versions_and_asserted_turn(self, memory):
        old = memory.remember("a", key="k", embedding=vector(1))
        new = memory.remember("b", key="k", embedding=vector(1))
        kept = memory.remember("c", embedding=vector(1))
        preview = memory.forget(new.id, dry_run=True)
        assert memory.stats().facts == 2
        gone = memory.forget(new.id)
        assert gone.ids == preview.ids == (old.id, new.id, *old.sources, *new.sources)
        assert [fact.id for fact in memory.facts()] == [kept.id]
        assert memory.recall("b", embedding=vector(1))[0].id == kept.id
        assert memory.verify().ok

    def test_an_older_version_goes_alone_and_nothing_rises_again(self, memory):
        old = memory.remember("a", key="k", embedding=vector(1))
        new = memory.remember("b", key="k", embedding=vector(1))
        memory.forget(old.id)
        assert [fact.id for fact in memory.history(new.id)] == [new.id]
        assert memory.get(new.id).is_current

    def test_by_condition(self, memory):
        for n in range(6):
            memory.remember(f"row {n}", metadata={"n": n}, embedding=vector(n))
        memory.forget(where={"n": {"$gte": 3}})
        assert [fact.metadata["n"] for fact in memory.facts()] == [0, 1, 2]
        with pytest.raises(agentmem.InvalidInputError, match="forget everything"):
            memory.forget(where={})
        with pytest.raises(agentmem.InvalidInputError, match="either ids or where"):
            memory.forget()

    def test_a_fact_with_other_evidence_stays(self, memory):
        one = memory.remember("one", embedding=vector(1))
        two = memory.remember("two", embedding=vector(2))
        both = memory.remember("both", sources=[one.id, two.id], embedding=vector(3))
        alone = memory.remember("alone", sources=[one.id], embedding=vector(4))
        gone = memory.forget(one.id)
        assert alone.id in gone.ids
        assert memory.get(both.id).sources == (two.id,)
        (hit,) = [h for h in memory.recall("both", embedding=vector(3)) if h.id == both.id]
        assert hit.sources == (two.id,)

    def test_purge_leaves_no_byte(self, tmp_path):
        canary = "zebra" + "quartz" * 3
        marked = vector(7777)
        with Memory(tmp_path / "m", embedder=SPACE) as memory:
            for n in range(300):
                memory.remember(f"row {n}", embedding=vector(n))
            fact = memory.remember(f"the {canary} is hidden", tags=[canary], metadata={canary: canary},
                                   embedding=marked)  # fmt: skip
            memory.rebuild_index()
            memory.forget(fact.id)
            memory.purge()
            assert memory.recall(canary, embedding=marked, k=500, explain=True)
            held = {p: p.read_bytes() for p in memory.path.rglob("*") if p.is_file()}
            assert held
            stored = memory.sql("SELECT vector FROM embeddings LIMIT 1")[0][0]
            assert any(stored in content for content in held.values())
            for content in held.values():
                assert canary.encode() not in content
                assert marked.tobytes() not in content
                assert marked.tobytes()[:16] not in content


class TestTransfer:
    def test_export_and_import(self, memory, tmp_path):
        memory.remember("a", key="k", tags=["x,y"], embedding=vector(1))
        memory.remember("b", key="k", metadata={"n": 1}, embedding=vector(2))
        derived = memory.remember("c", sources=[memory.facts()[0].id], embedding=vector(3))
        memory.scoped("acme").remember("d", embedding=vector(4))
        memory.export(tmp_path / "all.jsonl.gz")
        assert stat.S_IMODE((tmp_path / "all.jsonl.gz").stat().st_mode) == 0o600
        with Memory(tmp_path / "other", embedder=SPACE) as other:
            assert other.import_(tmp_path / "all.jsonl.gz").new == 7
            assert other.import_(tmp_path / "all.jsonl.gz").new == 0
            assert [fact.text for fact in other.facts()] == ["b", "c", "d"]
            assert [fact.text for fact in other.history(other.facts()[0].id)] == ["a", "b"]
            found = other.recall("c", embedding=vector(3))[0]
            assert found.text == derived.text
            assert [turn.text for turn in other.trace(found.id).evidence] == ["b"]
            assert [fact.text for fact in other.scoped("acme").facts()] == ["d"]
            assert other.verify().ok

    def test_a_broken_file_changes_nothing(self, memory, tmp_path):
        memory.remember("a", embedding=vector(1))
        memory.export(tmp_path / "x.jsonl")
        lines = (tmp_path / "x.jsonl").read_text().splitlines()
        for broken in ("", "{}\n", "not json\n", "\n".join([*lines, '{"fact": {"id": 1}}']),
                       "\n".join([*lines[:2], lines[2][:30]])):  # fmt: skip
            (tmp_path / "broken.jsonl").write_text(broken)
            with (
                Memory(tmp_path / "other", embedder=SPACE) as other,
                pytest.raises(agentmem.InvalidInputError),
            ):
                other.import_(tmp_path / "broken.jsonl")
        with Memory(tmp_path / "other", embedder=SPACE) as other:
            assert other.stats().facts == 0

    def test_markdown_is_a_page_a_tier(self, memory, tmp_path):
        memory.remember(
            "Deploys go\nto Fly.io.", kind="decision", tags=["ops"], embedding=vector(1)
        )
        memory.capture([{"role": "user", "content": "one\n# two \ud800"}], session="s")
        memory.consolidate()
        memory.export(tmp_path / "pages", format="markdown")
        pages = {path.stem: path.read_text() for path in (tmp_path / "pages").iterdir()}
        assert sorted(pages) == ["L0-turns", "L1-facts", "L2-scenes", "L3-persona"]
        assert "### decision" in pages["L1-facts"]
        assert "- Deploys go to Fly.io. (L1:1," in pages["L1-facts"]
        assert "  > one\n  > # two" in pages["L0-turns"]
        assert stat.S_IMODE((tmp_path / "pages" / "L0-turns.md").stat().st_mode) == 0o600
        (tmp_path / "file").write_text("x")
        with pytest.raises(agentmem.InvalidInputError, match="is a file"):
            memory.export(tmp_path / "file", format="markdown")

    def test_backup_opens_by_itself(self, memory, tmp_path):
        memory.remember("a", embedding=vector(1))
        memory.backup(tmp_path / "backup")
        with Memory(tmp_path / "backup", embedder=SPACE) as copy:
            assert copy.recall("a", embedding=vector(1))[0].text == "a"


class TestFolder:
    def test_reopening_finds_everything(self, tmp_path):
        with Memory(tmp_path / "m", embedder=SPACE) as memory:
            memory.remember_many(
                [{"text": f"row {n}", "embedding": vector(n)} for n in range(1500)]
            )
        for damage in (None, "index", "manifest"):
            if damage == "index":
                for path in (tmp_path / "m" / "index").rglob("*"):
                    if path.is_file():
                        path.unlink()
            if damage == "manifest":
                (tmp_path / "m" / "index" / "MANIFEST.json").write_text("{")
            with Memory(tmp_path / "m", embedder=SPACE) as memory:
                assert memory.recall("row 777", embedding=vector(777))[0].text == "row 777"
                assert memory.verify().ok

    def test_modes(self, tmp_path):
        with Memory(tmp_path / "m", embedder=SPACE) as memory:
            memory.remember_many([{"text": f"row {n}", "embedding": vector(n)} for n in range(300)])
            memory.rebuild_index()
            for path in [memory.path, *memory.path.rglob("*")]:
                wanted = 0o700 if path.is_dir() else 0o600
                assert stat.S_IMODE(path.stat().st_mode) == wanted, path

    def test_two_handles_see_each_other(self, tmp_path):
        with (
            Memory(tmp_path / "m", embedder=SPACE) as one,
            Memory(tmp_path / "m", embedder=SPACE) as two,
        ):
            one.remember("from one", embedding=vector(1))
            assert two.recall("from one", embedding=vector(1))[0].text == "from one"
            two.forget(two.facts()[0].id)
            assert one.recall("from one", embedding=vector(1)) == []

    def test_stats_are_json(self, memory):
        from agentmem.cli.common import as_json

        assert json.loads(as_json(memory.stats()))["facts"] == 0


class TestAsync:
    def test_the_loop_is_never_stalled(self, tmp_path):
        async def work():
            ticks = 0

            async def tick():
                nonlocal ticks
                while True:
                    await asyncio.sleep(0.001)
                    ticks += 1

            ticker = asyncio.create_task(tick())
            async with agentmem.AsyncMemory(tmp_path / "m", embedder=SPACE) as memory:
                await asyncio.gather(
                    *(memory.remember(f"row {n}", embedding=vector(n)) for n in range(40))
                )
                hits = await memory.recall("row 7", embedding=vector(7))
                assert hits[0].text == "row 7"
                scoped = memory.scoped("acme")
                assert await scoped.recall("row 7", embedding=vector(7)) == []
                assert (await memory.stats()).facts == 40
            ticker.cancel()
            return ticks

        assert asyncio.run(work()) > 0


class TestReembed:
    def test_moves_every_row(self, tmp_path):
        class Letters:
            id = "letters"
            ndim = 26

            def embed(self, texts):
                rows = np.array(
                    [[text.count(chr(97 + n)) + 0.01 for n in range(26)] for text in texts],
                    np.float32,
                )
                return rows / np.linalg.norm(rows, axis=1, keepdims=True)

        with Memory(tmp_path / "m", embedder=SPACE) as memory:
            memory.remember_many([{"text": f"row {n}", "embedding": vector(n)} for n in range(150)])
            memory.reembed(Letters())
            assert memory.recall("row 7", k=1)[0].ann_rank is not None
            assert memory.verify().ok
        with Memory(tmp_path / "m", embedder=Letters()) as memory:
            assert memory.stats().embedder_id == "letters"
