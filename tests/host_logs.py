"""Message lists as hosts send them, made and real."""

from __future__ import annotations

import gzip
import json
import random

from tests.real_logs import data_folder


def openai_pair(number, body, *, name="Bash", command=None):
    """Return an OpenAI call and its result."""
    arguments = json.dumps({"command": command or f"grep -rn name_{number} src"})
    call = {
        "id": f"call_{number}",
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"call_{number}", "content": body},
    ]


def anthropic_pair(number, body, *, is_error=False):
    """Return an Anthropic call and its result."""
    use = {
        "type": "tool_use",
        "id": f"toolu_{number}",
        "name": "Bash",
        "input": {"command": f"grep -rn name_{number} src"},
    }
    result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": body}
    if is_error:
        result["is_error"] = True
    return [
        {"role": "assistant", "content": [{"type": "text", "text": "Next."}, use]},
        {"role": "user", "content": [result]},
    ]


def body(rng, lines=30):
    return "\n".join(
        f"src/mod{rng.randrange(99)}.py:{rng.randrange(900)}: def name_{rng.randrange(9999)}"
        for _ in range(lines)
    )


def long_log(pair, count=40, seed=1):
    """Return a made log of ``count`` calls in a host's shape."""
    rng = random.Random(seed)
    messages = [{"role": "user", "content": "Find the name that is used twice."}]
    for number in range(count):
        messages += pair(number, body(rng, rng.randrange(5, 40)))
        if number % 10 == 9:
            messages.append({"role": "user", "content": f"Go on with part {number}."})
    return messages


def openai_logs():
    """Return the message lists of the real OpenAI logs; empty where the data is absent."""
    found = []
    for path in sorted((data_folder() / "toollogs" / "openai").glob("*.jsonl.gz")):
        found += [
            json.loads(line)["messages"] for line in gzip.decompress(path.read_bytes()).splitlines()
        ]
    return found


def anthropic_logs():
    """Return the real Claude Code sessions as the Anthropic message lists that were sent."""
    found = []
    for path in sorted((data_folder() / "toollogs" / "claude-code").glob("*.jsonl.gz")):
        messages = []
        last = None
        for line in gzip.decompress(path.read_bytes()).splitlines():
            record = json.loads(line)
            message = record.get("message")
            if record.get("type") not in ("user", "assistant") or record.get("isMeta"):
                continue
            content = message["content"]
            if isinstance(content, str):
                content = [{"type": "text", "text": content}]
            content = [block for block in content if block.get("type") != "thinking"]
            if not content:
                continue
            key = message.get("id") or message["role"]
            if messages and key == last:
                messages[-1]["content"] += content
            else:
                messages.append({"role": message["role"], "content": list(content)})
            last = key
        if messages:
            found.append(messages)
    return found


def turns_of(messages):
    """Yield each beginning of a list at which the host would ask its model, then the whole."""
    for at, message in enumerate(messages):
        if at and message["role"] == "assistant" and messages[at - 1]["role"] != "assistant":
            yield messages[:at]
    yield messages


def pairs_of(messages):
    """Return the calls and results of a list: ids in order, and which message holds each."""
    found = []
    for at, message in enumerate(messages):
        for call in message.get("tool_calls") or ():
            found.append((at, "call", call["id"]))
        if message["role"] == "tool":
            found.append((at, "result", message["tool_call_id"]))
        if isinstance(message.get("content"), list):
            for block in message["content"]:
                if block.get("type") == "tool_use":
                    found.append((at, "call", block["id"]))
                if block.get("type") == "tool_result":
                    found.append((at, "result", block["tool_use_id"]))
    return found
