"""Versions, states, owners, pins: who may do what to a skill, and what is handed out."""

import threading
from datetime import timedelta

import apsw
import pytest
from tests.skill_help import body, feed

from agentmem import (
    ConflictError,
    CorruptStoreError,
    Evidence,
    IllegalMoveError,
    InvalidInputError,
    NotFoundError,
    NotOwnerError,
    SkillExistsError,
)
from agentmem.skills import reading
from agentmem.store.skills import is_whole

WORDS = " ".join(f"word{place}" for place in range(40))


def create(skills, name="deploy", owner="ann", text=None, **more):
    return skills.create(
        name, description=f"Does {name}.", body=body(text or f"{name} {WORDS} {name}"),
        owner=owner, **more,
    )  # fmt: skip


def handed(skills, owner="ann", query=None, pin=None):
    found = skills.loadout(query, owner=owner, pin=pin, budget_tokens=100_000)
    return sorted((one.name, one.version) for one in found.identities)


def test_from_proposal_to_retirement(skills):
    made = create(skills, reasons=["asked for"], resources={"scripts/a.sh": b"echo"})
    assert (made.version, made.state, made.author, made.is_head) == (1, "proposed", "ann", True)
    assert handed(skills) == []
    assert skills.approve("deploy", owner="ann").state == "approved"
    assert handed(skills) == [("deploy", 1)]
    assert handed(skills, owner="bob") == []
    second = skills.update("deploy", owner="ann", expected_version=1, body=body("better"))
    assert (second.version, second.state) == (2, "proposed")
    assert second.resources == made.resources
    assert second.hash != made.hash
    assert handed(skills) == [("deploy", 1)]
    skills.approve("deploy", owner="ann")
    assert handed(skills) == [("deploy", 2)]
    skills.retire("deploy", owner="ann")
    assert handed(skills) == []
    assert [one.state for one in skills.versions("deploy")] == ["retired", "retired"]
    back = skills.rollback("deploy", to=1, owner="ann", expected_version=2)
    assert (back.version, back.state, back.restores) == (3, "approved", 1)
    assert (back.hash, back.body) == (made.hash, made.body)
    assert handed(skills) == [("deploy", 3)]
    assert "+When to use better" in skills.diff("deploy", 1, 2)
    assert skills.diff("deploy", 1, 3) == ""


def test_moves_that_are_not_allowed(skills):
    create(skills)
    skills.reject("deploy", owner="ann")
    for verb in (skills.approve, skills.reject, skills.retire):
        with pytest.raises(IllegalMoveError) as caught:
            verb("deploy", owner="ann")
        assert caught.value.state == "rejected"
    with pytest.raises(IllegalMoveError):
        skills.rollback("deploy", to=1, owner="ann", expected_version=1)
    with pytest.raises(IllegalMoveError):
        skills.report("deploy", 1, session="s", outcome="failure")
    skills.update("deploy", owner="ann", expected_version=1, body=body("again"))
    skills.approve("deploy", owner="ann")
    with pytest.raises(IllegalMoveError):
        skills.approve("deploy", owner="ann")
    skills.retire("deploy", owner="ann")
    with pytest.raises(IllegalMoveError, match="retired"):
        skills.update("deploy", owner="ann", expected_version=2, body=body("x"))


def test_a_rejected_proposal_does_not_shield_what_is_in_use(skills):
    create(skills)
    skills.approve("deploy", owner="ann")
    skills.update("deploy", owner="ann", expected_version=1, body=body("worse"))
    skills.reject("deploy", owner="ann")
    assert handed(skills) == [("deploy", 1)]
    skills.retire("deploy", owner="ann")
    assert handed(skills) == []


def test_older_proposals_are_passed_over(skills):
    create(skills)
    for version in (1, 2):
        skills.update("deploy", owner="ann", expected_version=version, body=body(f"v{version}"))
    skills.approve("deploy", owner="ann", version=2)
    states = [one.state for one in skills.versions("deploy")]
    assert states == ["rejected", "approved", "proposed"]
    assert handed(skills) == [("deploy", 2)]


def test_only_the_owner_and_only_in_scope(memory):
    mine = memory.scoped("acme/ann").skills
    other = memory.scoped("acme/bob").skills
    create(mine)
    with pytest.raises(NotFoundError):
        other.get("deploy")
    with pytest.raises(NotFoundError):
        other.approve("deploy", owner="ann")
    assert memory.skills.get("deploy").scope == "acme/ann"
    create(other, owner="bob")
    with pytest.raises(InvalidInputError, match="several scopes"):
        memory.skills.get("deploy")
    for verb in (
        lambda: mine.update("deploy", owner="bob", expected_version=1, body=body()),
        lambda: mine.approve("deploy", owner="bob"),
        lambda: mine.reject("deploy", owner="bob"),
        lambda: mine.retire("deploy", owner="bob"),
        lambda: mine.rollback("deploy", to=1, owner="bob", expected_version=1),
    ):
        with pytest.raises(NotOwnerError):
            verb()
    with pytest.raises(InvalidInputError, match="owner"):
        mine.approve("deploy", owner="")
    assert mine.get("deploy").state == "proposed"


