"""Mermaid's own parsers accept every diagram and see exactly our states, transitions and labels."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.strategies_toollog import SEEDS

from agentmem.toollog import ToolCall, compress, parse

FOLDER = Path(__file__).parent.parent / "official_parser"
RELEASES = ("mermaid-old", "mermaid-recent", "mermaid-newest")
TRANSITION = re.compile(r"^ *(\S+) --> (\S+?)(?:: (.*))?$")

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.skipif(
        shutil.which("node") is None or not (FOLDER / "node_modules").exists(),
        reason="needs node and `npm ci` in tests/official_parser",
    ),
]


def data_folder():
    given = os.environ.get("AGENTMEM_DATA")
    return Path(given) if given else Path(__file__).parents[2].parent / "shared" / "data"


def hostile_words():
    path = data_folder() / "hostile-labels.json"
    if not path.exists():
        return list(SEEDS)
    return [case["label"] for case in json.loads(path.read_text())["cases"]] + list(SEEDS)


def diagrams(count):
    """Diagrams of a few calls each, hostile words in every place, in all three looks."""
    rng = random.Random(7)
    words = hostile_words()
    rng.shuffle(words)
    out = {}
    for number in range(count):
        calls = [
            ToolCall(
                words[(number * 3 + i) % len(words)],
                rng.choice(
                    [words[(number * 5 + i) % len(words)], {rng.choice(words): rng.choice(words)}]
                ),
                rng.choice([None, words[(number * 7 + i) % len(words)], rng.choice(words)]),
                is_error=rng.random() < 0.3,
                id=str(i),
                parent_id=rng.choice([None, None, str(i - 1)]),
                batch=rng.choice([None, 1]),
            )
            for i in range(rng.randint(1, 4))
        ] * rng.choice([1, 1, 3])
        canvas = compress(calls, is_exact=True)
        for page, text in enumerate(canvas.pages):
            out[f"{number}-page{page}"] = text
        if len(canvas.pages) == 1:
            out[f"{number}-styled"] = canvas.view("styled")
        out[f"{number}-tools"] = canvas.view("tools")
    return out


def unescaped(label):
    return re.sub(r"#(\d+);", lambda found: chr(int(found[1])), label)


def expected(text):
    """Our transitions: each line read by a rule simple enough to be seen to be right."""
    out = []
    for line in text.splitlines():
        found = TRANSITION.match(line)
        if found:
            source, target, label = found.groups()
            out.append([source, target, None if label is None else unescaped(label)])
    return out


def seen(release, texts):
    lines = "".join(json.dumps({"id": key, "text": text}) + "\n" for key, text in texts.items())
    done = subprocess.run(
        ["node", "transitions.mjs", release],
        cwd=FOLDER,
        input=lines.encode(),
        capture_output=True,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("release", RELEASES)
def test_states_transitions_and_labels_are_ours(release, request):
    count = request.config.getoption("--official-parser")
    texts = diagrams(count)
    answers = seen(release, texts)
    assert len(answers) == len(texts)
    for answer in answers:
        text = texts[answer["id"]]
        assert answer["error"] is None, f"{answer['version']}: {answer['error']}\n{text}"
        ours = expected(text)
        theirs = [
            ["[*]" if a.startswith("root_") or a.endswith(("_start", "[*]")) else a, b, c]
            for a, b, c in answer["transitions"]
        ]
        assert theirs == ours, f"{answer['version']}\n{text}"
        names = {name for pair in ours for name in pair[:2]} - {"[*]"}
        assert names <= set(answer["states"])
        parse(text)


def test_the_check_sees_a_wrong_structure():
    """Crude escaping is accepted by Mermaid with other states; the comparison must notice."""
    crude = "stateDiagram-v2\n[*] --> c1: Bash ls; c9 --> c10\n"
    (answer,) = seen("mermaid-newest", {"crude": crude})
    theirs = [[a, b, c] for a, b, c in answer["transitions"]]
    assert answer["error"] is not None or theirs != expected(crude)
