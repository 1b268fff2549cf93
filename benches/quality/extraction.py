"""``python -m benches.quality.extraction [LABELS …]``: how well facts are read and replaced.

LABELS are files as ``labels/README.md`` describes them; the development set by default. Records that
a line points to are read from the data folder (``AGENTMEM_DATA``); without it only lines that carry
their text are scored, and the number left out is said.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from benches.corpus import data_folder

from agentmem.embedding import resolve_embedder
from agentmem.models import Candidate, Message, Trust
from agentmem.protocols import Extractor
from agentmem.tiers.conflict import judge
from agentmem.tiers.extract import LearntExtractor, RuleExtractor
from agentmem.tiers.vectors import embed_texts

__all__ = ["Held", "Line", "Score", "lines", "main", "memories", "score", "score_line"]

DEVELOPMENT = Path(__file__).parent / "labels" / "extraction.jsonl"


@dataclass
class Line:
    """A labelled message and the text that it is about."""

    label: dict[str, Any]
    text: str

    @property
    def message(self) -> Message:
        """The message as an extractor reads it."""
        label = self.label
        return Message(
            id=label["id"], text=self.text, role=label["role"], speaker=label["speaker"],
            session=label["session"], time=datetime.fromisoformat(label["time"]),
        )  # fmt: skip

    @property
    def scope(self) -> str:
        """Whose memory it goes to as far as it tells: a person of the data, else the session."""
        session = self.label["session"]
        first = session.split("/")[0].replace("user", "u")
        return first if first[:1] == "u" and first[1:].isdecimal() else session


@dataclass
class Held:
    """A candidate as a known fact."""

    id: str
    candidate: Candidate
    trust: Trust = Trust.USER

    def __getattr__(self, name: str) -> Any:
        return getattr(self.candidate, name)


@dataclass
class Score:
    """Counts of one language; a kind's own counts are under ``found:KIND`` and ``missed:KIND``."""

    counts: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    def share(self, part: str, *others: str) -> float:
        """Return what share ``part`` is of itself and the others; NaN of nothing."""
        whole = self.counts[part] + sum(self.counts[other] for other in others)
        return self.counts[part] / whole if whole else float("nan")


