"""Whatever is given for any argument of a public method, what comes out is a typed error."""

import asyncio
import inspect
import threading
from contextlib import suppress

import pytest
from tests.skill_help import SPACE, body, open_memory, pairs

import agentmem
from agentmem import AgentMemError, AsyncMemory, InvalidInputError, Ranking
from agentmem.skills import Skills

WRONG = (
    None, 5, 10**400, -1, 1e308, float("nan"), b"\xff", "\ud800", "", [None], [5], [object()], [[]],
    {}, {5: object()}, {"x": [[]]},
)  # fmt: skip
STOP = threading.Event()
STOP.set()

HOW = {"owner": "ann", "expected_version": 1}
MEMORY = {
    "remember": {"text": "a fact", "embedding": [1, 0]},
    "remember_many": {"facts": [{"text": "a fact", "embedding": [1, 0]}]},
    "capture": {"messages": pairs(1), "session": "run"},
    "recall": {"query": "fact", "embedding": [1, 0]},
    "recall_many": {"queries": ["fact"], "embeddings": [[1, 0]]},
    "facts": {},
    "get": {"id": "L1:1"},
    "history": {"id": "L1:1"},
    "trace": {"id": "L1:1"},
    "canvas": {"session": "run"},
    "expand": {"ref": "c1"},
    "compact": {"messages": pairs(1), "budget_tokens": 100, "session": "run"},
    "context": {"query": "fact", "embedding": [1, 0]},
    "consolidate": {},
    "end_session": {"session": "run"},
    "scenes": {},
    "persona": {},
    "start_consolidation": {},
    "stop_consolidation": {},
    "scoped": {"scope": "below"},
    "sql": {"query": "SELECT 1"},
    "stats": {},
    "verify": {},
    "rebuild_index": {},
    "forget": {"ids": "L1:1", "dry_run": True},
    "purge": {},
    "set_retention": {"tier": "L0"},
    "retention": {},
    "apply_retention": {},
    "reembed": {"embedder": None},
    "export": {"path": "export.jsonl"},
    "import_": {"path": "export.jsonl"},
    "backup": {"path": "backup"},
    "close": {},
}  # fmt: skip
SKILLS = {
    "configure": {},
    "add": {"messages": pairs(1), "session": "run", "owner": "ann"},
    "archive": {"session": "run", "owner": "ann"},
    "archive_view": {"archive": "archive:1"},
    "sweep": {},
    "review": {},
    "watch": {"stop": STOP},
    "queue": {},
    "requeue": {"task": "task:1"},
    "loadout": {"owner": "ann"},
    "export": {"directory": "skills"},
    "import_": {"directory": "skills"},
    "list": {},
    "get": {"name": "deploy"},
    "versions": {"name": "deploy"},
    "diff": {"name": "deploy", "a": 1, "b": 1},
    "create": {"name": "other", "description": "Does it.", "body": body("else"), "owner": "ann"},
    "update": {"name": "deploy", **HOW},
    "approve": {"name": "deploy", **HOW},
    "reject": {"name": "deploy", **HOW},
    "retire": {"name": "deploy", **HOW},
    "rollback": {"name": "deploy", "to": 1, **HOW},
    "report": {"name": "deploy", "version": 1, "session": "run", "outcome": "success"},
}  # fmt: skip
PARTS = {"memory": (agentmem.Memory, MEMORY), "skills": (Skills, SKILLS)}


def public(kind):
    return {
        name
        for name, value in inspect.getmembers(kind)
        if not name.startswith("_") and inspect.isfunction(value)
    }


def arguments(kind, method):
    found = inspect.signature(getattr(kind, method)).parameters.values()
    return [one.name for one in found if one.name != "self" and one.kind is not one.VAR_KEYWORD]


CALLS = [(part, method) for part, (_, methods) in PARTS.items() for method in methods]


@pytest.fixture
def memory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with open_memory("memory", durability="normal") as memory:
        memory.remember("a fact", embedding=[1, 0])
        memory.skills.create("deploy", description="Does it.", body=body(), owner="ann")
        yield memory


@pytest.mark.parametrize("part", PARTS)
def test_every_public_method_is_tried(part):
    kind, methods = PARTS[part]
    assert set(methods) == public(kind)


@pytest.mark.parametrize(("part", "method"), CALLS)
def test_a_wrong_argument_gives_a_typed_error(memory, part, method):
    kind, methods = PARTS[part]
    call = getattr(memory if part == "memory" else memory.skills, method)
    for argument in arguments(kind, method):
        with pytest.raises(InvalidInputError, match=argument):
            call(**{**methods[method], argument: object()})
    for argument in arguments(kind, method):
        for value in WRONG:
            # What the operating system says passes through.
            with suppress(AgentMemError, OSError):
                call(**{**methods[method], argument: value})


@pytest.mark.parametrize("argument", arguments(agentmem.Memory, "__init__"))
def test_a_wrong_option_gives_a_typed_error(argument, tmp_path):
    base = {"path": tmp_path / "memory", "embedder": SPACE}
    for options in (base, {**base, "max_workers": 1}):
        with pytest.raises(InvalidInputError, match=argument):
            open_and_close(**{**options, argument: object()})
    assert not (tmp_path / "memory").exists()


def open_and_close(path, max_workers=None, **options):
    if max_workers is None:
        agentmem.Memory(path, **options).close()
        return

    async def run():
        async with AsyncMemory(path, max_workers=max_workers, **options):
            pass

    asyncio.run(run())


def test_an_awaited_method_raises_the_same(tmp_path):
    async def run():
        async with AsyncMemory(tmp_path / "memory", embedder=SPACE) as memory:
            with pytest.raises(InvalidInputError, match="tiers"):
                await memory.recall("fact", embedding=[1, 0], tiers=None)
            with pytest.raises(InvalidInputError, match="queries"):
                await memory.recall_many(None)
            with pytest.raises(InvalidInputError, match="owner"):
                await memory.skills.list(owner=object())

    asyncio.run(run())


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"queries": ["fact", None]}, r"queries\[1\]"),
        ({"queries": ["fact"], "colour": 1}, "'colour' is unknown; known are .*tiers"),
        ({"queries": ["fact"], "kinds": 5}, "kinds: .* 5 was given"),
        ({"queries": ["fact"], "embeddings": {0: [1, 0]}}, "embeddings"),
    ],
)
def test_recall_many_says_which(memory, given, named):
    with pytest.raises(InvalidInputError, match=named):
        memory.recall_many(**{"embeddings": [[1, 0]], **given})


def test_a_half_life_is_a_number_that_the_engine_can_hold(memory):
    with pytest.raises(InvalidInputError, match="half_life_days: more than 0 and at most"):
        Ranking(half_life_days=1e308)
    longest = Ranking(recency=1.0, half_life_days=1e300)
    assert memory.recall("fact", embedding=[1, 0], ranking=longest)
