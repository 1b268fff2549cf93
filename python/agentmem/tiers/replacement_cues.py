"""Words by which a statement says what has become of what was said before, by what they say."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["CUES", "PEOPLE", "SAYS", "TOLD"]


def _cue(*patterns: str, han: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(patterns)})\b|{han}")


# Vietnamese stands with and without its marks.
CUES: Final = {
    "end": _cue(
        r"no longer|not .{0,60}(?:any ?more|any longer|after all)|n't .{0,60}(?:any ?more|after all)"
        r"|(?:have|has|had)n't .{0,20}since|stop(?:ped)?|quit|gave up|given up|giving up|done with"
        r"|cancel(?:l?ed|s|ling)?|called off|scrap(?:ped)?|ditch(?:ed|ing)?|dropp?(?:ed|ing)?"
        r"|bail(?:ed|ing)|binned|sold|got rid of|gave away|traded .{0,20} in|over with|fell through"
        r"|handed .{0,30} (?:in|back)|closed|shut down|retired|ended|expired|deleted|decommissioned"
        r"|gone|died|passed away|broke (?:up|down)|split up|off the table|is off|out of business",
        r"không còn|khong con|ko con|bỏ|bo|hủy|huỷ|huy|ngừng|ngung|cai|từ bỏ|thôi|thoi|bán|xoá|xóa"
        r"|(?:không|khong|chẳng|thôi|khỏi|khoi|đừng|k|ko) .{0,60}(?:nữa|nua)|hết|het|hết hạn|nghỉ"
        r"|nghi|mất|chia tay|trả lại|tra lai",
        han=r"不再|取消|作废|再也不|放弃|戒了|戒掉|卖了|不去了|不用了|退了|退掉|注销|停了|没了|分手"
        r"|离职|辞了|辞职|走了|删了|扔了",
    ),
    "change": _cue(
        r"instead(?: of)?|switch(?:ed|es|ing)?|chang(?:ed?|es|ing)|moved?|from (?:now|here) on"
        r"|from today|as of (?:today|now|this)|from (?:mon|tues|wednes|thurs|fri|satur|sun)day"
        r"|rather than|replac(?:e|ed|es|ing)|slip(?:s|ped)?|postpon(?:e|ed)|reschedul(?:e|ed)"
        r"|push(?:ed)? (?:back|to)|put (?:back|off)|delay(?:ed)?|brought forward|rais(?:e|ed)"
        r"|increas(?:e|ed)|reduc(?:e|ed)|lower(?:ed| the| it)|upgrad(?:e|ed)|(?:up|down) to|(?:went|gone) up"
        r"|became|becomes?|migrat(?:e|ed|es|ing)|extend(?:ed|s)?|back to|converted|renamed"
        r"|(?:took|takes|taken) .{0,20}over|swapp?(?:ed|ing)?|relocat(?:ed|ing)",
        r"dời|lùi|hoãn|đổi|chuyển|thay|thay vì|thay cho|thế chỗ|từ nay|từ giờ|từ hôm nay|nâng|tăng"
        r"|giảm|gia hạn|dọn|xếp lại|lên làm|quay lại|trở lại|doi|lui|hoan|chuyen|tu nay|tu gio|nang"
        r"|tang|giam|len lam|quay lai|tro lai|don sang",
        han=r"改|换|更正|调整|推迟|延期|提前|升级|搬|而不是|转到|转成|切到|推到|涨到|降到|变成|接替",
    ),
    "now": _cue(
        r"now|now's|these days|nowadays|at last|finally|already|since|anymore|currently|turn(?:s|ed) out"
        r"|as it stands|by now|lately|again",
        r"giờ|bây giờ|hiện|hiện tại|gio|bay gio|mới|moi|rồi|roi|từ hồi|tu hoi|lại|dạo này|dao nay"
        r"|hẳn|năm nay|tháng này|tháng nay|nay",
        han=r"现在|已经|目前|如今|终于|总算|又开始|最近|这下|了(?=[。,，]|$)",
    ),
    "correct": _cue(
        r"sorry|actually|correction|my bad|mistake|oops|typo|not \d+|i meant|meant|wrong|misread"
        r"|to be exact|false alarm",
        r"nhầm|nham|sửa lại|sua lai|mới đúng|moi dung|đúng là|dung la|tức là|quên|xin lỗi|ấy chết"
        r"|đính chính",
        han=r"打错|说错|写错|记错|更正|搞错|其实|应该是|才对",
    ),
    "also": _cue(
        r"also|too$|too(?=[.,!])|another|as well|either|other|else|besides|though|extra|on top"
        r"|one more|still|both|next door",
        r"cũng|cung|thêm|them|còn|thì|thi|khác|khac|nữa|nua|vẫn|van|ngoài ra|cả|với cả|bên|phụ",
        han=r"也|又给|另外|还有|还得|还要|再加|都|别的|其他|那家|那套|依然|仍然",
    ),
    "maybe": _cue(
        r"maybe|might|perhaps|thinking (?:of|about)|think(?:ing)? i|consider(?:ing)?|tempted"
        r"|should (?:we|i)|wonder(?:ing)?|looking (?:into|at)|dunno|not sure|oughta|ought to"
        r"|hop(?:e|ing)|wish|if|probably|want(?:s)? to|would like|plan(?:s|ning)? to|interview"
        r"|someday|at some point|one day|trying",
        r"có khi|có lẽ|có thể|chắc|chac|tính|tinh|(?<!quyết )(?<!quy )định"
        r"|(?<!quyet )(?<!quy )dinh|hay là|hay mình|không nhỉ|chưa biết"
        r"|có nên|co nen|nếu|neu|muốn|muon|thử|ước gì",
        han=r"可能|也许|要不|想|考虑|打算|说说而已|咋样|吗|如果|或许|希望|不知道",
    ),
    "past": _cue(
        r"used to|back in|back then|before that|years ago|months ago|remember|once|when i was"
        r"|in (?:19|20)\d\d|last (?:year|summer|winter|spring)|originally|formerly"
        r"|as a (?:kid|child)",
        r"hồi|năm ngoái|nam ngoai|ngày xưa|ngay xua|từng|tung|lúc nhỏ|trước đây|truoc day",
        han=r"以前|当年|刚成立|小时候|去年|曾经|那会儿|原来|上学那",
    ),
    "episode": _cue(
        r"today|tonight|yesterday|this (?:morning|afternoon|evening)|last night|earlier"
        r"|just (?:now|finished|back)",
        r"hôm nay|hom nay|tối nay|toi nay|hôm qua|hom qua|sáng nay|sang nay|vừa|vua|hồi chiều|tối qua",
        han=r"今天|今晚|昨天|昨晚|刚刚|刚才|今早",
    ),
    "negated": _cue(
        r"not|no|never|nobody|none|nothing|cannot|\w+n't",
        r"không|khong|ko|chưa|chua|chẳng|đừng|dung|cấm",
        han=r"不|没|别|无",
    ),
}
# Without one of these, or another number, nothing is taken to be replaced.
SAYS: Final = frozenset(("end", "change", "now", "correct"))
# Who is spoken of beside the speaker.
PEOPLE: Final = re.compile(
    r"\b(?:sister|brother|mother|father|mom|mum|mam|dad|wife|husband|hubby|son|daughter|kid|kids"
    r"|uncle|aunt|cousin|niece|nephew|grandma|grandpa|grandad|roommate|roomie|coworker|colleague"
    r"|boss|neighbou?r|friend|girlfriend|boyfriend|partner|in-laws|parents|landlord|flatmate"
    r"|classmate|vợ|chồng|mẹ|bố|má|con trai|con gái|anh trai|chị gái|em gái|em trai|anh rể|cậu|dì"
    r"|chú|bà xã|ông xã|bà ngoại|bà nội|ông nội|bạn gái|bạn trai|ban gai|ban trai|bạn thân|ban than"
    r"|con bạn|bạn cùng|con bé|vo|chong|sếp|sep|chu)\b"
    r"|老婆|媳妇|老公|妈|爸|儿子|闺女|女儿|姐|妹|弟|哥|表|爷爷|奶奶|同事|女朋友|男朋友|室友|邻居|老板"
)
# What happened stays as it was: forms of the past.
TOLD: Final = re.compile(
    r"\b(?:\w{3,}ed|went|had|was|were|did|met|got|bought|saw|came|took|made|gave|ate|ran)\b"
    r"|\b(?:đã|vừa|mới)\b|过|了"
)
