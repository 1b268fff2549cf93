"""``python -m benches.quality.train_replacement``: learn the weights of ``tiers/replacement.py``.

Needs scikit-learn (``pip install scikit-learn``) and the data folder (``AGENTMEM_DATA``). Learnt from:
``labels/replacements.jsonl``, each text as the extractor words it, each new one held against the old
ones of the other pairs too; the training and development sets of ``labels/extraction*.jsonl``, each
fact held against all that was said before it in one memory; and, as weak examples of what replaces
nothing, the facts of a LifeBench user that are most alike, which nobody labelled.

With ``--validate`` nothing is written: pairs that begin on one day, and memories, are left out in
turn, and what the rules and the model retire of them is counted by threshold.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from zlib import crc32

from benches.corpus import data_folder
from benches.quality.extraction import Held, Score, lines, memories, score_line
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression

from agentmem.models import Candidate, Message
from agentmem.tiers.conflict import judge
from agentmem.tiers.conflict_text import words_of
from agentmem.tiers.extract import LearntExtractor
from agentmem.tiers.extract.extractor import heard
from agentmem.tiers.extract.found import PRIORITY
from agentmem.tiers.extract.told import told
from agentmem.tiers.replacement import ReplacementModel, pair_features

LABELS = Path(__file__).parent / "labels"
PAIRS = LABELS / "replacements.jsonl"
LABELLED = ("extraction-train-en.jsonl", "extraction-train-vi-zh.jsonl", "extraction.jsonl")
UNLABELLED = "lifebench/user2-en.records.jsonl.gz"
MODEL = Path("python/agentmem/tiers/replacement-1.json")
FOLDS = 8
STRENGTH = 0.3  # 1 / L2 penalty
# Chosen by ``--validate``, where next to nothing is wrongly retired.
THRESHOLD = 0.5
# What a rule finds is kept from here on, where nearly all right ones lie.
FLOOR = -2.0
# What an example counts that nobody labelled: of other pairs and messages, of the LifeBench user.
OTHERS, WEAK = 0.5, 0.05
# A word in so few texts, or in this share of a language's, is as rare as can be.
LEAST_TEXTS, RARE_SHARE = 3, 1e-3
COMMONEST = 0.05
# Words of a Vietnamese chat that say who speaks to whom, or no; one letter is a word of its own there.
CHAT = "e a c k ko oi tui tu"
NEIGHBOURS = 8
RULES_ALONE = ReplacementModel({}, {}, 0.0, math.inf, -math.inf)


@dataclass
class Example:
    """A new fact and an old one.

    Attributes:
        new: The candidate.
        old: The known fact.
        bag: Which labelled pair of texts it is of: one text may give several facts.
        group: What is left out together.
        language: ``en``, ``vi`` or ``zh``.
        origin: ``pair``, ``set`` (labelled sets), ``others`` or ``weak``.
        replaces: The label; of a bag any may replace.
        weight: What it counts.
    """

    new: Candidate
    old: Candidate
    bag: str
    group: str
    language: str
    origin: str
    replaces: bool
    weight: float


def worded(text: str, kind: str, time: str, extractor: LearntExtractor) -> list[Candidate]:
    """Return the facts of a text as the extractor words them; where it gives none, each sentence."""
    begun = datetime.fromisoformat(time)
    message = Message(id="-", text=text, role="user", time=begun)
    given = extractor.extract([message])
    for one in () if given else heard(message):
        rule = next(iter(one.found), None)
        subject = "assistant" if kind == "instruction" else "user"
        when = rule.when if rule else None
        given.append(
            Candidate(
                text=told(text[one.start : one.end], one.setting.language, when, one.start),
                kind=kind,
                source="-",
                span=(one.start, one.end),
                subject=rule.subject if rule else subject,
                attribute=rule.attribute if rule else None,
                value=rule.value if rule else None,
                ends=rule.ends if rule else False,
                event_time=when.when if when else None,
                priority=PRIORITY[kind],
            )
        )
    return [one if one.valid_from else replace(one, valid_from=begun) for one in given]


def of_pairs(extractor: LearntExtractor) -> Iterator[Example]:
    """Yield the labelled pairs, and each new text with the old ones of other pairs."""
    rows = [json.loads(row) for row in PAIRS.read_text(encoding="utf-8").splitlines()]
    sides = [
        [worded(row[side]["text"], row[side]["kind"], row[side]["time"], extractor)
         for side in ("new", "old")]
        for row in rows
    ]  # fmt: skip
    groups = [f"{row['language']} {row['old']['time'][:10]}" for row in rows]
    olds: dict[str, dict[str, tuple[str, Candidate]]] = defaultdict(dict)
    for row, (_, old), group in zip(rows, sides, groups, strict=True):
        olds[row["language"]] |= {one.text: (group, one) for one in old}
    for row, (new, old), group in zip(rows, sides, groups, strict=True):
        count = len(new) * len(old)
        for one in new:
            for other in old:
                yield Example(one, other, row["id"], group, row["language"], "pair",
                              row["replaces"], 1 / count)  # fmt: skip
            for near in nearest(one, [c for g, c in olds[row["language"]].values() if g != group]):
                yield Example(one, near, f"{row['id']} {near.text}", group, row["language"],
                              "others", False, OTHERS)  # fmt: skip


def of_sets(extractor: LearntExtractor, folder: Path) -> Iterator[Example]:
    """Yield each fact of the labelled messages with those said before it in the same memory."""
    for name in LABELLED:
        labelled = list(lines(LABELS / name, folder))
        owner = memories(labelled)
        known: dict[str, list[tuple[str | None, Candidate]]] = defaultdict(list)
        for line in sorted(labelled, key=lambda one: datetime.fromisoformat(one.label["time"])):
            time = line.message.time
            given = extractor.extract([line.message])
            given = [one if one.valid_from else replace(one, valid_from=time) for one in given]
            matched = {by: at for at, by in score_line(line, given, Score()).items()}
            labels = {fact["id"]: fact for fact in line.label["facts"]}
            memory = owner[line.scope]
            for by, one in enumerate(given):
                label = labels.get(matched.get(by, ""), {})
                for told_as, other in known[memory]:
                    right = told_as is not None and told_as == label.get("supersedes")
                    is_named = right or told_as in (label.get("not_supersedes") or ())
                    yield Example(one, other, f"{line.label['id']} {by} {len(other.text)} {other.span}",
                                  f"{name} {memory}", line.label["language"], "set", right,
                                  1 if is_named else OTHERS)  # fmt: skip
                known[memory].append((matched.get(by), one))


def nearest(one: Candidate, others: Sequence[Candidate]) -> list[Candidate]:
    """Return those with the largest share of words in common, at most ``NEIGHBOURS``."""
    own = words_of(one.text)
    shares = []
    for at, other in enumerate(others):
        words = words_of(other.text)
        if shared := len(own & words):
            shares.append((-shared / len(own | words), at))
    return [others[at] for _, at in sorted(shares)[:NEIGHBOURS]]


def facts_of(path: Path, extractor: LearntExtractor) -> Iterator[Candidate]:
    """Yield the facts of what a LifeBench user wrote and was sent, in the order of time."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [json.loads(row) for row in file]
    for row in sorted(rows, key=lambda one: one["time"]):
        time = datetime.fromisoformat(row["time"])
        time = time if time.tzinfo else time.replace(tzinfo=UTC)
        for said in row.get("messages") or [{"role": "user", "content": row["text"]}]:
            message = Message(id=row["id"], text=said["content"], role=said["role"], time=time)
            for one in extractor.extract([message]):
                yield one if one.valid_from else replace(one, valid_from=time)


