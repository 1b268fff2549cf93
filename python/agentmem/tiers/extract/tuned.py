"""Encoders tuned to say which sentences are worth remembering, and as what.

English is read by the encoder of the default embedder, other languages by the multilingual one
where its extra is installed.
A whole message is read at once, so that a sentence is judged by what stands around it. The change
to its weights was learnt from the labelled training sets by
``benches/quality/train_encoder.py`` and comes with the package.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Final

from agentmem.embedding.adapted import load_adapted, prepare_adapted
from agentmem.embedding.change import Change
from agentmem.embedding.per_process import PerProcess
from agentmem.models import FACT_KINDS
from agentmem.tiers.extract.verdict import Verdict

if TYPE_CHECKING:
    from pathlib import Path

    from agentmem.embedding.adapted import TokenScorer
    from agentmem.embedding.tokenizer import TextTokenizer
    from agentmem.tiers.extract.extractor import Heard

__all__ = ["TunedModel", "Window", "packaged_tuned", "prepare_tuned", "windows"]

_FILE: Final = "tuned-1.npz"
# What the encoder was tuned with.
MOST_TOKENS: Final = 250
MOST_HEAD_TOKENS: Final = 24
MOST_SENTENCE_TOKENS: Final = 200
# A person writes no more in one message: what stands behind is silent.
MOST_WINDOWS: Final = 64


class Window:
    """Sentences that the encoder reads at once.

    Attributes:
        ids: The tokens, special ones included.
        sentences: Each sentence with the ``[start, end)`` of its own tokens.
    """

    __slots__ = ("ids", "sentences")

    def __init__(self, head: Sequence[int]) -> None:
        self.ids: list[int] = list(head)
        self.sentences: list[tuple[Heard, int, int]] = []

    def add(self, heard: Heard, ids: Sequence[int], ending: Sequence[int]) -> None:
        """Add a sentence and the sign that closes it, which counts for nobody."""
        start = len(self.ids)
        self.ids += ids
        self.sentences.append((heard, start, len(self.ids)))
        self.ids += ending


def windows(sentences: Sequence[Heard], tokenizer: TextTokenizer) -> Iterator[Window]:
    """Yield the sentences of a message by what fits into one run of the encoder.

    Args:
        sentences: Those of one message, in order.
        tokenizer: The encoder's own.
    """
    if not sentences:
        return
    before, after = _around(tokenizer)
    head = [*before, *tokenizer.ids(_plain(sentences[0].setting.head))[:MOST_HEAD_TOKENS]]
    window = Window(head)
    for heard in sentences:
        ids = tokenizer.ids(_plain(heard.text[heard.start : heard.end]))[:MOST_SENTENCE_TOKENS]
        # Who ends without a sign says no less.
        ending = tokenizer.ids(heard.sentence.end or ".")
        if len(window.ids) + len(ids) + len(ending) + len(after) > MOST_TOKENS:
            window.ids += after
            yield window
            window = Window(head)
        window.add(heard, ids, ending)
    window.ids += after
    yield window


def _around(tokenizer: TextTokenizer) -> tuple[list[int], list[int]]:
    wrapped = tokenizer.wrap([0])
    at = wrapped.index(0)
    return wrapped[:at], wrapped[at + 1 :]


def _plain(text: str) -> str:
    # A tokenizer takes valid Unicode; a message may hold a lone surrogate all the same.
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text


class TunedModel:
    """The tuned encoder; loaded at the first use, once a process.

    Args:
        change: What was learnt.

    Attributes:
        thresholds: The least worth that speaks, without a rule's finding and with one.
    """

    def __init__(self, change: Change) -> None:
        self._change = change
        self._loaded = PerProcess(self._load)
        low, high = change.arrays["thresholds"].tolist()
        self.thresholds: tuple[float, float] = (low, high)

    def judge(self, sentences: Sequence[Heard]) -> Iterator[Verdict]:
        """Yield what the model says of each sentence of a message, in order.

        Args:
            sentences: All those of one message; beyond ``MOST_WINDOWS`` windows none is worth it.

        Raises:
            ModelNotFoundError: The package with the encoder's weights is not installed.
            EmbeddingError: The encoder can't be run on this machine.
        """
        if not sentences:
            return
        scorer, tokenizer = self._loaded.get()
        given = 0
        for number, window in enumerate(windows(sentences, tokenizer)):
            if number == MOST_WINDOWS:
                break
            scores = scorer.scores(window.ids)
            for _, start, end in window.sentences:
                given += 1
                if start == end:
                    yield _SILENT
                    continue
                mean = scores[start:end].mean(0)
                worth = 1 / (1 + math.exp(-float(mean[0])))
                yield Verdict(worth, FACT_KINDS[int(mean[1:].argmax())])
        for _ in range(given, len(sentences)):
            yield _SILENT

    def _load(self) -> tuple[TokenScorer, TextTokenizer]:
        from agentmem.embedding.tokenizer import packaged_tokenizer

        return load_adapted(self._change), packaged_tokenizer()


_SILENT: Final = Verdict(0.0, FACT_KINDS[-1])


@lru_cache(maxsize=1)
def packaged_tuned() -> TunedModel:
    """Return the model that comes with the package, read once."""
    return TunedModel(_packaged_change())


def prepare_tuned() -> Path:
    """Derive the encoder's fast form into the cache unless it is there, and return its path.

    Raises:
        ModelNotFoundError: The package with the encoder's weights is not installed.
        EmbeddingError: The encoder can't be run on this machine.
        OSError: The folder can't be written.
    """
    return prepare_adapted(_packaged_change())


def _packaged_change() -> Change:
    with as_file(files("agentmem.tiers.extract") / _FILE) as path:
        return Change.read(path)
