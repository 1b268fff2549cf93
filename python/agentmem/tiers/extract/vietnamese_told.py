"""What the predicate of a Vietnamese piece tells: the rules in order, the first that fits."""

from __future__ import annotations

from typing import Final

from agentmem.tiers.extract import vietnamese_words as lexicon
from agentmem.tiers.extract.dates import Dated
from agentmem.tiers.extract.vietnamese_view import PREDICATES, Subject, View
from agentmem.tiers.extract.vietnamese_words import Phrases

__all__ = ["told_of"]

_PLACES: Final = Phrases("vào|đến|về|ra|lên|sang|xuống|tới|qua")
_REGULAR: Final = Phrases("mỗi|hàng|hằng|nào cũng|mọi")
_PLAYS: Final = Phrases(
    "chơi|tập|chạy bộ|đá bóng|đá banh|bơi|học|đi bộ|đọc|nghe|xem|uống|ăn|tập gym|đạp xe|ăn chay"
)
_USES: Final = Phrases("dùng|sử dụng")
_CONSUMES: Final = Phrases("ăn|uống|dùng|xem|chơi|hút|đọc|nghe")
_CONDITIONS: Final = Phrases(
    "độc thân|đã kết hôn|đã có gia đình|có gia đình|ly hôn|thất nghiệp|có chồng|có vợ|có người yêu"
)

# "Đổi ý rồi": a mind changed, not said to what.
_ABILITIES: Final = Phrases(
    "bơi|lái|nấu|chơi|nói|viết|tiếng|hát|nhảy|đánh|đàn|code|lập trình|ngoại ngữ"
)
_BARE_CHANGE: Final = 3

Told = tuple[str, str | None, float]


def told_of(view: View, subject: Subject, when: Dated | None) -> tuple[Told, bool, int] | None:
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
        elif view.is_bare and tokens[k] == "thi" and not view.at(PREDICATES, k + 1):
            break  # "thi", to sit an exam, not "thì"
        elif (size := view.at(lexicon.ADVERBS, k)) and not _direct(view, k, skip=lexicon.ADVERBS):
            past = past or tokens[k] in lexicon.PAST
            future = future or tokens[k] in lexicon.FUTURE
            k += size
        else:
            break
    ends = ends and (
        negated or tokens[k : k + 1] == ["thôi"] or view.has(Phrases("không còn"), view.start)
    )
    told = _classify(
        view,
        subject,
        k,
        when,
        negated=negated,
        past=past,
        future=future,
        frequent=frequent,
        ends=ends,
    )
    if told is None:
        return None
    stops = told[1] == "stops"
    return (told[0], None if stops else told[1], told[2]), ends or stops, k


def _direct(view: View, k: int, skip: Phrases | None = None) -> bool:
    """Whether a longer predicate stands here than the adverb or negation it begins with."""
    size = view.at(skip or lexicon.NEGATION, k)
    lists = (
        lexicon.DISLIKES,
        lexicon.HEALTH,
        lexicon.SKILLS,
        lexicon.NAME,
        lexicon.LIVES,
        lexicon.RESCHEDULES,
        lexicon.TRAITS,
        lexicon.HAS,
    )
    return any(view.at(one, k) > size for one in lists) or bool(
        skip is lexicon.ADVERBS
        and view.tokens[k] in {"có", "hay", "tính", "bị", "co", "bi"}
        and any(view.at(one, k) >= size for one in (lexicon.HAS, lexicon.HEALTH, lexicon.TRAITS))
        and (view.is_number(k + 1) or not view.at(lexicon.EVENTS, k + 1))
    )


