"""A host's program: mypy checks it strictly, and pytest runs it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, assert_type

import numpy as np
import numpy.typing as npt
import pytest

import agentmem
from agentmem import (
    AsyncMemory,
    Candidate,
    Clock,
    Context,
    ContextItem,
    Document,
    Documents,
    DocumentWrite,
    Embedder,
    Fact,
    Forgotten,
    GivenEmbeddings,
    Hit,
    HybridIndex,
    Imported,
    Memory,
    Message,
    Purged,
    Retention,
    SearchResult,
    Stats,
    Trace,
    Trust,
    Turn,
    Verification,
)

NDIM = 16


class LetterEmbedder:
    """A host's own embedder: counts letters; what matters here is its shape."""

    id = "letters"
    ndim = NDIM

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return one unit vector a text."""
        counts = np.ones((len(texts), NDIM), dtype=np.float32)
        for row, text in enumerate(texts):
            for letter in text.lower():
                counts[row, ord(letter) % NDIM] += 1
        lengths: npt.NDArray[np.float32] = np.linalg.norm(counts, axis=1, keepdims=True)
        unit: npt.NDArray[np.float32] = (counts / lengths).astype(np.float32)
        return unit


class Stepping:
    """A host's own clock: each look is a minute later."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        """Return the next minute."""
        self.now += timedelta(minutes=1)
        return self.now


EMBEDDER: Embedder = LetterEmbedder()


def test_facts_and_recall(tmp_path: Path) -> None:
    """Write, read, follow down, forget."""
    clock: Clock = Stepping()
    with Memory(tmp_path / "memory", embedder=EMBEDDER, clock=clock) as memory:
        fact = assert_type(
            memory.remember(
                "Deploys go to Fly.io.",
                key="deploy-target",
                session="s1",
                kind="decision",
                tags=("ops", "deploy"),
                metadata={"ticket": 42},
                subject="deploys",
                attribute="target",
                value={"host": "fly"},
                priority=80,
            ),
            Fact,
        )
        assert fact.status == "new"
        assert_type(fact.trust, Trust)
        assert_type(fact.metadata, Mapping[str, Any])
        many = assert_type(
            memory.remember_many(["Tests run nightly.", {"text": "CI is green.", "kind": "state"}]),
            list[Fact],
        )
        hits = assert_type(
            memory.recall("where do we deploy?", k=2, where={"ticket": {"$gte": 1}}, explain=True),
            list[Hit],
        )
        assert [hit.id for hit in hits] == [fact.id]
        assert_type(hits[0].bm25_rank, int | None)
        assert_type(hits[0].ann_rank, int | None)
        assert_type(hits[0].score, float)
        assert_type(hits[0].created, datetime)
        several = assert_type(memory.recall_many(["deploys", "tests"], k=1), list[list[Hit]])
        assert len(several) == 2
        page = memory.facts(limit=2)
        assert memory.facts(after=page[-1].id)[0].id == many[1].id
        trace = assert_type(memory.trace(fact.id), Trace)
        assert_type(trace.evidence, tuple[Turn, ...])
        assert trace.evidence[0].origin == "asserted"
        row = memory.get(fact.id)
        assert isinstance(row, Fact)
        replaced = memory.remember("Deploys go to Hetzner.", key="deploy-target")
        assert [one.id for one in memory.history(replaced.id)] == [fact.id, replaced.id]
        gone = assert_type(memory.forget(replaced.id, dry_run=True), Forgotten)
        assert replaced.id in gone.ids
        assert_type(gone.receipt, int | None)
        made = assert_type(memory.context("where do we deploy?", budget_tokens=500), Context)
        assert_type(made.items, tuple[ContextItem, ...])
        assert_type(made.degraded, tuple[str, ...])
        assert "Hetzner" in made.text
        assert_type(
            memory.sql("SELECT count(*) FROM facts WHERE id > ?", (0,)), list[tuple[Any, ...]]
        )


def test_operations(tmp_path: Path) -> None:
    """Counts, checks, copies."""
    with Memory(tmp_path / "memory", embedder=EMBEDDER) as memory:
        alice = assert_type(memory.scoped("acme/alice"), Memory)
        alice.remember("Alice likes tea.")
        assert_type(memory.stats(), Stats)
        report = assert_type(memory.verify(), Verification)
        assert report.ok
        memory.rebuild_index()
        assert_type(memory.purge(), Purged)
        memory.set_retention("L0", max_age=timedelta(days=1), max_bytes=1_000_000)
        assert_type(memory.retention(), tuple[Retention, ...])
        assert_type(memory.apply_retention(), Forgotten)
        assert_type(memory.forget(session="none", dry_run=True), Forgotten)
        rows = assert_type(memory.export(tmp_path / "all.jsonl.gz"), int)
        memory.backup(tmp_path / "backup")
        seen: list[tuple[int, int]] = []
        with Memory(tmp_path / "copy", embedder=EMBEDDER) as copy:
            done = assert_type(
                copy.import_(
                    tmp_path / "all.jsonl.gz",
                    progress=lambda done, total: seen.append((done, total)),
                ),
                Imported,
            )
            assert done.new == rows
            assert copy.scoped("acme").recall("tea")[0].scope == "acme/alice"
        memory.reembed(LetterEmbedder())


