"""What export and import promise: all of a file is checked, and nothing of it is lost."""

from __future__ import annotations

import base64
import gzip
import json

import numpy as np
import pytest

import agentmem
from agentmem import GivenEmbeddings, Memory, Trust

NDIM = 8
SPACE = GivenEmbeddings(id="test", ndim=NDIM)
SECRET = "gh" + "p_" + "A1b2C3d4" * 4 + "Zz9Y"


def vector(seed):
    found = np.random.default_rng(seed).normal(size=NDIM).astype(np.float32)
    return found / np.linalg.norm(found)


class Hashing:
    """An embedder whose vectors depend on the text alone."""

    id = "hashing"
    ndim = NDIM

    def embed(self, texts):
        return np.stack([vector(sum(text.encode())) for text in texts])


@pytest.fixture
def memory(tmp_path):
    with Memory(tmp_path / "memory", embedder=SPACE) as opened:
        yield opened


@pytest.fixture
def other(tmp_path):
    with Memory(tmp_path / "other", embedder=SPACE) as opened:
        yield opened


@pytest.fixture
def exported(memory, tmp_path):
    """Write an export with a header, two turns and two facts; return its parsed lines."""
    memory.remember(
        "a", key="k", metadata={"n": 1}, value=[1], tags=["t"], subject="s", embedding=vector(1)
    )
    memory.remember("b", embedding=vector(2))
    memory.export(tmp_path / "good.jsonl")
    return [json.loads(line) for line in (tmp_path / "good.jsonl").read_text().splitlines()]


