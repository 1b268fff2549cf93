"""The tables of the upper tiers: jobs, cursors, scenes, personas, and L0 in the index."""

from datetime import datetime, timedelta, timezone

import pytest

from agentmem import InvalidInputError, Memory, NotFoundError, Persona, PersonaEntry
from agentmem.protocols import GivenEmbeddings
from agentmem.store import cursors, embeddings, facts, jobs, personas, scenes, scopes, turns
from agentmem.store.index_rows import persona_index_rows, scene_index_rows
from agentmem.tiers.steps import abstract_scope, cluster_scope

SPACE = GivenEmbeddings("two", 2)
MINUTE = 60_000


@pytest.fixture
def memory(tmp_path):
    with Memory(tmp_path / "m", embedder=SPACE) as opened:
        yield opened


def fact(memory, text, at=(1.0, 0.0), **more):
    return memory.remember(text, embedding=at, **more)


def test_a_capture_is_searchable_and_leaves_a_job(memory):
    said = [
        {"role": "user", "content": "deploy the parser"},
        {"role": "assistant", "content": "ok"},
    ]
    captured = memory.capture(said, session="s")
    (hit,) = memory.recall("parser", tiers=("L0",), embedding=[1, 0])[:1]
    assert (hit.id, hit.tier, hit.kind, hit.ann_rank) == (captured.ids[0], "L0", "user", None)
    assert memory.recall("parser", embedding=[1, 0]) == []
    (job,) = memory.stats().jobs
    assert (job.step, job.session, job.turns, job.attempts, job.error) == (
        "extract",
        "s",
        1,
        0,
        None,
    )
    assert memory.capture(said, session="s").new == 0
    assert memory.stats().jobs == (job,)
    memory.rebuild_index()
    assert memory.recall("parser", tiers=("L0",), embedding=[1, 0])[0].id == captured.ids[0]
    assert memory.verify().ok


def test_words_wait_for_vectors_and_data_of_tools_do_not(tmp_path):
    with Memory(tmp_path / "m") as memory:
        memory.capture(
            [
                {"role": "user", "content": "list it"},
                {"role": "assistant", "content": "", "tool_calls": [
                    {"id": "a", "type": "function", "function": {"name": "ls", "arguments": "{}"}}]},
                {"role": "tool", "tool_call_id": "a", "content": "needle.txt"},
            ],
            session="s",
        )  # fmt: skip
        assert memory.stats().pending_embeddings == 1
        (hit,) = memory.recall("needle", tiers="L0")[:1]
        assert (hit.kind, hit.text, hit.bm25_rank) == ("tool_result", "needle.txt", 1)


def test_an_asserted_turn_is_found_as_its_fact_only(memory):
    fact(memory, "the deploy runs on Fly")
    hits = memory.recall("deploy", tiers=("L0", "L1"), embedding=[1, 0])
    assert [hit.tier for hit in hits] == ["L1"]


def test_a_long_turn_is_found_by_its_head_and_its_tail(memory):
    text = "headword " + "x " * 20_000 + "tailword"
    (turn,) = memory.capture([{"role": "user", "content": text}], session="s").ids
    for word in ("headword", "tailword"):
        (hit,) = memory.recall(word, tiers="L0", embedding=[1, 0])
        assert hit.id == turn
        assert len(hit.text) <= 16_000
    assert memory.get(turn).text == text


def test_lone_surrogates_and_nul_are_searchable(memory):
    memory.capture([{"role": "user", "content": "odd \ud800 \0 word"}], session="s")
    assert memory.recall("odd", tiers="L0", embedding=[1, 0])[0].text == "odd \ufffd \0 word"


def test_a_cursor_moves_only_from_where_it_was_read(memory):
    database = memory._shared.database

    def move(expected, to):
        def operation(transaction):
            scope = scopes.obtain(transaction.connection, "a")
            cursors.advance(transaction.connection, scope, "extract", "s", expected=expected, to=to)

        database.write(operation)

    move(0, 5)
    with pytest.raises(cursors.StaleCursorError):
        move(0, 7)
    move(5, 9)
    with database.read() as connection:
        scope = scopes.obtain(connection, "a")
        assert cursors.position(connection, scope, "extract", "s") == 9
        assert cursors.position(connection, scope, "extract", "t") == 0


