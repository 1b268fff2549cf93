"""Any history of a skill's life: what is handed out was approved, is whole, and pins hold."""

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.skill_help import body, open_memory

from agentmem import (
    ConflictError,
    CorruptStoreError,
    IllegalMoveError,
    NotFoundError,
    NotOwnerError,
    SkillExistsError,
)

NAMES = ("alpha", "beta", "gamma")
OWNERS = ("ann", "bob")
SESSIONS = ("s", "t")
names, owners = st.sampled_from(NAMES), st.sampled_from(OWNERS)
versions = st.integers(1, 5)


class Histories(RuleBasedStateMachine):
    """A dictionary beside the store: owner and states by name, pins by session."""

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="agentmem-skills-"))
        self.memory = open_memory(self.folder / "memory", durability="normal")
        self.skills = self.memory.skills
        self.owner = {}
        self.states = {}
        self.texts = {}
        self.ever_approved = set()
        self.tampered = set()
        self.pins = {}
        self.count = 0

    def teardown(self):
        self.memory.close()
        shutil.rmtree(self.folder)

    @initialize()
    def start(self):
        self.make("alpha", "ann")
        self.move("approve", "alpha", "ann", None)

    def text(self):
        self.count += 1
        return body(" ".join(f"w{self.count}x{place}" for place in range(30)))

    def expect(self, name, owner, expected):
        """Return the error that a change of the skill must meet, or None."""
        if name not in self.owner:
            return NotFoundError
        if self.owner[name] != owner:
            return NotOwnerError
        if expected is not None and expected != len(self.states[name]):
            return ConflictError
        return None

    @rule(name=names, owner=owners)
    def make(self, name, owner):
        text = self.text()
        given = {"description": f"Does {name}.", "body": text, "owner": owner}
        if name in self.owner:
            with pytest.raises(SkillExistsError):
                self.skills.create(name, **given)
            return
        self.skills.create(name, **given)
        self.owner[name], self.states[name], self.texts[name] = owner, ["proposed"], [text]

    @rule(name=names, owner=owners, expected=versions)
    def update(self, name, owner, expected):
        text = self.text()
        error = self.expect(name, owner, expected)
        if error is None and self.states[name][-1] == "retired":
            error = IllegalMoveError
        given = {"owner": owner, "expected_version": expected, "body": text, "description": "d",
                 "resources": {}, "metadata": {}}  # fmt: skip
        if error is not None:
            with pytest.raises(error):
                self.skills.update(name, **given)
            return
        self.skills.update(name, **given)
        self.states[name].append("proposed")
        self.texts[name].append(text)

    @rule(
        verb=st.sampled_from(("approve", "reject", "retire")),
        name=names,
        owner=owners,
        version=st.none() | versions,
    )
    def move(self, verb, name, owner, version):
        act = getattr(self.skills, verb)
        error = self.expect(name, owner, None)
        if error is None:
            states = self.states[name]
            number = len(states) if version is None else version
            if number > len(states):
                error = NotFoundError
            elif (name, number) in self.tampered:
                error = CorruptStoreError
            else:
                error = self.moved(verb, states, number)
        if error is not None:
            with pytest.raises(error):
                act(name, owner=owner, version=version)
            return
        act(name, owner=owner, version=version)
        if verb == "approve":
            self.ever_approved.add((name, number))

    @staticmethod
    def moved(verb, states, number):
        """Change the model, or say why the move is not allowed."""
        state = states[number - 1]
        rest = [
            place for place, one in enumerate(states) if one == "approved" and place != number - 1
        ]
        if verb == "retire":
            last_word = number == len(states) and rest
            if state not in ("proposed", "approved") and not (last_word and state == "rejected"):
                return IllegalMoveError
            if state != "rejected":
                states[number - 1] = "retired"
            if last_word:
                for place in rest:
                    states[place] = "retired"
            return None
        if state != "proposed":
            return IllegalMoveError
        states[number - 1] = {"approve": "approved", "reject": "rejected"}[verb]
        if verb == "approve":
            for place in range(number - 1):
                if states[place] == "proposed":
                    states[place] = "rejected"
        return None

    @rule(name=names, owner=owners, to=versions, expected=versions)
    def rollback(self, name, owner, to, expected):
        error = self.expect(name, owner, expected)
        if error is None:
            states = self.states[name]
            was_approved = (name, to) in self.ever_approved
            if to > len(states):
                error = NotFoundError
            elif (name, to) in self.tampered:
                error = CorruptStoreError
            elif states[to - 1] == "rejected" or (states[to - 1] == "retired" and not was_approved):
                error = IllegalMoveError
        given = {"to": to, "owner": owner, "expected_version": expected}
        if error is not None:
            with pytest.raises(error):
                self.skills.rollback(name, **given)
            return
        self.skills.rollback(name, **given)
        if was_approved:
            states[:] = ["rejected" if one == "proposed" else one for one in states]
            self.ever_approved.add((name, len(states) + 1))
        states.append("approved" if was_approved else "proposed")
        self.texts[name].append(self.texts[name][to - 1])

    @rule(name=names, version=versions)
    def tamper(self, name, version):
        if name in self.owner and version <= len(self.states[name]) and self.count % 4 == 0:
            found = next(one for one in self.skills.list() if one.name == name)
            number = int(found.id.split(":")[1])
            self.memory._shared.database.write(
                lambda t: t.connection.execute(
                    "UPDATE skill_versions SET body = body || '!' WHERE skill_id = ? AND version = ?",
                    (number, version),
                )
            )
            self.tampered.add((name, version))

    @rule(name=names, version=versions, outcome=st.sampled_from(("success", "failure")))
    def report(self, name, version, outcome):
        states = self.states.get(name, [])
        if version > len(states) or (name, version) in self.tampered:
            return
        if states[version - 1] not in ("approved", "retired"):
            with pytest.raises(IllegalMoveError):
                self.skills.report(name, version, session="r", outcome=outcome)
        else:
            self.skills.report(name, version, session="r", outcome=outcome)

    @rule(owner=owners, session=st.none() | st.sampled_from(SESSIONS))
    def hand_out(self, owner, session):
        loadout = self.skills.loadout(owner=owner, budget_tokens=100_000, pin=session)
        handed = {one.name: one.version for one in loadout.identities}
        usable = {}
        for name, states in self.states.items():
            if self.owner[name] == owner:
                whole = [
                    number
                    for number, state in enumerate(states, 1)
                    if state == "approved" and (name, number) not in self.tampered
                ]
                if whole:
                    usable[name] = whole
        expected = {}
        for name, whole in usable.items():
            held = self.pins.get((owner, session, name)) if session is not None else None
            if held is None:
                expected[name] = max(whole)
                if session is not None:
                    self.pins[owner, session, name] = max(whole)
            elif held in whole:
                expected[name] = held
        assert handed == expected
        for name, text in loadout.bodies.items():
            assert text == self.texts[name][expected[name] - 1]

    @rule()
    def reopen(self):
        self.memory.close()
        self.memory = open_memory(self.folder / "memory", durability="normal")
        self.skills = self.memory.skills

    @invariant()
    def states_agree(self):
        found = dict(
            self.memory.sql(
                "SELECT name, group_concat(state, ' ') FROM (SELECT name, state FROM skills "
                "JOIN skill_versions ON skill_id = id ORDER BY name, skill_versions.version) "
                "GROUP BY name"
            )
        )
        assert found == {name: " ".join(states) for name, states in self.states.items()}


@pytest.mark.long
@pytest.mark.timeout(1_800)
def test_a_thousand_histories():
    from hypothesis.stateful import run_state_machine_as_test

    run_state_machine_as_test(
        Histories, settings=settings(max_examples=1_000, stateful_step_count=30, deadline=None)
    )


def test_histories():
    from hypothesis.stateful import run_state_machine_as_test

    run_state_machine_as_test(
        Histories, settings=settings(max_examples=40, stateful_step_count=30, deadline=None)
    )