def write(path, lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def encoded(*values):
    return base64.b64encode(np.array(values, "<f4").tobytes()).decode()


def is_empty(memory):
    stats = memory.stats()
    return (stats.turns, stats.facts) == (0, 0)


NESTED = json.dumps({"a": json.loads("[" * 64 + "]" * 64)})
# Line in the file (from 1), then the way to the field, then what it is set to.
BAD = [
    (1, ["epoch"], 7), (1, ["epoch"], ""), (1, ["ndim"], "8"), (1, ["ndim"], 0),
    (1, ["embedder"], 5), (1, ["agentmem"], True), (1, ["epoch"], None),
    (2, ["turn", "id"], 0), (2, ["turn", "id"], 1 << 63), (2, ["turn", "id"], "1"),
    (2, ["turn", "position"], 1 << 63), (2, ["turn", "position"], 1.5),
    (2, ["turn", "origin"], "x"), (2, ["turn", "origin"], []), (2, ["turn", "kind"], ""),
    (2, ["turn", "kind"], None), (2, ["turn", "session"], 1), (2, ["turn", "speaker"], "\ud800"),
    (2, ["turn", "trust"], 5), (2, ["turn", "created_ms"], 1 << 62), (2, ["turn", "text"], None),
    (2, ["turn", "event_ms"], 253_402_300_800_000), (2, ["turn", "scope"], 5),
    (2, ["turn", "scope"], "a//b"), (2, ["turn", "extra"], 1), (2, ["turn"], 3),
    (3, ["turn", "id"], 1),
    (4, ["fact", "id"], True), (4, ["fact", "id"], 1 << 56), (4, ["fact", "trust"], 0),
    (4, ["fact", "priority"], 101), (4, ["fact", "priority"], -1), (4, ["fact", "text"], " \n"),
    (4, ["fact", "text"], "\ud800"), (4, ["fact", "text"], 4), (4, ["fact", "kind"], "x" * 1025),
    (4, ["fact", "key"], ""), (4, ["fact", "session"], "a\0b"), (4, ["fact", "subject"], {}),
    (4, ["fact", "attribute"], "\udfff"), (4, ["fact", "scope"], "x" * 1025),
    (4, ["fact", "created_ms"], -62_135_596_800_001), (4, ["fact", "created_ms"], None),
    (4, ["fact", "valid_from_ms"], "now"), (4, ["fact", "valid_to_ms"], 1e3),
    (4, ["fact", "superseded_ms"], False), (4, ["fact", "superseded_by"], 2),
    (4, ["fact", "metadata"], "[]"), (4, ["fact", "metadata"], {}), (4, ["fact", "metadata"], "{"),
    (4, ["fact", "metadata"], '{"a":NaN}'), (4, ["fact", "metadata"], '{"a":-Infinity}'),
    (4, ["fact", "metadata"], '{"a":1e999}'), (4, ["fact", "metadata"], '{"a":1' + "0" * 400 + "}"),
    (4, ["fact", "metadata"], '{"a":1' + "0" * 5000 + "}"), (4, ["fact", "metadata"], NESTED),
    (4, ["fact", "metadata"], '{"a":' * 30_000 + "1" + "}" * 30_000),
    (4, ["fact", "metadata"], '{"a":"\\ud800"}'), (4, ["fact", "value"], "x"),
    (4, ["fact", "value"], 1), (4, ["tags"], "t"), (4, ["tags"], [""]), (4, ["tags"], [1]),
    (4, ["sources"], [[2, 1]]), (4, ["sources"], [[0]]), (4, ["sources"], 1),
    (4, ["sources"], [[1, 1]]), (4, ["sources"], [[0, 99]]), (4, ["sources"], [[0, "1"]]),
    (4, ["vectors"], None), (4, ["vectors"], "%%%"), (4, ["vectors"], "AAA"),
    (4, ["vectors"], "AAAA"), (4, ["vectors"], encoded(*[0.0] * NDIM)),
    (4, ["vectors"], encoded(*[1.0] * 7, np.nan)), (4, ["vectors"], encoded(*[1.0] * 7, np.inf)),
    (4, ["vectors"], encoded(*[1.0] * NDIM * 9)), (4, ["more"], 1), (5, ["fact", "id"], 1),
    (5, ["fact", "key"], "k"),
]  # fmt: skip


class TestCheck:
    @pytest.mark.parametrize(("line", "way", "value"), BAD)
    def test_one_wrong_field_and_nothing_is_written(
        self, exported, other, tmp_path, line, way, value
    ):
        *outer, last = way
        target = exported[line - 1]
        for name in outer:
            target = target[name]
        target[last] = value
        path = write(tmp_path / "bad.jsonl", exported)
        with pytest.raises(agentmem.InvalidInputError, match=f"line {line}: "):
            other.import_(path)
        assert is_empty(other)

    @pytest.mark.parametrize("line", ["[" * 200_000, "1" * 5_000, "null", "[]", "{", '"x"', ""])
    def test_lines_that_are_no_rows(self, exported, other, tmp_path, line):
        path = write(tmp_path / "bad.jsonl", exported)
        with path.open("a") as file:
            file.write(line + "\n")
        with pytest.raises(agentmem.InvalidInputError, match="line 6: "):
            other.import_(path)
        assert is_empty(other)

    def test_damaged_bytes(self, exported, other, tmp_path):
        packed = gzip.compress(write(tmp_path / "x.jsonl", exported).read_bytes())
        for at in range(len(packed)):
            broken = packed[:at] + bytes([packed[at] ^ 0x55]) + packed[at + 1 :]
            for content in (packed[:at], broken) if at % 9 == 0 else (broken,):
                (tmp_path / "bad.jsonl.gz").write_bytes(content)
                if 3 < at < 10:  # flags, time and system of gzip's head say nothing of the content
                    continue
                with pytest.raises(agentmem.InvalidInputError):
                    other.import_(tmp_path / "bad.jsonl.gz")
        (tmp_path / "bad.jsonl").write_bytes(b'{"agentmem":1,"epoch":"\xff"}\n')
        with pytest.raises(agentmem.InvalidInputError):
            other.import_(tmp_path / "bad.jsonl")
        assert is_empty(other)

    def test_a_ring_of_versions(self, exported, other, tmp_path):
        for line, by in ((4, 2), (5, 1)):
            exported[line - 1]["fact"] |= {"superseded_ms": 5, "superseded_by": by}
        with pytest.raises(agentmem.InvalidInputError, match="ring"):
            other.import_(write(tmp_path / "bad.jsonl", exported))
        assert is_empty(other)

    def test_scopes_that_get_too_long_below_another(self, exported, other, tmp_path):
        exported[4]["fact"]["scope"] = "x" * 1_020
        path = write(tmp_path / "bad.jsonl", exported)
        with pytest.raises(agentmem.InvalidInputError, match="line 5: scope"):
            other.scoped("acme/alice").import_(path)
        assert is_empty(other)

    @pytest.mark.parametrize("space", ["another", "test"])
    def test_vectors_only_the_host_could_make(self, exported, other, tmp_path, space):
        exported[0]["embedder"] = space
        exported[4]["vectors"] = ""
        with pytest.raises(agentmem.InvalidInputError, match="embedding"):
            other.import_(write(tmp_path / "x.jsonl", exported))
        assert is_empty(other)

    def test_vectors_of_another_embedder_are_made_before_the_first_write(self, exported, tmp_path):
        path = write(tmp_path / "x.jsonl", exported)

        class Failing(Hashing):
            def embed(self, texts):
                raise OSError(f"no model for {texts}")

        with Memory(tmp_path / "m", embedder=Failing()) as memory:
            with pytest.raises(agentmem.EmbeddingError):
                memory.import_(path)
            assert is_empty(memory)
        with Memory(tmp_path / "m", embedder=Hashing()) as memory:
            steps = []
            assert memory.import_(path, progress=lambda *step: steps.append(step)).new == 4
            assert steps[-1] == (6, 6)
            assert {hit.text for hit in memory.recall("a")} == {"a", "b"}
            assert memory.verify().ok

    def test_long_vectors_get_their_unit_length(self, exported, other, tmp_path):
        exported[3]["vectors"] = encoded(*(vector(1) * 1e30))
        other.import_(write(tmp_path / "x.jsonl", exported))
        ((raw,), _) = other.sql("SELECT vector FROM embeddings ORDER BY id")
        assert np.frombuffer(raw, "<f4") == pytest.approx(vector(1), abs=1e-6)


class TestRedact:
    def test_every_string(self, tmp_path, other):
        with Memory(tmp_path / "plain", embedder=SPACE, redact=False) as plain:
            plain.remember(
                f"the token is {SECRET}", key=f"k {SECRET}", session=f"s {SECRET}",
                tags=[f"x {SECRET}"], metadata={"deep": [{"t": SECRET}]}, subject=SECRET,
                attribute=SECRET, value=[SECRET], embedding=vector(1),
            )  # fmt: skip
            plain.export(tmp_path / "x.jsonl")
        assert SECRET in (tmp_path / "x.jsonl").read_text()
        other.import_(tmp_path / "x.jsonl")
        other.export(tmp_path / "clean.jsonl")
        assert SECRET not in (tmp_path / "clean.jsonl").read_text()
        (fact,) = other.facts()
        assert isinstance(fact.metadata["deep"], list)
        assert sum(count for _, count in other.sql("SELECT * FROM redactions")) >= 8
        assert other.import_(tmp_path / "x.jsonl").new == 0
        with Memory(tmp_path / "raw", embedder=SPACE, redact=False) as raw:
            raw.import_(tmp_path / "x.jsonl")
            assert raw.facts()[0].value == [SECRET]


class TestNothingIsLost:
    def test_source_later_in_the_file(self, memory, other, tmp_path):
        first = memory.remember("first", embedding=vector(1))
        later = memory.remember("later", embedding=vector(2))
        memory.remember("first", sources=[later.id], embedding=vector(1))
        memory.export(tmp_path / "x.jsonl")
        other.import_(tmp_path / "x.jsonl")
        mine = {fact.text: fact for fact in other.facts()}
        assert mine["later"].id in mine["first"].sources
        assert len(mine["first"].sources) == len(memory.get(first.id).sources) == 2
        (hit,) = [hit for hit in other.recall("first", embedding=vector(1)) if hit.text == "first"]
        assert hit.sources == mine["first"].sources
        assert other.verify().ok

    def test_another_text_of_a_key_is_an_older_version(self, memory, other, tmp_path):
        memory.remember("theirs", key="k", embedding=vector(1))
        memory.export(tmp_path / "x.jsonl")
        mine = other.remember("mine", key="k", embedding=vector(2))
        assert other.import_(tmp_path / "x.jsonl").new == 2
        assert [fact.text for fact in other.facts()] == ["mine"]
        history = other.history(mine.id)
        assert {fact.text for fact in history} == {"mine", "theirs"}
        assert next(f for f in history if f.text == "theirs").superseded_by == mine.id
        assert [hit.text for hit in other.recall("theirs", embedding=vector(1))] == ["mine"]
        assert other.import_(tmp_path / "x.jsonl").new == 0
        assert other.verify().ok

    @pytest.mark.parametrize(
        "fields", [{"tags": ["t"]}, {"metadata": {"n": 1}}, {"priority": 9}, {"text": "THE text"}]
    )
    def test_the_same_text_with_other_fields_is_an_older_version(
        self, memory, other, tmp_path, fields
    ):
        memory.remember(**{"text": "the text", "embedding": vector(1), **fields})
        memory.export(tmp_path / "x.jsonl")
        mine = other.remember("the text", embedding=vector(1))
        assert other.import_(tmp_path / "x.jsonl").new == 2
        assert [fact.id for fact in other.facts()] == [mine.id]
        assert len(other.history(mine.id)) == 2

    def test_an_equal_fact_exists_and_gains_evidence(self, memory, other, tmp_path):
        memory.remember("the text", tags=["t"], embedding=vector(1))
        memory.export(tmp_path / "x.jsonl")
        mine = other.remember("the text", tags=["t"], embedding=vector(1))
        done = other.import_(tmp_path / "x.jsonl")
        assert (done.new, done.existing) == (1, 1)
        (fact,) = other.facts()
        assert (fact.id, fact.trust, len(fact.sources)) == (mine.id, Trust.USER, 2)
        assert len(other.history(mine.id)) == 1

    def test_two_current_facts_of_one_text_stay_two(self, memory, other, tmp_path):
        memory.remember("x", embedding=vector(1))
        old = memory.remember("y", embedding=vector(2))
        memory.remember("x", supersedes=old.id, embedding=vector(1))
        memory.export(tmp_path / "x.jsonl")
        other.import_(tmp_path / "x.jsonl")
        assert [f.text for f in other.facts()] == [f.text for f in memory.facts()] == ["x", "x"]

    def test_own_export_adds_nothing(self, memory, tmp_path):
        memory.remember("a", key="k", embedding=vector(1))
        memory.remember("b", key="k", embedding=vector(2))
        memory.scoped("acme").remember(f"c {SECRET}", tags=["t"], embedding=vector(3))
        memory.export(tmp_path / "x.jsonl")
        before = memory.stats()
        done = memory.import_(tmp_path / "x.jsonl")
        assert (done.new, done.existing) == (0, 6)
        assert (memory.stats().turns, memory.stats().facts) == (before.turns, before.facts)
        memory.export(tmp_path / "again.jsonl")
        assert (tmp_path / "again.jsonl").read_text() == (tmp_path / "x.jsonl").read_text()

    def test_a_later_export_brings_the_new_version(self, memory, other, tmp_path):
        memory.remember("old", key="k", embedding=vector(1))
        memory.export(tmp_path / "x.jsonl")
        other.import_(tmp_path / "x.jsonl")
        memory.remember("new", key="k", embedding=vector(2))
        memory.export(tmp_path / "y.jsonl")
        assert other.import_(tmp_path / "y.jsonl").new == 2
        (fact,) = other.facts()
        assert [one.text for one in other.history(fact.id)] == ["old", "new"]
        assert [hit.text for hit in other.recall("old", embedding=vector(1))] == ["new"]
        assert other.verify().ok

    def test_one_file_below_two_scopes(self, exported, other, tmp_path):
        path = write(tmp_path / "x.jsonl", exported)
        for scope in ("one", "two"):
            assert other.scoped(scope).import_(path).new == 4
            assert other.scoped(scope).import_(path).new == 0
        assert len(other.facts()) == 4

    def test_every_trace_ends_in_a_turn(self, memory, other, tmp_path):
        turnless = memory.remember("kept", embedding=vector(1))
        memory.remember("derived", sources=[turnless.id], embedding=vector(2))
        memory.export(tmp_path / "x.jsonl")
        header, _turn, *rows = [
            json.loads(line) for line in (tmp_path / "x.jsonl").read_text().splitlines()
        ]
        rows[0]["sources"] = []
        path = write(tmp_path / "y.jsonl", [header, *rows])
        assert other.import_(path).new == 2
        assert other.import_(path).new == 0
        for fact in other.facts():
            evidence = other.trace(fact.id).evidence
            assert evidence
            assert evidence[0].origin == "imported"
            assert evidence[0].trust == Trust.IMPORTED
        assert other.trace(other.facts()[0].id).evidence[0].text == "kept"
        assert other.verify().ok


class TestExportTarget:
    @pytest.mark.parametrize("form", ["jsonl", "markdown"])
    def test_never_inside_the_memory(self, memory, tmp_path, form):
        memory.remember("a", embedding=vector(1))
        (tmp_path / "link").symlink_to(memory.path)
        (tmp_path / "file").symlink_to(memory.path / "store.amem")
        before = sorted(path.name for path in memory.path.rglob("*"))
        for target in (
            memory.path / "store.amem", memory.path / "index" / "x", memory.path,
            tmp_path / "link" / "x", tmp_path / "x" / ".." / "memory" / "x", tmp_path / "file",
        ):  # fmt: skip
            with pytest.raises(agentmem.InvalidInputError, match="own folder"):
                memory.export(target, format=form)
        assert sorted(path.name for path in memory.path.rglob("*")) == before
        assert memory.export(tmp_path / "memory-2.jsonl", format=form) >= 1
