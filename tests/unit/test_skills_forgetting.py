"""What was forgotten is in no skill either; what still has support stays, and is looked at again."""

from dataclasses import replace
from datetime import timedelta

import pytest
from tests.skill_help import SPACE, body, call, result, user

from agentmem import Decision, Draft, Evidence, Memory
from agentmem.skills.body import draft_of
from agentmem.skills.calls import Call
from agentmem.skills.mining import Run, mine
from agentmem.store.skill_withdrawal import FRAME

CANARY = "zebrafishquartz"


@pytest.fixture
def memory(tmp_path, clock):
    with Memory(tmp_path / "memory", embedder=SPACE, redact=False, clock=clock) as memory:
        yield memory


def found_in(memory):
    """The files of the folder that hold the canary, a second or so after forget and purge."""
    folder = memory.path
    return [
        path.name for path in folder.rglob("*")
        if path.is_file() and CANARY.encode() in path.read_bytes().lower()
    ]  # fmt: skip


class Quoting:
    """Puts the user's words and an argument into every part of a skill."""

    id = "quoting-1"

    def __init__(self, name=f"make-{CANARY}", extra=""):
        self.name, self.extra = name, extra

    def review(self, archive, existing, fingerprints):
        del fingerprints
        words = next(m.text for m in archive.messages if m.role == "user") + self.extra
        view = next((one for one in existing if one.name == self.name), None)
        evidence = Evidence(
            archive=archive.id, sources=tuple(c.source for c in archive.calls), note=words[:99]
        )
        made = Draft(
            name=self.name, description=f"Does {words}", body=body(words), metadata={"said": words},
            resources={"references/a.md": words.encode()},
        )  # fmt: skip
        if view is not None:
            return Decision(
                outcome="update", reasons=("better",), draft=made, skill=view.name,
                base_version=view.version, evidence=(evidence,), notes=words,
            )  # fmt: skip
        return Decision(
            outcome="create", reasons=("repeated",), draft=made, evidence=(evidence,), notes=words
        )


def feed(memory, text, session, argument="x"):
    log = [user(text)]
    for n in range(3):
        log += [call(n, "deploy", f'{{"to":"{argument}","step":{n}}}'), result(n)]
    memory.skills.add(log, session=session, owner="ann", succeeded=True)
    memory.skills.archive(session, owner="ann", intent=text)


def rows_of(memory, session):
    return [
        f"L0:{number}" for (number,) in memory.sql(
            "SELECT id FROM turns WHERE session = ? ORDER BY id", (session,)
        )
    ]  # fmt: skip


def test_no_byte_stays_in_a_skill_that_rests_on_what_is_forgotten(memory):
    feed(memory, f"please make {CANARY} now", "s", CANARY)
    (review,) = memory.skills.review(reviewer=Quoting())
    skills = memory.skills
    skills.approve(review.skill, owner="ann", note=f"for {CANARY}")
    # A person's own version, which repeats it, and one that was brought back.
    skills.update(review.skill, owner="ann", expected_version=1, body=body(f"{CANARY} again"))
    skills.rollback(review.skill, to=1, owner="ann", expected_version=2)
    assert found_in(memory)
    gone = memory.forget(session="s")
    assert gone.counts["skills_withdrawn"] == 1
    memory.purge()
    assert found_in(memory) == []
    (left,) = skills.list()
    assert [one.state for one in skills.versions(left.name)] == ["retired", "rejected", "retired"]
    assert all("forgotten" in one.flags[0] for one in skills.versions(left.name))
    assert skills.loadout(owner="ann").identities == ()
    assert {one.kind for one in skills.queue()} == {"suspect"}
    assert memory.verify().ok


def test_a_dry_run_says_as_much_and_changes_nothing(memory):
    feed(memory, f"please make {CANARY} now", "s")
    memory.skills.review(reviewer=Quoting())
    said = memory.forget(session="s", dry_run=True)
    assert said.counts["skills_withdrawn"] == 1
    assert memory.skills.get(f"make-{CANARY}").state == "proposed"
    assert memory.forget(session="s").counts == said.counts


def test_one_of_two_runs_is_forgotten_and_the_other_says_all_that_the_skill_says(memory):
    for session in ("one", "two"):
        feed(memory, "please make shopfront now", session, "shopfront")
        memory.skills.review(reviewer=Quoting("shopfront"))
    memory.skills.approve("shopfront", owner="ann", version=2)
    memory.forget(session="one")
    old, new = memory.skills.versions("shopfront")
    # Version 1 rests on the forgotten run alone, version 2 on the other.
    assert (old.state, old.body) == ("rejected", "Forgotten with what it rested on.")
    assert (new.state, new.is_suspect) == ("approved", False)
    assert "shopfront" in new.body
    assert [one.name for one in memory.skills.loadout(owner="ann").identities] == ["shopfront"]


