"""Compacted message lists: valid, smaller, stable, with everything still to be had."""

from __future__ import annotations

import copy
import json

import pytest
from tests.host_logs import (
    anthropic_logs,
    anthropic_pair,
    long_log,
    openai_logs,
    openai_pair,
    pairs_of,
    turns_of,
)

from agentmem import GivenEmbeddings, InvalidInputError, Memory, parse
from agentmem.toollog import estimate_tokens

SPACE = GivenEmbeddings(id="test", ndim=4)
PAIRS = {"openai": openai_pair, "anthropic": anthropic_pair}


@pytest.fixture
def memory(tmp_path):
    with Memory(tmp_path / "memory", embedder=SPACE, redact=False) as opened:
        yield opened


def tokens(messages):
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    return sum(estimate_tokens(encode(message)) for message in messages)


def diagrams(messages):
    text = json.dumps(messages)
    return text.count("stateDiagram-v2")


def result_texts(messages):
    """Return ``(id, text)`` of every result."""
    found = []
    for message in messages:
        if message["role"] == "tool":
            found.append((message["tool_call_id"], message["content"]))
        elif isinstance(message.get("content"), list):
            found += [
                (block["tool_use_id"], block["content"])
                for block in message["content"]
                if block.get("type") == "tool_result"
            ]
    return found


def check(messages, made, budget):
    """The laws that hold for every list and budget."""
    assert pairs_of(made.messages) == pairs_of(messages)
    assert len(made.messages) == len(messages)
    assert made.tokens_before == tokens(messages)
    assert made.tokens_after == tokens(made.messages) <= made.tokens_before
    assert made.fits == (made.tokens_after <= budget) == (made.note == "")
    assert diagrams(made.messages) <= 1
    answers = [at for at, message in enumerate(messages) if message["role"] == "assistant"]
    last = answers[-2] if len(answers) > 1 else 0
    assert made.messages[last:] == messages[last:]
    for old, new in zip(messages, made.messages, strict=True):
        if old["role"] in ("user", "system", "assistant") and not pairs_of([old]):
            assert new is old
        if old["role"] == "assistant":
            assert new == old


