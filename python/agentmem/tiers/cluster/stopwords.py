"""Words that say nothing about an activity: function words and the small change of a chat."""

from __future__ import annotations

from typing import Final

__all__ = ["STOP_BIGRAMS", "STOP_WORDS"]

_ENGLISH: Final = """
a about above after again against all also am an and any are aren as at be because been before being
below between both but by can cannot could couldn did didn do does doesn doing don down during each
few for from further had has have having he her here hers him his how i if in into is isn it its
itself just let me more most my no nor not now of off on once only or other ought our ours out over
own please same she should so some such than thank thanks that the their them then there these they
this those through to too under until up us very was we were what when where which while who whom
why will with would you your yours yourself hello hi hey yes okay ok sure exactly really quite well
one two first get got go going make made need want like know think see look use used using good great
thing something much many way even still already today tomorrow yesterday time day s t re ve ll m d
mean help feel sound understood alright right understand welcome work can't it's i'm i've don't
that's you're let's able maybe perhaps since ago back come give take tell say said ask happy glad
"""

_VIETNAMESE: Final = """
và là của có không được cho với một các những này đó thì mà ở ra vào đã đang sẽ rồi nhé ạ à nữa cũng
còn nên bị tôi mình bạn anh chị em nó họ ta cái con chưa rất quá hay hoặc như thế nào gì đi lên xuống
lại để từ đến trong ngoài khi nếu vì do bởi tại về theo hai ba chỉ nhưng vậy ai đâu sao bao nhiêu làm
cần muốn phải va la cua co khong duoc mot cac nhung nay do thi ma o da dang se roi nhe nua cung con
nen bi toi minh ban chua rat qua hoac nhu the nao gi di len xuong lai de tu den khi neu vi boi tai ve
chi nhung vay dau sao bao nhieu lam can muon phai trước sau truoc xong nhớ nho vẫn van bên ben
"""

_CHINESE: Final = """
这个 那个 我们 你们 他们 的是 就是 不是 是的 没有 可以 需要 一个 什么 怎么 现在 今天 明天 因为 所以
但是 如果 自己 知道 觉得 时候 已经 还是 或者 比如 具体 这样 那么 谢谢 非常 很好 不客 客气 你好 明白
白了 的建 建议 听起 起来 理解 希望 对就 这些 一些 有什 一下 的话 我的 你的 了解 应该 一点 有点 我想
想要 是不 能不 了一 这种 个意 意思 怎样 还有 最后 问题 好的 以及 然后 之后 之前 特别 有些 其实 感觉
"""

STOP_WORDS: Final = frozenset(f"{_ENGLISH} {_VIETNAMESE}".split())
"""English words, and Vietnamese ones with and without diacritics."""

STOP_BIGRAMS: Final = frozenset(_CHINESE.split())
"""Pairs of Chinese characters."""