def test_what_is_left_with_support_is_suspect_until_it_proves_itself(memory):
    skills = memory.skills
    feed(memory, "please make shopfront now", "one", "shopfront")
    feed(memory, "please make shopfront now", "two", "shopfront")
    evidence = [
        Evidence(archive=f"archive:{n}", sources=tuple(rows_of(memory, session)), note="a run")
        for n, session in ((1, "one"), (2, "two"))
    ]
    skills.create(
        "shopfront", description="Does shopfront.", body=body("make shopfront"), owner="ann",
        evidence=evidence,
    )  # fmt: skip
    skills.approve("shopfront", owner="ann")
    memory.forget(session="one")
    made = skills.get("shopfront")
    assert (made.state, made.is_suspect) == ("approved", True)
    assert "shopfront" in made.body
    assert made.evidence[0].sources == ()
    assert made.evidence[0].note == ""
    assert made.evidence[1].sources == evidence[1].sources
    assert skills.loadout(owner="ann").identities[0].is_suspect
    skills.report("shopfront", 1, session="t", outcome="success")
    assert not skills.get("shopfront").is_suspect
    assert {one.kind for one in skills.queue()} == {"archive"}
    # With the last run goes what it said.
    memory.forget(session="two")
    (left,) = skills.list()
    assert (left.name, left.state) == ("forgotten-1", "retired")


def test_a_word_that_only_the_metadata_holds_is_found_in_any_script(memory):
    class Hidden(Quoting):
        def review(self, archive, existing, fingerprints):
            made = super().review(archive, existing, fingerprints)
            words = next(m.text for m in archive.messages if m.role == "user")
            plain = Draft(
                name="plain",
                description="Does it.",
                body=body(),
                metadata={"said": words.split()[-1]},
            )
            return replace(made, draft=plain)

    feed(memory, "xin hãy đọc sổ-ngựavằn", "s")
    memory.skills.review(reviewer=Hidden("plain"))
    assert memory.skills.get("plain").metadata == {"said": "sổ-ngựavằn"}
    memory.forget(session="s")
    assert memory.skills.get("plain").metadata == {}


def test_one_row_of_a_run_is_enough(memory):
    feed(memory, f"please make {CANARY} now", "s")
    memory.skills.review(reviewer=Quoting())
    memory.forget(rows_of(memory, "s")[:1])
    memory.purge()
    assert found_in(memory) == []


def test_an_answer_that_waits_to_be_applied_and_its_error_go_too(memory):
    class Failing:
        id = "failing-1"

        def review(self, archive, existing, fingerprints):
            del archive, existing, fingerprints
            raise RuntimeError(f"cannot make {CANARY}")

    feed(memory, f"please make {CANARY} now", "s")
    memory.skills.review(reviewer=Failing())
    assert CANARY in memory.skills.queue()[0].error
    memory.forget(session="s")
    memory.purge()
    assert found_in(memory) == []


def test_retention_leaves_skills_as_they_are(memory, clock):
    feed(memory, "please make shopfront now", "s")
    memory.skills.review(reviewer=Quoting("shopfront"))
    memory.consolidate()
    clock.now += timedelta(days=2)
    memory.set_retention("L0", max_age=timedelta(days=1))
    gone = memory.apply_retention(dry_run=False)
    assert gone.counts["L0"]
    assert "skills_withdrawn" not in gone.counts
    assert memory.skills.get("shopfront").state == "proposed"


def test_the_frame_of_a_skill_is_no_word_of_a_run():
    run = [
        Run((
            Call("qqread", {"qqa": f"qqx{n}"}, place=0), Call("qqmake", {"qqb": f"qqy{n}"}, place=1),
            Call("qqcheck", {"qqc": f"qqz{n}"}, place=2), Call("qqsend", {"qqd": f"qqw{n}"}, place=3),
        ), "qqplease")
        for n in range(2)
    ]  # fmt: skip
    found = mine(run)
    assert found is not None
    made = draft_of(
        found[0], (Evidence(archive="archive:1", sources=("L0:1",), note="a later run"),)
    )
    words = {
        word for text in (made.description, made.body)
        for word in "".join(c if c.isalpha() else " " for c in text.casefold()).split()
    }  # fmt: skip
    strange = {w for w in words if not w.startswith("qq") and len(w) > 1} - FRAME
    assert strange == set()
