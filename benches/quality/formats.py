"""Reads evaluation data from files by path: LifeBench and LoCoMo.

Nothing of either is part of this repository. LoCoMo's licence is CC BY-NC: for evaluation only.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any

__all__ = ["Collection", "Document", "Question", "load", "load_turns", "merge"]

LOCOMO_TYPES = {
    1: "multi-hop",
    2: "temporal",
    3: "open-domain",
    4: "single-hop",
    5: "adversarial",
}
# Whom a message or call was with, a remark in brackets left out: "SMS Receive Wang Hai (Childhood Friend): …".
CONTACT = re.compile(r"(?:SMS|Call) \S+ (?P<name>[^:：(（\d\n]{1,60}?)\s*(?:[:：(（\d\n]|$)")
LOCOMO_ID = re.compile(r"D(\d+):(\d+)")


@dataclass(frozen=True)
class Document:
    """One row of an index: a record or a turn.

    ``id`` is its own; ``evidence_id`` is what questions cite, which the variants of one record
    share. ``text`` is the raw text, ``header`` what stands before it in the dated form (date,
    speaker); ``session`` and ``position`` say where in which conversation or day it stands; ``kind``
    is the record's, empty where the data has none; ``time`` is as the data writes it; ``speaker`` is who
    spoke, or whom a message or call was with, empty where that is nobody.
    """

    id: str
    evidence_id: str
    text: str
    header: str
    session: str
    position: int
    time: str
    kind: str = ""
    speaker: str = ""

    @property
    def when(self) -> datetime | None:
        """The time, in UTC, where it is an ISO date."""
        try:
            found = datetime.fromisoformat(self.time)
        except ValueError:
            return None
        return found if found.tzinfo else found.replace(tzinfo=UTC)

    @property
    def indexed(self) -> str:
        """The text as it is indexed: bare where its time is known otherwise, else with its header."""
        return self.text if self.when else self.dated

    @property
    def dated(self) -> str:
        """The text with its date and speaker."""
        return f"{self.header} {self.text}" if self.header else self.text


@dataclass(frozen=True)
class Question:
    """A question with the ids of the documents that answer it; none where nothing does."""

    id: str
    text: str
    type: str
    evidence: tuple[str, ...]
    asked: str = ""

    @property
    def when(self) -> datetime | None:
        """The end of the month, or the day, in which it was asked; None where the data has none."""
        year, _, month = self.asked[:7].partition("-")
        if not (year.isdecimal() and month.isdecimal()):
            return None
        following = date(int(year) + int(month) // 12, int(month) % 12 + 1, 1)
        last = datetime.combine(following, time(), tzinfo=UTC) - timedelta(seconds=1)
        return datetime.fromisoformat(self.asked).replace(tzinfo=UTC) if self.asked[7:] else last


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


def known(evidence: list[str], documents: list[Document]) -> tuple[str, ...]:
    """Return the evidence that is a document here, each once: some ids of the data are not."""
    there = {document.evidence_id for document in documents}
    return tuple(dict.fromkeys(name for name in evidence if name in there))


def load_lifebench(records: Path) -> Collection:
    """Read ``NAME.records.jsonl[.gz]`` and the ``NAME.qa.jsonl[.gz]`` beside it.

    A record's session is its day. Some ids stand at two records, variants of one: both are kept,
    and either is the evidence.
    """
    documents: list[Document] = []
    places: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    for row in lines(records):
        text = row.get("text") or "\n".join(
            f"{message['role']}: {message['content']}" for message in row.get("messages", ())
        )
        day, name = row["time"][:10], row["id"]
        seen[name] += 1
        own = name if seen[name] == 1 else f"{name}#{seen[name]}"
        contact = CONTACT.match(text)
        speaker = contact["name"] if contact else ""
        documents.append(
            Document(
                own,
                name,
                text,
                f"[{row['time']}]",
                day,
                places[day],
                row["time"],
                row["kind"],
                speaker,
            )
        )
        places[day] += 1
    questions = tuple(
        Question(
            row["id"],
            row["question"],
            row["type"],
            known(row["evidence"], documents),
            row.get("ask_time") or "",
        )
        for row in lines(records.with_name(records.name.replace(".records.", ".qa.")))
    )
    name = records.name.split(".")[0]
    language = name.rpartition("-")[2]
    return Collection(name, language, tuple(documents), questions)


def load_turns(records: Path) -> Collection:
    """Read the conversations (``agent_chat``) of a LifeBench file as turns, one document each.

    A question's evidence is, of each conversation that it cites, the turn that shares most terms
    with the gold answer, the first of several.
    """
    from agentmem import _native

    documents: list[Document] = []
    terms: dict[str, set[str]] = {}
    turns_of: dict[str, list[str]] = {}
    for row in lines(records):
        if not row.get("messages") or row["id"] in turns_of:
            continue
        turns_of[row["id"]] = []
        for place, message in enumerate(row["messages"]):
            name = f"{row['id']}/{place}"
            text = f"{message['role']}: {message['content']}"
            documents.append(
                Document(name, name, text, "", row["id"], place, row["time"], "agent_chat")
            )
            terms[name] = set(_native.analyze(message["content"]))
            turns_of[row["id"]].append(name)
    questions = []
    for row in lines(records.with_name(records.name.replace(".records.", ".qa."))):
        answer = set(_native.analyze_query(row["answer"] or ""))
        cited = [turns_of[name] for name in row["evidence"] if name in turns_of]
        evidence = [max(turns, key=lambda one: len(terms[one] & answer)) for turns in cited]
        questions.append(
            Question(
                row["id"],
                row["question"],
                row["type"],
                tuple(dict.fromkeys(evidence)),
                row.get("ask_time") or "",
            )
        )
    name = records.name.split(".")[0]
    language = name.rpartition("-")[2]
    return Collection(f"{name} turns", language, tuple(documents), tuple(questions))


def load_locomo(path: Path) -> list[Collection]:
    """Read LoCoMo's JSON: one collection a conversation, one document a turn."""
    collections = []
    for sample in json.loads(open_text(path)):
        conversation = sample["conversation"]
        documents: list[Document] = []
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
                name = turn["dia_id"]
                header = f"[{time}] {turn['speaker']}:"
                documents.append(
                    Document(
                        name,
                        name,
                        text,
                        header,
                        f"session_{number}",
                        place,
                        time,
                        speaker=turn["speaker"],
                    )
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
        collections.append(Collection(name, "en", tuple(documents), tuple(questions)))
    return collections


def merge(collections: list[Collection], name: str) -> Collection:
    """Return all collections as one index, ids and sessions kept apart by their collection."""
    documents, questions = [], []
    for part in collections:
        documents += [
            replace(
                doc,
                id=f"{part.name}/{doc.id}",
                evidence_id=f"{part.name}/{doc.evidence_id}",
                session=f"{part.name}/{doc.session}",
            )
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