@pytest.mark.parametrize("host", PAIRS)
class TestMadeLogs:
    def test_old_results_give_way_and_come_back(self, memory, host):
        messages = long_log(PAIRS[host])
        before = copy.deepcopy(messages)
        budget = tokens(messages) // 3
        made = memory.compact(messages, budget_tokens=budget, session="s")
        assert messages == before
        check(messages, made, budget)
        assert made.fits
        assert len(made.replaced) > 10
        assert diagrams(made.messages) == 1
        results = dict(result_texts(messages))
        refs = {}
        for (call, text), (_, old) in zip(
            result_texts(made.messages), result_texts(messages), strict=True
        ):
            if text != old:
                refs[call] = text.split("]")[0].split()[1]
        assert tuple(refs.values()) == made.replaced
        for call, ref in refs.items():
            assert memory.expand(ref, session="s") == results[call]

    def test_the_canvas_can_be_parsed_and_holds_the_calls_so_far(self, memory, host):
        messages = long_log(PAIRS[host])
        made = memory.compact(messages, budget_tokens=tokens(messages) // 3, session="s")
        carrier = next(text for _, text in result_texts(made.messages) if "stateDiagram" in text)
        steps = parse(carrier[carrier.index("```mermaid") :])
        assert steps[-1].ref == made.replaced[-1]
        assert [step.ref for step in steps] == [f"c{n + 1}" for n in range(len(steps))]

    def test_a_list_within_its_budget_is_left_alone(self, memory, host):
        messages = long_log(PAIRS[host], 4)
        made = memory.compact(messages, budget_tokens=10**6, session="s")
        assert made.messages == messages
        assert made.messages is not messages
        assert (made.replaced, made.fits, made.note) == ((), True, "")

    @pytest.mark.parametrize("share", [0.5, 0.25, 0.1])
    def test_twice_is_once(self, memory, host, share):
        messages = long_log(PAIRS[host])
        budget = int(tokens(messages) * share)
        made = memory.compact(messages, budget_tokens=budget, session="s")
        again = memory.compact(made.messages, budget_tokens=budget, session="s")
        assert again.messages == made.messages
        assert again.replaced == made.replaced
        turns = memory.stats().turns
        memory.compact(made.messages, budget_tokens=budget, session="s")
        assert memory.stats().turns == turns

    def test_the_prefix_is_stable_as_the_log_grows(self, memory, host):
        messages = long_log(PAIRS[host], 60)
        budget = tokens(messages) // 3
        steps = asked = 0
        last = None
        for prefix in turns_of(messages):
            made = memory.compact(prefix, budget_tokens=budget, session="s")
            check(prefix, made, budget)
            assert made.fits
            if last is not None:
                asked += 1
                same = made.messages[: len(last.messages)] == last.messages
                steps += not same
                if not same and last.replaced:
                    carrier = next(
                        at for at, message in enumerate(last.messages)
                        if "stateDiagram" in json.dumps(message)
                    )  # fmt: skip
                    assert made.messages[:carrier] == last.messages[:carrier]
            last = made
        assert asked > 50
        assert 1 < steps < asked / 4

    def test_what_came_back_may_be_carried_on(self, memory, host):
        messages = long_log(PAIRS[host], 60)
        budget = tokens(messages) // 3
        carried = []
        seen = 0
        for prefix in turns_of(messages):
            carried = [*carried, *prefix[seen:]]
            seen = len(prefix)
            made = memory.compact(carried, budget_tokens=budget, session="s")
            assert made.fits
            assert diagrams(made.messages) <= 1
            assert pairs_of(made.messages) == pairs_of(prefix)
            carried = made.messages
        assert memory.stats().turns == len(
            memory.capture(messages, session="whole").ids
        )  # fmt: skip
        for number, (_, text) in enumerate(result_texts(messages), 1):
            assert memory.expand(f"c{number}", session="s") == text

    def test_a_budget_out_of_reach_says_why(self, memory, host):
        messages = long_log(PAIRS[host])
        made = memory.compact(messages, budget_tokens=1, session="s")
        check(messages, made, 1)
        assert not made.fits
        assert "the last 2 turns" in made.note
        assert made.tokens_after < made.tokens_before / 2


def test_failures_stay_visible(memory):
    messages = long_log(anthropic_pair, 10)
    messages[2]["content"][0] |= {"is_error": True, "content": "exit 1\n" + "no such file\n" * 50}
    made = memory.compact(messages, budget_tokens=1, session="s")
    block = made.messages[2]["content"][0]
    assert block["is_error"] is True
    assert block["content"] == "[agentmem c1 FAIL]"
    carrier = next(text for _, text in result_texts(made.messages) if "stateDiagram" in text)
    assert "=> FAIL" in carrier


def test_text_that_looks_like_a_placeholder_is_no_way_to_hide(memory):
    real = "the real result\n" * 40
    fake = "[agentmem c1]"
    messages = [
        {"role": "user", "content": "go"},
        *openai_pair(1, real),
        *openai_pair(2, fake),
        *openai_pair(3, fake + "\nand more"),
        *openai_pair(4, "end"),
    ]
    memory.compact(messages, budget_tokens=10**6, session="s")
    assert memory.expand("c1", session="s") == real
    assert memory.expand("c2", session="s") == fake
    assert memory.expand("c3", session="s") == fake + "\nand more"


def test_results_that_are_more_than_text_stay(memory):
    image = {"type": "image", "source": {"type": "base64", "data": "A" * 4_000}}
    messages = long_log(anthropic_pair, 8)
    messages[2]["content"][0]["content"] = [{"type": "text", "text": "x"}, image]
    messages[4]["content"][0]["content"] = [{"type": "text", "text": "word " * 500}]
    made = memory.compact(messages, budget_tokens=1, session="s")
    assert made.messages[2] == messages[2]
    assert made.messages[4]["content"][0]["content"] == [{"type": "text", "text": "[agentmem c2]"}]


def test_parallel_results_of_one_message(memory):
    uses = [{"type": "tool_use", "id": f"t{n}", "name": "Read", "input": {}} for n in range(3)]
    results = [
        {"type": "tool_result", "tool_use_id": f"t{n}", "content": f"file {n}\n" * 60}
        for n in (2, 0, 1)
    ]
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": uses},
        {"role": "user", "content": [*results, {"type": "text", "text": "and now?"}]},
        *(m for n in range(10, 14) for m in anthropic_pair(n, "ok")),
    ]
    made = memory.compact(messages, budget_tokens=300, session="s")
    check(messages, made, 300)
    assert made.messages[2]["content"][-1] is messages[2]["content"][-1]
    refs = [block["content"].split("]")[0] for block in made.messages[2]["content"][:3]]
    assert refs == ["[agentmem c3", "[agentmem c1", "[agentmem c2"]
    assert memory.expand("c3", session="s") == results[0]["content"]


