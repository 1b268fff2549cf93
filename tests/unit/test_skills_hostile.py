"""What a careless or hostile host, reviewer, store or folder does to skills: typed, whole, visible."""

import errno
import zipfile

import pytest
from tests.skill_help import Canned, body, call, draft, feed, open_memory, pairs, result, user

from agentmem import Decision, Evidence
from agentmem.errors import (
    InvalidInputError,
    NotOwnerError,
    SkillExistsError,
    StorageFullError,
)
from agentmem.store.guard import StoreWarning


@pytest.fixture
def memory(tmp_path):
    with open_memory(tmp_path / "memory", durability="normal") as memory:
        yield memory


@pytest.fixture
def skills(memory):
    return memory.skills


def write_skill_folder(place, name, text=None):
    folder = place / name
    folder.mkdir(parents=True)
    said = body(f"{name} in its own words") if text is None else text
    (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: Does.\n---\n{said}")


# -- arguments


@pytest.mark.parametrize("value", [5, True, b"x", object(), "text", [1], float("nan")])
@pytest.mark.parametrize("argument", ["resources", "metadata", "reasons", "evidence"])
def test_create_and_update_name_the_argument_that_is_wrong(skills, argument, value):
    skills.create("alpha", description="d", body=body("one"), owner="ann")
    given = {"description": "d", "body": body("two"), "owner": "ann", argument: value}
    with pytest.raises(InvalidInputError):
        skills.create("beta", **given)
    with pytest.raises(InvalidInputError):
        skills.update("alpha", expected_version=1, **given)
    assert [one.version for one in skills.list()] == [1]


@pytest.mark.parametrize("value", [None, 5, b"x", "", "a\0b", "\ud800", "x" * 70_000, object()])
def test_what_is_no_path_is_refused(skills, value):
    for verb in (skills.export, skills.import_):
        with pytest.raises(InvalidInputError):
            verb(value)


def test_other_arguments(skills, tmp_path):
    for wrong in (None, 5, "stop"):
        with pytest.raises(InvalidInputError, match="stop"):
            skills.watch(wrong)
        with pytest.raises(InvalidInputError, match="states"):
            skills.queue(states=wrong)
    with pytest.raises(InvalidInputError, match="names"):
        skills.export(tmp_path / "out", names="alpha")
    for counter in (5, lambda _: "7", lambda _: None, lambda _: -1):
        with pytest.raises(InvalidInputError, match="count_tokens"):
            skills.loadout(owner="ann", count_tokens=counter)
    with pytest.raises(InvalidInputError, match="archives"):
        skills.configure(archives="folder")


# -- replays


def test_a_call_repeated_before_its_result_is_one_call(skills):
    log = [call(1), call(1), result(1), result(1, "other"), call(1, arguments='{"step":2}')]
    fed = skills.add(log, session="s", owner="ann")
    assert (fed.tool_calls, fed.messages, fed.dropped) == (2, 3, {"replayed": 2})


def test_an_id_used_again_after_its_result_is_another_call(skills):
    log = [call(1), result(1), call(1), result(1, "again")]
    assert skills.add(log, session="s", owner="ann").tool_calls == 2


def test_that_holds_wherever_a_long_log_is_cut(skills):
    talk = [user(f"message {number}") for number in range(2_500)]
    fed = skills.add([call(1), result(1), *talk, call(1), result(1)], session="s", owner="ann")
    calls = list(skills.archive_view(fed.archived.id).calls) if fed.archived else []
    assert fed.tool_calls + len(calls) == 2
    assert "replayed" not in fed.dropped


# -- reviews


def test_lone_surrogates_reach_no_reviewer(skills):
    log = [user("please \ud800 make x"), call(1, "run", '{"a":"\\ud800"}'), result(1, "\udfff")]
    skills.add(log, session="s", owner="ann")
    view = skills.archive_view(skills.archive("s", owner="ann").id)
    (made,) = view.calls
    assert (made.arguments, made.result) == ({"a": "\ufffd"}, "\ufffd")
    assert view.messages[0].text == "please \ufffd make x"
    (review,) = skills.review()
    assert (review.outcome, review.error) == ("rejected", None)


def run(version, host):
    """A release that worked."""
    steps = [
        ("bash", f'{{"command":"git checkout -b release-{version}"}}'),
        ("edit", f'{{"path":"/srv/{host}/version.txt","text":"{version}"}}'),
        ("bash", f'{{"command":"make build VERSION={version}"}}'),
        ("bash", f'{{"command":"scp dist/app-{version}.tgz deploy@{host}:/srv"}}'),
        ("bash", '{"command":"pytest -q"}'),
    ]
    log = [user(f"Please release version {version} to {host}")]
    for number, (name, arguments) in enumerate(steps):
        log += [call(number, name, arguments), result(number, "ok")]
    return log


def stumbling(version, host):
    """The same with a call that failed and was replaced: it adds a pitfall to the skill."""
    wrong = call(50, "bash", f'{{"command":"scp dist/app-{version}.zip deploy@{host}:/srv"}}')
    failed = result(50, f"scp: dist/app-{version}.zip: No such file or directory", True)
    log = run(version, host)
    return [*log[:7], wrong, failed, *log[7:]]


def reviewed(skills, log, session, owner):
    skills.add(log, session=session, owner=owner, succeeded=True)
    skills.archive(session, owner=owner)
    (review,) = skills.review()
    return review


def test_a_run_that_adds_to_another_owners_or_a_retired_skill_is_no_poison(skills):
    reviewed(skills, run("1.2.3", "web-alpha"), "b1", "bob")
    made = reviewed(skills, run("2.4.6", "web-beta"), "b2", "bob")
    assert made.outcome == "created"
    theirs = reviewed(skills, stumbling("3.1.4", "web-gamma"), "a1", "ann")
    assert (theirs.outcome, theirs.reasons, theirs.skill) == (
        "rejected", ("duplicate",), made.skill,
    )  # fmt: skip
    skills.approve(made.skill, owner="bob")
    skills.retire(made.skill, owner="bob")
    retired = reviewed(skills, stumbling("4.0.9", "web-delta"), "b3", "bob")
    assert (retired.outcome, retired.reasons) == ("rejected", ("duplicate",))
    assert skills.queue() == []
    assert skills.get(made.skill).version == 1
    skills.rollback(made.skill, to=1, owner="bob", expected_version=1)
    own = reviewed(skills, stumbling("5.2.1", "web-epsilon"), "b4", "bob")
    assert (own.outcome, own.reasons) == ("updated", ("better",))


def test_no_reviewer_brings_a_retired_skill_back(skills):
    feed(skills, "deploy", "s1")
    skills.review(reviewer=Canned())
    skills.retire("deploy", owner="ann")

    class Insisting:
        id = "insisting"

        def review(self, archive, existing, fingerprints):
            del fingerprints
            sources = tuple(one.source for one in archive.calls)
            return Decision(
                outcome="update", reasons=("better",), skill="deploy",
                base_version=existing[0].version, draft=draft("deploy", "other words"),
                evidence=(Evidence(archive=archive.id, sources=sources),),
            )  # fmt: skip

    feed(skills, "deploy", "s2")
    (review,) = skills.review(reviewer=Insisting())
    assert (review.outcome, review.reasons) == ("rejected", ("duplicate",))
    assert skills.get("deploy").version == 1


def test_a_policy_that_fails_approves_nothing_and_loses_nothing(skills):
    def policy(_):
        raise RuntimeError("no policy today")

    careless = skills.configure(auto_approve=policy)
    with pytest.warns(StoreWarning, match="no policy today"):
        made = careless.create("alpha", description="d", body=body("one"), owner="ann")
    assert made.state == "proposed"
    feed(skills, "deploy", "s1")
    with pytest.warns(StoreWarning, match="stays proposed"):
        (review,) = careless.review(reviewer=Canned())
    assert (review.outcome, skills.get("deploy").state) == ("created", "proposed")


# -- external stores


class Payloads:
    """An archive store in memory that can be full or lie."""

    def __init__(self):
        self.kept = {}
        self.is_full = False

    def put(self, key, content):
        if self.is_full:
            raise OSError(errno.ENOSPC, "No space left on device")
        self.kept[key] = content

    def get(self, key):
        return self.kept[key]

    def delete(self, key):
        self.kept.pop(key, None)


def test_a_full_archive_store_holds_up_only_what_needs_it(memory, skills):
    store = Payloads()
    outside = skills.configure(archives=store)
    feed(skills, "deploy", "inside")
    store.is_full = True
    log = [user("please make backup"), *pairs(12)]
    with pytest.raises(StorageFullError, match="the buffer is kept"):
        outside.add(log, session="s", owner="ann")
    with pytest.warns(StoreWarning, match="stays unarchived"):
        assert [one.outcome for one in outside.review(reviewer=Canned())] == ["created"]
    store.is_full = False
    assert [one.skill for one in outside.review(reviewer=Canned())] == ["backup"]
    assert memory.stats().turns == len(log) + 7


@pytest.mark.parametrize("lie", [None, "text", 5, b""])
def test_an_archive_store_that_lies_blocks_the_task(memory, skills, lie):
    store = Payloads()
    outside = skills.configure(archives=store)
    feed(outside, "deploy", "s")
    (key,) = store.kept
    whole, store.kept[key] = store.kept[key], lie
    with pytest.warns(StoreWarning, match="damaged"):
        (review,) = outside.review(reviewer=Canned())
    assert review.outcome == "blocked"
    assert memory.stats().skill_tasks == {"blocked": 1}
    assert any("1 reviews are blocked" in one for one in memory.verify().problems)
    store.kept[key] = whole
    outside.requeue(review.task)
    assert [one.outcome for one in outside.review(reviewer=Canned())] == ["created"]


# -- folders


def test_an_import_is_all_or_nothing(skills, tmp_path):
    write_skill_folder(tmp_path / "in", "aaa", body("the same words"))
    write_skill_folder(tmp_path / "in", "bbb", body("the same words"))
    with pytest.raises(SkillExistsError):
        skills.import_(tmp_path / "in", owner="ann")
    assert skills.list() == []
    skills.create("bbb", description="d", body=body("quite different"), owner="bob")
    write_skill_folder(tmp_path / "other", "aaa")
    write_skill_folder(tmp_path / "other", "bbb")
    with pytest.raises(NotOwnerError):
        skills.import_(tmp_path / "other", owner="ann", merge=True)
    assert [(one.name, one.version) for one in skills.list()] == [("bbb", 1)]
    made = skills.import_(tmp_path / "other", owner="bob", merge=True)
    assert [(one.name, one.version, one.owner) for one in made] == [
        ("aaa", 1, "bob"), ("bbb", 2, "bob"),
    ]  # fmt: skip


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_only_plain_zip_files_are_read(skills, tmp_path, method):
    path = tmp_path / "skill.zip"
    with zipfile.ZipFile(path, "w", method) as file:
        file.writestr("aaa/SKILL.md", "---\nname: aaa\ndescription: Does.\n---\nText.")
    with pytest.raises(InvalidInputError, match="stored nor deflated"):
        skills.import_(path)


def test_a_file_in_the_way_of_an_export(skills, tmp_path):
    skills.create("alpha", description="d", body=body("one"), owner="ann")
    (tmp_path / "file").write_text("mine")
    for place in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(InvalidInputError, match="in the way"):
            skills.export(place, names=["alpha"])
    assert (tmp_path / "file").read_text() == "mine"


# -- what people see


def test_stats_count_reviews_and_verify_finds_what_was_changed(memory, skills):
    assert (memory.stats().skills, memory.stats().skill_tasks) == (0, {})
    feed(skills, "deploy", "s1")
    assert memory.stats().skill_tasks == {"waiting": 1}
    skills.review(reviewer=Canned())
    feed(skills, "backup", "s2")
    assert memory.stats().skills == 1
    assert memory.stats().skill_tasks == {"done": 1, "waiting": 1}
    assert memory.verify().ok
    change = memory._shared.database.write
    change(lambda t: t.connection.execute("UPDATE skill_versions SET body = body || '!'"))
    change(lambda t: t.connection.execute("UPDATE skill_archives SET digest = x'00' WHERE id = 2"))
    assert sorted(memory.verify().problems) == [
        "archive:2 is damaged: its payload is not what was archived",
        "version 1 of the skill 'deploy' is not what was written; it is never handed out",
    ]


# -- size


@pytest.mark.parametrize("role", ["user", "assistant", "tool"])
def test_a_megabyte_in_the_middle_changes_no_decision(tmp_path, role):
    def made(place, padding):
        with open_memory(tmp_path / place, durability="normal") as memory:
            reviews = []
            for session, (version, host) in (
                ("s1", ("1.2.3", "web-alpha")),
                ("s2", ("2.4.6", "web-beta")),
                ("s3", ("3.1.4", "web-gamma")),
            ):
                log = run(version, host)
                if padding and role == "tool":
                    log[6] = result(2, "ok\n" + "compiling a file\n" * 60_000 + "ok")
                elif padding:
                    log.insert(7, {"role": role, "content": "and so it goes on " * 60_000})
                memory.skills.add(log, session=session, owner="ann", succeeded=True)
                memory.skills.archive(session, owner="ann")
                reviews += memory.skills.review()
            (skill,) = memory.skills.list()
            # What users say is padding too, so the words of requests may differ.
            procedure = skill.body.split("## Required inputs")[1].split("## Evidence")[0]
            return [(one.outcome, one.reasons) for one in reviews], procedure

    plain, padded = made("plain", padding=False), made("padded", padding=True)
    assert [outcome for outcome, _ in plain[0]] == ["rejected", "created", "rejected"]
    assert padded == plain
