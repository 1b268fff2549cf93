"""What a call is, how alike two are, and whether a run succeeded."""

import pytest
from tests.skill_archives import archive

from agentmem.models.skills import ArchiveCall
from agentmem.skills.calls import ALIKE, Call, flatten, is_check, is_effect, similarity, verbs
from agentmem.skills.success import calls_of, has_failed, judge


def bash(command):
    return Call("bash", {"command": command})


def http(method, url):
    return Call("http", {"method": method, "url": url})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (bash("docker pull quay.io/a/b:1"), bash("docker pull ghcr.io/c/d:2.0")),
        (bash("ssh web-1 nginx -t"), bash("ssh edge-9 nginx -t")),
        (Call("get_user", {"user_id": "mia_1"}), Call("get_user", {"user_id": "omar_22"})),
        (Call("Read", {"path": "a/b/c.py"}), Call("Read", {"path": "x/y.py"})),
        (http("GET", "https://a.test/healthz"), http("GET", "https://b.test/healthz")),
    ],
)
def test_the_same_step_with_other_arguments(one, other):
    assert similarity(one, other) >= ALIKE
    assert similarity(one, other) == similarity(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (bash("git status"), bash("docker ps")),
        (Call("a", {}), Call("b", {})),
        (bash("npm outdated left-pad"), bash("terraform apply plan.bin")),
        (Call("sql", {"query": "SELECT 1"}), Call("sql", {"query": "DROP TABLE users"})),
    ],
)
def test_other_steps(one, other):
    assert similarity(one, other) < ALIKE


def test_verbs_pass_over_options_paths_and_ids():
    assert verbs("terraform -chdir=infra/x plan -out=p") == ("terraform", "plan")
    assert verbs("sudo systemctl reload nginx") == ("sudo", "systemctl", "reload")
    assert verbs("") == ()


@pytest.mark.parametrize(
    "call",
    [
        bash("git commit -am x"),
        bash("rm -rf build"),
        bash("kubectl rollout undo deploy/x"),
        Call("sql", {"query": "INSERT INTO a SELECT * FROM b"}),
        http("POST", "https://a.test/users"),
        Call("payments_refund", {"id": "1"}),
        Call("Edit", {"file_path": "a", "old_string": "b", "new_string": "c"}),
    ],
)
def test_effects(call):
    assert is_effect(call)


@pytest.mark.parametrize(
    "call",
    [
        bash("git status"),
        bash("cat x"),
        bash("kubectl get pods"),
        bash("python --version"),
        Call("sql", {"query": "SELECT 1"}),
        http("GET", "https://a.test/users"),
        Call("read_file", {"path": "x"}),
        Call("think", {"thought": "delete it"}),
        Call("run_tests", {"target": "x"}),
    ],
)
def test_no_effects(call):
    assert not is_effect(call)


def test_checks():
    assert is_check(bash("cargo test -p x"))
    assert is_check(bash("npm run i18n:lint"))
    assert is_check(http("GET", "https://a.test/healthz"))
    assert not is_check(bash("git commit -m 'add tests'"))
    assert not is_check(bash("cat tests/x.py"))


def test_arguments_are_flattened_and_bounded():
    leaves = flatten({"a": {"b": ["x", 1, None]}, "c": True, "d": {}})
    assert leaves == {"a.b[0]": "x", "a.b[1]": "1", "a.b[2]": "null", "c": "true"}
    assert flatten("raw") == {"": "raw"}
    assert len(flatten({str(n): "x" for n in range(500)})) <= 48
    deep = {}
    for _ in range(100):
        deep = {"k": deep}
    assert sum(map(len, flatten(deep).values())) < 10_000


def result(name, arguments, text, outcome="ok"):
    return ArchiveCall(
        name=name,
        arguments=arguments,
        result=text,
        outcome=outcome,
        place=0,
        source="L0:1",
        result_source="L0:2",
    )


