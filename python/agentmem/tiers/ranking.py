"""What a recall gives the engine: the ranking, how far the embedder can read, and the calibration."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Any

from agentmem import _native
from agentmem.models import Ranking
from agentmem.tiers.calibrated import MODELS, UNKNOWN

__all__ = ["DEFAULT", "RRF_K", "explain_hit", "native_ranking", "share_of"]

DEFAULT = Ranking()
MEASURED = _native.Ranking()
# Where no candidate stands in a session; 60, the paper's, stays the default of `agentmem.fuse`.
RRF_K, SESSIONS_RRF_K = MEASURED.k or (0.0, 0.0)
DAY_MS = 86_400_000.0
# The vectors' weight for a text that the embedder can't read at all. Not 0: names, numbers and
# borrowed words are still compared. Measured: from 0.1 to 0.3 makes no difference of more than
# 0.003 on Chinese with an English model, and full weight costs 0.02 (docs/quality.md).
LEAST_SHARE = 0.2
NONE = (0.0, 0.0)
WORDS = re.compile(r"[^\W\d_]+")
FIRST_UNSPACED = "\u2e80"
MOST_READ = 4_000
VIETNAMESE = frozenset("ăĂđĐơƠưƯ")
# The languages that write a script, by the first word of its letters' names in Unicode.
SCRIPTS = {
    "CJK": frozenset({"zh", "ja"}),
    "HIRAGANA": frozenset({"ja"}),
    "KATAKANA": frozenset({"ja"}),
    "KATAKANA-HIRAGANA": frozenset({"ja"}),
    "HANGUL": frozenset({"ko"}),
    "CYRILLIC": frozenset({"ru", "uk", "bg", "sr", "be", "mk", "kk", "ky", "mn", "tg"}),
    "GREEK": frozenset({"el"}),
    "ARABIC": frozenset({"ar", "fa", "ur", "ps", "sd", "ug"}),
    "HEBREW": frozenset({"he", "yi"}),
    "THAI": frozenset({"th"}),
    "LAO": frozenset({"lo"}),
    "KHMER": frozenset({"km"}),
    "MYANMAR": frozenset({"my"}),
    "GEORGIAN": frozenset({"ka"}),
    "ARMENIAN": frozenset({"hy"}),
    "ETHIOPIC": frozenset({"am", "ti"}),
    "DEVANAGARI": frozenset({"hi", "mr", "ne", "sa"}),
    "BENGALI": frozenset({"bn", "as"}),
    "TAMIL": frozenset({"ta"}),
    "TELUGU": frozenset({"te"}),
    "KANNADA": frozenset({"kn"}),
    "MALAYALAM": frozenset({"ml"}),
    "GUJARATI": frozenset({"gu"}),
    "GURMUKHI": frozenset({"pa"}),
    "SINHALA": frozenset({"si"}),
}
NOT_LATIN = frozenset().union(*SCRIPTS.values())


@lru_cache(maxsize=64)
def native_ranking(ranking: Ranking, embedder_id: str) -> _native.Ranking:
    """Return the engine's form of a ranking, with the calibration of the embedder."""
    return _native.Ranking(
        method=ranking.fusion,
        own=None if ranking.sessions else MEASURED.lone,
        near=None if ranking.sessions else NONE,
        session=None if ranking.sessions else 0.0,
        hinted=None if ranking.hints else NONE,
        named=None if ranking.names else NONE,
        recency=ranking.recency,
        half_life_ms=ranking.half_life_days * DAY_MS,
        priority=ranking.priority,
        diversity=ranking.diversity,
        relevance=next(
            (model for prefix, model in MODELS.items() if embedder_id.startswith(prefix)), UNKNOWN
        ),
    )


def share_of(embedder: Any, text: str) -> float:
    """Return the weight, 0.2 to 1, that an embedder's vector of a text deserves.

    An embedder may say what it reads: ``languages``, a collection of ISO 639-1 codes; without it, or
    with None, it is taken to read everything. Else the share of the text's words decides that stand
    in plain Latin letters, or in letters of one of its languages.
    """
    languages = getattr(embedder, "languages", None)
    if languages is None or text.isascii():
        return 1.0
    codes = frozenset(code.partition("-")[0].lower() for code in languages)
    plain = foreign = 0
    for word in WORDS.findall(unicodedata.normalize("NFC", text[:MOST_READ])):
        if word.isascii():
            plain += 1
            continue
        # Scripts from Han on write no spaces: a character stands for a word.
        size = sum(character >= FIRST_UNSPACED for character in word) or 1
        if _is_read(word, codes):
            plain += size
        else:
            foreign += size
    return max(LEAST_SHARE, plain / (plain + foreign)) if foreign else 1.0


def _is_read(word: str, codes: frozenset[str]) -> bool:
    """Say whether one of the languages writes a word, which holds more than plain Latin letters."""
    letter = next((one for one in word if not one.isascii() and one.isalpha()), word[0])
    script = unicodedata.name(letter, "").partition(" ")[0]
    if script == "LATIN":
        is_vietnamese = any(one in VIETNAMESE or "\u1ea0" <= one <= "\u1ef9" for one in word)
        return "vi" in codes if is_vietnamese else bool(codes - {"en"} - NOT_LATIN)
    return not codes.isdisjoint(SCRIPTS.get(script, frozenset()))


def explain_hit(
    parts: tuple[float | None, list[tuple[int, float]]],
    bm25_score: float | None,
    cosine: float | None,
) -> dict[str, Any]:
    """Return what a hit's score is made of.

    ``bm25`` and ``ann`` are the signals alone, with the signal's own score; ``parts`` holds every
    other part that is not 0, by name. All ``part`` values add up to the hit's score. A signal's
    ``rank`` is None where the row is not among its candidates. A place in a list of RRF has its
    ``weight`` too. With ``fusion="score"`` there is no ``rrf_k`` and no ``weight``: the part is the
    score brought to 0..1 over the candidates, times the weight, so the last candidate's is 0.
    """
    rrf_k, values = parts
    named = dict(zip(_native.SCORE_PARTS, values, strict=True))

    def described(rank: int, part: float) -> dict[str, Any]:
        place: dict[str, Any] = {"rank": rank or None, "part": part}
        if rrf_k is not None and rank:
            place["weight"] = round(part * (rrf_k + rank), 9)
        return place

    found: dict[str, Any] = {"rrf_k": rrf_k}
    for name, score in (("bm25", bm25_score), ("ann", cosine)):
        rank, part = named.pop(name)
        found[name] = {**described(rank, part), "score": score}
    found["parts"] = {
        name: described(rank, part) for name, (rank, part) in named.items() if part > 0.0
    }
    return found