def _classify(  # noqa: PLR0915 - a chain of rules is long and plain
    view: View,
    subject: Subject,
    k: int,
    when: Dated | None,
    *,
    negated: bool,
    past: bool,
    future: bool,
    frequent: bool,
    ends: bool,
) -> Told | None:
    tokens, who = view.tokens, subject.who
    person = who in {"user", "kin", "name"}
    kind = "persona" if who == "user" else "fact"
    tail = set(tokens[k : view.end])
    done = bool(tail & {"rồi", "roi", "xong"})
    if k >= view.end:
        return ("event", None, 0.7) if when and who == "noun" and not negated else None
    if (
        who in {"we", "noun"}
        and view.at(lexicon.NAME, k)
        and view.is_capital(k + view.at(lexicon.NAME, k))
    ):
        return "fact", "name", 0.85
    if person:
        if view.at(lexicon.DISLIKES, k) and not (negated and not ends):
            return kind, "dislikes", 0.9
        if view.at(lexicon.LIKES, k):
            return kind, "dislikes" if negated and not ends else "likes", 0.9
        if (
            view.at(lexicon.HEALTH, k)
            and not negated
            and (view.at(lexicon.HEALTH, k) > 1 or tokens[k] in {"dị", "mắc"})
        ):
            return ("event", None, 0.75) if when and past else ("fact", "health", 0.85)
        if (view.at(lexicon.NAME, k) and view.is_capital(k + view.at(lexicon.NAME, k))) or tokens[
            k : k + 2
        ] in (["tên", "là"], ["ten", "la"]):
            return "fact", "name", 0.9
        if (
            not negated
            and view.at(lexicon.ORIGIN, k)
            and (
                view.is_capital(k + view.at(lexicon.ORIGIN, k))
                or view.is_number(k + view.at(lexicon.ORIGIN, k))
            )
        ):
            return "fact", "origin", 0.85
        if (
            (size := view.at(lexicon.LIVES, k))
            and not when
            and (
                size > 1
                or view.is_capital(k + size)
                or tokens[k + size : k + size + 1]
                in (
                    ["quận"],
                    ["quan"],
                    ["chung"],
                    ["nhà"],
                    ["trọ"],
                    ["tỉnh"],
                    ["thành"],
                    ["phường"],
                )
            )
        ):
            return ("fact", "residence", 0.85)
        if (
            tokens[k] in {"chuyển", "chuyen", "dọn", "dời"}
            and (view.at(_PLACES, k + 1) or tokens[k + 1 : k + 2] in (["nhà"], ["nha"]))
            and tokens[k + 1] not in {"sang", "qua"}
        ):
            return "event", "residence", 0.85
        if any(
            view.is_number(j) and tokens[j + 1 : j + 2] in (["tuổi"], ["tuoi"])
            for j in range(k, min(k + 4, view.end))
        ):
            return "fact", "age", 0.85
        if view.at(_CONDITIONS, k) and not negated:
            return "fact", "status", 0.8
    if (
        view.at(lexicon.RESCHEDULES, k)
        and (when or done or who == "noun" or past)
        and not negated
        and tokens[k] not in {"chuyển", "đổi", "chuyen", "doi"}
    ):
        return "event", subject.name if who == "noun" else None, 0.85
    if who == "noun" and view.at(lexicon.RESCHEDULES, k) and when:
        return (
            ("decision" if "họp" in subject.name or "hop" in subject.name else "event"),
            subject.name,
            0.8,
        )
    if (
        person
        and who == "user"
        and view.at(lexicon.STOPS, k)
        and not negated
        and (done or k + 1 < view.end)
    ):
        if tokens[k] in {"hết", "het", "thôi", "thoi"} and not done:
            return None
        job = tail & {"việc", "viec", "làm", "lam"} and tokens[k] in {"nghỉ", "nghi"}
        if tokens[k] in {"nghỉ", "nghi"} and not job:
            return ("event", None, 0.75) if when else None
        plan = tail & {"vụ", "chuyến", "lịch", "kế", "chuyen", "lich"}
        return ("event" if job or plan or (when and not done) else "persona"), "stops", 0.75
    if view.at(lexicon.DECIDES, k) and not negated:
        if tokens[k] in {"duyệt", "phê", "duyet", "phe"}:
            return "event", None, 0.8
        if tokens[k : k + 2] in (["đổi", "ý"], ["doi", "y"]) and view.end - k <= _BARE_CHANGE:
            return None
        if who == "we" or tokens[k] not in {"chuyển", "đổi", "chuyen", "doi"}:
            return "decision", None, 0.85
        if who == "user" and len(tokens[k : view.end]) > 2:  # noqa: PLR2004 - the verb and its object
            return "persona", None, 0.75
    if (
        who == "we"
        and (ends or view.has(lexicon.SWITCHES, k))
        and (negated or view.at(lexicon.SWITCHES, k))
    ):
        return "decision", None, 0.8
    if who == "user" and ends:
        return "persona", None, 0.8
    if (
        who in {"name", "noun"}
        and (
            view.at(lexicon.SWITCHES, k)
            or tokens[k : k + 2] in (["làm", "trưởng"], ["lam", "truong"])
        )
        and not negated
    ):
        return "fact", None, 0.8
    regular = view.has(_REGULAR)
    if when and k == subject.verb == subject.start and view.at(lexicon.IS, k) and not negated:
        return "event", None, 0.75
    if (when and not when.is_bare_weekday) or (when and not regular):
        if negated:
            return None
        if (
            who == "noun"
            or future
            or past
            or done
            or view.at(lexicon.EVENTS, k)
            or view.at(lexicon.HAS, k)
            or view.at(lexicon.APPOINTMENTS, k)
        ):
            if who == "name" and view.at(lexicon.WORKS, k):
                return "fact", None, 0.8
            return "event", subject.name if who == "noun" else None, 0.85
        if who in {"kin", "we"}:
            return "event", None, 0.75
        return None
    if (
        regular
        and not negated
        and (view.at(lexicon.EVENTS, k) or view.at(lexicon.STATES, k) or view.at(_PLAYS, k))
    ):
        return ("fact" if who != "user" else "persona"), None, 0.75
    if person:
        if view.at(lexicon.SKILLS, k) and not (
            tokens[k] in {"biết", "biet"}
            and (
                (negated and not view.at(_ABILITIES, k + 1))
                or tokens[k + 1 : k + 2] in (["là"], ["la"], ["rồi"], ["ơn"])
            )
        ):
            size = view.at(lexicon.SKILLS, k)
            if (
                size == 1
                and tokens[k] in {"yếu", "yeu", "gõ", "go", "gà", "ga", "mù", "mu", "dot", "kem"}
                and k + 1 >= view.end
            ):
                return None
            return kind, "skill", 0.8
        if (
            frequent
            and not future
            and (
                view.at(_PLAYS, k)
                or view.at(lexicon.EVENTS, k)
                or view.at(lexicon.WORKS, k)
                or k > subject.verb
            )
        ):
            return kind, None, 0.75
        if view.at(lexicon.TRAITS, k) and not negated and not future:
            if (
                tokens[k] in {"tính", "tinh", "dễ", "de"}
                and k + 1 < view.end
                and view.at(lexicon.EVENTS, k + 1)
            ):
                return None
            return kind, None, 0.75
        if view.at(lexicon.IS, k) and not negated:
            return _of_being(view, who, k + view.at(lexicon.IS, k))
        if (
            view.at(lexicon.WORKS, k)
            and not negated
            and not past
            and not future
            and not done
            and k + 1 < view.end
        ):
            if tokens[k] in {"làm", "lam"} and tokens[k + 1] in {
                "gì",
                "ơn",
                "sao",
                "giúp",
                "cho",
                "xong",
                "bài",
                "gi",
                "được",
                "bai",
            }:
                return None
            if (
                tokens[k] in {"học", "hoc", "bán", "ban", "mở", "mo", "chạy", "chay", "lái", "lai"}
                and k == subject.start
                and who == "user"
                and subject.start == subject.verb
            ):
                return None
            return (
                "fact",
                "occupation"
                if (tokens[k] in {"làm", "lam"} and view.at(lexicon.WORKS, k) == 1)
                or "nghề" in tail
                else None,
                0.8,
            )
        if (
            negated
            and who == "user"
            and not past
            and view.at(_CONSUMES, k)
            and k + 1 < view.end
            and "chưa" not in tokens[view.start : k]
        ):
            return "persona", None, 0.7
        if (
            view.at(_USES, k)
            and not negated
            and k + 1 < view.end
            and tokens[k + 1] not in {"được", "cho", "nó", "cái", "để"}
        ):
            return "fact", None, 0.7
        if tokens[k] in {"thấy", "thay"} and tail & {"hơn", "hon"} and who == "user":
            return "persona", None, 0.75
        if (
            view.at(lexicon.HAS, k)
            and not negated
            and (
                view.is_number(k + 1)
                or view.at(lexicon.KIN, k + 1)
                or tokens[k] in {"nuôi", "nuoi"}
            )
        ):
            return "fact", None, 0.8
    elif view.at(lexicon.IS, k) and not negated and k + 1 < view.end:
        value = k + view.at(lexicon.IS, k)
        plain = (
            view.is_capital(value)
            or any(view.is_number(j) for j in range(value, view.end))
            or "vẫn" in tokens[subject.verb : k]
        )
        return ("fact", subject.name, 0.75) if plain or view.end - value <= 4 else None  # noqa: PLR2004 - a short value
    if who in {"noun", "we", "name"} and view.at(lexicon.STATES, k) and not negated:
        value = k + view.at(lexicon.STATES, k)
        plain = view.is_capital(value) or any(view.is_number(j) for j in range(value, view.end))
        if who == "we" and tokens[k] in {"dùng", "dung", "sử", "su"} and future:
            return "decision", None, 0.8
        return ("fact", " ".join([subject.name, tokens[k]]), 0.75) if plain else None
    if (
        (past or tail & {"xong"})
        and not negated
        and view.at(lexicon.EVENTS, k)
        and who in {"user", "kin", "we", "name"}
    ):
        return "event", None, 0.75
    if done and who == "user" and view.at(lexicon.EVENTS, k) and not negated and k + 2 < view.end:
        return "event", None, 0.7
    clause_now = view.start < k and view.tokens[view.start] in {"giờ", "gio", "bây", "dạo"}
    if who == "user" and view.at(_PLAYS, k) and clause_now and not negated and k + 1 < view.end:
        return "persona", None, 0.75
    return None


def _of_being(view: View, who: str, value: int) -> Told | None:
    tokens = view.tokens
    if value >= view.end or tokens[value] in {"gì", "sao", "mình", "do", "vì", "tại", "đã", "phải"}:
        return None
    size = view.end - value
    if who == "user" and view.is_capital(value) and size <= 3:  # noqa: PLR2004 - a name's length
        return "fact", "name", 0.85
    if tokens[value] in {"người", "nguoi", "fan", "dân", "kiểu", "dan"}:
        return ("persona" if who == "user" else "fact"), None, 0.8
    return ("fact", "occupation", 0.75) if size <= 12 else None  # noqa: PLR2004 - longer is no profession
