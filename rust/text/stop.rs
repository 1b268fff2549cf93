//! Words that say nothing about what a query is about. They are dropped from queries only.

use std::sync::LazyLock;

use rustc_hash::FxHashSet;

/// English function words and contractions, without `us` (which is also a country), and the Vietnamese ones that
/// are unambiguous once their diacritics are written.
const WORDS: &str = "
a about above after again against all am an and any are arent as at be because been before being below between both
but by can cannot cant could couldnt did didnt do does doesnt doing dont down during each few for from further had
hadnt has hasnt have havent having he her here hers herself him himself his how i if in into is isnt it its itself
just me might mightnt more most must mustnt my myself need neednt no nor not now of off on once only or other ought
our ours ourselves out over own please same shall shant she should shouldnt so some such than that the their theirs
them themselves then there these they this those through to too under until up upon very was wasnt we were werent
what whats when where which while who whom whose why will with wont would wouldnt you your yours yourself yourselves
also anybody anyone anything did eg etc ever every everyone everything get gets got ie let lets may much someone
something tell
và là của có cho các những một được đã đang sẽ thì mà ở với từ đến này đó kia ấy khi nào gì ai đâu sao không phải
bị bởi vì nên nếu như rằng cũng lại còn hay hoặc vẫn rất quá nhé ạ à ư hả thế vậy tôi bạn mình chúng họ nó
";

/// Chinese and Japanese function words of one or two characters.
const PAIRS: &str = "
的 了 是 在 我 你 您 他 她 它 们 吗 呢 吧 啊 呀 么 和 与 及 或 就 都 也 很 把 被 对 从 到 为 这 那 哪 谁 几 个
什么 怎么 怎样 如何 哪里 哪儿 哪个 哪些 哪天 为何 为什 多少 几个 我们 你们 他们 她们 它们 咱们 这个 那个 这些 那些 这里 那里
的是 是什 的什 了什 是谁 是哪 是不 不是 有没 没有 是否 我的 你的 他的 她的 在哪 了吗 的吗 了呢 请问 我在 我是 你是 他是
の は が を に で と も や か です ます した した です では には から まで って どこ なに 何が いつ だれ 誰が
";

static WORD_SET: LazyLock<FxHashSet<&'static str>> =
    LazyLock::new(|| WORDS.split_whitespace().collect());
static PAIR_SET: LazyLock<FxHashSet<&'static str>> =
    LazyLock::new(|| PAIRS.split_whitespace().collect());
/// No stop word is longer.
const LONGEST: usize = 12;

/// Whether a word, in any case, is a stop word. Apostrophes are gone already.
pub(super) fn is_stop_word(word: &str) -> bool {
    if word.len() > LONGEST {
        return false;
    }
    if word.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return WORD_SET.contains(word.to_ascii_lowercase().as_str());
    }
    WORD_SET.contains(word)
}

/// Whether one or two characters of an unspaced script are a stop word.
pub(super) fn is_stop_pair(pair: &str) -> bool {
    PAIR_SET.contains(pair)
}