def test_the_hosts_own_vectors(tmp_path: Path) -> None:
    """Vectors as an array or as plain numbers."""
    space = GivenEmbeddings(id="host-model", ndim=3)
    with Memory(tmp_path / "memory", embedder=space, ann="exact", durability="normal") as memory:
        memory.remember("north", embedding=[0.0, 0.0, 2.0])
        memory.remember("east", embedding=np.array([1, 0, 0], dtype=np.float32))
        hits = memory.recall("", embedding=[0.1, 0.0, 1.0])
        assert [hit.text for hit in hits] == ["north", "east"]
        with pytest.raises(agentmem.DimensionError) as caught:
            memory.recall("", embedding=[1.0])
        assert_type(caught.value.expected, int)


class Marked:
    """A host's own extractor, by the port's shape alone."""

    id = "marked-1"

    def extract(
        self, messages: Sequence[Message], *, context: Sequence[Message] = ()
    ) -> list[Candidate]:
        """Return each message that has a mark."""
        del context
        return [
            Candidate(text=one.text, kind="fact", source=one.id, span=(0, len(one.text)))
            for one in messages
            if one.text.startswith("!")
        ]


def test_tiers(tmp_path: Path) -> None:
    """From captured turns up, and down again."""
    extractor: agentmem.Extractor = Marked()
    with Memory(tmp_path / "memory", embedder=EMBEDDER, extractor=extractor) as memory:
        memory.capture([{"role": "user", "content": "!the port is 80"}], session="s")
        report = assert_type(memory.consolidate(), agentmem.Report)
        assert (report.ok, report.facts) == (True, 1)
        persona = assert_type(memory.end_session("s"), agentmem.Persona)
        assert_type(persona.recent_focus, list[str])
        assert assert_type(persona.to_system_context(), str).count("\n") == 3
        scenes = assert_type(memory.scenes(), list[agentmem.Scene])
        assert_type(memory.stats().jobs, tuple[agentmem.Job, ...])
        for scene in scenes:
            (first, *_) = memory.trace(scene.id).path
            assert_type(first.spans, Mapping[str, tuple[int, int]])


def test_documents(tmp_path: Path) -> None:
    """A host's JSON by scope and key."""
    with Memory(tmp_path / "memory", embedder=EMBEDDER) as memory:
        documents = assert_type(memory.documents, Documents)
        documents.write(
            [
                DocumentWrite(
                    key="editor", scope="alice", value={"tabs": True}, texts=["Alice prefers tabs."]
                ),
                DocumentWrite(key="visits", scope="alice", value={"count": 3}, ttl_s=3600),
            ]
        )
        (found,) = assert_type(
            documents.search("tabs", "alice", where={"tabs": True}, limit=1), list[Document]
        )
        assert_type(found.value, dict[str, Any])
        assert_type(found.cosine, float | None)
        assert_type(found.expires, datetime | None)
        several = assert_type(documents.get_many([("alice", "visits")]), list[Document | None])
        assert several[0] is not None
        assert [one.key for one in documents.scan(accept=lambda value: "count" in value)] == [
            "visits"
        ]
        assert assert_type(documents.scopes(), list[str]) == ["alice"]
        documents.touch([("alice", "visits")])
        assert assert_type(documents.sweep(), int) == 0
        documents.write([DocumentWrite(key="editor", scope="alice", value=None)])


def test_awaited(tmp_path: Path) -> None:
    """The same verbs on an event loop, typed the same."""

    async def work() -> None:
        async with AsyncMemory(tmp_path / "memory", embedder=EMBEDDER) as memory:
            fact = assert_type(await memory.remember("Awaited."), Fact)
            hits = assert_type(await memory.recall("awaited", k=1), list[Hit])
            assert hits[0].id == fact.id
            assert_type(await memory.recall_many(["awaited"], k=1), list[list[Hit]])
            assert_type(await memory.scoped("below").stats(), Stats)
            await memory.documents.write([DocumentWrite(key="editor", value={"tabs": True})])
            assert_type(await memory.documents.scan(limit=1), list[Document])

    asyncio.run(work())


def test_parts_alone(tmp_path: Path) -> None:
    """Fusion and the native index without a store."""
    fused = assert_type(
        agentmem.fuse([[1, 2], [2, 3]], weights=[1.0, 2.0]), list[tuple[int, float]]
    )
    assert fused[0][0] == 2
    index = HybridIndex(3)
    index.add([7, 9], ["red apple", "green pear"], np.eye(3, dtype=np.float32)[:2])
    found = assert_type(index.search("pear", [0.0, 1.0, 0.0], 1), SearchResult)
    assert_type(found.ids, npt.NDArray[np.uint64])
    assert_type(found.scores, npt.NDArray[np.float32])
    assert [number for number, _ in found] == [9]
    index.save(tmp_path / "index")
    assert len(HybridIndex.open(tmp_path / "index")) == 2


def test_errors_are_caught_by_their_own_or_by_builtin_types(tmp_path: Path) -> None:
    """Old ``except`` clauses hold."""
    with Memory(tmp_path / "memory", embedder=EMBEDDER) as memory:
        with pytest.raises(ValueError, match="k: a whole number"):
            memory.recall("x", k=0)
        with pytest.raises(LookupError) as caught:
            memory.get("L1:99")
        assert isinstance(caught.value, agentmem.NotFoundError)
    with pytest.raises(agentmem.ClosedError):
        memory.stats()
