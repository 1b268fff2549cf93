"""Lasting rules in Vietnamese: what an assistant or a team is told to do from now on."""

from __future__ import annotations

from typing import Final

from agentmem.tiers.extract import vietnamese_words as lexicon
from agentmem.tiers.extract.found import Found, Reading
from agentmem.tiers.extract.segments import Word
from agentmem.tiers.extract.vietnamese_text import Piece
from agentmem.tiers.extract.vietnamese_words import Phrases

__all__ = ["read_rules"]

# How it is to be done: "gợi ý món ăn thì tránh tôm".
_HOW: Final = Phrases("tránh|đừng|phải|nhớ|luôn|ưu tiên|không|chỉ|né|hạn chế")
_DONE: Final = frozenset(("rồi", "roi", "xong"))
_THEN: Final = frozenset(("thì", "thi"))
_OPENERS: Final = Phrases(
    "từ nay|từ giờ|từ giờ trở đi|từ nay trở đi|từ bây giờ|kể từ nay|kể từ hôm nay|kể từ bây giờ|từ "
    "hôm nay|từ mai|từ nay về sau|từ giờ về sau|sau này|về sau"
    "|luôn luôn|luôn|mỗi khi|mỗi lần|hễ|bất cứ khi nào|mặc định|lần sau|các lần sau|những lần sau"
    "|từ tuần sau|từ tháng sau|giờ|nhớ|nhớ là|lúc nào cũng|khi"
)  # fmt: skip
_TRIMMED: Final = Phrases(
    "nhớ nha|nhớ nhé|nhớ nhe|à|này|bạn ơi|anh ơi|em ơi|mà|thôi|và|còn|nhưng|với lại|lưu ý|ok"
)
_UNTIL_ASKED: Final = Phrases(
    "khi chưa hỏi|nếu chưa hỏi|khi chưa được|trước khi hỏi|nếu không được phép|khi chưa có|mà chưa "
    "hỏi|mà không hỏi|trừ khi"
)
_REMOVES: Final = Phrases("bỏ|hủy|huỷ|xóa|bãi bỏ|gỡ|bỏ luôn|bỏ cái")


def read_rules(
    piece: Piece,
    tokens: list[str],
    places: list[Word],
    reading: Reading,
    *,
    is_bare: bool,
    last: Found | None,
    is_lasting: bool,
) -> Found | None:
    """Return the rule that a piece gives, a Found without kind for a one-off order, None for no order."""
    start, end = piece.start, piece.end

    def at(phrases: Phrases, place: int) -> int:
        size = phrases.at(tokens, place, is_bare=is_bare)
        return size if place + size <= end else 0

    def has(phrases: Phrases) -> bool:
        return phrases.find(tokens, start, end, is_bare=is_bare) >= 0

    k = start
    while k < end and (size := at(_TRIMMED, k)):
        k += size
    if k >= end:
        return None
    head = at(lexicon.RULE_HEADS, k)
    if (gone := at(_REMOVES, k)) and at(lexicon.RULE_HEADS, k + gone):
        return _rule(places, k, end, reading, "team", tokens, confidence=0.85, ends=True)
    if head:
        said = next((j for j in range(k, end) if tokens[j] in {"là", "la"}), -1)
        if 0 < said < end - 1:
            return _rule(places, said + 1, end, reading, "team", tokens, confidence=0.9)
    first, opened = k, is_lasting
    while k < end and (size := at(_OPENERS, k)):
        opened = opened or tokens[k] not in {"giờ", "gio", "khi"}
        conditional = tokens[k] in {"mỗi", "hễ", "khi", "moi", "he", "bất"}
        k += size
        if conditional:
            then = next((j for j in range(k, end) if tokens[j] in _THEN), -1)
            if then < 0:
                break
            k = then + 1
    you = at(lexicon.YOU, k) if k < end else 0
    own = k < end and lexicon.PRONOUN.at(tokens, k, is_bare=is_bare) and not you
    if own:
        return None
    verb = k + (
        you
        if you
        and (
            at(lexicon.MUSTS, k + you)
            or at(lexicon.FORBIDS, k + you)
            or at(lexicon.RULE_VERBS, k + you)
        )
        else 0
    )
    if tokens[k : k + 1] in (["anh"], ["em"], ["a"]) and not (
        at(lexicon.MUSTS, verb)
        or at(lexicon.FORBIDS, verb)
        or opened
        or at(lexicon.RULE_VERBS, verb)
    ):
        return None
    if has(lexicon.ONE_OFF):
        return (
            Found("", 0, 0, "", "")
            if at(lexicon.MUSTS, verb) or at(lexicon.RULE_VERBS, verb) or at(lexicon.FORBIDS, verb)
            else None
        )
    if size := at(lexicon.FORBIDS, verb):
        ordered = at(lexicon.RULE_VERBS, verb + size) or at(lexicon.STYLES, verb + size)
        plain = tokens[verb] in {"đừng", "khỏi", "dung", "khoi", "thôi", "không"} and size == 1
        if (
            ordered
            or (
                not plain and size > 1 and tokens[verb] in {"đừng", "tuyệt", "dung", "tuyet", "cấm"}
            )
            or has(_UNTIL_ASKED)
        ):
            ends = bool({"nữa", "nua"} & set(tokens[verb:end]))
            return _rule(
                places, first, end, reading, "assistant", tokens, confidence=0.8, ends=ends
            )
        return Found("", 0, 0, "", "") if plain else None
    must = at(lexicon.MUSTS, verb)
    ordered = at(lexicon.RULE_VERBS, verb + must) or at(lexicon.STYLES, verb + must)
    lasting = (
        opened
        or (must and tokens[verb] in {"luôn", "luon", "mặc", "lúc"})
        or (ordered and bool({"luôn", "luon"} & set(tokens[verb:end])) and has(lexicon.STYLES))
    )
    if ordered and lasting:
        return _rule(places, first, end, reading, "assistant", tokens, confidence=0.9)
    if (
        ordered
        and at(lexicon.STYLES, verb + must)
        and tokens[verb + must] in {"gọi", "xưng", "goi"}
    ):
        return _rule(places, first, end, reading, "assistant", tokens, confidence=0.85)
    then = next((j for j in range(start, end) if tokens[j] in _THEN), -1)
    if (
        last is not None
        and last.kind == "instruction"
        and (has(lexicon.STYLES) or (then > 0 and at(lexicon.RULE_VERBS, then + 1)))
    ):
        return _rule(places, first, end, reading, last.subject, tokens, confidence=0.8)
    return _of_everyone(piece, tokens, places, reading, first, then, is_bare=is_bare, last=last)


