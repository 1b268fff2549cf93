"""The mission's check that L3 never overwrites L1, and the mutant that shows it can fail."""

import hashlib

import pytest
from tests.extractors import Statements, say

from agentmem import Memory
from agentmem.protocols import GivenEmbeddings
from agentmem.tiers import consolidate

SPACE = GivenEmbeddings("two", 2)
LOWER = ("turns", "records", "tool_calls", "payloads", "facts")


def digest(memory):
    """Return a digest of every lower row, to the byte, and of what links and embeds it."""
    hasher = hashlib.sha256()
    for table in LOWER:
        for row in memory.sql(f"SELECT * FROM {table} ORDER BY 1, 2"):
            hasher.update(repr(row).encode("utf-8", "surrogatepass"))
    for statement in (
        "SELECT * FROM sources WHERE tier < 2 ORDER BY 1, 2, 3, 4",
        "SELECT * FROM tags WHERE tier < 2 ORDER BY 1, 2, 3",
        "SELECT * FROM embeddings WHERE id < (2 << 59) ORDER BY 1",
    ):
        hasher.update(repr(memory.sql(statement)).encode())
    return hasher.hexdigest()


def build_upper_tiers(memory):
    """Build L2 and L3 anew from all there is, and ask for a context; return the digests around it."""
    before = digest(memory)
    for scope in ("", "acme"):
        consolidate.cluster_scope(memory._shared, scope)
        consolidate.abstract_scope(memory._shared, scope)
    memory.persona()
    memory.scenes()
    memory.context("editor", embedding=[1.0, 0.0])
    return before, digest(memory)


@pytest.fixture
def memory(tmp_path):
    with Memory(tmp_path / "m", embedder=SPACE, extractor=Statements()) as memory:
        for session, value in (("a", "vim"), ("b", "helix")):
            said = say(f"persona user editor is {value}", "instruction user reply is short")
            memory.capture(said, session=session)
            memory.scoped("acme").capture(said, session=session)
            for scope in ("", "acme"):
                from agentmem.tiers.extraction import extract_session

                extract_session(memory._shared, scope, session, extractor=Statements())
        yield memory


def test_l3_never_overwrites_l1(memory):
    before, after = build_upper_tiers(memory)
    assert memory.persona().version >= 1
    assert memory.scenes()
    assert before == after


def test_mutant_an_abstraction_that_rewrites_a_fact_is_caught(memory, monkeypatch):
    abstract = consolidate.abstract_scope

    def overwriting(opened, scope):
        done = abstract(opened, scope)
        opened.database.write(
            lambda transaction: transaction.connection.execute(
                "UPDATE facts SET text = 'likes helix' WHERE id = 1"
            )
        )
        return done

    monkeypatch.setattr(consolidate, "abstract_scope", overwriting)
    before, after = build_upper_tiers(memory)
    assert before != after
