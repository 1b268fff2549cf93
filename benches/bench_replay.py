"""An agent's run replayed: what its prompts cost in all, and what they still say.

Each real OpenAI and Anthropic log is given turn by turn, as its host would have sent it: with its full
history, with all but the last 10 results masked, with results cut to 200 characters, and compacted. The
sums are estimated prompt tokens over all turns. Carry-over is taken where the log ends: of the
identifiers that a later call needed and only a result had given, how many the prompt of that turn still
held. ``pytest benches/bench_replay.py -s`` prints the table; the budget is a quarter of the whole log.
"""

from __future__ import annotations

import json
import time

import pytest
from tests.carry_over import SHORT, identifiers, scalars, whole
from tests.host_logs import anthropic_logs, long_log, openai_logs, openai_pair, pairs_of, turns_of

from agentmem import GivenEmbeddings, Memory, compress, tool_calls
from agentmem.toollog import estimate_tokens

SPACE = GivenEmbeddings(id="test", ndim=2)
encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
SHARE = 0.25
KEPT = 10
CUT = 200


def with_results(messages, change):
    """Return the list with each result's text changed; ``change(number_from_the_end, text)``."""
    count = sum(kind == "result" for _, kind, _ in pairs_of(messages))
    made = []
    for message in messages:
        if message["role"] == "tool":
            count -= 1
            made.append({**message, "content": change(count, text_of(message["content"]))})
        elif isinstance(message.get("content"), list):
            blocks = []
            for block in message["content"]:
                if block.get("type") == "tool_result":
                    count -= 1
                    blocks.append({**block, "content": change(count, text_of(block["content"]))})
                else:
                    blocks.append(block)
            made.append({**message, "content": blocks})
        else:
            made.append(message)
    return made


def text_of(content):
    return content if isinstance(content, str) else encode(content)


WAYS = {
    "full history": lambda messages: messages,
    f"mask all but the last {KEPT}": lambda messages: with_results(
        messages, lambda left, text: text if left < KEPT else "[masked]"
    ),
    f"cut to {CUT}": lambda messages: with_results(messages, lambda _, text: text[:CUT]),
}


MASKS = (0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 60, 80, 120, 200)
CUTS = (0, 20, 40, 60, 80, 100, 150, 200, 300, 400, 600, 800, 1200, 1600, 2400, 4000, 8000)


def masked(messages, kept):
    return with_results(messages, lambda left, text: text if left < kept else "[masked]")


def shortened(messages, most):
    return with_results(messages, lambda _, text: text[:most])


def at_most(messages, way, settings, tokens, count):
    """Return the mildest setting of a way whose list has no more tokens, else the strictest."""
    best = way(messages, settings[0])
    for setting in settings[1:]:
        made = way(messages, setting)
        if sum(map(count, made)) > tokens:
            break
        best = made
    return best


class Needs:
    """What each turn's calls need that only an earlier result gave, and whether it is in sight."""

    def __init__(self):
        self.named = set()
        self.results = ""
        self.results_seen = 0
        self.needed = 0

    def turn(self, calls, prefix_text):
        """Return what the new calls need; learn what they name."""
        found = set()
        for call in calls:
            words = set()
            for scalar in scalars(call.arguments):
                if len(scalar) <= SHORT:
                    words |= identifiers(scalar)
            found |= {word for word in words - self.named if word in prefix_text}
            self.named |= words | identifiers(whole(call.arguments))
        return found


def result_text(messages):
    out = []
    with_results(messages, lambda _, text: out.append(text) or text)
    return "\n".join(out)


def said(messages):
    return identifiers(
        " ".join(text_of(m.get("content") or "") for m in messages if not pairs_of([m]))
    )


def replay(logs, folder, *, every=1):
    """Return, by way, ``[tokens, needed, kept, fits]`` summed over the logs."""
    equal = ("mask, equal tokens", "cut, equal tokens")
    sums = {name: [0, 0, 0, 0, 0] for name in (*WAYS, *equal, "compact")}
    with Memory(folder, embedder=SPACE, redact=False) as memory:
        for number, messages in enumerate(logs):
            cost = {}

            def count(message, cost=cost):
                key = id(message)
                if key not in cost:
                    cost[key] = (estimate_tokens(encode(message)), message)
                return cost[key][0]

            def once(message):
                return estimate_tokens(encode(message))

            budget = max(int(sum(map(count, messages)) * SHARE), 1)
            prefixes = list(turns_of(messages))[::every]
            needs = Needs()
            for prefix in prefixes:
                following = messages[len(prefix) : len(prefix) + 1]
                wanted = needs.turn(tool_calls(following) if following else [], result_text(prefix))
                wanted -= said(prefix)
                views = {name: way(prefix) for name, way in WAYS.items()}
                compacted = memory.compact(prefix, budget_tokens=budget, session=f"s{number}")
                views["compact"] = compacted.messages
                tokens = compacted.tokens_after
                for name, way, settings in zip(
                    equal, (masked, shortened), (MASKS, CUTS), strict=True
                ):
                    views[name] = at_most(prefix, way, settings, tokens, once)
                for name, view in views.items():
                    row = sums[name]
                    row[0] += sum(estimate_tokens(encode(one)) for one in view)
                    text = result_text(view) if wanted else ""
                    row[1] += len(wanted)
                    row[2] += sum(word in text for word in wanted)
                    row[3] += 1
                    row[4] += compacted.fits if name == "compact" else 0
    return sums


@pytest.mark.parametrize(
    ("family", "logs"), [("OpenAI", openai_logs), ("Anthropic", anthropic_logs)]
)
def test_replay(tmp_path, family, logs, capsys):
    found = logs()
    if not found:
        pytest.skip("needs the tool logs of AGENTMEM_DATA")
    # A session of hundreds of turns is looked at now and then: each prompt is its whole history.
    longest = max(len(messages) for messages in found)
    sums = replay(found, tmp_path / "memory", every=1 if longest < 100 else 4)
    with capsys.disabled():
        print(f"\n{family}, {len(found)} logs, budget {SHARE:.0%} of each whole log")
        full = sums["full history"][0]
        for name, (tokens, needed, kept, turns, fits) in sums.items():
            line = f"  {name:26} {tokens:>9} tokens {tokens / full:6.1%}, carried {kept}/{needed}"
            print(line + (f", {fits} of {turns} prompts in budget" if name == "compact" else ""))
    assert sums["compact"][0] < full
    kept = sums["compact"][2]
    for name in ("mask, equal tokens", "cut, equal tokens"):
        assert sums[name][2] <= kept, f"{name} keeps more"


def test_one_more_call_on_a_session_of_500(tmp_path, capsys):
    """The issue's limit: capture and canvas of one more call take 2 ms of CPU."""
    messages = long_log(openai_pair, 500)
    with Memory(tmp_path / "memory", embedder=SPACE) as memory:
        memory.capture(messages, session="s")
        memory.canvas("s")
        took = []
        for number in range(500, 530):
            pair = openai_pair(number, "src/a.py:10: def name_1\n" * 20)
            messages += pair
            start = time.process_time()
            memory.capture(pair, session="s")
            middle = time.process_time()
            canvas = memory.canvas("s")
            took.append((middle - start, time.process_time() - middle))
        assert str(canvas) == str(compress(tool_calls(messages)))
    captures, canvases = (sorted(times)[len(took) // 2] * 1e3 for times in zip(*took, strict=True))
    with capsys.disabled():
        print(f"\none more call: capture {captures:.2f} ms, canvas {canvases:.2f} ms of CPU")