def test_stale_and_missing_versions(skills):
    create(skills)
    for stale in (2, 99):
        with pytest.raises(ConflictError) as caught:
            skills.update("deploy", owner="ann", expected_version=stale, body=body())
        assert (caught.value.expected_version, caught.value.actual_version) == (stale, 1)
    for wrong in (None, 0, -1, "1", True, 1 << 70):
        with pytest.raises(InvalidInputError, match="expected_version"):
            skills.update("deploy", owner="ann", expected_version=wrong, body=body())
    with pytest.raises(ConflictError):
        skills.approve("deploy", owner="ann", expected_version=2)
    with pytest.raises(NotFoundError, match="no version 7"):
        skills.get("deploy", version=7)


def test_names_and_near_duplicates(skills):
    create(skills)
    with pytest.raises(SkillExistsError, match="this name") as caught:
        create(skills, text="quite another thing")
    assert (caught.value.name, caught.value.actual_version) == ("deploy", 1)
    with pytest.raises(ConflictError, match="nearly the same"):
        create(skills, name="ship", text=f"deploy {WORDS} deploy")
    merged = create(
        skills, name="ship", text=f"deploy {WORDS}", merge_into="deploy", expected_version=1
    )
    assert (merged.name, merged.version) == ("deploy", 2)
    for name in ("", "A", "a--b", "-a", "a-", "x" * 65, "../a", "a\x00", "tên", None, "a\n"):
        with pytest.raises(InvalidInputError, match="name"):
            create(skills, name=name)


@pytest.mark.parametrize(
    "resources",
    [{"a.sh": b""}, {"scripts/../x": b""}, {"scripts/a": "text"}, {"scripts/" + "x" * 600: b""},
     {"scripts/a:b": b""}, {"scripts//a": b""}, {"scripts/x": b"x" * (1 << 20) + b"y"}],
)  # fmt: skip
def test_resources_that_are_none(skills, resources):
    with pytest.raises(InvalidInputError, match="resources"):
        create(skills, resources=resources)


def test_texts_that_are_none(skills):
    for bad in ({"description": " "}, {"description": "x" * 1_025}, {"body": ""},
                {"body": "\ud800"}, {"metadata": {"a": object()}}, {"metadata": {"a": float("nan")}},
                {"reasons": "text"}):  # fmt: skip
        with pytest.raises(InvalidInputError):
            skills.create("ok", **({"description": "d", "body": "b", "owner": "ann"} | bad))
    with pytest.raises(NotFoundError):
        skills.get("ok")


def test_two_failures_in_a_row_make_suspect(skills):
    create(skills)
    skills.approve("deploy", owner="ann")
    assert not skills.report("deploy", 1, session="a", outcome="failure").is_suspect
    assert not skills.report("deploy", 1, session="b", outcome="success").is_suspect
    assert not skills.report("deploy", 1, session="c", outcome="failure").is_suspect
    suspect = skills.report("deploy", 1, session="d", outcome="failure")
    assert suspect.is_suspect
    assert (suspect.successes, suspect.failures) == (1, 3)
    skills.report("deploy", 1, session="e", outcome="failure")
    (task,) = skills.queue()
    assert (task.kind, task.state) == ("suspect", "waiting")
    assert handed(skills) == [("deploy", 1)]
    assert skills.review(reviewer=object.__new__(_Nobody)) == []
    skills.update("deploy", owner="ann", expected_version=1, body=body("mended"))
    assert not skills.approve("deploy", owner="ann").is_suspect
    assert skills.queue() == []
    with pytest.raises(InvalidInputError, match="outcome"):
        skills.report("deploy", 1, session="s", outcome="fine")


class _Nobody:
    id = "nobody"

    def review(self, archive, existing, fingerprints):
        raise AssertionError(archive, existing, fingerprints)


def test_long_disuse_is_flagged_and_nothing_deleted(skills, clock):
    create(skills)
    skills.approve("deploy", owner="ann")
    clock.now += timedelta(days=31)
    assert skills.get("deploy").is_stale
    assert handed(skills) == [("deploy", 1)]
    handed(skills, pin="s")
    assert not skills.get("deploy").is_stale


def test_pins_hold_until_the_version_is_retired(skills):
    create(skills)
    skills.approve("deploy", owner="ann")
    assert handed(skills, pin="s") == [("deploy", 1)]
    skills.update("deploy", owner="ann", expected_version=1, body=body("new"))
    skills.approve("deploy", owner="ann")
    create(skills, name="other", text="quite another")
    skills.approve("other", owner="ann")
    assert handed(skills, pin="s") == [("deploy", 1), ("other", 1)]
    assert handed(skills, pin="t") == [("deploy", 2), ("other", 1)]
    skills.retire("deploy", owner="ann")
    assert handed(skills, pin="s") == [("other", 1)]


