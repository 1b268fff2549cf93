"""The default token counter beside real vocabularies: how far off it is, by kind of text.

``pytest benches/bench_tokens.py -s`` prints the table. A ratio is estimated by counted tokens of one
text; the vocabularies are o200k (200,000 entries, what the estimate stands for) and the older cl100k,
both from the package ``bpe-openai``. "characters / 4" is the rule of thumb, for comparison.
"""

from __future__ import annotations

import base64
import gzip
import json
import os
import random
import statistics
from functools import cache
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

import pytest
from benches.bench_toollog import arguments
from tests.host_logs import anthropic_logs, openai_logs
from tests.real_logs import data_folder, real_logs

from agentmem.toollog import compress, estimate_tokens

pytestmark = [
    pytest.mark.skipif(
        find_spec("bpe_openai") is None and not os.environ.get("CI"), reason="needs bpe-openai"
    ),
    pytest.mark.filterwarnings("ignore:open_binary is deprecated"),  # bpe-openai reads its data so
]

VOCABULARIES = ("o200k_base", "cl100k_base")
FOLDER = Path(__file__).parent
LABELS = ("extraction", "persona", "scenes", "trilingual")
#: A log below this many bytes is reported elsewhere, not judged.
LEAST_BYTES = 2_000
#: Characters of one text of prose: a few messages or records.
PROSE = 500
encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@cache
def vocabulary(name):
    import bpe_openai

    return bpe_openai.get_encoding(name)


def counted(text, name=VOCABULARIES[0]):
    """Return the tokens of a text; what looks like a control token is text like any other."""
    whole = text.encode("utf-8", "replace").decode()
    return len(vocabulary(name).encode(whole, disallowed_special=()))


def parts(calls):
    """Return what the raw size of a log counts: names, compact arguments, results."""
    return [part for call in calls for part in (call.name, arguments(call), call.result or "")]


@cache
def logs():
    """Return ``(family, canvas, parts)`` of every real log of 2,000 bytes or more."""
    found = [(family, compress(calls), parts(calls)) for family, calls in real_logs() if calls]
    return [
        (family, canvas, raw) for family, canvas, raw in found if canvas.raw_bytes >= LEAST_BYTES
    ]


def joined(texts, count=200):
    """Return the first texts of some length made of the given ones, line by line."""

    def grow():
        lines = []
        for text in texts:
            lines.append(text)
            if sum(map(len, lines)) >= PROSE:
                yield "\n".join(lines)
                lines = []

    return list(islice(grow(), count))


def records(name):
    path = data_folder() / "lifebench" / f"{name}.records.jsonl.gz"
    if path.exists():
        with gzip.open(path, "rt") as lines:
            for line in lines:
                record = json.loads(line)
                yield from (
                    [message["content"] for message in record["messages"]]
                    if "messages" in record
                    else [record["text"]]
                )


def written(language):
    """Return what people wrote for the label sets: messages, facts, questions."""
    for name in LABELS:
        for line in (FOLDER / "quality" / "labels" / f"{name}.jsonl").read_text().splitlines():
            item = json.loads(line)
            if item["language"] == language:
                texts = [item.get(key) for key in ("text", "fact", "question")]
                inner = (*item.get("messages", ()), *item.get("facts", ()))
                texts.extend(part.get("text") for part in inner)
                yield from filter(None, texts)


def code(folder, pattern):
    texts = [path.read_text() for path in sorted((FOLDER.parent / folder).rglob(pattern))]
    return [text for text in texts if len(text) >= LEAST_BYTES]


def made_ids():
    """Return texts of what no vocabulary holds: digests, base64, numbers."""
    rng = random.Random(1)
    for _ in range(20):
        yield "\n".join(rng.randbytes(20).hex() for _ in range(20))
        yield base64.b64encode(rng.randbytes(600)).decode()
        yield " ".join(str(rng.randrange(10 ** rng.randrange(1, 12))) for _ in range(100))


def plain(texts):
    return [(estimate_tokens(text), [text]) for text in texts]


KINDS = {
    "tool logs, raw": lambda: [(canvas.raw_tokens, raw) for _, canvas, raw in logs()],
    "diagrams": lambda: [(canvas.estimated_tokens, canvas.pages) for _, canvas, _ in logs()],
    "message lists as JSON": lambda: [
        (sum(map(estimate_tokens, lines)), lines)
        for lines in ([*map(encode, log)] for log in openai_logs() + anthropic_logs())
    ],
    "English, records": lambda: plain(joined(records("user1-en"))),
    "English, written": lambda: plain(joined(written("en"))),
    "Chinese, records": lambda: plain(joined(records("user3-zh"))),
    "Chinese, written": lambda: plain(joined(written("zh"))),
    "Vietnamese, written": lambda: plain(joined(written("vi"))),
    "digests, base64, numbers": lambda: plain([*made_ids()]),
    "code, Python": lambda: plain(code("python", "*.py")),
    "code, Rust": lambda: plain(code("rust", "*.rs")),
}


def percentile(values, share):
    return sorted(values)[round(share * (len(values) - 1))]


@pytest.mark.parametrize("kind", KINDS)
def test_error_by_kind_of_text(kind, capsys):
    """The median text of each kind is within 10 %; of logs and diagrams, every one within 15 %."""
    found = KINDS[kind]()
    if not found:
        pytest.skip("needs the data of AGENTMEM_DATA")
    rows = []
    for name in VOCABULARIES:
        real = [sum(counted(text, name) for text in texts) for _, texts in found]
        rows.append([given / real for (given, _), real in zip(found, real, strict=True)])
        if name == VOCABULARIES[0]:
            fourths = [
                sum(map(len, texts)) / 4 / real
                for (_, texts), real in zip(found, real, strict=True)
            ]
    with capsys.disabled():
        shown = [
            " / ".join(f"{percentile(row, share):.2f}" for share in (0.05, 0.5, 0.95))
            for row in rows
        ]
        print(
            f"\n| {kind} | {len(found)} | {shown[0]} | {shown[1]} | {statistics.median(fourths):.2f} |",
            end="",
        )
    assert 0.90 <= statistics.median(rows[0]) <= 1.10
    if kind in ("tool logs, raw", "diagrams"):
        assert min(rows[0]) >= 0.85
        assert max(rows[0]) <= 1.15


@pytest.mark.parametrize("name", VOCABULARIES)
def test_diagrams_are_under_thirty_percent_in_counted_tokens(name, capsys):
    """The mission's limit, by vocabularies that chose nothing of what the diagrams say."""
    shares = [
        (
            sum(counted(page, name) for page in canvas.pages)
            / sum(counted(part, name) for part in raw),
            family,
            canvas.raw_bytes,
        )
        for family, canvas, raw in logs()
    ]
    if not shares:
        pytest.skip("needs the tool logs of AGENTMEM_DATA")
    with capsys.disabled():
        most, family, size = max(shares)
        median = statistics.median(share for share, *_ in shares)
        print(
            f"\n{name}: {len(shares)} logs, median {median:.1%}, most {most:.1%} ({family}, {size} bytes)",
            end="",
        )
    assert max(shares)[0] < 0.30
