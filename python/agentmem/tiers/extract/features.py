"""A sentence as the linear model sees it: n-grams of its words, its place, and what the rules gave.

The names of the features are hashed into ``BUCKETS`` places with a sign (Weinberger et al.: Feature
Hashing for Large Scale Multitask Learning, ICML 2009), so that no vocabulary is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from zlib import crc32

from agentmem.tiers.extract.found import Found
from agentmem.tiers.extract.segments import Language, Sentence
from agentmem.tiers.extract.vietnamese_words import fold

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["BUCKETS", "Setting", "features", "hashed"]

BUCKETS: Final = 1 << 15

_DIGITS: Final = re.compile(r"\d")
_SPACES: Final = re.compile(r"\s+")
_TOKEN: Final = re.compile(r"[^\W_]+(?:'[^\W_]+)*|[^\w\s]")
_LINK: Final = re.compile(r"https?:|www\.|\.com\b|\.example\b")
_HEAD: Final = re.compile(r"(\w+)(?: (\w+))?")
# Longer sentences are lists or dumps: what counts stands before.
_MOST_CHARACTERS: Final = 1_000
_LONGEST: Final = 12


@dataclass(slots=True)
class Setting:
    """The message around a sentence.

    Attributes:
        language: Whose rules read it.
        head: What stands before its first words: "SMS Send Anna", "Note".
        sentences: All of it.
        is_asking: Whether any of them is a question.
        is_loud: Whether it has more than one exclamation mark.
    """

    language: Language
    head: str
    sentences: Sequence[Sentence]
    is_asking: bool
    is_loud: bool

    @classmethod
    def of(cls, text: str, language: Language, sentences: Sequence[Sentence]) -> Setting:
        """Return the setting of a message's sentences."""
        start = sentences[0].words[0].start if sentences else 0
        asks = any(one.end in {"?", "？"} for one in sentences)
        return cls(language, text[:start].strip(), sentences, asks, text.count("!") > 1)


def features(
    text: str, setting: Setting, at: int, found: Sequence[Found], *, spoke_before: bool
) -> set[str]:
    """Return the names of a sentence's features.

    Args:
        text: Its characters.
        setting: The message that it stands in.
        at: Its number in the message.
        found: What the rules gave of it.
        spoke_before: Whether they gave something of the sentence before.
    """
    text = text[:_MOST_CHARACTERS]
    names = set(_grams(text, setting.language))
    for shape in _shape(text, setting, at, found, spoke_before=spoke_before):
        names.add(shape)
        names.add(f"{setting.language}:{shape}")
    return names


def _grams(text: str, language: Language) -> Iterator[str]:
    plain = _DIGITS.sub("0", text.lower().replace("’", "'"))
    if language == "zh":
        signs = f"^{_SPACES.sub('', plain)}$"
        for size in (1, 2, 3):
            for k in range(len(signs) - size + 1):
                yield f"z{signs[k : k + size]}"
        return
    if language == "vi":
        plain = fold(plain)
    before = "<"
    for word in (*_TOKEN.findall(plain), ">"):
        yield f"w{word}"
        yield f"b{before} {word}"
        before = word


def _shape(
    text: str, setting: Setting, at: int, found: Sequence[Found], *, spoke_before: bool
) -> Iterator[str]:
    sentence, count = setting.sentences[at], len(setting.sentences)
    size = len(text) // 2 if setting.language == "zh" else len(sentence.words)
    yield f"end {sentence.end}"
    yield f"size {min(_LONGEST, size // 3)}"
    yield f"place {min(at, 3)}"
    yield f"last {at == count - 1}"
    yield f"count {min(count, 6)}"
    yield f"asks {setting.is_asking}"
    yield f"loud {setting.is_loud}"
    yield f"facts {min(len(found), 2)}"
    if _DIGITS.search(text):
        yield "digit"
    if _LINK.search(text):
        yield "link"
    for one in found:
        yield f"rule {one.kind}"
        yield f"rule {one.kind} {one.confidence:.2f}"
        if one.when is not None:
            yield "rule dated"
    if head := _HEAD.match(setting.head):
        yield f"head {head[1]}"
        if head[2]:
            yield f"head {head[0].lower()}"
    else:
        yield "no head"
    if at:
        yield f"before {spoke_before} {setting.sentences[at - 1].end}"


def hashed(names: set[str]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """Return the bucket of each feature and its sign, 1 or -1; both of shape (n,), in no order."""
    import numpy as np

    # A lone surrogate has no UTF-8 of its own; a text may hold one all the same.
    keys = np.array([crc32(name.encode("utf-8", "surrogatepass")) for name in names], np.int64)
    return keys & (BUCKETS - 1), (1 - 2 * (keys >> 31)).astype(np.int32)
