"""Laws of skills that hold for any input."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.skill_archives import archive
from tests.strict_skill_md import problems

from agentmem.models.skills import REASONS, Draft, SkillVersion, SkillView
from agentmem.skills.gates import check_decision
from agentmem.skills.lint import lint
from agentmem.skills.loadout import make_loadout
from agentmem.skills.procedure import Procedure, bind_call
from agentmem.skills.reviewer import RuleReviewer
from agentmem.skills.skill_md import export_skill, parse, read_skill
from agentmem.skills.template import align, bind, render

WORDS = [
    "a",
    "deploy",
    "--n",
    "x/y.z",
    "v1.2",
    "'",
    '"',
    "(",
    ")",
    " ",
    "\n",
    ":",
    "=",
    "máy",
    "部署",
    "🚀",
    "\0",
]
lines = st.lists(st.sampled_from(WORDS), max_size=12).map("".join)
texts = st.one_of(lines, st.text(max_size=40))
scalars = st.one_of(texts, st.integers(), st.booleans(), st.none(), st.floats(allow_nan=False))
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=6,
)
arguments = st.one_of(
    texts,
    st.dictionaries(
        st.sampled_from(["command", "path", "old", "url", "", "k"]), values, max_size=4
    ),
)
tools = st.sampled_from(["bash", "edit", "http", "pay", "refund_order", "think", "", "công_cụ"])
calls = st.lists(
    st.tuples(
        tools, arguments, st.one_of(st.none(), texts), st.sampled_from(["ok", "error", "pending"])
    ),
    max_size=12,
)


@given(st.lists(texts, min_size=1, max_size=4))
def test_each_text_is_its_template_with_its_values(rows):
    parts, slots = align(rows)
    for n, row in enumerate(rows):
        rest = iter(slots)
        assert "".join(next(rest)[n] if p is None else p for p in parts) == row


@given(st.lists(texts, min_size=2, max_size=3))
def test_bound_values_give_the_text_back(rows):
    from agentmem.skills.parameters import Pool

    parts, slots = align(rows)
    pool = Pool()
    pool.learn((v, "", "k") for v in slots)
    template = pool.template(parts, slots)
    for row in rows:
        found = bind(template, row)
        if found is not None:
            assert "".join(p if isinstance(p, str) else found[p.name] for p in template) == row
    assert render(template) is not None


@settings(max_examples=60)
@given(calls, calls, st.one_of(st.none(), st.booleans()), st.one_of(st.none(), texts))
def test_any_archive_is_decided_and_the_decision_passes_the_gates(one, two, succeeded, intent):
    reviewer = RuleReviewer()
    first_view = archive("Do it", one, succeeded=succeeded)
    first = reviewer.review(first_view, (), ())
    view = archive("Again", two, id="archive:2", succeeded=succeeded, intent=intent)
    decision = reviewer.review(view, (), first.fingerprints)
    assert decision == reviewer.review(view, (), first.fingerprints)
    assert decision.reasons
    assert set(decision.reasons) <= set(REASONS)
    assert check_decision(decision, view, (), first.fingerprints) == decision
    for fingerprint in (*first.fingerprints, *decision.fingerprints):
        assert (
            len(json.dumps(dict(fingerprint.data), ensure_ascii=False).encode("utf-8", "replace"))
            <= 65_536
        )
    if succeeded is False:
        assert decision.outcome == "reject"


@settings(max_examples=60)
@given(calls)
def test_the_same_run_twice_is_explained_by_what_it_makes(run):
    reviewer = RuleReviewer()
    first = reviewer.review(archive("Do it", run), (), ())
    second = reviewer.review(archive("Do it", run, id="archive:2"), (), first.fingerprints)
    if first.reasons == ("one-off",):
        assert second.outcome == "create" or second.reasons in {("untrusted",), ("bad-draft",)}
    if second.draft is not None:
        procedure = Procedure.from_json(json.loads(json.dumps(second.draft.metadata))["procedure"])
        from agentmem.skills.success import calls_of

        rows = calls_of(archive("Do it", run))
        for step in procedure.steps:
            assert any(bind_call(step, call) is not None for call in rows)


@given(values)
def test_any_data_is_a_procedure_or_none(data):
    procedure = Procedure.from_json(data)
    assert (
        procedure is None
        or Procedure.from_json(json.loads(json.dumps(procedure.to_json()))) == procedure
    )
    forged = {
        "format": 1,
        "steps": [{"tool": data, "args": data}],
        "pitfalls": [{"step": 0, "args": data}],
        "swaps": [[0, 0], data],
        "parameters": [data, {"name": data, "step": data}],
        "words": data,
        "runs": data,
    }
    assert Procedure.from_json(forged) is not None


names = st.from_regex(r"[a-z0-9]{1,8}(-[a-z0-9]{1,6}){0,3}", fullmatch=True)
clean = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=80)
drafts = st.builds(
    Draft,
    name=names,
    description=clean.filter(lambda t: t.strip()),
    body=clean,
    resources=st.dictionaries(
        st.sampled_from(["scripts/a.sh", "assets/b/c", "references/d.md"]), st.binary(max_size=50)
    ),
    metadata=st.dictionaries(
        clean.filter(lambda k: k != "frontmatter"),
        st.recursive(
            st.one_of(clean, st.integers(), st.booleans(), st.none()),
            lambda inner: st.lists(inner, max_size=3),
            max_leaves=4,
        ),
        max_size=3,
    ),
)


@settings(max_examples=60)
@given(drafts)
def test_import_of_export_is_equal(draft):
    version = SkillVersion(
        id="skill:1",
        name=draft.name,
        version=1,
        state="approved",
        owner="a",
        author="a",
        scope="",
        description=draft.description,
        body=draft.body,
        hash="",
        resources=draft.resources,
        metadata=draft.metadata,
    )
    with tempfile.TemporaryDirectory() as folder:
        out = export_skill(version, Path(folder))
        assert problems(out) == []
        assert read_skill(out) == draft
    lint(draft)


@given(texts)
def test_any_text_is_a_skill_or_a_plain_error(text):
    from agentmem.errors import InvalidInputError

    for whole in (text, f"---\n{text}\n---\n", f"---\nname: a\ndescription: {text}\n---\n"):
        try:
            parse(whole)
        except InvalidInputError:
            pass


@given(
    st.lists(
        st.tuples(names, texts, texts, st.booleans(), st.floats(0, 1)),
        max_size=12,
        unique_by=lambda t: t[0],
    ),
    st.integers(0, 400),
)
def test_a_loadout_keeps_its_budget_and_its_fence(rows, budget):
    skills = [
        SkillView(
            id="skill:1",
            name=n,
            version=1,
            state="approved",
            owner="a",
            description=d,
            body=b,
            is_suspect=s,
            relevance=r,
        )
        for n, d, b, s, r in rows
    ]
    got = make_loadout(
        skills, budget_tokens=budget, pin=None, count_tokens=lambda t: len(t.split())
    )
    assert got.tokens <= budget
    assert got.text.count("</available_skills>") <= 1
    flags = [e.is_suspect for e in got.identities]
    assert flags == sorted(flags)
