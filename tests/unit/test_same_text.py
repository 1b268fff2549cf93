"""One text about two subjects, or of two events, is two facts; a replay adds none."""

from datetime import UTC, datetime, timedelta

import pytest

from agentmem import Memory
from agentmem.testing import HashEmbedder

DAY = datetime(2024, 3, 1, tzinfo=UTC)
LATER = DAY + timedelta(days=7)


@pytest.fixture
def memory(tmp_path):
    with Memory(tmp_path / "memory", embedder=HashEmbedder()) as memory:
        yield memory


APART = [
    ({"subject": "Alice"}, {"subject": "Bob"}),
    ({"kind": "event", "valid_from": DAY}, {"kind": "event", "valid_from": LATER}),
    ({"kind": "event", "valid_from": DAY}, {"valid_from": LATER}),
    (
        {"kind": "event", "valid_from": DAY, "subject": "Alice"},
        {"kind": "event", "valid_from": DAY, "subject": "Bob"},
    ),
]
ONE = [
    ({}, {"subject": "Alice"}),
    ({"kind": "event"}, {"kind": "event", "valid_from": DAY}),
    ({"valid_from": DAY}, {"valid_from": LATER}),
    ({"subject": "Alice"}, {"subject": "Alice", "tags": ["ops"]}),
]


def ids(facts):
    return sorted(fact.id for fact in facts)


@pytest.mark.parametrize("in_bulk", [False, True])
@pytest.mark.parametrize(("first", "second"), APART)
def test_two_facts(memory, first, second, in_bulk):
    items = [{"text": "Moved to Hue.", **first}, {"text": "moved  to Hue.", **second}]

    def write():
        if in_bulk:
            return memory.remember_many(items)
        return [memory.remember(**item) for item in items]

    made = write()
    assert [fact.status for fact in made] == ["new", "new"]
    assert ids(memory.facts()) == ids(made)
    assert ids(memory.recall("moved to Hue")) == ids(made)
    for _ in range(2):
        again = write()
        assert [(fact.status, fact.id) for fact in again] == [
            ("duplicate", fact.id) for fact in made
        ]
    other_way_round = memory.remember_many(list(reversed(items)))
    assert [fact.id for fact in reversed(other_way_round)] == [fact.id for fact in made]
    assert memory.stats().superseded == 0


@pytest.mark.parametrize(("first", "second"), ONE)
def test_what_says_more_is_a_version(memory, first, second):
    one = memory.remember("Moved to Hue.", **first)
    two = memory.remember("Moved to Hue.", **second)
    assert (two.status, two.supersedes) == ("superseded", (one.id,))
    assert memory.remember("Moved to Hue.", **second).status == "duplicate"
    assert memory.remember("Moved to Hue.").id == two.id
    assert ids(memory.facts()) == [two.id]


def test_a_write_that_names_no_subject_is_a_duplicate_of_the_first(memory):
    made = [memory.remember("Is on call.", subject=name) for name in ("Alice", "Bob")]
    again = memory.remember("Is on call.")
    assert (again.status, again.id) == ("duplicate", made[0].id)


@pytest.mark.parametrize(("first", "second"), APART[:2])
def test_an_import_keeps_them_apart(memory, tmp_path, first, second):
    memory.remember("Moved to Hue.", **first)
    with Memory(tmp_path / "other", embedder=HashEmbedder()) as other:
        other.remember("Moved to Hue.", **second)
        other.export(tmp_path / "facts.jsonl")
    for new in (2, 0):
        assert memory.import_(tmp_path / "facts.jsonl").new == new
        assert len(memory.facts()) == 2
        assert memory.stats().superseded == 0
