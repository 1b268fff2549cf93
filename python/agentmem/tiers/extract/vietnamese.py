"""What a Vietnamese sentence states, typed with or without its marks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from agentmem.tiers.extract import vietnamese_words as lexicon
from agentmem.tiers.extract.dates import Dated, find_dates
from agentmem.tiers.extract.found import Found, Reading
from agentmem.tiers.extract.segments import Sentence, Word
from agentmem.tiers.extract.vietnamese_rules import read_rules
from agentmem.tiers.extract.vietnamese_text import Piece, pieces_of, statement
from agentmem.tiers.extract.vietnamese_words import Phrases, fold

__all__ = ["read_vietnamese"]

_LONGEST_NOUN: Final = 7
_PLACES: Final = Phrases("vào|đến|về|ra|lên|sang|xuống|tới|qua")
_REGULAR: Final = Phrases("mỗi|hàng|hằng|nào cũng|mọi")
_PLAYS: Final = Phrases("chơi|tập|chạy bộ|đá bóng|đá banh|bơi|học|đi bộ|đọc|nghe|xem|uống|ăn|tập gym|đạp xe|ăn chay")
_TEAM: Final = frozenset("nhóm team đội bọn tụi chúng bên cả phòng nhom doi bon tui chung ben ca phong".split())
_USES: Final = Phrases("dùng|sử dụng")
_CONSUMES: Final = Phrases("ăn|uống|dùng|xem|chơi|hút|đọc|nghe")
_PREDICATES: Final = Phrases.union(
    lexicon.LIKES, lexicon.DISLIKES, lexicon.SKILLS, lexicon.HEALTH, lexicon.NAME, lexicon.LIVES, lexicon.WORKS, lexicon.HAS,
    lexicon.DECIDES, lexicon.RESCHEDULES, lexicon.STOPS, lexicon.IS, lexicon.EVENTS, lexicon.ADVERBS, lexicon.NEGATION,
    lexicon.STATES, lexicon.TRAITS, lexicon.ORIGIN, _PLAYS,
)  # fmt: skip
_CONDITIONS: Final = Phrases("độc thân|đã kết hôn|đã có gia đình|có gia đình|ly hôn|thất nghiệp|có chồng|có vợ|có người yêu")
_GOALS: Final = Phrases("mục tiêu|mục tiêu của mình|kế hoạch")
_SINGULAR: Final = frozenset("nhất nhat hơn hon".split())


@dataclass(slots=True)
class _View:
    """A piece of a sentence with a cursor: the tokens, and which of them belong to dates."""

    tokens: list[str]
    places: list[Word]
    start: int
    end: int
    is_bare: bool
    dated: dict[int, int]

    def at(self, phrases: Phrases, place: int) -> int:
        size = phrases.at(self.tokens, place, is_bare=self.is_bare)
        return size if place + size <= self.end else 0

    def has(self, phrases: Phrases, start: int | None = None) -> bool:
        begin = self.start if start is None else start
        return phrases.find(self.tokens, begin, self.end, is_bare=self.is_bare) >= 0

    def is_capital(self, place: int) -> bool:
        return place < self.end and self.places[place].raw[:1].isupper()

    def is_number(self, place: int) -> bool:
        if place >= self.end:
            return False
        token = self.tokens[place]
        return token[:1].isdecimal() or token in {"một", "hai", "ba", "bốn", "năm", "sáu", "bảy", "tám", "chín", "mười", "mot", "bon", "muoi", "vài"}


@dataclass(slots=True)
class _Subject:
    who: str  # user, we, kin, name, noun
    name: str
    start: int
    verb: int


def _skip(view: _View, place: int, phrases: Phrases) -> int:
    while place < view.end:
        if place in view.dated:
            place = view.dated[place]
        elif view.tokens[place] in {"từ", "vào", "tu", "vao", "đến", "den"} and place + 1 in view.dated:
            place += 1
        elif size := view.at(phrases, place):
            if phrases is lexicon.LEADS and view.tokens[place] in {"con", "xong", "roi"} and view.is_bare and place > view.start:
                break
            place += size
        else:
            break
    return place


def _subject(view: _View, place: int, previous: _Subject | None) -> _Subject:
    tokens = view.tokens
    measured = place + view.at(lexicon.MEASURES, place)
    for begin in dict.fromkeys((measured, place)):
        size = view.at(lexicon.KIN, begin)
        owned = begin + size
        if size and (view.tokens[owned : owned + 1] and tokens[owned] in lexicon.POSSESSIVE or tokens[owned : owned + 1] in (["của"], ["cua"])):
            after = owned + (2 if tokens[owned] in {"của", "cua"} else 1)
            return _Subject("kin", " ".join(tokens[begin:owned]), place, after)
        multi = size > 1 and tokens[begin] not in {"con", "bạn", "ban"}
        if multi:
            return _Subject("kin", " ".join(tokens[begin:owned]), place, owned)
    if (size := view.at(lexicon.WE, place)) and not (view.is_capital(place + size) and tokens[place] not in {"nhóm", "team"}):
        own = tokens[place] in {"gia", "nhà", "vợ", "nha", "vo"}
        return _Subject("user" if own else "we", " ".join(tokens[place : place + size]), place, place + size)
    if (size := view.at(lexicon.TITLES, place)) and view.is_capital(place + size) and place + size not in view.dated:
        after = place + size
        while view.is_capital(after) and after - place < 5 and after not in view.dated:  # noqa: PLR2004 - no longer name
            after += 1
        if after < view.end:
            return _Subject("name", " ".join(view.places[k].raw for k in range(place, after)), place, after)
    if size := view.at(lexicon.PRONOUN, place):
        return _Subject("user", "user", place, place + size)
    if view.is_capital(place) and place > 0 or (view.is_capital(place) and view.is_capital(place + 1)):
        after = place
        while view.is_capital(after) and after - place < 5:  # noqa: PLR2004
            after += 1
        verb = _predicate_at(view, after)
        if after < view.end and verb:
            return _Subject("name", " ".join(view.places[k].raw for k in range(place, after)), place, after)
    if not _predicate_at(view, place):
        for k in range(place + max(1, view.at(lexicon.APPOINTMENTS, place)), min(place + _LONGEST_NOUN, view.end)):
            if k in view.dated or (_noun_verb(view, k) and k > place):
                return _Subject("noun", " ".join(tokens[place:k]), place, k)
    if previous is not None:
        return _Subject(previous.who, previous.name, place, place)
    return _Subject("user", "user", place, place)


def _noun_verb(view: _View, k: int) -> bool:
    return bool(
        view.at(lexicon.IS, k) or view.at(lexicon.STATES, k) or view.at(lexicon.RESCHEDULES, k)
        or view.at(lexicon.DECIDES, k)
        or view.at(lexicon.NAME, k) and view.is_capital(k + view.at(lexicon.NAME, k))
        or (view.at(lexicon.ADVERBS, k) and view.tokens[k] in lexicon.PAST | lexicon.FUTURE | {"bị", "được", "phải", "đang"})
    )  # fmt: skip


def _predicate_at(view: _View, k: int) -> bool:
    return bool(view.at(_PREDICATES, k))


Told = tuple[str, str | None, float]


def _told(view: _View, subject: _Subject, when: Dated | None) -> tuple[Told, bool, int] | None:
    """Return what is told, whether it ends something, and where its value begins."""
    k, tokens = subject.verb, view.tokens
    negated = past = future = False
    frequent = view.has(lexicon.FREQUENT, view.start) if subject.who == "user" else False
    ends = view.has(lexicon.NO_LONGER, k)
    while k < view.end:
        if k in view.dated:
            k = view.dated[k]
        elif size := view.at(lexicon.NEGATION, k):
            if tokens[k : k + 2] in (["không", "được"], ["hết", "hạn"]) or _direct(view, k):
                break
            negated = True
            k += size
        elif (size := view.at(lexicon.ADVERBS, k)) and not _direct(view, k, skip=lexicon.ADVERBS):
            past = past or tokens[k] in lexicon.PAST
            future = future or tokens[k] in lexicon.FUTURE
            k += size
        else:
            break
    ends = ends and (negated or tokens[k : k + 1] == ["thôi"] or view.has(Phrases("không còn"), view.start))
    told = _classify(view, subject, k, when, negated=negated, past=past, future=future, frequent=frequent, ends=ends)
    if told is None:
        return None
    stops = told[1] == "stops"
    return (told[0], None if stops else told[1], told[2]), ends or stops, k


def _direct(view: _View, k: int, skip: Phrases | None = None) -> bool:
    """Whether a longer predicate stands here than the adverb or negation it begins with."""
    size = view.at(skip or lexicon.NEGATION, k)
    lists = (lexicon.DISLIKES, lexicon.HEALTH, lexicon.SKILLS, lexicon.NAME, lexicon.LIVES, lexicon.RESCHEDULES, lexicon.TRAITS, lexicon.HAS)
    return any(view.at(one, k) > size for one in lists) or bool(
        skip is lexicon.ADVERBS and view.tokens[k] in {"có", "hay", "tính", "bị", "co", "bi"} and any(
            view.at(one, k) >= size for one in (lexicon.HAS, lexicon.HEALTH, lexicon.TRAITS)
        ) and (view.is_number(k + 1) or not view.at(lexicon.EVENTS, k + 1))
    )


def _classify(
    view: _View, subject: _Subject, k: int, when: Dated | None, *, negated: bool, past: bool, future: bool, frequent: bool, ends: bool
) -> Told | None:
    tokens, who = view.tokens, subject.who
    person = who in {"user", "kin", "name"}
    kind = "persona" if who == "user" else "fact"
    tail = set(tokens[k : view.end])
    done = bool(tail & {"rồi", "roi", "xong"})
    if k >= view.end:
        return ("event", None, 0.7) if when and who == "noun" and not negated else None
    if who in {"we", "noun"} and view.at(lexicon.NAME, k) and view.is_capital(k + view.at(lexicon.NAME, k)):
        return "fact", "name", 0.85
    if person:
        if view.at(lexicon.DISLIKES, k) and not (negated and not ends):
            return kind, "dislikes", 0.9
        if view.at(lexicon.LIKES, k):
            return kind, "dislikes" if negated and not ends else "likes", 0.9
        if view.at(lexicon.HEALTH, k) and not negated and (view.at(lexicon.HEALTH, k) > 1 or tokens[k] in {"dị", "mắc"}):
            return ("event", None, 0.75) if when and past else ("fact", "health", 0.85)
        if view.at(lexicon.NAME, k) and view.is_capital(k + view.at(lexicon.NAME, k)) or tokens[k : k + 2] in (["tên", "là"], ["ten", "la"]):
            return "fact", "name", 0.9
        if not negated and view.at(lexicon.ORIGIN, k) and (view.is_capital(k + view.at(lexicon.ORIGIN, k)) or view.is_number(k + view.at(lexicon.ORIGIN, k))):
            return "fact", "origin", 0.85
        if (size := view.at(lexicon.LIVES, k)) and not when and (
            size > 1 or view.is_capital(k + size) or tokens[k + size : k + size + 1] in (["quận"], ["quan"], ["chung"], ["nhà"], ["trọ"], ["tỉnh"], ["thành"], ["phường"])
        ):
            return ("fact", "residence", 0.85)
        if tokens[k] in {"chuyển", "chuyen", "dọn", "dời"} and (view.at(_PLACES, k + 1) or tokens[k + 1 : k + 2] in (["nhà"], ["nha"])) and tokens[k + 1] not in {"sang", "qua"}:
            return "event", "residence", 0.85
        if any(view.is_number(j) and tokens[j + 1 : j + 2] in (["tuổi"], ["tuoi"]) for j in range(k, min(k + 4, view.end))):
            return "fact", "age", 0.85
        if view.at(_CONDITIONS, k) and not negated:
            return "fact", "status", 0.8
    if view.at(lexicon.RESCHEDULES, k) and (when or done or who == "noun" or past) and not negated and tokens[k] not in {"chuyển", "đổi", "chuyen", "doi"}:
        return "event", subject.name if who == "noun" else None, 0.85
    if who == "noun" and view.at(lexicon.RESCHEDULES, k) and when:
        return ("decision" if "họp" in subject.name or "hop" in subject.name else "event"), subject.name, 0.8
    if person and who == "user" and view.at(lexicon.STOPS, k) and not negated and (done or k + 1 < view.end):
        if tokens[k] in {"hết", "het", "thôi", "thoi"} and not done:
            return None
        job = tail & {"việc", "viec", "làm", "lam"} and tokens[k] in {"nghỉ", "nghi"}
        if tokens[k] in {"nghỉ", "nghi"} and not job:
            return ("event", None, 0.75) if when else None
        return ("event" if job or when and not done else "persona"), "stops", 0.75
    if view.at(lexicon.DECIDES, k) and not negated:
        if tokens[k] in {"duyệt", "phê", "duyet", "phe"}:
            return "event", None, 0.8
        if who == "we" or tokens[k] not in {"chuyển", "đổi", "chuyen", "doi"}:
            return "decision", None, 0.85
        if who == "user" and len(tokens[k : view.end]) > 2:  # noqa: PLR2004 - the verb and its object
            return "persona", None, 0.75
    if who == "we" and (ends or view.has(lexicon.SWITCHES, k)) and (negated or view.at(lexicon.SWITCHES, k)):
        return "decision", None, 0.8
    if who == "user" and ends:
        return "persona", None, 0.8
    if who in {"name", "noun"} and (view.at(lexicon.SWITCHES, k) or tokens[k : k + 2] in (["làm", "trưởng"], ["lam", "truong"])) and not negated:
        return "fact", None, 0.8
    regular = view.has(_REGULAR)
    if when and not when.is_bare_weekday or (when and not regular):
        if negated:
            return None
        if who == "noun" or future or past or done or view.at(lexicon.EVENTS, k) or view.at(lexicon.HAS, k) or view.at(lexicon.APPOINTMENTS, k):
            if who == "name" and view.at(lexicon.WORKS, k):
                return "fact", None, 0.8
            return "event", subject.name if who == "noun" else None, 0.85
        if who == "kin" or who == "we":
            return "event", None, 0.75
        return None
    if regular and not negated and (view.at(lexicon.EVENTS, k) or view.at(lexicon.STATES, k) or view.at(_PLAYS, k)):
        return ("fact" if who != "user" else "persona"), None, 0.75
    if person:
        if view.at(lexicon.SKILLS, k) and not (tokens[k] in {"biết", "biet"} and (negated or tokens[k + 1 : k + 2] in (["là"], ["la"], ["rồi"], ["ơn"]))):
            size = view.at(lexicon.SKILLS, k)
            if size == 1 and tokens[k] in {"yếu", "yeu", "gõ", "go", "gà", "ga", "mù", "mu", "dot", "kem"} and k + 1 >= view.end:
                return None
            return kind, "skill", 0.8
        if frequent and not future and (view.at(_PLAYS, k) or view.at(lexicon.EVENTS, k) or view.at(lexicon.WORKS, k) or k > subject.verb):
            return kind, None, 0.75
        if view.at(lexicon.TRAITS, k) and not negated and not future:
            if tokens[k] in {"tính", "tinh", "dễ", "de"} and k + 1 < view.end and view.at(lexicon.EVENTS, k + 1):
                return None
            return kind, None, 0.75
        if view.at(lexicon.IS, k) and not negated:
            return _of_being(view, who, k + view.at(lexicon.IS, k))
        if view.at(lexicon.WORKS, k) and not negated and not past and not future and not done and k + 1 < view.end:
            if tokens[k] in {"làm", "lam"} and tokens[k + 1] in {"gì", "ơn", "sao", "giúp", "cho", "xong", "bài", "gi", "được", "bai"}:
                return None
            if tokens[k] in {"học", "hoc", "bán", "ban", "mở", "mo", "chạy", "chay", "lái", "lai"} and k == subject.start and who == "user" and subject.start == subject.verb:
                return None
            return "fact", "occupation" if tokens[k] in {"làm", "lam"} and view.at(lexicon.WORKS, k) == 1 or "nghề" in tail else None, 0.8
        if negated and who == "user" and not past and view.at(_CONSUMES, k) and k + 1 < view.end and "chưa" not in tokens[view.start : k]:
            return "persona", None, 0.7
        if view.at(_USES, k) and not negated and k + 1 < view.end and tokens[k + 1] not in {"được", "cho", "nó", "cái", "để"}:
            return "fact", None, 0.7
        if tokens[k] in {"thấy", "thay"} and tail & {"hơn", "hon"} and who == "user":
            return "persona", None, 0.75
        if view.at(lexicon.HAS, k) and not negated and (view.is_number(k + 1) or view.at(lexicon.KIN, k + 1) or tokens[k] in {"nuôi", "nuoi"}):
            return "fact", None, 0.8
    elif view.at(lexicon.IS, k) and not negated and k + 1 < view.end:
        value = k + view.at(lexicon.IS, k)
        plain = view.is_capital(value) or any(view.is_number(j) for j in range(value, view.end)) or "vẫn" in tokens[subject.verb : k]
        return ("fact", subject.name, 0.75) if plain or view.end - value <= 4 else None  # noqa: PLR2004 - a short value
    if who in {"noun", "we", "name"} and view.at(lexicon.STATES, k) and not negated:
        value = k + view.at(lexicon.STATES, k)
        plain = view.is_capital(value) or any(view.is_number(j) for j in range(value, view.end))
        if who == "we" and tokens[k] in {"dùng", "dung", "sử", "su"} and future:
            return "decision", None, 0.8
        return ("fact", " ".join([subject.name, tokens[k]]), 0.75) if plain else None
    if (past or tail & {"xong"}) and not negated and view.at(lexicon.EVENTS, k) and who in {"user", "kin", "we", "name"}:
        return "event", None, 0.75
    if done and who == "user" and view.at(lexicon.EVENTS, k) and not negated and k + 2 < view.end:
        return "event", None, 0.7
    clause_now = view.start < k and view.tokens[view.start] in {"giờ", "gio", "bây", "dạo"}
    if who == "user" and view.at(_PLAYS, k) and clause_now and not negated and k + 1 < view.end:
        return "persona", None, 0.75
    return None


def _of_being(view: _View, who: str, value: int) -> Told | None:
    tokens = view.tokens
    if value >= view.end or tokens[value] in {"gì", "sao", "mình", "do", "vì", "tại", "đã", "phải"}:
        return None
    size = view.end - value
    if who == "user" and view.is_capital(value) and size <= 3:  # noqa: PLR2004 - a name's length
        return "fact", "name", 0.85
    if tokens[value] in {"người", "nguoi", "fan", "dân", "kiểu", "dan"}:
        return ("persona" if who == "user" else "fact"), None, 0.8
    return ("fact", "occupation", 0.75) if size <= 12 else None  # noqa: PLR2004 - longer is no profession


def _tokens(sentence: Sentence) -> tuple[list[str], list[Word], bool]:
    is_bare = all(word.text.isascii() or not any(c.isalpha() and not c.isascii() for c in word.text) for word in sentence.words)
    tokens: list[str] = []
    places: list[Word] = []
    for word in sentence.words:
        full = lexicon.CHAT.get(word.text)
        if full is not None and word.raw.isupper() and len(word.raw) == 1 and word.text not in {"e", "a", "m", "k", "t"}:
            full = None
        for part in (full or word.text).split():
            tokens.append(fold(part) if is_bare else part)
            places.append(word)
    return tokens, places, is_bare


def read_vietnamese(sentence: Sentence, reading: Reading, said_at: datetime) -> list[Found]:
    """Return the facts that a sentence states.

    Args:
        sentence: The words.
        reading: What the sentences before it told; moved on.
        said_at: The message's time, with the speaker's zone.
    """
    tokens, places, is_bare = _tokens(sentence)
    base = places[0].start
    dates = [replace(one, start=one.start + base, end=one.end + base)
             for one in find_dates(reading.text[base : places[-1].end], said_at, "vi")]  # fmt: skip
    dated: dict[int, int] = {}
    for one in dates:
        inside = [k for k, word in enumerate(places) if word.start < one.end and word.end > one.start]
        if inside:
            dated[inside[0]] = inside[-1] + 1
    pieces = pieces_of(tokens, places, is_bare=is_bare, ended=sentence.end, dated=dated)
    found: list[Found] = []
    previous: _Subject | None = None
    hearsay = False
    lasting = any(lexicon.LASTING.at(tokens, one.start, is_bare=is_bare) == one.end - one.start for one in pieces)
    for piece in pieces:
        if piece.is_silent:
            previous = None
            continue
        rules = read_rules(piece, tokens, places, reading, is_bare=is_bare, last=found[-1] if found else None, is_lasting=lasting)
        if rules is not None:
            if rules.kind:
                found.append(rules)
            continue
        view = _View(tokens, places, piece.start, piece.end, is_bare, dated)
        hearsay = hearsay or view.has(lexicon.HEARSAY)
        begin = _skip(view, piece.start, lexicon.LEADS)
        if begin >= piece.end:
            continue
        subject = _subject(view, begin, previous)
        verb = _skip_dates(view, subject.verb)
        subject.verb = verb
        if hearsay and subject.who != "user":
            continue
        when = _date_of(piece, tokens, places, dates, is_bare=is_bare)
        told = _told(view, subject, when)
        formerly = view.has(lexicon.FORMERLY, piece.start)
        previous = subject if subject.start != subject.verb or previous is not None else previous
        if told is None or formerly or (hearsay and told[0][0] != "event"):
            continue
        (kind, attribute, confidence), ends, value = told
        found.append(_found(kind, attribute, confidence, ends, value, subject, view, when, dates, reading))
    return found


def _skip_dates(view: _View, place: int) -> int:
    while place in view.dated:
        place = view.dated[place]
    return place


def _date_of(piece: Piece, tokens: list[str], places: list[Word], dates: list[Dated], *, is_bare: bool) -> Dated | None:
    start, end = places[piece.start].start, places[piece.end - 1].end
    inside = [one for one in dates if start <= one.start and one.end <= end]
    if _REGULAR.find(tokens, piece.start, piece.end, is_bare=is_bare) >= 0:
        inside = [one for one in inside if not one.is_bare_weekday]
    absolute = [one for one in inside if not one.is_relative]
    return (absolute or inside or [None])[0]


def _found(
    kind: str, attribute: str | None, confidence: float, ends: bool, value: int, subject: _Subject, view: _View,
    when: Dated | None, dates: list[Dated], reading: Reading
) -> Found:  # fmt: skip
    last = view.end
    while last - 1 > value and view.tokens[last - 1] in lexicon.PARTICLES:
        last -= 1
    end = view.places[last - 1].end
    begin = view.places[subject.start].start
    first = view.places[view.start].start
    lead = [one for one in dates if first <= one.start < begin]
    if lead:
        begin = lead[0].start
    elif view.start < subject.start and view.tokens[view.start] in {"giờ", "hiện", "bây", "gio", "hien"}:
        begin = first
    rest = reading.text[view.places[min(value, last - 1)].start : end]
    name = "team" if subject.who == "we" and subject.name.split()[0] in _TEAM else subject.name
    text = statement(subject.who, subject.name, reading.text, begin, view.places[subject.start].start,
                     view.places[min(subject.verb, last - 1)].start, end, when, is_given=subject.verb > subject.start)  # fmt: skip
    return Found(kind, begin, end, text, name, attribute, rest[:200] if attribute else None, ends, when, confidence)