def of_weak(extractor: LearntExtractor, folder: Path) -> Iterator[Example]:
    """Yield the facts of one person that are most alike, as if none replaced another."""
    known: list[Candidate] = []
    for one in facts_of(folder / UNLABELLED, extractor):
        for at, other in enumerate(nearest(one, known)):
            yield Example(one, other, f"weak {len(known)} {at}", "weak", "en", "weak", False, WEAK)
        known.append(one)


def commonness(everything: Sequence[Example]) -> dict[str, float]:
    """Return how rare the words are that several texts have, 0..1: by the language with most of them."""
    texts: dict[str, set[str]] = defaultdict(set)
    for one in everything:
        texts[one.language] |= {one.new.text, one.old.text}
    shares: dict[str, float] = defaultdict(float)
    for told_in in texts.values():
        counts = Counter(word for text in told_in for word in words_of(text))
        for word, count in counts.items():
            if count >= LEAST_TEXTS:
                shares[word] = max(shares[word], count / len(told_in))
    rare = {word: math.log(share) / math.log(RARE_SHARE) for word, share in sorted(shares.items())}
    common = {word: round(max(COMMONEST, size), 2) for word, size in rare.items() if size < 1}
    return common | dict.fromkeys(CHAT.split(), COMMONEST)


def fit(
    found: Sequence[dict[str, float]], examples: Sequence[Example], common: dict[str, float]
) -> ReplacementModel:
    """Return the model of these examples; ``found`` are their features."""
    vectorizer = DictVectorizer()
    matrix = vectorizer.fit_transform(found)
    truth = [one.replaces for one in examples]
    weights = [one.weight for one in examples]
    learnt = LogisticRegression(C=STRENGTH, max_iter=1_000).fit(matrix, truth, weights)
    names = vectorizer.get_feature_names_out()
    rounded = {name: round(float(w), 3) for name, w in zip(names, learnt.coef_[0], strict=True)}
    return ReplacementModel(
        common, rounded, round(float(learnt.intercept_[0]), 3), THRESHOLD, FLOOR
    )


