"""Laws of scenes: every row in one scene, the same in whatever pieces, whatever merges and splits."""

from __future__ import annotations

import json
import tempfile

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import texts, unit_vector

from agentmem import Memory
from agentmem.protocols import GivenEmbeddings
from agentmem.store import scenes
from agentmem.tiers.cluster import step as cluster_step
from agentmem.tiers.cluster.assign import Clusterer, Row, Settings
from agentmem.tiers.cluster.profile import Profile
from agentmem.tiers.steps import abstract_scope, cluster_scope

SPACE = GivenEmbeddings("two", 2)
KINDS = ("user", "user", "assistant", "tool_call", "tool_result")
SMALL = Settings(most=8, live=4)


def rows():
    """Rows in the order of their numbers, of a few sessions and kinds."""
    one = st.tuples(
        st.sampled_from(KINDS), st.sampled_from(("a", "b", None)), texts(),
        st.integers(0, 10**9), st.integers(-1, 20),
    )  # fmt: skip
    return st.lists(one, max_size=40).map(
        lambda drawn: [
            Row(
                tier=0, number=nth, kind=kind, session=session, time_ms=at, text=text,
                vector=None if seed < 0 else unit_vector(seed, 4),
            )
            for nth, (kind, session, text, at, seed) in enumerate(drawn, 1)
        ]
    )  # fmt: skip


def members(events):
    """Apply events to nothing and return the scene of each member."""
    held = {}
    for event in events:
        if event.action == "join":
            held |= dict.fromkeys(event.rows, event.scene)
        elif event.action == "merge":
            held = {one: event.other if at == event.scene else at for one, at in held.items()}
        elif event.action == "split":
            held = {
                one: event.other if at == event.scene and one[1] > event.cut[one[0]] else at
                for one, at in held.items()
            }
    return held


@given(rows())
def test_every_row_is_in_one_scene_that_is_there(given_rows):
    clusterer = Clusterer({}, {}, SMALL)
    for row in given_rows:
        clusterer.add(row)
    held = members(clusterer.events)
    assert sorted(held) == [(0, row.number) for row in given_rows]
    there = clusterer.scenes | clusterer.cooled
    assert set(held.values()) <= set(there)
    sizes = {scene: list(held.values()).count(scene) for scene in set(held.values())}
    assert {scene: there[scene].size for scene in sizes} == sizes
    assert all(size <= SMALL.most for size in sizes.values())
    assert len(clusterer.scenes) <= SMALL.live


@given(rows())
def test_the_same_rows_give_the_same_scenes(given_rows):
    runs = []
    for _ in range(2):
        clusterer = Clusterer({}, {}, SMALL)
        for row in given_rows:
            clusterer.add(row)
        runs.append((clusterer.events, {s: p.dump() for s, p in clusterer.scenes.items()}))
    assert runs[0] == runs[1]


@given(rows())
def test_a_profile_comes_back_as_it_was(given_rows):
    clusterer = Clusterer({}, {}, SMALL)
    for row in given_rows:
        clusterer.add(row)
    for profile in clusterer.scenes.values():
        again = Profile.load(json.loads(profile.dump()))
        assert again.dump() == profile.dump()
        assert (again.total is None) == (profile.total is None)
        if profile.total is not None:
            assert np.array_equal(again.total, profile.total)


def said(memory):
    """Return every scene with its members, and the personas, without times of the write."""
    upper = memory.sql(
        "SELECT id, label, text, trust, first_ms, last_ms, weight, state, merged_into, "
        "superseded_ms IS NULL FROM scenes ORDER BY id"
    )
    return upper, memory.sql("SELECT * FROM scene_members ORDER BY 1, 2")


def lower(memory):
    tables = ("turns", "records", "payloads", "tool_calls", "facts")
    links = memory.sql("SELECT * FROM sources WHERE tier < 2 ORDER BY 1, 2, 3, 4")
    return [memory.sql(f"SELECT * FROM {table} ORDER BY 1") for table in tables], links


messages = st.lists(
    st.tuples(
        st.sampled_from(("user", "assistant")), st.sampled_from(("a", "b")), texts(),
        st.integers(0, 59), st.booleans(),
    ),
    min_size=1, max_size=14,
)  # fmt: skip


@settings(max_examples=8)
@given(messages)
def test_scenes_do_not_depend_on_the_pieces(drawn):
    found = []
    for stepwise in (False, True):
        with (
            tempfile.TemporaryDirectory() as folder,
            Memory(folder, embedder=SPACE, redact=False) as memory,
        ):
            for role, session, text, minute, pause in drawn:
                message = {"role": role, "content": text,
                           "timestamp": f"2025-01-01T10:{minute:02}:00+00:00"}  # fmt: skip
                memory.capture([message], session=session)
                if stepwise and pause:
                    cluster_scope(memory._shared, "")
            before = lower(memory)
            cluster_scope(memory._shared, "")
            abstract_scope(memory._shared, "")
            assert lower(memory) == before
            found.append(said(memory))
            held = memory.sql("SELECT row_id FROM scene_members WHERE tier = 0")
            assert sorted(held) == sorted(memory.sql("SELECT id FROM turns"))
    assert found[0] == found[1]


@settings(max_examples=8)
@given(messages, st.data())
def test_forgotten_words_leave_the_scenes(drawn, data):
    with (
        tempfile.TemporaryDirectory() as folder,
        Memory(folder, embedder=SPACE, redact=False) as memory,
    ):
        ids = []
        for nth, (role, session, text, _, _) in enumerate(drawn):
            content = f"{text} canary{nth:03}x"
            ids += memory.capture([{"role": role, "content": content}], session=session).ids
        cluster_scope(memory._shared, "")
        gone = data.draw(st.sets(st.sampled_from(range(len(ids))), min_size=1))
        memory.forget([ids[nth] for nth in sorted(gone)])
        cluster_scope(memory._shared, "")
        rest = str(memory.sql("SELECT label, text, state FROM scenes"))
        for nth in range(len(ids)):
            assert (f"canary{nth:03}x" in rest) <= (nth not in gone)
        held = memory.sql("SELECT row_id FROM scene_members WHERE tier = 0 ORDER BY 1")
        assert held == memory.sql("SELECT id FROM turns ORDER BY 1")
        with memory._shared.database.read() as connection:
            assert all(scenes.members(connection, row.id) for row in scenes.current(connection, 1))


def test_a_piece_is_small_enough_for_one_write():
    assert cluster_step.PIECE <= 2_000