class _Records:
    """Reads the data files that labels point into, each once."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._files: dict[str, list[Any]] = {}

    def text(self, source: dict[str, Any]) -> str | None:
        if self._folder is None:
            return None
        rows = self._files.get(source["file"])
        if rows is None:
            with gzip.open(self._folder / source["file"], "rt", encoding="utf-8") as file:
                rows = (
                    json.load(file)["history"]
                    if ".traj" in source["file"]
                    else [json.loads(row) for row in file]
                )
            self._files[source["file"]] = rows
        if "record" in source:
            row = next(row for row in rows if row["id"] == source["record"])
            return (
                row["messages"][source["message"]]["content"]
                if "message" in source
                else row["text"]
            )
        if "line" not in source:
            content = rows[source["message"]]["content"]
            return content if isinstance(content, str) else content[0]["text"]
        row = rows[source["line"]]
        if "message" in source:
            return (row.get("messages") or row["traj"])[source["message"]]["content"]
        content = row["message"]["content"]
        if "block" not in source:
            return content
        block = content[source["block"]]
        text = block["text"] if "text" in block else block["content"]
        return text if isinstance(text, str) else text[0]["text"]


def lines(path: Path, folder: Path | None) -> Iterator[Line]:
    """Yield the labelled lines of a file whose text is at hand."""
    records = _Records(folder)
    for row in path.read_text(encoding="utf-8").splitlines():
        label = json.loads(row)
        text = label.get("text") or records.text(label["source"])
        if text is not None:
            yield Line(label, text)


def _matches(
    facts: Sequence[dict[str, Any]], given: Sequence[Candidate]
) -> tuple[dict[int, int], set[int]]:
    """Return which candidate matches which label, and the labels whose kind alone was wrong."""
    pairs = []
    for at, fact in enumerate(facts):
        for by, one in enumerate(given):
            shared = min(fact["span"][1], one.span[1]) - max(fact["span"][0], one.span[0])
            shorter = min(fact["span"][1] - fact["span"][0], one.span[1] - one.span[0])
            if shared > 0 and 2 * shared >= shorter:
                agrees = one.kind in (fact["kind"], *fact.get("alt_kinds", ()))
                pairs.append((not agrees, bool(fact.get("optional")), -shared, at, by))
    matched: dict[int, int] = {}
    confused: set[int] = set()
    taken: set[int] = set()
    for disagrees, _, _, at, by in sorted(pairs):
        if at in matched or by in taken:
            continue
        if disagrees:
            confused.add(at)
        else:
            matched[at] = by
            taken.add(by)
    return matched, confused - set(matched)


def _date_is_right(fact: dict[str, Any], one: Candidate) -> bool:
    if one.event_time is None:
        return False
    day = one.event_time.date().isoformat()
    return fact["when"] <= day <= (fact.get("when_end") or fact["when"]) or day in fact.get(
        "alt_when", ()
    )


def score_line(line: Line, given: Sequence[Candidate], result: Score) -> dict[str, int]:
    """Count what was given of a message; return which candidate each found label is."""
    counts, facts = result.counts, line.label["facts"]
    matched, confused = _matches(facts, given)
    for at, fact in enumerate(facts):
        where = f"{line.label['id']} {fact['kind']} «{line.text[slice(*fact['span'])]}»"
        if at not in matched:
            if not fact.get("optional"):
                counts["missed"] += 1
                counts[f"missed:{fact['kind']}"] += 1
                counts["only the kind wrong"] += at in confused
                result.notes.append(f"missed {where}")
            continue
        if fact.get("optional"):
            continue
        counts["found"] += 1
        counts[f"found:{fact['kind']}"] += 1
        if fact.get("relative") and fact.get("when"):
            right = _date_is_right(fact, given[matched[at]])
            counts["dates right" if right else "dates wrong"] += 1
            if not right:
                result.notes.append(f"date {given[matched[at]].event_time} of {where}")
    for by, one in enumerate(given):
        if by not in matched.values():
            counts["false"] += 1
            counts[f"false:{one.kind}"] += 1
            result.notes.append(f"false {line.label['id']} {one.kind} {one.text}")
    if line.label["silent"]:
        counts["speaks" if given else "silent"] += 1
    return {facts[at]["id"]: by for at, by in matched.items()}


def memories(labelled: Sequence[Line]) -> dict[str, str]:
    """Return whose memory each scope is of: one where a label says that a fact touches another."""
    told = {fact["id"]: line.scope for line in labelled for fact in line.label["facts"]}
    owner = {line.scope: line.scope for line in labelled}
    for line in labelled:
        for fact in line.label["facts"]:
            for other in (fact.get("supersedes"), *(fact.get("not_supersedes") or ())):
                if other in told:
                    one, two = owner[line.scope], owner[told[other]]
                    owner = {scope: one if of == two else of for scope, of in owner.items()}
    return owner


class Cosines:
    """Cosines of the packaged embedder, as the pipeline hands them to ``judge``."""

    def __init__(self) -> None:
        self._embedder = resolve_embedder(None)
        self._vectors: dict[str, np.ndarray] = {}

    def __call__(self, one: Candidate, known: Sequence[Held]) -> dict[str, float]:
        """Return the cosine of a candidate to each known fact by its id."""
        if not known:
            return {}
        own = self._vector(one.text)
        return {fact.id: float(own @ self._vector(fact.candidate.text)) for fact in known}

    def _vector(self, text: str) -> np.ndarray:
        if text not in self._vectors:
            (made,) = embed_texts(self._embedder, [text])
            self._vectors[text] = np.frombuffer(made[: self._embedder.ndim * 4], np.float32)
        return self._vectors[text]


def score(labelled: Sequence[Line], extractor: Extractor) -> dict[str, Score]:
    """Return the counts of each language, replacements judged in the order of time."""
    cosines = Cosines()
    scores: dict[str, Score] = defaultdict(Score)
    held: dict[str, list[Held]] = defaultdict(list)
    ids: dict[str, str] = {}
    retired: dict[str, str] = {}
    owner = memories(labelled)
    for line in sorted(labelled, key=lambda one: datetime.fromisoformat(one.label["time"])):
        message = line.message
        # What the pipeline does before it judges: without a beginning a fact holds from when it was said.
        given = [
            one if one.valid_from else replace(one, valid_from=message.time)
            for one in extractor.extract([message])
        ]
        matched = score_line(line, given, scores[line.label["language"]])
        live = held[owner[line.scope]]
        for by, one in enumerate(given):
            new = Held(f"{line.label['id']}/{by}", one)
            verdict = judge(one, live, cosines=cosines(one, live))
            if verdict.action == "duplicate":
                new.id = verdict.facts[0]
            else:
                if verdict.action == "supersede":
                    retired |= dict.fromkeys(verdict.facts, new.id)
                    live[:] = [old for old in live if old.id not in verdict.facts]
                live.append(new)
            ids |= {label: new.id for label, at in matched.items() if at == by}
    for line in labelled:
        result = scores[line.label["language"]]
        for fact in line.label["facts"]:
            _score_replacement(fact, ids, retired, result)
    return scores


def _score_replacement(
    fact: dict[str, Any], ids: dict[str, str], retired: dict[str, str], result: Score
) -> None:
    old = fact.get("supersedes")
    if old and fact["id"] in ids and old in ids:
        right = ids[old] in retired
        result.counts["replaced" if right else "not replaced"] += 1
        if not right:
            result.notes.append(f"not replaced {old} by {fact['id']}")
    for other in fact.get("not_supersedes") or ():
        if fact["id"] in ids and other in ids:
            wrong = retired.get(ids[other]) == ids[fact["id"]]
            result.counts["wrongly retired" if wrong else "rightly kept"] += 1
            if wrong:
                result.notes.append(f"wrongly retired {other} by {fact['id']}")


def _throughput(labelled: Sequence[Line], extractor: Extractor) -> float:
    messages = [line.message for line in labelled]
    extractor.extract(messages)
    begun = time.process_time()
    for _ in range(3):
        extractor.extract(messages)
    return 3 * len(messages) / (time.process_time() - begun)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one row a language and, with ``--notes``, what went wrong."""
    parser = argparse.ArgumentParser(prog="benches.quality.extraction")
    parser.add_argument("labels", nargs="*", type=Path, default=[DEVELOPMENT])
    parser.add_argument(
        "--notes", action="store_true", help="list misses, false alarms and wrong dates"
    )
    parser.add_argument("--rules", action="store_true", help="score the rules without the models")
    options = parser.parse_args(arguments)
    folder = data_folder()
    labelled = [line for path in options.labels for line in lines(path, folder)]
    if folder is None:
        print("without AGENTMEM_DATA only the lines that carry their text are scored")
    extractor = RuleExtractor() if options.rules else LearntExtractor()
    scores = score(labelled, extractor)
    for language, result in sorted(scores.items()):
        counts = result.counts
        print(
            f"{language}: precision {result.share('found', 'false'):.3f}"
            f"  recall {result.share('found', 'missed'):.3f}"
            f"  silent that speak {counts['speaks']}/{counts['speaks'] + counts['silent']}"
            f"  dates right {counts['dates right']}/{counts['dates right'] + counts['dates wrong']}"
            f"  replaced {counts['replaced']}/{counts['replaced'] + counts['not replaced']}"
            f"  wrongly retired {counts['wrongly retired']}/{counts['wrongly retired'] + counts['rightly kept']}"
            f"  only the kind wrong {counts['only the kind wrong']}"
        )
        for kind in ("persona", "instruction", "decision", "event", "fact"):
            found, missed, false = (
                counts[f"{what}:{kind}"] for what in ("found", "missed", "false")
            )
            print(f"    {kind:12} found {found:3}  missed {missed:3}  false {false:3}")
        if options.notes:
            print("\n".join(f"    {note}" for note in result.notes))
    print(
        f"{_throughput(labelled, extractor):,.0f} messages/s of processor time, {len(labelled)} messages"
    )


if __name__ == "__main__":
    main()
