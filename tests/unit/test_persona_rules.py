"""The persona: which fact speaks in which field, versions, evidence, pages."""

import pytest

from agentmem import Memory, Persona, Trust
from agentmem.models import PersonaEntry
from agentmem.protocols import GivenEmbeddings
from agentmem.store import personas
from agentmem.tiers.persona import diff_personas, persona_page
from agentmem.tiers.persona_rules import (
    MAX_ENTRY_CHARS,
    MOST,
    Focus,
    Statement,
    compose,
    field_of,
    is_aside,
    is_one_off,
)
from agentmem.tiers.steps import abstract_scope, cluster_scope

SPACE = GivenEmbeddings("two", 2)


def stated(text, kind="persona", *, trust=Trust.USER, **more):
    return Statement(id="L1:1", kind=kind, text=text, trust=trust, **more)


@pytest.mark.parametrize(
    ("fact", "field"),
    [
        (stated("The user prefers small commits.", attribute="likes"), "work_style"),
        (stated("The user hates pie charts.", attribute="dislikes"), "avoid_patterns"),
        (stated("The user hates them."), None),
        (stated("Never push on Fridays.", "instruction"), "avoid_patterns"),
        (stated("Don't propose it.", "instruction"), None),
        (stated("Our rule is two reviewers.", "decision", subject="team"), "work_style"),
        (stated("The user tends to plan ahead.", is_read=True), "work_style"),
        (stated("The user jogs, which they tend to like.", is_read=True), None),
        (stated("Đừng bao giờ dùng GetX.", "instruction"), "avoid_patterns"),
        (stated("不要用弹窗打断学生。", "instruction"), "avoid_patterns"),
        (stated("Use SI units.", "instruction"), "work_style"),
        (stated("Reply in one word for this answer.", "instruction"), None),
        (stated("Call me Captain.", "instruction", quoted="Just today, call me Captain."), None),
        (stated("The user is a nurse.", "fact", attribute="occupation"), "project_context"),
        (stated("Người dùng dạy tiếng Anh ở Huế.", "fact", subject="user"), "project_context"),
        (stated("The boss likes pies.", "fact", subject="boss", attribute="likes"), None),
        (stated("The team uses Riverpod.", "decision", subject="team"), "project_context"),
        (stated("The user bought milk.", "event", subject="user"), None),
        (stated("The user prefers dark mode.", trust=Trust.TOOL), None),
        (stated("The user prefers dark mode.", trust=Trust.IMPORTED), None),
        (stated("老周喜欢写长文档。", subject="user", is_read=True), None),
        (stated(" "), None),
    ],
)
def test_a_fact_speaks_in_one_field_or_none(fact, field):
    assert field_of(fact) == field


def test_orders_of_the_moment_and_asides():
    assert is_one_off("Answer in French for this message.")
    assert is_one_off("Chỉ lần này thôi, trả lời ngắn.")
    assert is_one_off("这一次用英文回复")
    assert not is_one_off("Answer in French.")
    assert is_aside("Sam on the team prefers Fusion.")
    assert is_aside("From now on, use tabs.")
    assert not is_aside("The dashboard refreshes every minute.")


def test_entries_are_bounded_and_say_a_thing_once():
    facts = [
        Statement(id=f"L1:{nth}", kind="instruction", text=f"Never use w{nth}ord{nth}.",
                  trust=Trust.USER, order=nth, priority=90)
        for nth in range(1, 40)
    ]  # fmt: skip
    facts += [
        Statement(id="L1:50", kind="persona", text="The user is quite pragmatic.", trust=Trust.USER, order=50),
        Statement(id="L1:51", kind="persona", text="The user is very pragmatic.", trust=Trust.USER, order=51,
                  scene="L2:1"),
        Statement(id="L1:52", kind="persona", text="The user likes " + "x" * 500, trust=Trust.USER, order=52),
    ]  # fmt: skip
    entries = compose(facts, [Focus(f"topic {nth}", nth, (f"L2:{nth}",)) for nth in range(9)])
    persona = Persona.of(entries)
    assert len(persona.avoid_patterns) == MOST["avoid_patterns"]
    assert persona.recent_focus == ["topic 8", "topic 7", "topic 6"]
    style = [entry for entry in entries if entry.field == "work_style"]
    assert style[0] == PersonaEntry("work_style", "is very pragmatic", ("L1:51", "L1:50", "L2:1"))
    assert max(len(entry.text) for entry in entries) <= MAX_ENTRY_CHARS
    assert all(entry.sources for entry in entries)


