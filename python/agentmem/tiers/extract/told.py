"""A sentence without a rule's wording, said so that it stands by itself."""

from __future__ import annotations

import re
from typing import Final

from agentmem.tiers.extract.dates import Dated
from agentmem.tiers.extract.english_text import from_outside, third_person
from agentmem.tiers.extract.english_words import lemma
from agentmem.tiers.extract.segments import Language
from agentmem.tiers.word_list import words

__all__ = ["told"]

_SPACES: Final = re.compile(r"\s+")
# Words that lead in and tell nothing.
_LEADS: Final = re.compile(
    r"(?:(?:and|but|so|also|oh|ok|okay|well|yes|yeah|no|hi|hello|hey|actually|by the way|btw|sure"
    r"|thanks|thank you|please)\b[,!.]?\s+)+",
    re.IGNORECASE,
)
_OWN: Final = re.compile(r"(?:my|our) (?=\w)", re.IGNORECASE)
_THEY: Final = re.compile(r"they ((?:also|really|just|now|still|always|usually|never) )?([\w']+)")
_HELPERS: Final = {
    "are": "is", "have": "has", "were": "was", "do": "does", "am": "is", "aren't": "isn't",
    "haven't": "hasn't", "weren't": "wasn't", "don't": "doesn't",
}  # fmt: skip
# Marks of order and width that may stand before or in a word and are no part of it.
_UNSEEN: Final = re.compile(r"[\u200b-\u200f\u2060\ufeff]")
_SPEAKER: Final = words("mình tôi em anh chị tui tớ tao con cháu minh toi tui")
_CALLS: Final = words("ơi à nhé nha ạ này oi")
_SPEAKER_CHINESE: Final = re.compile(r"我(?!们)")


def told(text: str, language: Language, when: Dated | None, offset: int) -> str:
    """Return a sentence with its speaker in the third person and its date absolute.

    Args:
        text: The sentence as it stands.
        language: Whose words it has.
        when: The date that it names; its offsets are into the message.
        offset: Where the sentence begins in the message.
    """
    if when is not None:
        day = when.when.date().isoformat()
        quoted = text[when.start - offset : when.end - offset]
        if day not in quoted:
            end = when.end - offset
            shown = f"（{day}）" if language == "zh" else f" ({day})"
            text = f"{text[:end]}{shown}{text[end:]}"
    text = _SPACES.sub(" ", _UNSEEN.sub("", text)).strip(" ,;:，；：、-–—")
    if language == "zh":
        return f"{_SPEAKER_CHINESE.sub('用户', text).replace('我们', '用户等人')}。"
    said = _english(text) if language == "en" else _vietnamese(text)
    return f"{said[:1].upper()}{said[1:]}."


def _english(text: str) -> str:
    lead = _LEADS.match(text)
    if lead and lead.end() < len(text):
        text = text[lead.end() :]
    if own := _OWN.match(text):
        return f"the user's {from_outside(text[own.end() :])}"
    said = from_outside(text)
    match = _THEY.match(said)
    if match is None or text[:1].lower() != "i":
        return said
    verb = match[2]
    form = lemma(verb)[1]
    agreed = _HELPERS.get(verb) or (third_person(verb) if form == "base" else verb)
    return f"the user {match[1] or ''}{agreed}{said[match.end() :]}"


def _vietnamese(text: str) -> str:
    first, _, rest = text.partition(" ")
    # "Anh Tuấn", "em ơi" are others.
    is_called = rest[:1].isupper() or rest.partition(" ")[0].lower().strip(",") in _CALLS
    if rest and first.lower() in _SPEAKER and not is_called:
        return f"người dùng {rest}"
    return text
