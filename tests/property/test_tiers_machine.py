"""Any history of captures, statements, consolidations, failures, crashes and forgetting.

Beside the memory stands a dict of what the messages state. After each step every persona entry
leads down to scenes, facts and turns, every span quotes its source, no scope shows another's rows,
and building upper tiers has left the lower ones as they were, to the byte.
"""

import hashlib
import os
import shutil
import signal
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.extractors import Broken, say

from agentmem import Memory, NotFoundError
from agentmem.protocols import GivenEmbeddings
from agentmem.store.scopes import contains
from agentmem.tiers.steps import abstract_scope, cluster_scope

SPACE = GivenEmbeddings("two", 2)
SCOPES = ("", "acme", "acme/alice", "acme/bob", "acme-corp")
SUBJECTS = ("user", "server")
ATTRIBUTES = ("port", "editor", "city")
VALUES = ("one", "two", "three")
KINDS = ("fact", "persona", "instruction", "decision", "event")
SESSIONS = ("s", "t")
LOWER = {
    0: ("turns", "records", "tool_calls"),
    1: ("facts",),
    2: ("scenes", "scene_members"),
}


def shape(scope):
    return st.sampled_from(scope)


class Tiers(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="tiers-"))
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        self.extractor = Broken(None)
        # Per scope: slot -> values in the order they were said and read.
        self.read = {scope: {} for scope in SCOPES}
        self.unread = {scope: {} for scope in SCOPES}
        self.said = 0
        self.open()

    def open(self):
        self.memory = Memory(
            self.folder / "m", embedder=SPACE, extractor=self.extractor, clock=lambda: self.now
        )

    def teardown(self):
        self.memory.close()
        shutil.rmtree(self.folder)

    @rule(
        scope=shape(SCOPES), session=shape(SESSIONS), kind=shape(KINDS), subject=shape(SUBJECTS),
        attribute=shape(ATTRIBUTES), values=st.lists(shape(VALUES), min_size=1, max_size=3),
        noise=st.sampled_from(("", "hm, ", "xin chào 🙂 ", "\u202eabc\n")),
    )  # fmt: skip
    def capture(self, scope, session, kind, subject, attribute, values, noise):
        self.said += 1
        lines = [f"{noise}{kind} {subject} {attribute} is {value} #{self.said}" for value in values]
        captured = self.memory.scoped(scope).capture(say(*lines), session=session)
        assert captured.new == len(lines)
        again = self.memory.scoped(scope).capture(say(*lines), session=session)
        assert (again.ids, again.new) == (captured.ids, 0)
        waiting = self.unread[scope].setdefault(session, [])
        waiting += [((subject, attribute), value) for value in values]

    @rule(scope=shape(SCOPES), session=shape(SESSIONS), kind=shape(KINDS))
    def state(self, scope, session, kind):
        self.said += 1
        self.memory.scoped(scope).remember(
            f"statement {self.said}", kind=kind, session=session, embedding=[1, self.said % 3]
        )

    def note_read(self, scope, session=None):
        for inner in SCOPES:
            if not contains(scope, inner):
                continue
            for name in sorted(self.unread[inner], key=lambda one: self.order(inner, one)):
                if session in (None, name):
                    for slot, value in self.unread[inner].pop(name):
                        self.read[inner][slot] = value

    def order(self, scope, session):
        """Sessions are read in the order in which they first had something to read."""
        return list(self.unread[scope]).index(session)

    @rule(scope=shape(SCOPES))
    def consolidate(self, scope):
        below = self.digest(0)
        report = self.memory.scoped(scope).consolidate()
        assert report.ok
        assert self.digest(0) == below
        self.note_read(scope)
        assert self.memory.scoped(scope).consolidate().messages == 0

    @rule(scope=shape(SCOPES), session=shape(SESSIONS))
    def end_session(self, scope, session):
        persona = self.memory.scoped(scope).end_session(session)
        assert contains(scope, persona.scope)
        self.note_read(scope, session)

    @rule(scope=shape(SCOPES))
    def build_above(self, scope):
        below = self.digest(1)
        cluster_scope(self.memory._shared, scope)
        assert self.digest(1) == below
        below = self.digest(2)
        abstract_scope(self.memory._shared, scope)
        assert self.digest(2) == below

    @rule(scope=shape(SCOPES))
    def fail(self, scope):
        before = self.digest(1)

        def boom(_messages):
            raise RuntimeError("out of order")

        self.extractor.instead = boom
        waiting = any(self.unread[inner] for inner in SCOPES if contains(scope, inner))
        report = self.memory.scoped(scope).consolidate()
        self.extractor.instead = None
        assert report.ok is not waiting
        assert self.digest(1) == before

    @rule(scope=shape(SCOPES), after=st.integers(0, 12))
    def crash(self, scope, after):
        """A child does the work and is killed after some commits; the parent opens again."""
        self.memory.close()
        child = os.fork()
        if child == 0:
            try:
                with Memory(
                    self.folder / "m", embedder=SPACE, extractor=self.extractor,
                    clock=lambda: self.now,
                ) as memory:  # fmt: skip
                    commits = [0]

                    def step(name):
                        commits[0] += name in ("begun", "written", "committed")
                        if commits[0] > after:
                            os.kill(os.getpid(), signal.SIGKILL)

                    memory._shared.database._step = step
                    memory.scoped(scope).consolidate()
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        self.open()
        self.memory.scoped(scope).consolidate()
        self.note_read(scope)

    @rule(back=st.booleans(), days=st.integers(0, 400))
    def clock_jumps(self, back, days):
        self.now += timedelta(days=-days if back else days)

    @precondition(lambda self: self.memory.stats().facts)
    @rule(data=st.data())
    def forget_a_statement(self, data):
        rows = self.memory.sql(
            "SELECT id FROM facts WHERE superseded_ms IS NULL AND extractor IS NULL ORDER BY id"
        )
        if rows:
            (number,) = data.draw(st.sampled_from(rows))
            self.memory.forget(f"L1:{number}")
            with pytest.raises(NotFoundError):
                self.memory.get(f"L1:{number}")

    @rule()
    def reopen(self):
        self.memory.close()
        self.open()

    def digest(self, tier):
        """Return a hash of every row of the tables up to a tier."""
        hasher = hashlib.sha256()
        for level in range(tier + 1):
            for table in LOWER[level]:
                hasher.update(repr(self.memory.sql(f"SELECT * FROM {table}")).encode())
            links = "SELECT * FROM sources WHERE tier = ?"
            hasher.update(repr(self.memory.sql(links, (level,))).encode())
        return hasher.hexdigest()

    @invariant()
    def nothing_is_doubled_or_lost(self):
        for scope in SCOPES:
            held = {
                (fact.subject, fact.attribute): fact.value
                for fact in self.memory.scoped(scope).facts(limit=1000)
                if fact.scope == scope and fact.attribute is not None
            }
            assert held == self.read[scope], scope
        twice = self.memory.sql(
            "SELECT scope_id, subject, attribute FROM facts WHERE attribute IS NOT NULL "
            "AND superseded_ms IS NULL GROUP BY 1, 2, 3 HAVING count(*) > 1"
        )
        assert twice == []

    @invariant()
    def every_upper_row_leads_down_and_quotes(self):
        for scope in SCOPES:
            memory = self.memory.scoped(scope)
            persona = memory.persona()
            for entry in persona.entries:
                assert entry.sources
                for one in entry.sources:
                    self.check_trace(memory, scope, one)
            if persona.version:
                tiers = {step.tier for step in memory.trace(persona.id).path}
                assert tiers >= {"L3", "L1", "L0"}
            for scene in memory.scenes():
                assert contains(scope, scene.scope)
                for one in scene.members:
                    assert memory.get(one).scope == scene.scope
                self.check_trace(memory, scope, scene.id)
            for fact in memory.facts(limit=1000):
                assert contains(scope, fact.scope)
                self.check_trace(memory, scope, fact.id)

    def check_trace(self, memory, scope, row_id):
        trace = memory.trace(row_id)
        turns = {turn.id: turn for turn in trace.evidence}
        assert turns
        for step in trace.path:
            assert contains(scope, memory.get(step.id).scope)
            for source, (start, end) in step.spans.items():
                quoted = turns[source].text[start:end]
                assert step.text in quoted

    @invariant()
    def store_and_index_agree(self):
        assert self.memory.verify().ok

    @invariant()
    def scopes_never_cross_in_recall(self):
        for scope in SCOPES:
            hits = self.memory.scoped(scope).recall(
                "port editor city statement", k=50, tiers=("L0", "L1", "L2", "L3"), embedding=[1, 0]
            )
            assert all(contains(scope, hit.scope) for hit in hits)


Tiers.TestCase.settings = settings(max_examples=8, stateful_step_count=16, deadline=None)
TestTiers = Tiers.TestCase


class LongTiers(Tiers):
    pass


LongTiers.TestCase.settings = settings(max_examples=200, stateful_step_count=40, deadline=None)
TestTiersLong = pytest.mark.long(pytest.mark.timeout(3600)(LongTiers.TestCase))