def _of_everyone(  # noqa: PLR0917 - the parts of one sentence
    piece: Piece,
    tokens: list[str],
    places: list[Word],
    reading: Reading,
    first: int,
    then: int,
    *,
    is_bare: bool,
    last: Found | None,
) -> Found | None:
    """Read "mọi PR phải …", "ai … thì phải …", "vắng thì báo …", "… cũng được"."""
    start, end = piece.start, piece.end
    if lexicon.PRONOUN.find(tokens, start, min(start + 3, end), is_bare=is_bare) >= 0:
        return None
    for k in range(first + 1, min(first + 9, end - 1)):
        if (tokens[k] in {"phải", "cấm"} and tokens[k - 1] not in {"không", "chưa"}) or tokens[
            k : k + 2
        ] in (["không", "được"], ["khong", "duoc"], ["bắt", "buộc"]):
            return _rule(places, first, end, reading, "team", tokens, confidence=0.75)
    ordered = lexicon.RULE_VERBS.at(tokens, first, is_bare=is_bare)
    if ordered and then > first and _HOW.at(tokens, then + 1, is_bare=is_bare):
        return _rule(places, first, end, reading, "assistant", tokens, confidence=0.8)
    if tokens[end - 1] in _DONE or {"hôm", "hom"} & set(tokens[start:end]):
        return None
    if (
        then > first
        and lexicon.RULE_VERBS.at(tokens, then + 1, is_bare=is_bare)
        and then - first <= 5  # noqa: PLR2004 - a length chosen on the development set
    ):
        return _rule(
            places, first, end, reading, last.subject if last else "team", tokens, confidence=0.7
        )
    free = tokens[end - 2 : end] in (["cũng", "được"], ["cung", "duoc"])
    if free and (
        lexicon.STYLES.find(tokens, start, end, is_bare=is_bare) >= 0
        or lexicon.RULE_VERBS.at(tokens, first + 1, is_bare=is_bare)
    ):
        return _rule(places, first, end, reading, "assistant", tokens, confidence=0.7)
    return None


def _rule(  # noqa: PLR0917 - the parts of one sentence
    places: list[Word],
    start: int,
    end: int,
    reading: Reading,
    subject: str,
    tokens: list[str],
    *,
    confidence: float,
    ends: bool = False,
) -> Found:
    while end - 1 > start and tokens[end - 1] in lexicon.PARTICLES:
        end -= 1
    first, last = places[start].start, places[end - 1].end
    text = " ".join(reading.text[first:last].split())
    return Found(
        "instruction",
        first,
        last,
        f"{text[:1].upper()}{text[1:]}.",
        subject,
        None,
        None,
        ends,
        None,
        confidence,
    )
