"""The same act by other means is known; another act with the same means is not."""

from __future__ import annotations

import pytest

from agentmem.skills.acts import act_likeness, bare
from agentmem.skills.calls import ALIKE, Call
from agentmem.skills.mining import Run
from agentmem.skills.procedure import Procedure, Step
from agentmem.skills.refine import covered, refine


def bash(command: str) -> Call:
    return Call("bash", {"command": command})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Call("read_file", {"path": "src/app.py"}), bash("cat src/app.py")),
        (Call("read_file", {"path": "src/app.py"}), bash("cd /srv && sed -n 1,40p src/app.py")),
        (Call("run_tests", {"target": "tests/test_tax.py"}), bash("pytest -q tests/test_tax.py")),
        (bash("npm run lint"), bash("npx eslint src")),
        (bash("pytest -q"), bash("uv run python -m pytest")),
        (Call("http", {"method": "GET", "url": "https://a.example/health"}),
         bash("curl -sf https://a.example/health")),
        (bash("grep -rn total src"), bash("rg total src")),
        (bash("mv drafts/a.md posts/a.md"), bash("git mv drafts/a.md posts/a.md")),
    ],
)  # fmt: skip
def test_the_same_act_by_other_means(one: Call, other: Call) -> None:
    assert ALIKE <= act_likeness(one, other) <= 0.9
    assert act_likeness(one, other) == act_likeness(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Call("read_file", {"path": "a.py"}), bash("sed -i s/a/b/ a.py")),
        (Call("http", {"method": "POST", "url": "https://a.example/x"}),
         bash("curl https://a.example/x")),
        (bash("curl -X DELETE https://a.example/x"), bash("curl https://a.example/x")),
        (bash("pytest"), bash("ruff check .")),
        (Call("read_file", {"path": "docs/a.md"}), bash("cat /etc/hosts")),
        (bash("kubectl apply -f x.yaml"), bash("kubectl delete -f x.yaml")),
        (bash("git commit -m test"), bash("pytest")),
    ],
)  # fmt: skip
def test_another_act_is_not_alike(one: Call, other: Call) -> None:
    assert act_likeness(one, other) < ALIKE


def test_what_only_says_where_a_command_runs_is_passed_over() -> None:
    assert bare("cd infra && sudo -E env A=1 npx eslint .") == "eslint ."
    assert bare("sudo") == "sudo"
    assert bare("cd x") == "cd x"


def _release() -> Procedure:
    def step(tool: str, *, effect: bool = False, **args: str) -> Step:
        return Step(tool, {k: (v,) for k, v in args.items()}, is_effect=effect)

    return Procedure(
        (
            step("read_file", path="pyproject.toml"),
            step("run_tests", target="tests"),
            step("bash", command="make wheel", effect=True),
            step("bash", command="twine upload dist/wheel", effect=True),
        )
    )


def test_a_run_by_other_means_is_a_run_and_teaches_the_steps_no_words_of_another_tool() -> None:
    calls = [
        bash("cat pyproject.toml"), bash("uv run pytest tests"),
        bash("make wheel"), bash("twine upload dist/wheel"),
    ]  # fmt: skip
    calls = [Call(c.tool, c.leaves, place=i) for i, c in enumerate(calls)]
    assert covered(_release(), calls) is not None
    grown = refine(_release(), Run(tuple(calls)))
    assert grown is not None
    assert grown.procedure.steps == _release().steps
    assert grown.places == (0, 1, 2, 3)


def test_the_same_looks_before_other_changes_are_no_run() -> None:
    calls = [
        Call("read_file", {"path": "pyproject.toml"}), Call("run_tests", {"target": "tests"}),
        bash("make wheel"), bash("docker push shop"), bash("terraform apply"),
        bash("systemctl restart shop"), bash("rm -r build"), bash("useradd ann"),
    ]  # fmt: skip
    assert covered(_release(), calls) is None
