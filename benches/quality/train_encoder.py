"""``python -m benches.quality.train_encoder``: learn the change that tunes the encoder for English.

Needs jax and optax (``pip install jax optax``) and the data folder (``AGENTMEM_DATA``). The packaged
encoder stays as it is; what is learnt is added to it (``agentmem/embedding/change.py``). Learnt
from the English messages of the training sets of ``labels/`` alone. With ``--validate`` nothing is
written: one session in ``FOLDS`` is left out, and what is given of these is scored as
``extraction.py`` scores. Takes some 20 minutes of CPU.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
import optax
from benches.corpus import data_folder
from benches.quality.examples import Example, examples, fold_of, summary
from benches.quality.extraction import Line, lines, score

from agentmem.embedding.change import MATRICES, Change
from agentmem.embedding.minilm import HEADS
from agentmem.embedding.tokenizer import packaged_tokenizer
from agentmem.embedding.weights import packaged_model, read_weights
from agentmem.models import FACT_KINDS
from agentmem.tiers.extract import LearntExtractor
from agentmem.tiers.extract.extractor import Heard
from agentmem.tiers.extract.tuned import TunedModel, windows
from agentmem.tiers.extract.verdict import Verdict

LABELS: Final = Path(__file__).parent / "labels"
LEARNT: Final = (
    "extraction-train-en.jsonl", "extraction-train-more.jsonl", "extraction-train-plain.jsonl"
)  # fmt: skip
MODEL: Final = Path("python/agentmem/tiers/extract/tuned-1.npz")


# The least worth that speaks, without a rule's finding and with one. Chosen on the development set and the
# sets that were scored before.
THRESHOLDS: Final = (0.94, 0.8)
RANK: Final = 16
EPOCHS: Final = 4
RATE: Final = 1e-3
RESUMED: Final = 0.4  # of the rate, where learning goes on
REPEATED: Final = 4  # times that new sets are shown besides then
# Biases and norms change more slowly than the narrow matrices.
SLOWER: Final = 0.2
BATCH: Final = 16
DROPPED: Final = 0.1
KIND_WEIGHT: Final = 0.6
STEP: Final = 32  # windows are padded to a multiple of it
MOST_SENTENCES: Final = 32


@dataclass
class Passage:
    """One run of the encoder: its tokens, and the sentences in it with what is said of each."""

    ids: list[int]
    places: list[tuple[int, int]]
    examples: list[Example]


def passages(labelled: Sequence[Line]) -> list[Passage]:
    """Return the messages as the extractor shows them to the encoder."""
    tokenizer, found = packaged_tokenizer(), []
    for line in labelled:
        judged = {one.heard.at: one for one in examples([line])}
        for window in windows([one.heard for one in judged.values()], tokenizer):
            kept = window.sentences[:MOST_SENTENCES]
            places = [(start, end) for _, start, end in kept]
            found.append(Passage(window.ids, places, [judged[h.at] for h, _, _ in kept]))
    return found


def batches(found: Sequence[Passage], random: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Yield the passages in batches of like length, in random order, padded."""
    order = sorted(range(len(found)), key=lambda at: len(found[at].ids) + random.random() * STEP)
    groups = [order[at : at + BATCH] for at in range(0, len(order), BATCH)]
    random.shuffle(groups)
    for group in groups:
        longest = max(len(found[at].ids) for at in group)
        yield _batch([found[at] for at in group], -(-longest // STEP) * STEP)


def _batch(group: Sequence[Passage], longest: int) -> dict[str, Any]:
    ids = np.zeros((BATCH, longest), np.int32)
    mask = np.zeros((BATCH, longest), np.float32)
    pool = np.zeros((BATCH, MOST_SENTENCES, longest), np.float32)
    worth = np.zeros((BATCH, MOST_SENTENCES), np.float32)
    is_judged = np.zeros((BATCH, MOST_SENTENCES), np.float32)
    kinds = np.zeros((BATCH, MOST_SENTENCES, len(FACT_KINDS)), np.float32)
    for row, passage in enumerate(group):
        ids[row, : len(passage.ids)] = passage.ids
        mask[row, : len(passage.ids)] = 1
        for at, ((start, end), one) in enumerate(
            zip(passage.places, passage.examples, strict=True)
        ):
            pool[row, at, start:end] = 1 / max(1, end - start)
            if one.worth is not None and end > start:
                is_judged[row, at], worth[row, at] = 1, one.worth
            for kind, share in one.kinds.items():
                kinds[row, at, FACT_KINDS.index(kind)] = share
    return {
        "ids": ids, "mask": mask, "pool": pool, "worth": worth, "is_judged": is_judged, "kinds": kinds
    }  # fmt: skip


class Encoder:
    """A packaged encoder in float32, with what is learnt as parameters."""

    def __init__(self) -> None:
        self._weights = weights = read_weights(packaged_model())
        self._layers = [
            {one.name: getattr(layer, one.name) for one in fields(layer)}
            for layer in weights.layers
        ]

    def start(self, seed: int) -> dict[str, Any]:
        """Return the parameters before learning: they change nothing."""
        random = np.random.default_rng(seed)
        found: dict[str, Any] = {
            "head": random.normal(0, 0.02, (self._weights.positions.shape[1], 1 + len(FACT_KINDS))),
            "head_bias": np.zeros(1 + len(FACT_KINDS)),
        }
        for number, layer in enumerate(self._layers):
            for part, value in layer.items():
                name = f"{number}.{part}"
                if part in MATRICES:
                    inputs, outputs = value.shape
                    found[name + ".in"] = random.normal(0, inputs**-0.5, (inputs, RANK))
                    found[name + ".out"] = np.zeros((RANK, outputs))
                else:
                    found[name] = np.zeros(np.shape(value))
        return {name: jnp.asarray(value, jnp.float32) for name, value in found.items()}

    def embedded(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Return the batch with vectors in place of ids."""
        weights, ids = self._weights, batch["ids"]
        words = weights.words[ids].astype(np.float32) * weights.word_scales[ids]
        rest = {name: value for name, value in batch.items() if name != "ids"}
        return {"embedded": words + weights.positions[: ids.shape[1]], **rest}

    def scores(self, learnt: dict[str, Any], batch: dict[str, Any], key: Any) -> Any:
        """Return the scores of each sentence, shape (batch, sentences, 1 + kinds)."""
        hidden, mask = _normed(batch["embedded"], self._weights.norm), batch["mask"]
        for number, layer in enumerate(self._layers):
            key, first, second = jax.random.split(key, 3)

            def product(part: str, x: Any, at: int = number, of: Any = layer) -> Any:
                name = f"{at}.{part}"
                changed = x @ learnt[name + ".in"] @ learnt[name + ".out"]
                return x @ of[part] + changed + of[part + "_bias"] + learnt[name + "_bias"]

            def norm(part: str, x: Any, at: int = number, of: Any = layer) -> Any:
                scale, shift = of[part]
                added = learnt[f"{at}.{part}"]
                return _normed(x, (scale + added[0], shift + added[1]))

            context = _attended(product("attention", hidden), mask)
            hidden = norm(
                "projection_norm", hidden + _dropped(product("projection", context), first)
            )
            wide = jax.nn.gelu(product("up", hidden), approximate=False)
            hidden = norm("down_norm", hidden + _dropped(product("down", wide), second))
        pooled = batch["pool"] @ _dropped(hidden, key)
        return pooled @ learnt["head"] + learnt["head_bias"]


def _normed(x: Any, scale_and_shift: tuple[Any, Any]) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    spread = jnp.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
    return centred / spread * scale_and_shift[0] + scale_and_shift[1]


def _attended(joint: Any, mask: Any) -> Any:
    count, length, width = joint.shape[0], joint.shape[1], joint.shape[2] // 3

    def split(x: Any) -> Any:
        return x.reshape(count, length, HEADS, width // HEADS).transpose(0, 2, 1, 3)

    query, key, value = (split(x) for x in jnp.split(joint, 3, -1))
    logits = query @ key.transpose(0, 1, 3, 2) / np.sqrt(width // HEADS)
    shares = jax.nn.softmax(logits + (1 - mask)[:, None, None, :] * -1e9, -1)
    return (shares @ value).transpose(0, 2, 1, 3).reshape(count, length, width)


def _dropped(x: Any, key: Any) -> Any:
    return jnp.where(jax.random.bernoulli(key, 1 - DROPPED, x.shape), x / (1 - DROPPED), 0)


def learn(found: Sequence[Passage], seed: int = 0, before: Change | None = None) -> dict[str, Any]:
    """Return the learnt parameters.

    Args:
        found: What to learn from.
        seed: Of the first weights, the order and what is dropped.
        before: What was learnt of fewer messages: one more epoch, at a lower rate, goes on from it.
    """
    encoder = Encoder()
    learnt, epochs, highest = encoder.start(seed), EPOCHS, RATE
    if before is not None:
        learnt = {name: jnp.asarray(before.arrays[name], jnp.float32) for name in learnt}
        epochs, highest = 1, RESUMED * RATE
    steps = epochs * -(-len(found) // BATCH)
    rate = optax.warmup_cosine_decay_schedule(0, highest, max(1, steps // 10), steps)
    optimiser = optax.chain(
        optax.clip_by_global_norm(1.0),
        optax.adamw(rate, weight_decay=0.01, mask=lambda tree: {n: v.ndim > 1 for n, v in tree.items()}),
    )  # fmt: skip
    state = optimiser.init(learnt)

    def loss(learnt: dict[str, Any], batch: dict[str, Any], key: Any) -> Any:
        scores = encoder.scores(learnt, batch, key)
        worth, judged = scores[..., 0], batch["is_judged"]
        told = judged * (jax.nn.softplus(worth) - batch["worth"] * worth)
        kinds = -(batch["kinds"] * jax.nn.log_softmax(scores[..., 1:])).sum(-1)
        count = jnp.maximum(batch["kinds"].sum(), 1)
        return told.sum() / jnp.maximum(judged.sum(), 1) + KIND_WEIGHT * kinds.sum() / count

    @jax.jit
    def step(learnt: dict[str, Any], state: Any, batch: dict[str, Any], key: Any) -> Any:
        value, slopes = jax.value_and_grad(loss)(learnt, batch, key)
        changes, state = optimiser.update(slopes, state, learnt)
        slow = {
            name: change if name.endswith((".in", ".out")) or name.startswith("head") else SLOWER * change
            for name, change in changes.items()
        }  # fmt: skip
        return optax.apply_updates(learnt, slow), state, value

    random, key = np.random.default_rng(seed), jax.random.PRNGKey(seed)
    for epoch in range(epochs):
        losses = []
        for batch in batches(found, random):
            key, own = jax.random.split(key)
            learnt, state, value = step(learnt, state, encoder.embedded(batch), own)
            losses.append(float(value))
        print(f"epoch {epoch + 1} of {epochs}: loss {np.mean(losses):.4f}", flush=True)
    return learnt


def write(learnt: dict[str, Any], path: Path) -> Change:
    """Write what was learnt where ``Change.read`` finds it."""
    arrays = {name: np.asarray(value, np.float16) for name, value in sorted(learnt.items())}
    np.savez_compressed(path, thresholds=np.array(THRESHOLDS, np.float16), **arrays)
    return Change.read(path)


class _Judged(TunedModel):
    """Keeps what it said of a message."""

    def __init__(self, model: TunedModel) -> None:
        self._model = model
        self._said: dict[tuple[str, str], list[Verdict]] = {}

    def judge(self, sentences: Sequence[Heard]) -> Iterator[Verdict]:
        key = sentences[0].text, sentences[0].setting.head
        if key not in self._said:
            self._said[key] = list(self._model.judge(sentences))
        return iter(self._said[key])


def validate(labelled: Sequence[Line], aside: Sequence[Line]) -> None:
    """Print how messages do that were left out, by thresholds."""
    left_out = [line for line in labelled if fold_of(line) == 0]
    learnt = learn(passages([line for line in labelled if fold_of(line) != 0]))
    with tempfile.TemporaryDirectory() as folder:
        reader = _Judged(TunedModel(write(learnt, Path(folder) / "validated.npz")))
        for pair in itertools.product((0.3, 0.4, 0.5, 0.6, 0.7, 0.8), (0.2, 0.4, 0.6)):
            reader.thresholds = pair
            for name, part in (("left out", left_out), ("aside", aside)):
                found = score(part, LearntExtractor(tuned=reader))["en"]
                print(f"{pair} {name:9} {summary(found)}", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the change, or print how one does on what it did not see."""
    parser = argparse.ArgumentParser(prog="benches.quality.train_encoder")
    parser.add_argument("--validate", action="store_true")
    parser.add_argument(
        "--resume", nargs="*", type=Path, metavar="NEW",
        help="one more epoch, in which these sets are shown some times more",
    )  # fmt: skip
    parser.add_argument(
        "--aside", nargs="*", type=Path, default=[], help="sets to score besides those left out"
    )
    options = parser.parse_args(arguments)
    folder = data_folder()
    if folder is None:
        parser.error("AGENTMEM_DATA is not set: most of the training sets point into it")

    def english(paths: Sequence[Path]) -> list[Line]:
        found = [line for path in paths for line in lines(path, folder)]
        return [line for line in found if line.label["language"] == "en"]

    labelled = english([LABELS / name for name in LEARNT])
    if options.validate:
        validate(labelled, english(options.aside))
    else:
        before = Change.read(MODEL) if options.resume is not None else None
        again = passages(english(options.resume or [])) * REPEATED
        write(learn(passages(labelled) + again, before=before), MODEL)


if __name__ == "__main__":
    main()