def test_responses_items(memory):
    items = [{"role": "user", "content": "go"}]
    for n in range(8):
        items += [
            {"type": "function_call", "call_id": f"f{n}", "name": "ls", "arguments": "{}"},
            {"type": "function_call_output", "call_id": f"f{n}", "output": f"file {n}\n" * 60},
        ]
    made = memory.compact(items, budget_tokens=500, session="s")
    assert made.tokens_after < made.tokens_before / 2
    assert made.messages[2]["output"] == "[agentmem c1]"
    assert memory.expand("c1", session="s") == items[2]["output"]
    assert made.messages[-1] is items[-1]


def test_a_counter_of_the_hosts(memory):
    messages = long_log(openai_pair)
    budget = sum(len(json.dumps(message)) for message in messages) // 3
    made = memory.compact(messages, budget_tokens=budget, session="s", count_tokens=len)
    assert made.fits
    assert made.tokens_after <= budget


@pytest.mark.parametrize("budget", [0, -5, True, 1.5, None])
def test_wrong_budget(memory, budget):
    with pytest.raises(InvalidInputError, match="budget_tokens"):
        memory.compact([], budget_tokens=budget, session="s")


@pytest.mark.parametrize("messages", ["[]", b"[]", None, {"role": "user"}, 3])
def test_messages_must_be_a_list(memory, messages):
    with pytest.raises(InvalidInputError, match="messages"):
        memory.compact(messages, budget_tokens=10, session="s")


def test_of_nothing(memory):
    made = memory.compact([], budget_tokens=10, session="s")
    assert (made.messages, made.fits, made.tokens_after) == ([], True, 0)


@pytest.mark.parametrize("share", [0.5, 0.25, 0.1])
@pytest.mark.parametrize("logs", [openai_logs, anthropic_logs])
def test_real_logs_at_a_share_of_their_size(memory, data_path, logs, share):
    del data_path
    fitting = 0
    for number, messages in enumerate(logs()):
        budget = max(int(tokens(messages) * share), 1)
        before = copy.deepcopy(messages)
        made = memory.compact(messages, budget_tokens=budget, session=f"s{number}")
        assert messages == before
        check(messages, made, budget)
        again = memory.compact(made.messages, budget_tokens=budget, session=f"s{number}")
        assert again.messages == made.messages
        fitting += made.fits
    print(f"{logs.__name__} at {share}: {fitting} of {number + 1} fit")


@pytest.mark.parametrize("logs", [openai_logs, anthropic_logs])
def test_real_logs_as_they_grow(memory, data_path, logs):
    del data_path
    for number, messages in enumerate(logs()[::6]):
        budget = max(tokens(messages) // 2, 1)
        last = None
        for prefix in list(turns_of(messages))[-40:]:
            made = memory.compact(prefix, budget_tokens=budget, session=f"s{number}")
            check(prefix, made, budget)
            if last is not None:
                changed = next(
                    (at for at, pair in enumerate(zip(last.messages, made.messages, strict=False))
                     if pair[0] != pair[1]), None,
                )  # fmt: skip
                if changed is not None and last.replaced:
                    assert "stateDiagram" in json.dumps(last.messages[: changed + 1])
            last = made


CHAT = [{"role": "user", "content": "List."}, *openai_pair(1, "a.py")]


@pytest.mark.parametrize("inner", [{"messages": CHAT}, {"message": CHAT[0]}, CHAT])
def test_only_a_flat_list_is_taken(memory, inner):
    with pytest.raises(InvalidInputError, match=r"messages\[3\] holds messages of its own"):
        memory.compact([*CHAT, inner], budget_tokens=10, session="s")
    with pytest.raises(InvalidInputError, match=r"messages\[0\] is blank"):
        memory.compact(["", *CHAT], budget_tokens=10, session="s")
    assert memory.sql("SELECT count(*) FROM turns") == [(0,)]