def _fold(one: Example) -> int:
    return crc32(one.group.encode()) % FOLDS


def validate(
    found: Sequence[dict[str, float]],
    examples: Sequence[Example],
    everything: Sequence[Example],
    common: dict[str, float],
) -> None:
    """Print what is retired of what was left out, by threshold and language."""
    scores: dict[str, float] = defaultdict(lambda: -math.inf)
    ruled: dict[bool, set[str]] = {False: set(), True: set()}
    bags = {one.bag: one for one in everything if one.origin != "weak"}
    for fold in range(FOLDS):
        kept = [at for at, one in enumerate(examples) if one.origin == "weak" or _fold(one) != fold]
        model = fit([found[at] for at in kept], [examples[at] for at in kept], common)
        model, held_to = (replace(model, threshold=least) for least in (-math.inf, math.inf))
        for one in everything:
            if one.origin == "weak" or _fold(one) != fold:
                continue
            if model.is_likely(one.new, one.old):
                scores[one.bag] = max(scores[one.bag], model.score(one.new, one.old))
            for is_held, by in ((False, RULES_ALONE), (True, held_to)):
                if judge(one.new, [Held("old", one.old)], model=by).action in {"supersede", "past"}:
                    ruled[is_held].add(one.bag)
    print("threshold: found of pairs, of the labelled sets; retired of near misses, others, sets")
    for threshold in (None, math.inf, 2, 1.5, 1, 0.75, 0.5, 0.25, 0, -0.25, -0.5, -1):
        row, rules = [], ruled[threshold is not None]
        for language in ("en", "vi", "zh"):
            counts: Counter[tuple[str, bool, bool]] = Counter()
            for bag, one in bags.items():
                if one.language == language:
                    hit = bag in rules or (threshold is not None and scores[bag] >= threshold)
                    counts[one.origin, one.replaces, hit] += 1
            right = [
                f"{counts[of, True, True]}/{counts[of, True, True] + counts[of, True, False]}"
                for of in ("pair", "set")
            ]
            wrong = [str(counts[of, False, True]) for of in ("pair", "others", "set")]
            row.append(f"{language} {' '.join(right)}; {' '.join(wrong)}")
        name = "rules" if threshold is None else f"{threshold:5.2f}"
        print(f"{name}  {'  |  '.join(row)}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the model, or print how it does on what it did not see."""
    parser = argparse.ArgumentParser(prog="benches.quality.train_replacement")
    parser.add_argument("--validate", action="store_true")
    options = parser.parse_args(arguments)
    folder = data_folder()
    if folder is None:
        parser.error("AGENTMEM_DATA is not set: most of the labelled messages point into it")
    extractor = LearntExtractor()
    everything = [*of_pairs(extractor), *of_sets(extractor, folder), *of_weak(extractor, folder)]
    common = commonness(everything)
    weighed = [(pair_features(one.new, one.old, common), one) for one in everything]
    found = [names for names, _ in weighed if names is not None]
    examples = [one for names, one in weighed if names is not None]
    right = sum(one.replaces for one in examples)
    print(
        f"{len(examples)} of {len(everything)} pairs can be weighed, {right} of them replacements"
    )
    if options.validate:
        validate(found, examples, everything, common)
        return
    model = fit(found, examples, common)
    made = {"bias": model.bias, "threshold": model.threshold, "floor": model.floor,
            "weights": dict(model.weights), "common": common}  # fmt: skip
    MODEL.write_text(json.dumps(made, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
