"""The Vietnamese word lists, each readable with its marks and, in texts typed without, bare."""

# ruff: noqa: E501 - a pattern or a list is read more easily whole
from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from typing import Final

from agentmem.tiers.word_list import words

__all__ = ["CHAT", "Phrases", "fold"]


def fold(text: str) -> str:
    """Return the text without tone and vowel marks, ``đ`` as ``d``."""
    plain = unicodedata.normalize("NFD", text)
    return (
        "".join(c for c in plain if not unicodedata.combining(c))
        .replace("đ", "d")
        .replace("Đ", "D")
    )


class Phrases:
    """A list of phrases that is asked for the longest one at a place.

    Args:
        text: Phrases between bars, with their marks.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        phrases = list(dict.fromkeys(tuple(one.split()) for one in text.split("|")))
        self._marked = self._by_first(phrases)
        self._bare = self._by_first(tuple(map(fold, one)) for one in phrases)

    @classmethod
    def union(cls, *lists: Phrases) -> Phrases:
        """Return one list of all phrases of several."""
        return cls("|".join(one.text for one in lists))

    @staticmethod
    def _by_first(phrases: Iterable[tuple[str, ...]]) -> dict[str, list[tuple[str, ...]]]:
        table: dict[str, list[tuple[str, ...]]] = {}
        for phrase in phrases:
            table.setdefault(phrase[0], []).append(phrase)
        for same in table.values():
            same.sort(key=len, reverse=True)
        return table

    def at(self, tokens: Sequence[str], place: int, *, is_bare: bool) -> int:
        """Return how many words of the longest phrase stand at a place, or 0."""
        if not 0 <= place < len(tokens):
            return 0
        phrases = (self._bare if is_bare else self._marked).get(tokens[place])
        if phrases is not None:
            for phrase in phrases:
                size = len(phrase)
                if size == 1 or tuple(tokens[place : place + size]) == phrase:
                    return size
        return 0

    def find(self, tokens: Sequence[str], start: int, end: int, *, is_bare: bool) -> int:
        """Return the first place in ``[start, end)`` where a phrase stands, or -1."""
        table = self._bare if is_bare else self._marked
        for place in range(start, end):
            if (
                tokens[place] in table
                and 0 < self.at(tokens, place, is_bare=is_bare) <= end - place
            ):
                return place
        return -1


# What chat writes short; values are in the spelling of the lists.
CHAT: Final = {
    "k": "không", "ko": "không", "kg": "không", "kh": "không", "hok": "không", "hem": "không", "hông": "không",
    "hong": "không", "khum": "không", "thik": "thích", "thix": "thích", "thjk": "thích", "iu": "yêu", "vs": "với",
    "e": "em", "a": "anh", "m": "mình", "mk": "mình", "mik": "mình", "mjk": "mình", "t": "tôi", "c": "chị", "b": "bạn",
    "dc": "được", "đc": "được", "đk": "được", "r": "rồi", "rùi": "rồi", "rui": "rồi", "ròi": "rồi", "j": "gì", "ntn": "thế nào",
    "bt": "biết", "bít": "biết", "nv": "nhân viên", "sv": "sinh viên", "hs": "học sinh", "ny": "người yêu", "cty": "công ty",
    "trc": "trước", "đt": "điện thoại", "ng": "người", "nx": "nữa", "lun": "luôn", "luông": "luôn", "cx": "cũng", "cg": "cũng",
    "hnay": "hôm nay", "hqua": "hôm qua", "qđ": "quyết định", "gv": "giáo viên", "vk": "vợ", "ck": "chồng", "nt": "nhắn tin",
    "tl": "trả lời", "ib": "nhắn", "h": "giờ", "bh": "bây giờ", "ngta": "người ta", "nma": "nhưng mà", "nhma": "nhưng mà",
    "xài": "dùng", "xai": "dùng", "sài": "dùng", "vn": "việt nam", "sg": "sài gòn", "hn": "hà nội", "dùng": "dùng", "oánh": "đánh",
    "hay": "hay", "ks": "kỹ sư", "bs": "bác sĩ", "ms": "mới", "bik": "biết", "bjt": "biết", "uh": "ừ", "pải": "phải",
    "fai": "phải", "phai": "phải", "đừg": "đừng", "wa": "quá", "qá": "quá", "gđ": "gia đình", "nhoa": "nha", "chs": "chơi",
}  # fmt: skip

PRONOUN: Final = Phrases(
    "tôi|mình|em|anh|chị|con|cháu|tao|tớ|tui|ta|bản thân mình|bản thân tôi|tại hạ"
)
POSSESSIVE: Final = words("tôi mình em anh chị con cháu tao tớ tui toi minh chi chau to e a")
WE: Final = Phrases(
    "nhóm mình|nhóm em|nhóm tôi|nhóm|cả nhóm|team|team mình|cả team|team em|chúng tôi|chúng ta"
    "|chúng mình|chúng em|bọn mình|bọn em|bọn tôi|tụi mình"
    "|tụi em|tụi tui|bên mình|bên em|công ty|công ty mình|công ty em|công ty tôi|phòng mình|phòng "
    "em|dự án|lớp mình|lớp em|gia đình mình|cả nhà mình|cả nhà|cả gia đình mình|gia đình em"
    "|nhà mình|nhà em|nhà tôi|vợ chồng mình|vợ chồng em|khách hàng|khách|sếp|ban giám đốc|bên khách|đội mình|đội"
)  # fmt: skip
TEAM: Final = words(
    "nhóm team đội công dự lớp phòng bên khách ban nhom doi cong du lop phong ben khach"
)
KIN: Final = Phrases(
    "chồng|vợ|bố mẹ|ba mẹ|cha mẹ|ba má|bố|mẹ|ba|má|cha|em gái|em trai|anh trai|chị gái|con gái|con "
    "trai|bạn cùng phòng|bạn thân|bạn trai"
    "|bạn gái|người yêu|đồng nghiệp|ông nội|bà nội|ông ngoại|bà ngoại|ông bà|cô giáo|thầy|con mèo"
    "|con chó|mèo|chó|con|cháu|bạn|bác sĩ|chủ nhà|hàng xóm"
    "|anh rể|chị dâu|em họ|anh họ|chị họ|trưởng nhóm|sếp|trợ lý|crush|nhỏ bạn|thằng bạn|bé nhà|bé"
    "|hai đứa nhỏ|mấy đứa nhỏ|đứa em|anh hai|chị hai|con bé|thằng bé"
)  # fmt: skip
TITLES: Final = Phrases("anh|chị|cô|chú|bác|ông|bà|em|bạn|thầy|bé|cậu|dì|sếp|thằng|con|nhỏ")
MEASURES: Final = Phrases("thằng|con|cô|ông|bà|đứa|nhỏ|cái|chiếc|hai|cả|mấy đứa|hai đứa")
YOU: Final = Phrases("bạn|cậu|trợ lý|mày|ông|bà|bồ|ad|em|anh|bot|chatbot")

LEADS: Final = Phrases(
    "à|ừ|ờ|ừm|dạ|vâng|ok|oke|okie|chào bạn|chào anh|chào em|chào|hi|hello|thật ra|thực ra|nói thật"
    "|nói chung|dạo này|dạo gần đây|gần đây|giờ|bây giờ"
    "|hiện tại|hiện giờ|hiện nay|hiện|lúc này|thôi|mà|còn|với lại|ngoài ra|nhưng|nhưng mà|thì|và"
    "|rồi|xong|nên|vì|vì vậy|cho nên|do|vậy|vậy là|thế|thế là|bạn ơi|anh ơi|em ơi"
    "|nhớ nha|nhớ nhé|nhớ nhe|lưu ý|nhắc lại|nhân tiện|tiện thể|báo|tin vui|cuối cùng|hồi trước"
    "|trước đây|ngày xưa|xưa|haha|hihi|hehe|hic|huhu|sorry|xin lỗi|nhầm|riêng|đối với|theo|kể ra"
    "|khoe|quên|quên nói|quên mất|nhầm rồi|nói nghe|cho biết|update|cập nhật|bữa giờ|mấy nay|lâu "
    "nay|xưa nay|hồi nhỏ|từ nhỏ|từ bé|tính ra|công nhận|buồn ghê|vui quá|may quá|phòng khi|với"
)  # fmt: skip
FORMERLY: Final = Phrases("hồi trước|trước đây|ngày xưa|xưa|hồi nhỏ|hồi xưa|trước kia")
PARTICLES: Final = words(
    "nhé nha nhe nhá ạ à ơi đấy đó vậy thôi luôn nhỉ ha hen nghen nè này rồi quá lắm ghê :)) =)) :) nhen na roi"
)
ADVERBS: Final = Phrases(
    "thì|cũng|vẫn|vẫn còn|đang|đã|vừa|mới|vừa mới|sẽ|sắp|rất|hơi|khá|cực|cực kỳ|siêu|thực sự|thật "
    "sự|chỉ|đều|còn|lại|cứ|hay|thường|thường xuyên|luôn|luôn luôn|toàn|mãi|hiện"
    "|hiện đang|đang rất|bắt đầu|dự kiến|dự định|định|tính|chắc chắn|chính thức|tự|cùng|phải|cần"
    "|được|bị|vốn|đặc biệt|thiệt|bây giờ|giờ|nay|tạm|vô cùng|thật|quá|nhất là|đã từng|từng|lỡ|hoàn "
    "toàn|đôi khi|thỉnh thoảng|lúc nào cũng|bao giờ cũng|ngày nào cũng|có"
)  # fmt: skip
PAST: Final = words("đã vừa mới da vua moi")
FUTURE: Final = words("sẽ sắp định tính dự se sap dinh tinh")
FREQUENT: Final = Phrases(
    "hay|thường|thường xuyên|luôn|luôn luôn|toàn|lúc nào cũng|bao giờ cũng|ngày nào cũng|tối nào "
    "cũng|sáng nào cũng|tuần nào cũng|mỗi ngày|mỗi tuần|mỗi tối|mỗi sáng|mỗi tháng|hàng ngày|hằng "
    "ngày|hàng tuần|hằng tuần|hàng tháng|quen|có thói quen|ít khi|hiếm khi|thỉnh thoảng|cuối tuần "
    "nào cũng"
)  # fmt: skip
NEGATION: Final = Phrases(
    "không|chẳng|chả|chưa|không còn|hết|không hề|đếch|éo|không thể|ít|chưa bao giờ|không bao giờ|đâu có"
)
NO_LONGER: Final = Phrases("nữa|không còn|hết còn|thôi không")

LIKES: Final = Phrases(
    "thích|thích nhất|yêu thích|mê|khoái|chuộng|ưa|ưa chuộng|ghiền|nghiện|đam mê|ưu tiên|cuồng"
    "|thích ăn|thích uống|thấy thích|hâm mộ|hợp với|hảo|mê mẩn|máu|thích hơn|quý|ưng|nghiêng về"
)
DISLIKES: Final = Phrases(
    "ghét|ghét nhất|ngán|kỵ|kị|sợ|sợ nhất|chúa ghét|cực ghét|chịu không nổi|không chịu được|không "
    "chịu nổi|không ưa|dị ứng với|không hợp|chán|anti|ngại|không mê|không khoái"
)
SKILLS: Final = Phrases(
    "biết|giỏi|rành|thành thạo|thạo|nói được|nói tốt|kém|dốt|yếu|mù|gõ|viết được|đọc được|lái được"
    "|chơi được|chơi giỏi|nấu giỏi|nấu ăn ngon|nói giỏi|có kinh nghiệm|không giỏi|sành|mạnh về"
    "|chuyên về|gà"
)  # fmt: skip
TRAITS: Final = Phrases(
    "hướng nội|hướng ngoại|khó tính|kỹ tính|cẩn thận|lười|chăm|nhát|nóng tính|hậu đậu|ăn chay|ăn "
    "kiêng|thuận tay trái|là người|tính|tiết kiệm|mù màu|cận|dậy sớm|thức khuya|ngủ muộn|ngủ sớm"
    "|ăn cay|hay quên|cầu toàn|nhạy cảm với|mù đường|quen|say xe|dễ"
)  # fmt: skip
NAME: Final = Phrases("tên là|tên|tên thật là|tên đầy đủ là|biệt danh là")
LIVES: Final = Phrases(
    "sống ở|sống tại|ở|trọ ở|cư trú|cư trú tại|sinh sống tại|sinh sống ở|định cư ở|ở trọ|thuê nhà "
    "ở|đang ở|sống với|sống cùng|ở với|ở cùng|ở gần|thuê trọ ở|ở trọ tại|nhà ở"
)
ORIGIN: Final = Phrases("quê ở|quê|quê gốc|đến từ|sinh ra ở|gốc|người gốc|sinh năm|sinh ngày|sinh")
WORKS: Final = Phrases(
    "làm việc|làm nghề|làm|công tác|dạy|đi làm|làm cho|làm ở|kinh doanh|bán|phụ trách|quản lý|học "
    "ngành|học trường|học|học năm|đang học|mở|thực tập|làm thuê|chạy|lái|theo học|làm chủ|điều "
    "hành|chuyên"
)
HAS: Final = Phrases("có|nuôi|sở hữu|có một|đã có")
HEALTH: Final = Phrases(
    "dị ứng|bị dị ứng|bị tiểu đường|bị cận|bị đau|bị hen|bị huyết áp|bị viêm|bị bệnh|mắc bệnh|bị "
    "gout|có bầu|mang thai|nằm viện|bị trào ngược|bị mất ngủ|bị thoái hóa|bị đau dạ dày|bị suyễn|bị cao "
    "huyết áp|bị|không ăn được|không uống được"
)
DECIDES: Final = Phrases(
    "quyết định|quyết|chốt|thống nhất|chọn|đồng ý|đổi ý|nhất trí|chốt là|đã chốt|quyết định là|lựa "
    "chọn|thay đổi|đổi sang|chốt phương án|duyệt|phê duyệt|chuyển qua|chuyển sang|đổi qua|quay lại "
    "dùng|bỏ không|thay bằng|đồng thuận|biểu quyết|từ chối|bỏ hẳn|hạ quyết tâm"
)  # fmt: skip
SWITCHES: Final = Phrases(
    "chuyển sang|chuyển qua|đổi sang|đổi qua|quay lại|thay bằng|thay|đổi|lên làm|được bầu làm|nhận "
    "chức|nâng lên|nâng cấp lên|tăng lên|giảm xuống|giảm còn|hạ xuống|lên|xuống|còn"
)
RESCHEDULES: Final = Phrases(
    "hủy|huỷ|dời|hoãn|lùi|dời sang|dời lại|lùi lại|lùi sang|đổi lịch|dời lịch|hủy lịch|rời sang"
    "|đẩy lên|đẩy sang|đẩy lùi|bị hủy|bị hoãn|bị dời|đổi sang|chuyển sang|chuyển lên|gia hạn|kéo "
    "dài"
)
STOPS: Final = Phrases(
    "bỏ|ngừng|nghỉ|thôi|cai|từ bỏ|bỏ hẳn|hết|dừng|chia tay|nghỉ làm|nghỉ việc|không còn"
)
IS: Final = Phrases("là|vẫn là|sẽ là|tức là|đang là|chính là|=")
STATES: Final = Phrases(
    "dùng|sử dụng|chạy|chạy trên|nằm ở|nằm trên|đặt tại|ở|hết hạn|gồm|có|cần|yêu cầu|hỗ trợ|mất"
    "|tốn|nặng|cao|dài|rộng|giá|trị giá|kéo dài|thuộc|lưu ở|lưu trên|họp|bắt đầu|kết thúc|mở cửa"
    "|đóng cửa|diễn ra|ra mắt|ra|phát hành|tổ chức|khai giảng|khởi công|bàn giao"
)
EVENTS: Final = Phrases(
    "mua|bán|đặt|đặt vé|đặt lịch|đặt bàn|ký|nhận|gửi|nộp|thi|thi đậu|thi rớt|đậu|đỗ|rớt|trượt|tốt "
    "nghiệp|cưới|kết hôn|đính hôn|sinh|đẻ|mất|qua đời|chuyển nhà|chuyển|dọn|về|đi|bay|khám|mổ|phẫu "
    "thuật|nhập viện|xuất viện|gặp|họp|ăn|xem|tham gia|dự|đăng ký|hoàn thành|xong|làm xong|nâng"
    "|nâng cấp|cài|sửa|thay|phát hành|ra mắt|deploy|release|triển khai|merge|lên chức|thăng chức"
    "|nghỉ|xin nghỉ|thuê|đón|tiễn|thăm|dời|hủy|bị tai nạn|bị ngã|bị trộm|mất việc|tìm được|nhận "
    "việc|bắt đầu|kết thúc|khai trương|mở|đóng|trả|thanh toán|chuyển khoản|vay|gia hạn|ghé|duyệt"
    "|phỏng vấn|được tuyển|được thăng|được duyệt|được nhận|trúng|thắng|thua|chia tay|làm quen|nuôi"
    "|tiêm|thử|học xong|viết xong|giao|bàn giao|phát hiện|tổ chức|lấy bằng|lấy vợ|lấy chồng|sập"
    "|lỗi|thuyết trình|bảo vệ|trình bày|hẹn|có lịch|có hẹn|có buổi|có cuộc|khởi hành|xuất phát"
    "|sang|ra|vào|tới|đến|nấu|làm|dạy|chạy|tập|chơi|đọc|leo|bơi"
)  # fmt: skip
APPOINTMENTS: Final = Phrases(
    "lịch|hẹn|cuộc hẹn|cuộc họp|buổi|buổi họp|tiệc|đám cưới|sinh nhật|kỳ thi|bài thi|chuyến bay|vé"
    "|deadline|ca trực|lớp|tiết|hạn|giỗ|thi"
)

LASTING: Final = Phrases(
    "từ nay|từ giờ|từ giờ trở đi|từ nay trở đi|từ bây giờ|kể từ nay|kể từ hôm nay|từ hôm nay|từ "
    "mai|từ nay về sau|từ giờ về sau|sau này|về sau|luôn luôn|luôn|mọi lúc|mỗi khi|mỗi lần|hễ|bất "
    "cứ khi nào|lúc nào cũng|bao giờ cũng|mặc định|đừng bao giờ|không bao giờ|tuyệt đối|tuyệt đối "
    "không|cấm|nghiêm cấm|không được|nhất định phải|bắt buộc|bắt buộc phải|lần nào cũng|ngoài ra "
    "thì thôi|các lần sau|những lần sau|lần sau|mãi mãi|lúc nào|khi nào|tất cả|mọi|toàn bộ|từ tuần "
    "sau|từ tháng sau|cứ"
)  # fmt: skip
ONE_OFF: Final = Phrases(
    "lần này|câu này|tin này|riêng|đoạn này|đoạn trên|phía trên|bên trên|ở trên|bài này|hôm nay "
    "thôi|tạm thời|file này|cái này|đoạn log|lượt này|một lần|1 lần|bản này|việc này|chỗ này|đợt "
    "này|ngay bây giờ|ngay|lần đầu|tin nhắn này|hiện tại thì|câu hỏi này|câu sau|câu dưới|đoạn "
    "dưới|đoạn sau"
)  # fmt: skip
RULE_HEADS: Final = Phrases(
    "quy định|nguyên tắc|quy tắc|luật|nội quy|quy ước|chính sách|yêu cầu chung|rule|quy trình|tiêu chuẩn"
)
FORBIDS: Final = Phrases(
    "đừng bao giờ|đừng có|đừng|không bao giờ|tuyệt đối không|tuyệt đối đừng|cấm|nghiêm cấm|không "
    "được phép|không được|chớ|khỏi|khỏi cần|không cần|thôi đừng|thôi không cần"
)
MUSTS: Final = Phrases(
    "phải|bắt buộc|bắt buộc phải|nhất định phải|cần phải|nhớ|nhớ là|hãy|luôn|luôn luôn|cứ|chỉ|chỉ "
    "được|được|ưu tiên|lúc nào cũng"
)
RULE_VERBS: Final = Phrases(
    "trả lời|viết|dùng|comment|giải thích|gọi|xưng|xưng hô|commit|push|merge|deploy|xóa|xoá|sửa"
    "|chỉnh|tạo|thêm|ghi|đặt tên|đặt|nói|tóm tắt|dịch|hỏi|kiểm tra|chạy|báo|báo cáo|gửi|nhắc"
    "|format|trình bày|đưa|kèm|liệt kê|review|test|lưu|backup|thông báo|tính|hiển thị|in|định dạng"
    "|code|làm|chọn|giữ|để|ngắn gọn|nói ngắn|chào|trích dẫn|ghi chú|đăng|cài|động|đụng|up|gợi ý"
    "|bắt|họp|nghỉ|mặc|vào|ra|mang|nộp|dùng từ|thay|mở|tắt|đóng|bật|đẩy|chia|chia sẻ|tiết lộ|lặp "
    "lại|dài dòng|xin lỗi|vòng vo|nhắn|đề xuất|rút|cắt"
)  # fmt: skip
STYLES: Final = Phrases(
    "tiếng việt|tiếng anh|tiếng trung|tiếng nhật|ngắn gọn|ngắn|dài|dài dòng|lịch sự|thân mật|đơn "
    "giản|chi tiết|gạch đầu dòng|emoji|markdown|xưng|gọi mình là|gọi em là|gọi anh là|gọi tôi là"
    "|gọi chị là"
)
QUESTIONS: Final = Phrases(
    "gì|nào|sao|đâu|bao giờ|mấy giờ|bao nhiêu|thế nào|như thế nào|làm sao|tại sao|vì sao|ai|hả|hay "
    "không|được không|chưa nhỉ|không nhỉ|có phải|phải không|không ta|không vậy|không ạ|không bạn"
    "|không em|không anh|mấy"
)
ENDS_QUESTION: Final = words("không chưa hả nhỉ chăng à ư ta khong chua nhi")
HYPOTHETICAL: Final = Phrases(
    "nếu|giá mà|giả sử|ví dụ|lỡ|nhỡ|ước gì|có lẽ|hình như|không chừng|nếu như|giá như|phải chi|ước"
    "|chắc là|tưởng|mong|hy vọng|có khi|biết đâu|thử tưởng tượng|kiểu như|giả dụ|lẽ ra|đáng lẽ|chắc"
)
HEARSAY: Final = Phrases(
    "nghe nói|nghe đâu|nghe đồn|thấy bảo|đồn|người ta bảo|người ta nói|bảo|nói là|nói rằng|bảo là"
    "|kể|kể là|kêu|nghe bảo|khoe|hóng được|có người nói|báo đăng|trên mạng nói"
)
REQUESTS: Final = Phrases(
    "giúp|giùm|hộ|giúp mình|giúp em|giúp anh|giúp tôi|cho mình hỏi|cho em hỏi|cho hỏi|dịch giúp"
    "|tóm tắt|xem giúp|kiểm tra giúp"
)
