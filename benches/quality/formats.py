"""Reads evaluation data from files by path: LifeBench and LoCoMo.

Nothing of either is part of this repository. LoCoMo's licence is CC BY-NC: for evaluation only.
"""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

__all__ = ["Collection", "Document", "Question", "load", "load_lifebench", "load_locomo", "merge"]

LOCOMO_TYPES = {
    1: "multi-hop",
    2: "temporal",
    3: "open-domain",
    4: "single-hop",
    5: "adversarial",
}
LOCOMO_ID = re.compile(r"D(\d+):(\d+)")


@dataclass(frozen=True)
class Document:
    """One row of an index: a record or a turn.

    ``text`` is the raw text, ``header`` what stands before it in the dated form (date, speaker);
    ``session`` and ``position`` say where in which conversation or day it stands.
    """

    id: str
    text: str
    header: str
    session: str
    position: int
    time: str

    @property
    def dated(self) -> str:
        """The text as it is best indexed: with its date and speaker."""
        return f"{self.header} {self.text}" if self.header else self.text


@dataclass(frozen=True)
class Question:
    """A question with the ids of the documents that answer it; none where nothing does."""

    id: str
    text: str
    type: str
    evidence: tuple[str, ...]


@dataclass(frozen=True)
class Collection:
    """Documents that stand in one index, and the questions asked of it."""

    name: str
    language: str
    documents: tuple[Document, ...]
    questions: tuple[Question, ...]

    @property
    def answerable(self) -> list[Question]:
        """The questions whose evidence is known."""
        return [question for question in self.questions if question.evidence]


def open_text(path: Path) -> str:
    raw = path.read_bytes()
    return (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8")


def lines(path: Path) -> list[dict[str, Any]]:
    rows = []
    for number, line in enumerate(open_text(path).split("\n"), start=1):
        if line.strip():
            try:
                rows.append(json.loads(line))
            except json.JSONDecodeError as error:
                raise ValueError(f"{path}: line {number}: {error}") from error
    return rows


def known(evidence: list[str], documents: dict[str, Document]) -> tuple[str, ...]:
    """Return the evidence that is a document here, each once: some ids of the data are not."""
    return tuple(dict.fromkeys(name for name in evidence if name in documents))


def load_lifebench(records: Path) -> Collection:
    """Read ``NAME.records.jsonl[.gz]`` and the ``NAME.qa.jsonl[.gz]`` beside it.

    A record's session is its day.
    """
    documents: dict[str, Document] = {}
    places: dict[str, int] = {}
    for row in lines(records):
        text = row.get("text") or "\n".join(
            f"{message['role']}: {message['content']}" for message in row.get("messages", ())
        )
        day = row["time"][:10]
        places[day] = places.get(day, -1) + 1
        documents[row["id"]] = Document(
            row["id"], text, f"[{row['time']}]", day, places[day], row["time"]
        )
    questions = tuple(
        Question(row["id"], row["question"], row["type"], known(row["evidence"], documents))
        for row in lines(records.with_name(records.name.replace(".records.", ".qa.")))
    )
    name = records.name.split(".")[0]
    language = name.rpartition("-")[2]
    return Collection(name, language, tuple(documents.values()), questions)


def load_locomo(path: Path) -> list[Collection]:
    """Read LoCoMo's JSON: one collection a conversation, one document a turn."""
    collections = []
    for sample in json.loads(open_text(path)):
        conversation = sample["conversation"]
        documents: dict[str, Document] = {}
        numbers = sorted(
            int(key.removeprefix("session_"))
            for key, value in conversation.items()
            if key.removeprefix("session_").isdecimal() and isinstance(value, list)
        )
        for number in numbers:
            time = conversation.get(f"session_{number}_date_time", "")
            for place, turn in enumerate(conversation[f"session_{number}"]):
                caption = turn.get("blip_caption")
                text = turn.get("text", "") + (f" [shares {caption}]" if caption else "")
                documents[turn["dia_id"]] = Document(
                    turn["dia_id"],
                    text,
                    f"[{time}] {turn['speaker']}:",
                    f"session_{number}",
                    place,
                    time,
                )
        name = str(sample.get("sample_id", len(collections)))
        questions = []
        for place, row in enumerate(sample["qa"]):
            found = LOCOMO_ID.findall(" ".join(row.get("evidence") or ()))
            evidence = [f"D{int(session)}:{int(turn)}" for session, turn in found]
            kind = LOCOMO_TYPES.get(row.get("category", 0), "other")
            questions.append(
                Question(f"{name}-{place}", row["question"], kind, known(evidence, documents))
            )
        collections.append(Collection(name, "en", tuple(documents.values()), tuple(questions)))
    return collections


def merge(collections: list[Collection], name: str) -> Collection:
    """Return all collections as one index, ids and sessions kept apart by their collection."""
    documents, questions = [], []
    for part in collections:
        documents += [
            replace(doc, id=f"{part.name}/{doc.id}", session=f"{part.name}/{doc.session}")
            for doc in part.documents
        ]
        questions += [
            replace(
                question,
                id=f"{part.name}/{question.id}",
                evidence=tuple(f"{part.name}/{one}" for one in question.evidence),
            )
            for question in part.questions
        ]
    languages = {part.language for part in collections}
    language = languages.pop() if len(languages) == 1 else "mixed"
    return Collection(name, language, tuple(documents), tuple(questions))


def load(path: Path) -> list[Collection]:
    """Read whatever a path holds: a LifeBench folder or records file, or LoCoMo's JSON.

    Raises:
        ValueError: It is none of them.
    """
    if path.is_dir():
        found = sorted(path.glob("*.records.jsonl*"))
        if not found:
            raise ValueError(f"{path}: no *.records.jsonl file in this folder")
        return [load_lifebench(records) for records in found]
    if ".records.jsonl" in path.name:
        return [load_lifebench(path)]
    if path.name.removesuffix(".gz").endswith(".json"):
        return load_locomo(path)
    raise ValueError(f"{path}: a LifeBench *.records.jsonl or LoCoMo's *.json is needed")