def test_a_tampered_version_is_never_handed_out(memory, skills):
    create(skills, resources={"scripts/a.sh": b"echo"})
    create(skills, name="other", text="quite another")
    for name in ("deploy", "other"):
        skills.approve(name, owner="ann")
    assert handed(skills) == [("deploy", 1), ("other", 1)]
    foreign = apsw.Connection(str(memory.path / "store.amem"))
    foreign.execute("UPDATE skill_resources SET content = x'6375'")
    foreign.execute("UPDATE skill_versions SET body = body || 'x' WHERE skill_id = 2")
    foreign.close()
    assert handed(skills) == []
    for name in ("deploy", "other"):
        with pytest.raises(CorruptStoreError, match="not what was written"):
            skills.get(name)
    assert all("tampered" in one.flags[0] for one in skills.list())


def test_a_write_elsewhere_costs_no_skill_a_new_check(memory, skills, monkeypatch):
    checked = []

    def counted(skill, row, files):
        checked.append(skill.name)
        return is_whole(skill, row, files)

    monkeypatch.setattr(reading, "is_whole", counted)
    for name, text in (("deploy", None), ("other", "quite another")):
        create(skills, name=name, text=text, resources={"scripts/a.sh": name.encode()})
        skills.approve(name, owner="ann")
    assert handed(skills, pin="s") == [("deploy", 1), ("other", 1)]
    assert sorted(checked) == ["deploy", "other"]
    checked.clear()
    memory.remember("Something else.", embedding=[1.0, 0.0])
    assert handed(skills, query="deploy") == [("deploy", 1), ("other", 1)]
    skills.update("other", owner="ann", expected_version=1, body=body("a proposal"))
    assert handed(skills) == [("deploy", 1), ("other", 1)]
    assert checked == []
    foreign = apsw.Connection(str(memory.path / "store.amem"))
    foreign.execute("UPDATE skill_resources SET content = x'6375' WHERE skill_id = 1")
    foreign.close()
    assert handed(skills) == [("other", 1)]
    assert checked == ["deploy"]


def test_a_session_s_use_is_that_of_what_it_was_shown(memory, skills, clock):
    create(skills, text="near")
    create(skills, name="other", text="far " * 90)
    for name in ("deploy", "other"):
        skills.approve(name, owner="ann")
    clock.now += timedelta(days=200)
    one = skills.loadout("deploy near", owner="ann", pin="s", budget_tokens=35)
    assert [entry.name for entry in one.identities] == ["deploy"]
    assert skills.get("deploy").last_used == clock.now
    assert skills.get("other").last_used is None
    # It is held to both all the same.
    skills.update("other", owner="ann", expected_version=1, body=body("new"))
    skills.approve("other", owner="ann")
    assert handed(skills, pin="s") == [("deploy", 1), ("other", 1)]
    assert memory.verify().ok


def test_policy_approves_only_what_it_says(skills):
    policy = skills.configure(auto_approve=lambda made: made.owner == "ann")
    assert create(policy).state == "approved"
    assert create(policy, name="other", owner="bob", text="something else").state == "proposed"


def test_evidence_must_exist(skills):
    archive = feed(skills, "deploy", "s")
    good = Evidence(archive=archive.id, sources=("L0:2", "L0:3"))
    assert create(skills, evidence=[good]).evidence == (good,)
    for bad in (Evidence(archive="archive:9", sources=("L0:1",)),
                Evidence(archive=archive.id, sources=("L0:99",))):  # fmt: skip
        with pytest.raises(NotFoundError):
            create(skills, name="other", text="else", evidence=[bad])
    for bad in (Evidence(archive="x", sources=()), Evidence(archive=archive.id, sources=("L1:1",))):
        with pytest.raises(InvalidInputError):
            create(skills, name="other", text="else", evidence=[bad])


def test_a_thousand_concurrent_updates(memory, skills):
    create(skills)
    wins, losses = [], []

    def work(number):
        handle = memory.skills
        for turn in range(125):
            expected = handle.get("deploy").version
            try:
                wins.append(
                    handle.update(
                        "deploy", owner="ann", expected_version=expected,
                        body=body(f"{number} {turn}"),
                    ).version
                )  # fmt: skip
            except ConflictError as error:
                losses.append((error.expected_version, expected, error.actual_version))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(wins) + len(losses) == 1_000
    assert losses
    assert all(named == expected < actual for named, expected, actual in losses)
    assert sorted(wins) == list(range(2, len(wins) + 2))
    assert skills.get("deploy").version == len(wins) + 1
