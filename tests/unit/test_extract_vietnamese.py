"""Vietnamese, with its marks, without them, composed or apart, and as chats write it."""

from __future__ import annotations

import unicodedata
from datetime import datetime, timedelta, timezone

import pytest

from agentmem.models import Message
from agentmem.tiers.extract import RuleExtractor

NOW = datetime(2026, 3, 11, 12, tzinfo=timezone(timedelta(hours=7)))  # a Wednesday


def read(text):
    return RuleExtractor().extract([Message(id="L0:1", text=text, role="user", time=NOW)])


def one(text):
    facts = read(text)
    assert len(facts) == 1, [fact.text for fact in facts]
    return facts[0]


@pytest.mark.parametrize(
    ("text", "kind", "attribute"),
    [
        ("Mình thích Python hơn Java.", "persona", "likes"),
        ("minh thich an pho", "persona", "likes"),
        ("e k thik hành", "persona", "dislikes"),
        ("Tôi ghét họp buổi sáng.", "persona", "dislikes"),
        ("Mình biết tiếng Nhật.", "persona", "skill"),
        ("Tôi thường chạy bộ buổi sáng.", "persona", None),
        ("Tôi là giáo viên dạy toán.", "fact", "occupation"),
        ("toi la ky su xay dung o Can Tho", "fact", "occupation"),
        ("Mình sống ở Đà Nẵng.", "fact", "residence"),
        ("Mình bị dị ứng hải sản.", "fact", "health"),
    ],
)
def test_the_speaker(text, kind, attribute):
    fact = one(text)
    assert (fact.kind, fact.subject, fact.attribute) == (kind, "user", attribute)
    assert fact.text.startswith("Người dùng")


@pytest.mark.parametrize(
    "text",
    [
        "Từ giờ trở đi bạn luôn trả lời bằng tiếng Việt nhé.",
        "tu nay tra loi bang tieng Anh nhe",
        "Đừng bao giờ sửa file cấu hình khi chưa hỏi mình.",
        "khong bao gio xoa file log",
        "Mỗi khi viết hàm mới thì nhớ viết test.",
    ],
)
def test_lasting_rules(text):
    fact = one(text)
    assert (fact.kind, fact.subject) == ("instruction", "assistant")


def test_a_rule_of_a_team_is_not_a_trait_of_the_user():
    for text in (
        "Quy định của nhóm là không deploy vào thứ sáu.",
        "Mọi PR phải có hai người duyệt.",
    ):
        fact = one(text)
        assert (fact.kind, fact.subject) == ("instruction", "team")


@pytest.mark.parametrize(
    "text",
    ["Nhóm chốt dùng PostgreSQL.", "nhom minh quyet dinh dung React", "Team chuyển sang Zustand."],
)
def test_decisions_of_a_team(text):
    fact = one(text)
    assert (fact.kind, fact.subject) == ("decision", "team")


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("Thứ ba tuần sau mình có lịch khám răng.", "2026-03-17"),
        ("hom qua minh di kham rang", "2026-03-10"),
        ("Hợp đồng ký ba hôm trước.", "2026-03-08"),
        ("mai e thi giai tich luc 7h sang", "2026-03-12"),
        ("chu nhat nay e di Vung Tau", "2026-03-15"),
        ("Hai tuần nữa công ty chuyển văn phòng.", "2026-03-25"),
        ("Tháng sau mình cưới.", "2026-04-01"),
        ("Bản beta dự kiến ra ngày 1/10.", "2026-10-01"),
    ],
)
def test_events_have_absolute_days(text, day):
    fact = one(text)
    assert fact.kind == "event"
    assert fact.event_time.date().isoformat() == day
    assert day in fact.text


def test_the_hour_is_read():
    assert one("mai e thi giai tich luc 7h sang").event_time.hour == 7
    assert one("Mình có lịch hẹn bác sĩ lúc 3h chiều mai.").event_time.hour == 15


def test_what_is_over_says_so():
    assert one("Tôi bỏ thuốc lá rồi.").ends
    assert one("Mình không làm ở Viettel nữa.").ends


def test_what_is_said_of_others_is_theirs():
    fact = one("Bố mẹ mình ở Huế.")
    assert (fact.subject, fact.text) == ("bố mẹ", "Bố mẹ của người dùng ở Huế.")


def test_marks_apart_are_the_same_words_and_the_span_quotes_the_source():
    composed = "Mình thích uống cà phê sữa đá, vợ mình đang mang thai."
    apart = unicodedata.normalize("NFD", composed)
    assert apart != composed
    expected, given = read(composed), read(apart)
    assert [fact.text for fact in given] == [fact.text for fact in expected]
    for fact, other in zip(given, expected, strict=True):
        quoted = unicodedata.normalize("NFC", apart[slice(*fact.span)])
        assert quoted == composed[slice(*other.span)]


@pytest.mark.parametrize(
    "text",
    [
        "Bạn có thể giúp mình sửa lỗi này không?",
        "Nếu có tiền mình sẽ mua nhà.",
        "Lần này chỉ trả lời đúng một chữ OK thôi.",
        "Riêng câu này thì trả lời bằng bảng nhé.",
        "Tóm tắt giúp mình đoạn log phía trên.",
        "Nghe nói chị Lan sắp nghỉ.",
        "Cảm ơn bạn nhiều nha, vui ghê.",
        "mấy giờ rồi a?",
        'dich giup e cau nay: "I hate cats and I live in Hanoi"',
    ],
)
def test_what_nobody_states_is_silent(text):
    assert read(text) == []