def test_a_failed_job_waits_longer_each_time_and_survives_a_clock_set_back(memory):
    database = memory._shared.database

    def in_scope(work):
        def operation(transaction):
            return work(transaction.connection, scopes.obtain(transaction.connection, "a"))

        return database.write(operation)

    waits = []
    for _ in range(12):
        in_scope(lambda c, s: jobs.failed(c, s, "extract", "s", error="e" * 900, now_ms=1_000))
        with database.read() as connection:
            (row,) = jobs.load(connection, "a")
        waits.append(row.due_ms - 1_000)
    assert waits[:3] == [5_000, 10_000, 20_000]
    assert waits[-1] == 15 * MINUTE
    assert row.attempts == 12
    assert len(row.error) == 500
    assert not jobs.is_due(row, 1_001)
    assert jobs.is_due(row, row.due_ms)
    assert jobs.is_due(row, -86_400_000)
    in_scope(lambda c, s: jobs.request(c, s, "extract", "s", now_ms=5, turns=2))
    with database.read() as connection:
        (row,) = jobs.load(connection, "")
        assert (row.attempts, row.turns) == (12, 2)
        assert jobs.load(connection, "b") == []
    in_scope(lambda c, s: jobs.done(c, s, "extract", "s"))
    assert memory.stats().jobs == ()


def scene(memory, label, at_ms, rows=()):
    def operation(transaction):
        connection = transaction.connection
        number = scenes.insert(
            connection, scopes.obtain(connection, memory.scope), label=label, text="did it",
            session=None, trust=4, now_ms=5, first_ms=at_ms, last_ms=at_ms,
        )  # fmt: skip
        changed = sorted({number, *scenes.assign(connection, dict.fromkeys(rows, number))})
        rows_now = scene_index_rows(connection, changed)
        transaction.change_many("upsert", 2, dict(zip(changed, rows_now, strict=True)))
        return number

    return memory._shared.database.write(operation)


def test_scenes_hold_each_row_once_and_trace_down(memory):
    one, two = fact(memory, "the login test fails"), fact(memory, "the retry is wrong")
    first = scene(memory, "debugging", 1_000, [(1, 1), (1, 2)])
    second = scene(memory, "reviewing", 2_000, [(1, 2)])
    got = memory.get(f"L2:{first}")
    assert (got.label, got.members, got.sessions) == ("debugging", (one.id,), ())
    assert memory.get(f"L2:{second}").members == (two.id,)
    trace = memory.trace(f"L2:{second}")
    assert [step.id for step in trace.path] == [f"L2:{second}", two.id, two.sources[0]]
    assert [turn.text for turn in trace.evidence] == ["the retry is wrong"]
    hits = memory.recall("debugging", tiers=("L2",), embedding=[1, 0])
    # The other scene of the session may follow as a neighbour: by itself it answers nothing.
    assert (hits[0].id, hits[0].bm25_rank, hits[0].sources) == (f"L2:{first}", 1, (one.id,))
    assert all((hit.id, hit.bm25_rank) == (f"L2:{second}", None) for hit in hits[1:])

    def join(transaction):
        scenes.merge(transaction.connection, first, into=second, now_ms=9)
        rows = scene_index_rows(transaction.connection, [first, second])
        transaction.change_many("upsert", 2, dict(zip((first, second), rows, strict=True)))

    memory._shared.database.write(join)
    assert memory.get(f"L2:{second}").members == (one.id, two.id)
    assert memory.get(f"L2:{first}").merged_into == f"L2:{second}"
    assert [row.id for row in memory.history(f"L2:{second}")] == [f"L2:{first}", f"L2:{second}"]
    assert memory.recall("debugging", tiers=("L2",), embedding=[1, 0]) == []
    assert memory.stats().scenes == 1
    assert memory.verify().ok


def test_scenes_stay_in_their_scope(memory):
    acme = memory.scoped("acme")
    number = scene(acme, "debugging", 1)
    with pytest.raises(NotFoundError):
        memory.scoped("acme-corp").get(f"L2:{number}")
    assert memory.scoped("acme-corp").recall("debugging", tiers="L2", embedding=[1, 0]) == []
    assert acme.recall("debugging", tiers="L2", embedding=[1, 0])[0].id == f"L2:{number}"


def test_persona_versions_are_kept_and_cite_rows(memory):
    one = fact(memory, "I prefer tabs")

    def write(transaction, text):
        connection = transaction.connection
        entries = [PersonaEntry("work_style", text, (one.id,))]
        number = personas.insert(
            connection, scopes.obtain(connection, ""), entries, text=text, trust=4, now_ms=7
        )
        (row,) = persona_index_rows(connection, [number])
        transaction.change("upsert", 3, number, row)
        return number

    first = memory._shared.database.write(lambda t: write(t, "likes tabs"))
    second = memory._shared.database.write(lambda t: write(t, "likes spaces"))
    old, new = memory.history(f"L3:{second}")
    assert (old.version, old.work_style, old.is_current) == (1, "likes tabs", False)
    assert (new.version, new.evidence, new.is_current) == (2, (one.id,), True)
    assert memory.get(f"L3:{first}") == old
    assert [step.tier for step in memory.trace(new.id).path] == ["L3", "L1", "L0"]
    memory._shared.index.rebuild()
    assert memory.recall("spaces", tiers="L3", embedding=[1, 0])[0].id == new.id
    memory.forget(one.id)
    assert memory.stats().personas == 0
    assert memory.verify().ok