@pytest.mark.parametrize(
    ("call", "failed"),
    [
        (result("run_tests", {"target": "x"}, "1 failed"), True),
        (result("run_tests", {"target": "x"}, "12 passed, 0 failed"), False),
        (result("bash", {"command": "make push"}, "fatal: no remote"), True),
        (result("bash", {"command": "pg_restore -d x y"}, "pg_restore: error: exists"), True),
        (result("bash", {"command": "make"}, "done; exit code 2"), True),
        (result("http", {"method": "PUT", "url": "u"}, '{"status": 404, "error": "x"}'), True),
        (result("http", {"method": "GET", "url": "u"}, '{"status": 200, "error": null}'), False),
        (result("read_file", {"path": "x"}, "if err: print('error: bad')\nexit code 1"), False),
        (result("bash", {"command": "cat log"}, "12:01 ERROR boot\nTraceback (most recent"), False),
        (result("edit", {"path": "x"}, "ok\n" * 9 + "Error: shown code\n" + "ok\n" * 9), False),
        (result("bash", {"command": "python x.py"}, "a\nValueError: bad"), True),
        (result("x", {}, None, "pending"), False),
        (result("x", {}, "fine", "error"), True),
    ],
)
def test_outcome_of_a_call(call, failed):
    assert has_failed(call) is failed


WORK = [("deploy", {"app": "a"}, "ok"), ("bash", {"command": "make test"}, "12 passed")]


@pytest.mark.parametrize(
    ("view", "succeeded"),
    [
        (archive("Go", WORK, succeeded=None), True),
        (archive("Go", WORK, succeeded=False), False),
        (
            archive(
                "Go", [*WORK[:1], ("bash", {"command": "make test"}, "2 failed")], succeeded=None
            ),
            False,
        ),
        (archive("Go", WORK, succeeded=None, answer="I could not get it to work."), False),
        (archive("Go", WORK, succeeded=None, answer="Tôi không thể làm được."), False),
        (archive("Go", WORK, succeeded=None, after="No, that's wrong."), False),
        (archive("Go", WORK, succeeded=None, after="不对，重来"), False),
        (archive("Go", WORK, succeeded=None, after="Thanks, great!"), True),
        (
            archive(
                "Go",
                [*WORK, ("helm_upgrade", {"a": "b"}, "Error: timed out", "error")],
                succeeded=None,
            ),
            False,
        ),
        (
            archive("Go", [("deploy", {"a": "b"}, None, "pending")], succeeded=None, answer=""),
            False,
        ),
        (archive("Go", [*WORK, ("transfer_to_human_agents", {}, "ok")]), False),
        # Nothing was checked, and the answer alone shows nothing, nor do thanks.
        (archive("Go", WORK[:1], succeeded=None), False),
        (archive("Go", WORK[:1], succeeded=None, after="Thanks, great!"), False),
        (archive("Go", WORK[:1]), True),
        # What was changed was looked at: by the name it has, or by the id that the call gave.
        (
            archive(
                "Go",
                [
                    ("update_order", {"order": "o-4711"}, "ok"),
                    ("get_order", {"order": "o-4711"}, "{}"),
                ],
                succeeded=None,
            ),
            True,
        ),
        (
            archive(
                "Go",
                [
                    ("create_order", {"sku": "lamp"}, '{"id": "o-4711"}'),
                    ("get_order", {"order": "o-4711"}, "{}"),
                ],
                succeeded=None,
            ),
            True,
        ),
        (
            archive(
                "Go",
                [
                    ("get_order", {"order": "o-4711"}, "{}"),
                    ("update_order", {"order": "o-4711"}, "ok"),
                    ("get_order", {"order": "o-4712"}, "{}"),
                ],
                succeeded=None,
            ),
            False,
        ),
        (
            archive(
                "Go",
                [
                    ("edit", {"path": "src/app.py", "old": "a", "new": "b"}, "1 replacement"),
                    ("bash", {"command": "cat src/app.py"}, "b"),
                ],
                succeeded=None,
            ),
            False,
        ),
    ],
)
def test_did_the_work_succeed(view, succeeded):
    assert judge(view, calls_of(view)).succeeded is succeeded
