"""The evidence that a context keeps: the harness counts right, and on real records it keeps more.

Real records by path (AGENTMEM_DATA); they take minutes, so ``--gate`` asks for them.
"""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest
from benches.corpus import data_folder
from benches.quality.context import USERS, Held, measure, report
from benches.quality.rankers import CachedEmbedder
from tests.canary import Hashed

from agentmem.embedding import OnnxEmbedder

if TYPE_CHECKING:
    from pathlib import Path

RECORDS: list[dict[str, Any]] = [
    {"id": "sms:1", "kind": "sms", "time": "2025-01-02 10:00:00", "text": "Dinner with Anna"},
    {"id": "sms:2", "kind": "sms", "time": "2025-01-02 11:00:00", "text": "Train to Hue at noon"},
    {"id": "agent_chat:3", "kind": "agent_chat", "time": "2025-01-03", "messages": [
        {"role": "user", "content": "Where is my violin?"},
        {"role": "assistant", "content": "At the luthier's."}]},
]  # fmt: skip
QA: list[dict[str, Any]] = [
    {"id": "q1", "question": "Who came to dinner?", "type": "A", "evidence": ["sms:1", "sms:2"]},
    {"id": "q2", "question": "violin", "type": "B", "evidence": ["agent_chat:3"]},
]


@pytest.mark.parametrize("as_facts", [False, True])
def test_the_harness(tmp_path: Path, *, as_facts: bool) -> None:
    for name, rows in (("records", RECORDS), ("qa", QA)):
        with gzip.open(tmp_path / f"u-en.{name}.jsonl.gz", "wt") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
    records = tmp_path / "u-en.records.jsonl.gz"
    held = Held(records, Hashed(), tmp_path / "m", as_facts=as_facts)
    with held.memory:
        assert set(held.record_of.values()) == {"sms:1", "sms:2", "agent_chat:3"}
        found = measure(held, (4_000,))
        # Everything fits, so whatever is searched is kept.
        assert found["context()"][4_000] == pytest.approx(1.0)
        assert found["L1 alone" if as_facts else "L0 alone"][4_000] == pytest.approx(1.0)
        assert "| context() | 1.000 |" in report("u", held, found)
        assert measure(held, (1,))["context()"][1] == pytest.approx(0.0)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("user", USERS)
def test_with_all_tiers_more_evidence_is_kept_than_with_facts_alone(
    user: str, tmp_path: Path, request: Any
) -> None:
    folder = data_folder()
    if folder is None:
        pytest.skip("no evaluation data; set AGENTMEM_DATA to its folder")
    if not request.config.getoption("--gate"):
        pytest.skip("takes minutes; give --gate")
    embedder = CachedEmbedder(OnnxEmbedder(), None)
    path = folder / "lifebench" / f"{user}.records.jsonl.gz"
    held = Held(path, embedder, tmp_path / "m", as_facts=False)
    with held.memory:
        found = measure(held, (500, 1_500))
        print("\n" + report(user, held, found))
    for budget in (500, 1_500):
        assert found["context()"][budget] > found["L1 alone"][budget]
