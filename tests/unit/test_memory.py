"""What Memory promises for facts: writing, versions, wrong arguments."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

import agentmem
from agentmem import GivenEmbeddings, Memory, Trust

NDIM = 8
SPACE = GivenEmbeddings(id="test", ndim=NDIM)


def vector(seed):
    found = np.random.default_rng(seed).normal(size=NDIM).astype(np.float32)
    return found / np.linalg.norm(found)


@pytest.fixture
def memory(tmp_path):
    with Memory(tmp_path / "memory", embedder=SPACE) as opened:
        yield opened


class TestRemember:
    def test_found_at_once_with_all_its_fields(self, memory):
        start = datetime(2026, 1, 2, tzinfo=UTC)
        fact = memory.remember(
            "Deploys go to Fly.io.", kind="decision", tags=["ops", "a,b"], session="s1",
            metadata={"ticket": 42, "nested": {"x": [1, "two"]}}, subject="deploys",
            attribute="target", value={"host": "fly"}, valid_from=start, priority=80,
            embedding=vector(1),
        )  # fmt: skip
        assert fact.status == "new"
        (hit,) = memory.recall("deploys", embedding=vector(1))
        assert (hit.id, hit.text, hit.kind) == (fact.id, "Deploys go to Fly.io.", "decision")
        assert hit.tags == ("a,b", "ops")
        assert hit.metadata == {"ticket": 42, "nested": {"x": [1, "two"]}}
        assert (hit.subject, hit.session, hit.priority) == ("deploys", "s1", 80)
        assert hit.valid_from == start
        assert hit.bm25_rank == hit.ann_rank == 1
        assert hit.sources == fact.sources
        stored = memory.get(fact.id)
        assert (stored.attribute, stored.value, stored.trust) == (
            "target",
            {"host": "fly"},
            Trust.USER,
        )

    def test_every_trace_ends_in_l0(self, memory):
        fact = memory.remember("We use apsw.", embedding=vector(1))
        above = memory.remember("The store is SQLite.", sources=[fact.id], embedding=vector(2))
        trace = memory.trace(above.id)
        assert [step.id for step in trace.path] == [above.id, fact.id, fact.sources[0]]
        assert [turn.text for turn in trace.evidence] == ["We use apsw."]
        assert trace.evidence[0].origin == "asserted"

    @pytest.mark.parametrize(
        "again",
        ["Deploys go to Fly.io.", "deploys  go to\tFLY.io. ", "Ｄeploys go to Fly.io."],
    )
    def test_same_text_is_a_duplicate(self, memory, again):
        first = memory.remember("Deploys go to Fly.io.", tags=["ops"], embedding=vector(1))
        second = memory.remember(again, embedding=vector(2))
        assert (second.status, second.id, second.tags) == ("duplicate", first.id, ("ops",))
        assert memory.stats().facts == 1

    def test_vietnamese_nfc_and_nfd_are_one_text(self, memory):
        first = memory.remember("cà phê sữa đá", embedding=vector(1))
        second = memory.remember(
            "ca\u0300 phe\u0302 su\u031b\u0303a \u0111a\u0301", embedding=vector(1)
        )
        assert (second.status, second.id) == ("duplicate", first.id)

    def test_a_duplicate_that_says_more_is_a_new_version(self, memory):
        first = memory.remember("Deploys go to Fly.io.", embedding=vector(1))
        second = memory.remember("Deploys go to Fly.io.", tags=["ops"], embedding=vector(1))
        assert (second.status, second.supersedes) == ("superseded", (first.id,))
        assert [hit.id for hit in memory.recall("deploys", embedding=vector(1))] == [second.id]

    def test_the_same_text_in_another_scope_is_new(self, memory):
        memory.remember("Deploys go to Fly.io.", embedding=vector(1))
        assert (
            memory.scoped("acme").remember("Deploys go to Fly.io.", embedding=vector(1)).status
            == "new"
        )

    def test_key_is_an_upsert_in_its_scope(self, memory):
        first = memory.remember("theme: dark", key="theme", embedding=vector(1))
        second = memory.remember("theme: light", key="theme", embedding=vector(2))
        third = memory.remember("theme: light", key="theme", embedding=vector(2))
        other = memory.scoped("acme").remember("theme: blue", key="theme", embedding=vector(3))
        assert [second.status, third.status, other.status] == ["superseded", "duplicate", "new"]
        assert third.id == second.id
        assert [fact.id for fact in memory.history(third.id)] == [first.id, second.id]
        assert {hit.text for hit in memory.recall("theme", embedding=vector(1))} == {
            "theme: light", "theme: blue",
        }  # fmt: skip

    def test_upserts_and_duplicates_inside_one_batch(self, memory):
        facts = memory.remember_many(
            [
                {"text": "a", "key": "k", "embedding": vector(1)},
                {"text": "b", "key": "k", "embedding": vector(2)},
                {"text": "c", "embedding": vector(3)},
                {"text": "C ", "embedding": vector(4)},
            ]
        )
        assert [fact.status for fact in facts] == ["new", "superseded", "new", "duplicate"]
        assert facts[3].id == facts[2].id
        assert {fact.text for fact in memory.facts()} == {"b", "c"}
        assert memory.verify().ok

    def test_supersedes_keeps_history_and_as_of_reads_it(self, tmp_path):
        now = [datetime(2026, 1, 1, tzinfo=UTC)]
        with Memory(tmp_path / "m", embedder=SPACE, clock=lambda: now[0]) as memory:
            old = memory.remember("The rate is 10 %.", embedding=vector(1))
            now[0] += timedelta(days=10)
            new = memory.remember("The rate is 15 %.", supersedes=old.id, embedding=vector(1))
            now[0] += timedelta(days=10)
            assert [h.id for h in memory.recall("rate", embedding=vector(1))] == [new.id]
            past = memory.recall(
                "rate", embedding=vector(1), as_of=datetime(2026, 1, 5, tzinfo=UTC)
            )
            assert [h.id for h in past] == [old.id]
            assert (
                memory.recall("rate", embedding=vector(1), as_of=datetime(2025, 1, 1, tzinfo=UTC))
                == []
            )
            stored = memory.get(old.id)
            assert stored.superseded_by == new.id
            assert not stored.is_current
            assert stored.valid_to == datetime(2026, 1, 11, tzinfo=UTC)

    def test_a_superseded_fact_cant_be_superseded_again(self, memory):
        old = memory.remember("a", embedding=vector(1))
        memory.remember("b", supersedes=old.id, embedding=vector(1))
        with pytest.raises(
            agentmem.InvalidInputError, match=f"{old.id} is superseded already by L1:2"
        ):
            memory.remember("c", supersedes=old.id, embedding=vector(1))

    def test_expired_facts_are_left_out(self, tmp_path):
        now = datetime(2026, 1, 1, tzinfo=UTC)
        with Memory(tmp_path / "m", embedder=SPACE, clock=lambda: now) as memory:
            memory.remember("on leave", valid_to=now - timedelta(days=1), valid_from=now - timedelta(days=9),
                            embedding=vector(1))  # fmt: skip
            assert memory.recall("leave", embedding=vector(1)) == []
            found = memory.recall("leave", embedding=vector(1), as_of=now - timedelta(days=5))
            assert [hit.text for hit in found] == ["on leave"]

    def test_what_begins_later_is_found_then_and_what_it_replaces_until_then(self, tmp_path):
        now = [datetime(2026, 1, 1, tzinfo=UTC)]
        start = now[0] + timedelta(days=10)
        with Memory(tmp_path / "m", embedder=SPACE, clock=lambda: now[0]) as memory:
            old = memory.remember("rule: the rate is 10", kind="instruction", embedding=vector(1))
            new = memory.remember(
                "rule: the rate is 15", kind="instruction", supersedes=old.id, valid_from=start,
                embedding=vector(1),
            )  # fmt: skip
            flight = memory.remember(
                "Flight to Hue", kind="event", valid_from=start, embedding=vector(1)
            )

            def seen(**asked):
                found = [hit.id for hit in memory.recall("rate", embedding=vector(1), **asked)]
                rules = memory.context("", budget_tokens=200).stable
                return set(found), [one for one in ("10", "15") if f"rate is {one}" in rules]

            for _ in range(2):
                assert seen() == ({old.id, flight.id}, ["10"])
                assert seen(as_of=start)[0] == {new.id, flight.id}
                assert seen(since=start)[0] == {flight.id}
                memory._shared.index.fold(settle=True)
            now[0] = start
            assert seen() == ({new.id, flight.id}, ["15"])
            # A clock that ran ahead and was set back hides nothing that it wrote.
            now[0] = datetime(2027, 1, 1, tzinfo=UTC)
            ahead = memory.remember("the rate of the future", embedding=vector(1))
            now[0] = start
            assert seen()[0] == {new.id, flight.id, ahead.id}

    def test_trust_is_the_lowest_of_the_sources(self, memory):
        top = memory.remember("said by the user", embedding=vector(1))
        memory.export(memory.path.parent / "x.jsonl")
        with Memory(memory.path.parent / "other", embedder=SPACE) as other:
            other.import_(memory.path.parent / "x.jsonl")
            (imported,) = other.facts()
            derived = other.remember("derived", sources=[imported.id], embedding=vector(2))
            assert (top.trust, imported.trust, derived.trust) == (
                Trust.USER, Trust.IMPORTED, Trust.IMPORTED,
            )  # fmt: skip

    def test_secrets_are_redacted_in_every_field(self, memory):
        secret = "gh" + "p_" + "A1b2C3d4" * 4 + "Zz9Y"
        fact = memory.remember(
            f"the token is {secret}", metadata={"t": secret}, tags=[f"x {secret}"], subject=secret,
            value=secret, embedding=vector(1),
        )  # fmt: skip
        assert len(fact.redacted) == 5
        memory.close()
        held = b"".join(p.read_bytes() for p in memory.path.rglob("*") if p.is_file())
        assert secret.encode() not in held

    def test_redaction_can_be_switched_off(self, tmp_path):
        secret = "gh" + "p_" + "A1b2C3d4" * 4 + "Zz9Y"
        with Memory(tmp_path / "m", embedder=SPACE, redact=False) as memory:
            assert memory.remember(f"token {secret}", embedding=vector(1)).text.endswith(secret)


class TestBadInput:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"text": ""}, "text: it is empty"),
            ({"text": " \n\u3000"}, "text: it is empty"),
            ({"text": 7}, "text: a string is needed, 7"),
            ({"text": "x", "key": ""}, "key: a string of 1 to 1024"),
            ({"text": "x", "key": "a\0b"}, "NUL"),
            ({"text": "x", "kind": None}, "kind: None is no kind"),
            ({"text": "x", "tags": "ops"}, "tags: several strings"),
            ({"text": "x", "metadata": {"x": float("nan")}}, "metadata: it must be JSON"),
            ({"text": "x", "metadata": {1: 2}}, "metadata: a mapping with string keys"),
            ({"text": "x", "value": object()}, "value: it must be JSON"),
            ({"text": "x", "priority": 101}, "priority: a whole number from 0 to 100"),
            ({"text": "x", "priority": True}, "priority: a whole number from 0 to 100"),
            ({"text": "x", "valid_from": datetime(2026, 1, 1)}, "no time zone"),  # noqa: DTZ001
            ({"text": "x", "sources": ["L9:1"]}, "an id such as 'L1:7'"),
            ({"text": "x", "sources": ["L2:1"]}, "never on a higher tier"),
            ({"text": "x", "supersedes": "L0:1"}, "only facts"),
            ({"text": "x", "embedding": [1.0]}, "a vector of length 8 is needed, 1 was given"),
            ({"text": "x", "embedding": [0.0] * 8}, "zero vector"),
            ({"text": "x", "embedding": [float("nan")] * 8}, "NaN"),
            ({"text": "x", "embedding": [float("inf")] * 8}, "infinite"),
            ({"text": "x", "embedding": "abc"}, "numbers are needed"),
            ({"text": "x"}, "pass embedding= with 8 numbers"),
        ],
    )
    def test_a_wrong_argument_is_named_and_nothing_is_written(self, memory, arguments, message):
        arguments = {"embedding": vector(1)} | arguments if message[:4] != "pass" else arguments
        with pytest.raises(agentmem.InvalidInputError, match=message):
            memory.remember(**arguments)
        with pytest.raises(agentmem.InvalidInputError, match=rf"facts\[1\].*{message}"):
            memory.remember_many([{"text": "good", "embedding": vector(1)}, arguments])
        assert memory.stats().facts == 0

    def test_unknown_ids(self, memory):
        for call in (
            lambda: memory.get("L1:99"), lambda: memory.trace("L1:99"), lambda: memory.history("L1:99"),
            lambda: memory.forget("L1:99"), lambda: memory.get("L0:99"), lambda: memory.get("L3:1"),
            lambda: memory.remember("x", sources=["L0:99"], embedding=vector(1)),
            lambda: memory.remember("x", supersedes="L1:99", embedding=vector(1)),
        ):  # fmt: skip
            with pytest.raises(agentmem.NotFoundError, match="there is no L"):
                call()
        assert memory.stats().facts == 0

    @pytest.mark.parametrize("k", [0, -1, 1.5, True, 10**9, "5"])
    def test_k(self, memory, k):
        with pytest.raises(agentmem.InvalidInputError, match="k: a whole number"):
            memory.recall("x", k=k, embedding=vector(1))

    def test_filters(self, memory):
        naive = datetime(2026, 1, 1)  # noqa: DTZ001
        for wrong in (
            {"since": naive}, {"until": naive}, {"as_of": naive}, {"tiers": ("L7",)},
            {"scopes": []}, {"scopes": ["a//b"]}, {"where": {"x": {"$near": 1}}},
            {"where": {"$nope": 1}}, {"where": {"x": object()}}, {"where": "x"}, {"session": 3},
        ):  # fmt: skip
            with pytest.raises(agentmem.InvalidInputError):
                memory.recall("x", embedding=vector(1), **wrong)

    @pytest.mark.parametrize("scope", ["/a", "a/", "a//b", 3, "a\nb", "x" * 2000])
    def test_scopes(self, memory, scope):
        with pytest.raises(agentmem.InvalidInputError, match="scope"):
            memory.scoped(scope)

    @pytest.mark.parametrize(
        "query",
        ["", " ", "(" * 20_000, "ns:x OR y", '"', "🚀", "مرحبا", "\0", "\ud800", "a" * 1_000_000,
         "NOT NOT", "field:[a TO b]", "~" * 100, "cà\u0300"],
    )  # fmt: skip
    def test_any_string_is_a_query(self, memory, query):
        memory.remember("plain words", embedding=vector(1))
        hits = memory.recall(query, embedding=vector(1))
        assert [hit.text for hit in hits] == ["plain words"]

    def test_a_query_over_1_mb_is_refused(self, memory):
        with pytest.raises(agentmem.InvalidInputError, match="query: at most"):
            memory.recall("é" * 600_000, embedding=vector(1))

    @pytest.mark.parametrize(
        "text",
        ["nul \0 inside", "lone \ud800 surrogate", "\u202eRTL", "👩‍👩‍👧", "x" * 10_000_000],
    )
    def test_any_text_is_a_fact(self, memory, text):
        fact = memory.remember(text, embedding=vector(1))
        assert memory.get(fact.id).text == text.replace("\ud800", "\ufffd")
        assert memory.recall("x", embedding=vector(1))[0].id == fact.id

    def test_blank_query_without_embedding_matches_nothing(self, memory):
        assert memory.recall("  ") == []

    def test_closed_memory(self, tmp_path):
        memory = Memory(tmp_path / "m", embedder=SPACE)
        memory.close()
        memory.close()
        for call in (
            lambda: memory.recall("x", embedding=vector(1)), lambda: memory.remember("x", embedding=vector(1)),
            memory.facts, memory.stats,
        ):  # fmt: skip
            with pytest.raises(agentmem.ClosedError):
                call()

    def test_another_models_vectors(self, tmp_path):
        with Memory(tmp_path / "m", embedder=SPACE) as memory:
            memory.remember("x", embedding=vector(1))
        with pytest.raises(agentmem.EmbedderMismatchError, match="reembed") as caught:
            Memory(tmp_path / "m", embedder=GivenEmbeddings(id="other", ndim=NDIM))
        assert "test" in caught.value.stored

    def test_a_folder_that_is_not_ours(self, tmp_path):
        (tmp_path / "notes.txt").write_text("mine")
        with pytest.raises(agentmem.NotAStoreError):
            Memory(tmp_path, embedder=SPACE)
        assert [p.name for p in tmp_path.iterdir()] == ["notes.txt"]


def test_fast_constructors_make_the_frozen_classes():
    import dataclasses

    from agentmem.models import Fact, make_fact

    for frozen, make in ((Fact, make_fact),):
        count = len(dataclasses.fields(frozen))
        for given in (
            count,
            sum(f.default is dataclasses.MISSING for f in dataclasses.fields(frozen)),
        ):
            made = make(*range(given))
            assert type(made) is frozen
            assert made == frozen(*range(given))
            with pytest.raises(dataclasses.FrozenInstanceError):
                made.text = "changed"