@pytest.fixture
def memory(tmp_path):
    with Memory(tmp_path / "m", embedder=SPACE) as opened:
        yield opened


def build(memory):
    cluster_scope(memory._shared, "")
    return abstract_scope(memory._shared, "").written


def newest(memory):
    with memory._shared.database.read() as connection:
        return [personas.to_persona(row) for row in personas.versions(connection, "")]


def test_a_version_comes_only_when_something_else_is_said(memory):
    at = {"embedding": [1, 0]}
    memory.remember("I prefer small commits", kind="persona", session="a", **at)
    assert build(memory) == 1
    assert build(memory) == 0
    memory.remember("The user bought milk", kind="event", subject="shop", session="a", **at)
    memory.remember("Never push on Fridays", kind="instruction", session="b", **at)
    assert build(memory) == 1
    first, second = newest(memory)
    assert (first.version, first.is_current, second.version, second.is_current) == (
        1,
        False,
        2,
        True,
    )
    assert "+ Avoid: Never push on Fridays" in diff_personas(first, second)
    assert diff_personas(second, second) == []
    facts = {fact.id for fact in memory.facts()}
    assert {one for one in second.evidence if one.startswith("L1:")} <= facts
    assert {step.tier for step in memory.trace(second.id).path} >= {"L3", "L2", "L1", "L0"}


def test_a_version_is_made_again_when_what_it_cites_is_superseded(memory):
    memory.remember("I prefer tabs", key="tabs", kind="persona", embedding=[1, 0])
    build(memory)
    memory.remember("I prefer spaces", key="tabs", kind="persona", embedding=[1, 0])
    assert build(memory) == 1
    assert newest(memory)[-1].work_style == "I prefer spaces"


def test_no_version_number_is_used_again(memory):
    seen = []
    for tool in ("tabs", "spaces", "both"):
        fact = memory.remember(f"I prefer {tool}", kind="persona", session=tool, embedding=[1, 0])
        build(memory)
        seen.append(newest(memory)[-1].version)
        memory.forget(fact.id)
        assert newest(memory) == []
    assert seen == [1, 2, 3]


def test_a_persona_has_a_page(request):
    entries = [
        PersonaEntry("project_context", "agentmem: Rust core, Python API", ("L1:1",)),
        PersonaEntry("work_style", "prefers surgical edits", ("L1:2", "L2:1")),
        PersonaEntry("avoid_patterns", "don't say <done> while bugs remain", ("L1:3",)),
    ]
    page = persona_page(Persona.of(entries, version=3, scope="acme"))
    path = request.path.parents[1] / "golden" / "tiers" / "persona_page.md"
    if request.config.getoption("--update-golden"):
        path.write_text(page, encoding="utf-8")
    assert page == path.read_text(encoding="utf-8")


def test_the_system_context_of_the_mission():
    persona = Persona(
        project_context="yana-ai: Rust runtime + 3518 skills, multi-agent",
        work_style="prefers surgical edits, no comments, vi + en",
        recent_focus=["mobile sync", "security rules", "README cleanup"],
        avoid_patterns=["don't say oke ngon lành while bugs remain"],
    )
    assert persona.to_system_context() == (
        "Project: yana-ai: Rust runtime + 3518 skills, multi-agent\n"
        "Style: prefers surgical edits, no comments, vi + en\n"
        "Recent: mobile sync, security rules, README cleanup\n"
        "Avoid: don't say oke ngon lành while bugs remain"
    )
    assert Persona().to_system_context() == "Project: \nStyle: \nRecent: \nAvoid: "
