"""A store from before the upper tiers opens, and its turns are searchable and read."""

from tests.extractors import Statements

from agentmem import Memory
from agentmem.protocols import GivenEmbeddings
from agentmem.store import Database, migrations

SPACE = GivenEmbeddings("two", 2)


def old_store(folder, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(migrations, "MIGRATIONS", migrations.MIGRATIONS[:2])
        with Database(folder) as database:

            def fill(transaction):
                execute = transaction.connection.execute
                execute("INSERT INTO scopes (id, path) VALUES (1, 'acme')")
                row = (
                    "INSERT INTO turns (scope_id, session, position, origin, kind, trust, "
                    "created_ms, text) VALUES (1, ?, ?, ?, 'user', 4, 5, ?)"
                )
                execute(row, ("s", 1, "captured", "fact server port is one"))
                execute(row, ("s", 2, "captured", "hello there"))
                execute(row, (None, 3, "asserted", "stated once"))
                execute(
                    "INSERT INTO facts (scope_id, digest, kind, priority, trust, created_ms, "
                    "metadata, text) VALUES (1, 7, 'fact', 50, 4, 5, '{}', 'stated once')"
                )
                execute("INSERT INTO sources VALUES (1, 1, 0, 3, NULL, NULL)")
                transaction.change("capture", 0, 1)
                transaction.change("upsert", 1, 1)

            database.write(fill)


def test_old_turns_are_found_and_read(tmp_path, monkeypatch):
    old_store(tmp_path / "m", monkeypatch)
    with Memory(tmp_path / "m", embedder=SPACE, extractor=Statements()) as memory:
        assert [fact.text for fact in memory.facts()] == ["stated once"]
        assert memory.get("L1:1").confidence is None
        assert memory.recall("hello", tiers="L0", embedding=[1, 0])[0].id == "L0:2"
        hits = memory.recall("stated once", tiers=("L0", "L1"), embedding=[1, 0])
        assert [hit.id for hit in hits] == ["L1:1"]
        assert {(job.scope, job.step) for job in memory.stats().jobs} == {
            ("acme", "extract"),
            ("acme", "cluster"),
        }
        assert memory.consolidate().facts == 1
        assert memory.scoped("acme").persona().version in (0, 1)
        assert memory.stats().jobs == ()
        assert memory.verify().ok
    assert (tmp_path / "m" / "store.amem.v2.backup").exists()