def test_the_system_context_is_four_lines():
    assert Persona().to_system_context() == "Project: \nStyle: \nRecent: \nAvoid: "
    persona = Persona(
        project_context="a\nb",
        work_style="c\r\nd",
        recent_focus=["e", "f"],
        avoid_patterns=["g", "h\u2028i"],
    )
    assert persona.to_system_context() == "Project: a b\nStyle: c d\nRecent: e, f\nAvoid: g; h i"


def test_the_steps_build_from_stated_facts_alone_and_change_nothing_below(memory):
    fact(memory, "I prefer small commits", kind="persona", session="monday")
    fact(memory, "never push to main", kind="instruction", session="tuesday")

    def below():
        return memory.sql("SELECT * FROM facts"), memory.sql("SELECT * FROM turns")

    before = below()
    shared = memory._shared
    assert cluster_scope(shared, "").read == 2
    assert abstract_scope(shared, "").written == 1
    assert below() == before
    held = memory.sql("SELECT * FROM scenes"), memory.sql("SELECT * FROM personas")
    assert cluster_scope(shared, "").read == 0
    assert abstract_scope(shared, "").written == 0
    assert (memory.sql("SELECT * FROM scenes"), memory.sql("SELECT * FROM personas")) == held
    (newest,) = memory.sql("SELECT id FROM personas")
    for entry in memory.get(f"L3:{newest[0]}").entries:
        assert entry.sources
        for source in entry.sources:
            assert memory.trace(source).evidence
    assert cluster_scope(shared, "nowhere").read == 0


def test_pending_rows_come_upper_tiers_first(memory):
    keys = [7, embeddings.key_of(1, 3), embeddings.key_of(3, 1)]
    memory._shared.database.write(lambda t: embeddings.add_pending(t.connection, keys))
    with memory._shared.database.read() as connection:
        assert embeddings.pending_keys(connection, 9) == [keys[2], keys[1], keys[0]]


def test_turns_of_a_session_are_read_in_order(memory):
    said = [{"role": "user", "content": f"line {number}"} for number in range(5)]
    memory.capture(said, session="s")
    memory.capture([{"role": "user", "content": "other"}], session="t")
    fact(memory, "asserted", session="s")
    with memory._shared.database.read() as connection:
        scope = scopes.obtain(connection, "")
        read = turns.of_session(connection, scope, "s", after=1, limit=3)
        assert [row.text for row in read] == ["line 1", "line 2", "line 3"]
        last = turns.before(connection, scope, "s", until=3, limit=2)
        assert [row.text for row in last] == ["line 1", "line 2"]


def test_slots_are_found_in_their_scope_alone(memory):
    here = fact(memory, "the port is 80", subject="web", attribute="port", value=80)
    fact(memory, "web is fast", subject="web")
    fact(memory.scoped("other"), "the port is 81", subject="web", attribute="port", value=81)
    with memory._shared.database.read() as connection:
        rows = facts.by_slots(connection, scopes.obtain(connection, ""), [("web", "port")])
    assert [f"L1:{row.id}" for row in rows] == [here.id]


def test_documents_of_a_host_become_no_scene(memory):
    from agentmem import DocumentWrite

    memory.documents.write(
        [
            DocumentWrite(
                key="k", scope="a", value={"x": 1}, texts=["some text"], embeddings=[[1, 0]]
            )
        ]
    )
    assert memory.stats().jobs == ()
    fact(memory.scoped("a"), "a statement")
    assert memory.consolidate().ok
    (scene_,) = memory.scenes()
    assert len(scene_.members) == 1


EDGES = [
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-12:00",
    datetime.max.replace(tzinfo=timezone(timedelta(hours=-12))),
]


@pytest.mark.parametrize("time", EDGES)
def test_a_time_beyond_the_calendar_is_none_and_spoils_no_reading(memory, time):
    said = [{"role": "user", "content": "We decided yesterday to use Rust.", "timestamp": time}]
    (turn,) = memory.capture(said, session="s").ids
    assert memory.get(turn).event_time is None
    assert memory.consolidate().failed == ()
    hits = memory.recall("Rust", tiers=("L0", "L1"), embedding=[1, 0])
    assert {hit.tier for hit in hits} == {"L0", "L1"}
    assert not memory.context("Rust", embedding=[1, 0]).degraded


def test_a_fact_of_a_time_beyond_the_calendar_is_refused(memory):
    with pytest.raises(InvalidInputError, match=r"valid_from: .* outside the years 1 to 9999"):
        memory.remember("odd", valid_from=EDGES[2], embedding=[1, 0])
